"""Verification of loops whose iterations may be split into parts: what `merge` must name, and may do.

Parts run at the same time, so no iteration may read what another one writes. Each part has tiles of its own,
so `merge` must combine every tile that carries a value out of an iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from .effects import readers, tiles_read, tiles_written
from .moves import FillOp, MoveOp
from .storage import BufferOp, CursorOp, TileOp
from .sweeps import Quantity, QuantityOp, SweepOp, YieldOp
from .types import TileType


def verify_merge(loop: Operation, dim: str, carried: Sequence[SSAValue], body: Block, merge: Block) -> None:
    """Raise VerifyException unless parts of the loop over `dim` can run at the same time and be merged."""
    if [value.type for value in merge.args] != [value.type for value in carried]:
        raise VerifyException("kernel.for: `merge` has an argument of the type of each tile that it unites")
    if len(set(carried)) != len(carried):
        raise VerifyException("kernel.for: `merge` names a tile twice")
    for value in carried:
        if not isinstance(value.type, TileType):
            raise VerifyException(f"kernel.for: `merge` unites tiles, got {value.type}")
    _verify_merging(dim, carried, merge)
    for tile in _passed_on(body):
        if tile not in carried:
            raise VerifyException(
                f"kernel.for: iterations pass on a tile{_named(tile)} that `merge` does not name"
            )
    _verify_stores(loop, dim, body)


def _verify_merging(dim: str, carried: Sequence[SSAValue], merge: Block) -> None:
    known = {*carried, *merge.args}
    for op in merge.ops:
        if not isinstance(op, TileOp | FillOp | MoveOp | SweepOp):
            raise VerifyException(f"kernel.for: `merge` unites tiles by sweeps, got {op.name}")
        if isinstance(op, TileOp):
            known.add(op.result)
        if any(tile in merge.args for tile in tiles_written(op)):
            raise VerifyException("kernel.for: `merge` only reads what another part left")
        for tile in (*op.operands, *op.results):
            if tile not in known:
                raise VerifyException(f"kernel.for: `merge` uses a tile{_named(tile)} that it does not name")
            if isinstance(tile.type, TileType) and dim in tile.type.dims:
                raise VerifyException(f"kernel.for: `merge` has no current block of {dim}, got {tile.type}")
    for op in merge.walk():
        if isinstance(op, QuantityOp) and op.dim_name == dim and op.kind.data in _OF_CURRENT_BLOCK:
            raise VerifyException(f"kernel.for: `merge` has no current block of {dim}")


_OF_CURRENT_BLOCK = (Quantity.Index, Quantity.Width)


def _named(tile: SSAValue) -> str:
    return f" %{tile.name_hint}" if tile.name_hint else ""


def _passed_on(body: Block) -> list[SSAValue]:
    """The tiles that an iteration leaves to the next one, or to operations outside of the loop."""
    inside = {op for op in body.walk() if not isinstance(op, YieldOp)}
    written = {tile for op in inside for tile in tiles_written(op) if isinstance(tile.type, TileType)}
    found: dict[SSAValue, None] = {}
    done: set[SSAValue] = set()
    for op in body.walk():
        found |= dict.fromkeys(tile for tile in tiles_read(op) if tile in written and tile not in done)
        done.update(tiles_written(op))
    outside = [tile for tile in written if any(reader not in inside for reader in readers(tile))]
    return [*found, *(tile for tile in outside if tile not in found)]


def _verify_stores(loop: Operation, dim: str, body: Block) -> None:
    """Raise VerifyException where two iterations write one place that other operations can see."""
    inside = set(body.walk())
    for op in inside:
        for cursor in tiles_written(op):
            if not isinstance(cursor.owner, CursorOp):
                continue
            array = cursor.owner.array
            accesses = list(_accesses(array))
            if isinstance(array.owner, BufferOp) and all(user in inside for user, _ in accesses):
                continue  # as far as the loop goes, each part may have its own
            for user, access in accesses:
                if user in inside and not moves_with(access, dim):
                    raise VerifyException(
                        f"kernel.for: iterations that are shared out must write places of their own, but an "
                        f"array{_named(array)} is seen at the same place in all iterations over {dim}"
                    )


def _accesses(array: SSAValue) -> Iterator[tuple[Operation, CursorOp]]:
    """The operations that read or write an array, each with its cursor."""
    for use in array.uses:
        cursor = use.operation
        if isinstance(cursor, CursorOp):
            for access in cursor.result.uses:
                yield access.operation, cursor


def moves_with(cursor: CursorOp, dim: str) -> bool:
    """True if a cursor is at another place in every iteration over a dim."""
    pinned = (*cursor.first_dims, *cursor.here_dims)
    return any(dim in axis for axis in cursor.axis_dims) and dim not in pinned
