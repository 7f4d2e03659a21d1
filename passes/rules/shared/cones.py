"""Cones: a producer map, a consumer map that captures its results, and all operations between them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue, Use

from ....dialects import block
from ...analysis.facts import Facts


@dataclass(frozen=True)
class Extending:
    """A producer map, the consumer map that captures its results, the cone of all operations between them,
    and the map that takes the cone in.

    That target is the consumer, or the map inside it in whose body a map over the producer's dim reads the
    result.
    """

    producer: block.MapOp
    consumer: block.MapOp
    cone: tuple[Operation, ...]
    target: block.MapOp

    @property
    def results(self) -> list[SSAValue]:
        return [value for op in self.cone for value in op.results]

    @property
    def path(self) -> list[block.MapOp]:
        """The maps from the consumer down to the target."""
        found: list[block.MapOp] = []
        scope: Operation | None = self.target
        while isinstance(scope, block.MapOp):
            found.insert(0, scope)
            if scope is self.consumer:
                break
            scope = scope.parent_op()
        return found

    def outside_uses(self, value: SSAValue) -> list[Use]:
        """The uses of a value outside of the cone and the target, other than as an argument of the
        consumer.
        """
        return [
            use
            for use in value.uses
            if use.operation is not self.consumer
            and not is_within(use.operation, (*self.cone, self.target), but=self.target)
        ]

    def outside_users(self, value: SSAValue) -> list[Operation]:
        """The operations of the producer's block that contain such uses."""
        found: dict[Operation, None] = {}
        for use in self.outside_uses(value):
            op: Operation | None = use.operation
            while op is not None and op.parent is not self.producer.parent:
                op = op.parent_op()
            if op is not None:
                found[op] = None
        return list(found)


def is_within(op: Operation | None, scopes: tuple[Operation, ...], but: Operation | None = None) -> bool:
    """True if an operation is one of `scopes` (other than `but`), or is inside one."""
    if op is but and but is not None:
        return False
    while op is not None:
        if op in scopes:
            return True
        op = op.parent_op()
    return False


def cone_between(producer: Operation, consumer: Operation, facts: Facts) -> tuple[Operation, ...]:
    """The producer, and every operation that depends on it and on which the consumer depends, in order."""
    cone = [producer]
    members = {producer}
    for op in facts.between(producer, consumer):
        if any(value.owner in members for value in facts.used(op)):
            cone.append(op)
            members.add(op)
    return tuple(cone)


def targets(producer: block.MapOp, consumer: block.MapOp) -> list[block.MapOp]:
    """The maps, from the consumer inwards, in whose body an operation could take up the producer's result.

    That is a map over the producer's dim that reads a list of the producer's, or a list that the producer
    reads, or it is a reduction of a list of the producer's.
    """
    made = set(producer.results)
    shared = made.union(producer.inputs)
    found: dict[block.MapOp, None] = {}
    for inner in consumer.walk():
        scope = inner.parent_op()
        if not isinstance(scope, block.MapOp) or inner is consumer:
            continue
        match inner:
            case block.MapOp():
                fits = inner.dim_name == producer.dim_name and not shared.isdisjoint(inner.inputs)
            case block.ReduceOp():
                fits = inner.list in made
            case _:
                fits = False
        if fits:
            found[scope] = None
    return list(found)
