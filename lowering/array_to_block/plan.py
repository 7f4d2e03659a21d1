"""Plan of the nests to emit and of their layouts. Demands travel from the results of a function back to its
arguments.

A computation is emitted once for each *spec* (the dims of its axes) in which it is demanded. That is once,
unless one array is read along two sets of dims. It is emitted in one layout (order of its list's nest, order
of its items' axes), the one that is demanded most often. A reader that needs another one has a view of the
array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import array
from ...dialects.array.shapes import shape_of
from .analysis import Analysis, Iteration

Spec = tuple[tuple[str, ...], ...]
"""The dims of each axis of an array; none for an axis of extent 1, or along which the array is broadcast."""


@dataclass(frozen=True)
class Layout:
    """The dims of a list, outermost first, and the dims of its items' axes."""

    nest: tuple[str, ...]
    item: tuple[str, ...]


@dataclass(frozen=True)
class Whole:
    """A demand for the list of a computation's result."""

    value: SSAValue
    spec: Spec


@dataclass(frozen=True)
class Viewed:
    """A demand for an existing array (an argument or an assembled result), cut along `spec`."""

    value: SSAValue
    spec: Spec


@dataclass(frozen=True)
class Generated:
    """A demand for something that needs no array: an iota or a constant."""

    op: Operation
    spec: Spec


Provider = Whole | Viewed | Generated


@dataclass(frozen=True)
class Operand:
    """An operand that an operation reads: from where, and in which layout."""

    provider: Provider
    layout: Layout


@dataclass
class Nest:
    """One computation to emit."""

    key: Whole
    op: Operation
    demands: list[Layout] = field(default_factory=list[Layout])
    layout: Layout = Layout((), ())
    reduced: tuple[str, ...] = ()
    operands: list[Operand] = field(default_factory=list[Operand])


def _dims(spec: Spec) -> tuple[str, ...]:
    return tuple(dim for axis in spec for dim in axis)


