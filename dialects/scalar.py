"""The scalar language of element-wise regions: which `arith` and `math` operations may stand there.

Operations are known by name, so that importing a dialect does not import `arith` and `math`.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import copysign, frexp, isfinite

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .attributes import EXACT_ATTRIBUTE

ARITH_OPS: frozenset[str] = frozenset(
    f"arith.{name}"
    for name in (
        *("constant", "select", "cmpf", "cmpi"),
        *("addf", "subf", "mulf", "divf", "negf", "maximumf", "minimumf", "maxnumf", "minnumf"),
        *("addi", "subi", "muli", "andi", "ori", "xori", "shli", "shrsi", "shrui"),
        *("divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"),
        *("maxsi", "minsi", "maxui", "minui"),
        *("extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui"),
        *("index_cast", "extsi", "extui", "trunci"),
    )
)
MATH_OPS: frozenset[str] = frozenset(
    f"math.{name}"
    for name in (
        *("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "powf", "fma"),
        *("tanh", "erf", "sin", "cos", "absf", "absi", "floor", "ceil"),
    )
)
INDEX_OPS: frozenset[str] = frozenset({"block.index", "block.extent", "kernel.quantity"})
"""Operations that ask where in the array the current element lies; parts of the dialects with dims."""

SCALAR_OPS: frozenset[str] = ARITH_OPS | MATH_OPS
"""Operations in `array.elementwise`; `block.elementwise` and `kernel.sweep` also allow `INDEX_OPS`."""


def significand_bits(type: Attribute) -> int:
    """Number of significand bits of a float type, the leading one included."""
    match type:
        case Float16Type():
            return 11
        case BFloat16Type():
            return 8
        case Float32Type():
            return 24
        case _:
            return 53


def is_normal(number: Fraction | float, type: Attribute) -> bool:
    """True if a number, not yet rounded, lies between the smallest and the largest normal number of a float
    type.
    """
    bits = significand_bits(type)
    highest = 16 if bits == 11 else 1024 if bits == 53 else 128  # exponents: |number| < 2**highest
    return 2.0 ** (3 - highest - 1) <= abs(number) <= (2 - 2.0 ** (1 - bits)) * 2.0 ** (highest - 1)


def constant_number(op: Operation) -> float | None:
    """The number that a scalar `arith.constant` of a float type stands for; None for any other operation.

    It is the number in `bb.exact`, if the constant was rounded from it; else the result of `number_of`.
    """
    if op.name != "arith.constant":
        return None
    attribute = op.attributes.get(EXACT_ATTRIBUTE, op.properties.get("value"))
    return number_of(attribute) if isa(attribute, FloatAttr) else None


def number_of(attribute: FloatAttr) -> float:
    """The number that a constant stands for in exact reasoning and in float64.

    A constant of f32, f16 or bf16 stands for 1/n if 1/n rounds to it for exactly one integer n: a product
    with 0.010416667 is a mean over 96 elements. Any other constant stands for its own value.
    """
    value, bits = attribute.value.data, significand_bits(attribute.type)
    if bits == 53 or not isfinite(value) or not 0 < abs(value) < 0.5:
        return value
    n = round(1 / abs(value))
    half_unit = 2.0 ** (frexp(value)[1] - bits - 1)
    close = [abs(1 / candidate - abs(value)) <= half_unit for candidate in (n - 1, n, n + 1)]
    return copysign(1 / n, value) if close == [False, True, False] else value


def is_float(type: Attribute) -> bool:
    """True for f16, bf16, f32 and f64."""
    return isinstance(type, Float16Type | BFloat16Type | Float32Type | Float64Type)


def is_integer(type: Attribute) -> bool:
    """True for i1, i32 and i64."""
    return type in (i1, i32, i64)


def is_element_type(type: Attribute) -> bool:
    """True for the element types of arrays and blocks: f16, bf16, f32, f64, i1, i32, i64."""
    return is_float(type) or is_integer(type)


def is_scalar_type(type: Attribute) -> bool:
    """True for what a value inside an element-wise region may be: an element type or index."""
    return is_element_type(type) or isinstance(type, IndexType)


def _types(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) if types else "nothing"


def _verify_body_op(owner: Operation, op: Operation, region: Region, allowed: frozenset[str]) -> None:
    if op.name not in allowed:
        raise VerifyException(f"'{owner.name}' region: '{op.name}' is not a scalar operation allowed here")
    for value in (*op.operands, *op.results):
        if not is_scalar_type(value.type):
            raise VerifyException(
                f"'{owner.name}' region: '{op.name}' has a value of type {value.type}, "
                "expected one of f16, bf16, f32, f64, i1, i32, i64, index"
            )
    _verify_operands_inside(owner, op, region)


def _verify_operands_inside(owner: Operation, op: Operation, region: Region) -> None:
    for value in op.operands:
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        if block is None or block.parent is not region:
            name = f" %{value.name_hint}" if value.name_hint else ""
            raise VerifyException(
                f"'{owner.name}' region: '{op.name}' uses the outer value{name}, "
                "expected only region arguments and values computed in the region; pass it as an operand"
            )


def verify_scalar_region(
    op: Operation,
    region: Region,
    arg_types: Sequence[Attribute],
    terminator_type: type[Operation],
    result_types: Sequence[Attribute] | None = None,
    *,
    allow_index_ops: bool = False,
) -> None:
    """Check the scalar region of the element-wise operation `op`.

    One block, arguments of `arg_types`, only scalar operations on values of the region itself, ended by
    a `terminator_type` that yields `result_types` (unchecked if None). Raises VerifyException.
    """
    if len(region.blocks) != 1:
        raise VerifyException(f"'{op.name}' region: expected one block, got {len(region.blocks)}")
    block = region.block
    found = tuple(arg.type for arg in block.args)
    if found != tuple(arg_types):
        raise VerifyException(
            f"'{op.name}' region: arguments have types {_types(found)}, expected the operands' "
            f"element types {_types(arg_types)}"
        )
    allowed = SCALAR_OPS | INDEX_OPS if allow_index_ops else SCALAR_OPS
    terminator = block.last_op
    if not isinstance(terminator, terminator_type):
        raise VerifyException(f"'{op.name}' region: expected '{terminator_type.name}' as its last operation")
    for child in block.ops:
        if child is not terminator:
            _verify_body_op(op, child, region, allowed)
    _verify_operands_inside(op, terminator, region)
    yielded = tuple(value.type for value in terminator.operands)
    if result_types is not None and yielded != tuple(result_types):
        raise VerifyException(
            f"'{op.name}' region: '{terminator.name}' yields {_types(yielded)}, expected the results' "
            f"element types {_types(result_types)}"
        )
