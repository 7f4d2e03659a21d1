"""Removal of tiles that take a few operations on other tiles: their readers compute them for themselves.

A converted copy of a block would need memory of its own, and a barrier between writing and reading it. A
product x·gamma in f32, of whose rows a kernel takes the largest element before it rounds them, could not even
lie where left operands do.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ....dialects import kernel
from ....dialects.array.core import bit_width
from ....dialects.kernel import Output, SweepOp
from ..fuse_sweeps import keep_outputs, write_in_place

_CHEAP = (
    *(arith.ExtFOp, arith.MulfOp, arith.AddfOp, arith.SubfOp, arith.NegfOp),
    *(arith.ConstantOp, arith.CmpfOp, arith.SelectOp, math.AbsFOp),
)
_FEW = 5
"""Operations that readers repeat at most, without constants.

A product of two converted numbers takes three; five scale a converted number if it is large.
"""


@dataclass(frozen=True)
class _Recipe:
    """Operations that compute an element of a tile from those of others."""

    ops: tuple[Operation, ...]
    """In order; the last one gives the element."""
    sources: dict[BlockArgument, SSAValue]
    """The tiles that the operations read, by the arguments that stand for them."""


def recompute_in_readers(parallel: kernel.ParallelOp) -> None:
    """Let sweeps read what cheap tiles in f32 are computed from, in place of these tiles."""
    for tile in [op.result for op in parallel.walk() if isinstance(op, kernel.TileOp)]:
        _separate_contents(tile)
    pending = [op for op in parallel.walk() if isinstance(op, SweepOp)]
    changed: set[Block] = set()
    while pending:
        op = pending.pop(0)
        found = _recomputed(op)
        for tile, recipe in found.items():
            for reader in kernel.readers(tile):
                assert isinstance(reader, SweepOp)
                renewed = _compute_first(reader, tile, recipe)
                pending[pending.index(reader)] = renewed
                if renewed.parent is not None and len(kernel.dims_of(tile)) == 2:
                    changed.add(renewed.parent)
        if found:
            _drop(op, found)
    for body in changed:
        write_in_place(body)


def _separate_contents(tile: SSAValue) -> None:
    """Give a tile for itself to each of the blocks in f32 that sweeps of one body write over each other."""
    writers = kernel.writers(tile)
    users = {use.operation for use in tile.uses}
    bodies = {op.parent for op in users}
    if len(writers) < 2 or len(bodies) != 1 or (body := bodies.pop()) is None:
        return
    type = kernel.tile_type(tile)
    if len(type.dims) != 2 or not isinstance(type.element_type, Float32Type):
        return
    ordered = [op for op in body.ops if op in users]
    if not all(isinstance(op, SweepOp) for op in ordered) or tile in kernel.tiles_read(ordered[0]):
        return
    current = tile
    for number, op in enumerate(ordered):
        assert isinstance(op, SweepOp)
        read = len(op.inputs)
        for index in [index for index in range(read) if op.operands[index] is tile]:
            op.operands[index] = current
        written = [index for index in range(read, len(op.operands)) if op.operands[index] is tile]
        if not written or not number:
            continue
        made = kernel.TileOp(type)
        made.result.name_hint = tile.name_hint
        assert isinstance(tile.owner, kernel.TileOp)
        assert tile.owner.parent is not None
        tile.owner.parent.insert_op_after(made, tile.owner)
        current = made.result
        for index in written:
            op.operands[index] = current


def _recomputed(op: SweepOp) -> dict[SSAValue, _Recipe]:
    """The outputs of a sweep that their readers can compute, and how."""
    found: dict[SSAValue, _Recipe] = {}
    for kind, tile, value in zip(op.output_kinds, op.outputs, op.yield_op.arguments, strict=True):
        recipe = _recipe(op, tile, value) if kind is Output.Each else None
        if recipe is not None and all(
            isinstance(reader, SweepOp) and kernel.follows(reader, op) for reader in kernel.readers(tile)
        ):
            found[tile] = recipe
    return found


def _recipe(op: SweepOp, tile: SSAValue, value: SSAValue) -> _Recipe | None:
    """The operations that give the elements of a tile; None if they are too many, or if their operands may
    have changed when the tile is read.
    """
    type = kernel.tile_type(tile)
    if not isinstance(type.element_type, Float32Type) or kernel.writers(tile) != [op]:
        return None
    needed = _leading_to(value)
    if needed is None:
        return None
    ops = tuple(inner for inner in op.body.block.ops if inner in needed)
    sources = {
        argument: source
        for argument, source in zip(op.body.block.args, op.inputs, strict=True)
        if any(argument in inner.operands for inner in ops)
    }
    if not all(_stays(source, op) and _has_layout_of(source, type) for source in sources.values()):
        return None
    blocks = [source for source in sources.values() if kernel.dims_of(source) == type.dims]
    is_wider = any(bit_width(kernel.element_type_of(block)) < 32 for block in blocks)
    is_cast = len(ops) == 1 and isinstance(ops[0], arith.ExtFOp)
    return _Recipe(ops, sources) if is_wider and (is_cast or len(type.dims) == 2) else None


def _leading_to(value: SSAValue) -> set[Operation] | None:
    """The operations of a sweep that compute a value; None if they are many, or not cheap."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block):
            continue
        found.add(owner)
        counted = [op for op in found if not isinstance(op, arith.ConstantOp)]
        if not isinstance(owner, _CHEAP) or len(counted) > _FEW:
            return None
        pending.extend(owner.operands)
    return found


