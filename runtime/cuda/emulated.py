"""Programs for GPUs on the emulator, a test bed that is chosen by name only and reports no times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...lowering.emit.cuda import CudaSource, Layout
from ..arrays.dtypes import Array
from ..arrays.views import ArrayView
from ..calls.compile_options import CompileOptions
from ..calls.launch_plan import Launch
from .emulator import EmulatedModule, EmulationError, StridedArray
from .library import CudaLibrary, FunctionLaunch
from .ptx import PtxModule

BLOCKS = 3
"""Number of blocks where each runs several iterations."""
TIME_LIMIT = 3600.0
"""Seconds of CPU time for one launch."""


class EmulatedLibrary(CudaLibrary):
    """The kernels of a program, run by the emulator. `reports` are those of the last call."""

    def __init__(self, program: ModuleOp, options: CompileOptions, pipeline: str):
        super().__init__(program, options, pipeline)
        self._modules: dict[int, EmulatedModule | PtxModule] = {}

    def run(self, wanted: FunctionLaunch) -> None:
        """Run a function on arrays. Raises EmulationError if it has findings."""
        function, arrays, numbers = wanted.function, wanted.arrays, wanted.numbers
        given: list[Array] = []
        arguments: list[object] = []
        copies: list[tuple[ArrayView, Array]] = []
        for view in arrays:
            array, copied = _without_negative_strides(view)
            given.append(array)
            arguments.append(StridedArray(array))
            if copied:
                copies.append((view, array))
        if copies:
            # Elements before the first one, which no pointer of the emulator's reaches: copied in order.
            numbers = _renumbered(arrays, given, numbers, copies, function.layouts)
        arguments += numbers
        undefined = [index for index in range(wanted.inputs, len(arrays)) if arrays[index].owner is not None]
        blocks = wanted.tasks
        if function.scratch:
            blocks = min(blocks, BLOCKS)
            undefined.append(len(arguments))
            arguments.append(np.empty(max(16, blocks * wanted.scratch_bytes), np.uint8))
            arguments += [np.int64(wanted.scratch_bytes), np.int32(wanted.tasks)]
        emulated = self._module(wanted.source).get_function(function.entry)
        emulated.max_dynamic_shared_size_bytes = max(function.shared_bytes, 48 * 1024)
        cuda = self.options.cuda
        report = emulated.launch(
            (blocks,),
            (function.threads,),
            arguments,
            function.shared_bytes,
            schedule=None if cuda.seed is None else "pct",
            seed=cuda.seed,
            profile=cuda.profile or None,
            names=_names_of_arrays(wanted.launch),
            undefined=undefined,
            time_limit=TIME_LIMIT,
        )
        self.reports.append(report)
        self.launched.append(wanted.source)
        for view, array in copies:
            if view.writable:
                view.numpy()[...] = array
        if not report.ok:
            raise EmulationError(report)

    def _module(self, source: CudaSource) -> EmulatedModule | PtxModule:
        key = id(source)
        if key not in self._modules:
            cuda = self.options.cuda
            if cuda.tier == "ptx":
                self._modules[key] = PtxModule(
                    source.text, arch=self.arch, check=cuda.check, use_cache=self.options.use_cache
                )
            else:
                self._modules[key] = EmulatedModule(
                    source.text, check=cuda.check, use_cache=self.options.use_cache
                )
        return self._modules[key]


def _names_of_arrays(launch: Launch) -> tuple[str, ...]:
    """Names of a kernel's arrays for the emulator's reports."""
    arguments = launch.function.body.block.args
    return tuple(argument.name_hint or f"array{number}" for number, argument in enumerate(arguments))


def _without_negative_strides(view: ArrayView) -> tuple[Array, bool]:
    """Return an array that begins with its first element in memory, and True if it had to be copied."""
    array = view.numpy()
    low, _ = view.byte_range
    return (array, False) if low == view.pointer else (np.ascontiguousarray(array), True)


def _renumbered(
    arrays: Sequence[ArrayView],
    given: Sequence[Array],
    numbers: Sequence[np.generic],
    copies: Sequence[tuple[ArrayView, Array]],
    layouts: Sequence[Layout],
) -> tuple[np.generic, ...]:
    """Return the numbers of a launch, with the strides of copied arrays."""
    strides: list[np.generic] = []
    copied = {id(view) for view, _ in copies}
    for view, array, layout in zip(arrays, given, layouts, strict=True):
        own = view.strides
        if id(view) in copied:
            own = tuple(stride // array.itemsize for stride in array.strides)
        strides += [np.int64(stride) for stride in own[: layout.strides_passed(len(own))]]
    return (*strides, *numbers[len(strides) :])
