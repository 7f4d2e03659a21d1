"""Paths of the emulator's C++ sources, and its compiled runtime."""

from __future__ import annotations

from pathlib import Path

from ...compilation.shared_objects import include_directory, native_objects

_FOLDER = Path(__file__).resolve().parent


def hooks_directory() -> Path:
    """The headers of what kernels call: `<bb/cuda_emulator/hooks.hpp>` and `numerics.hpp`."""
    return _FOLDER / "include"


def cuda_directory() -> Path:
    """CUDA for a C++ compiler: the language, and headers such as `<cuda_fp16.h>`."""
    return _FOLDER / "cuda_headers"


def device_directory() -> Path:
    """The headers that kernels may include on a GPU too: `<bb/cuda/device.cuh>`."""
    return include_directory()


def runtime_objects(*, use_cache: bool = True) -> list[Path]:
    """The runtime, compiled once for each machine. Raises HostCompilerError."""
    sources = sorted((_FOLDER / "native").glob("*.cpp"))
    return native_objects(sources, include=[hooks_directory()], use_cache=use_cache)
