"""A program with unknown extents, compiled once for each of some ranges of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import SupportsIndex, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...dialects.array import DYNAMIC
from ...dialects.diagnostics import did_you_mean
from ...lowering.pipelines import PassPipeline, split_after
from ...lowering.pipelines.choices import Choice
from ...lowering.pipelines.levels import TO_BLOCKS, is_block_program, remaining_passes
from ...passes.analysis.extents import equal_extents, tied_dims
from ...passes.analysis.ranges import declare_ranges
from ...passes.block.shapes.roles import FEW_ROWS
from ..arrays.dtypes import Array
from ..errors import InputError
from ..program.functions import select_function
from ..program.inputs import arguments_of
from .executable import Executable, Prepared

Range: TypeAlias = tuple[int, int]
Ranges: TypeAlias = Mapping[str, "Range | Sequence[Range]"]
"""The extents that dims may have: the smallest and the largest, or several such pairs."""

MOST_PARTS = 8
"""Largest number of parts into which ranges may cut a program."""

LARGEST = 1 << 40


@dataclass(frozen=True)
class Axis:
    """An axis of an argument that has the extent of a dim."""

    argument: int
    axis: int


@dataclass(frozen=True)
class Part:
    """One range of each dim, and the executable for them."""

    ranges: Mapping[str, Range]
    executable: Executable

    def holds(self, extents: Mapping[str, int]) -> bool:
        """True if all extents are in the ranges."""
        return all(low <= extents[name] <= high for name, (low, high) in self.ranges.items())


class RangedExecutable:
    """A function of a program with unknown extents: each call runs the executable for its extents.

    Call it as an `Executable`. A call with extents outside of all ranges is refused.
    """

    def __init__(self, parts: Sequence[Part], axes: Mapping[str, Axis]):
        self.parts = tuple(parts)
        self._axes = {name: axes[name] for name in self.parts[0].ranges}
        self._first = self.parts[0].executable

    @property
    def argument_names(self) -> list[str]:
        """The names of the arguments, in order."""
        return self._first.argument_names

    @property
    def ranges(self) -> list[dict[str, Range]]:
        """The ranges of each part."""
        return [dict(part.ranges) for part in self.parts]

    def part(self, *arrays: object, **named: object) -> Executable:
        """Return the executable that a call with these arrays runs. Raises InputError if no range has their
        extents.
        """
        return self.parts[self.part_number(arrays, named)].executable

    def __call__(
        self, *arrays: object, out: object = None, threads: int | None = None, **named: object
    ) -> Array | tuple[Array, ...]:
        """Run the program. Raises InputError for arrays that do not fit, and MemoryError."""
        executable = self.parts[self.part_number(arrays, named)].executable
        return executable(*arrays, out=out, threads=threads, **named)

    def prepare(self, *, threads: int | None = None, **constants: object) -> PreparedRanges:
        """Bind arguments that are the same in every call, as `Executable.prepare`: once for each part, each
        with its own memory. Every call checks their extents, too.
        """
        prepared = [part.executable.prepare(threads=threads, **constants) for part in self.parts]
        return PreparedRanges(self, prepared, constants)

    def part_number(self, arrays: Sequence[object], named: Mapping[str, object]) -> int:
        """Return the number of the part that a call runs. Raises InputError if no range fits."""
        extents = {name: self._extent(axis, arrays, named) for name, axis in self._axes.items()}
        known = {name: extent for name, extent in extents.items() if extent is not None}
        if len(known) < len(extents):
            return 0  # an argument is missing, or is no array, which the call says
        for number, part in enumerate(self.parts):
            if part.holds(known):
                return number
        raise InputError(self._refusal(known))

    def _extent(self, axis: Axis, arrays: Sequence[object], named: Mapping[str, object]) -> int | None:
        if axis.argument < len(arrays):
            value = arrays[axis.argument]
        else:
            value = named.get(self.argument_names[axis.argument])
        if value is None:
            return None
        given = getattr(value, "shape", None)
        shape = np.shape(cast(Array, value)) if given is None else tuple(cast("Sequence[int]", given))
        return int(shape[axis.axis]) if axis.axis < len(shape) else None

    def _refusal(self, extents: Mapping[str, int]) -> str:
        ranges = " or ".join(
            " and ".join(f"{low} <= {name} <= {high}" for name, (low, high) in part.ranges.items())
            for part in self.parts
        )
        given = " and ".join(f"{name} = {extent}" for name, extent in extents.items())
        return f"'{self._first.function.sym_name.data}' was compiled for {ranges}, not for {given}"


class PreparedRanges:
    """A `RangedExecutable` with some of its arguments bound. Call it with the others."""

    def __init__(
        self, executable: RangedExecutable, prepared: Sequence[Prepared], constants: Mapping[str, object]
    ):
        self.executable = executable
        self._prepared = tuple(prepared)
        self._constants = dict(constants)
        self._names = [name for name in executable.argument_names if name not in constants]

    def __call__(
        self, *arrays: object, out: object = None, threads: int | None = None, **named: object
    ) -> Array | tuple[Array, ...]:
        """Run the program on the arguments that are not bound. Raises InputError and MemoryError."""
        everything = {**self._constants, **dict(zip(self._names, arrays, strict=False)), **named}
        number = self.executable.part_number((), everything)
        return self._prepared[number](*arrays, out=out, threads=threads, **named)


def compile_ranges(
    program: ModuleOp, entry: str | None, dims: Ranges, compile: Callable[[ModuleOp], Executable]
) -> RangedExecutable:
    """Compile a function of a program once for each of the ranges that its unknown extents may have.

    Dims go by their names, or by those of an axis of an argument, as `q.0`. One range that begins with few
    rows is cut in two, because few rows need other kernels. Raises InputError: no such dim, or invalid
    ranges.
    """
    module = program.clone()
    function = select_function(module, entry)
    places = all_axes(module, function.sym_name.data)
    names, axes = _named(function, places, dims)
    cut = {name: _checked(name, ranges) for name, ranges in dims.items()}
    combined = list(product(*cut.values()))
    if len(combined) > MOST_PARTS:
        raise InputError(
            f"dims asks for {len(combined)} ways to compile the program, at most {MOST_PARTS} are made"
        )
    parts: list[Part] = []
    for ranges in combined:
        own = dict(zip(cut, ranges, strict=True))
        declare_ranges(function, {dim: own[name] for dim, name in _meant(places, names).items()})
        parts.append(Part(own, compile(module.clone())))
    return RangedExecutable(parts, axes)


def _named(
    function: FuncOp, places: Mapping[str, Sequence[Axis]], wanted: Iterable[str]
) -> tuple[dict[str, str], dict[str, Axis]]:
    """Return, for each requested name, its dim and an axis that has its extent. Raises InputError."""
    arguments = arguments_of(function)
    of_axes = {
        f"{arguments[each.argument].name}.{each.axis}": (dim, each)
        for dim, found in places.items()
        for each in found
    }
    known = {**of_axes, **{dim: (dim, found[0]) for dim, found in places.items()}}
    names: dict[str, str] = {}
    for name in wanted:
        if name not in known:
            others = list(of_axes) if "." in name else list(places)
            hint = did_you_mean(name, others, f"; they are {', '.join(others)}" if others else "")
            raise InputError(f"'{function.sym_name.data}' has no dim '{name}' of unknown extent{hint}")
        dim = known[name][0]
        same = next((other for other, its in names.items() if places[its] == places[dim]), None)
        if same is not None:
            one = f"are one dim, {dim}" if names[same] == dim else "have one extent"
            raise InputError(f"'{same}' and '{name}' {one}: give its ranges once")
        names[name] = dim
    return names, {name: known[name][1] for name in names}


def _meant(places: Mapping[str, Sequence[Axis]], names: Mapping[str, str]) -> dict[str, str]:
    """Return the name that the caller gave, for each dim that has the extent of a named one."""
    return {
        dim: name for name, named in names.items() for dim, found in places.items() if found == places[named]
    }


def _checked(name: str, given: object) -> list[Range]:
    """Return the ranges of a dim in order. Raises InputError."""
    listed = list(cast("Sequence[object]", given)) if isinstance(given, list | tuple) else [given]
    single = len(listed) == 2 and not any(isinstance(each, list | tuple) for each in listed)
    found: list[Range] = []
    for each in [listed] if single else listed:
        pair = list(cast("Sequence[object]", each)) if isinstance(each, list | tuple) else []
        ends = [_whole(end) for end in pair]
        low, high = ends if len(ends) == 2 else (None, None)
        if low is None or high is None or low > high:
            raise InputError(
                f"the range of dim {name} is {each!r}, expected its smallest and its largest extent: (1, 8)"
            )
        found.append((low, high))
    found.sort()
    for (_, high), (low, _) in pairwise(found):
        if low <= high:
            raise InputError(f"two ranges of dim {name} hold {low}: give ranges that have nothing in common")
    if not found:
        raise InputError(f"dim {name} has no range")
    if single and found[0][0] <= FEW_ROWS < found[0][1]:
        low, high = found[0]
        return [(low, FEW_ROWS), (FEW_ROWS + 1, high)]
    return found


def _whole(value: object) -> int | None:
    """Return a number of elements, numpy's as well; None for any other object."""
    index = getattr(type(value), "__index__", None)
    if index is None or isinstance(value, bool):
        return None
    number = operator.index(cast("SupportsIndex", value))
    return number if 1 <= number <= LARGEST else None


