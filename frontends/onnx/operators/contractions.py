"""Products of matrices, einsum and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as combinations

from xdsl.ir import SSAValue

from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from ...shared import views
from ...shared.errors import Unsupported
from ...shared.scalars import ARITHMETIC
from ..extents import Dims, Extent, ExtentLike, product
from ..nodes import Node
from ..tensors import Tensor, multiplied, part, permuted, reduced, reshaped, swapped, with_axes, without_axes
from .registry import operator

MOST_TAPS = 64
"""Positions of a convolution's kernel, each of which is a product of matrices."""


@operator("MatMul")
def _matmul(node: Node) -> Tensor:
    a, b = node.tensor(0), node.tensor(1)
    vectors = a.rank == 1, b.rank == 1
    a = with_axes(a, [0]) if vectors[0] else a
    b = with_axes(b, [1]) if vectors[1] else b
    found = multiplied(a, b)
    return without_axes(found, [axis for axis, gone in zip((-2, -1), vectors, strict=True) if gone])


@operator("Gemm")
def _gemm(node: Node) -> Tensor:
    a, b = node.tensor(0), node.tensor(1)
    a = swapped(a, 0, 1) if node.attribute("transA", 0) else a
    found = multiplied(a, b, transpose_b=bool(node.attribute("transB", 0)))
    alpha, beta, type = node.attribute("alpha", 1.0), node.attribute("beta", 1.0), found.type
    plus, times = ARITHMETIC["add"].of(type), ARITHMETIC["mul"].of(type)

    def scaled(s: ScalarBuilder, x: SSAValue, factor: float) -> SSAValue:
        return x if factor == 1 else s.insert(times(x, s.constant(factor, type)))

    if node.has(2) and beta != 0:
        return node.pointwise(
            lambda s, x, c: s.insert(plus(scaled(s, x, alpha), scaled(s, c, beta))),
            found,
            node.value(2),
            compute=type,
        )
    return found if alpha == 1 else node.pointwise(lambda s, x: scaled(s, x, alpha), found, compute=type)


@operator("Einsum")
def _einsum(node: Node) -> Tensor:
    given = [node.tensor(position) for position in range(len(node.inputs))]
    terms, result = _equation(node.attribute("equation"), [each.rank for each in given])
    x, labels = given[0], terms[0]
    for position in range(1, len(given)):
        later = {*result, *(label for term in terms[position + 1 :] for label in term)}
        x, labels = _contracted(x, labels, given[position], terms[position], later)
    gone = [axis for axis, label in enumerate(labels) if label not in result]
    x = reduced("sum", x, gone)
    labels = [label for label in labels if label in result]
    return permuted(x, [labels.index(label) for label in result])


