"""The CPU target measured beside its rivals: `bench/compare.py` is the command line."""
