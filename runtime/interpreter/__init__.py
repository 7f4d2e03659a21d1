"""The reference interpreter: the meaning of programs on arrays and on blocks."""
