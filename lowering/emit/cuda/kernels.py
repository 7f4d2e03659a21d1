"""The text of kernels, with a table from operations to the functions that write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xdsl.ir import Operation

from ....dialects import kernel
from ....dialects.diagnostics import OpError
from ..locations import PlaceComments
from ..source_text import comment_text
from . import fragment_sweep, fragments, row_pieces, shared_rows, statements
from .plan import Copying, KernelPlan, Loop, NanCheck, RowLoop, RowPartLoop, Statement, Step, View
from .scope import Form, Scope
from .staging import (
    Barrier,
    write_barrier,
    write_fetch,
    write_ring_start,
    write_ring_step,
    write_ring_vectors,
)

Writer = Callable[[Any, Scope], list[str]]

WRITERS: Mapping[type[Operation], Mapping[Form, Writer]] = {
    kernel.FillOp: {
        Form.Memory: statements.fill,
        Form.Registers: fragments.fill,
        Form.Rows: row_pieces.fill,
    },
    kernel.MoveOp: {
        Form.Memory: statements.move,
        Form.Registers: fragments.move,
        Form.Rows: row_pieces.move,
    },
    kernel.LoadOp: {
        Form.Memory: statements.load,
        Form.Registers: fragments.load,
        Form.Rows: row_pieces.load,
    },
    kernel.StoreOp: {
        Form.Memory: statements.store,
        Form.Registers: fragments.store,
        Form.Rows: row_pieces.store,
    },
    kernel.ContractOp: {
        Form.Memory: statements.contract,
        Form.Registers: fragments.contract,
    },
    kernel.SweepOp: {
        Form.Memory: statements.sweep,
        Form.SharedRows: shared_rows.sweep,
        Form.Registers: fragment_sweep.sweep,
        Form.Rows: row_pieces.sweep,
    },
}
"""The writer of each operation in each form: a function of its planned subject and of the kernel's scope."""


def write_kernel(plan: KernelPlan) -> str:
    """The function, as CUDA C++ text. Raises OpError for what has no form on a GPU."""
    body = [*_positions(plan), *_body(plan.steps, plan.scope)]
    parameters = list(plan.parameters)
    tiles = _tiles(plan)
    if plan.launch.scratch:
        parameters += ["unsigned char* __restrict__ scratch", "long long scratch_bytes", "int tasks"]
        tiles.insert(0, "unsigned char* const own_scratch = scratch + (long long)blockIdx.x * scratch_bytes;")
        body = [
            "for (int task = blockIdx.x; task < tasks; task += gridDim.x) {",
            *_indented(body),
            "  __syncthreads();  // the next iteration uses the same tiles",
            "}",
        ]
    else:
        body.insert(0, "const int task = blockIdx.x;")
    body = [*_declarations(plan), *tiles, *body]
    runs: list[str] = []
    if plan.may_repeat:
        runs, body = _runs(plan, parameters, body)
    lines = [*runs, *_head(plan, parameters), *_indented(body), "}"]
    return "\n".join(lines) + "\n"


def _runs(plan: KernelPlan, parameters: list[str], body: list[str]) -> tuple[list[str], list[str]]:
    """The functions that run a body, and run it again carefully (see `kernel/masked.py`), and the body of a
    kernel that calls them.

    The careful run is not inlined, and comes last: the first run keeps no registers for it.
    """
    run, careful_run = f"run_{plan.launch.entry}", f"careful_{plan.launch.entry}"
    arguments = ", ".join(parameter.split()[-1] for parameter in parameters)
    functions = [
        f"// a run of {plan.launch.entry}; true if a hidden factor may have made a sum NaN",
        f"BB_DEVICE bool {run}(",
        *_parameter_lines([*parameters, "bool careful"]),
        ") {",
        *_indented(["bool again = false;", *body, "return again;"]),
        "}",
        "// the run without hidden factors; not inlined, it takes no registers of the first one",
        f"__device__ __noinline__ void {careful_run}(",
        *_parameter_lines(parameters),
        ") {",
        f"  {run}({arguments}, true);",
        "}",
        "",
    ]
    return functions, [
        f"const bool again = {run}({arguments}, false);",
        f"if (__syncthreads_or(again)) {careful_run}({arguments});",
    ]


# The function around the statements


def _head(plan: KernelPlan, parameters: list[str]) -> list[str]:
    threads = plan.launch.threads
    over = "".join(f"[{comment_text(dim)}]" for dim in plan.launch.grid)
    lines = [f"// kernel {comment_text(plan.name)}"]
    if over:
        lines.append(f"// {over} in parallel: a block of {threads} threads does one iteration")
    bounds = f"__launch_bounds__({threads}, {plan.resident})"
    lines.append(f'extern "C" __global__ void {bounds} {plan.launch.entry}(')
    return [*lines, *_parameter_lines(parameters), ") {"]


