"""Operations on whole rows in registers: each thread of a warp, or of a block, holds pieces of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ....dialects.array.core import bit_width
from ....dialects.diagnostics import OpError
from ....dialects.kernel import Output
from ....dialects.scalar import is_float
from ..names import Names
from .geometry import Window
from .scalars import element_bytes, number, storage_type, value_type
from .scope import Scope
from .sweep_body import NEUTRAL, claim_arguments, claim_results, computed, sweep_outputs, sweep_quantity

_REDUCED = {
    Output.Sum: "{total} + {value}",
    Output.Max: "bb::max_nan({total}, {value})",
    Output.Min: "bb::min_nan({total}, {value})",
}
_FUNCTIONS = {
    Output.Sum: "bb::plus()",
    Output.Max: "[](float a, float b) { return bb::max_nan(a, b); }",
    Output.Min: "[](float a, float b) { return bb::min_nan(a, b); }",
}


def fill(op: kernel.FillOp, scope: Scope) -> list[str]:
    """Write a number to a row, or to the number of the current row."""
    name, value = scope.group.names[op.tile], number(op.number, Float32Type())
    if scope.group.has_piece(op.tile):
        return [f"Row::sweep([&](bb::slot s) {{ {name}[s] = {value}; }});"]
    return [f"{name} = {value};"]


def move(op: kernel.MoveOp, scope: Scope) -> list[str]:
    """Copy a row."""
    return [f"{scope.group.names[op.target]} = {scope.group.names[op.source]};"]


def load(op: kernel.LoadOp, scope: Scope) -> list[str]:
    """Copy the current row of an array to registers."""
    group, window = scope.group, scope.windows[op.source]
    name = group.names[op.target]
    if not group.has_piece(op.target):
        return [f"{name} = bb::scalar::value({window.element('row')});"]
    if window.strides[-1] == "1":
        return [f"{name}.load({_start(window)}, {group.length}, 0.0f);"]
    place = window.element(*("row", "col")[-len(window.strides) :])
    return [
        "Row::sweep([&](bb::slot s) {",
        "  const int col = Row::col(s);",
        f"  {name}[s] = col < {group.length} ? bb::scalar::value({place}) : 0.0f;",
        "});",
    ]


def _start(window: Window) -> str:
    """Expression of the first element of a window's current row."""
    return window.pointer if len(window.strides) == 1 else f"{window.pointer} + {window.distance(0, 'row')}"


def store(op: kernel.StoreOp, scope: Scope) -> list[str]:
    """Copy registers to the current row of an array."""
    group, window = scope.group, scope.windows[op.target]
    name, element = group.names[op.source], storage_type(kernel.element_type_of(op.target))
    if not group.has_piece(op.source):
        place = window.element("row")
        return [f"if (threadIdx.x % {group.group} == 0) {place} = bb::scalar::as<{element}>({name});"]
    if window.strides[-1] == "1":
        return [f"{name}.store({_start(window)}, {group.length});"]
    place = window.element("row", "col")
    return [
        "Row::sweep([&](bb::slot s) {",
        "  const int col = Row::col(s);",
        f"  if (col < {group.length}) {place} = bb::scalar::as<{element}>({name}[s]);",
        "});",
    ]


@dataclass(frozen=True)
class Sweep:
    """A sweep over rows in registers, and the names of its values."""

    op: kernel.SweepOp
    arguments: Mapping[SSAValue, str]
    results: Mapping[SSAValue, str]
    totals: Mapping[int, str]
    """The variables in which outputs with a reduction are summed."""


def plan_sweep(op: kernel.SweepOp, scope: Scope, names: Names) -> Sweep:
    """Name the values of a sweep. Raises OpError for one that computes in f64."""
    arguments, results = claim_arguments(op, names), claim_results(op, names)
    if any(value_type(yielded.type) == "double" for yielded in op.yield_op.arguments):
        raise OpError(op, "computes in f64, which has no form on rows in registers")
    totals = {
        index: names.claim(f"{scope.group.names[op.outputs[index]]}_total")
        for index, kind in enumerate(op.output_kinds)
        if kind is not Output.Each
    }
    return Sweep(op, arguments, results, totals)


def sweep(plan: Sweep, scope: Scope) -> list[str]:
    """Compute the elements of rows, and reduce them."""
    op, group = plan.op, scope.group
    body: list[str] = []
    for argument, value in zip(op.body.block.args, op.inputs, strict=True):
        if argument in plan.arguments:
            element = f"{group.names[value]}{'[s]' if group.has_piece(value) else ''}"
            body.append(f"const float {plan.arguments[argument]} = {element};")
    lines, values = computed(
        op,
        plan.arguments,
        plan.results,
        lambda inner: _quantity(op, inner, scope),
        fast=scope.approximate,
    )
    body += lines
    before: list[str] = []
    after: list[str] = []
    along = group.columns in op.dims
    for index, kind in enumerate(op.output_kinds):
        yielded = op.yield_op.arguments[index]
        value = values[yielded] if is_float(yielded.type) else f"(float){values[yielded]}"
        own = group.names[op.outputs[index]]
        if kind is Output.Each:
            body.append(f"{own}{'[s]' if along else ''} = {value};")
            continue
        total = plan.totals[index]
        before.append(f"float {total} = {number(NEUTRAL[kind], Float32Type())};")
        step = f"{total} = {_REDUCED[kind].format(total=total, value=value)};"
        body.append(f"if (Row::col(s) < {group.length}) {step}" if group.is_cut else step)
        reduced = f"bb::reduce_group<{group.group}>({total}, (float*)bb_shared, {_FUNCTIONS[kind]})"
        after.append(f"{own} = {reduced};")
    inner = [f"  {line}" for line in body]
    loop = ["Row::sweep([&](bb::slot s) {", *inner, "});"] if along else ["{", *inner, "}"]
    return [f"// {sweep_outputs(op, group.names.__getitem__)}", *before, *loop, *after]


def _quantity(sweep: kernel.SweepOp, op: kernel.QuantityOp, scope: Scope) -> str:
    group = scope.group
    if op.dim_name == group.rows and scope.dims[group.rows].quantity(op.kind.data) is None:
        return f"{scope.dims[group.rows].start} + row"
    indices = ["row" if name == group.rows else "Row::col(s)" for name in sweep.dims]
    return sweep_quantity(sweep, op, scope.dims, indices)


def same_in_all_rows(ops: Iterable[Operation], columns: str) -> set[Operation]:
    """The operations on vectors over columns with the same result for all rows of a block."""
    found: set[Operation] = set()
    for op in ops:
        tiles = [value for value in op.operands if isinstance(value.type, kernel.TileType)]
        if not tiles or any(kernel.tile_type(value).dims != (columns,) for value in tiles):
            continue
        makers = {maker for value in tiles for maker in kernel.writers(value)}
        if makers <= {*found, op}:
            found.add(op)
    return found


def access_width(cursors: list[tuple[kernel.CursorOp, int]]) -> int:
    """Elements of one access to arrays, from the numbers that each array allows: 16 bytes at most."""
    widths = [16 // element_bytes(kernel.element_type_of(cursor.result)) for cursor, _ in cursors]
    return max(1, min([*widths, *(most for _, most in cursors)], default=1))


def computes_in_16_bits(cursors: list[kernel.CursorOp]) -> bool:
    """True if everything that a kernel reads and writes has 16 bits."""
    return all(bit_width(kernel.element_type_of(cursor.result)) == 16 for cursor in cursors)
