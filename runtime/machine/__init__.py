"""Limits of this machine, measured, and its description for the cost model."""
