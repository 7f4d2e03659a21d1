"""Text for people: pseudo-code, units, and where output goes."""
