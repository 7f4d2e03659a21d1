"""Element-wise operators that feed one another become one, at the very end: before, they hide what other laws
look for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from ...dialects import block
from ...dialects.block import CoefficientAttr
from ...dialects.scalar import is_float
from ...dialects.scalar_builder import ScalarBuilder
from .law import Check, Law, Placer

Elementwise = (
    block.ElementwiseOp
    | block.LinearOp
    | block.MonomialOp
    | block.AddOp
    | block.SubOp
    | block.MulOp
    | block.BlockVectorOp
    | block.OuterOp
)

Writer = Callable[[Block, Sequence[SSAValue]], SSAValue]
"""Writes the scalar computation of an operator, given its scalar operands, at the end of a block."""


@dataclass(frozen=True)
class _Pair:
    producer: Operation
    consumer: Operation
    index: int


def _put(body: Block, op: Operation) -> SSAValue:
    body.add_op(op)
    return op.results[0]


def _constant(body: Block, value: float, element_type: Attribute) -> SSAValue:
    return ScalarBuilder(Builder(InsertPoint.at_end(body))).constant(value, element_type)


def _coefficient(body: Block, coefficient: CoefficientAttr, element_type: Attribute) -> SSAValue:
    assert isa(element_type, AnyFloat)
    value = _constant(body, float(coefficient.value), element_type)
    for factor in coefficient.factors:
        extent = _put(body, arith.IndexCastOp(_put(body, block.ExtentOp(factor.dim)), i64))
        value = _put(body, arith.MulfOp(value, _put(body, arith.SIToFPOp(extent, element_type))))
    return value


def _write_linear(op: block.LinearOp) -> Writer:
    element_type = block.element_type_of(op.result.type)

    def write(body: Block, operands: Sequence[SSAValue]) -> SSAValue:
        total: SSAValue | None = None
        for coefficient, operand in zip(op.coefficients, operands, strict=True):
            one, minus = CoefficientAttr(1), CoefficientAttr(-1)
            if coefficient in (minus, one):
                term = operand
            else:
                term = _put(body, arith.MulfOp(operand, _coefficient(body, coefficient, element_type)))
            if total is None:
                total = _put(body, arith.NegfOp(term)) if coefficient == minus else term
            else:
                total = _put(body, (arith.SubfOp if coefficient == minus else arith.AddfOp)(total, term))
        assert total is not None
        return total

    return write


def _write_monomial(op: block.MonomialOp) -> Writer:
    element_type = block.element_type_of(op.result.type)

    def write(body: Block, operands: Sequence[SSAValue]) -> SSAValue:
        above: SSAValue | None = None
        below: SSAValue | None = None
        for operand, (_, exponent) in zip(operands, op.pairs, strict=True):
            for _ in range(abs(exponent)):
                if exponent > 0:
                    above = operand if above is None else _put(body, arith.MulfOp(above, operand))
                else:
                    below = operand if below is None else _put(body, arith.MulfOp(below, operand))
        if above is None:
            above = _constant(body, 1.0, element_type)
        return above if below is None else _put(body, arith.DivfOp(above, below))

    return write


def _write_region(op: block.ElementwiseOp) -> Writer:
    def write(body: Block, operands: Sequence[SSAValue]) -> SSAValue:
        values: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, operands, strict=True))
        for inner in op.body.block.ops:
            if inner.results:
                copy = inner.clone(values)
                body.add_op(copy)
        return values[op.yield_op.arguments[0]]

    return write


_BINARY: dict[type[Operation], type[Operation]] = {
    block.AddOp: arith.AddfOp,
    block.SubOp: arith.SubfOp,
    block.MulOp: arith.MulfOp,
    block.RowShiftOp: arith.AddfOp,
    block.ColShiftOp: arith.AddfOp,
    block.RowScaleOp: arith.MulfOp,
    block.ColScaleOp: arith.MulfOp,
    block.OuterOp: arith.MulfOp,
}


def _writer(op: Operation) -> Writer | None:
    """How an operator computes one element; None if it is not element-wise, or not on floats."""
    match op:
        case block.ElementwiseOp():
            return _write_region(op)
        case block.LinearOp():
            plain = all(f.quantity == "extent" for c in op.coefficients for f in c.factors)
            return _write_linear(op) if plain else None
        case block.MonomialOp():
            return _write_monomial(op)
        case _:
            kind = _BINARY.get(type(op))
            if kind is None or not is_float(block.element_type_of(op.results[0].type)):
                return None
            return lambda body, operands: _put(
                body, kind.create(operands=list(operands), result_types=[operands[0].type])
            )


class FuseElementwise(Law[_Pair]):
    """f(.., g(..), ..) of elements → one element-wise operator."""

    name = "fuse-elementwise"
    law = "An element-wise operator that one other element-wise operator reads is part of that operator."
    before = "y = exp(x); z = row_scale(y, c)"
    after = "z = elementwise (x, c) { exp(x) * c }"
    traffic = "none; one pass over the block less"
    side_conditions = {
        "single-use": "nobody else reads the item",
        "same-axes": "both make items with the same axes (a statistic is not computed for each element)",
        "same-place": "both stand in the same body",
        "scalars": "both have a scalar form: coefficients with block counts or widths have none",
    }
    anchors = (
        block.ElementwiseOp,
        block.LinearOp,
        block.MonomialOp,
        block.AddOp,
        block.SubOp,
        block.MulOp,
        block.BlockVectorOp,
    )

    def sites(self, op: Operation) -> Iterator[_Pair]:
        for index, value in enumerate(op.operands):
            if isinstance(value.owner, Elementwise):
                yield _Pair(value.owner, op, index)

    def checks(self, site: _Pair) -> Iterator[Check]:
        value = site.producer.results[0]
        users = {use.operation for use in value.uses}
        yield Check("single-use", len(users) == 1, f"{len(users)} operators read the item", noteworthy=False)
        result = site.consumer.results[0].type
        same = (
            isinstance(value.type, block.ItemType)
            and isinstance(result, block.ItemType)
            and value.type.dims == result.dims
        )
        yield Check("same-axes", same, "the item has fewer axes than what is made of it", noteworthy=False)
        yield Check(
            "same-place", site.producer.parent is site.consumer.parent, "the item is made outside the loop"
        )
        scalars = _writer(site.producer) is not None and _writer(site.consumer) is not None
        yield Check("scalars", scalars, "a coefficient depends on how the dim is cut")

    def rewrite(self, op: Operation, site: _Pair, rewriter: PatternRewriter) -> None:
        inner, outer = _writer(site.producer), _writer(op)
        assert inner is not None
        assert outer is not None
        made = site.producer.results[0]
        inputs = list(dict.fromkeys([*(v for v in op.operands if v is not made), *site.producer.operands]))
        body = block.scalar_block(inputs)
        for argument, value in zip(body.args, inputs, strict=True):
            argument.name_hint = value.name_hint
        arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
        arguments[made] = inner(body, [arguments[value] for value in site.producer.operands])
        body.add_op(block.YieldOp(outer(body, [arguments[value] for value in op.operands])))
        result = op.results[0].type
        assert isinstance(result, block.ItemType)
        fused = Placer(rewriter, op)(
            block.ElementwiseOp(inputs, Region(body), result), op.results[0].name_hint
        )
        rewriter.replace(op, (), (fused,))
        rewriter.erase(site.producer)


LAWS = (FuseElementwise,)
