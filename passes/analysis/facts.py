"""Facts about a program that laws ask for: the values a map captures, dependence between operations,
invariance in a map.

Answers are cached. Code that changes the program must tell the cache, by `changed` and `inserted`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects import block


def defining_block(value: SSAValue) -> Block | None:
    """The block in which a value is defined."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def is_inside(value: SSAValue, op: Operation) -> bool:
    """True if a value is defined in a region of `op`, at any depth."""
    scope = defining_block(value)
    while scope is not None:
        parent = scope.parent_op()
        if parent is op:
            return True
        scope = parent.parent if parent is not None else None
    return False


def is_invariant(value: SSAValue, map_: block.MapOp) -> bool:
    """True if a value is the same in every iteration of a map because it is defined outside."""
    return not is_inside(value, map_)


def waits_for_reduction(value: SSAValue) -> bool:
    """True if a value depends, through item operators, on a reduced result of a map: that whole loop must end
    first.

    Laws that are numerically delicate apply only under this condition. Moving a shift past a contraction pays
    only if the contraction would otherwise wait for the shift.
    """
    return any(_reduced_before(value))


def waits_longer(value: SSAValue, other: SSAValue) -> bool:
    """True if a value waits for a reduction that the other value does not wait for."""
    return not set(_reduced_before(value)) <= set(_reduced_before(other))


