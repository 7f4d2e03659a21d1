"""Shapes of arrays: broadcasting, result inference and the axis groups of a reshape.

A shape is a tuple of extents; `DYNAMIC` stands for `?`, an extent known only at run time. Two `?` that must
agree are assumed to be equal. A `?` never broadcasts: where it must agree with a static extent other than 1,
it has that extent.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyTensorType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

DYNAMIC = DYNAMIC_INDEX
Shape: TypeAlias = tuple[int, ...]
AxisGroup: TypeAlias = tuple[list[int], list[int]]
"""Aligned axes of a reshape: the input axes and the output axes that hold the same elements."""


def array_type(value: SSAValue | Attribute) -> AnyTensorType:
    """The tensor type of a value (or the type itself). Raises VerifyException for anything else."""
    type = value.type if isinstance(value, SSAValue) else value
    if not isinstance(type, TensorType):  # any element type will do, and `isa` is slow
        raise VerifyException(f"expected a ranked tensor, got {type}")
    return cast("AnyTensorType", type)


def shape_of(value: SSAValue | Attribute) -> Shape:
    """The extents of an array value or type."""
    return array_type(value).get_shape()


def element_type_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of an array value or type."""
    return array_type(value).element_type


def with_shape(value: SSAValue | Attribute, shape: Sequence[int]) -> AnyTensorType:
    """The array type of `shape` with the element type of `value`."""
    return TensorType(element_type_of(value), shape)


def extent_text(extent: int) -> str:
    """`?` or the number."""
    return "?" if extent == DYNAMIC else str(extent)


def shape_text(shape: Sequence[int]) -> str:
    """`[2, ?, 8]`."""
    return f"[{', '.join(map(extent_text, shape))}]"


def unify(a: int, b: int) -> int | None:
    """The extent that `a` and `b` both may have, static if either is; None if they differ."""
    if a == b or b == DYNAMIC:
        return a
    return b if a == DYNAMIC else None


def unify_shapes(a: Sequence[int], b: Sequence[int]) -> Shape | None:
    """Axis by axis `unify`; None if ranks or extents differ."""
    if len(a) != len(b):
        return None
    result: list[int] = []
    for x, y in zip(a, b, strict=True):
        extent = unify(x, y)
        if extent is None:
            return None
        result.append(extent)
    return tuple(result)


def broadcast_shapes(*shapes: Sequence[int]) -> Shape | None:
    """The shape to which all `shapes` broadcast as numpy does it; None if there is none."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent == 1:
                continue
            extent = extent if result[axis] == 1 else unify(result[axis], extent)
            if extent is None:
                return None
            result[axis] = extent
    return tuple(result)


def broadcast_error(shape: Sequence[int], result: Sequence[int]) -> str | None:
    """Return the reason why `shape` does not broadcast to `result`, in words; None if it does."""
    if len(shape) > len(result):
        return f"shape {shape_text(shape)} has more axes than {shape_text(result)}"
    for axis, extent in enumerate(shape, len(result) - len(shape)):
        target = result[axis]
        if extent in (1, DYNAMIC, target):
            continue
        return (
            f"shape {shape_text(shape)} does not broadcast to {shape_text(result)}: "
            f"extent {extent_text(extent)} meets {extent_text(target)} "
            f"at result axis {axis}, expected 1 or {extent_text(target)}"
        )
    return None


def unknown_extent_axis(shapes: Sequence[Sequence[int]], result: Sequence[int]) -> int | None:
    """The first `?` axis of `result` whose extent no operand of `shapes` gives; None if all are given."""
    for axis, target in enumerate(result):
        if target != DYNAMIC:
            continue
        if not any(
            len(shape) >= len(result) - axis and shape[axis - len(result)] == DYNAMIC for shape in shapes
        ):
            return axis
    return None


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; a negative one counts from the back. Range is left to the verifier."""
    return axis + rank if axis < 0 else axis


def matmul_shape(
    a: Sequence[int], b: Sequence[int], transpose_a: bool = False, transpose_b: bool = False
) -> Shape:
    """Shape of `array.matmul`: `[..., M, K] x [..., K, N] -> [..., M, N]`, leading axes broadcast."""
    for name, shape in (("left", a), ("right", b)):
        if len(shape) < 2:
            raise VerifyException(
                f"'array.matmul' {name} operand has shape {shape_text(shape)}, expected at least two axes"
            )
    a_axes, b_axes = (len(a) - 2, len(a) - 1), (len(b) - 2, len(b) - 1)
    m_axis, ka_axis = reversed(a_axes) if transpose_a else a_axes
    kb_axis, n_axis = reversed(b_axes) if transpose_b else b_axes
    if unify(a[ka_axis], b[kb_axis]) is None:
        raise VerifyException(
            f"'array.matmul' contracts axis {ka_axis} of the left operand (extent {a[ka_axis]}) "
            f"with axis {kb_axis} of the right operand (extent {b[kb_axis]}), expected equal extents"
        )
    batch = broadcast_shapes(a[:-2], b[:-2])
    if batch is None:
        raise VerifyException(
            f"'array.matmul' batch axes {shape_text(a[:-2])} and {shape_text(b[:-2])} "
            "do not broadcast together"
        )
    return (*batch, a[m_axis], b[n_axis])


