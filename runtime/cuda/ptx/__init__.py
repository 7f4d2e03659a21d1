"""PTX, as NVRTC makes it, executed on the CPU: parsed, and translated to C++ on the emulator's runtime."""

from .module import PtxKernel, PtxModule
from .syntax import PtxError

__all__ = ["PtxError", "PtxKernel", "PtxModule"]
