"""Arithmetic on known values, mostly shapes, computed by numpy when the model is imported.

`FOLDED` has a function for each operator that shape arithmetic is made of. Each takes the known inputs (None
for one that is left out) and the node's attributes, and returns an array or several. Elements can be
`Extent`s in an array of dtype object; what numpy cannot do with them raises, and the node becomes operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..shared.errors import Unsupported
from .extents import Extent, divided, tidy
from .reader import DTYPES

Known: TypeAlias = np.ndarray[Any, Any]
Fold: TypeAlias = Callable[[Sequence[Known | None], Mapping[str, Any]], "Known | list[Known]"]

MOST_ELEMENTS = 4096
"""A value with more elements stays a computation: it is data, not arithmetic on shapes."""

FOLDED: dict[str, Fold] = {}


def _fold(*names: str) -> Callable[[Fold], Fold]:
    def register(function: Fold) -> Fold:
        for name in names:
            FOLDED[name] = function
        return function

    return register


def _given(inputs: Sequence[Known | None], position: int) -> Known:
    value = inputs[position] if position < len(inputs) else None
    if value is None:
        raise Unsupported(f"input {position} is missing")
    return value


def _axes(
    inputs: Sequence[Known | None], attributes: Mapping[str, Any], position: int = 1
) -> list[int] | None:
    """The axes, an attribute in earlier opsets and an input in later ones."""
    value = inputs[position] if position < len(inputs) else None
    if value is not None:
        return [int(each) for each in value.reshape(-1)]
    return attributes.get("axes")


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
}
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "Neg": np.negative,
    "Abs": np.abs,
    "Sqrt": np.sqrt,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Exp": np.exp,
    "Log": np.log,
    "Reciprocal": lambda x: (1 / x).astype(x.dtype),
    "Not": np.logical_not,
    "Identity": lambda x: x,
}


def _binary(name: str) -> Fold:
    def fold(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
        a, b = _given(inputs, 0), _given(inputs, 1)
        found = _BINARY[name](a, b)
        compares = name not in ("Add", "Sub", "Mul")
        return np.asarray(found, np.bool_) if compares else np.asarray(found)

    return fold


def _unary(name: str) -> Fold:
    def fold(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
        x = _given(inputs, 0)
        return np.asarray(_UNARY[name](x)).astype(x.dtype if name != "Not" else np.bool_)

    return fold


def _extreme(larger_or_smaller: np.ufunc) -> Fold:
    def fold(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
        found = _given(inputs, 0)
        for position in range(1, len(inputs)):
            found = larger_or_smaller(found, _given(inputs, position))
        return np.asarray(found)

    return fold


FOLDED.update(Min=_extreme(np.minimum), Max=_extreme(np.maximum))
FOLDED.update({name: _binary(name) for name in _BINARY})
FOLDED.update({name: _unary(name) for name in _UNARY})


@_fold("Div")
def _div(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    a, b = _given(inputs, 0), _given(inputs, 1)
    if a.dtype == object or b.dtype == object:
        return np.asarray(np.frompyfunc(divided, 2, 1)(a, b), dtype=object)
    if a.dtype.kind in "iu":
        if (b == 0).any():
            raise Unsupported("a known integer is divided by 0")
        return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)  # towards zero
    return a / b


@_fold("Mod")
def _mod(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    a, b = _given(inputs, 0), _given(inputs, 1)
    return np.fmod(a, b) if attributes.get("fmod", 0) else np.asarray(a % b)


@_fold("Pow")
def _pow(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    a, b = _given(inputs, 0), _given(inputs, 1)
    return np.power(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)


@_fold("Where")
def _where(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    condition, a, b = (_given(inputs, position) for position in range(3))
    return np.where(condition, a, b)


@_fold("Cast")
def _cast(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    x, dtype = _given(inputs, 0), DTYPES.get(attributes["to"])
    if dtype is None:
        raise Unsupported("the element type is not one of arrays")
    if x.dtype == object:
        if dtype.kind != "i":
            raise Unsupported("an unknown extent becomes another type at run time")
        return x
    if x.dtype.kind == "f" and dtype.kind == "i" and not np.isfinite(x).all():
        raise Unsupported("a number that is not finite becomes an integer at run time")
    return x.astype(dtype)


@_fold("Gather")
def _gather(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    table, indices = _given(inputs, 0), _given(inputs, 1)
    axis = attributes.get("axis", 0)
    if indices.dtype == object or (
        indices.size and not -table.shape[axis] <= indices.min() <= indices.max() < table.shape[axis]
    ):
        raise Unsupported(f"an index lies outside of an axis of extent {table.shape[axis]}")
    return np.take(table, indices.astype(np.int64), axis=axis)


@_fold("Concat")
def _concat(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    parts = [_given(inputs, position) for position in range(len(inputs))]
    return np.concatenate(parts, axis=attributes["axis"])


@_fold("Unsqueeze")
def _unsqueeze(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    return np.expand_dims(_given(inputs, 0), tuple(_axes(inputs, attributes) or ()))


@_fold("Squeeze")
def _squeeze(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    axes = _axes(inputs, attributes)
    return np.squeeze(_given(inputs, 0), None if axes is None else tuple(axes))


@_fold("Reshape")
def _reshape(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    x, shape = _given(inputs, 0), [int(each) for each in _given(inputs, 1)]
    if not attributes.get("allowzero", 0):
        shape = [x.shape[axis] if extent == 0 else extent for axis, extent in enumerate(shape)]
    return x.reshape(shape)


@_fold("Transpose")
def _transpose(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    return np.transpose(_given(inputs, 0), attributes.get("perm"))


@_fold("Expand")
def _expand(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    x, shape = _given(inputs, 0), [int(each) for each in _given(inputs, 1)]
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape)))


@_fold("Tile")
def _tile(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    return np.tile(_given(inputs, 0), [int(each) for each in _given(inputs, 1)])


@_fold("Slice")
def _slice(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    x, starts, ends = (_given(inputs, position) for position in range(3))
    axes = _axes(inputs, attributes, 3) or list(range(len(starts)))
    steps = inputs[4] if len(inputs) > 4 else None
    index: list[slice] = [slice(None)] * x.ndim
    for position, axis in enumerate(axes):
        step = 1 if steps is None else int(steps[position])
        end = int(ends[position])
        to_first = step < 0 and end < -x.shape[axis]
        index[axis] = slice(int(starts[position]), None if to_first else end, step)
    return x[tuple(index)]


@_fold("Split")
def _split(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> list[Known]:
    x, axis = _given(inputs, 0), attributes.get("axis", 0)
    if len(inputs) > 1 and inputs[1] is not None:
        sizes = [int(each) for each in inputs[1]]
    else:
        count = attributes.get("num_outputs", attributes["outputs"])
        size = -(-x.shape[axis] // count)
        sizes = [min(size, x.shape[axis] - size * number) for number in range(count)]
    return np.split(x, np.cumsum(sizes)[:-1], axis=axis)


@_fold("Range")
def _range(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    start, limit, delta = (_given(inputs, position) for position in range(3))
    if any(each.dtype == object for each in (start, limit, delta)):
        raise Unsupported("the number of elements is known only at run time")
    if delta.item() == 0 or abs((limit.item() - start.item()) / delta.item()) > MOST_ELEMENTS:
        raise Unsupported("there are too many elements")
    return np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


@_fold("ConstantOfShape")
def _constant_of_shape(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    value = attributes.get("value", np.zeros(1, np.float32))
    shape = [int(each) for each in _given(inputs, 0)]
    if math.prod(shape) > MOST_ELEMENTS:
        raise Unsupported("there are too many elements")
    return np.full(shape, value.reshape(-1)[0], value.dtype)


@_fold("Size")
def _size(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    return np.asarray(_given(inputs, 0).size, np.int64)


@_fold("Shape")
def _shape(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
    shape = np.asarray(_given(inputs, 0).shape, np.int64)
    return shape[slice(attributes.get("start", 0), attributes.get("end"))]


def _reduction(function: Callable[..., Any]) -> Fold:
    def fold(inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> Known:
        x, axes = _given(inputs, 0), _axes(inputs, attributes)
        if not axes and attributes.get("noop_with_empty_axes", 0):
            return x
        over = tuple(axes) if axes else None
        found = np.asarray(function(x, axis=over, keepdims=bool(attributes.get("keepdims", 1))))
        return found if found.dtype == object else found.astype(x.dtype)

    return fold


FOLDED["ReduceProd"] = _reduction(np.prod)
FOLDED["ReduceSum"] = _reduction(np.sum)
FOLDED["ReduceMax"] = _reduction(np.max)
FOLDED["ReduceMin"] = _reduction(np.min)


def fold(operator: str, inputs: Sequence[Known | None], attributes: Mapping[str, Any]) -> list[Known] | None:
    """The results of a node on known values; None for a node that is to be computed at run time."""
    function = FOLDED.get(operator)
    if function is None or any(each is not None and each.size > MOST_ELEMENTS for each in inputs):
        return None
    try:
        with np.errstate(all="ignore"):
            found = function(inputs, attributes)
    except (Unsupported, TypeError, ValueError, IndexError, KeyError, OverflowError):
        return None
    several = found if isinstance(found, list) else [found]  # numpy gives an element itself for rank 0
    results = [tidy(each) for each in several]
    return None if any(each.size > MOST_ELEMENTS for each in results) else results


def is_symbolic(known: Known) -> bool:
    """True if some element is known only as a polynomial in dims."""
    return known.dtype == object and any(isinstance(each, Extent) for each in known.flat)
