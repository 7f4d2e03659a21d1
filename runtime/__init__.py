"""Everything that executes programs: interpreter, compilers, targets, calls, tuning, checks."""
