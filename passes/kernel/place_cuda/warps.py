"""The placement of kernels on warps row by row: fragments in registers, operands in swizzled stages.

Sums of contractions, and all that is computed from them, stay in the registers of the warp that has the rows.
A left operand that was computed there is multiplied from there. Blocks of arrays go to shared memory for a
contraction by asynchronous copies. In a loop, the blocks of the next iterations are fetched during the
computation with the current ones.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects import block, kernel
from ....dialects.array.core import bit_width
from ....dialects.kernel import Lanes, Space
from ....dialects.kernel.placement import SWIZZLE_ALIGNMENT, WARP
from ....dialects.kernel.tile_layouts import (
    exchange_bytes,
    is_right_operand,
    length_of,
    padded,
    stage_bytes,
    swizzled_bytes,
)
from .general import set_space
from .lifetimes import Lifetime, arrange, lifetimes
from .reload import load_again
from .rows import RowPlan, contiguous_axis, row_plan
from .vectors import fetch_vectors

STAGES = 2
MOST_ROWS = 256
MOST_WARPS = 8
MOST_REGISTERS = 176
"""Columns of tiles that a warp of 32 rows holds at a time: each column takes a register of every thread."""
LARGEST_SHARED = 163 * 1024
"""Shared memory of a block on sm_80, at most; used if less would leave a kernel without tensor cores."""


class Staging(Enum):
    """Kinds of blocks that go through shared memory, and how far ahead, from much to little."""

    All = 0
    """Also blocks of operands' type that only fill registers; in loops, one iteration ahead."""
    Operands = 1
    """All operands of contractions."""
    InTime = 2
    """All operands of contractions, for the current iteration."""


