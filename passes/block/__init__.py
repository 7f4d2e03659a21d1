"""Passes from the block dialect to itself."""
