"""CUDA C++ compiled with NVRTC on a machine without a GPU, and what the result needs of a GPU."""

from .compile import CudaBinary, compile_cuda, cuda_compiler_problem
from .diagnostics import CudaCompilerError, CudaDiagnostic
from .occupancy import Occupancy, occupancy
from .resources import KernelResources, kernel_resources

__all__ = [
    "CudaBinary",
    "CudaCompilerError",
    "CudaDiagnostic",
    "KernelResources",
    "Occupancy",
    "compile_cuda",
    "cuda_compiler_problem",
    "kernel_resources",
    "occupancy",
]
