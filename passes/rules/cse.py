"""Repeated values are computed once: operators, whole maps, single results of maps over one list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ..analysis.structural_keys import Interner, Keys
from .law import Check, Law, Phase, Topic


@dataclass(frozen=True)
class _Repeated:
    """Values that are computed a second time, each with its first occurrence."""

    pairs: tuple[tuple[SSAValue, SSAValue], ...]
    visible: bool
    """True if the first values are visible where the second ones are defined."""


class Cse(Law[FuncOp | block.MapOp, _Repeated]):
    """Matched on a function or a map, for everything inside."""

    name = "cse"
    phase = Phase.OWN_STEP
    topic = Topic.REUSE
    rank = 140
    law = (
        "A value that is computed a second time, in an operator or as a result of another map over the same "
        "lists, is the first one."
    )
    before = "s = sum over K { row_sum(load(x)) }; t = sum over K { row_sum(load(x)) }"
    after = "s, used for both"
    traffic = "the loads of what is not repeated"
    side_conditions = {"visible": "the first value is visible where the second is computed"}

    def sites(self, op: FuncOp | block.MapOp) -> Iterator[_Repeated]:
        yield from _repeated(op)

    def checks(self, site: _Repeated) -> Iterator[Check]:
        yield Check("visible", site.visible, "the first value stands inside another map", noteworthy=False)

    def rewrite(self, op: FuncOp | block.MapOp, site: _Repeated, rewriter: PatternRewriter) -> None:
        for duplicate, first in site.pairs:
            rewriter.replace_all_uses_with(duplicate, first)


def _repeated(root: Operation) -> Iterator[_Repeated]:
    keys = Keys(Interner())
    visible: list[tuple[SSAValue, SSAValue]] = []
    hidden: list[tuple[SSAValue, SSAValue]] = []
    anywhere: dict[int, SSAValue] = {}

    def match(value: SSAValue, key: int, known: dict[int, SSAValue]) -> None:
        keys.values[value] = key
        first = known.setdefault(key, value)
        hidden_first = anywhere.setdefault(key, value)
        if first is not value and value.uses:
            visible.append((value, first))
        elif hidden_first is not value and value.uses:
            hidden.append((value, hidden_first))

    def visit(body: Block, depth: int, outer: dict[int, SSAValue]) -> None:
        known = dict(outer)
        for op in body.ops:
            if isinstance(op, block.MapOp):
                keys.enter_map(op, depth)
                visit(op.body.block, depth + 1, known)
                for result, key in zip(op.results_, keys.leave_map(op, depth), strict=True):
                    match(result, key, known)
            elif op.name.startswith("block.") and op.results:
                keys.name(op, keys.of_op(op))
                for result in op.results:
                    match(result, keys.values[result], known)
            elif op.results:
                keys.name(op, keys.intern(("other", id(op))))

    depth = -1
    if isinstance(root, block.MapOp):
        keys.enter_map(root, depth)
    visit(root.regions[0].block, depth + 1, {})
    if visible:
        yield _Repeated(tuple(visible), True)
    if hidden:
        yield _Repeated(tuple(hidden), False)


LAWS = (Cse,)
