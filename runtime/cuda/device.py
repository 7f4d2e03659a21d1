"""Programs on an NVIDIA GPU, through CuPy: compiled by NVRTC for the current device, on its stream."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...dialects.diagnostics import one_sentence
from ...lowering.emit.cuda import CudaKernel, CudaSource
from ..arrays.dtypes import BFLOAT16
from ..calls.compile_options import CompileOptions
from ..compilation.cached import tree_digest
from ..errors import InputError
from ..host.settings import binary_size
from .compile.diagnostics import compile_error
from .emulator.native_files import device_directory
from .library import CudaLibrary, FunctionLaunch

OLDEST = (8, 0)
"""The compute capability that generated code needs."""
STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a block may have without a special attribute."""

_TEMPORARY = re.compile(r"^\S*\.cu(?=\(\d+\): )", re.MULTILINE)
"""The file in which CuPy gives a source to NVRTC, in NVRTC's messages."""


class DeviceError(InputError):
    """There is no GPU that can run programs, or it lacks memory."""


def cupy_module() -> Any:
    """Return CuPy, with a device. Raises DeviceError where either is missing."""
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            "the target cuda needs CuPy, which cannot be imported: install bb-compiler[cuda12] or [cuda13] "
            f"({error})"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy's own, whose class is not there without its libraries
        raise DeviceError(f"the target cuda needs an NVIDIA GPU and its driver: {error}") from error
    if count < 1:
        raise DeviceError("the target cuda needs an NVIDIA GPU, but the driver knows of none")
    return cupy


def raw_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which elements are moved: for bfloat16, which not every library knows, its bits."""
    return np.dtype(np.uint16) if dtype == BFLOAT16 else dtype


def new_array(cupy: Any, label: str, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """Return a CuPy array that is not initialised. Raises DeviceError where there is no memory for it."""
    try:
        array = cupy.empty(tuple(shape), raw_dtype(dtype))
    except MemoryError as error:  # CuPy's own is one
        raise DeviceError(f"{label} does not fit into the GPU's memory: {error}") from error
    return array.view(dtype) if dtype == BFLOAT16 else array


@dataclass(frozen=True)
class DeviceLaunch:
    """One launch of a function, complete except for the addresses of its arrays."""

    cupy: Any
    function: Any
    name: str
    blocks: int
    threads: int
    shared_bytes: int
    numbers: tuple[np.generic, ...]
    scratch: tuple[int, int] | None
    """Bytes of memory for each of the blocks, and the iterations that they share."""

    def __call__(self, pointers: Sequence[np.uint64]) -> None:
        """Launch to CuPy's current stream. Raises DeviceError."""
        arguments: list[object] = [*pointers, *self.numbers]
        if self.scratch is not None:
            size, tasks = self.scratch
            try:
                # Given back when this returns, to what is launched to the same stream after it.
                memory = self.cupy.empty(max(16, self.blocks * size), np.uint8)
            except MemoryError as error:  # CuPy's own is one
                raise DeviceError(
                    f"'{self.name}' needs {binary_size(self.blocks * size)} of memory of its own, "
                    f"which the GPU does not have: {error}"
                ) from error
            arguments += [memory, np.int64(size), np.int32(tasks)]
        try:
            self.function((self.blocks,), (self.threads,), tuple(arguments), shared_mem=self.shared_bytes)
        except Exception as error:  # CuPy's own, about this launch or about what ran before it
            raise DeviceError(f"'{self.name}' cannot be launched: {one_sentence(str(error))}") from error


