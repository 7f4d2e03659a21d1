"""Roots of sums of squares, and the numbers that are added before they are taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....dialects import block
from ...analysis.items import constant_of

_ROOTS = (math.SqrtOp, math.RsqrtOp, math.PowFOp)


@dataclass(frozen=True)
class Root:
    """A root of a mean of squares to which `floor` is added: 0 for nothing, None for an unknown number."""

    floor: float | None


def root_of(sums: Iterable[SSAValue]) -> Root | None:
    """The root that a program takes of sums over rows; None if it takes none."""
    search = _Search()
    for value in sums:
        search.follow(value, rooted=False)
    if not search.found:
        return None
    if any(value not in search.known for value in search.others):
        return Root(None)
    return Root(min(search.added, default=0.0))


class _Search:
    def __init__(self) -> None:
        self.known: dict[SSAValue, bool] = {}
        """Vectors and numbers that depend on the sums, and true for those that depend on a root of them."""
        self.added: list[float] = []
        self.others: list[SSAValue] = []
        """Vectors and numbers that are added."""
        self.found = False

    def follow(self, value: SSAValue, *, rooted: bool) -> None:
        pending = [(value, rooted)]
        while pending:
            value, rooted = pending.pop()
            if value in self.known or isinstance(value.type, block.BlockType):
                continue
            self.known[value] = rooted
            for use in value.uses:
                pending.extend(self._result(use.operation, use.index, rooted=rooted))

    def _result(self, op: Operation, index: int, *, rooted: bool) -> Iterable[tuple[SSAValue, bool]]:
        match op:
            case block.YieldOp():
                map_ = op.parent_op()
                if isinstance(map_, block.MapOp):
                    yield map_.results_[index], rooted
            case block.ElementwiseOp():
                if not isinstance(op.result.type, block.BlockType) or len(op.inputs) == 1:
                    yield op.result, self._body(op, rooted=rooted)
                else:
                    self._body(op, rooted=rooted)
            case block.AddOp() | block.SubOp() | block.LinearOp():
                self.others.extend(op.operands)
                yield op.results[0], rooted
            case block.MonomialOp() | block.MulOp():
                yield op.results[0], rooted
            case _:
                return

    def _body(self, op: block.ElementwiseOp, *, rooted: bool) -> bool:
        for inner in op.body.block.ops:
            if isinstance(inner, arith.AddfOp | arith.SubfOp | arith.MaximumfOp | arith.MaxnumfOp):
                self._add(op, inner, rooted=rooted)
            if isinstance(inner, _ROOTS):
                self.found = rooted = True
        return rooted

    def _add(self, op: block.ElementwiseOp, inner: Operation, *, rooted: bool) -> None:
        for operand in inner.operands:
            number = constant_of(operand)
            if number is not None and number > 0:
                self.added.append(number * number if rooted else number)
            elif isinstance(operand, BlockArgument):
                self.others.append(op.inputs[operand.index])