@dataclass
class Plan:
    """All nests of a function, and the origin of each array that must exist as such."""

    analysis: Analysis
    nests: dict[Whole, Nest] = field(default_factory=dict[Whole, Nest])
    _queue: list[tuple[int, int, Nest]] = field(default_factory=list[tuple[int, int, Nest]])
    _sources: dict[SSAValue, tuple[SSAValue, ...]] = field(
        default_factory=dict[SSAValue, "tuple[SSAValue, ...]"]
    )
    """The arrays of full size that a value is computed from: none, one, or two of several."""

    def demand_array(self, value: SSAValue) -> None:
        """Record that `value` is needed as an array."""
        pending, seen = [value], set[SSAValue]()
        while pending:
            current = pending.pop()
            if current not in seen:
                seen.add(current)
                pending.extend(self._demand_one_array(current))

    def _demand_one_array(self, value: SSAValue) -> list[SSAValue]:
        """Record the demand. Returns the values that are needed as arrays for it."""
        provider = self.resolve(value, self.analysis.spec(value))
        needed: list[SSAValue] = []
        if isinstance(provider, Whole):
            self.demand(provider, self.default_layout(provider.spec))
        elif isinstance(provider, Viewed) and self._is_computed(provider.value):
            needed.append(provider.value)
        owner = value.owner
        if (
            not isinstance(owner, Block)
            and not isinstance(provider, Whole)
            and (owner in self.analysis.views or owner in self.analysis.generators)
        ):
            needed.extend(owner.operands)  # the operand of a view, or what an iota is like
        return needed

    def _is_computed(self, value: SSAValue) -> bool:
        """True if a value that is viewed as an array is assembled for that, in its own dims."""
        owner = value.owner
        return isinstance(owner, Operation) and (
            owner in self.analysis.iterations or owner in self.analysis.views
        )

    def default_layout(self, spec: Spec) -> Layout:
        """The layout of a list that becomes an array: its items have their axes in the array's order."""
        dims = _dims(spec)
        return Layout(
            self.analysis.nest_order(dims), tuple(dim for dim in dims if not self.analysis.is_batch(dim))
        )

    def demand(self, key: Whole, layout: Layout) -> None:
        nest = self.nests.get(key)
        if nest is None:
            owner = key.value.owner
            assert isinstance(owner, Operation)
            nest = self.nests[key] = Nest(key, owner)
            heappush(self._queue, (-self.analysis.order[owner], len(self.nests), nest))
        nest.demands.append(layout)

    def propagate(self) -> None:
        """Choose the layout of each demanded nest and demand its operands, from the last to the first."""
        while self._queue:
            _, _, nest = heappop(self._queue)
            nest.layout = Counter(nest.demands).most_common(1)[0][0]
            self._plan_operands(nest)

    def _plan_operands(self, nest: Nest) -> None:
        iteration = self.analysis.iterations[nest.op]
        renamed = self._renaming(nest.key)
        nest.reduced = self.analysis.nest_order(self.analysis.dims(iteration.reduced))
        order = (*nest.layout.nest, *nest.reduced)
        for position, value in enumerate(nest.op.operands):
            spec = tuple(
                tuple(renamed.get(dim, dim) for dim in self.analysis.dims(axis))
                for axis in iteration.operands[position]
            )
            provider = self.resolve(value, spec)
            dims = set(_dims(provider.spec))
            layout = Layout(
                tuple(dim for dim in order if dim in dims),
                tuple(dim for dim in self.item_axes(nest, position) if dim in dims),
            )
            nest.operands.append(Operand(provider, layout))
            if isinstance(provider, Whole):
                self.demand(provider, layout)
            elif isinstance(provider, Viewed) and self._is_computed(provider.value):
                self.demand_array(provider.value)

    def item_axes(self, nest: Nest, position: int) -> tuple[str, ...]:
        """The order of the axes of an operand's items: axes that are contracted or reduced come last."""
        reduced = tuple(dim for dim in nest.reduced if not self.analysis.is_batch(dim))
        if not isinstance(nest.op, array.MatmulOp | array.MaskedMatmulOp):
            return (*nest.layout.item, *reduced)
        iteration = self.analysis.iterations[nest.op]
        rows = self._rename(nest.key, self.analysis.dims(iteration.parallel[-1 if position == 1 else -2]))
        return (*(dim for dim in rows if not self.analysis.is_batch(dim)), *reduced)

    def _renaming(self, key: Whole) -> dict[str, str]:
        own = self.analysis.spec(key.value)
        return dict(zip(_dims(own), _dims(key.spec), strict=True))

    def _rename(self, key: Whole, dims: tuple[str, ...]) -> tuple[str, ...]:
        renamed = self._renaming(key)
        return tuple(renamed.get(dim, dim) for dim in dims)

    def resolve(self, value: SSAValue, spec: Spec) -> Provider:
        """Follow a demand for `value` along `spec` through its views to the operation that provides it."""
        while True:
            own = self.analysis.spec(value)
            spec = tuple(axis if mine else () for axis, mine in zip(spec, own, strict=True))
            if any(axis and len(axis) != len(mine) for axis, mine in zip(spec, own, strict=True)):
                return self._generated(value, spec) or Viewed(value, spec)
            op = value.owner
            if isinstance(op, Block) or op in self.analysis.opaque:
                return Viewed(value, spec)
            if op in self.analysis.generators:
                return Generated(op, spec)
            if op not in self.analysis.views:
                followed = spec == own or self._can_follow(value, own, spec)
                return Whole(value, spec) if followed else Viewed(value, spec)
            inner = self._through_view(op, spec)
            if inner is None:
                return Viewed(value, spec)
            value, spec = op.operands[0], inner

    def _generated(self, value: SSAValue, spec: Spec) -> Generated | None:
        return (
            Generated(value.owner, spec)
            if isinstance(value.owner, Operation) and value.owner in self.analysis.generators
            else None
        )

    def _through_view(self, op: Operation, spec: Spec) -> Spec | None:
        """The spec of a view's operand, given that of its result; None if the operand cannot be cut so."""
        match op:
            case array.TransposeOp():
                inner: list[tuple[str, ...]] = [()] * len(spec)
                for axis, source in enumerate(op.perm.get_values()):
                    inner[source] = spec[axis]
                return tuple(inner)
            case array.BroadcastOp():
                shape, result = shape_of(op.input), shape_of(op.result)
                skipped = len(result) - len(shape)
                return tuple(
                    () if extent == 1 and result[skipped + axis] != 1 else spec[skipped + axis]
                    for axis, extent in enumerate(shape)
                )
            case array.ReshapeOp():
                return self._through_reshape(op, spec)
            case _:
                return None

    def _through_reshape(self, op: array.ReshapeOp, spec: Spec) -> Spec | None:
        own = self.analysis.spec(op.input)
        inner: list[tuple[str, ...]] = [()] * len(own)
        for inputs, outputs in op.groups:
            dims = tuple(dim for axis in outputs for dim in spec[axis])
            counts = [len(own[axis]) for axis in inputs]
            if len(inputs) > 1 and dims and len(dims) != sum(counts):
                return None
            if len(inputs) == 1:
                if len(outputs) > 1 and len(dims) not in (0, counts[0]):
                    return None
                inner[inputs[0]] = dims
                continue
            for axis, count in zip(inputs, counts, strict=True):
                inner[axis], dims = dims[:count], dims[count:]
        return tuple(inner)

    def _can_follow(self, value: SSAValue, own: Spec, spec: Spec) -> bool:
        """True if a computation is repeated along other dims, rather than its result viewed again.

        It is if it reads one array only (as a norm or a softmax does), and never for a matmul.
        """
        op = value.owner
        assert isinstance(op, Operation)
        if _is_product(op):
            return False
        if any(len(axis) != len(mine) for axis, mine in zip(spec, own, strict=True)):
            return False
        iteration = self.analysis.iterations[op]
        reduced = self.analysis.dims(iteration.reduced)
        dims = (*_dims(spec), *reduced)
        blocked = [dim for dim in dims if not self.analysis.is_batch(dim)]
        if len(set(dims)) != len(dims) or len(blocked) > 2:
            return False
        return not self._reads_several(value)

    def _reads_several(self, value: SSAValue) -> bool:
        """True if `value` is computed, without a matmul, from several arrays of full size."""
        pending = [value]
        while pending:
            current = pending[-1]
            if current not in self._sources:
                operands = self._full_operands(current)
                missing = [each for each in operands or () if each not in self._sources]
                if missing:
                    pending.extend(missing)
                    continue
                own = [current] if operands is None else [s for each in operands for s in self._sources[each]]
                # Two are as good as many.
                self._sources[current] = tuple(dict.fromkeys(own))[:2]
            pending.pop()
        return len(self._sources[value]) > 1

    def _full_operands(self, value: SSAValue) -> Sequence[SSAValue] | None:
        """The operands of full size from which `value` can be recomputed; None if it is an array itself."""
        op = value.owner
        if isinstance(op, Block) or op in self.analysis.opaque or _is_product(op):
            return None
        if op in self.analysis.generators:
            return ()
        if op in self.analysis.views:
            return op.operands[:1]
        iteration: Iteration = self.analysis.iterations[op]
        sizes = [len([axis for axis in axes if axis]) for axes in iteration.operands]
        full = max(sizes, default=0)
        return [operand for operand, size in zip(op.operands, sizes, strict=True) if size == full]


def _is_product(op: Operation) -> bool:
    return isinstance(op, array.MatmulOp | array.MaskedMatmulOp)


def make_plan(analysis: Analysis, arrays: list[SSAValue]) -> Plan:
    """Plan the nests that provide `arrays`."""
    plan = Plan(analysis)
    for value in arrays:
        plan.demand_array(value)
    plan.propagate()
    return plan