def place_by_warps(
    function: kernel.FuncOp,
    parallel: kernel.ParallelOp,
    plan: RowPlan,
    shared_memory: int,
    staging: Staging = Staging.All,
) -> bool:
    """Place the tiles of one parallel loop; False if they do not fit, and the loop is then half placed."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    width = held_at_once(parallel, plan, dims)
    lengths = [padded(length_of(dims, name) or 0) for name in plan.rows]
    if width > 2 * MOST_REGISTERS and load_again(plan):
        renewed = row_plan(parallel, dims)
        assert renewed is not None
        plan, width = renewed, held_at_once(parallel, renewed, dims)
    if width > 2 * MOST_REGISTERS or max(lengths) > MOST_ROWS:
        return False
    warps = max(max(lengths) // (32 if width <= MOST_REGISTERS else 16), 1)
    if warps > MOST_WARPS:
        return False
    staged = StagedOperands(parallel, plan, dims, warps, staging)
    staged.insert()
    for tile in plan.held:
        if tile.uses:
            set_space(tile, Space.Register)
    fetch_vectors(parallel, (Space.Scratch, Space.Shared))
    if assign_offsets(parallel, dims, warps) > max(shared_memory, LARGEST_SHARED):
        return False
    parallel.threads = IntegerAttr(WARP * warps, i64)
    parallel.warps = IntegerAttr(warps, i64)
    return True


def held_at_once(parallel: kernel.ParallelOp, plan: RowPlan, dims: dict[str, block.DimAttr]) -> int:
    """The largest number of columns of tiles in registers that are alive at the same time."""
    lives = lifetimes(parallel.body.block)
    events: list[tuple[int, int, int]] = []
    for tile in plan.held:
        type = tile.type
        assert isinstance(type, kernel.TileType)
        if len(type.dims) == 2 and tile in lives and not _is_rare(tile):
            columns = padded(length_of(dims, type.dims[1]) or 0)
            low, high = lives[tile]
            # An element's registers are free as soon as the last one that reads it has done so.
            events += [(high, 0, -columns), (low, 1, columns)]
    most = now = 0
    for _, _, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def _is_rare(tile: SSAValue) -> bool:
    """True for a mask that only careful runs compute: they may spill registers."""
    return all(isinstance(op, kernel.SweepOp) and op.careful is not None for op in kernel.writers(tile))


class StagedOperands:
    """Choice of the blocks that go through shared memory: for contractions, and for tiles in registers."""

    def __init__(
        self,
        parallel: kernel.ParallelOp,
        plan: RowPlan,
        dims: dict[str, block.DimAttr],
        warps: int,
        staging: Staging = Staging.All,
    ):
        self.parallel, self.plan, self.dims, self.warps = parallel, plan, dims, warps
        self.staging = staging
        self.cursors: dict[SSAValue, list[Operation]] = {}
        """The cursors whose blocks are staged, and the operations that read them."""
        for op in parallel.walk():
            if isinstance(op, kernel.ContractOp):
                for value in (op.lhs, op.rhs):
                    if isinstance(value.type, kernel.CursorType):
                        self.cursors.setdefault(value, []).append(op)
            elif isinstance(op, kernel.LoadOp) and (
                (op.target in plan.held and self._is_staged(op))
                or op.target in plan.swept
                or is_right_operand(op.target)
            ):
                self.cursors.setdefault(op.source, []).append(op)

    def _is_staged(self, op: kernel.LoadOp) -> bool:
        """True if a tile in registers is filled through shared memory: a block of an input with operands'
        type, if there is room for blocks beside operands.
        """
        item = op.source.type
        assert isinstance(item, kernel.CursorType)
        if self.staging is not Staging.All and not _is_only_multiplied(op):
            return False
        return (
            len(item.dims) == 2
            and item.element_type == self.plan.multiply
            and contiguous_axis(op.source) == 1
        )

    def stages(self, cursor: SSAValue) -> int:
        """Return the number of iterations whose blocks fit."""
        owner = cursor.owner
        assert isinstance(owner, kernel.CursorOp)
        loop = owner.parent_op()
        if self.staging is Staging.InTime or not isinstance(loop, kernel.ForOp):
            return 1
        return 1 if _writes(loop, owner.array) else STAGES

    def insert(self) -> None:
        """Insert the loads, and let operations read the tiles instead of the arrays."""
        first = self.parallel.body.block.first_op
        assert first is not None
        for cursor, readers in self.cursors.items():
            owner, item = cursor.owner, cursor.type
            assert isinstance(owner, kernel.CursorOp)
            assert isinstance(item, kernel.CursorType)
            lanes = Lanes.Cols if contiguous_axis(cursor) == 1 else Lanes.Rows
            loads = [
                op for op in readers if isinstance(op, kernel.LoadOp) and op.target not in self.plan.held
            ]
            if loads:
                # A right operand that the kernel itself works on has its tile already.
                load = loads[0]
                load.detach()
                tile = load.target.owner
                assert isinstance(tile, kernel.TileOp)
                own = tile.result.type
                assert isinstance(own, kernel.TileType)
                if _is_alone_in_sweeps(tile.result):
                    own = kernel.TileType(own.dims, own.element_type, lanes)
                    Rewriter.replace_value_with_new_type(tile.result, own)
                set_space(tile.result, Space.Shared)
            else:
                tile = kernel.TileOp(kernel.TileType(item.dims, item.element_type, lanes, Space.Shared))
                tile.result.name_hint = cursor.name_hint
                self.parallel.body.block.insert_op_before(tile, first)
                load = kernel.LoadOp(tile.result, cursor)
            load.is_async = UnitAttr()
            load.location = owner.location
            tile.swizzled = UnitAttr()
            stages = self.stages(cursor)
            loop = owner.parent_op()
            if stages > 1 and isinstance(loop, kernel.ForOp):
                tile.stages = loop.stages = IntegerAttr(stages, i64)
            parent = owner.parent
            assert isinstance(parent, Block)
            parent.insert_op_after(load, owner)
            for op in readers:
                if op is not load:
                    self._redirect(op, cursor, tile.result)

    def _redirect(self, op: Operation, cursor: SSAValue, tile: SSAValue) -> None:
        """Let an operation read the tile in place of the array."""
        if isinstance(op, kernel.ContractOp):
            for index in (1, 2):
                if op.operands[index] is cursor:
                    op.operands[index] = tile
            return
        assert isinstance(op, kernel.LoadOp)
        held = op.target
        users = kernel.readers(held)
        parent = op.parent
        assert parent is not None
        if _is_only_multiplied(op) and op.parent is tile.uses.__iter__().__next__().operation.parent:
            for user in users:
                user.operands[1] = tile
        else:
            move = kernel.MoveOp(held, tile)
            move.location = op.location
            parent.insert_op_before(move, op)
        op.detach()
        op.erase()


def _is_only_multiplied(op: kernel.LoadOp) -> bool:
    """True if a loaded block is only a left operand of contractions."""
    held = op.target
    return kernel.writers(held) == [op] and all(
        isinstance(user, kernel.ContractOp) and user.lhs is held for user in kernel.readers(held)
    )


def _is_alone_in_sweeps(tile: SSAValue) -> bool:
    """True if sweeps over a block use no other block, so that either axis of it may lie along the lanes."""
    sweeps = [use.operation for use in tile.uses if isinstance(use.operation, kernel.SweepOp)]
    blocks = (value for op in sweeps for value in op.operands if value is not tile)
    return all(isinstance(value.type, kernel.TileType) and len(value.type.dims) < 2 for value in blocks)


def _writes(loop: kernel.ForOp, array: SSAValue) -> bool:
    """True if a loop writes to an array, so that its blocks cannot be fetched ahead."""
    return any(
        isinstance(op, kernel.StoreOp)
        and isinstance(op.target.owner, kernel.CursorOp)
        and op.target.owner.array is array
        for op in loop.walk()
    )


def assign_offsets(
    parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr], warps: int, columns: int = 1
) -> int:
    """Assign offsets in shared memory at which no two live tiles overlap; return the bytes of all together.

    Results of 16 bits go to global memory through a part of it that belongs to the store. Warps side by side
    exchange their partial reductions of a row through another part.
    """
    body = parallel.body.block
    number = {op: place for place, op in enumerate(body.walk())}
    lives: dict[Hashable, Lifetime] = {**lifetimes(body)}
    sizes: dict[Hashable, int] = {}
    for op in number:
        if isinstance(op, kernel.StoreOp) and _goes_through_shared(op):
            sizes[op], lives[op] = swizzled_bytes(op.source, dims, warps, 2), (number[op], number[op])
        if isinstance(op, kernel.SweepOp) and columns > 1 and op.reduces_fragments:
            sizes[op], lives[op] = exchange_bytes(op, dims, warps, columns), (number[op], number[op])
        if not isinstance(op, kernel.TileOp) or op.result not in lives:
            continue
        type = op.result.type
        assert isinstance(type, kernel.TileType)
        if type.space.data is Space.Register:
            continue
        lives[op] = lives[op.result]
        stages = 1 if op.stages is None else op.stages.value.data
        if op.stages is not None:
            loop = _loop_that_fetches(op.result)
            lives[op] = number[loop], max(number[inner] for inner in loop.walk())
        if op.swizzled is not None:
            width = bit_width(type.element_type) // 8
            sizes[op] = swizzled_bytes(op.result, dims, warps, width) * stages
        else:
            sizes[op] = stage_bytes(op.result, dims) * stages
            set_space(op.result, Space.Shared)
    offsets, total = arrange(sizes, lives, SWIZZLE_ALIGNMENT)
    for op, offset in offsets.items():
        assert isinstance(op, kernel.TileOp | kernel.StoreOp | kernel.SweepOp)
        op.offset = IntegerAttr(offset, i64)
    return total


def _loop_that_fetches(tile: SSAValue) -> kernel.ForOp:
    loop = next(use.operation for use in tile.uses if isinstance(use.operation, kernel.LoadOp)).parent_op()
    assert isinstance(loop, kernel.ForOp)
    return loop


def _goes_through_shared(op: kernel.StoreOp) -> bool:
    """True if a result has 16-bit elements: only through shared memory do its stores write whole sectors."""
    tile = op.source.type
    item = op.target.type
    assert isinstance(tile, kernel.TileType)
    assert isinstance(item, kernel.CursorType)
    return (
        tile.space.data is Space.Register
        and len(tile.dims) == 2
        and bit_width(item.element_type) == 16
        and contiguous_axis(op.target) == 1
    )