def _equation(text: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result; `...` becomes labels of its own."""
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise Unsupported(f"its equation '{text}' has {len(terms)} terms for {len(ranks)} arrays")
    widest = max(
        (rank - len(term) + 3 for term, rank in zip(terms, ranks, strict=True) if "..." in term), default=0
    )

    def labels(term: str, rank: int) -> list[str]:
        before, dots, after = term.partition("...")
        count = rank - len(before) - len(after) if dots else 0
        return [*before, *(f".{number}" for number in range(widest - count, widest)), *after]

    found = [labels(term, rank) for term, rank in zip(terms, ranks, strict=True)]
    for each, rank in zip(found, ranks, strict=True):
        if len(each) != rank or len(set(each)) != rank:
            raise Unsupported(f"its equation '{text}' repeats a label, or does not fit the arrays")
    if arrow:
        return found, labels(right, len(right.replace("...", "")) + (widest if "..." in right else 0))
    used = [label for each in found for label in each]
    alone = sorted(label for label in set(used) if used.count(label) == 1 and label[0] != ".")
    return found, [*(f".{number}" for number in range(widest)), *alone]


def _contracted(
    a: Tensor, a_labels: list[str], b: Tensor, b_labels: list[str], later: set[str]
) -> tuple[Tensor, list[str]]:
    """The product of two arrays, summed over the labels that nothing needs later."""
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in later]
    inner = [label for label in shared if label not in later]
    rows = [label for label in a_labels if label not in shared]
    columns = [label for label in b_labels if label not in shared]
    left = permuted(a, [a_labels.index(label) for label in (*batch, *rows, *inner)])
    right = permuted(b, [b_labels.index(label) for label in (*batch, *inner, *columns)])
    first, second = len(batch), len(batch) + len(rows)
    lead, own = left.dims[:first], left.dims[first:second]
    other = right.dims[first + len(inner) :]
    left = reshaped(left, (*lead, product(own), product(left.dims[second:])))
    right = reshaped(right, (*right.dims[:first], product(left.dims[-1:]), product(other)))
    return reshaped(multiplied(left, right), (*lead, *own, *other)), [*batch, *rows, *columns]


# Convolutions


@operator("Conv")
def _conv(node: Node) -> Tensor:
    """A product of matrices for each position of the kernel; one for all where windows do not overlap."""
    x, w = node.tensor(0), node.tensor(1)
    count = x.rank - 2
    dims = x.dims[2:]
    if any(isinstance(extent, Extent) for extent in (*w.dims, *dims)) or not is_float(x.type):
        raise Unsupported(f"a convolution of {list(x.dims)}, expected known extents but for the batch")
    node.attribute("kernel_shape")  # that of the weight
    kernel = [int(extent) for extent in w.dims[2:]]  # pyright: ignore[reportArgumentType]
    strides = node.attribute("strides", [1] * count)
    dilations = node.attribute("dilations", [1] * count)
    low, high = _pads(node, [int(e) for e in dims], kernel, strides, dilations)  # pyright: ignore
    groups = node.attribute("group", 1)
    if groups != 1 and not (groups == x.dims[1] and w.dims[1] == 1 and w.dims[0] == groups):
        raise Unsupported(f"a convolution of {groups} groups, expected one, or one for each channel")
    if any(low) or any(high):
        grown = [a + extent + b for a, extent, b in zip(low, dims, high, strict=True)]
        x = Tensor.of(x.array.pad([0, 0, *low], [0, 0, *high]), (*x.dims[:2], *grown))
    if groups == 1 and kernel == strides and set(dilations) == {1} and not any(low) and not any(high):
        found = _patches(x, w, kernel)
    else:
        found = _taps(node, x, w, kernel, strides, dilations, groups)
    if node.has(2):
        bias = with_axes(node.tensor(2), [0, *range(2, x.rank)])
        found = node.pointwise(lambda s, a, b: s.add(a, b), found, bias, compute=found.type)
    return found


def _pads(
    node: Node, extents: list[int], kernel: list[int], strides: list[int], dilations: list[int]
) -> tuple[list[int], list[int]]:
    """Elements of padding before and after each axis of space."""
    count, mode = len(extents), node.attribute("auto_pad", "NOTSET")
    if mode == "VALID":
        return [0] * count, [0] * count
    if mode == "NOTSET":
        pads = node.attribute("pads", [0] * (2 * count))
        return list(pads[:count]), list(pads[count:])
    totals = [
        max(0, (-(-extent // stride) - 1) * stride + (size - 1) * spread + 1 - extent)
        for extent, size, stride, spread in zip(extents, kernel, strides, dilations, strict=True)
    ]
    smaller = [total // 2 for total in totals]
    larger = [total - total // 2 for total in totals]
    return (smaller, larger) if mode == "SAME_UPPER" else (larger, smaller)


def _patches(x: Tensor, w: Tensor, kernel: list[int]) -> Tensor:
    """Windows that lie side by side: `[N, windows, C * kernel]` with `[O, C * kernel]`."""
    count = len(kernel)
    counts = [
        extent // size  # pyright: ignore
        for extent, size in zip(x.dims[2:], kernel, strict=True)
    ]
    for axis, (number, size) in enumerate(zip(counts, kernel, strict=True), 2):
        if x.dims[axis] != number * size:
            x = part(x, axis, 0, number * size)  # pyright: ignore[reportArgumentType]
    split = [each for pair in zip(counts, kernel, strict=True) for each in pair]
    spread = reshaped(x, (*x.dims[:2], *split))
    outer, inner = [2 + 2 * axis for axis in range(count)], [3 + 2 * axis for axis in range(count)]
    rows = permuted(spread, [0, *outer, 1, *inner])
    matrix = reshaped(rows, (x.dims[0], product(counts), product((x.dims[1], *kernel))))
    found = multiplied(matrix, reshaped(w, (w.dims[0], product(w.dims[1:]))), transpose_b=True)
    return reshaped(swapped(found, 1, 2), (x.dims[0], w.dims[0], *counts))


def _taps(
    node: Node,
    x: Tensor,
    w: Tensor,
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
    groups: int,
) -> Tensor:
    """The sum over the kernel's positions of what each contributes to all windows."""
    if product(kernel) > MOST_TAPS:  # pyright: ignore[reportOperatorIssue]
        raise Unsupported(f"a kernel of {kernel}, expected at most {MOST_TAPS} elements")
    counts = [
        (int(extent) - (size - 1) * spread - 1) // stride + 1  # pyright: ignore[reportArgumentType]
        for extent, size, stride, spread in zip(x.dims[2:], kernel, strides, dilations, strict=True)
    ]
    if min(counts) < 1:
        raise Unsupported(f"a kernel of {kernel} that is larger than its array of {list(x.dims)}")
    total: Tensor | None = None
    for place in combinations(*map(range, kernel)):
        window, weight = x, w
        for axis, each in enumerate(place, 2):
            start, step, size = each * dilations[axis - 2], strides[axis - 2], counts[axis - 2]
            window = part(window, axis, start, (size - 1) * step + 1)
            dims: Dims = (*window.dims[:axis], size, *window.dims[axis + 1 :])
            window = Tensor.of(views.strided(window.array, axis, step), dims)
            weight = part(weight, axis, each, 1)
        term = _term(node, window, weight, groups, counts)
        if total is None:
            total = term
        else:
            total = node.pointwise(lambda s, a, b: s.add(a, b), total, term, compute=term.type)
    assert total is not None
    return total


def _term(node: Node, window: Tensor, weight: Tensor, groups: int, counts: list[int]) -> Tensor:
    channels: ExtentLike = weight.dims[0]
    if groups > 1:
        factor = reshaped(weight, (1, channels, *[1] * len(counts)))
        return node.pointwise(lambda s, a, b: s.multiply(a, b), window, factor, compute=window.type)
    matrix = reshaped(window, (*window.dims[:2], product(counts)))
    found = multiplied(reshaped(weight, weight.dims[:2]), matrix)
    return reshaped(found, (window.dims[0], channels, *counts))
