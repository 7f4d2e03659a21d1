"""Powers of row scales, carried through a program until they cancel.

A *scale* has one power of two for each row of an item. A value of *degree* d is kept as itself times the d-th
power of the scale: the sum of the squares of a scaled row has degree 2, its reciprocal root has degree -1,
and the normalised row has degree 0, so that nothing remains to be undone. A constant that is added to a value
of degree 2, as the epsilon of a norm, is multiplied by the square of the scale. Where an operator does not
commute with scales, its operands are divided by them first. Powers of two make all of this exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign, isfinite

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects import block
from ....dialects.block import Kind
from ....dialects.scalar import is_float, significand_bits
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.items import constant_of
from .expressions import home_of
from .needs import uses_of_stored, yielding_map
from .values import Writer, dims_of

Degree = Mapping[SSAValue, int]
"""Scales with their powers, none of them 0."""

NONE: Degree = {}

_SUMS = (
    arith.AddfOp,
    arith.SubfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxnumfOp,
    arith.MinnumfOp,
    arith.CmpfOp,
)
_UNCHANGED = (arith.NegfOp, math.AbsFOp, arith.ExtFOp, arith.TruncFOp)


def _total(*parts: tuple[Degree, int]) -> Degree:
    total: dict[SSAValue, int] = {}
    for degree, factor in parts:
        for scale, power in degree.items():
            total[scale] = total.get(scale, 0) + factor * power
    return {scale: power for scale, power in total.items() if power}


def _half(degree: Degree, sign: int) -> Degree | None:
    if any(power % 2 for power in degree.values()):
        return None
    return {scale: sign * power // 2 for scale, power in degree.items()}


def _fits(degree: Degree, value: SSAValue) -> bool:
    """True if each element of an item has one factor: the dims of the scales are among its own."""
    return isinstance(value.type, block.ItemType) and all(
        set(dims_of(scale)) <= set(value.type.dims) for scale in degree
    )


def _stays(stored: SSAValue, scale: SSAValue) -> bool:
    """True if only loads read an item in global memory, or a list of such, where a scale is known."""
    home = home_of(scale)

    def is_known(op: Operation) -> bool:
        map_ = yielding_map(op)
        return isinstance(op, block.LoadOp | block.MapOp) or (map_ is not None and home.is_ancestor(map_))

    return all(is_known(use.operation) for use in uses_of_stored(stored))


@dataclass
class _Scalars:
    """Degrees of the scalars in an element-wise region, and the constants that get a factor."""

    degrees: dict[SSAValue, Degree] = field(default_factory=dict[SSAValue, Degree])
    constants: list[tuple[Operation, int, Degree]] = field(
        default_factory=list[tuple[Operation, int, Degree]]
    )


class Powers:
    """Carries the scales of some values through the operations that use them.

    `degrees` has the degree of each value that has one. `originals` has the unscaled value of a scaled one
    where the program has it.
    """

    def __init__(self) -> None:
        self.degrees: dict[SSAValue, Degree] = {}
        self.originals: dict[SSAValue, SSAValue] = {}
        self._inverses: dict[SSAValue, SSAValue] = {}

    def carry(self, body: Block) -> None:
        """Rewrite the operations of a block, and of the maps in it, in their order."""
        for op in list(body.ops):
            if isinstance(op, block.MapOp):
                for argument, value in zip(op.body.block.args, op.inputs, strict=True):
                    if value in self.degrees:
                        self.degrees[argument] = self.degrees[value]
                self.carry(op.body.block)
                self._results(op)
            elif not isinstance(op, block.YieldOp) and any(self._degree(value) for value in op.operands):
                degree = self._carried(op)
                if degree is None:
                    for index, value in enumerate(op.operands):
                        op.operands[index] = self._plain(value)
                elif degree:
                    own = self._degree(op.results[0])
                    self.degrees[op.results[0]] = _total((own, 1), (degree, 1))

    def _degree(self, value: SSAValue) -> Degree:
        return self.degrees.get(value, NONE)

    def _results(self, op: block.MapOp) -> None:
        last = op.yield_op
        for index, (value, kind) in enumerate(zip(last.arguments, op.result_kinds, strict=True)):
            degree = self._degree(value)
            if not degree:
                continue
            sums = kind in (Kind.Sum, Kind.Any) and op.result_pivots[index] is None
            stays = sums and not any(op.is_ancestor(scale.owner) for scale in degree)
            if stays or kind is Kind.Stack:
                self.degrees[op.results_[index]] = degree
            else:
                last.operands[index] = self._plain(value)

    # Operators

    def _carried(self, op: Operation) -> Degree | None:
        """Return the degree of an operator's result; None if it needs plain operands."""
        degrees = [self._degree(value) for value in op.operands]
        match op:
            case block.LoadOp():
                return degrees[0]
            case block.StoreOp():
                return degrees[0] if all(_stays(op.result, scale) for scale in degrees[0]) else None
            case block.LinearOp() | block.AddOp() | block.SubOp():
                return self._sum(op, degrees)
            case block.RowShiftOp() | block.ColShiftOp():
                return self._shift(op, degrees)
            case (
                block.MulOp()
                | block.RowScaleOp()
                | block.ColScaleOp()
                | block.OuterOp()
                | block.DotOp()
                | block.RowSumOp()
            ):
                degree = _total(*((own, 1) for own in degrees))
            case block.MonomialOp():
                degree = _total(*((self._degree(value), power) for value, power in op.pairs))
            case block.ElementwiseOp():
                return self._elementwise(op, degrees)
            case _:
                return None
        used = all(_fits(own, op.results[0]) for own in degrees)
        return degree if used else None

    def _sum(self, op: Operation, degrees: Sequence[Degree]) -> Degree | None:
        wanted = next(degree for degree in degrees if degree)
        if all(degree == wanted for degree in degrees):
            return wanted
        if isinstance(op.results[0].type, block.BlockType):
            return None
        for index, (value, degree) in enumerate(zip(op.operands, degrees, strict=True)):
            op.operands[index] = self._times(value, _total((wanted, 1), (degree, -1)), op)
        return wanted

    def _shift(self, op: block.BlockVectorOp, degrees: Sequence[Degree]) -> Degree | None:
        of_block, of_vector = degrees
        if of_block and not _fits(of_block, op.vector):
            return None
        if not of_block:
            op.operands[1] = self._plain(op.vector)
        elif of_block != of_vector:
            op.operands[1] = self._times(op.vector, _total((of_block, 1), (of_vector, -1)), op)
        return of_block

    # Factors

    def _plain(self, value: SSAValue) -> SSAValue:
        """The value without its scales."""
        degree = self._degree(value)
        if not degree:
            return value
        if value not in self.originals:
            owner = value.owner
            assert isinstance(owner, Operation)
            following = owner.next_op
            assert following is not None
            self.originals[value] = self._times(value, _total((degree, -1)), following)
        return self.originals[value]

    def _times(self, value: SSAValue, degree: Degree, before: Operation) -> SSAValue:
        """An item times powers of scales, one factor after the other, so that no power overflows."""
        if not degree:
            return value
        assert before.parent is not None
        body = Block()
        write = Writer(body, before)
        factors = [(self.factor(scale, power), abs(power)) for scale, power in degree.items()]
        result = times(value, factors, write)
        move_before(body, before)
        return result

    def factor(self, scale: SSAValue, power: int) -> SSAValue:
        """A scale, or its reciprocal for a negative power."""
        if power > 0:
            return scale
        if scale not in self._inverses:
            owner = scale.owner
            assert isinstance(owner, Operation)
            assert owner.next_op is not None
            body = Block()
            write = Writer(body, owner)
            self._inverses[scale] = write.elementwise(
                [scale],
                scale.type,
                "unscale",
                lambda to, args: to.divide(to.constant(1.0, args[0].type), *args),
            )
            move_before(body, owner.next_op)
        return self._inverses[scale]

    # Element-wise operators

    def _elementwise(self, op: block.ElementwiseOp, degrees: Sequence[Degree]) -> Degree | None:
        if not all(_fits(degree, op.result) for degree in degrees):
            return None
        scalars = _Scalars(dict(zip(op.body.block.args, degrees, strict=True)))
        for inner in op.body.block.ops:
            if inner.results and not isinstance(inner, arith.ConstantOp):
                degree = _scalar(inner, scalars)
                if degree is None:
                    return None
                scalars.degrees[inner.results[0]] = degree
        for inner, index, degree in scalars.constants:
            self._scale_constant(op, inner, index, degree)
        return scalars.degrees.get(op.yield_op.arguments[0], NONE)

    def _scale_constant(self, op: block.ElementwiseOp, inner: Operation, index: int, degree: Degree) -> None:
        value = inner.operands[index]
        number = constant_of(value)
        assert number is not None
        scalars = ScalarBuilder(Builder(InsertPoint.before(inner)))
        for scale, power in degree.items():
            factor = self.factor(scale, power)
            if factor not in op.inputs:
                op.operands = [*op.operands, factor]
                argument = op.body.block.insert_arg(
                    block.element_type_of(factor.type), len(op.body.block.args)
                )
                argument.name_hint = "scale"
            argument = op.body.block.args[list(op.inputs).index(factor)]
            for _ in range(abs(power)):
                value = scalars.multiply(value, scalars.convert(argument, value.type))
        inner.operands[index] = _not_zero(value, number, scalars)


