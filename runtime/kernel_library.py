"""The kernels of a program: lowered, compiled, loaded."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass

from ..dialects import kernel
from ..lowering.choices import Choice
from ..lowering.emit_cpp import emit_cpp, entry_name
from ..lowering.levels import TO_KERNELS, check_kernels, remaining_passes
from ..lowering.pipelines import PassPipeline
from .block_interpreter import Counts
from .interpreter import select_function
from .profiler import Profiler
from .settings import byte_count, setting
from .shared_objects import compile_shared_object, load_shared_object, native_directory

STREAM_VARIABLE = "BB_STREAM_FROM"


@dataclass(frozen=True)
class CompileOptions:
    """How a program was compiled; with its text, all that another process needs to do it again."""

    entry: str | None = None
    pipeline: str | None = None
    sanitize: tuple[str, ...] = ()
    use_cache: bool = True
    counting: bool = False
    """Whether the kernels count what they load and store; see `KernelLibrary.counts`."""
    profiling: bool = False
    """Whether the kernels tell where their time goes; see `KernelLibrary.profiler`."""
    choice: Choice | None = None
    """How to fuse and cut the program, where no pipeline says it; None for the default."""


DEFAULT_OPTIONS = CompileOptions()


class KernelLibrary:
    """The kernels of a program, lowered and compiled: of one function of it, or of all.

    With `build=False` they are not compiled: there is the source, and nothing to call.
    """

    def __init__(self, program: ModuleOp, options: CompileOptions, *, build: bool = True):
        self._options = options
        self.given = program.clone()
        """The program before the passes."""
        if options.entry is not None:
            select_function(self.given, options.entry)
            keep_only(self.given, options.entry)
        self.module = self.given.clone()
        self.blocks: ModuleOp | None = None
        """The block program that the kernels were made from; None where the program was kernels already."""
        self.passes = passes_for(self.given, options.pipeline, options.choice)
        PassPipeline(self.passes, callback=self._keep_blocks).run(self.module)
        if options.pipeline is not None:
            check_kernels(self.module, self.passes, "cpu")
        kernels = kernel.kernels_of(self.module)
        self.source = emit_cpp(kernels, counting=options.counting, profiling=options.profiling)
        self.profiler: Profiler | None = None
        """With the option `profiling`, what watches the kernels."""
        self.path: Path | None = None
        self.entries: dict[str, Any] = {}
        if not kernels or not build:
            return
        self.path = compile_shared_object(
            self.source,
            name=options.entry or "program",
            native=sorted(native_directory().glob("*.cpp")),
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
            self.entries = {name: self.profiler.watched(name, entry) for name, entry in self.entries.items()}
        if setting(STREAM_VARIABLE) is not None:
            self.stream_from(byte_count(STREAM_VARIABLE, 0))

    def stream_from(self, size: int) -> None:
        """Write results of at least so many bytes past the caches, where kernels can; at first, what is
        larger than the last-level cache. Holds for all executables of the same object in this process.
        """
        if self.path is not None:
            self._loaded.bbk_past_caches_from(ctypes.c_int64(size))

    def _keep_blocks(self, before: ModulePass | None, module: ModuleOp, after: ModulePass | None) -> None:
        if after is not None and after.name == TO_KERNELS:
            self.blocks = module.clone()

    def counts(self) -> Counts:
        """What the kernels have moved since the last time that somebody asked.

        Raises ValueError unless they were compiled with `counting`.
        """
        if not self._options.counting:
            raise ValueError("the kernels were not compiled to count what they move")
        if self.path is None:
            return Counts()
        numbers = (ctypes.c_int64 * 4)()
        self._loaded.bbk_take_counts(numbers)
        loads, stores, bytes_loaded, bytes_stored = numbers
        return Counts(loads, stores, bytes_loaded, bytes_stored)


def passes_for(
    program: ModuleOp, pipeline: str | None, choice: Choice | None = None
) -> tuple[ModulePass, ...]:
    """The passes that make kernels of a program: those of a pipeline, or what is left of the default one, or
    of what a choice makes of that.

    Raises PipelineError, and what the passes raise.
    """
    if pipeline is not None:
        return PassPipeline(pipeline).passes
    return remaining_passes(program, "cpu", None if choice is None else choice.passes())


def keep_only(module: ModuleOp, entry: str) -> None:
    """Drop the other functions of a program, but for those that may be called."""
    if any(isinstance(op, CallOp) for op in module.walk()):
        return
    for op in list(module.body.block.ops):
        if isinstance(op, FuncOp) and op.sym_name.data != entry:
            op.detach()
            op.erase()
