"""The arrays on which two programs are compared: their extents, and random residues as elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException

from ....dialects import block
from ....dialects.array import DYNAMIC, shape_text
from ....dialects.scalar import is_float
from ....lowering.array_to_block.analysis import analyse
from ....passes.array.simplify_views import simplify_views
from ...errors import InputError
from ...program.inputs import Argument, arguments_of
from .evaluate import Program
from .field import Field
from .residues import Value, Whole

UNKNOWN_EXTENTS = (5, 7, 4, 6, 9, 8)
"""Values for unknown extents, in turn; small, but enough for three blocks with a ragged last one."""

Name: TypeAlias = tuple[int, str]
"""A dim, and the program (0 or 1) to which it belongs."""


def arguments_of_both(programs: Sequence[Program]) -> list[tuple[Argument, ...]]:
    """Return the arguments of both programs in pairs. Raises InputError if they do not correspond."""
    sides = [arguments_of(program.function) for program in programs]
    if len({len(side) for side in sides}) > 1:
        taken = zip(programs, sides, strict=True)
        counts = " and ".join(f"'{program.name}' takes {len(side)}" for program, side in taken)
        raise InputError(f"the programs cannot be compared: {counts} arrays")
    pairs = list(zip(*sides, strict=True))
    for pair in pairs:
        first = pair[0]
        for other in pair[1:]:
            fits = len(first.shape) == len(other.shape) and all(
                a == b or DYNAMIC in (a, b) for a, b in zip(first.shape, other.shape, strict=True)
            )
            if not fits:
                shapes = f"shape {shape_text(first.shape)}, {other} has {shape_text(other.shape)}"
                raise InputError(f"the programs cannot be compared: {first} has {shapes}")
            if is_float(first.element_type) != is_float(other.element_type) or (
                not is_float(first.element_type) and first.element_type != other.element_type
            ):
                types = f"elements {first.element_type}, {other} has {other.element_type}"
                raise InputError(f"the programs cannot be compared: {first} has {types}")
    return pairs


def axes_of(function: FuncOp) -> list[tuple[tuple[str, ...], ...]]:
    """The dims of each axis of each argument, as far as they are known."""
    arguments = arguments_of(function)
    if block.DIMS in function.attributes or all(DYNAMIC not in argument.shape for argument in arguments):
        return [argument.dims for argument in arguments]
    copy = function.clone()
    try:
        simplify_views(copy)
        analysis = analyse(copy)
        return [analysis.spec(value) for value in copy.body.block.args]
    except (VerifyException, KeyError, ValueError):
        return [argument.dims for argument in arguments]


class _Extents:
    """Extents of dims, as far as the programs' types give them; dims that must be equal are united."""

    def __init__(self) -> None:
        self.known: dict[Name, int] = {}
        self._parents: dict[Name, Name] = {}

    def find(self, name: Name) -> Name:
        while name in self._parents:
            name = self._parents[name]
        return name

    def get(self, name: Name) -> int | None:
        return self.known.get(self.find(name))

    def set(self, name: Name, extent: int) -> None:
        self.known.setdefault(self.find(name), extent)

    def unite(self, a: Name, b: Name) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self._parents[a] = b
            if a in self.known:
                self.known.setdefault(b, self.known.pop(a))

    def product(self, names: Sequence[Name]) -> tuple[int, list[Name]]:
        """The product of the known extents, and the dims whose extents are unknown."""
        extents = [self.get(name) for name in names]
        unknown = [name for name, extent in zip(names, extents, strict=True) if extent is None]
        return prod(extent for extent in extents if extent is not None), unknown


def choose_shapes(programs: Sequence[Program], pairs: Sequence[tuple[Argument, ...]]) -> list[list[int]]:
    """Shapes for the arguments: static extents as they are, unknown ones small and consistent."""
    extents = _Extents()
    axes: list[list[tuple[int, list[list[Name]]]]] = []
    sides = [axes_of(program.function) for program in programs]
    for side, program in enumerate(programs):
        for dim, declared in (block.declared_dims(program.function) or {}).items():
            if declared.static_extent is not None:
                extents.set((side, dim), declared.static_extent)
    for position, pair in enumerate(pairs):
        row: list[tuple[int, list[list[Name]]]] = []
        for axis in range(len(pair[0].shape)):
            static = max(argument.shape[axis] for argument in pair)
            named: list[list[Name]] = []
            for side, dims in enumerate(sides):
                names = dims[position][axis] or (f"{position}.{axis}",)
                named.append([(side, dim) for dim in names])
            row.append((static, named))
        axes.append(row)
    for _ in range(2):  # what one axis tells may be needed by another
        for row in axes:
            for static, named in row:
                _relate(extents, static, named)
    fresh = iter(UNKNOWN_EXTENTS * sum(map(len, axes), 1))
    shapes: list[list[int]] = []
    for row in axes:
        shape: list[int] = []
        for static, named in row:
            if static == DYNAMIC:
                most = max(named, key=len)
                for name in extents.product(most)[1]:
                    extents.set(name, next(fresh))
                static = extents.product(most)[0]
                _relate(extents, static, named)
            shape.append(static)
        shapes.append(shape)
    return shapes


def _relate(extents: _Extents, static: int, named: Sequence[Sequence[Name]]) -> None:
    """Record that one axis has the same extent in both programs."""
    single: list[Name] = []
    for names in named:
        known, unknown = extents.product(names)
        if len(unknown) == 1:
            if static != DYNAMIC and static % known == 0:
                extents.set(unknown[0], static // known)
            if len(names) == 1:
                single.append(unknown[0])
    for a, b in pairwise(single):
        extents.unite(a, b)


def random_input(field: Field, argument: Argument, shape: Sequence[int], rng: np.random.Generator) -> Value:
    """An array for an argument: uniform residues; small integers; booleans, true three times in four."""
    if is_float(argument.element_type):
        return field.random(rng, shape)
    if argument.dtype == np.bool_:
        return Whole(np.asarray(rng.random(shape) < 0.75))
    return Whole(np.asarray(rng.integers(-8, 9, shape, dtype=argument.dtype)))