def _not_zero(product: SSAValue, number: float, to: ScalarBuilder) -> SSAValue:
    """A product with scales, or the smallest normal number if it is 0: its root may divide a constant row."""
    smallest = 2.0 ** (-1022 if isinstance(product.type, Float64Type) else -126)
    vanished = to.insert(arith.CmpfOp(product, to.constant(0.0, product.type), "oeq"))
    return to.select(vanished, to.constant(copysign(smallest, number), product.type), product)


def _scalar(op: Operation, known: _Scalars) -> Degree | None:
    """The degree of a scalar operation's result; None if the operation does not commute with scales."""
    degrees = [known.degrees.get(value, NONE) for value in op.operands]
    match op:
        case arith.MulfOp():
            return _total((degrees[0], 1), (degrees[1], 1))
        case arith.DivfOp():
            return _total((degrees[0], 1), (degrees[1], -1))
        case math.SqrtOp():
            return _half(degrees[0], 1)
        case math.RsqrtOp():
            return _half(degrees[0], -1)
        case math.PowFOp():
            exponent = constant_of(op.rhs)
            if exponent is None or degrees[1]:
                return NONE if not any(degrees) else None
            powers = {scale: power * exponent for scale, power in degrees[0].items()}
            whole = all(power == int(power) for power in powers.values())
            return {scale: int(power) for scale, power in powers.items() if power} if whole else None
        case arith.SelectOp():
            if degrees[0]:
                return None
            return _alike(op, (1, 2), degrees, known)
        case _ if isinstance(op, _SUMS):
            degree = _alike(op, (0, 1), degrees, known)
            return NONE if isinstance(op, arith.CmpfOp) and degree is not None else degree
        case _ if isinstance(op, _UNCHANGED):
            narrow = is_float(op.results[0].type) and _has_short_range(op.results[0])
            return None if narrow and degrees[0] else degrees[0]
        case _:
            return NONE if not any(degrees) else None


