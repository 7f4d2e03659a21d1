"""Regions of scalars as expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import block
from ....dialects.attributes import EXACT_ATTRIBUTE
from .expressions import INFINITY, Call, Expr, Infix, Name, Product, negated, number, power, product, total
from .numbers import rational

_FUNCTIONS = {
    **{f"math.{name}": name for name in ("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt")},
    **{f"math.{name}": name for name in ("tanh", "erf", "sin", "cos", "floor", "ceil")},
    "math.absf": "abs",
    **dict.fromkeys(("arith.maximumf", "arith.maxnumf", "arith.maxsi"), "max"),
    **dict.fromkeys(("arith.minimumf", "arith.minnumf", "arith.minsi"), "min"),
    "arith.divsi": "div",
    "arith.remsi": "rem",
    "arith.select": "where",
}
_SILENT_CASTS = frozenset(
    f"arith.{name}" for name in ("extf", "index_cast", "extsi", "extui", "trunci", "sitofp", "uitofp")
)
_ROUNDING_CASTS = frozenset(("arith.truncf", "arith.fptosi"))
_ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    **dict.fromkeys(("arith.addf", "arith.addi"), total),
    **dict.fromkeys(("arith.subf", "arith.subi"), lambda a, b: total(a, negated(b))),
    **dict.fromkeys(("arith.mulf", "arith.muli"), product),
    "arith.divf": lambda a, b: product(a, power(b, -1)),
}
_COMPARISONS = {
    **dict.fromkeys(("eq", "oeq", "ueq"), "=="),
    **dict.fromkeys(("ne", "one", "une"), "!="),
    **dict.fromkeys(("slt", "ult", "olt"), "<"),
    **dict.fromkeys(("sle", "ule", "ole"), "<="),
    **dict.fromkeys(("sgt", "ugt", "ogt"), ">"),
    **dict.fromkeys(("sge", "uge", "oge"), ">="),
}
_LOGIC = {"arith.andi": ("and", "&"), "arith.ori": ("or", "|"), "arith.xori": ("xor", "^")}

LONGEST = 150
"""Characters of an expression; a longer one is written in steps."""

Share = Callable[[Expr, str | None], Expr]
"""Names an expression that is used more than once, given a hint for its name."""


def region_expressions(
    body: Block, arguments: Sequence[Expr], indices: Mapping[str, str], share: Share
) -> list[Expr]:
    """Return the values that a region yields, as expressions over those of the region's arguments.

    `indices` are the names of the element indices of dims.
    """
    known: dict[SSAValue, Expr] = dict(zip(body.args, arguments, strict=True))
    for op in body.ops:
        if op is body.last_op:
            break
        expr = _expression(op, [known[value] for value in op.operands], indices)
        for result in op.results:
            simple = all(isinstance(part, Name) for part in expr.parts)
            long = len(expr.text()) > LONGEST and result.get_user_of_unique_use() is not body.last_op
            if long or (result.has_more_than_one_use() and not simple):
                expr = share(expr, result.name_hint)
            known[result] = expr
    assert body.last_op is not None
    return [known[value] for value in body.last_op.operands]


def _expression(op: Operation, operands: list[Expr], indices: Mapping[str, str]) -> Expr:
    name = op.name
    if name in _ARITHMETIC:
        return _ARITHMETIC[name](*operands)
    if name in _FUNCTIONS:
        return Call(_FUNCTIONS[name], tuple(operands))
    if name in _SILENT_CASTS:
        return operands[0]
    if name in _ROUNDING_CASTS:
        return Call(str(op.results[0].type), tuple(operands))
    match op:
        case arith.ConstantOp():
            return constant(op.attributes.get(EXACT_ATTRIBUTE, op.value))
        case arith.NegfOp():
            return negated(operands[0])
        case math.FmaOp():
            return Call("fma", tuple(operands))
        case math.PowFOp():
            return _raised(*operands)
        case arith.CmpfOp() | arith.CmpiOp():
            return _comparison(op, operands)
        case block.IndexOp():
            return Name(indices[op.dim_name])
        case block.ExtentOp():
            return Name(f"|{op.dim_name}|")
        case _ if name in _LOGIC:
            word, sign = _LOGIC[name]
            if name == "arith.xori" and Name("true") in operands:
                return Call("not", tuple(operand for operand in operands if operand != Name("true")))
            return Infix(word if op.results[0].type == IntegerType(1) else sign, *operands)
        case _:
            return Call(name, tuple(operands))


def _raised(base: Expr, exponent: Expr) -> Expr:
    if isinstance(exponent, Product) and not exponent.factors and exponent.coefficient.denominator == 1:
        return power(base, int(exponent.coefficient)) if exponent.coefficient else number(1)
    return Call("pow", (base, exponent))


def _comparison(op: arith.CmpfOp | arith.CmpiOp, operands: list[Expr]) -> Expr:
    floats, integers = arith.CMPF_COMPARISON_OPERATIONS, arith.CMPI_COMPARISON_OPERATIONS
    name = (floats if isinstance(op, arith.CmpfOp) else integers)[op.predicate.value.data]
    if name in ("true", "false"):
        return Name(name)
    if name in _COMPARISONS:
        return Infix(_COMPARISONS[name], *operands)
    if name == "uno" and op.operands[0] is op.operands[1]:
        return Call("isnan", (operands[0],))
    return Call({"ord": "ordered", "uno": "unordered"}.get(name, name), tuple(operands))


def constant(value: Attribute) -> Expr:
    """A constant as a number, `inf`, `nan`, `true` or `false`."""
    match value:
        case IntegerAttr() if value.type == IntegerType(1):
            return Name("true" if value.value.data else "false")
        case IntegerAttr():
            return number(value.value.data)
        case FloatAttr():
            found = rational(value.value.data, value.type)
            if found is not None:
                return Product(Fraction(found))
            infinite = value.value.data in (float("inf"), float("-inf"))
            return (INFINITY if value.value.data > 0 else negated(INFINITY)) if infinite else Name("nan")
        case _:
            return Name(str(value))
