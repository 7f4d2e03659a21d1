"""Arithmetic on 16-bit floats as arithmetic in f32 of which every result is rounded.

Targets compute with 16-bit floats in f32. The program's operations round, each of them, so a result that was
kept in f32 could differ from what the program stores or compares. Every operation on f16 or bf16 that may
have to round becomes the one in f32, between casts. Emitters leave out a rounding where all that use the
value round it anyway, such as stores and products in 16 bits.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.attributes import EXACT_ATTRIBUTE

_EXACT = (
    *(arith.NegfOp, arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp, arith.SelectOp),
    *(arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp, arith.UIToFPOp),
    *(math.AbsFOp, math.FloorOp, math.CeilOp),
)
"""Operations whose result needs no rounding, or that round by themselves."""


def is_sixteen_bits(value: SSAValue) -> bool:
    """True for a value of type f16 or bf16."""
    return isinstance(value.type, Float16Type | BFloat16Type)


def round_each_operation(body: Block) -> None:
    """Rewrite the operations on 16-bit floats in the body of a sweep."""
    wide: dict[SSAValue, SSAValue] = {}
    for op in list(body.ops):
        if len(op.results) != 1 or not is_sixteen_bits(op.results[0]) or isinstance(op, _EXACT):
            continue
        if isinstance(op, arith.ConstantOp):
            op.attributes.pop(EXACT_ATTRIBUTE, None)
            continue
        _compute_in_f32(op, body, wide)


def _compute_in_f32(op: Operation, body: Block, wide: dict[SSAValue, SSAValue]) -> None:
    """Put the f32 operation and the rounding of its result in place of one operation.

    `wide` has the values that are in f32 already.
    """
    result = op.results[0]
    operands: list[SSAValue] = []
    for value in op.operands:
        if is_sixteen_bits(value):
            if value not in wide:
                extended = arith.ExtFOp(value, f32)
                body.insert_op_before(extended, op)
                wide[value] = extended.result
            value = wide[value]
        operands.append(value)
    computed = type(op).create(
        operands=operands,
        result_types=[f32],
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
    )
    assert isinstance(result.type, Float16Type | BFloat16Type)
    rounded = arith.TruncFOp(computed.results[0], result.type)
    rounded.result.name_hint = result.name_hint
    body.insert_ops_before([computed, rounded], op)
    result.replace_all_uses_with(rounded.result)
    op.detach()
    op.erase()
