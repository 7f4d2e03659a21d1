"""Costs of a block program on a machine: its kernels, their time by a model, and the best block sizes."""
