"""The termination measure of phase 2.

Unfold the program to a tree and give every value a weight:

- a leaf has 2;
- scales, shifts, additions, outer products, linear forms and monomials have the sum of their operands and 1
  (additions of vectors 2, because they become linear forms);
- loads, stores and casts have their operand and 1;
- a multiple of a block and a row reduction have twice their operand;
- other element-wise operators have three times their operands;
- contractions and Hadamard products have twice the product of their operands;
- a stacked list has twice its element, a reduced result three times.

A firing must make the tuple

    (transposed views, weight, misplaced pairs, maps, operations and results, nesting depths, iterated dims)

smaller in lexicographic order.

A transposed view shows an assembled list with its dims in another order. It counts once for each pair of dims
that change places, together with the number of maps on the longest path to the list; the longest paths are
compared first. (`interchange-maps` replaces a view of the list that a nest makes by views of lists that it
reads, which have shorter paths.)

A misplaced pair is a scale or shift over one of its kind, a row scale under a column scale or a column shift
under a row shift (each counts as 3, and so do those further below in a chain), a shift under an addition, or
a constant factor under a product. It counts once for each path to a result, as in the unfolded tree: a law
may leave a pair to other readers. Dead code does not count, but for its dims: `inline-whole-dim` may find
nothing else.

`block-fuse{check=true}` and the tests check the measure at run time. It is a measured argument with a hand
check of the local laws, no proof. Extensions do not count: they move maps inward, and each that is kept
merges at least one map.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects import block
from ..analysis.data_flow import dependencies_first
from ..analysis.facts import yielded
from ..analysis.items import Scale, Shift, scale_of, shift_of, through_cast
from ..rules.inline_whole_dim import iterated_dims
from ..rules.law import AnyLaw, Check
from ..rules.shared.transposed_views import transposed_view

Measure = tuple[tuple[int, ...], int, int, int, int, int, int]

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


class _Fold(ABC):
    """A number for every value of a program, computed once from those of its operands."""

    leaf: ClassVar[int]
    """The number of an argument of the function."""

    def __init__(self) -> None:
        self.known: dict[SSAValue, int] = {}

    def of(self, value: SSAValue) -> int:
        """The number of a value."""
        if value not in self.known:
            for each in dependencies_first(value, self._sources):
                self.known[each] = self._find(each)
        return self.known[value]

    def _sources(self, value: SSAValue) -> list[SSAValue]:
        """The values, yet without a number, from whose numbers that of a value follows."""
        owner = value.owner
        sources: Sequence[SSAValue] = ()
        if isinstance(owner, Block):
            user = owner.parent_op()
            if isinstance(user, block.MapOp):
                assert isinstance(value, BlockArgument)
                sources = (user.inputs[value.index],)
        elif isinstance(owner, block.MapOp):
            sources = (yielded(owner, value),)
        else:
            sources = owner.operands
        return [source for source in sources if source not in self.known]

    def _find(self, value: SSAValue) -> int:
        owner = value.owner
        if isinstance(owner, Block):
            user = owner.parent_op()
            if isinstance(user, block.MapOp):
                assert isinstance(value, BlockArgument)
                return self.of(user.inputs[value.index])
            return self.leaf
        if isinstance(owner, block.MapOp):
            index = owner.results.index(value)  # pyright: ignore[reportArgumentType]
            return self.of_result(owner.result_kinds[index], self.of(owner.yield_op.arguments[index]))
        return self.of_item(value, owner)

    @abstractmethod
    def of_result(self, kind: block.Kind, yielded: int) -> int:
        """The number of a map's result, from that of what its body yields."""

    @abstractmethod
    def of_item(self, value: SSAValue, owner: Operation) -> int:
        """The number of a result of an operation other than a map."""


class _Weigher(_Fold):
    """The weights of values, as the docstring of the module defines them."""

    leaf = 2

    def of_result(self, kind: block.Kind, yielded: int) -> int:
        return _KIND_WEIGHTS.get(kind, 3) * yielded

    def of_item(self, value: SSAValue, owner: Operation) -> int:
        operands = [self.of(operand) for operand in owner.operands]
        match owner:
            case block.ReduceOp():
                return 3 * operands[0]
            case block.DotOp() | block.MulOp():
                return 2 * prod(operands)
            case block.LoadOp() | block.StoreOp() | block.ViewOp():
                return operands[0] + 1
            case block.LinearOp() if isinstance(value.type, block.BlockType) and len(operands) == 1:
                return 2 * operands[0]
            case block.AddOp() if not isinstance(value.type, block.BlockType):
                return sum(operands) + 2
            case block.ElementwiseOp() if through_cast(value) is not value:
                return operands[0] + 1
            case _ if isinstance(owner, _SUMS):
                return sum(operands) + 1
            case block.ElementwiseOp() | block.SubOp():
                return 3 * max(1, sum(operands))
            case _:
                return 2 * max(1, sum(operands))


