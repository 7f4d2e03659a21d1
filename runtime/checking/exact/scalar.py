"""Semantics of each scalar operation of an element-wise region over a field, on whole arrays at once.

Integers and booleans are exact, as in the interpreter, and so are their comparisons. Operations that round
change nothing. Comparisons of numbers follow a random order, in which -inf comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isnan, log
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from ....dialects.attributes import EXACT_ATTRIBUTE
from ....dialects.block import exact
from ....dialects.scalar import INDEX_OPS, is_float, number_of
from ....passes.text.pseudo_code.numbers import rational
from ...arrays.dtypes import numpy_dtype, to_dtype
from ...errors import InterpreterError
from ...interpreter.scalar_semantics import SCALAR_FUNCTIONS, evaluate_scalar_op
from .field import Field
from .marks import NEGATIVE_INFINITY, POSITIVE_INFINITY, UNDETERMINED
from .residues import Residues, Value, Whole, unknown_of

Meaning: TypeAlias = Callable[..., Residues]
"""(field, *operands) -> result."""
IndexValues: TypeAlias = Callable[[Operation], Whole]
"""Gives the value of `block.index` and `block.extent` operations."""


@lru_cache(maxsize=4096)
def _readings(attribute: FloatAttr) -> tuple[Fraction | None, Fraction | None]:
    """The number that a constant is, and the simplest one that its type rounds to it; None if not finite."""
    value = attribute.value.data
    return exact(number_of(attribute)), rational(value, attribute.type)


def number(field: Field, attribute: FloatAttr) -> Residues:
    """A floating-point constant as the rational number that it stands for, or as a mark."""
    own, simplest = _readings(attribute)
    if own is not None and simplest is not None:
        field.read_rounded |= own != simplest
        return field.number(simplest if field.simplest_constants else own)
    value = attribute.value.data
    return field.mark(UNDETERMINED if isnan(value) else POSITIVE_INFINITY if value > 0 else NEGATIVE_INFINITY)


def coefficient(field: Field, value: Fraction) -> Residues:
    """An exact coefficient; one that comes from a constant of f32 may stand for a simpler number."""
    if value.denominator > 1 << 20 and exact(rounded := float(np.float32(float(value)))) == value:
        return number(field, FloatAttr(rounded, f32))
    return field.number(value)


def _constant(field: Field, op: Operation) -> Value:
    value = op.properties["value"]
    if isinstance(value, IntegerAttr):
        return Whole(evaluate_scalar_op(op, [], float64=True))
    found = op.attributes.get(EXACT_ATTRIBUTE, value)
    assert isa(found, FloatAttr)
    return number(field, found)


def _ln2(field: Field) -> Residues:
    rational = exact(log(2))
    assert rational is not None
    return field.number(rational)


def _exp2(field: Field, x: Residues) -> Residues:
    return field.exp(field.mul(x, _ln2(field)))


def _expm1(field: Field, x: Residues) -> Residues:
    return field.sub(field.exp(x), field.number(1))


def _log2(field: Field, x: Residues) -> Residues:
    return field.divide(field.log(x), _ln2(field))


def _log1p(field: Field, x: Residues) -> Residues:
    return field.log(field.add(x, field.number(1)))


def _rsqrt(field: Field, x: Residues) -> Residues:
    return field.opaque("rsqrt", x)


def _sqrt(field: Field, x: Residues) -> Residues:
    return field.reciprocal(_rsqrt(field, x))


def _powf(field: Field, x: Residues, y: Residues) -> Residues:
    exponent = y.constant
    if exponent is not None and exponent.denominator == 1 and abs(exponent) <= 64:
        return field.power(x, int(exponent)) if exponent else field.number(1)
    if exponent == Fraction(1, 2):
        return _sqrt(field, x)
    if exponent == Fraction(-1, 2):
        return _rsqrt(field, x)
    return field.opaque("powf", x, y)


def _fma(field: Field, a: Residues, b: Residues, c: Residues) -> Residues:
    return field.add(field.mul(a, b), c)


def _opaque(name: str) -> Meaning:
    def apply(field: Field, x: Residues) -> Residues:
        return field.opaque(name, x)

    return apply


def _largest(field: Field, a: Residues, b: Residues) -> Residues:
    return field.extreme_of(a, b, largest=True)


def _smallest(field: Field, a: Residues, b: Residues) -> Residues:
    return field.extreme_of(a, b, largest=False)


def _same(field: Field, x: Residues) -> Residues:
    return x


MEANINGS: Mapping[str, Meaning] = {
    "arith.addf": Field.add,
    "arith.subf": Field.sub,
    "arith.mulf": Field.mul,
    "arith.divf": Field.divide,
    "arith.negf": Field.negate,
    "arith.maximumf": _largest,
    "arith.minimumf": _smallest,
    "arith.maxnumf": _largest,
    "arith.minnumf": _smallest,
    "arith.extf": _same,
    "arith.truncf": _same,
    "math.exp": Field.exp,
    "math.exp2": _exp2,
    "math.expm1": _expm1,
    "math.log": Field.log,
    "math.log2": _log2,
    "math.log1p": _log1p,
    "math.sqrt": _sqrt,
    "math.rsqrt": _rsqrt,
    "math.powf": _powf,
    "math.fma": _fma,
    "math.tanh": _opaque("tanh"),
    "math.erf": _opaque("erf"),
    "math.sin": _opaque("sin"),
    "math.cos": _opaque("cos"),
    "math.absf": _opaque("absf"),
    "math.floor": _opaque("floor"),
    "math.ceil": _opaque("ceil"),
}
"""Operations that take numbers and give one. The others are in `OTHERS`, or work on integers alone."""

# The bits say what holds if the first operand is smaller, equal, or larger; no number is unordered.
_SMALLER, _EQUAL, _LARGER = 1, 2, 4
_PREDICATES = (0, 2, 4, 6, 1, 3, 5, 7, 2, 4, 6, 1, 3, 5, 0, 7)


def _compare(field: Field, op: Operation, a: Residues, b: Residues) -> Whole:
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    wanted = _PREDICATES[predicate.value.data]
    less, equal = field.compare(a, b)
    larger = ~(less.values | equal.values)
    result = np.zeros_like(less.values)
    for bit, holds in ((_SMALLER, less.values), (_EQUAL, equal.values), (_LARGER, larger)):
        if wanted & bit:
            result |= holds
    # Without an order, equality alone may be known all the same.
    return Whole(result, equal.unknown if wanted in (_EQUAL, _SMALLER | _LARGER) else less.unknown)


def _select(field: Field, op: Operation, condition: Whole, a: Value, b: Value) -> Value:
    if isinstance(a, Residues) and isinstance(b, Residues):
        return field.where(condition, a, b)
    assert isinstance(a, Whole)
    assert isinstance(b, Whole)
    unknown = unknown_of(condition)
    for value, chosen in ((a, condition.values), (b, ~condition.values)):
        if value.unknown is not None:
            spoilt = chosen & value.unknown
            unknown = spoilt if unknown is None else unknown | spoilt
    return Whole(np.where(condition.values, a.values, b.values), unknown)


def _from_integers(field: Field, op: Operation, x: Whole) -> Residues:
    return field.integers(Whole(SCALAR_FUNCTIONS[op.name](op, [x.values], np.dtype(np.float64)), x.unknown))


_BEYOND_INTEGERS = 1 << 65
"""Larger than all integers, to which larger numbers saturate."""


def _to_integers(field: Field, op: Operation, x: Residues) -> Whole:
    dtype = numpy_dtype(op.results[0].type)
    if x.constant is not None and not x.marked:
        number = float(max(-_BEYOND_INTEGERS, min(_BEYOND_INTEGERS, x.constant)))
        return Whole(evaluate_scalar_op(op, [np.full(x.shape, number)], float64=True))
    keys, unknown = field.hashes(op.name.removeprefix("arith."), [x])
    return Whole(to_dtype((keys >> np.uint64(56)).astype(np.int64), dtype), unknown)


OTHERS: Mapping[str, Callable[..., Value]] = {
    "arith.cmpf": _compare,
    "arith.select": _select,
    "arith.sitofp": _from_integers,
    "arith.uitofp": _from_integers,
    "arith.fptosi": _to_integers,
    "arith.fptoui": _to_integers,
}
"""Operations on numbers and integers together."""


def evaluate_scalar(field: Field, op: Operation, operands: Sequence[Value]) -> Value:
    """The result of one scalar operation on arrays that broadcast together. Raises InterpreterError."""
    if op.name == "arith.constant":
        return _constant(field, op)
    if op.name in MEANINGS:
        return MEANINGS[op.name](field, *operands)
    if op.name in OTHERS:
        return OTHERS[op.name](field, op, *operands)
    whole = [value for value in operands if isinstance(value, Whole)]
    if len(whole) != len(operands) or is_float(op.results[0].type):
        raise InterpreterError(f"'{op.name}' has no meaning in the exact check", op)
    return Whole(evaluate_scalar_op(op, [v.values for v in whole], float64=True), unknown_of(*whole))


def evaluate_region(
    field: Field, region: Region, operands: Sequence[Value], index_values: IndexValues | None = None
) -> list[Value]:
    """Return the yields of the region; a result that depends on no argument keeps its own smaller shape.

    `index_values` gives the values of `block.index` and `block.extent`. Raises InterpreterError.
    """
    block: Block = region.block
    values = dict[SSAValue, Value](zip(block.args, operands, strict=True))
    for op in block.ops:
        if not op.results:
            return [values[operand] for operand in op.operands]
        if op.name in INDEX_OPS:
            if index_values is None:
                raise InterpreterError(f"'{op.name}' has no meaning outside a block program", op)
            values[op.results[0]] = index_values(op)
        else:
            values[op.results[0]] = evaluate_scalar(field, op, [values[operand] for operand in op.operands])
    raise AssertionError("an element-wise region ends with a terminator")
