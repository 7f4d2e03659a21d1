"""Passes from the array dialect to itself; the pass `array-x-y` is the module `x_y`."""