def _stays(source: SSAValue, op: SweepOp) -> bool:
    """True if a tile stays as it is after a sweep, until the same iteration of the loop around has ended."""
    return all(kernel.follows(op, writer) for writer in kernel.writers(source))


def _has_layout_of(source: SSAValue, type: kernel.TileType) -> bool:
    own = kernel.tile_type(source)
    return own.lanes == type.lanes if own.dims == type.dims else len(own.dims) < 2


def _compute_first(op: SweepOp, tile: SSAValue, recipe: _Recipe) -> SweepOp:
    """Put a sweep that computes the elements of a tile itself in place of one that reads them; return it."""
    place = list(op.inputs).index(tile)
    before, after = op.inputs[:place], op.inputs[place:]
    found = (*before, *recipe.sources.values(), *(each for each in after if each is not tile))
    inputs = list(dict.fromkeys(found))
    body = kernel.scalar_block(inputs)
    arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
    for argument, value in zip(body.args, inputs, strict=True):
        argument.name_hint = value.name_hint
    known: dict[SSAValue, SSAValue] = {
        argument: arguments[source] for argument, source in recipe.sources.items()
    }
    for inner in recipe.ops:
        body.add_op(inner.clone(known))
    element = known[recipe.ops[-1].results[0]]
    for argument, value in zip(op.body.block.args, op.inputs, strict=True):
        known[argument] = element if value is tile else arguments[value]
    for inner in op.body.block.ops:
        body.add_op(inner.clone(known))
    renewed = SweepOp(
        op.dims, inputs, list(zip(op.output_kinds, op.outputs, strict=True)), kernel.region_of(body)
    )
    renewed.attributes.update(op.attributes)
    renewed.location = op.location
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(renewed, op)
    op.detach()
    op.erase(safe_erase=False)
    return renewed


def _drop(op: SweepOp, dropped: Collection[SSAValue]) -> None:
    """Remove outputs of a sweep, and their tiles."""
    alive = [index for index, tile in enumerate(op.outputs) if tile not in dropped]
    if alive:
        keep_outputs(op, alive)
    else:
        op.detach()
        op.erase()
    for tile in dropped:
        assert isinstance(tile.owner, kernel.TileOp)
        tile.owner.detach()
        tile.owner.erase()
