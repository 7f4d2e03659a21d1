"""Element-wise functions of arrays and numbers, with conversions inside of the region."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast, overload

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ...dialects.array import element_type_of
from ...dialects.builder import Array
from ...dialects.scalar_builder import ScalarBuilder
from . import scalars
from .errors import Unsupported
from .scalars import Binary, Unary

Operand: TypeAlias = "Array | float"


@overload
def pointwise(
    function: Unary, operands: tuple[Operand], compute: Attribute, result: Attribute | None = None
) -> Array: ...
@overload
def pointwise(
    function: Binary, operands: tuple[Operand, Operand], compute: Attribute, result: Attribute | None = None
) -> Array: ...
def pointwise(
    function: Unary | Binary,
    operands: tuple[Operand, ...],
    compute: Attribute,
    result: Attribute | None = None,
) -> Array:
    """`function(scalars, *elements)` at each element of the arrays, which broadcast; numbers are constants.

    Operands are converted to the type `compute`, and the result to the type `result` (default: as it comes).
    Raises Unsupported if no operand is an array.
    """

    def region(s: ScalarBuilder, *elements: SSAValue) -> SSAValue:
        given = iter(elements)
        values = [
            scalars.converted(s, next(given), compute) if isinstance(x, Array) else s.constant(x, compute)
            for x in operands
        ]
        found = cast("Callable[..., SSAValue]", function)(s, *values)
        return found if result is None else scalars.converted(s, found, result)

    arrays = [x for x in operands if isinstance(x, Array)]
    if not arrays:
        raise Unsupported("none of its operands is an array")
    return arrays[0].function.elementwise(region, *arrays)


def converted(x: Array, type: Attribute) -> Array:
    """An array with its elements converted, or as it is if they have the type."""
    source = element_type_of(x.value)
    return x if source == type else pointwise(lambda s, a: a, (x,), source, type)


def unary(name: str, x: Array) -> Array:
    """A function of `scalars.UNARY`, computed in f32 for floats of 16 bits."""
    form, type = scalars.UNARY[name], element_type_of(x.value)
    return pointwise(lambda s, a: s.insert(form(a)), (x,), scalars.computed_in(type), type)


def binary(name: str, a: Operand, b: Operand, type: Attribute) -> Array:
    """An operation of `scalars.ARITHMETIC` on operands that are converted to `type`, the result's type."""
    form = scalars.ARITHMETIC[name].of(type)
    return pointwise(lambda s, x, y: s.insert(form(x, y)), (a, b), type)


def compare(kind: scalars.Comparison, a: Operand, b: Operand, type: Attribute) -> Array:
    """A comparison of operands that are converted to `type`; the result has elements of type i1."""
    return pointwise(lambda s, x, y: scalars.compared(s, kind, x, y), (a, b), type)


def where(condition: Array, a: Operand, b: Operand, type: Attribute) -> Array:
    """Elements of `a` where the condition holds, else of `b`, converted to `type`; all arrays broadcast."""
    arrays = [x for x in (a, b) if isinstance(x, Array)]

    def region(s: ScalarBuilder, holds: SSAValue, *elements: SSAValue) -> SSAValue:
        given = iter(elements)
        x, y = (
            scalars.converted(s, next(given), type) if isinstance(v, Array) else s.constant(v, type)
            for v in (a, b)
        )
        return s.select(holds, x, y)

    return condition.function.elementwise(region, converted(condition, i1), *arrays)


def clamp(x: Array, low: Operand | None, high: Operand | None, type: Attribute) -> Array:
    """Elements raised to `low` and lowered to `high`, in this order; None is no bound."""
    x = converted(x, type)
    x = x if low is None else binary("max", x, low, type)
    return x if high is None else binary("min", x, high, type)
