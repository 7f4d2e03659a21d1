"""The termination measure of phase 2.

Unfold the program to a tree and give every value a weight: a leaf 2; scales, shifts, additions, outer products, linear forms and
monomials the sum of their operands and 1; a multiple of a block and row reductions twice their operand; element-wise operators
three times their operands; contractions and Hadamard products twice the product of their operands; a stacked list twice its element,
a reduced result three times. A firing must make the tuple

    (weight, misplaced pairs, maps, operations and used results, nesting depths)

smaller in lexicographic order, where a misplaced pair is a scale or shift over one of its kind, a row scale under a column scale, a
column shift under a row shift, or a constant factor under a product. This is checked at run time by `block-fuse{check=true}` and in
the tests; it is a measured argument with a hand check of the local laws, not a proof. Extensions do not count: they move maps
inward, and each that is kept merges at least one map.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ..dialects import block
from .rules.items import scale_of, shift_of
from .rules.law import Check, Law

Measure = tuple[int, int, int, int, int]

_SUMS = (
    block.RowScaleOp,
    block.ColScaleOp,
    block.RowShiftOp,
    block.ColShiftOp,
    block.AddOp,
    block.OuterOp,
    block.LinearOp,
    block.MonomialOp,
)
_KIND_WEIGHTS = {block.Kind.Stack: 2, block.Kind.Any: 1}


class _Weigher:
    def __init__(self) -> None:
        self.known: dict[SSAValue, int] = {}

    def of(self, value: SSAValue) -> int:
        weight = self.known.get(value)
        if weight is None:
            weight = self.known[value] = self._find(value)
        return weight

    def _find(self, value: SSAValue) -> int:
        owner = value.owner
        if isinstance(owner, Block):
            user = owner.parent_op()
            if isinstance(user, block.MapOp):
                return self.of(user.inputs[value.index])  # pyright: ignore[reportAttributeAccessIssue]
            return 2
        operands = [self.of(operand) for operand in owner.operands]
        match owner:
            case block.MapOp():
                index = owner.results.index(value)  # pyright: ignore[reportArgumentType]
                factor = _KIND_WEIGHTS.get(owner.result_kinds[index], 3)
                return factor * self.of(owner.yield_op.arguments[index])
            case block.ReduceOp():
                return 3 * operands[0]
            case block.DotOp() | block.MulOp():
                return 2 * operands[0] * operands[-1]
            case block.LoadOp() | block.StoreOp() | block.ViewOp():
                return operands[0] + 1
            case block.LinearOp() if isinstance(value.type, block.BlockType) and len(operands) == 1:
                return 2 * operands[0]
            case _ if isinstance(owner, _SUMS):
                return sum(operands) + 1
            case block.ElementwiseOp() | block.SubOp():
                return 3 * max(1, sum(operands))
            case _:
                return 2 * max(1, sum(operands))


def _misplaced(op: Operation) -> int:
    match op:
        case block.RowScaleOp() | block.ColScaleOp():
            inner = scale_of(op.block)
            return inner is not None and (type(inner) is type(op) or isinstance(op, block.ColScaleOp))
        case block.RowShiftOp() | block.ColShiftOp():
            inner = shift_of(op.block)
            return inner is not None and (type(inner) is type(op) or isinstance(op, block.RowShiftOp))
        case block.MonomialOp():
            return sum(isinstance(value.owner, block.LinearOp) for value in op.factors)
        case _:
            return 0


def measure_of(function: FuncOp) -> Measure:
    """The measure of a program. Linear in its size."""
    weigher = _Weigher()
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    misplaced = maps = size = depths = 0

    def visit(body: Block, depth: int) -> None:
        nonlocal misplaced, maps, size, depths
        for op in body.ops:
            misplaced += _misplaced(op)
            size += 1 + sum(1 for result in op.results if result.uses)
            depths += depth
            if isinstance(op, block.MapOp):
                maps += 1
                visit(op.body.block, depth + 1)
            elif isinstance(op, block.ReduceOp):
                maps += 1

    visit(function.body.block, 0)
    return sum(weigher.of(value) for value in last.arguments), misplaced, maps, size, depths


@dataclass
class MeasureCheck:
    """Asserts, as an observer, that every firing makes the measure of a program smaller."""

    function: FuncOp
    firings: list[tuple[str, Measure, Measure]] = field(default_factory=list[tuple[str, Measure, Measure]])
    _last: tuple[str, Measure] | None = None

    def fired(self, law: Law, site: Operation) -> None:
        now = measure_of(self.function)
        if self._last is not None:
            title, before = self._last
            self.firings.append((title, before, now))
            if not now < before:
                raise AssertionError(f"{title} did not make the termination measure smaller: {before} to {now}")
        self._last = law.title(), now

    def refused(self, law: Law, site: Operation, check: Check) -> None:
        """Nothing to measure."""

    def settle(self) -> None:
        """Nothing to complete."""
