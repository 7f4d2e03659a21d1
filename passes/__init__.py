"""Passes that stay inside one dialect, the laws of fusion, and the analyses that they ask."""
