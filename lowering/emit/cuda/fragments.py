"""Operations on tiles in registers: a warp holds some rows of each, and works on them alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, f32, tf32
from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ....dialects.array.core import bit_width
from ....dialects.diagnostics import OpError
from ....dialects.kernel.tile_layouts import is_right_operand, padded
from ..source_text import comment_text
from .geometry import Window, row_stride
from .held import Held, Rows
from .placed import is_fetched_ahead, offset_of
from .scalars import number, storage_type
from .scope import Scope


@dataclass(frozen=True)
class Contraction:
    """A contraction, and the one that is done together with it, if there is one."""

    first: kernel.ContractOp
    second: kernel.ContractOp | None

    @property
    def all(self) -> tuple[kernel.ContractOp, ...]:
        """The one contraction, or both."""
        return (self.first,) if self.second is None else (self.first, self.second)


def plan_contraction(op: kernel.ContractOp, scope: Scope, barriers: Collection[Operation]) -> Contraction:
    """Pair a contraction with the next operation, if that is one with the same left operand.

    Both then use the same fragments of it. Their right operands must have one shape, and there must be no
    barrier between them.
    """
    if not scope.is_staged(op.lhs):
        return Contraction(op, None)
    other = op.next_op
    while isinstance(other, kernel.CursorOp) or (other is not None and is_fetched_ahead(other)):
        other = other.next_op
    fits = (
        isinstance(other, kernel.ContractOp)
        and other.lhs is op.lhs
        and other not in barriers
        and isinstance(op.multiply, BFloat16Type | Float16Type)
        and op.kept is None
        and other.kept is None
        and _shape(op, scope) == _shape(other, scope)
        and op.accumulator is not other.accumulator
    )
    return Contraction(op, other if isinstance(other, kernel.ContractOp) and fits else None)


def _shape(op: kernel.ContractOp, scope: Scope) -> tuple[object, ...]:
    held, staged = scope.held[op.accumulator], scope.staged(op.rhs)
    return held.columns, held.rows, staged.rows, staged.columns, staged.rows_contiguous


def contract(plan: Contraction, scope: Scope) -> list[str]:
    """Multiply a left operand with one right operand or two."""
    op = plan.first
    comments: list[str] = []
    starts: list[str] = []
    for each in plan.all:
        acc = scope.held[each.accumulator].name
        left_name, right_name = (comment_text(value.name_hint or "tile") for value in (each.lhs, each.rhs))
        sign = "+=" if each.accumulates or each.scale is not None else "="
        comments.append(f"// {acc} {sign} {left_name} * {right_name}^T")
        if each.scale is not None:
            starts.append(
                f"bb::row_scale({acc}, {_factors(each.scale, scope.held[each.accumulator].rows, scope)});"
            )
        elif not each.accumulates:
            starts.append(f"bb::fill({acc}, 0.0f);")
    function = "contract" if plan.second is None else "contract2"
    if scope.staged(op.rhs).rows_contiguous:
        function += "_kn"
    function += "" if op.lhs in scope.held else _depth(op, scope)
    sums = ", ".join(scope.held[each.accumulator].name for each in plan.all)
    right = ", ".join(scope.staged(each.rhs).pointer for each in plan.all)
    col0 = scope.held[op.accumulator].col0
    return [
        *comments,
        *starts,
        *_not_finite(op, scope),
        f"bb::{function}({sums}, {_left(op, scope)}, {right}, {col0});",
    ]


def _factors(scale: SSAValue, rows: Rows, scope: Scope) -> str:
    """The factors of the rows of a warp: from registers, or from a vector in shared memory."""
    if scale in scope.held:
        return scope.held[scale].name
    vector = scope.tile(scale)
    left = f"{scope.width(vector.type.dims[0])} - {rows.first}"
    return f"bb::load_rows<{rows.count}>({vector.pointer} + {rows.first}, {left}, 1.0f)"


def _not_finite(op: kernel.ContractOp, scope: Scope) -> list[str]:
    """The step of a careful run that treats the right operand before a contraction with a mask."""
    if op.kept is None:
        return []
    names = [scope.held[value].name for value in (op.accumulator, op.lhs, op.kept)]
    right = scope.staged(op.rhs)
    function = "add_not_finite_kn" if right.rows_contiguous else "add_not_finite"
    return [
        "if (careful) {",
        f"  bb::{function}({', '.join(names)}, {right.pointer}, {scope.held[op.accumulator].col0});",
        "  __syncthreads();  // all warps have read it",
        f"  bb::make_finite<THREADS>({right.pointer});",
        "  __syncthreads();",
        "}",
    ]


def nan_check(tile: SSAValue, scope: Scope) -> list[str]:
    """Look for NaN in a sum that masks may have spoilt."""
    return [f"again |= bb::any_nan({scope.held[tile].name});"]


def _depth(op: kernel.ContractOp, scope: Scope) -> str:
    """The template argument for the columns to multiply, if the tile of a left operand has more."""
    length = scope.dims[kernel.dims_of(op.lhs)[1]].block_length
    assert length is not None
    step = 8 if op.multiply in (None, tf32) else 16
    depth = -(-length // step) * step
    return f"<{depth}>" if depth < padded(length) else ""


def _left(op: kernel.ContractOp, scope: Scope) -> str:
    if op.lhs in scope.held:
        product = "bb::tf32" if op.multiply == tf32 else storage_type(op.multiply or f32)
        return f"bb::to_operand<{product}>({scope.held[op.lhs].name})"
    return f"{scope.staged(op.lhs).pointer}, {scope.held[op.accumulator].rows.first}"


def fill(op: kernel.FillOp, scope: Scope) -> list[str]:
    """Write a number to all elements of a tile."""
    return [f"bb::fill({scope.held[op.tile].name}, {number(op.number, Float32Type())});"]


def move(op: kernel.MoveOp, scope: Scope) -> list[str]:
    """Copy a tile between registers, and between registers and shared memory."""
    if scope.is_staged(op.target):
        return _put(op, scope.held[op.source], scope)
    if op.target not in scope.held:
        source, vector = scope.held[op.source], scope.tile(op.target)
        first, width = source.rows.first, scope.width(source.type.dims[0])
        return [
            f"// {vector.pointer} = {source.name}, for all warps",
            f"bb::store_rows({source.name}, {vector.pointer} + {first}, {width} - {first});",
        ]
    target = scope.held[op.target]
    if op.source in scope.held:
        return [f"{target.name} = {scope.held[op.source].name};"]
    if not scope.is_staged(op.source):
        raise OpError(op, "moves a tile in shared memory that has no fragments")
    rows, staged = target.rows, scope.staged(op.source).pointer
    return [
        f"{target.name} = bb::take<{rows.count}, {target.columns}>({staged}, {rows.first}, {target.col0});"
    ]


def _put(op: kernel.MoveOp, source: Held, scope: Scope) -> list[str]:
    """Copy the rows of a warp to where all warps can read them."""
    target, dim = scope.staged(op.target), scope.dims[kernel.dims_of(op.source)[0]]
    end = ""
    if is_right_operand(op.target) and not dim.fills(source.rows.in_block):
        end = f", {dim.width}"
    return [
        f"// {target.name} = {source.name}, for all warps",
        f"bb::put({target.pointer}, {source.rows.first}, {source.col0}, {source.name}{end});",
    ]


def load(op: kernel.LoadOp, scope: Scope) -> list[str]:
    """Copy a block of an array to registers."""
    target, window = scope.held[op.target], scope.windows[op.source]
    rows, row0 = target.rows.count, target.rows.first
    if len(target.type.dims) == 1 or not window.unit_columns:
        element, inside = _cell(target, window)
        body = f"{target.name}[c] = {inside} ? (float)bb::scalar::value({element}) : 0.0f;"
        return [_sweep(target, body)]
    vector = min(2, window.vector) if bit_width(kernel.element_type_of(op.source)) > 8 else 1
    ld = row_stride(window.strides[0])
    return [
        f"{target.name} = bb::load_tile<{rows}, {target.columns}, {vector}>({window.pointer}, "
        f"{row0}, {target.col0}, {ld}, {window.widths[0]}, {window.widths[1]}, 0.0f);"
    ]


def store(op: kernel.StoreOp, scope: Scope) -> list[str]:
    """Copy registers to a block of an array, through shared memory if the store has an offset there."""
    source, window = scope.held[op.source], scope.windows[op.target]
    element_type = storage_type(kernel.element_type_of(op.target))
    comment = f"// store {source.name}"
    if len(source.type.dims) == 1 or not window.unit_columns:
        element, inside = _cell(source, window)
        alone = "bb::lane_id() % 4 == 0 && " if len(source.type.dims) == 1 else ""
        body = f"if ({alone}{inside}) {element} = bb::scalar::as<{element_type}>({source.name}[c]);"
        return [comment, _sweep(source, body)]
    corner = f"{source.rows.first}, {source.col0}"
    rest = f"{row_stride(window.strides[0])}, {window.widths[0]}, {window.widths[1]}"
    offset = offset_of(op)
    if offset is None:
        vector = min(2, window.vector)
        return [comment, f"bb::store<{vector}>({source.name}, {window.pointer}, {corner}, {rest});"]
    assert source.cols is not None
    stage = f"bb::shared_tile<{element_type}, {source.rows.in_block}, {source.cols.in_block}>"
    stage += f"{{bb_shared + {offset}}}"
    return [
        comment,
        f"bb::store<{window.vector}>({source.name}, {stage}, {corner}, {window.pointer}, {rest});",
    ]


def _cell(held: Held, window: Window) -> tuple[str, str]:
    """Expressions of an array's element for the current element of a tile, and of the condition that it
    exists.
    """
    row = f"{held.rows.first} + c.row()"
    if len(held.type.dims) == 1:
        return window.element(f"({row})"), f"{row} < {window.widths[0]}"
    assert held.cols is not None
    col = held.cols.column
    element = window.element(f"({row})", f"({col})" if "+" in col else col)
    return element, f"{row} < {window.widths[0]} && {col} < {window.widths[1]}"


def _sweep(held: Held, body: str) -> str:
    """A loop over the elements of a tile."""
    if len(held.type.dims) == 1:
        return f"bb::sweep_rows<{held.rows.count}>([&](bb::cell c) {{ {body} }});"
    return f"bb::sweep<{held.rows.count}, {held.columns}>([&](bb::cell c) {{ {body} }});"


def is_left_operand(tile: SSAValue, scope: Scope) -> bool:
    """True if contractions read a tile as their left operand, from registers or from shared memory."""
    return any(
        (isinstance(user, kernel.ContractOp) and user.lhs is tile)
        or (isinstance(user, kernel.MoveOp) and scope.is_staged(user.target))
        for user in kernel.readers(tile)
    )
