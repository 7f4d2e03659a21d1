"""The kernels of a block program as the cost model sees them: loops, and the work and the moves inside them.

Nothing here depends on extents, block sizes or a machine. A load, or an element-wise operation, is placed in
the innermost loop that it depends on, because `kernel-hoist` moves it there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ....dialects import block
from ....dialects.attributes import PROLOGUE
from ....dialects.block import Kind
from ..causal_masks import Until, masked_later
from ..traffic.block import algebra_flops, item_bytes, scalar_flops

_FUNCTIONS = {
    "arith.divf": "div",
    "math.sqrt": "sqrt",
    "math.rsqrt": "sqrt",
    "math.exp": "exp",
    "math.exp2": "exp",
    "math.expm1": "exp",
    "math.log": "log",
    "math.log2": "log",
    "math.log1p": "log",
    "math.tanh": "tanh",
    "math.erf": "erf",
    "math.sin": "sin",
    "math.cos": "sin",
    "math.powf": "other",
}


@dataclass(eq=False)
class Loop:
    """A map: its dim, whether its iterations are independent, and which of them a causal mask leaves.

    The iterations of `parallel` loops are divided among workers.
    """

    dim: str
    stacks: bool
    parallel: bool = False
    until: Until | None = None


@dataclass(frozen=True)
class Contraction:
    """A product of blocks, `rows` x `depth` by `columns` x `depth`, in each iteration of `loops`.

    `needed` are the loops that it depends on; the iterations of others compute it again.
    """

    loops: tuple[Loop, ...]
    rows: str
    columns: str
    depth: str
    element_type: str
    needed: frozenset[Loop]


@dataclass(frozen=True)
class VectorWork:
    """Operations on each element of an item: `simple` ones, and functions by name."""

    loops: tuple[Loop, ...]
    dims: tuple[str, ...]
    simple: int
    functions: Mapping[str, int]


@dataclass(frozen=True)
class Move:
    """A load or store of an item of `array`: in each iteration of `loops`, another item for each of
    `indexed`.

    `copied`: a loaded block becomes a tile in another layout; else it is read in place.
    """

    loops: tuple[Loop, ...]
    array: object
    dims: tuple[str, ...]
    indexed: frozenset[Loop]
    bytes: int
    stores: bool
    copied: bool


@dataclass(frozen=True)
class Tile:
    """A block that an iteration of `loops` keeps in local memory."""

    loops: tuple[Loop, ...]
    dims: tuple[str, ...]
    bytes: int


@dataclass
class KernelPlan:
    """One kernel. `grid` are its parallel loops, outermost first; `once`: it runs once, not in each call."""

    name: str
    grid: tuple[Loop, ...] = ()
    once: bool = False
    contractions: list[Contraction] = field(default_factory=list[Contraction])
    vectors: list[VectorWork] = field(default_factory=list[VectorWork])
    moves: list[Move] = field(default_factory=list[Move])
    tiles: list[Tile] = field(default_factory=list[Tile])
    operations: list[tuple[Loop, ...]] = field(default_factory=list[tuple[Loop, ...]])
    """The loops around each operation on blocks."""

    def loops(self) -> list[Loop]:
        """Every loop, those around before those inside."""
        found: dict[Loop, None] = {}
        for loops in self.chains():
            found |= dict.fromkeys(loops)
        return sorted(found, key=lambda loop: self.depth(loop))

    def private_arrays(self) -> set[object]:
        """The lists that the kernel stores and loads again."""
        stored = {move.array for move in self.moves if move.stores}
        return stored & {move.array for move in self.moves if not move.stores}

    def chains(self) -> Iterable[tuple[Loop, ...]]:
        yield self.grid
        for part in (self.contractions, self.vectors, self.moves, self.tiles):
            for each in part:
                yield each.loops

    def depth(self, loop: Loop) -> int:
        """Return the number of loops around a loop."""
        return next(loops.index(loop) for loops in self.chains() if loop in loops)

    def dims(self) -> tuple[str, ...]:
        """The dims that the cost depends on, in the order in which they occur."""
        found: dict[str, None] = {}
        for loops in self.chains():
            found |= {loop.dim: None for loop in loops}
            found |= {loop.until.dim: None for loop in loops if loop.until}
        for each in self.contractions:
            found |= dict.fromkeys((each.rows, each.columns, each.depth))
        for each in (*self.vectors, *self.moves, *self.tiles):
            found |= dict.fromkeys(each.dims)
        return tuple(found)


def plan_function(function: FuncOp) -> list[KernelPlan]:
    """Return the kernels of a block program, in order, without the operations on whole arrays."""
    plans: list[KernelPlan] = []
    waiting: list[Operation] = []
    outside: dict[SSAValue, _List] = {}
    for op in function.body.block.ops:
        if isinstance(op, block.ViewOp | ReturnOp) or not op.name.startswith("block."):
            if isinstance(op, block.PartitionOp):
                outside[op.result] = _List(op.tensor)
            continue
        waiting.append(op)
        if all(block.is_local(result.type) for result in op.results):
            continue  # a part of the kernel that needs it
        plans.append(_Planner(waiting, outside).plan)
        waiting = []
    if waiting:
        plans.append(_Planner(waiting, outside).plan)
    return [plan for plan in plans if plan.operations or plan.moves]


@dataclass(frozen=True)
class _List:
    """The place of a list, and the loops whose iterations have taken an element of it."""

    array: object
    indexed: frozenset[Loop] = frozenset()


class _Planner:
    """Makes the plan of one kernel from its operations."""

    def __init__(self, ops: Sequence[Operation], outside: dict[SSAValue, _List]):
        self.lists = outside
        self.depends: dict[SSAValue, frozenset[Loop]] = {}
        last = ops[-1]
        hint = next((result.name_hint for result in last.results if result.name_hint), None)
        self.plan = KernelPlan(hint or last.name, once=all(PROLOGUE in op.attributes for op in ops))
        self._tiled: set[SSAValue] = set()
        self._stored: set[object] = set()
        self._parallel = _grid(ops)
        self._visit(ops, ())
        self._into_grid()

    def _into_grid(self) -> None:
        """Move operations that stand between parallel loops into each iteration of the inner loop."""
        plan = self.plan

        def inside(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
            return plan.grid if len(loops) < len(plan.grid) else loops

        plan.contractions = [replace(each, loops=inside(each.loops)) for each in plan.contractions]
        plan.vectors = [replace(each, loops=inside(each.loops)) for each in plan.vectors]
        plan.moves = [replace(each, loops=inside(each.loops)) for each in plan.moves]
        plan.tiles = [replace(each, loops=inside(each.loops)) for each in plan.tiles]
        plan.operations = [inside(loops) for loops in plan.operations]

    def _visit(self, ops: Iterable[Operation], loops: tuple[Loop, ...]) -> None:
        for op in ops:
            match op:
                case block.MapOp():
                    self._map(op, loops)
                case block.FirstOp():
                    self.lists[op.result] = self._list(op.list)
                case block.LoadOp():
                    self._load(op, loops)
                case block.StoreOp():
                    known = self.lists[op.result] = _List(op, frozenset(loops))
                    self._stored.add(op)
                    self._move(op.result, known, loops, stores=True)
                    self.plan.operations.append(loops)
                case block.ReduceOp():
                    self._reduce(op, loops)
                case block.DotOp():
                    self._dot(op, loops)
                case block.YieldOp():
                    pass
                case _:
                    self._vector(op, loops)

    def _list(self, value: SSAValue) -> _List:
        return self.lists.get(value) or _List(value)

    def _needs(self, op: Operation) -> frozenset[Loop]:
        found: frozenset[Loop] = frozenset()
        for operand in op.operands:
            found |= self.depends.get(operand, frozenset())
        return found

    def _map(self, op: block.MapOp, loops: tuple[Loop, ...]) -> None:
        kinds = op.result_kinds
        stacks = all(kind is Kind.Stack for kind in kinds)
        until = None if stacks else _visible(op, loops)  # elsewhere it hides results, but saves no work
        loop = Loop(op.dim_name, stacks, op in self._parallel, until)
        if loop.parallel:
            self.plan.grid += (loop,)
        for value, argument in zip(op.inputs, op.body.block.args, strict=True):
            known = self._list(value)
            self.lists[argument] = _List(known.array, known.indexed | {loop})
        inside = (*loops, loop)
        self._visit(op.body.block.ops, inside)
        pivots = op.result_pivots
        for kind, result, value, pivot in zip(kinds, op.results, op.yield_op.arguments, pivots, strict=True):
            if not block.is_local(value.type):
                known = self._list(value)
                self.lists[result] = _List(known.array, known.indexed - {loop})
                continue
            self.depends[result] = self.depends.get(value, frozenset()) - {loop}
            assert isinstance(value.type, block.ItemType)
            self._tile(value, loops)
            direct = kind is Kind.Sum and isinstance(value.owner, block.DotOp)
            if kind.reduces and not direct:  # a contraction adds to the total as it goes
                self.plan.vectors.append(VectorWork(inside, value.type.dims, 1 + (pivot is not None), {}))

    def _load(self, op: block.LoadOp, loops: tuple[Loop, ...]) -> None:
        known = self._list(op.source)
        self.depends[op.result] = known.indexed
        if _is_read_in_place(op):
            return  # by the contractions, where they stand
        private = known.array in self._stored
        where = loops if private else _hoisted(loops, known.indexed)
        self._move(op.source, known, where, copied=True)
        self._tile(op.result, where)

    def _move(
        self,
        value: SSAValue,
        known: _List,
        loops: tuple[Loop, ...],
        *,
        stores: bool = False,
        copied: bool = False,
    ) -> None:
        item = value.type
        assert isinstance(item, block.ItemType)
        size = item_bytes(item.element_type)
        self.plan.moves.append(Move(loops, known.array, item.dims, known.indexed, size, stores, copied))

    def _reduce(self, op: block.ReduceOp, loops: tuple[Loop, ...]) -> None:
        known, loop = self._list(op.list), Loop(op.dim_name, stacks=False)
        item = op.result.type
        assert isinstance(item, block.ItemType)
        inside = (*loops, loop)
        self._move(op.result, _List(known.array, known.indexed | {loop}), inside, copied=True)
        self.plan.vectors.append(VectorWork(inside, item.dims, 1, {}))
        self.plan.operations.append(inside)
        self.depends[op.result] = known.indexed
        self._tile(op.result, loops)

    def _dot(self, op: block.DotOp, loops: tuple[Loop, ...]) -> None:
        assert isinstance(op.lhs.type, block.BlockType)
        assert isinstance(op.rhs.type, block.BlockType)
        needed = self.depends[op.result] = self._needs(op)
        rows, depth = op.lhs.type.dims
        kinds = sorted((str(op.lhs.type.element_type), str(op.rhs.type.element_type)), key=_width)
        self.plan.contractions.append(
            Contraction(loops, rows, op.rhs.type.rows.data, depth, kinds[-1], needed)
        )
        self.plan.operations.append(loops)
        for operand in dict.fromkeys((op.lhs, op.rhs)):
            if not isinstance(operand.owner, block.LoadOp):
                self._tile(operand, loops)
            elif _is_read_in_place(operand.owner):
                self._move(operand.owner.source, self._list(operand.owner.source), loops)
        if not any(isinstance(use.operation, block.YieldOp) for use in op.result.uses):
            self._tile(op.result, loops)

    def _vector(self, op: Operation, loops: tuple[Loop, ...]) -> None:
        needed = self._needs(op)
        simple, functions = 1, dict[str, int]()
        if isinstance(op, block.ElementwiseOp):
            counted = Counter(_FUNCTIONS.get(inner.name) for inner in op.body.block.ops)
            functions = {name: count for name, count in counted.items() if name is not None}
            simple = max(0, scalar_flops(op) - sum(functions.values()))
            indices = {inner.dim_name for inner in op.body.walk() if isinstance(inner, block.IndexOp)}
            needed |= {loop for loop in loops if loop.dim in indices}
        elif isinstance(op, block.LinearOp | block.MonomialOp):
            simple = algebra_flops(op)
            if isinstance(op, block.MonomialOp) and any(exponent < 0 for _, exponent in op.pairs):
                functions = {"div": 1}
        values = (*op.operands, *op.results)
        items = [value.type for value in values if isinstance(value.type, block.ItemType)]
        if not items:
            return
        dims = max((item.dims for item in items), key=len)
        loops = _hoisted(loops, needed)
        for result in op.results:
            self.depends[result] = needed
        self.plan.vectors.append(VectorWork(loops, dims, simple, functions))
        self.plan.operations.append(loops)

    def _tile(self, value: SSAValue, loops: tuple[Loop, ...]) -> None:
        item = value.type
        if isinstance(item, block.BlockType) and value not in self._tiled:
            self._tiled.add(value)
            self.plan.tiles.append(Tile(loops, item.dims, max(4, item_bytes(item.element_type))))


def _grid(ops: Sequence[Operation]) -> list[Operation]:
    """Return the parallel maps as `block-to-kernel` finds them: maps that stack, with little work between
    them.
    """
    grid: list[Operation] = []
    inner = list(ops)
    while inner and isinstance(last := inner[-1], block.MapOp):
        costly = (block.MapOp, block.DotOp, block.ReduceOp, block.StoreOp)
        stacks = all(kind is Kind.Stack for kind in last.result_kinds)
        if not stacks or any(isinstance(op, costly) for op in inner[:-1]):
            break
        grid.append(last)
        inner = [op for op in last.body.block.ops if not isinstance(op, block.YieldOp)]
    return grid


def _hoisted(loops: tuple[Loop, ...], needed: frozenset[Loop]) -> tuple[Loop, ...]:
    """The loops down to the innermost one that something depends on."""
    while loops and loops[-1] not in needed and not loops[-1].parallel:
        loops = loops[:-1]
    return loops


def _is_read_in_place(op: block.LoadOp) -> bool:
    """True if contractions alone read a loaded block, as their right operand."""
    uses = list(op.result.uses)
    return bool(uses) and all(isinstance(use.operation, block.DotOp) and use.index == 1 for use in uses)


def _width(element_type: str) -> int:
    return int("".join(char for char in element_type if char.isdigit()) or 0)


def _visible(op: block.MapOp, loops: tuple[Loop, ...]) -> Until | None:
    """Return what a causal mask inside a map leaves of it for each of the rows of a loop around it."""
    around = {loop.dim for loop in loops}
    for inner in op.body.block.ops:
        if isinstance(inner, block.ElementwiseOp):
            until = masked_later(inner).get(op.dim_name)
            if until is not None and until.dim in around:
                return until
    return None
