"""The placement of kernels that warps do row by row: fragments in registers, operands in swizzled stages.

Sums of contractions, and all that is computed from them, stay in the registers of the warp that has the rows. A
left operand that was computed there is multiplied from there. What comes from arrays for a contraction goes to
shared memory by asynchronous copies: in a loop, the blocks of the next iterations are fetched while one is
computed with.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects import block, kernel
from ...dialects.array.core import bit_width
from ...dialects.kernel import Lanes, Space
from .general import drop_merges, set_space, tile_bytes
from .lifetimes import lifetimes
from .options import (
    ASYNC_ATTRIBUTE,
    OFFSET_ATTRIBUTE,
    ROWS_ATTRIBUTE,
    STAGES_ATTRIBUTE,
    SWIZZLED_ATTRIBUTE,
    THREADS_ATTRIBUTE,
    padded,
)
from .rows import RowPlan, contiguous_axis, length_of

ALIGNMENT = 128
STAGES = 2
MOST_REGISTERS = 176
"""Columns of tiles that a warp of 32 rows holds at a time: each is a register of every thread."""
LARGEST_SHARED = 160 * 1024
"""What a block of sm_80 may have; used where less would leave a kernel without tensor cores."""


def place_by_warps(
    function: kernel.FuncOp, parallel: kernel.ParallelOp, plan: RowPlan, shared_memory: int
) -> bool:
    """Place the tiles of one parallel loop; False, and nothing is changed, where they do not fit."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    width = _held_at_once(parallel, plan, dims)
    length = length_of(dims, plan.rows)
    assert length is not None
    if width > 2 * MOST_REGISTERS or length > 256:
        return False
    rows = 32 if width <= MOST_REGISTERS and padded(length) >= 32 else 16
    warps = padded(length) // rows
    while warps > 8 and rows == 16:
        return False
    staged = _StagedOperands(parallel, plan, dims)
    if staged.bytes + _other_bytes(parallel, plan, dims) > max(shared_memory, LARGEST_SHARED):
        return False
    drop_merges(parallel)
    staged.insert()
    for tile in plan.held:
        if tile.uses:
            set_space(tile, Space.Register)
    _assign_offsets(parallel, dims)
    parallel.attributes[THREADS_ATTRIBUTE] = IntegerAttr(32 * warps, i64)
    parallel.attributes[ROWS_ATTRIBUTE] = IntegerAttr(rows, i64)
    return True


def _held_at_once(parallel: kernel.ParallelOp, plan: RowPlan, dims: dict[str, block.DimAttr]) -> int:
    """The most columns of tiles in registers that are alive at the same time."""
    lives = lifetimes(parallel.body.block)
    events: list[tuple[int, int, int]] = []
    for tile in plan.held:
        type = tile.type
        assert isinstance(type, kernel.TileType)
        if len(type.dims) == 2 and tile in lives:
            columns = padded(length_of(dims, type.dims[1]) or 0)
            low, high = lives[tile]
            # An element's registers are free as soon as the last one that reads it has done so.
            events += [(high, 0, -columns), (low, 1, columns)]
    most = now = 0
    for _, _, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def _other_bytes(parallel: kernel.ParallelOp, plan: RowPlan, dims: dict[str, block.DimAttr]) -> int:
    return sum(
        tile_bytes(op.result, dims) or 0
        for op in parallel.walk()
        if isinstance(op, kernel.TileOp) and op.result not in plan.held
    )


