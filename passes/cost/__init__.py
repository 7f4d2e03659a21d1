"""What a block program costs on a machine: its kernels, their time by a model, and the best block sizes."""
