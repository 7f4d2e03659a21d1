"""Executables: compiled programs that are called with arrays."""
