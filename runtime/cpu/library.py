"""The kernels of a program for the CPU: lowered, compiled and loaded."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...lowering.emit.cpp import emit_cpp, entry_name
from ..arrays.views import ArrayView
from ..calls.call_plan import CallRecord, Launched
from ..calls.compile_options import CompileOptions
from ..calls.counters import Profiler
from ..calls.launch_plan import Launch
from ..calls.lowered import LoweredProgram
from ..compilation.shared_objects import compile_shared_object, load_shared_object
from ..host.settings import byte_count, setting
from ..interpreter.blocks import Counts
from .micro_kernels import micro_kernels_of

STREAM_VARIABLE = "BB_STREAM_FROM"

Index = ctypes.c_int64


class _ArrayStruct(ctypes.Structure):
    """`bb::Array` of the tile library."""

    _fields_ = [("data", ctypes.c_void_p), ("strides", ctypes.POINTER(Index))]


class KernelLibrary(LoweredProgram):
    """The kernels of a program, lowered and compiled for the CPU: of one function of it, or of all.

    With `build=False` they are not compiled: there is a source, but no kernels to call.
    """

    def __init__(self, program: ModuleOp, options: CompileOptions, pipeline: str, *, build: bool = True):
        super().__init__(program, options, pipeline)
        kernels = self.kernels
        self.source = emit_cpp(kernels, counting=options.counting, profiling=options.profiling)
        self.profiler: Profiler | None = None
        """With the option `profiling`, the reader of the kernels' timers."""
        self.path: Path | None = None
        self.entries: dict[str, Any] = {}
        if not kernels or not build:
            return
        self.path = compile_shared_object(
            self.source,
            name=options.entry or "program",
            native=micro_kernels_of(self.source),
            defines={"BB_PROFILE": 1} if options.profiling else None,
            sanitize=options.sanitize,
            use_cache=options.use_cache,
        )
        loaded = self._loaded = load_shared_object(self.path)
        for each in kernels:
            name = each.sym_name.data
            entry = getattr(loaded, entry_name(name))
            entry.restype = ctypes.c_int
            entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
            self.entries[name] = entry
        if options.profiling:
            self.profiler = Profiler(loaded, kernels)
            self.entries = {
                name: self.profiler.instrumented(name, entry) for name, entry in self.entries.items()
            }
        if setting(STREAM_VARIABLE) is not None:
            self.stream_from(byte_count(STREAM_VARIABLE, 0))

    def begin_call(self) -> None:
        """Do nothing: calls leave no reports."""

    def check(self, launch: Launch, lengths: list[int], threads: int) -> None:
        """Raise InputError where a kernel needs more memory of its own than there is, or larger indices than
        it computes.
        """
        launch.check_extents(lengths)
        launch.memory.check(lengths, threads)

    def launch(
        self, launch: Launch, arrays: list[ArrayView], lengths: list[int], threads: int, record: CallRecord
    ) -> None:
        """Run a kernel on arrays, with the extents of its dims in order. Raises MemoryError."""
        strides = [(Index * max(1, len(view.strides)))(*view.strides) for view in arrays]
        structs = (_ArrayStruct * max(1, len(arrays)))(
            *(
                _ArrayStruct(view.pointer, ctypes.cast(own, ctypes.POINTER(Index)))
                for view, own in zip(arrays, strides, strict=True)
            )
        )
        entry = self.entries[launch.name]
        record.launched.append(
            Launched(launch.name, entry, tuple(arrays), tuple(lengths), tuple(launch.op.results_))
        )
        if entry(structs, (Index * max(1, len(lengths)))(*lengths), threads):
            raise MemoryError(f"'{launch.name}' needs more scratch memory than there is")

    def stream_from(self, size: int) -> None:
        """Write results of at least so many bytes past the caches, if kernels can. The default is the size of
        the last-level cache. This applies to all executables of the same object in this process.
        """
        if self.path is not None:
            self._loaded.bbk_past_caches_from(ctypes.c_int64(size))

    def counts(self) -> Counts:
        """Return the traffic of the kernels since the last call of this method.

        Raises ValueError unless they were compiled with `counting`.
        """
        if not self.options.counting:
            raise ValueError("the kernels were not compiled to count what they move")
        if self.path is None:
            return Counts()
        numbers = (ctypes.c_int64 * 4)()
        self._loaded.bbk_take_counts(numbers)
        loads, stores, bytes_loaded, bytes_stored = numbers
        return Counts(loads, stores, bytes_loaded, bytes_stored)
