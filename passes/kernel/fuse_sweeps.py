"""`kernel-fuse-sweeps`: merges sweeps over the same tiles into one pass, in place if nothing needs the old
values.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects import block, kernel
from ...dialects.kernel import (
    CursorOp,
    LoadOp,
    Output,
    StoreOp,
    SweepOp,
    TileOp,
    is_input,
    is_output,
    tiles_read,
    tiles_written,
)


@dataclass(frozen=True)
class KernelFuseSweepsPass(ModulePass):
    """Merge sweeps of the same dims, drop what is never read, and let a sweep write over what it reads last.

    Each element of a tile is then loaded and stored once for a chain of operators, and a chain of tiles
    becomes one, which stays in the nearest cache. A few operations on a vector are not worth a sweep of their
    own where the one that reads it has a single row: they become a part of that.
    """

    name = "kernel-fuse-sweeps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in kernel.kernels_of(op):
            fuse_sweeps(function)


def fuse_sweeps(function: kernel.FuncOp) -> None:
    """Fuse the sweeps of one kernel, in each of its bodies."""
    for body in _bodies(function):
        _fuse_in(body)
    single = {name for name, dim in block.parse_dims(function.attributes[block.DIMS]).items() if _is_one(dim)}
    for body in _bodies(function):
        _fuse_vectors_in(body, single)
    _drop_dead_outputs(function)
    in_arrays = kernel.sweeps_only(function)
    for body in _bodies(function):
        write_in_place(body, in_arrays)
    for op in list(function.walk()):
        if isinstance(op, TileOp) and not op.result.uses:
            op.detach()
            op.erase()


def _bodies(function: kernel.FuncOp) -> Iterator[Block]:
    yield function.body.block
    for op in function.walk():
        if isinstance(op, kernel.ParallelOp | kernel.ForOp):
            for region in op.regions:
                yield region.block


def _fuse_in(body: Block) -> None:
    order = Order(body)
    groups: dict[object, _Candidates] = {}
    for op in list(body.ops):
        if not isinstance(op, SweepOp):
            continue
        candidates = groups.setdefault((op.dims, op.rows_in_lanes), _Candidates(order))
        for earlier, rises in candidates.for_(op):
            if _may_merge(earlier, op):
                at = earlier if rises else op
                merged = _merge(earlier, op, at=at)
                candidates.remove(earlier)
                order.replace(at, merged)
                candidates.add(merged)
                break
        else:
            candidates.add(op)


class _Candidates:
    """The sweeps of one shape before the current operation, in order, with which it may be merged.

    A search takes constant time in a chain of layers: a sweep is forgotten as a candidate that sinks once an
    operation between it and the current one needs its results.
    """

    def __init__(self, order: Order):
        self._order = order
        self._all: list[SweepOp] = []
        self._sinking: list[SweepOp] = []

    def for_(self, op: SweepOp) -> Iterator[tuple[SweepOp, bool]]:
        """Yield the sweeps after which `op` may stand (with True), last first, then those that may stand
        directly before it (with False).
        """
        position = self._order.position
        limit = _last_obstacle(op, self._order)
        for earlier in reversed(self._all):
            if position(earlier) < limit:
                break
            yield earlier, True
        for earlier in reversed(self._sinking.copy()):
            if position(earlier) >= limit:
                continue
            if _may_sink(earlier, op, self._order):
                yield earlier, False
            else:
                # Later operations find the same obstacle.
                self._sinking.remove(earlier)

    def add(self, op: SweepOp) -> None:
        """Add a sweep at its position."""
        for sweeps in (self._all, self._sinking):
            insort(sweeps, op, key=self._order.position)

    def remove(self, op: SweepOp) -> None:
        """Remove a sweep. It must still have its position."""
        for sweeps in (self._all, self._sinking):
            index = bisect_left(sweeps, self._order.position(op), key=self._order.position)
            if index < len(sweeps) and sweeps[index] is op:
                del sweeps[index]


_CHEAP = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.ConstantOp)
_FEW = 8


def _is_one(dim: block.DimAttr) -> bool:
    return not dim.is_batch and (dim.static_extent == 1 or dim.block_size == 1)


def _fuse_vectors_in(body: Block, single: Collection[str]) -> None:
    """Make cheap sweeps over vectors a part of the one sweep of a single row that reads their results."""
    order = Order(body)
    for op in list(body.ops):
        if not isinstance(op, SweepOp) or len(op.dims) != 1 or not _is_cheap(op):
            continue
        found = {reader for tile in op.outputs for reader in kernel.readers(tile)}
        if len(found) != 1 or any(kernel.writers(tile) != [op] for tile in op.outputs):
            continue
        (reader,) = found
        if not isinstance(reader, SweepOp) or reader.parent is not body:
            continue
        if order.position(op) > order.position(reader):
            continue
        if op.careful is not None or reader.careful is not None:
            continue
        wider = len(reader.dims) == 2 and reader.dims[0] in single and reader.dims[1:] == op.dims
        if wider and not reader.rows_in_lanes and _may_sink(op, reader, order):
            order.replace(reader, _merge(op, reader, at=reader, inside=True))


def _is_cheap(op: SweepOp) -> bool:
    inner = [each for each in op.body.block.ops if each is not op.yield_op]
    return (
        all(kind is Output.Each for kind in op.output_kinds)
        and len(inner) <= _FEW
        and all(isinstance(each, _CHEAP) for each in inner)
    )


def _may_merge(first: SweepOp, second: SweepOp) -> bool:
    """True if the second of two sweeps of one shape needs no complete result of the first."""
    if first.careful is not None or second.careful is not None:
        return False
    reduced = {
        tile for kind, tile in zip(first.output_kinds, first.outputs, strict=True) if kind is not Output.Each
    }
    narrow = {tile for tile in first.inputs if _is_narrow(tile, first)}
    written = {tile for tile in second.outputs if _is_narrow(tile, second)}
    return not reduced & {*second.inputs, *second.outputs} and not narrow & written


def _is_narrow(tile: SSAValue, sweep: SweepOp) -> bool:
    return isinstance(tile.type, kernel.TileType) and tile.type.dims != sweep.dims


class Order:
    """The positions of the operations of a body, of which some are replaced."""

    def __init__(self, body: Block):
        self.body = body
        self._positions: dict[Operation, int] = {op: index for index, op in enumerate(body.ops)}

    def position(self, op: Operation) -> int:
        """The position of an operation, or of the one in the body that contains it; -1 outside of it."""
        scope: Operation | None = op
        while scope is not None and scope.parent is not self.body:
            scope = scope.parent_op()
        return self._positions[scope] if scope is not None else -1

    def replace(self, old: Operation, new: Operation) -> None:
        """Record that a new operation stands where an old one stood."""
        self._positions[new] = self._positions.pop(old)

    def users_between(self, first: Operation, second: Operation, tiles: Set[SSAValue]) -> Iterator[Operation]:
        """The operations between two others that define or use some of the tiles, once for each use."""
        low, high = self.position(first), self.position(second)
        for tile in tiles:
            if isinstance(tile.owner, Operation) and low < self.position(tile.owner) < high:
                yield tile.owner
            for use in tile.uses:
                if low < self.position(use.operation) < high:
                    yield use.operation


def _last_obstacle(sweep: SweepOp, order: Order) -> int:
    """The position of the last operation before a sweep that it cannot be moved over; -1 if there is none."""
    reads, writes = set(sweep.inputs), set(sweep.outputs)
    last, end = -1, order.position(sweep)
    for tile in reads | writes:
        if isinstance(tile.owner, Operation):
            last = max(last, order.position(tile.owner))
        for use in tile.uses:
            op, position = use.operation, order.position(use.operation)
            if last < position < end and (
                any(written in reads | writes for written in tiles_written(op))
                or any(read in writes for read in tiles_read(op))
            ):
                last = position
    return last


def _may_sink(first: SweepOp, second: SweepOp, order: Order) -> bool:
    """True if the first sweep can be moved directly before the second."""
    reads, writes = set(first.inputs), set(first.outputs)
    for op in order.users_between(first, second, reads | writes):
        if any(tile in writes for tile in (*tiles_read(op), *tiles_written(op))):
            return False
        if any(tile in reads for tile in tiles_written(op)):
            return False
    return True


def _merge(first: SweepOp, second: SweepOp, at: Operation, *, inside: bool = False) -> SweepOp:
    """Replace one of two sweeps by a sweep that does the work of both. With `inside`, the results of the
    first one are only used in the second.
    """
    inputs = list(dict.fromkeys((*first.inputs, *second.inputs)))
    body = kernel.scalar_block(inputs)
    for argument, tile in zip(body.args, inputs, strict=True):
        argument.name_hint = tile.name_hint
    arguments = dict(zip(inputs, body.args, strict=True))
    made: dict[SSAValue, SSAValue] = {}
    outputs: dict[SSAValue, tuple[Output, SSAValue]] = {}
    for sweep in (first, second):
        known: dict[SSAValue, SSAValue] = {
            argument: made.get(tile, arguments[tile])
            for argument, tile in zip(sweep.body.block.args, sweep.inputs, strict=True)
        }
        for op in sweep.body.block.ops:
            if op is not sweep.yield_op:
                body.add_op(op.clone(known))
        for kind, tile, yielded in zip(
            sweep.output_kinds, sweep.outputs, sweep.yield_op.arguments, strict=True
        ):
            value = known.get(yielded, yielded)
            if sweep is second or not inside:
                outputs[tile] = kind, value
            if kind is Output.Each:
                made[tile] = value
    # What only the first sweep's output stood for is no input any more.
    body.add_op(kernel.YieldOp(*(value for _, value in outputs.values())))
    kept = [index for index, argument in enumerate(body.args) if argument.uses]
    for index in reversed(range(len(inputs))):
        if index not in kept:
            body.erase_arg(body.args[index])
    parent = at.parent
    assert parent is not None
    merged = SweepOp(
        second.dims,
        [inputs[index] for index in kept],
        [(kind, tile) for tile, (kind, _) in outputs.items()],
        kernel.region_of(body),
    )
    merged.location = second.location
    parent.insert_op_before(merged, at)
    for sweep in (first, second):
        sweep.detach()
        sweep.erase()
    return merged


def _drop_dead_outputs(function: kernel.FuncOp) -> None:
    """Drop outputs of sweeps that nothing reads, repeatedly. Readers come after what they read."""
    changed = True
    while changed:
        changed = False
        for op in reversed(list(function.walk())):
            if not isinstance(op, SweepOp):
                continue
            alive = [index for index, tile in enumerate(op.outputs) if kernel.readers(tile)]
            if len(alive) == len(op.outputs):
                continue
            changed = True
            if alive:
                keep_outputs(op, alive)
            else:
                op.detach()
                op.erase()


def keep_outputs(op: SweepOp, alive: list[int]) -> None:
    """Put a sweep in place of one that has only some of its outputs, by their numbers."""
    body = op.body.block
    yielded = list(op.yield_op.arguments)
    old_yield = op.yield_op
    body.add_op(kernel.YieldOp(*(yielded[index] for index in alive)))
    old_yield.detach()
    old_yield.erase()
    for inner in reversed(list(body.ops)):
        if inner.results and not any(result.uses for result in inner.results):
            inner.detach()
            inner.erase()
    kept = [index for index, argument in enumerate(body.args) if argument.uses]
    inputs = [op.inputs[index] for index in kept]
    for argument in [argument for argument in reversed(body.args) if not argument.uses]:
        body.erase_arg(argument)
    outputs = [(op.output_kinds[index], op.outputs[index]) for index in alive]
    parent = op.parent
    assert parent is not None
    new = SweepOp(op.dims, inputs, outputs, kernel.region_of(op.body.detach_block(0)))
    new.location = op.location
    parent.insert_op_before(new, op)
    op.detach()
    op.erase(safe_erase=False)


def write_in_place(body: Block, in_arrays: bool = False) -> None:
    """Let each sweep write its result over an input of the same type that is not read afterwards.

    With `in_arrays`, tiles that may be blocks of arrays (see `kernel-in-place`) are left alone.
    """
    order = Order(body)
    spans: dict[SSAValue, _Span | None] = {}

    def span(tile: SSAValue) -> _Span | None:
        if tile not in spans:
            spans[tile] = _span(tile, order)
        return spans[tile]

    for op in list(body.ops):
        if not isinstance(op, SweepOp) or op.careful is not None:
            continue
        here = order.position(op)
        for kind, output in zip(op.output_kinds, op.outputs, strict=True):
            if kind is not Output.Each or output in op.inputs or (in_arrays and _only_leaves(output)):
                continue
            own = span(output)
            if own is None or own.first < here:
                continue
            for tile in op.inputs:
                if in_arrays and _only_arrives(tile):
                    continue
                other = span(tile) if tile.type == output.type else None
                if other is not None and other.last <= here:
                    output.replace_all_uses_with(tile)
                    spans[tile] = _Span(other.first, own.last)
                    break


@dataclass(frozen=True)
class _Span:
    """The positions of the first and the last use of a tile that is used in one body only."""

    first: int
    last: int


def _span(tile: SSAValue, order: Order) -> _Span | None:
    """The span of a tile of the kernel's own; None if it is used in other bodies too."""
    if not isinstance(tile.owner, TileOp) or any(use.operation.parent is not order.body for use in tile.uses):
        return None
    positions = [order.position(use.operation) for use in tile.uses]
    return _Span(min(positions), max(positions))


def _only_leaves(tile: SSAValue) -> bool:
    """True if a tile of rows is stored to a result, and read by nothing else."""
    return _rows_of_lanes(tile, 2) and all(
        isinstance(op, StoreOp) and isinstance(op.target.owner, CursorOp) and is_output(op.target.owner.array)
        for op in kernel.readers(tile)
    )


def _only_arrives(tile: SSAValue) -> bool:
    """True if a tile of rows is loaded from an argument, and written by nothing else."""
    return _rows_of_lanes(tile, 1) and all(
        isinstance(op, LoadOp) and isinstance(op.source.owner, CursorOp) and is_input(op.source.owner.array)
        for op in kernel.writers(tile)
    )


def _rows_of_lanes(tile: SSAValue, axes: int) -> bool:
    type = tile.type
    return isinstance(type, kernel.TileType) and len(type.dims) >= axes and not type.rows_in_lanes
