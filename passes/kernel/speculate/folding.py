"""Scalars of sweeps that become constants when conditions are taken for true, and what follows from them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects import kernel
from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.items import constant_of
from ..fuse_sweeps import keep_outputs

_ORDERS = (operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne)
_COMPARE = dict(enumerate(_ORDERS, 1)) | dict(enumerate(_ORDERS, 8))
"""The predicates of `arith.cmpf`, by their numbers, between numbers: the ordered and the unordered ones."""


def assume(selects: Iterable[arith.SelectOp]) -> None:
    """Take the first value of each selection."""
    for select in selects:
        _replace(select, select.lhs)


def fold(parallel: kernel.ParallelOp) -> None:
    """Multiply by no 1, select by no constant, and make no tile of what is the same in all its elements."""
    known: dict[SSAValue, Operation] = {}
    for op in list(parallel.walk()):
        if not isinstance(op, kernel.SweepOp):
            continue
        _insert_constants(op, known)
        for inner in list(op.body.block.ops):
            _fold(inner)
        sweep = keep_outputs(op, range(len(op.outputs)))
        if _is_copy(sweep):
            (source,), (target,) = sweep.inputs, sweep.outputs
            sweep.detach()
            sweep.erase()
            target.replace_all_uses_with(source)
            continue
        for kind, tile, value in zip(
            sweep.output_kinds, sweep.outputs, sweep.yield_op.arguments, strict=True
        ):
            written = kind is kernel.Output.Each and kernel.writers(tile) == [sweep]
            if written and isinstance(value.owner, arith.ConstantOp):
                known[tile] = value.owner


def _insert_constants(sweep: kernel.SweepOp, known: Mapping[SSAValue, Operation]) -> None:
    """Replace elements of tiles that are constant."""
    body = sweep.body.block
    for argument, tile in zip(body.args, sweep.inputs, strict=True):
        if tile in known and argument.uses:
            constant = known[tile].clone()
            assert body.first_op is not None
            body.insert_op_before(constant, body.first_op)
            argument.replace_all_uses_with(constant.results[0])


def _fold(op: Operation) -> None:
    match op:
        case arith.MulfOp():
            for factor, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if constant_of(factor) == 1.0:
                    _replace(op, other)
                    return
        case arith.DivfOp() if constant_of(op.rhs) == 1.0:
            _replace(op, op.lhs)
        case arith.ExtFOp() | arith.TruncFOp() if constant_of(op.operands[0]) == 1.0:
            _replace(op, _constant(op, 1.0, op.results[0].type))
        case arith.CmpfOp() if is_float(op.lhs.type):
            left, right = constant_of(op.lhs), constant_of(op.rhs)
            compare = _COMPARE.get(op.predicate.value.data)
            if left is not None and right is not None and left == left and right == right and compare:
                _replace(op, _constant(op, float(compare(left, right)), op.result.type))
        case arith.SelectOp() if isinstance(op.cond.owner, arith.ConstantOp):
            truth = op.cond.owner.value
            assert isinstance(truth, IntegerAttr)
            _replace(op, op.lhs if truth.value.data else op.rhs)
        case _:
            pass


def _constant(before: Operation, number: float, type: Attribute) -> SSAValue:
    return ScalarBuilder(Builder(InsertPoint.before(before))).constant(number, type)


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _is_copy(sweep: kernel.SweepOp) -> bool:
    """True if a sweep copies a tile to another of its type, both of which are written only once."""
    if len(sweep.inputs) != 1 or sweep.output_kinds != (kernel.Output.Each,):
        return False
    (source,), (target,) = sweep.inputs, sweep.outputs
    return (
        sweep.yield_op.arguments[0] is sweep.body.block.args[0]
        and source.type == target.type
        and len(kernel.writers(source)) == 1
        and kernel.writers(target) == [sweep]
    )
