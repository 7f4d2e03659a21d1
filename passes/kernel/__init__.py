"""Passes from the kernel dialect to itself; the pass `kernel-x-y` is the module `x_y`."""
