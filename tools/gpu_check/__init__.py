"""The check that a machine with a GPU runs: `python -m bb.tools.gpu_check`."""