def _parameter_lines(parameters: list[str]) -> list[str]:
    lines = [""]
    for number, parameter in enumerate(parameters):
        text = parameter + ("," if number + 1 < len(parameters) else "")
        if lines[-1] and len(lines[-1]) + len(text) > 100:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else f"    {text}"
    return [line for line in lines if line]


def _declarations(plan: KernelPlan) -> list[str]:
    """The lines that declare the threads and the dims."""
    lines = [f"constexpr int THREADS = {plan.launch.threads};"]
    if plan.uses_lanes:
        lines.append("const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;")
    for name, dim in plan.scope.dims.items():
        lines += dim.declarations()
        if not dim.declared.is_batch and not dim.declared.is_whole and name not in plan.launch.grid:
            lines.append(dim.first_block())
    return lines


def _tiles(plan: KernelPlan) -> list[str]:
    """The lines that declare tiles and buffers."""
    scope = plan.scope
    if scope.row_group is not None:
        return scope.row_group.declarations()
    lines = [] if scope.grid is None else scope.grid.declarations()
    for declaration in scope.memory.declarations:
        lines += declaration.lines(scope.dims)
    return lines


def _positions(plan: KernelPlan) -> list[str]:
    """The lines that compute an iteration's blocks from its number."""
    names = plan.launch.grid
    if not names:
        return ["(void)task;"]
    lines: list[str] = []
    rest = "task"
    for position, name in reversed(list(enumerate(names))):
        dim = plan.scope.dims[name]
        number = rest if position == 0 else f"{rest} % {dim.trips}"
        if name in plan.longest_last:
            number = f"{dim.trips} - 1 - {number}"
        comment = "  // the longest first" if name in plan.longest_last else ""
        lines.append(f"const int {dim.number} = {number};{comment}")
        rest = f"{rest} / {dim.trips}" if rest == "task" else f"({rest}) / {dim.trips}"
        lines += dim.position()
    return lines


# Statements


def _body(steps: Iterable[Step], scope: Scope) -> list[str]:
    lines: list[str] = []
    comments = PlaceComments()
    for step in steps:
        if isinstance(step, View | Copying | Statement):
            lines += comments.before(step.place)
        lines += _step(step, scope)
    return lines


def _step(step: Step, scope: Scope) -> list[str]:
    match step:
        case Statement():
            return _statement(step, scope)
        case View():
            return [f"auto* const {step.window.pointer} = {step.window.origin};"]
        case Copying():
            return write_fetch(step.fetch)
        case NanCheck():
            return (fragments if step.form is Form.Registers else statements).nan_check(step.tile, scope)
        case Barrier():
            return write_barrier(step)
        case Loop():
            return _loop(step, scope)
        case RowLoop():
            return _row_loop(step, scope)
        case RowPartLoop():
            dim = step.dim
            head = f"for (int {dim.number} = 0; {dim.number} < {dim.trips}; {dim.number}++) {{"
            return ["BB_UNROLL_BY(8)", head, *_indented(_body(step.body, scope)), "}"]


def _statement(step: Statement, scope: Scope) -> list[str]:
    writer = WRITERS.get(type(step.op), {}).get(step.form)
    if writer is None:
        raise OpError(step.op, step.form.refusal)
    lines = writer(step.subject, scope)
    if isinstance(step.op, kernel.SweepOp) and step.op.careful is not None:
        return ["if (careful) {", *_indented(lines), "}"]
    return lines


def _loop(loop: Loop, scope: Scope) -> list[str]:
    dim, bounds, ring = loop.dim, loop.bounds, loop.ring
    position, body = dim.position(bounds.end), _body(loop.body, scope)
    if ring is None:
        start: list[str] = []
        head = f"for (int {dim.number} = {bounds.first}; {dim.number} < {bounds.trips}; {dim.number}++) {{"
        inner = [*position, *body]
    else:
        start, stage = write_ring_start(ring), ring.stage
        head = (
            f"for (int {dim.number} = {ring.first}, {stage} = 0; {dim.number} < {ring.trips}; "
            f"{dim.number}++, {stage} = bb::next_stage<{ring.stages}>({stage})) {{"
        )
        inner = [*write_ring_step(ring), *position, *write_ring_vectors(ring), *body]
    rolled = ["BB_UNROLL_BY(1)"] if loop.stays_rolled else []
    return [*bounds.lines, *start, *rolled, head, *_indented(inner), "}"]


def _row_loop(loop: RowLoop, scope: Scope) -> list[str]:
    first = "0" if loop.step == 1 else f"threadIdx.x / {loop.group}"
    holders = "a warp" if loop.group == 32 else "the block"
    return [
        f"for (int row = {first}; row < {loop.width}; row += {loop.step}) {{  // {holders} has a row",
        *_indented(_body(loop.body, scope)),
        "}",
    ]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
