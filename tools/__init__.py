"""Command lines, and the pages of the documentation that are made from the code."""
