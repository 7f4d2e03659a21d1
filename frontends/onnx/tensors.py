"""Arrays of the program with their extents as the model names them, and views that keep the names right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from ...dialects import array
from ...dialects.array import element_type_of, reshape_groups, shape_of
from ...dialects.builder import Array
from ..shared import views
from ..shared.errors import Unsupported
from .extents import Dims, Extent, ExtentLike, broadcast_dims, product, shape_from


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array of the program; `dims` has a name for each extent that is unknown before a call."""

    array: Array
    dims: Dims

    @staticmethod
    def of(value: Array, dims: Sequence[ExtentLike]) -> Tensor:
        """An array with its dims; an extent that the program knows replaces its name.

        Raises Unsupported for an array without elements.
        """
        shape = value.shape
        merged = tuple(named if known is None else known for known, named in zip(shape, dims, strict=True))
        if 0 in merged:
            raise Unsupported(f"its result of shape {list(merged)} has no elements")
        return Tensor(value, merged)

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def type(self) -> Attribute:
        """The type of the elements."""
        return element_type_of(self.array.value)

    def axis(self, axis: int) -> int:
        """An axis counted from the front. Raises Unsupported for one that is not there."""
        return checked_axis(axis, self.rank)

    def like(self, value: Array) -> Tensor:
        """An array of the same dims."""
        return Tensor(value, self.dims)


def checked_axis(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises Unsupported for one that is not there."""
    if not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} is out of range for an array of rank {rank}")
    return axis % rank


def reshaped(x: Tensor, dims: Sequence[ExtentLike]) -> Tensor:
    """The same elements in another shape. Raises Unsupported where it would have to merge unknown extents."""
    dims = tuple(dims)
    if x.dims == dims:
        return x
    if product(x.dims) != product(dims):
        raise Unsupported(f"it reshapes {list(x.dims)} to {list(dims)}, which has another number of elements")
    shape = shape_from(dims)
    if any(isinstance(extent, Extent) for extent in dims):
        try:
            groups = reshape_groups(shape_of(x.array.value), shape)
            fits = all(
                product(x.dims[i] for i in before) == product(dims[i] for i in after)
                for before, after in groups
            )
        except Exception:
            fits = False
        if not fits:
            raise Unsupported(
                f"it reshapes {list(x.dims)} to {list(dims)}, which merges or splits unknown extents: "
                "fix them with dims="
            )
    return Tensor.of(views.reshaped(x.array, shape), dims)


def permuted(x: Tensor, perm: Sequence[int]) -> Tensor:
    """Axes in another order."""
    if sorted(axis % max(x.rank, 1) for axis in perm) != list(range(x.rank)):
        raise Unsupported(f"{list(perm)} is no order of the axes of {list(x.dims)}")
    return Tensor(views.permuted(x.array, perm), tuple(x.dims[axis] for axis in perm))


def swapped(x: Tensor, a: int, b: int) -> Tensor:
    """Two axes exchanged."""
    perm = list(range(x.rank))
    perm[a], perm[b] = perm[b], perm[a]
    return permuted(x, perm)


def with_axes(x: Tensor, axes: Iterable[int]) -> Tensor:
    """New axes of extent 1 at these positions of the result."""
    axes = list(axes)
    rank = x.rank + len(axes)
    where = {checked_axis(axis, rank) for axis in axes}
    if len(where) != len(axes):
        raise Unsupported(f"it inserts an axis twice: {axes}")
    rest = iter(x.dims)
    return reshaped(x, [1 if axis in where else next(rest) for axis in range(rank)])


def without_axes(x: Tensor, axes: Iterable[int]) -> Tensor:
    """The same without these axes of extent 1."""
    gone = {x.axis(axis) for axis in axes}
    for axis in gone:
        if x.dims[axis] != 1:
            raise Unsupported(f"it removes axis {axis} of extent {x.dims[axis]}, expected extent 1")
    return reshaped(x, [extent for axis, extent in enumerate(x.dims) if axis not in gone])


def part(x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """`size` elements from `start` along an axis; a size of -1 is the rest."""
    axis = x.axis(axis)
    if size == 0 or (size == -1 and x.dims[axis] == start):
        raise Unsupported("a slice without elements")
    dims = list(x.dims)
    dims[axis] = dims[axis] - start if size == -1 else size
    return Tensor.of(views.part(x.array, axis, start, size), dims)


def joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Arrays joined along an axis."""
    axis = parts[0].axis(axis)
    dims = list(parts[0].dims)
    for other in parts[1:]:
        if other.rank != parts[0].rank:
            raise Unsupported(f"it joins arrays of rank {parts[0].rank} and {other.rank}")
        dims[axis] = dims[axis] + other.dims[axis]
    return Tensor.of(views.concatenated([each.array for each in parts], axis), dims)


def reduced(kind: str, x: Tensor, axes: Sequence[int], keepdims: bool = False) -> Tensor:
    """`sum`, `max` or `min` over axes; over none, the array itself."""
    over = sorted({x.axis(axis) for axis in axes})
    if not over:
        return x
    found = x.array.function.apply(array.ReduceOp(kind, x.array.value, over, keepdims=keepdims))
    kept = [1 if axis in over else extent for axis, extent in enumerate(x.dims)]
    return Tensor.of(found, kept if keepdims else [e for axis, e in enumerate(x.dims) if axis not in over])


def multiplied(a: Tensor, b: Tensor, *, transpose_b: bool = False) -> Tensor:
    """Product of matrices, `[..., M, K]` with `[..., K, N]` or, transposed, `[..., N, K]`."""
    rows, columns = a.dims[-2], b.dims[-2 if transpose_b else -1]
    batch = broadcast_dims(a.dims[:-2], b.dims[:-2])
    return Tensor.of(a.array.matmul(b.array, transpose_b=transpose_b), (*batch, rows, columns))


def gathered(table: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Slices of `table` along an axis, looked up by index."""
    axis = table.axis(axis)
    dims = (*table.dims[:axis], *indices.dims, *table.dims[axis + 1 :])
    return Tensor.of(table.array.gather(indices.array, axis), dims)
