"""Plan of the slices and concats of a function that can be removed, and of what replaces them.

A node is a part of a value. The plan describes the new function as a graph of nodes. Its results are whole
values. An operation that stays needs its whole operands; a slice is replaced by the part of its operand; an
operation that is split needs parts of its operands. This goes on up to parts of arguments.

The plan starts with all slices and concats as candidates. A candidate is dropped if its removal needs a part
that no law gives, or computes some elements of a matmul twice. This repeats until no candidate is dropped.
Each round has fewer slices to push up, or fewer operations that may be split. There are mostly one or two
rounds, and each is linear in the nodes, but for sorting them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import combinations

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ....dialects import array
from ....dialects.array import shape_of
from .cuts import contains, cut_shape, disjoint, is_trivial
from .laws import law, request_of
from .parts import Node, Step, Writer, is_source, is_view_of_source, of_source
from .splits import Split, Splits, split_step


class Plan:
    """The slices to push up, the operations to split, and the nodes of the resulting function."""

    def __init__(self, block: Block):
        self.block = block
        self.order = {op: index for index, op in enumerate(block.ops)}
        self.slices: set[Operation] = {
            op for op in block.ops if isinstance(op, array.SliceOp) and not is_view_of_source(op.input)
        }
        self.concats = [op for op in block.ops if isinstance(op, array.ConcatOp)]
        self.splits: dict[Operation, Split] = {}
        self.whole: set[Operation] = set()
        self.steps: dict[Node, Step | None] = {}
        self.origins: dict[Node, Operation] = {}
        going = True
        while going:
            self._find_splits()
            self._expand()
            going = self._take_out(self._impossible())

    @property
    def changes(self) -> bool:
        """True if the plan changes anything."""
        return any(self._is_root(node) for node in self.steps)

    def _is_root(self, node: Node) -> bool:
        owner = node.value.owner
        return is_trivial(node.request) and (owner in self.slices or owner in self.splits)

    def _find_splits(self) -> None:
        found = Splits(self.concats, self.slices, self.whole, self.block)
        self.concats, self.splits = found.concats, found.ops

    def _expand(self) -> None:
        """Find all nodes that the function needs."""
        self.steps, self.origins = {}, {}
        queue = deque[Node]()
        for op in self.block.ops:
            if not isinstance(op, array.ArrayOp):
                for value in _outer_values(op):
                    queue.append(Node.of(value))
                    self.origins.setdefault(queue[-1], op)
        while queue:
            node = queue.popleft()
            if node in self.steps:
                continue
            step = self.steps[node] = self._step(node)
            owner = node.value.owner
            whole = is_trivial(node.request)
            origin = owner if isinstance(owner, Operation) and whole else self.origins[node]
            for operand in step.operands if step is not None else ():
                self.origins.setdefault(operand, origin)
                queue.append(operand)

    def _step(self, node: Node) -> Step | None:
        value, request = node
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.splits:
            return split_step(owner, self.splits[owner], request)
        if is_trivial(request):
            if isinstance(owner, array.SliceOp) and owner in self.slices:
                part = Node.of(owner.input, request_of(owner))
                return Step([part], lambda writer, operands: operands[0])
            operands = [] if isinstance(owner, Block) else [Node.of(v) for v in _outer_values(owner)]
            return Step(operands, lambda writer, operands: value)
        if is_source(value):
            return of_source(value, request)
        step = law(value, request)
        return of_source(value, request) if step is None and is_view_of_source(value) else step

    def _sorted(self) -> list[Node]:
        """All nodes, each after those that it needs."""

        def position(node: Node) -> tuple[int, int, bool]:
            value, request = node
            owner = value.owner
            index = value.index if isinstance(value, OpResult | BlockArgument) else 0
            return -1 if isinstance(owner, Block) else self.order[owner], index, not is_trivial(request)

        return sorted(self.steps, key=position)

    def _impossible(self) -> set[Operation]:
        """The slices and splits that have to be given up."""
        stay: set[Operation] = set()
        bad = self._recomputed()
        for node in self._sorted():
            step = self.steps[node]
            if step is not None and bad.isdisjoint(step.operands):
                continue
            owner = node.value.owner
            if self._is_root(node):
                assert isinstance(owner, Operation)
                stay.add(owner)
            else:
                bad.add(node)
        return stay

    def _recomputed(self) -> set[Node]:
        """Parts of matmuls that share elements with other parts: the smaller one if one contains the
        other.
        """
        parts: defaultdict[Operation, list[Node]] = defaultdict(list)
        for node in self.steps:
            if isinstance(node.value.owner, array.MatmulOp | array.MaskedMatmulOp):
                parts[node.value.owner].append(node)
        found: set[Node] = set()
        for nodes in parts.values():
            for a, b in combinations(nodes, 2):
                if disjoint(a.request, b.request):
                    continue
                if not contains(b.request, a.request):
                    found.add(b)
                if not contains(a.request, b.request):
                    found.add(a)
        return found

    def _take_out(self, stay: set[Operation]) -> bool:
        self.whole |= stay
        self.slices -= stay
        return bool(stay)

    def carry_out(self) -> None:
        """Rewrite the block."""
        old = list(self.block.ops)
        built = self._build()
        for node, value in built.items():
            if self._is_root(node):
                if value.owner not in self.order and not isinstance(value.owner, Block):
                    value.name_hint = node.value.name_hint or value.name_hint
                node.value.replace_all_uses_with(value)
        for op in reversed(old):
            if isinstance(op, array.ArrayOp) and not any(result.first_use for result in op.results):
                self.block.erase_op(op)

    def _build(self) -> dict[Node, SSAValue]:
        built: dict[Node, SSAValue] = {}
        writer = Writer(self.block, next(iter(self.order)))
        for node in self._sorted():
            step = self.steps[node]
            assert step is not None
            if node in built:
                continue
            writer.move(node.value, self.origins[node])
            value = step.build(writer, [built[operand] for operand in step.operands])
            assert shape_of(value) == cut_shape(shape_of(node.value), node.request), "a law got a shape wrong"
            built.update(_siblings(node, value))
        return built


def _siblings(node: Node, value: SSAValue) -> Iterator[tuple[Node, SSAValue]]:
    """A built node and the same parts of the other results of its operation."""
    yield node, value
    before, after = node.value.owner, value.owner
    if not isinstance(before, array.ElementwiseOp) or before is after:
        return
    if isinstance(after, array.ElementwiseOp) and len(before.results) == len(after.results):
        for result, part in zip(before.results, after.results, strict=True):
            yield Node(result, node.request), part


def _outer_values(op: Operation) -> list[SSAValue]:
    """The values of the enclosing block that an operation uses, inside its regions too."""
    own = set(op.walk())
    blocks = {block for inner in own for region in inner.regions for block in region.blocks}
    return [
        value
        for inner in op.walk()
        for value in inner.operands
        if value.owner not in own and value.owner not in blocks
    ]
