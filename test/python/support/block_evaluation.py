"""Evaluating functions whose arguments are items and lists, and applying one law to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from bb.dialects import block
from bb.dialects.array import DYNAMIC
from bb.dialects.scalar import is_float
from bb.passes.rules.law import AnyLaw
from bb.runtime.arrays.dtypes import numpy_dtype
from bb.runtime.interpreter.arrays import Callback
from bb.runtime.interpreter.blocks import BlockInterpreter, Counts, Dims, Value
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

Array = NDArray[np.float64]

UNKNOWN_EXTENT = 7
"""The extent of dims that a function leaves open."""


def dims_of(function: FuncOp) -> Dims:
    """The dims of a function, with extents for all of them."""
    dims = Dims(block.parse_dims(function.attributes[block.DIMS]), default_size=3)
    for name in dims.declared:
        dims.extents.setdefault(name, UNKNOWN_EXTENT)
    return dims


def random_value(type: Attribute, dims: Dims, function: FuncOp, rng: np.random.Generator) -> Value:
    """Values for an argument: small integers, or floats of either sign that are not near 0."""

    def draw(shape: Sequence[int], element_type: Attribute) -> Array:
        if not is_float(element_type):
            return rng.integers(-4, 5, shape).astype(np.float64)
        return rng.uniform(0.25, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

    def item(item_type: block.ItemType, trips: Mapping[str, int]) -> Array:
        offsets = {dim: trips.get(dim, 0) * dims.size(dim, function) for dim in item_type.dims}
        shape = [
            min(dims.size(dim, function), dims.extent(dim, function) - offset)
            for dim, offset in offsets.items()
        ]
        return draw(shape, item_type.element_type)

    def value(type: Attribute, trips: Mapping[str, int]) -> Value:
        if isinstance(type, block.ListType):
            dim = type.dim.data
            return [value(type.element, {**trips, dim: trip}) for trip in range(dims.trips(dim, function))]
        assert isinstance(type, block.ItemType)
        return item(type, trips)

    if isinstance(type, TensorType):
        tensor = cast("TensorType[Attribute]", type)
        shape = [UNKNOWN_EXTENT if extent == DYNAMIC else extent for extent in tensor.get_shape()]
        return draw(shape, tensor.element_type)
    return value(type, {})


def random_arguments(function: FuncOp, seed: int = 0) -> list[Value]:
    """One value for each argument of a function."""
    dims, rng = dims_of(function), np.random.default_rng(seed)
    return [random_value(argument.type, dims, function, rng) for argument in function.body.block.args]


def evaluate(
    function: FuncOp,
    arguments: Sequence[Value],
    *,
    float64: bool = True,
    callbacks: Mapping[str, Callback] | None = None,
) -> tuple[list[Value], Counts]:
    """The results of a function of block operations, and what it moved and computed."""
    dims = dims_of(function)
    interpreter = BlockInterpreter(dims, float64=float64, callbacks=callbacks)
    body = function.body.block
    values: dict[SSAValue, Value] = {}
    for argument, value in zip(body.args, arguments, strict=True):
        values[argument] = as_declared(argument, value, dims, float64)
    for op in body.ops:
        if isinstance(op, ReturnOp):
            return [values[value] for value in op.arguments], interpreter.counts
        interpreter.evaluate(op, values)
    raise AssertionError("the function does not return")


def as_declared(argument: SSAValue, value: Value, dims: Dims, float64: bool) -> Value:
    """A value as an argument of a function declares it.

    The elements get the argument's type. A list may nest deeper than the argument, which lost dims of one
    block: those levels go, chosen such that the others have as many elements as their dims have blocks.
    """
    type = argument.type
    nest = type.dims if isinstance(type, block.ListType) else ()
    tensor = cast("TensorType[Attribute]", type)
    element_type = tensor.element_type if isinstance(type, TensorType) else block.element_type_of(type)
    dtype = numpy_dtype(element_type, float64)
    function = argument.owner.parent_op() if isinstance(argument.owner, Block) else None
    assert function is not None
    trips = [dims.trips(dim, function) for dim in nest]

    def convert(value: Value, level: int) -> Value:
        if not isinstance(value, list):
            return value.astype(dtype)
        superfluous = depth(value) > len(trips) - level
        if superfluous and len(value) == 1 and (level == len(trips) or trips[level] != 1):
            return convert(value[0], level)
        return [convert(part, level + 1) for part in value]

    return convert(value, 0)


def depth(value: Value) -> int:
    """Depth to which lists nest."""
    return 1 + depth(value[0]) if isinstance(value, list) else 0


def flat(value: Value) -> list[Array]:
    """The items of a value, in order."""
    if isinstance(value, list):
        return [item for part in value for item in flat(part)]
    return [np.asarray(value, np.float64)]


def difference(actual: Sequence[Value], expected: Sequence[Value]) -> float:
    """The largest difference, relative to the largest element of the item (to 1 where all are smaller).

    Infinite where shapes differ, or where only one of the two is infinite or NaN.
    """
    left = [item for value in actual for item in flat(value)]
    right = [item for value in expected for item in flat(value)]
    if [item.shape for item in left] != [item.shape for item in right]:
        return np.inf
    return max((_difference(got, wanted) for got, wanted in zip(left, right, strict=True)), default=0.0)


def _difference(got: Array, wanted: Array) -> float:
    if np.array_equal(got, wanted):
        return 0.0
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    finite = np.isfinite(got) & np.isfinite(wanted)
    if not np.all(same | finite):
        return np.inf
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(got - wanted), initial=0.0, where=finite)) / scale


def apply_once(law: AnyLaw, function: FuncOp) -> bool:
    """Let a law rewrite the first operation at which it applies; whether there was one."""
    for op in list(function.walk()):
        rewriter = PatternRewriter(op)
        law.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            return True
    return False
