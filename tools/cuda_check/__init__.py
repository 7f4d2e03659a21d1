"""Parts of `bb-cuda-check`: its arguments and its findings."""
