"""Removal of what no result of a kernel depends on, sums over loops included."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ..fuse_sweeps import keep_outputs


def drop_dead(parallel: kernel.ParallelOp, roots: Iterable[SSAValue] = ()) -> None:
    """Remove the operations of a parallel loop that neither stores nor the tiles `roots` depend on."""
    needed, alive = _needed(parallel, roots)
    for op in reversed(list(parallel.walk())):
        match op:
            case kernel.ForOp():
                _keep_carried(op, needed)
                if not op.body.block.ops:
                    _erase(op)
            case kernel.CursorOp() | kernel.TileOp() | kernel.BufferOp():
                if not op.result.uses:
                    _erase(op)
            case kernel.LoadOp() | kernel.MoveOp() | kernel.FillOp() | kernel.ContractOp() | kernel.SweepOp():
                if op not in alive:
                    _erase(op)
                elif isinstance(op, kernel.SweepOp):
                    kept = [index for index, tile in enumerate(op.outputs) if tile in needed]
                    if len(kept) < len(op.outputs):
                        keep_outputs(op, kept)
            case _:
                pass


def _needed(parallel: kernel.ParallelOp, roots: Iterable[SSAValue]) -> tuple[set[SSAValue], set[Operation]]:
    """The tiles that results depend on, and the operations that compute them."""
    merged: dict[SSAValue, SSAValue] = {}
    alive: set[Operation] = set()
    pending = list(roots)
    for op in parallel.walk():
        if isinstance(op, kernel.ForOp) and op.merge is not None:
            merged.update(zip(op.merge.block.args, op.carried, strict=True))
        elif isinstance(op, kernel.StoreOp | kernel.RedoOp):
            alive.add(op)
            pending += kernel.tiles_read(op)
    needed: set[SSAValue] = set()
    while pending:
        tile = pending.pop()
        if tile in needed:
            continue
        needed.add(tile)
        if tile in merged:
            pending.append(merged[tile])
        for writer in kernel.writers(tile):
            if writer not in alive:
                alive.add(writer)
                pending += kernel.tiles_read(writer)
    return needed, alive


def _keep_carried(loop: kernel.ForOp, needed: set[SSAValue]) -> None:
    """Merge the tiles of a loop that are needed, and no others."""
    if loop.merge is None:
        return
    kept: list[SSAValue] = []
    for tile, other in zip(loop.carried, list(loop.merge.block.args), strict=True):
        if tile in needed:
            kept.append(tile)
        else:
            loop.merge.block.erase_arg(other)
    loop.operands = kept


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
