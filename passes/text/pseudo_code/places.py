"""Places of items in global memory: `v[n, l]`, an array or a list and an index for each of its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Attribute

from ....dialects import block


@dataclass(frozen=True)
class Root:
    """An array, or a list that is no array; each axis is a product of dims, none where its extent is 1."""

    name: str
    axes: tuple[tuple[str, ...], ...]

    @property
    def header(self) -> str:
        """`w[H*E, D]`"""
        return _indexed(self.name, [list(axis) for axis in self.axes], "1")


@dataclass(frozen=True)
class Place:
    """A part of an array or list: some of its dims have an index, the others stand for all their elements."""

    root: Root
    indices: Mapping[str, str] = field(default_factory=dict[str, str])

    def at(self, dim: str, index: str) -> Place:
        """The part with this index along a dim."""
        return replace(self, indices={**self.indices, dim: index})

    def transposes(self, item: Attribute) -> bool:
        """True if the rows of an item run along a later axis than its columns."""
        order = [dim for axis in self.root.axes for dim in axis]
        if not isinstance(item, block.BlockType) or not {*item.dims} <= {*order}:
            return False
        rows, cols = item.dims
        return order.index(rows) > order.index(cols)

    @property
    def axes_with_index(self) -> tuple[str, ...]:
        """The index that is written for each dim, in order."""
        return tuple(self.indices.get(dim, dim) for axis in self.root.axes for dim in axis)

    def __str__(self) -> str:
        axes = [[self.indices.get(dim, dim) for dim in axis] for axis in self.root.axes]
        return _indexed(self.root.name, axes, "0")


def _indexed(name: str, axes: Sequence[Sequence[str]], empty: str) -> str:
    return f"{name}[{', '.join('*'.join(axis) or empty for axis in axes)}]" if axes else name


def list_axes(type: Attribute) -> tuple[tuple[str, ...], ...]:
    """The axes of a list that is no array: dims without an axis in the items, then the items' own axes."""
    if not isinstance(type, block.ListType):
        return ()
    nest, item = type.dims, type.item.dims
    return tuple((dim,) for dim in (*(d for d in nest if d not in item), *(d for d in item if d in nest)))


def axes_of_view(view: block.ViewOp) -> tuple[tuple[str, ...], ...]:
    """The dims of each axis of the array of a view."""
    return tuple(tuple(dim.data for dim in axis) for axis in view.axes)
