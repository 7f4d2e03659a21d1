"""Choices that were measured to be best for a program on a machine: found once, kept, shared."""