class _Heights(_Fold):
    """The number of maps on the longest path to a value, from the arguments of the function."""

    leaf = 0

    def of_result(self, kind: block.Kind, yielded: int) -> int:
        return 1 + yielded

    def of_item(self, value: SSAValue, owner: Operation) -> int:
        return max((self.of(operand) for operand in owner.operands), default=0)


class _Misplacements(_Fold):
    """The number of misplaced pairs in the unfolded tree of a value."""

    leaf = 0

    def of_result(self, kind: block.Kind, yielded: int) -> int:
        return yielded

    def of_item(self, value: SSAValue, owner: Operation) -> int:
        return _misplaced(owner) + sum(self.of(operand) for operand in owner.operands)


def _multiples(value: SSAValue) -> int:
    """Return the length of a chain of constant factors."""
    count = 0
    while isinstance(value.owner, block.LinearOp) and len(value.owner.terms) == 1:
        count, value = count + 1, value.owner.terms[0]
    return count


def _shifts(value: SSAValue) -> int:
    """Return the length of a chain of shifts."""
    count = 0
    while (shift := shift_of(value)) is not None:
        count, value = count + 1, shift.block
    return count


def _out_of_order(
    op: Scale | Shift,
    below: Callable[[SSAValue], Scale | Shift | None],
    inner: type[Operation],
    outer: type[Operation],
) -> int:
    """1 for an operator on one of its kind, and 3 for each one in the chain below that belongs outside.

    Two that change places may each meet one of their kind, so 3 pays for both.
    """
    first = below(op.block)
    count = int(type(first) is type(op))
    while first is not None and isinstance(op, inner):
        count += 3 * isinstance(first, outer)
        first = below(first.block)
    return count


def _misplaced(op: Operation) -> int:
    match op:
        case block.AddOp():
            return sum(_shifts(value) for value in op.operands)
        case block.RowScaleOp() | block.ColScaleOp():
            return _out_of_order(op, scale_of, block.ColScaleOp, block.RowScaleOp)
        case block.RowShiftOp() | block.ColShiftOp():
            return _out_of_order(op, shift_of, block.RowShiftOp, block.ColShiftOp)
        case block.MonomialOp():
            return sum(_multiples(value) for value in op.factors)
        case _:
            return 0


def _measure(function: FuncOp) -> tuple[Measure, Collection[SSAValue]]:
    """The measure of a program, and the values that its results need."""
    weigher = _Weigher()
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    weight = sum(weigher.of(value) for value in last.arguments)
    live = weigher.known
    heights, views = _Heights(), list[int]()
    misplacements = _Misplacements()
    misplaced = sum(misplacements.of(value) for value in last.arguments)
    maps = size = depths = 0

    def visit(body: Block, depth: int) -> None:
        nonlocal maps, size, depths
        for op in body.ops:
            needed = sum(result in live for result in op.results)
            if not needed:
                continue
            if (view := transposed_view(op)) is not None:
                views.extend([heights.of(view.list)] * view.inversions())
            size += 1 + needed
            depths += depth
            maps += isinstance(op, block.MapOp | block.ReduceOp)
            if isinstance(op, block.MapOp):
                visit(op.body.block, depth + 1)

    visit(function.body.block, 0)
    dims = len(iterated_dims(function))
    return (tuple(sorted(views, reverse=True)), weight, misplaced, maps, size, depths, dims), live


@dataclass
class MeasureCheck:
    """Asserts, as an observer, that every firing makes the measure of a program smaller.

    A firing in dead code, which is about to be removed, may leave it equal.
    """

    function: FuncOp
    firings: list[tuple[str, Measure, Measure]] = field(default_factory=list[tuple[str, Measure, Measure]])
    _last: tuple[str, Measure, bool] | None = None

    def fired(self, law: AnyLaw, site: Operation) -> None:
        now, live = _measure(self.function)
        if self._last is not None:
            title, before, was_live = self._last
            self.firings.append((title, before, now))
            if not (now < before or (now == before and not was_live)):
                raise AssertionError(
                    f"{title} did not make the termination measure smaller: {before} to {now}"
                )
        self._last = law.title(), now, not site.results or any(result in live for result in site.results)

    def refused(self, law: AnyLaw, site: Operation, check: Check) -> None:
        """Do nothing: a refusal changes nothing."""

    def settle(self) -> None:
        """Do nothing: the measure is compared when a law fires."""
