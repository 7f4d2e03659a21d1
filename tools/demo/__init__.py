"""The demonstration that `make demo` shows."""
