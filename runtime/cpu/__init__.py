"""The CPU target: its kernel library and hand-written micro-kernels."""
