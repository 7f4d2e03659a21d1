"""Removal of tiles that only convert another tile to f32: their readers convert for themselves.

A converted copy of a block would need memory of its own, and a barrier between writing and reading it.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects import kernel
from ....dialects.kernel import Output


def forward_casts(parallel: kernel.ParallelOp) -> None:
    """Let sweeps read the source of a conversion instead of its copy, in place."""
    for op in list(parallel.walk()):
        if isinstance(op, kernel.SweepOp):
            _forward(op)


def _forward(op: kernel.SweepOp) -> None:
    kept: list[tuple[Output, SSAValue]] = []
    values: list[SSAValue] = []
    dropped: list[SSAValue] = []
    for kind, tile, value in zip(op.output_kinds, op.outputs, op.yield_op.arguments, strict=True):
        source = _converted(op, tile, value) if kind is Output.Each else None
        readers = kernel.readers(tile)
        if source is not None and all(
            isinstance(reader, kernel.SweepOp) and _comes_after(reader, op) for reader in readers
        ):
            for reader in readers:
                assert isinstance(reader, kernel.SweepOp)
                _read_instead(reader, tile, source)
            dropped.append(tile)
        else:
            kept.append((kind, tile))
            values.append(value)
    if not dropped:
        return
    parent, last = op.parent, op.yield_op
    assert parent is not None
    if kept:
        body = op.detach_region(op.body)
        body.block.insert_op_before(kernel.YieldOp(*values), last)
        last.detach()
        last.erase()
        rest = kernel.SweepOp(op.dims, list(op.inputs), kept, body)
        rest.location = op.location
        parent.insert_op_before(rest, op)
    op.detach()
    op.erase()
    for tile in dropped:
        made = tile.owner
        assert isinstance(made, kernel.TileOp)
        made.detach()
        made.erase()


def _converted(op: kernel.SweepOp, tile: SSAValue, value: SSAValue) -> SSAValue | None:
    """The input whose elements a tile holds as f32; None if it holds something else, or if the input may have
    changed when the tile is read.
    """
    cast = value.owner
    if not isinstance(cast, arith.ExtFOp) or not isinstance(cast.result.type, Float32Type):
        return None
    for argument, source in zip(op.body.block.args, op.inputs, strict=True):
        if cast.input is argument and source.type != tile.type:
            assert isinstance(source.type, kernel.TileType)
            assert isinstance(tile.type, kernel.TileType)
            same = source.type.dims == tile.type.dims and source.type.lanes == tile.type.lanes
            stays = all(
                writer.parent is op.parent and writer.is_before_in_block(op)
                for writer in kernel.writers(source)
            )
            return source if same and stays and kernel.writers(tile) == [op] else None
    return None


def _comes_after(op: Operation, earlier: Operation) -> bool:
    """True if an operation comes after another one: in the same block, or in loops of that block."""
    scope: Operation | None = op
    while scope is not None and scope.parent is not earlier.parent:
        scope = scope.parent_op()
    return scope is not None and earlier.is_before_in_block(scope)


def _read_instead(op: kernel.SweepOp, tile: SSAValue, source: SSAValue) -> None:
    body = op.body.block
    assert isinstance(source.type, kernel.TileType)
    for number, value in enumerate(op.inputs):
        if value is not tile:
            continue
        argument = body.args[number]
        op.operands[number] = source
        argument = Rewriter.replace_value_with_new_type(argument, source.type.element_type)
        cast = arith.ExtFOp(argument, Float32Type())
        first = body.first_op
        assert first is not None
        body.insert_op_before(cast, first)
        argument.replace_all_uses_with(cast.result)
        cast.operands[0] = argument
