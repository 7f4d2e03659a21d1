"""The base of the three laws that extend a map, and their helpers.

Extensions repeat work to save traffic. They are never part of the fixpoint: the driver tries them one by one,
and keeps an extension only if a structural law fires afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ....dialects import block
from ...analysis.facts import is_inside
from ..law import Law, Phase, SiteT, Topic


class Extension(Law[block.MapOp, SiteT], Generic[SiteT]):
    """A law that the driver applies at one chosen site."""

    phase = Phase.EXTENSION
    topic = Topic.EXTENSIONS
    repeats: ClassVar[str]
    """The operations that run more often afterwards."""

    def has_contractions(self, site: SiteT) -> bool:
        """True if contractions are repeated; extensions without them are tried first."""
        raise NotImplementedError

    def describe(self, site: SiteT) -> str:
        """Return the site in words: `extend N into L`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Part:
    """The operations inside a map, at any depth, and the values from outside, on which one result depends."""

    ops: tuple[Operation, ...]
    outside: tuple[SSAValue, ...]

    def contracts(self) -> bool:
        """True if a contraction is part of it."""
        return any(isinstance(op, block.DotOp) for op in self.ops)


def part_for(map_: block.MapOp, result: SSAValue) -> Part:
    """The part of a map that computes one of its results, with only the needed results of inner maps."""
    ops: dict[Operation, None] = {}
    outside: dict[SSAValue, None] = {}
    pending = _yielded_for(map_, result)
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if not is_inside(value, map_):
            outside[value] = None
        elif isinstance(owner, Block):
            user = owner.parent_op()
            assert isinstance(user, block.MapOp)
            assert isinstance(value, BlockArgument)
            pending.append(user.inputs[value.index])
        else:
            ops[owner] = None
            if isinstance(owner, block.MapOp):
                pending.extend(_yielded_for(owner, value))
            else:
                pending.extend(owner.operands)
    return Part(tuple(ops), tuple(outside))


def _yielded_for(map_: block.MapOp, result: SSAValue) -> list[SSAValue]:
    """Return the values that a map's body yields for one result: one value, and the exponent of a sum that is
    relative to a maximum.
    """
    index = map_.results.index(result)  # pyright: ignore[reportArgumentType]
    return [map_.yield_op.arguments[kept] for kept in map_.with_pivots([index])]


def named(value: SSAValue) -> str:
    """Return the name of a value for messages."""
    return f"%{value.name_hint}" if value.name_hint else "a list without a name"


def contains_contraction(ops: Sequence[Operation]) -> bool:
    """True if any of the operations is, or contains, a contraction."""
    return any(isinstance(inner, block.DotOp) for op in ops for inner in op.walk())


def slice_of(map_: block.MapOp, result: SSAValue) -> block.MapOp:
    """A detached copy of a map with only one of its results, which comes first; a maximum that it is relative
    to comes second.
    """
    copy = map_.clone()
    index = map_.results.index(result)  # pyright: ignore[reportArgumentType]
    # Not the order of the map, so that the result is the first.
    kept = sorted(map_.with_pivots([index]), key=lambda other: other != index)
    last = copy.yield_op
    values = [last.arguments[other] for other in kept]
    last.detach()
    last.erase()
    body = copy.body.block
    body.add_op(block.YieldOp(*values))
    _erase_dead(copy)
    region = copy.detach_region(copy.body)
    kinds = [map_.result_kinds[other] for other in kept]
    new = block.MapOp(map_.dim_name, list(copy.operands), kinds, region, map_.pivots_among(kept))
    new.location = map_.location
    new.results[0].name_hint = result.name_hint
    for operand_index in reversed(range(len(new.inputs))):
        if not new.body.block.args[operand_index].uses:
            new.body.block.erase_arg(new.body.block.args[operand_index])
            new.operands = [value for index, value in enumerate(new.operands) if index != operand_index]
    copy.erase()
    return new


def _erase_dead(map_: block.MapOp) -> None:
    for op in reversed(list(map_.body.block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
        elif isinstance(op, block.MapOp):
            _erase_dead(op)


def replace_inside(scope: Operation, old: SSAValue, new: SSAValue, rewriter: PatternRewriter) -> None:
    """Replace a value in everything inside an operation."""

    def inside(operation: Operation) -> bool:
        parent = operation.parent_op()
        while parent is not None:
            if parent is scope:
                return True
            parent = parent.parent_op()
        return False

    rewriter.replace_uses_with_if(old, new, lambda use: inside(use.operation))


def insert_first(map_: block.MapOp, ops: Sequence[Operation], rewriter: PatternRewriter) -> None:
    """Insert operations at the start of a map's body."""
    first = map_.body.block.first_op
    assert first is not None
    for op in ops:
        rewriter.insert(op, InsertPoint.before(first))
