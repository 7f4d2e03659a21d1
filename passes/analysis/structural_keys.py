"""Structural identity of block programs: equal keys are equal values, in any order of operations, inputs and
results.

A key covers the grouping of work into maps, so two programs with equal keys are one snapshot. The order of
operations, of the operands of commutative operators, of a map's inputs and of its results does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import block
from ...dialects.attributes import EXACT_ATTRIBUTE

_COMMUTATIVE = (block.AddOp, block.MulOp)


@dataclass
class Interner:
    """Numbers for structures. Programs whose keys are compared must share one."""

    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def __call__(self, structure: Hashable) -> int:
        return self._numbers.setdefault(structure, len(self._numbers))


@dataclass
class Keys:
    """Keys of the values below one operation. A value from outside has its identity as its key, or one from
    `outside`.
    """

    intern: Interner
    outside: Callable[[SSAValue], Hashable] = id
    exact: bool = True
    """True if constants are told apart by their numbers before they are rounded to their type."""
    values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def of(self, value: SSAValue) -> int:
        known = self.values.get(value)
        if known is None:
            known = self.values[value] = self.intern(("outside", self.outside(value)))
        return known

    def enter_map(self, op: block.MapOp, depth: int) -> None:
        """Give keys to the arguments of a map's body: elements of lists in a map over a dim, at a depth."""
        for argument, value in zip(op.body.block.args, op.inputs, strict=True):
            self.values[argument] = self.intern(("element", op.dim_name, depth, self.of(value)))

    def leave_map(self, op: block.MapOp, depth: int) -> list[int]:
        """Keys of a map's results, once its body has keys. They do not depend on other results of the map."""
        arguments = op.yield_op.arguments
        return [
            self.intern(
                (
                    kind,
                    op.dim_name,
                    depth,
                    self.of(value),
                    None if pivot is None else self.of(arguments[pivot]),
                )
            )
            for kind, pivot, value in zip(op.result_kinds, op.result_pivots, arguments, strict=True)
        ]

    def of_op(self, op: Operation) -> int:
        """The key of an operation without a body of maps."""
        match op:
            case block.LinearOp():
                terms = sorted((self.of(value), str(coefficient)) for coefficient, value in op.pairs)
                return self.intern(("linear", tuple(terms)))
            case block.MonomialOp():
                return self.intern(("monomial", tuple(sorted((self.of(value), e) for value, e in op.pairs))))
            case block.ElementwiseOp():
                inputs = tuple(self.of(value) for value in op.inputs)
                return self.intern(("elementwise", inputs, _scalar_structure(op, self.exact), op.result.type))
            case _:
                operands = [self.of(value) for value in op.operands]
                if isinstance(op, _COMMUTATIVE):
                    operands.sort()
                attributes = (*sorted(op.properties.items()), *sorted(op.attributes.items()))
                return self.intern((op.name, tuple(operands), attributes, op.result_types))

    def name(self, op: Operation, key: int) -> None:
        """Give the results of an operation their keys."""
        for index, result in enumerate(op.results):
            self.values[result] = key if index == 0 else self.intern(("result", key, index))


def _scalar_structure(op: block.ElementwiseOp, exact: bool) -> Hashable:
    numbers: dict[SSAValue, int] = {argument: -1 - index for index, argument in enumerate(op.body.block.args)}
    structure: list[Hashable] = []
    for index, inner in enumerate(op.body.block.ops):
        operands = tuple(numbers[value] for value in inner.operands)
        attributes = [pair for pair in inner.attributes.items() if exact or pair[0] != EXACT_ATTRIBUTE]
        structure.append((inner.name, operands, *sorted(inner.properties.items()), *sorted(attributes)))
        for result in inner.results:
            numbers[result] = index
    return tuple(structure)


def program_key(function: FuncOp, intern: Interner) -> tuple[int, ...]:
    """The key of a whole function: of its results, and of the grouping of all work into maps."""
    arguments: dict[SSAValue, int] = {
        argument: index for index, argument in enumerate(function.body.block.args)
    }
    keys = Keys(intern, lambda value: ("argument", arguments[value]), exact=False)

    def visit(body: Block, depth: int) -> None:
        for op in body.ops:
            if isinstance(op, block.MapOp):
                keys.enter_map(op, depth)
                visit(op.body.block, depth + 1)
                results = keys.leave_map(op, depth)
                whole = intern(("map", op.dim_name, depth, tuple(sorted(results))))
                for result, key in zip(op.results_, results, strict=True):
                    keys.values[result] = intern(("out", whole, key))
            elif op.results:
                keys.name(op, keys.of_op(op))

    visit(function.body.block, 0)
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    return tuple(keys.of(value) for value in last.arguments)
