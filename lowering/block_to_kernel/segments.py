"""Segments of a function: the operations of each kernel, and the order of the launches.

Local items exist only within one kernel, so operations that share one form a group. Every other operation is
a group of its own. Groups are ordered by dependence, not by their place in the text: an operation on arrays
between two operations of a kernel moves before or after it. If it can do neither, because it reads a result
of the kernel and computes an input of it, there are two kernels, and local items that both need go through
memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import block
from ...dialects.attributes import PROLOGUE


def is_host(op: Operation) -> bool:
    """True if an operation stays outside kernels: views, and operations on arrays."""
    return isinstance(op, block.PartitionOp | block.AssembleOp | ReturnOp) or not op.name.startswith("block.")


def segments(body: Block) -> list[list[Operation]]:
    """The operations of a function in groups that one kernel each computes (or that are one operation outside
    kernels), in an order in which they can run. May insert stores and loads of local items.
    """
    graph = _Graph.of(body)
    groups = _strong_components(graph.nodes, graph.after_groups(_sharing_groups(graph)))
    found = _Groups(graph, [part for group in groups for part in _parts(graph, group)])
    found.absorb_between()
    ordered = [[graph.nodes[number] for number in group] for group in found.in_order()]
    _through_memory(ordered)
    last = body.last_op
    return [*ordered, [last]] if last is not None else ordered


Group = tuple[int, ...]
"""Numbers of operations, from the first to the last."""


@dataclass
class _Graph:
    """The operations of a function without the return, by number, and the order that dependence requires."""

    nodes: list[Operation]
    before: list[set[int]]
    shares: list[tuple[int, int]]
    """Pairs of operations: one makes a local item or the first of a list, one uses it."""

    @staticmethod
    def of(body: Block) -> _Graph:
        nodes = [op for op in body.ops if not isinstance(op, ReturnOp)]
        numbers = {op: number for number, op in enumerate(nodes)}
        before: list[set[int]] = [set() for _ in nodes]
        shares: list[tuple[int, int]] = []
        for number, op in enumerate(nodes):
            for value in _used(op):
                maker = numbers.get(value.owner) if isinstance(value.owner, Operation) else None
                if maker is None or maker == number:
                    continue
                before[number].add(maker)
                if block.is_local(value.type) or isinstance(value.owner, block.FirstOp):
                    shares.append((maker, number))
        return _Graph(nodes, before, shares)

    def after_groups(self, groups: Sequence[Group]) -> dict[int, set[int]]:
        """Return the operations that depend on each one, if each group is treated as one operation."""
        after: dict[int, set[int]] = {number: set() for number in range(len(self.nodes))}
        for number, earlier in enumerate(self.before):
            for each in earlier:
                after[each].add(number)
        for group in groups:  # a ring
            for one, other in zip(group, (*group[1:], group[0]), strict=True):
                after[one].add(other)
        return after


def _used(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands


def _sharing_groups(graph: _Graph) -> list[Group]:
    """Operations that share local items, directly or through others."""
    group_of = {number: [number] for number in range(len(graph.nodes))}
    for one, other in graph.shares:
        first, second = group_of[one], group_of[other]
        if first is not second:
            first += second
            group_of |= dict.fromkeys(second, first)
    return [tuple(sorted(group)) for group in {id(group): group for group in group_of.values()}.values()]


def _strong_components(nodes: Sequence[Operation], after: Mapping[int, set[int]]) -> list[Group]:
    """Operations that reach one another, by Tarjan's algorithm (SIAM J. Comput. 1, 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    found: list[Group] = []
    for root in range(len(nodes)):
        if root in index:
            continue
        calls: list[tuple[int, Iterator[int]]] = []

        def enter(number: int, calls: list[tuple[int, Iterator[int]]] = calls) -> None:
            index[number] = low[number] = len(index)
            stack.append(number)
            waiting.add(number)
            calls.append((number, iter(sorted(after[number]))))

        enter(root)
        while calls:
            number, rest = calls[-1]
            following = next(rest, None)
            if following is None:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[number])
                if low[number] == index[number]:
                    cut = stack.index(number)
                    found.append(tuple(sorted(stack[cut:])))
                    waiting.difference_update(stack[cut:])
                    del stack[cut:]
            elif following not in index:
                enter(following)
            elif following in waiting:
                low[number] = min(low[number], index[following])
    return found