def reduce_shape(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> Shape:
    """Shape of `array.reduce` over `axes`."""
    check_axes("array.reduce", axes, len(shape))
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def transpose_shape(shape: Sequence[int], perm: Sequence[int]) -> Shape:
    """Shape of `array.transpose`: result axis `i` is input axis `perm[i]`."""
    if sorted(perm) != list(range(len(shape))):
        raise VerifyException(
            f"'array.transpose' perm {list(perm)} is not a permutation of the {len(shape)} axes "
            f"of {shape_text(shape)}"
        )
    return tuple(shape[axis] for axis in perm)


def slice_shape(shape: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]) -> Shape:
    """Shape of `array.slice`; a size of -1 is the rest of the axis."""
    if len(offsets) != len(shape) or len(sizes) != len(shape):
        raise VerifyException(
            f"'array.slice' has {len(offsets)} offsets and {len(sizes)} sizes, "
            f"expected {len(shape)} of each, one for each axis of {shape_text(shape)}"
        )
    result: list[int] = []
    for axis, (extent, offset, size) in enumerate(zip(shape, offsets, sizes, strict=True)):
        if offset < 0 or size < -1 or size == 0:
            raise VerifyException(
                f"'array.slice' axis {axis}: offset {offset} and size {size}, "
                "expected an offset of at least 0 and a positive size or -1 (the rest)"
            )
        if extent == DYNAMIC:
            result.append(DYNAMIC if size == -1 else size)
            continue
        if offset + max(size, 1) > extent:
            raise VerifyException(
                f"'array.slice' axis {axis}: offset {offset} and size {size} reach past the extent {extent}"
            )
        result.append(extent - offset if size == -1 else size)
    return tuple(result)


def concat_shape(shapes: Sequence[Sequence[int]], axis: int) -> Shape:
    """Shape of `array.concat`: extents along `axis` add up, all others agree."""
    if not shapes:
        raise VerifyException("'array.concat' expected at least one operand")
    rank = len(shapes[0])
    check_axes("array.concat", (axis,), rank)
    total: int = 0
    others: Shape = (*shapes[0][:axis], 0, *shapes[0][axis + 1 :])
    for number, shape in enumerate(shapes):
        if len(shape) != rank:
            raise VerifyException(
                f"'array.concat' operand {number} has shape {shape_text(shape)}, "
                f"expected {rank} axes as in operand 0"
            )
        merged = unify_shapes(others, (*shape[:axis], 0, *shape[axis + 1 :]))
        if merged is None:
            raise VerifyException(
                f"'array.concat' operand {number} has shape {shape_text(shape)}, "
                f"expected the extents of operand 0, {shape_text(shapes[0])}, on every axis but {axis}"
            )
        others = merged
        total = DYNAMIC if DYNAMIC in (total, shape[axis]) else total + shape[axis]
    return (*others[:axis], total, *others[axis + 1 :])


def check_axes(name: str, axes: Sequence[int], rank: int) -> None:
    """Raise VerifyException unless `axes` are distinct, ascending and within the rank."""
    for axis in axes:
        if not 0 <= axis < rank:
            raise VerifyException(f"'{name}' axis {axis} is out of range, expected 0 <= axis < {rank}")
    if any(a >= b for a, b in pairwise(axes)):
        raise VerifyException(f"'{name}' axes {list(axes)} are not strictly ascending")


def _is_product(whole: int, parts: Sequence[int]) -> bool:
    if whole == DYNAMIC:
        return sum(part == DYNAMIC for part in parts) == 1
    return DYNAMIC not in parts and math.prod(parts) == whole


def reshape_groups(in_shape: Sequence[int], out_shape: Sequence[int]) -> list[AxisGroup]:
    """Align the axes of a reshape: kept (1:1), inserted (0:1), removed (1:0), split (1:n) or merged (n:1).

    If several alignments fit (`[?, 2, ?]` to `[?, ?]`), take the one that has the earlier entry of this list
    at the first axis where they differ. Raises VerifyException if there is none, or if a group would have
    more than one `?`.
    """
    failed: set[tuple[int, int]] = set()

    def align(i: int, j: int) -> list[AxisGroup] | None:
        if i == len(in_shape) and j == len(out_shape):
            return []
        if (i, j) in failed:
            return None
        for inputs, outputs in candidates(i, j):
            rest = align(i + inputs, j + outputs)
            if rest is not None:
                return [(list(range(i, i + inputs)), list(range(j, j + outputs))), *rest]
        failed.add((i, j))
        return None

    def candidates(i: int, j: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        if i < len(in_shape) and j < len(out_shape) and in_shape[i] == out_shape[j]:
            found.append((1, 1))
        if j < len(out_shape) and out_shape[j] == 1:
            found.append((0, 1))
        if i < len(in_shape) and in_shape[i] == 1:
            found.append((1, 0))
        if i < len(in_shape):
            lengths = range(2, len(out_shape) - j + 1)
            found.extend((1, n) for n in lengths if _is_product(in_shape[i], out_shape[j : j + n]))
        if j < len(out_shape):
            lengths = range(2, len(in_shape) - i + 1)
            found.extend((n, 1) for n in lengths if _is_product(out_shape[j], in_shape[i : i + n]))
        return found

    groups = align(0, 0)
    if groups is None:
        raise VerifyException(
            f"'array.reshape' from {shape_text(in_shape)} to {shape_text(out_shape)} is not a sequence of "
            "splits and merges of adjacent axes (and of inserted or removed axes of extent 1), "
            "with at most one ? a group"
        )
    return groups
