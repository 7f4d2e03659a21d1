"""`kernel-fuse-sweeps`: merges sweeps over the same tiles into one pass, in place if nothing needs the old
values.
"""

from __future__ import annotations

from bisect import insort
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
        _write_in_place(body, in_arrays)
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
    last: list[SweepOp] = []
    for op in list(body.ops):
        if not isinstance(op, SweepOp):
            continue
        for earlier in reversed(last):
            if not _may_merge(earlier, op):
                continue
            rises = _may_rise(op, earlier, order)
            if rises or _may_sink(earlier, op, order):
                at = earlier if rises else op
                merged = _merge(earlier, op, at=at)
                order.replace(at, merged)
                last.remove(earlier)
                insort(last, merged, key=order.position)
                break
        else:
            last.append(op)


_CHEAP = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.ConstantOp)
_FEW = 8


def _is_one(dim: block.DimAttr) -> bool:
    return not dim.is_batch and (dim.static_extent == 1 or dim.block_size == 1)


def _fuse_vectors_in(body: Block, single: Collection[str]) -> None:
    """Make cheap sweeps over vectors a part of the one sweep of a single row that reads their results."""
    for op in list(body.ops):
        if not isinstance(op, SweepOp) or len(op.dims) != 1 or not _is_cheap(op):
            continue
        found = {reader for tile in op.outputs for reader in kernel.readers(tile)}
        if len(found) != 1 or any(kernel.writers(tile) != [op] for tile in op.outputs):
            continue
        (reader,) = found
        if not isinstance(reader, SweepOp) or reader.parent is not body or not op.is_before_in_block(reader):
            continue
        if op.careful is not None or reader.careful is not None:
            continue
        wider = len(reader.dims) == 2 and reader.dims[0] in single and reader.dims[1:] == op.dims
        if wider and not reader.rows_in_lanes and _may_sink(op, reader, Order(body)):
            _merge(op, reader, at=reader, inside=True)


def _is_cheap(op: SweepOp) -> bool:
    inner = [each for each in op.body.block.ops if each is not op.yield_op]
    return (
        all(kind is Output.Each for kind in op.output_kinds)
        and len(inner) <= _FEW
        and all(isinstance(each, _CHEAP) for each in inner)
    )


def _may_merge(first: SweepOp, second: SweepOp) -> bool:
    """True if two sweeps have one shape, and the second needs no complete result of the first."""
    if first.dims != second.dims or first.rows_in_lanes != second.rows_in_lanes:
        return False
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
        self._body = body
        self._positions: dict[Operation, int] = {op: index for index, op in enumerate(body.ops)}

    def position(self, op: Operation) -> int:
        """The position of an operation, or of the one in the body that contains it; -1 outside of it."""
        scope: Operation | None = op
        while scope is not None and scope.parent is not self._body:
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


def _may_rise(second: SweepOp, first: SweepOp, order: Order) -> bool:
    """True if the second sweep can be moved directly after the first."""
    reads, writes = set(second.inputs), set(second.outputs)
    for op in order.users_between(first, second, reads | writes):
        if any(value in reads | writes for value in (*op.results, *tiles_written(op))):
            return False
        if any(tile in writes for tile in tiles_read(op)):
            return False
    return True


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
    """Drop outputs of sweeps that nothing reads, repeatedly."""
    changed = True
    while changed:
        changed = False
        for op in list(function.walk()):
            if not isinstance(op, SweepOp):
                continue
            alive = [index for index, tile in enumerate(op.outputs) if kernel.readers(tile)]
            if len(alive) == len(op.outputs):
                continue
            changed = True
            if alive:
                _keep_outputs(op, alive)
            else:
                op.detach()
                op.erase()


def _keep_outputs(op: SweepOp, alive: list[int]) -> None:
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


def _write_in_place(body: Block, in_arrays: bool) -> None:
    """Let each sweep write its result over an input of the same type that is not read afterwards.

    With `in_arrays`, tiles that may be blocks of arrays (see `kernel-in-place`) are left alone.
    """
    for op in list(body.ops):
        if not isinstance(op, SweepOp) or op.careful is not None:
            continue
        for kind, output in zip(op.output_kinds, op.outputs, strict=True):
            if kind is not Output.Each or output in op.inputs or (in_arrays and _only_leaves(output)):
                continue
            for tile in op.inputs:
                if in_arrays and _only_arrives(tile):
                    continue
                if tile.type == output.type and _ends_at(tile, op) and _begins_at(output, op):
                    output.replace_all_uses_with(tile)
                    break


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


def _ends_at(tile: SSAValue, op: Operation) -> bool:
    """True if a tile is read here for the last time, was written before, and is used in this body only."""
    return isinstance(tile.owner, TileOp) and all(
        use.operation is op or _precedes(use.operation, op) for use in tile.uses
    )


def _begins_at(tile: SSAValue, op: Operation) -> bool:
    """True if a tile is written here for the first time, and all its uses are in this body."""
    return isinstance(tile.owner, TileOp) and all(
        use.operation is op or _precedes(op, use.operation) for use in tile.uses
    )


def _precedes(one: Operation, other: Operation) -> bool:
    return one.parent is other.parent and one.is_before_in_block(other)
