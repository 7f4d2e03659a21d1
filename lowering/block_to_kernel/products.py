"""The type in which a contraction multiplies its operands.

The program rounds an operand of a 16-bit type to that type, or loads it from an array of it. Kernels keep it
in f32, sometimes with more bits than its type has. Rounding it before the product gives exactly the program's
result, and allows matrix units of 16 bits. Products of two such numbers are exact in f32, and sums are in f32
as before. An operand of type f32 is not rounded, unless that is asked for: to the 10 bits of fraction of
tf32, which keeps the range of f32.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, tf32
from xdsl.ir import Attribute
from xdsl.utils.str_enum import StrEnum

from ...dialects import block


class Products(StrEnum):
    """Type in which contractions may multiply: that of the operands, always f32, or tf32 for f32."""

    Operands = "operands"
    F32 = "f32"
    TF32 = "tf32"


def type_of_products(op: block.DotOp, products: Products) -> Attribute | None:
    """The type to which a contraction may round its operands before it multiplies them; None if it may
    not.
    """
    operands = block.element_type_of(op.lhs.type)
    if products is Products.F32 or block.element_type_of(op.result.type) != f32:
        return None
    if products is Products.TF32 and operands == f32 == block.element_type_of(op.rhs.type):
        return tf32
    return operands if isinstance(operands, BFloat16Type | Float16Type) else None
