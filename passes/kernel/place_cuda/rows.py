"""Plan for a kernel that warps compute row by row: each warp keeps some rows of all tiles in its registers.

The rows are those of one dim, over which the grid runs. They are the rows of the result and of the left
operand of each contraction, and sweeps go along them. A warp never needs what another one holds. So only what
all of them read, mainly right operands, lies in shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, FloatTF32Type, f32, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import block, kernel
from ....dialects.kernel import Output, Space
from ....dialects.kernel.tile_layouts import length_of, padded

HELD_TYPES = (BFloat16Type, Float16Type, Float32Type)
"""Types of elements that registers hold as f32."""
WIDEST = 512
"""Columns of the widest tile that is considered."""


@dataclass(frozen=True)
class RowPlan:
    """A plan for a kernel that warps compute row by row."""

    rows: frozenset[str]
    """The dims of rows of contractions; warps divide the rows of their blocks."""
    multiply: Attribute
    """The type of the operands of contractions in memory."""
    held: tuple[SSAValue, ...]
    """The tiles that lie in registers."""
    swept: tuple[SSAValue, ...] = ()
    """Blocks of left operands that sweeps go over where they lie, in shared memory."""


def row_plan(
    parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr], widest: int = WIDEST
) -> RowPlan | None:
    """Return a plan by which warps compute a kernel row by row, or None; with tiles of up to so many
    columns.
    """
    contractions = [op for op in parallel.walk() if isinstance(op, kernel.ContractOp)]
    rows = frozenset(kernel.dims_of(op.accumulator)[0] for op in contractions)
    types = {_operand_type(op) for op in contractions}
    multiply = next(iter(types), None)
    if not rows or len(types) != 1 or multiply is None:
        return None
    held: list[SSAValue] = []
    for op in parallel.walk():
        if isinstance(op, kernel.TileOp):
            type = op.result.type
            assert isinstance(type, kernel.TileType)
            lengths = [length_of(dims, name) for name in type.dims]
            if any(length is None or padded(length) > widest for length in lengths):
                return None
            if type.dims and type.dims[0] in rows and type.space.data is not Space.Shared:
                if not isinstance(type.element_type, HELD_TYPES) and type.element_type != i1:
                    return None
                held.append(op.result)
    plan = RowPlan(rows, multiply, tuple(held))
    return plan if all(_fits(op, plan) for op in parallel.walk()) else None


def _operand_type(op: kernel.ContractOp) -> Attribute | None:
    """The type of a contraction's operands in memory, if warps can compute it: f16 or bf16 for tensor cores,
    f32 for FMA units or, in tf32, for tensor cores.
    """
    if op.multiply is not None and not isinstance(op.multiply, FloatTF32Type):
        return op.multiply
    types = {kernel.element_type_of(value) for value in (op.accumulator, op.lhs, op.rhs)}
    return f32 if types == {f32} else None


def contiguous_axis(cursor: SSAValue) -> int | None:
    """The axis of a block of an array (0 or 1) along which elements are contiguous, if there is one.

    An array whose last axis has extent 1 has none: its rows may lie apart.
    """
    owner = cursor.owner
    assert isinstance(owner, kernel.CursorOp)
    dims = kernel.dims_of(cursor)
    last = owner.axis_dims[-1][-1:]
    return dims.index(last[0]) if last and last[0] in dims else None


def _fits(op: Operation, plan: RowPlan) -> bool:
    match op:
        case kernel.LoadOp() | kernel.StoreOp():
            tile, cursor = (op.target, op.source) if isinstance(op, kernel.LoadOp) else (op.source, op.target)
            return tile not in plan.held or len(kernel.dims_of(cursor)) == 1 or _is_float_array(cursor)
        case kernel.MoveOp():
            to_shared = kernel.tile_type(op.target).space.data is Space.Shared
            return (
                op.source in plan.held if to_shared else (op.target in plan.held) == (op.source in plan.held)
            )
        case kernel.ContractOp():
            return _fits_contraction(op, plan)
        case kernel.SweepOp():
            return _fits_sweep(op, plan)
        case _:
            return True


def _is_float_array(cursor: SSAValue) -> bool:
    """True if registers can be filled from an array and stored to it."""
    assert isinstance(cursor.type, kernel.CursorType)
    return isinstance(cursor.type.element_type, HELD_TYPES) or cursor.type.element_type == i1


def _fits_contraction(op: kernel.ContractOp, plan: RowPlan) -> bool:
    left, right = op.lhs, op.rhs
    if op.accumulator not in plan.held or (op.scale is not None and op.scale not in plan.held):
        return False
    if op.kept is not None and not _fits_masked(op, plan):
        return False
    if right in plan.held or _packed(right):
        return False
    if isinstance(left.type, kernel.CursorType):
        if contiguous_axis(left) != 1 or left.type.element_type != plan.multiply:
            return False
    elif left not in plan.held:
        return False
    if isinstance(right.type, kernel.CursorType):
        return contiguous_axis(right) is not None and right.type.element_type == plan.multiply
    assert isinstance(right.type, kernel.TileType)
    return right.type.element_type == plan.multiply and _is_staged(right)


def _is_staged(right: SSAValue) -> bool:
    """True if a right operand gets a swizzled tile: it is loaded, or moved there from registers. One that
    sweeps compute from vectors alone, such as the only key of a sequence, has no such tile.
    """
    assert isinstance(right.owner, kernel.TileOp)
    loaded = any(isinstance(op, kernel.LoadOp) for op in kernel.writers(right))
    return loaded or right.owner.swizzled is not None


def _fits_masked(op: kernel.ContractOp, plan: RowPlan) -> bool:
    """True if a careful run can compute a contraction with a mask over its left operand, in registers. It
    writes to the tile of the right operand, which every iteration must make again, for nothing else.
    """
    assert op.kept is not None
    if op.lhs not in plan.held or op.kept not in plan.held or not op.masks_left:
        return False
    users = {use.operation for use in op.rhs.uses}
    makers = [op.rhs.owner] if isinstance(op.rhs.type, kernel.CursorType) else kernel.writers(op.rhs)
    return users <= {op, *makers} and all(
        isinstance(maker, Operation) and maker.parent is op.parent for maker in makers
    )


def _packed(value: SSAValue) -> bool:
    return isinstance(value.owner, kernel.CursorOp) and value.owner.packed is not None


def _fits_sweep(op: kernel.SweepOp, plan: RowPlan) -> bool:
    if not op.dims or op.dims[0] not in plan.rows:
        return not any(value in plan.held for value in op.operands)
    if any(value in plan.held and kernel.dims_of(value)[0] != op.dims[0] for value in op.inputs):
        return False  # a vector over its columns lies in registers, as one over rows of something else
    if len(op.dims) == 1 and any(kind is not Output.Each for kind in op.output_kinds):
        return False
    return all(value in plan.held for value in op.outputs)
