"""Tuning of a program: its choice from the user's cache, or measured now and kept there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Lock

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...dialects.array import DYNAMIC
from ...lowering.emit.source_text import without_locations
from ...lowering.pipelines.choices import DEFAULT, UNFUSED, Choice
from ...passes.analysis.cost.machine import machine_named
from ...passes.analysis.ranges import ranges_of
from ..arrays.dtypes import Array
from ..calls.compile_options import CompileOptions
from ..compilation.cached import package_version
from ..errors import InputError
from ..executable.executable import Executable
from ..executable.ranges import all_axes
from ..host.threads import thread_count
from ..program.constants import declared_constants
from ..program.functions import select_function
from ..program.inputs import arguments_of, random_inputs
from .candidates import can_choose, candidate_pipelines
from .keys import alone, key_of, machine_text
from .records import Record
from .request import Request, checked_seconds
from .search import Call, Measured, Outcome, progress_bar, search
from .store import find, keep

MEMORY = 1 << 31
"""Bytes that the constants of all measured candidates may take: each candidate packs them in its own
order.
"""

FEWEST, MOST = 4, 64


def tune(program: ModuleOp, request: Request) -> Choice:
    """Find the fastest way to compile a function, by measurements that take about the requested time.

    The result of an earlier call is taken from the user's cache. Threads are those of a call without an
    argument for them; an unknown extent is the largest of its range. Raises InputError: the program has been
    fused already, or has unknown extents without a range.
    """
    seconds = checked_seconds(request.tune)
    key = key_of(program, request.entry)
    if request.use_cache and (known := find(key)) is not None:
        return known.choice
    module = alone(program, request.entry)
    name = select_function(module, None).sym_name.data
    if not can_choose(module):
        raise InputError(f"'{name}' cannot be tuned: it has been fused already, or has nothing to fuse")
    candidates = candidate_pipelines(module, machine_named("cpu"))
    if candidates is None:
        return Choice()
    threads = thread_count()
    with progress_bar(name, request.progress) as report:
        compiler = _Compiler(module, _arrays(module), threads, request)
        outcome = search(candidates.in_order(), compiler, seconds, compiler.most, report)
    record = _record(outcome, key, module, threads)
    if request.use_cache:
        keep(record)
    return record.choice


def model_choice(program: ModuleOp, entry: str | None) -> Choice | None:
    """Return the choice that costs least by the model; None for the default pipeline, unless another is
    clearly better.
    """
    module = alone(program, entry)
    candidates = candidate_pipelines(module, machine_named("cpu")) if can_choose(module) else None
    return None if candidates is None else candidates.choice


def _arrays(module: ModuleOp) -> dict[str, Array]:
    """Return arrays for the arguments by name, at the largest extents."""
    function = select_function(module, None)
    arguments = arguments_of(function)
    extents = {name: high for name, (_, high) in ranges_of(function).items()}
    if any(DYNAMIC in argument.shape for argument in arguments):
        # Dims have names in the block program, and may have none before.
        extents |= {
            f"{arguments[axis.argument].name}.{axis.axis}": extents[name]
            for name, axes in all_axes(module, function.sym_name.data).items()
            for axis in axes
            if name in extents
        }
        for argument in arguments:
            for axis, extent in enumerate(argument.shape):
                if extent == DYNAMIC and f"{argument.name}.{axis}" not in extents:
                    raise InputError(
                        f"axis {axis} of {argument} has an unknown extent: tuning needs its range, "
                        "as bb.compile(…, dims={'M': (1, 8)}) gives it"
                    )
    names = [argument.name for argument in arguments]
    return dict(zip(names, random_inputs(function, 0, extents), strict=True))


def _record(outcome: Outcome, key: str, module: ModuleOp, threads: int) -> Record:
    function = select_function(module, None)

    def seconds(of: Measured | None) -> float | None:
        return None if of is None else of.time

    return Record(
        key=key,
        program=_shortened(function.sym_name.data),
        arguments=_shortened(", ".join(str(type) for type in function.function_type.inputs)),
        machine=_shortened(machine_text()),
        version=package_version(),
        threads=threads,
        choice=outcome.best.pipeline.choice,
        seconds=outcome.best.time,
        default_seconds=seconds(outcome.of(DEFAULT)),
        unfused_seconds=seconds(outcome.of(UNFUSED)),
        measured=len(outcome.measured),
        at=time.time(),
    )


def _shortened(text: str, longest: int = 160) -> str:
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


class _Compiler:
    """Compiles a program by candidate pipelines, and calls them with the same arrays."""

    def __init__(
        self,
        module: ModuleOp,
        arrays: Mapping[str, Array],
        threads: int,
        request: Request,
    ):
        self.module, self.threads, self.request = module, threads, request
        constant = declared_constants(select_function(module, None))
        self.constants = {name: array for name, array in arrays.items() if name in constant}
        self.arrays = [array for name, array in arrays.items() if name not in constant]
        size = sum(array.nbytes for array in self.constants.values())
        self.most = max(FEWEST, min(MOST, MEMORY // max(1, size)))
        self._known: set[str] = set()
        self._lock = Lock()

    def __call__(self, choice: Choice) -> Call | None:
        options = CompileOptions(use_cache=self.request.use_cache, choice=choice)
        executable = Executable(self.module, options, self.request.callbacks)
        with self._lock:
            code = without_locations(executable.source)
            if code in self._known:
                return None
            self._known.add(code)
            # One after the other: what is packed at the same time would need its memory twice.
            run = executable.prepare(threads=self.threads, **self.constants) if self.constants else executable
            given = run(*self.arrays, threads=self.threads)
            # What a call gives may be read-only: a view of something else.
            results = given if isinstance(given, tuple) else (given,)
            out = [np.empty(result.shape, result.dtype) for result in results]
        return lambda: run(*self.arrays, out=out, threads=self.threads)
