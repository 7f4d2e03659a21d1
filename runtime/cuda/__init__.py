"""The CUDA target: compiler, device and emulator."""