def extents_of(program: ModuleOp, entry: str, arrays: Sequence[Array]) -> dict[str, int]:
    """Return the extents that arrays for the arguments give to the dims of unknown extent."""
    return {
        name: arrays[found[0].argument].shape[found[0].axis]
        for name, found in all_axes(program, entry).items()
    }


def all_axes(program: ModuleOp, entry: str) -> dict[str, list[Axis]]:
    """Return the dims of unknown extent of a function, by their names as blocks, and axes that have them.

    Dims that have one extent in every call, because some array is cut along both, have the same axes.
    """
    module = program.clone()
    function = select_function(module, entry)
    if not is_block_program(function):
        passes = remaining_passes(module, Choice().passes())
        if any(step.name == TO_BLOCKS for step in passes):
            PassPipeline(split_after(passes, TO_BLOCKS)[0]).run(module)
    function = select_function(module, entry)
    classes, dims = equal_extents(function), tied_dims(function)
    by_class = {classes.find(names[0]): names for names in dims.values()}
    found: dict[str, list[Axis]] = {}
    arguments = zip(arguments_of(function), function.body.block.args, strict=True)
    for number, (argument, value) in enumerate(arguments):
        for axis, extent in enumerate(argument.shape):
            if extent == DYNAMIC:
                own = argument.dims[axis] if len(argument.dims[axis]) == 1 else ()
                for name in by_class.get(classes.find((value, axis)), own):
                    found.setdefault(name, []).append(Axis(number, axis))
    return found
