"""Extents of the dims of a compiled program in one call, from the shapes of its arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...passes.analysis.extents import EqualExtents
from ..errors import InputError
from .launch_plan import ArrayUse, Launch, Plan


@dataclass(frozen=True)
class Ties:
    """Dims of a plan that have one extent because some array is cut along both: see `ties_of`."""

    representatives: Mapping[str, Hashable]
    static: Mapping[Hashable, int]
    """The extents that are known before any call, by representative."""


def ties_of(plan: Plan) -> Ties:
    """Return the ties between the dims of all launches of a plan."""
    classes = EqualExtents()
    names: dict[str, int | None] = {}
    for step in plan.steps:
        if not isinstance(step, Launch):
            classes.tie_arrays(step)
            continue
        names.update({name: dim.static_extent for name, dim in step.dims.items()})
        arrays = (*step.op.inputs, *step.op.results_)
        for value, uses in zip(arrays, step.uses, strict=True):
            for use in uses:
                classes.tie_view(value, [_elements(axis, use) for axis in use.axes], step.dims)
    representatives = {name: classes.find(name) for name in names}
    static: dict[Hashable, int] = {}
    for name, extent in names.items():
        if extent is not None:
            static[representatives[name]] = extent
    return Ties(representatives, static)


def _elements(axis: Sequence[str], use: ArrayUse) -> Sequence[str]:
    """The dims of an axis; none if one of them counts blocks, because another array has the extent then."""
    return () if any(name in use.block_counts for name in axis) else axis


@dataclass(frozen=True)
class _Known:
    """An extent, and the axis of an array that gives it, in words; empty where the program does."""

    extent: int
    source: str = ""
    exact: bool = True
    """True if the axis has exactly this extent, false if it is a product."""


class Extents:
    """The extents of a program's dims in one call, learnt from the shapes of its arrays."""

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        self._known: dict[Hashable, _Known] = {name: _Known(extent) for name, extent in ties.static.items()}

    def learn(self, launch: Launch, position: int, shape: Sequence[int], label: str) -> None:
        """Set the dims of an array's axes from its shape; `label` names the array in messages.

        Raises InputError if arrays disagree.
        """
        for use in launch.uses[position]:
            for number, (extent, axis) in enumerate(zip(shape, use.axes, strict=True)):
                if _elements(axis, use) or not axis:
                    self._learn(launch, axis, extent, f"axis {number} of {label}")

    def _learn(self, launch: Launch, axis: Sequence[str], extent: int, source: str) -> None:
        known = [known for name in axis if (known := self._get(launch, name)) is not None]
        product = prod(each.extent for each in known)
        missing = [name for name in axis if self._get(launch, name) is None]
        if not missing:
            if product != extent:
                raise InputError(_disagreement(extent, source, known, " * ".join(axis)))
        elif len(missing) == 1:
            if extent % product:
                raise InputError(f"{source} has extent {extent}, expected a multiple of {product}")
            self._known[self._ties.representatives[missing[0]]] = _Known(
                extent // product, source, product == 1
            )

    def _get(self, launch: Launch, name: str) -> _Known | None:
        static = launch.dims[name].static_extent
        return _Known(static) if static is not None else self._known.get(self._ties.representatives[name])

    def of(self, launch: Launch) -> list[int]:
        """Return the extents of a kernel's dims, in order. Raises InputError for one that no array gives."""
        extents: list[int] = []
        for name in launch.dims:
            known = self._get(launch, name)
            if known is None:
                raise InputError(f"no array gives the extent of dim {name}")
            extents.append(known.extent)
        return extents

    def shape(self, launch: Launch, number: int, lengths: Sequence[int]) -> list[int]:
        """Return the shape of a result of a kernel, by its number, from the extents of the kernel's dims."""
        uses = launch.uses[len(launch.op.inputs) + number]
        counts = uses[0].block_counts if uses else frozenset[str]()
        extents = dict(zip(launch.dims, lengths, strict=True))
        shape: list[int] = []
        for axis in launch.results[number]:
            product = 1
            for name in axis:
                extent, size = extents[name], launch.dims[name].block_size
                product *= -(-extent // size) if name in counts and size is not None else extent
            shape.append(product)
        return shape


def _disagreement(extent: int, source: str, known: Sequence[_Known], dims: str) -> str:
    """The sentence for an axis whose extent is not the product of those of its dims."""
    named = [each for each in known if each.source]
    if len(known) == 1 and named and named[0].exact:
        first = named[0]
        return (
            f"{first.source} has extent {first.extent} and {source} has extent {extent}, "
            "expected equal extents"
        )
    product = prod(each.extent for each in known)
    because = " and ".join(f"{each.extent} comes from {each.source}" for each in named)
    meaning = f" ({dims})" if len(known) > 1 else ""
    return f"{source} has extent {extent}, expected {product}{meaning}" + (f": {because}" if because else "")