def _reduced_before(value: SSAValue) -> Iterator[SSAValue]:
    """The reduced results that a value depends on through item operators."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        owner = current.owner
        match owner:
            case block.ReduceOp():
                yield current
            case block.MapOp():
                if kind_of(current) is not block.Kind.Stack:
                    yield current
            case Operation():
                pending.extend(owner.operands)
            case _:
                pass


def computed_from(value: SSAValue, source: SSAValue) -> bool:
    """True if `source` is among the values that a value is computed from, through operators and lists.

    Because it looks through lists, the answer is the same before and after maps are fused.
    """
    source = origin(source)
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = origin(pending.pop())
        if current is source:
            return True
        if current in seen:
            continue
        seen.add(current)
        owner = current.owner
        if isinstance(owner, block.MapOp):
            pending.append(yielded(owner, current))
        elif isinstance(owner, Operation):
            pending.extend(owner.operands)
    return False


def yielded(map_: block.MapOp, result: SSAValue) -> SSAValue:
    """The value that the body of a map yields for a result."""
    return map_.yield_op.arguments[map_.results.index(result)]  # pyright: ignore[reportArgumentType]


def origin(value: SSAValue) -> SSAValue:
    """Return the stored item, if a value was loaded from a list that a map stacks; else the list."""
    while True:
        owner = value.owner
        match owner:
            case block.LoadOp() | block.StoreOp():
                value = owner.source
            case block.MapOp() if not kind_of(value).reduces:  # pyright: ignore[reportOptionalMemberAccess]
                value = yielded(owner, value)
            case Block():
                user = owner.parent_op()
                if not isinstance(user, block.MapOp):
                    return value
                assert isinstance(value, BlockArgument)
                value = user.inputs[value.index]
            case _:
                return value


def kind_of(value: SSAValue) -> block.Kind | None:
    """Return how the map that gives a value collects it; None if no map gives it."""
    owner = value.owner
    if not isinstance(owner, block.MapOp):
        return None
    return owner.result_kinds[owner.results.index(value)]  # pyright: ignore[reportArgumentType]


def stacked_value(element: SSAValue) -> SSAValue | None:
    """Return the value that a map puts into a list, given the argument of another map that is an element of
    that list.

    None if the list is no stacked result of a map.
    """
    while isinstance(element, BlockArgument):
        user = element.block.parent_op()
        if not isinstance(user, block.MapOp):
            return None
        source = user.inputs[element.index]
        if kind_of(source) is block.Kind.Stack:
            maker = source.owner
            assert isinstance(maker, block.MapOp)
            return yielded(maker, source)
        element = source
    return None


def is_positive(value: SSAValue) -> bool:
    """True if an item is known to have positive elements only: exponentials, and sums, products and powers of
    them.
    """
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        sources = _positive_if(current)
        if sources is None:
            return False
        pending.extend(sources)
    return True


def _positive_if(value: SSAValue) -> Sequence[SSAValue] | None:
    """The values that must all be positive for this one to be; None if it may not be positive anyway."""
    owner = value.owner
    match owner:
        case block.ElementwiseOp():
            scalar = owner.yield_op.arguments[0].owner
            return () if isinstance(scalar, Operation) and scalar.name in ("math.exp", "math.exp2") else None
        case block.RowSumOp() | block.RowMaxOp() | block.RowMinOp():
            return (owner.operand,)
        case block.LoadOp() | block.StoreOp():
            return (owner.source,)
        case block.MonomialOp():
            return owner.factors
        case block.LinearOp():
            return owner.terms if all(c.value > 0 for c in owner.coefficients) else None
        case block.RowScaleOp() | block.ColScaleOp():
            return owner.block, owner.vector
        case block.MapOp():
            return (yielded(owner, value),)
        case block.ReduceOp() | block.AssembleOp():
            return (owner.list,)
        case block.PartitionOp():
            return (owner.tensor,)
        case Block():
            user = owner.parent_op()
            assert isinstance(value, BlockArgument)
            return (user.inputs[value.index],) if isinstance(user, block.MapOp) else None
        case _:
            return None


def _captured(op: Operation) -> Iterator[SSAValue]:
    for region in op.regions:
        for body in region.blocks:
            for inner in body.ops:
                for value in inner.operands:
                    if not is_inside(value, op):
                        yield value
                if inner.regions:
                    for value in _captured(inner):
                        if not is_inside(value, op):
                            yield value


def _label_between(op: Operation, labels: dict[Operation, float]) -> bool:
    """Number an operation, and unnumbered ones around it, between their neighbours; False if no number is
    free.
    """
    run = [op]
    while (before := run[0].prev_op) is not None and before not in labels:
        run.insert(0, before)
    while (following := run[-1].next_op) is not None and following not in labels:
        run.append(following)
    if before is not None:
        low = labels[before]
        high = labels[following] if following is not None else low + len(run) + 1
    elif following is not None:
        high = labels[following]
        low = high - len(run) - 1
    else:
        return False
    step = (high - low) / (len(run) + 1)
    numbers = [low + step * (index + 1) for index in range(len(run))]
    if not all(a < b for a, b in pairwise([low, *numbers, high])):
        return False
    labels.update(zip(run, numbers, strict=True))
    return True


@dataclass
class Facts:
    """A cache of facts about one function."""

    _captured: dict[Operation, dict[SSAValue, None]] = field(
        default_factory=dict[Operation, dict[SSAValue, None]]
    )
    _labels: dict[Block, dict[Operation, float]] = field(default_factory=dict[Block, dict[Operation, float]])

    def captured(self, op: Operation) -> dict[SSAValue, None]:
        """The values from outside that the regions of an operation use, each once, in order."""
        known = self._captured.get(op)
        if known is None:
            known = self._captured[op] = dict.fromkeys(_captured(op)) if op.regions else {}
        return known

    def used(self, op: Operation) -> Iterator[SSAValue]:
        """All values that an operation uses: its operands and what its regions capture."""
        yield from op.operands
        yield from self.captured(op)

    def position(self, op: Operation) -> float:
        """A number that increases along the block of an operation."""
        body = op.parent
        assert body is not None
        labels = self._labels.get(body)
        if labels is None or (op not in labels and not _label_between(op, labels)):
            labels = self._labels[body] = {inner: float(index) for index, inner in enumerate(body.ops)}
        return labels[op]

    def depends(self, user: Operation, source: Operation, *, directly: bool = True) -> bool:
        """True if `user` uses, through operations of their common block, a result of `source`.

        With `directly` false, only paths through some third operation count.
        """
        start = self.position(source)
        pending, seen = [user], {user}
        while pending:
            op = pending.pop()
            for value in self.used(op):
                owner = value.owner
                if isinstance(owner, Block) or owner.parent is not source.parent or owner in seen:
                    continue
                if owner is source:
                    if directly or op is not user:
                        return True
                    continue
                seen.add(owner)
                if self.position(owner) > start:
                    pending.append(owner)
        return False

    def between(self, source: Operation, user: Operation) -> list[Operation]:
        """The operations after `source` in its block that `user` needs, in order."""
        start = self.position(source)
        pending, found = [user], set[Operation]()
        while pending:
            for value in self.used(pending.pop()):
                owner = value.owner
                if isinstance(owner, Block) or owner.parent is not source.parent or owner in found:
                    continue
                if owner is not source and self.position(owner) > start:
                    found.add(owner)
                    pending.append(owner)
        return sorted(found, key=self.position)

    def inserted(self, op: Operation) -> None:
        """Record an operation that is new, or that has moved."""
        labels = self._labels.get(op.parent) if op.parent is not None else None
        if labels is not None:
            labels.pop(op, None)
        self.changed(op)

    def changed(self, op: Operation) -> None:
        """Forget what is known about an operation and what contains it."""
        scope: Operation | None = op
        while scope is not None:
            self._captured.pop(scope, None)
            scope = scope.parent_op()