class DeviceLibrary(CudaLibrary):
    """The kernels of a program on the current device; compiled when the first one is launched."""

    def __init__(self, program: ModuleOp, options: CompileOptions, pipeline: str):
        self._cupy = cupy_module()
        self._modules: dict[str, Any] = {}
        self._kernels: dict[tuple[str, str, int], Any] = {}
        self._lock = Lock()
        capability = str(self._cupy.cuda.Device().compute_capability)
        if (int(capability[:-1]), int(capability[-1])) < OLDEST:
            raise DeviceError(
                f"the GPU has compute capability {capability[:-1]}.{capability[-1]}, generated code needs "
                f"{OLDEST[0]}.{OLDEST[1]} (sm_80) or later"
            )
        super().__init__(program, options, pipeline)

    @property
    def arch(self) -> str:
        return self.options.cuda.arch or f"sm_{self._cupy.cuda.Device().compute_capability}"

    def run(self, wanted: FunctionLaunch) -> DeviceLaunch:
        function, blocks = wanted.function, wanted.tasks
        if function.scratch:
            # A few blocks for each multiprocessor, which run several iterations with one piece of memory.
            attributes = self._cupy.cuda.Device().attributes
            blocks = min(blocks, 4 * int(attributes["MultiProcessorCount"]))
        launch = DeviceLaunch(
            self._cupy,
            self._kernel(wanted.source, function),
            function.entry,
            blocks,
            function.threads,
            function.shared_bytes,
            wanted.numbers,
            (wanted.scratch_bytes, wanted.tasks) if function.scratch else None,
        )
        launch([np.uint64(view.pointer) for view in wanted.arrays])
        return launch

    def load(self) -> None:
        """Compile all kernels for the current device, for arrays in row-major order, and launch none.

        Raises DeviceError and CudaCompilerError.
        """
        source = self.written()
        for functions in source.kernels.values():
            for function in functions:
                self._kernel(source, function)

    def _kernel(self, source: CudaSource, function: CudaKernel) -> Any:
        key = source.text, function.entry, int(self._cupy.cuda.Device().id)
        found = self._kernels.get(key)
        if found is None:
            with self._lock:
                found = self._kernels.get(key)
                if found is None:
                    found = self._kernels[key] = self._compiled(source, function)
        return found

    def _compiled(self, source: CudaSource, function: CudaKernel) -> Any:
        attributes = self._cupy.cuda.Device().attributes
        most = int(attributes["MaxSharedMemoryPerBlockOptin"])
        if function.shared_bytes > most:
            raise DeviceError(
                f"'{function.entry}' needs {binary_size(function.shared_bytes)} of shared memory, "
                f"the GPU has {binary_size(most)} for a block: kernel-place-cuda{{shared-memory={most}}} "
                f"makes do with that"
            )
        launched = self._loaded(source, function)
        registers = int(launched.num_regs) * function.threads
        if registers > int(attributes["MaxRegistersPerBlock"]):
            raise DeviceError(
                f"'{function.entry}' needs {registers} registers for a block of {function.threads} threads, "
                f"the GPU has {int(attributes['MaxRegistersPerBlock'])}"
            )
        return launched

    def _loaded(self, source: CudaSource, function: CudaKernel) -> Any:
        """A function on the current device, with as much shared memory as it takes."""
        if source.text not in self._modules:
            folder = device_directory()
            # CuPy's cache knows a program by its text and options: the headers are part of both.
            options = ("-std=c++17", f"-I{folder}", f"-DBB_HEADERS={tree_digest(folder)[:16]}")
            self._modules[source.text] = self._cupy.RawModule(code=source.text, options=options)
        try:
            launched = self._modules[source.text].get_function(function.entry)
            if function.shared_bytes > STATIC_SHARED:
                launched.max_dynamic_shared_size_bytes = function.shared_bytes
        except self._cupy.cuda.compiler.CompileException as error:
            name = f"{self.options.entry or 'program'}.cu"
            log = _TEMPORARY.sub(name, str(error))
            raise compile_error(log, name, self.arch, "NVRTC says nothing", "") from error
        except Exception as error:  # CuPy's own, of the driver
            raise DeviceError(f"'{function.entry}' cannot be loaded: {one_sentence(str(error))}") from error
        return launched
