"""Scalar functions of models in `arith` and `math`: conversions, arithmetic, comparisons, powers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FixedBitwidthType, IntegerType, f32, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.scalar import is_float
from ...dialects.scalar_builder import ScalarBuilder
from .errors import Unsupported

Unary: TypeAlias = Callable[[ScalarBuilder, SSAValue], SSAValue]
"""Writes a function of one scalar."""
Binary: TypeAlias = Callable[[ScalarBuilder, SSAValue, SSAValue], SSAValue]
"""Writes a function of two scalars."""

_Binary: TypeAlias = Callable[[SSAValue, SSAValue], Operation]

UNARY: Mapping[str, Callable[[SSAValue], Operation]] = {
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "expm1": math.ExpM1Op,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "log1p": math.Log1pOp,
    "sqrt": math.SqrtOp,
    "rsqrt": math.RsqrtOp,
    "tanh": math.TanhOp,
    "erf": math.ErfOp,
    "sin": math.SinOp,
    "cos": math.CosOp,
    "floor": math.FloorOp,
    "ceil": math.CeilOp,
}
"""Functions of one float."""


@dataclass(frozen=True)
class Arithmetic:
    """An operation on two numbers: its forms for floats, integers and truth values, or None."""

    floats: _Binary | None
    integers: _Binary | None
    bools: _Binary | None = None

    def of(self, type: Attribute) -> _Binary:
        """Return the form for an element type. Raises Unsupported."""
        form = self.floats if is_float(type) else self.bools if type == i1 else self.integers
        if form is None:
            raise Unsupported(f"it has no meaning for elements of type {type}")
        return form


ARITHMETIC: Mapping[str, Arithmetic] = {
    "add": Arithmetic(arith.AddfOp, arith.AddiOp, arith.OrIOp),
    "sub": Arithmetic(arith.SubfOp, arith.SubiOp),
    "mul": Arithmetic(arith.MulfOp, arith.MuliOp, arith.AndIOp),
    "div": Arithmetic(arith.DivfOp, None),
    "div_floor": Arithmetic(None, arith.FloorDivSIOp),
    "div_trunc": Arithmetic(None, arith.DivSIOp),
    "rem_trunc": Arithmetic(None, arith.RemSIOp),
    "max": Arithmetic(arith.MaximumfOp, arith.MaxSIOp, arith.OrIOp),
    "min": Arithmetic(arith.MinimumfOp, arith.MinSIOp, arith.AndIOp),
    "and": Arithmetic(None, arith.AndIOp, arith.AndIOp),
    "or": Arithmetic(None, arith.OrIOp, arith.OrIOp),
    "xor": Arithmetic(None, arith.XOrIOp, arith.XOrIOp),
}

Comparison: TypeAlias = Literal["eq", "ne", "lt", "le", "gt", "ge"]
COMPARISONS: tuple[Comparison, ...] = ("eq", "ne", "lt", "le", "gt", "ge")


def width(type: Attribute) -> int:
    """The bits of a float or integer type."""
    return cast("FixedBitwidthType", type).bitwidth


def computed_in(type: Attribute) -> Attribute:
    """The type in which functions of a float are computed: f32 for floats of 16 bits."""
    return f32 if is_float(type) and width(type) < 32 else type


def converted(s: ScalarBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    """`value` as another element type, as numpy and torch convert it: a truth value is 0 or 1."""
    source = value.type
    if source == type:
        return value
    if is_float(source) and is_float(type):
        if width(source) == width(type):  # f16 and bf16 have no conversion of their own
            return s.convert(s.convert(value, f32), type)
        return s.convert(value, type)
    if type == i1:
        return truth(s, value)
    if is_float(type):
        return s.insert((arith.UIToFPOp if source == i1 else arith.SIToFPOp)(value, cast("Any", type)))
    if is_float(source):
        return s.insert(arith.FPToSIOp(value, cast("Any", type)))
    if source == i1:
        return s.insert(arith.ExtUIOp(value, cast("IntegerType", type)))
    resize = arith.ExtSIOp if width(type) > width(source) else arith.TruncIOp
    return s.insert(resize(value, cast("IntegerType", type)))


def truth(s: ScalarBuilder, value: SSAValue) -> SSAValue:
    """True where a number is not zero; NaN is true."""
    return value if value.type == i1 else compared(s, "ne", value, s.constant(0, value.type))


def compared(s: ScalarBuilder, kind: Comparison, a: SSAValue, b: SSAValue) -> SSAValue:
    """A comparison of numbers of one type; with NaN all but `ne` are false. True is greater than false."""
    if is_float(a.type):
        return s.insert(arith.CmpfOp(a, b, "une" if kind == "ne" else f"o{kind}"))
    if kind in ("eq", "ne"):
        return s.insert(arith.CmpiOp(a, b, kind))
    return s.insert(arith.CmpiOp(a, b, f"{'u' if a.type == i1 else 's'}{kind}"))


def plus(s: ScalarBuilder, a: SSAValue, number: float) -> SSAValue:
    """a + number, of a float or an integer."""
    return a if number == 0 else s.insert(ARITHMETIC["add"].of(a.type)(a, s.constant(number, a.type)))


def negated(s: ScalarBuilder, a: SSAValue) -> SSAValue:
    """-a, of a float or an integer."""
    return s.negate(a) if is_float(a.type) else s.insert(arith.SubiOp(s.constant(0, a.type), a))


def absolute(s: ScalarBuilder, a: SSAValue) -> SSAValue:
    """|a|, of a float or an integer."""
    if is_float(a.type):
        return s.insert(math.AbsFOp(a))
    return s.select(compared(s, "lt", a, s.constant(0, a.type)), negated(s, a), a)


def inverted(s: ScalarBuilder, a: SSAValue) -> SSAValue:
    """All bits of an integer inverted; of a truth value, its contrary."""
    return s.insert(arith.XOrIOp(a, s.constant(1 if a.type == i1 else -1, a.type)))


def sign(s: ScalarBuilder, a: SSAValue) -> SSAValue:
    """1, 0 or -1; NaN stays NaN, and -0.0 stays -0.0."""
    zero, one = s.constant(0, a.type), s.constant(1, a.type)
    below = s.select(compared(s, "lt", a, zero), negated(s, one), a)
    return s.select(compared(s, "gt", a, zero), one, below)


def power(s: ScalarBuilder, base: SSAValue, exponent: float) -> SSAValue:
    """A constant power: products for 1 to 4, roots for 0.5 and -0.5, else `math.powf`, of floats alone."""
    if exponent in (1, 2, 3, 4):
        form = ARITHMETIC["mul"].of(base.type)
        result = base
        for _ in range(int(exponent) - 1):
            result = s.insert(form(result, base))
        return result
    if not is_float(base.type):
        raise Unsupported(f"the power {exponent} of an integer")
    if exponent == 0.5:
        return s.insert(math.SqrtOp(base))
    if exponent == -0.5:
        return s.rsqrt(base)
    return s.insert(math.PowFOp(base, s.constant(exponent, base.type)))


def floored_remainder(s: ScalarBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """a - floor(a / b) * b: the remainder with the sign of the divisor, as Python and numpy have it."""
    if is_float(a.type):
        quotient = s.insert(math.FloorOp(s.divide(a, b)))
        return s.subtract(a, s.multiply(quotient, b))
    quotient = s.insert(arith.FloorDivSIOp(a, b))
    return s.insert(arith.SubiOp(a, s.insert(arith.MuliOp(quotient, b))))
