"""Choices of fusion and block sizes, measured to be best for a program on a machine: kept, and shared."""
