"""The three dialects, and the code that parses, builds, verifies and reports on programs."""
