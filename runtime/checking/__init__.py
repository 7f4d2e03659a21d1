"""Checks of programs: tolerances, audits of rewrites, and exact equivalence."""