def _has_short_range(value: SSAValue) -> bool:
    """True for f16, whose exponents have fewer bits than those of f32."""
    return significand_bits(value.type) == 11


def _alike(
    op: Operation, indices: tuple[int, int], degrees: Sequence[Degree], known: _Scalars
) -> Degree | None:
    """The one degree of two operands; a constant gets that of the other."""
    left, right = indices
    if degrees[left] == degrees[right]:
        return degrees[left]
    for index, other in ((left, right), (right, left)):
        number = constant_of(op.operands[index])
        if number is not None and is_float(op.operands[index].type):
            if number != 0 and isfinite(number):
                known.constants.append((op, index, degrees[other]))
            return degrees[other]
    return None


def times(value: SSAValue, factors: Sequence[tuple[SSAValue, int]], write: Writer) -> SSAValue:
    """Write an item times factors of its rows or columns, each several times."""
    assert isinstance(value.type, block.ItemType)
    element_type = value.type.element_type
    for factor, count in factors:
        own = write.as_type(factor, element_type)
        dims = dims_of(factor)
        for _ in range(count):
            if isinstance(value.type, block.BlockType) and len(dims) == 1:
                rows = dims == value.type.dims[:1]
                value = write((block.RowScaleOp if rows else block.ColScaleOp)(value, own), value.name_hint)
            else:
                value = write.elementwise(
                    [value, own], value.type, value.name_hint, lambda to, args: to.multiply(args[0], args[1])
                )
    return value


def move_before(body: Block, anchor: Operation) -> None:
    """Move all operations of a block before another operation."""
    ops = list(body.ops)
    for op in ops:
        op.detach()
    assert anchor.parent is not None
    anchor.parent.insert_ops_before(ops, anchor)
