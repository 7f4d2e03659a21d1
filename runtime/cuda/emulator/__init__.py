"""CUDA kernels on the CPU: every thread a fiber, one block at a time, with CuPy's calling convention.

    module = EmulatedModule(code=source, check=True)
    module.get_function("scale")((blocks,), (128,), (x, y, numpy.int32(n)))

Launches run in a process of their own, so that a kernel may do anything without harm. Nothing here says how
fast a kernel would be on a GPU.
"""

from .arguments import StridedArray
from .errors import EmulationError, EmulatorBuildError
from .findings import Finding, FindingKind, OtherAccess, SourceLocation
from .kernel import EmulatedKernel
from .module import EmulatedModule
from .report import WIDTHS, BufferTraffic, Counters, LaunchReport, LineTraffic, SharedTraffic
from .tensor_map import TensorMap

__all__ = [
    "WIDTHS",
    "BufferTraffic",
    "Counters",
    "EmulatedKernel",
    "EmulatedModule",
    "EmulationError",
    "EmulatorBuildError",
    "Finding",
    "FindingKind",
    "LaunchReport",
    "LineTraffic",
    "OtherAccess",
    "SharedTraffic",
    "SourceLocation",
    "StridedArray",
    "TensorMap",
]
