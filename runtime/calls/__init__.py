"""Parts that all targets share: lowered programs, libraries of kernels, the plans and memory of calls."""
