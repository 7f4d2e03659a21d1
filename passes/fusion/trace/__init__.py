"""Trace of fusion: its records, the steps they tell, and the text of `--explain`."""