def _parts(graph: _Graph, group: Group) -> list[Group]:
    """Return a group as it is, or split at operations outside kernels that it contains: first the operations
    before them, then those that depend on them, and so on.
    """
    if not any(is_host(graph.nodes[number]) for number in group):
        return [group]
    inside, hosts = set(group), list[Group]()
    depth: dict[int, int] = {}
    levels: dict[int, list[int]] = {}
    for number in group:
        earlier = graph.before[number] & inside
        depth[number] = max((depth[each] + is_host(graph.nodes[each]) for each in earlier), default=0)
    for maker, user in reversed(graph.shares):
        if isinstance(graph.nodes[maker], block.FirstOp) and maker in inside:
            depth[maker] = depth[user]  # its only one
    for number in group:
        if is_host(graph.nodes[number]):
            hosts.append((number,))
        else:
            levels.setdefault(depth[number], []).append(number)
    return [*hosts, *(tuple(level) for level in levels.values())]


@dataclass
class _Groups:
    """Groups of which none reaches itself through another one."""

    graph: _Graph
    groups: list[Group]
    group_of: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self.groups.sort()
        self.group_of = {member: number for number, group in enumerate(self.groups) for member in group}

    def _before(self, number: int) -> set[int]:
        """The groups that a group reads from."""
        return {
            self.group_of[each] for member in self.groups[number] for each in self.graph.before[member]
        } - {number}

    def absorb_between(self) -> None:
        """Add to a kernel of several operations the nests between them, if they can run there."""
        for number, group in enumerate(self.groups):
            if len(group) < 2:
                continue
            for member in range(group[0], group[-1]):
                other = self.group_of[member]
                if other != number and not is_host(self.graph.nodes[member]):
                    self._unite(number, other)

    def _unite(self, number: int, other: int) -> None:
        """Merge two groups, unless one reaches the other through a third."""
        both = {number, other}
        seen: set[int] = set()
        pending = list((self._before(number) | self._before(other)) - both)
        while pending:
            each = pending.pop()
            if each in seen:
                continue
            seen.add(each)
            pending += self._before(each)
        if seen.isdisjoint(both):
            self.group_of |= dict.fromkeys(self.groups[other], number)
            self.groups[number] = tuple(sorted((*self.groups[number], *self.groups[other])))
            self.groups[other] = ()

    def in_order(self) -> list[Group]:
        """The groups in an order in which each comes after those it reads, else by their place in the
        text.
        """
        missing = {number: self._before(number) for number, group in enumerate(self.groups) if group}
        after: dict[int, list[int]] = {number: [] for number in missing}
        for number, earlier in missing.items():
            for each in earlier:
                after[each].append(number)
        ready = [(self.groups[number][0], number) for number, earlier in missing.items() if not earlier]
        heapify(ready)
        found: list[Group] = []
        while ready:
            _, number = heappop(ready)
            found.append(self.groups[number])
            for each in after[number]:
                missing[each].discard(number)
                if not missing[each]:
                    heappush(ready, (self.groups[each][0], each))
        assert sum(map(len, found)) == len(self.graph.nodes)
        return found


def _through_memory(groups: Iterable[list[Operation]]) -> None:
    """Store local items that another group uses, and load them there."""
    groups = list(groups)
    owners = {op: group for group in groups for op in group}
    for group in groups:
        for op in list(group):
            for value in op.results:
                if block.is_local(value.type):
                    _store_for_other_groups(value, op, group, owners)


def _store_for_other_groups(
    value: SSAValue, maker: Operation, group: list[Operation], owners: Mapping[Operation, list[Operation]]
) -> None:
    other_uses = [
        (use, other) for use in list(value.uses) if (other := _group_of(use.operation, owners)) is not group
    ]
    if not other_uses:
        return
    store = block.StoreOp(value)
    group.insert(group.index(maker) + 1, store)
    _put(store, maker, maker.next_op)
    loads: dict[int, block.LoadOp] = {}
    for use, other in other_uses:
        if id(other) not in loads:
            load = loads[id(other)] = block.LoadOp(store.result)
            load.result.name_hint = value.name_hint
            _put(load, maker, min(other, key=_position))
            other.insert(0, load)
        use.operation.operands[use.index] = loads[id(other)].result


def _put(op: Operation, maker: Operation, before: Operation | None) -> None:
    """Insert an operation on an item, with the location and the once-only mark of the item's maker."""
    op.location = maker.location
    if PROLOGUE in maker.attributes:
        op.attributes[PROLOGUE] = maker.attributes[PROLOGUE]
    assert before is not None
    assert before.parent is not None
    before.parent.insert_op_before(op, before)


def _position(op: Operation) -> int:
    assert op.parent is not None
    return next(number for number, each in enumerate(op.parent.ops) if each is op)


def _group_of(op: Operation, owners: Mapping[Operation, list[Operation]]) -> list[Operation]:
    while op not in owners:
        outer = op.parent_op()
        assert outer is not None
        op = outer
    return owners[op]
