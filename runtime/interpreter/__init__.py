"""The reference interpreter, which defines the meaning of programs on arrays and on blocks."""