class _StagedOperands:
    """What is brought to shared memory: for contractions, and for tiles in registers."""

    def __init__(self, parallel: kernel.ParallelOp, plan: RowPlan, dims: dict[str, block.DimAttr]):
        self.parallel, self.plan, self.dims = parallel, plan, dims
        self.cursors: dict[SSAValue, list[Operation]] = {}
        """The cursors whose blocks are staged, and the operations that read them."""
        for op in parallel.walk():
            if isinstance(op, kernel.ContractOp):
                for value in (op.lhs, op.rhs):
                    if isinstance(value.type, kernel.CursorType):
                        self.cursors.setdefault(value, []).append(op)
            elif (isinstance(op, kernel.LoadOp) and op.target in plan.held and self._is_staged(op)) or (
                isinstance(op, kernel.LoadOp) and self._is_right(op.target)
            ):
                self.cursors.setdefault(op.source, []).append(op)

    def _is_staged(self, op: kernel.LoadOp) -> bool:
        """Whether a tile in registers is filled from shared memory: 16-bit blocks of an input."""
        item = op.source.type
        assert isinstance(item, kernel.CursorType)
        return len(item.dims) == 2 and item.element_type == self.plan.multiply

    def _is_right(self, tile: SSAValue) -> bool:
        """Whether a tile is the right operand of a contraction."""
        return any(
            isinstance(use.operation, kernel.ContractOp) and use.operation.rhs is tile for use in tile.uses
        )

    @property
    def bytes(self) -> int:
        return sum(self._bytes(cursor) for cursor in self.cursors)

    def _bytes(self, cursor: SSAValue) -> int:
        assert isinstance(cursor.type, kernel.CursorType)
        sizes = [padded(length_of(self.dims, name) or 0) for name in cursor.type.dims]
        return sizes[0] * sizes[1] * bit_width(cursor.type.element_type) // 8 * self._stages(cursor)

    def _stages(self, cursor: SSAValue) -> int:
        owner = cursor.owner
        assert isinstance(owner, kernel.CursorOp)
        return STAGES if isinstance(owner.parent_op(), kernel.ForOp) else 1

    def insert(self) -> None:
        """Write the loads, and let what read arrays read what they bring."""
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
                set_space(load.target, Space.Shared)
            else:
                tile = kernel.TileOp(kernel.TileType(item.dims, item.element_type, lanes, Space.Shared))
                tile.result.name_hint = cursor.name_hint
                self.parallel.body.block.insert_op_before(tile, first)
                load = kernel.LoadOp(tile.result, cursor)
            load.attributes[ASYNC_ATTRIBUTE] = UnitAttr()
            load.location = owner.location
            tile.attributes[SWIZZLED_ATTRIBUTE] = UnitAttr()
            stages = self._stages(cursor)
            loop = owner.parent_op()
            if isinstance(loop, kernel.ForOp):
                tile.attributes[STAGES_ATTRIBUTE] = IntegerAttr(stages, i64)
                loop.attributes[STAGES_ATTRIBUTE] = IntegerAttr(stages, i64)
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
        only_multiplied = kernel.writers(held) == [op] and all(
            isinstance(user, kernel.ContractOp) and user.lhs is held for user in users
        )
        parent = op.parent
        assert parent is not None
        if only_multiplied and op.parent is tile.uses.__iter__().__next__().operation.parent:
            for user in users:
                user.operands[1] = tile
        else:
            move = kernel.MoveOp(held, tile)
            move.location = op.location
            parent.insert_op_before(move, op)
        op.detach()
        op.erase()


def swizzled_bytes(tile: SSAValue, dims: dict[str, block.DimAttr]) -> int:
    """The bytes of one stage of a swizzled tile."""
    type = tile.type
    assert isinstance(type, kernel.TileType)
    sizes = [padded(length_of(dims, name) or 0) for name in type.dims]
    return sizes[0] * sizes[1] * bit_width(type.element_type) // 8


def _assign_offsets(parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr]) -> None:
    """Places in shared memory: every tile has its own; results go to global memory through what is dead then."""
    total = 0
    for op in parallel.walk():
        if not isinstance(op, kernel.TileOp) or not op.result.uses:
            continue
        type = op.result.type
        assert isinstance(type, kernel.TileType)
        if type.space.data is Space.Register:
            continue
        if SWIZZLED_ATTRIBUTE in op.attributes:
            stages = op.attributes.get(STAGES_ATTRIBUTE)
            count = stages.value.data if isinstance(stages, IntegerAttr) else 1
            size = swizzled_bytes(op.result, dims) * count
        else:
            if type.space.data is Space.Scratch:
                Rewriter.replace_value_with_new_type(
                    op.result,
                    kernel.TileType(type.dims, type.element_type, type.lanes.data, Space.Shared),
                )
            size = tile_bytes(op.result, dims) or 0
        op.attributes[OFFSET_ATTRIBUTE] = IntegerAttr(total, i64)
        total += -(-size // ALIGNMENT) * ALIGNMENT
    for op in parallel.walk():
        if not isinstance(op, kernel.StoreOp) or not _goes_through_shared(op):
            continue
        last = op.parent is parallel.body.block and not any(
            isinstance(later, kernel.ForOp | kernel.SweepOp | kernel.ContractOp | kernel.LoadOp)
            for later in _after(op)
        )
        op.attributes[OFFSET_ATTRIBUTE] = IntegerAttr(0 if last else total, i64)
        if not last:
            size = swizzled_bytes(op.source, dims)
            total += -(-size // ALIGNMENT) * ALIGNMENT


def _after(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    following = op.next_op
    while following is not None:
        found.append(following)
        following = following.next_op
    return found


def _goes_through_shared(op: kernel.StoreOp) -> bool:
    """Whether a result has 16-bit elements, whose stores are whole sectors only by way of shared memory."""
    tile = op.source.type
    item = op.target.type
    assert isinstance(tile, kernel.TileType)
    assert isinstance(item, kernel.CursorType)
    return tile.space.data is Space.Register and len(tile.dims) == 2 and bit_width(item.element_type) == 16
