"""Planning of kernels: one walk over the operations claims the names and chooses the form of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel import Space
from ....dialects.kernel.placement import warp_grid
from ....dialects.kernel.tile_layouts import fragment_rows
from ..locations import place_comment
from ..names import Names
from . import fragment_sweep, fragments, row_pieces, shared_rows, statements
from .accesses import window_vector
from .arguments import plan_arguments
from .barriers import barriers_of
from .geometry import LARGEST_INT, Array, Dim, Window, name_dims, window_of
from .held import Rows, WarpGrid
from .layouts import Layout
from .loops import plan_bounds
from .memory import NO_WARPS, Memory, Sizes, plan_memory
from .names import cuda_names
from .placed import group_of, holds_tiles, is_async, is_fetched_ahead, threads_of
from .plan import (
    Copying,
    CudaKernel,
    KernelPlan,
    Loop,
    NanCheck,
    RowLoop,
    RowPartLoop,
    Statement,
    Step,
    View,
    entry_name,
)
from .scope import Form, RowGroup, Scope
from .staging import Staging

SWEEPS: Mapping[Form, Callable[[kernel.SweepOp, Scope, Names], Any]] = {
    Form.Memory: statements.plan_sweep,
    Form.SharedRows: shared_rows.plan_sweep,
    Form.Registers: fragment_sweep.plan_sweep,
    Form.Rows: row_pieces.plan_sweep,
}
"""The planner of sweeps in each form."""

THREADS_IN_REGISTERS = 256
"""Threads of a multiprocessor such that each may have 255 registers."""
THREADS_AT_A_TIME = 512
"""Threads of a multiprocessor that hide each other's latencies, if they need fewer registers."""
SHARED_OF_A_MULTIPROCESSOR = 160 * 1024


def plan_kernel(
    function: kernel.FuncOp, parallel: kernel.ParallelOp, part: int, layouts: tuple[Layout, ...]
) -> KernelPlan:
    """Plan one parallel loop of a kernel. Raises OpError for operations that a GPU kernel cannot do."""
    threads, group, names = threads_of(parallel), group_of(parallel), cuda_names()
    declared = block.parse_dims(function.attributes[block.DIMS])
    for name, dim in declared.items():
        if (dim.static_extent or 0) > LARGEST_INT:
            too_far = f"has extent {dim.static_extent} along {name}, a GPU kernel counts to {LARGEST_INT}"
            raise OpError(function, too_far)
    dims = name_dims(names, declared, parallel)
    arguments = plan_arguments(function, dims, names, layouts)
    kernel_ = _Kernel(parallel, threads, declared, dims, names, arguments.arrays)
    body = _plan_tiles(kernel_) if group is None else _plan_whole_rows(kernel_, group)
    memory = body.scope.memory
    launch = CudaKernel(
        entry_name(function.sym_name.data, part),
        threads,
        memory.shared_bytes,
        parallel.dim_names,
        declared,
        memory.scratch,
        layouts,
    )
    return KernelPlan(
        name=function.sym_name.data,
        launch=launch,
        longest_last=frozenset(
            op.until_dim
            for op in parallel.walk()
            if isinstance(op, kernel.ForOp) and op.until_dim is not None
        ),
        resident=_resident(parallel, launch),
        parameters=arguments.parameters,
        scope=body.scope,
        steps=body.steps,
        uses_lanes=body.uses_lanes,
        may_repeat=bool(kernel.masked_sums(parallel)),
    )


def _resident(parallel: kernel.ParallelOp, launch: CudaKernel) -> int:
    """Blocks of a multiprocessor. With tiles in registers a thread needs all registers that it can have."""
    threads = THREADS_IN_REGISTERS if holds_tiles(parallel) else THREADS_AT_A_TIME
    fitting = SHARED_OF_A_MULTIPROCESSOR // max(1, launch.shared_bytes)
    return max(1, min(threads // launch.threads, fitting))


@dataclass(frozen=True)
class _Kernel:
    """A parallel loop with the names of its dims and arrays."""

    parallel: kernel.ParallelOp
    threads: int
    declared: dict[str, block.DimAttr]
    dims: Mapping[str, Dim]
    names: Names
    arrays: Mapping[SSAValue, Array]

    def window(self, op: kernel.CursorOp, buffers: Mapping[SSAValue, Array]) -> Window:
        """Name the current block of a cursor."""
        array = {**self.arrays, **buffers}[op.array]
        window = window_of(op, array, self.dims, self.names.claim(op.result.name_hint or "block"))
        return replace(window, vector=window_vector(window, op, array, self.dims))


@dataclass(frozen=True)
class _Body:
    scope: Scope
    steps: tuple[Step, ...]
    uses_lanes: bool


# Kernels with tiles in memory, or in fragments


def _plan_tiles(given: _Kernel) -> _Body:
    parallel, grid = given.parallel, _warp_grid(given)
    memory = plan_memory(parallel, given.declared, given.dims, given.names, grid or NO_WARPS)
    arrays = {**given.arrays, **memory.buffers}
    staging = Staging(parallel, given.dims, memory, arrays, given.names, given.threads)
    windows: dict[SSAValue, Window] = {}
    scope = Scope(
        dims=given.dims,
        memory=memory,
        grid=grid,
        approximate=any(isinstance(op, kernel.ContractOp) and op.multiply for op in parallel.walk()),
        windows=windows,
        stages=staging.stages,
    )
    barriers = barriers_of(parallel.body.block.ops, memory.accesses)
    planner = _TilePlanner(given, scope, staging, frozenset(barriers), windows)
    steps = planner.steps(parallel.body.block.ops)
    return _Body(scope, steps, planner.uses_lanes)


def _warp_grid(given: _Kernel) -> WarpGrid | None:
    """The grid of warps with the rows of tiles in registers that a warp has; None without such tiles."""
    grid = warp_grid(given.parallel)
    if grid is None:
        return None
    warps, columns = grid
    types = [kernel.tile_type(op.result) for op in given.parallel.walk() if isinstance(op, kernel.TileOp)]
    names = dict.fromkeys(type.dims[0] for type in types if type.space.data is Space.Register)
    rows: dict[str, Rows] = {}
    for name in names:
        dim = given.dims[name]
        assert dim.block_length is not None
        count, first = "ROWS", "row0"
        if len(names) > 1:
            count, first = (given.names.claim(f"{dim.extent}{word}") for word in ("rows", "row0"))
        rows[name] = Rows(count, first, fragment_rows(dim.block_length, warps))
    return WarpGrid(warps, columns, rows)


@dataclass
class _TilePlanner:
    """The walk over the operations of a kernel, in program order."""

    given: _Kernel
    scope: Scope
    staging: Staging
    barriers: frozenset[Operation]
    windows: dict[SSAValue, Window]
    uses_lanes: bool = False

    def steps(self, ops: Iterable[Operation]) -> tuple[Step, ...]:
        """The steps of a body."""
        found: list[Step] = []
        second: Operation | None = None
        for op in ops:
            if op is second:
                continue
            if op in self.barriers:
                found.append(self.staging.barrier())
            step = self._step(op)
            if step is not None:
                found.append(step)
            found += self._checks(op)
            if isinstance(step, Statement) and isinstance(step.subject, fragments.Contraction):
                second = step.subject.second or second
        return tuple(found)

    def _checks(self, op: Operation) -> list[Step]:
        """The looks at the sums that an operation completes."""
        tiles = kernel.masked_sums(self.given.parallel).get(op, [])
        forms = [Form.Registers if tile in self.scope.held else Form.Memory for tile in tiles]
        found: list[Step] = [NanCheck(tile=tile, form=form) for tile, form in zip(tiles, forms, strict=True)]
        return [self.staging.barrier(), *found] if Form.Memory in forms else found

    def _step(self, op: Operation) -> Step | None:
        """The step of an operation; None for one without text of its own."""
        match op:
            case kernel.TileOp() | kernel.BufferOp():
                return None
            case kernel.CursorOp():
                return self._view(op)
            case kernel.ForOp():
                return self._loop(op)
            case kernel.LoadOp() if is_fetched_ahead(op):
                return None
            case kernel.LoadOp() if is_async(op):
                return Copying(fetch=self.staging.fetch(op), place=place_comment(op))
            case _:
                return self._statement(op)

    def _view(self, op: kernel.CursorOp) -> View | None:
        if all(is_async(use.operation) for use in op.result.uses):
            return None  # an asynchronous copy computes the addresses of its block itself
        window = self.windows[op.result] = self.given.window(op, self.scope.memory.buffers)
        return View(window=window, place=place_comment(op)) if window.origin else None

    def _loop(self, op: kernel.ForOp) -> Loop:
        bounds = plan_bounds(op, self.given.dims, self.given.names)
        with self.staging.loop(op, bounds) as ring:
            body = self.steps(op.body.block.ops)
        return Loop(
            dim=self.given.dims[op.dim_names[0]],
            bounds=bounds,
            ring=ring,
            stays_rolled=self.staging.addresses_stay_in_loops,
            body=body,
        )

    def _statement(self, op: Operation) -> Statement:
        form = self.scope.form_of(op)
        subject: object = op
        if isinstance(op, kernel.SweepOp):
            subject = SWEEPS[form](op, self.scope, self.given.names)
            self.uses_lanes |= isinstance(subject, statements.Sweep) and subject.has_warp_rows
        elif isinstance(op, kernel.ContractOp) and form is Form.Registers:
            subject = fragments.plan_contraction(op, self.scope, self.barriers)
        return Statement(op=op, form=form, subject=subject, place=place_comment(op))


# Kernels that keep whole rows in registers


def _plan_whole_rows(given: _Kernel, group: int) -> _Body:
    parallel = given.parallel
    operations = list(parallel.walk())
    tiles = [op.result for op in operations if isinstance(op, kernel.TileOp) and op.result.uses]
    shapes = (kernel.tile_type(tile).dims for tile in tiles)
    rows, columns = next(dims for dims in shapes if len(dims) == 2)
    cursors = [op for op in operations if isinstance(op, kernel.CursorOp)]
    windows: dict[SSAValue, Window] = {op.result: given.window(op, {}) for op in cursors}
    long = [op for op in cursors if columns in kernel.dims_of(op.result)]
    length = given.dims[columns].block_length
    assert length is not None
    scope = Scope(
        dims=given.dims,
        memory=Memory(
            sizes=Sizes(given.declared, NO_WARPS), shared_bytes=group // 32 * 4 if group > 32 else 0
        ),
        row_group=RowGroup(
            group,
            rows,
            columns,
            row_pieces.access_width([(op, windows[op.result].vector) for op in long]),
            length,
            {tile: given.names.claim(tile.name_hint or "tile") for tile in tiles},
        ),
        approximate=row_pieces.computes_in_16_bits(cursors),
        windows=windows,
        stages={},
    )
    planner = _RowPlanner(given, scope)
    ops = list(parallel.body.block.ops)
    planner.add(ops, once=row_pieces.same_in_all_rows(ops, columns))
    loop = RowLoop(
        group=group,
        step=given.threads // group,
        width=given.dims[rows].width,
        body=tuple(planner.for_each_row),
    )
    return _Body(scope, (*planner.once, loop), uses_lanes=False)


@dataclass
class _RowPlanner:
    """The walk over the operations of a kernel that keeps whole rows in registers."""

    given: _Kernel
    scope: Scope
    once: list[Step] = field(default_factory=list[Step])
    """Steps before the loop over rows."""
    for_each_row: list[Step] = field(default_factory=list[Step])

    def add(self, ops: Iterable[Operation], once: set[Operation]) -> None:
        """Plan the operations; those with the same result in all rows are done once."""
        views: list[Step] = []
        for op in ops:
            match op:
                case kernel.TileOp():
                    pass
                case kernel.CursorOp():
                    views += self._view(op)
                case kernel.ForOp():
                    dim = self.given.dims[op.dim_names[0]]
                    body = [step for inner in op.body.block.ops for step in self._in_loop(inner)]
                    self.for_each_row.append(RowPartLoop(dim=dim, body=tuple(body)))
                case _:
                    (self.once if op in once else self.for_each_row).append(self._statement(op))
        self.once[:0] = views

    def _in_loop(self, op: Operation) -> list[Step]:
        match op:
            case kernel.TileOp():
                return []
            case kernel.CursorOp():
                return self._view(op)
            case _:
                return [self._statement(op)]

    def _view(self, op: kernel.CursorOp) -> list[Step]:
        window = self.scope.windows[op.result]
        return [View(window=window, place="")] if window.origin else []

    def _statement(self, op: Operation) -> Statement:
        subject: object = op
        if isinstance(op, kernel.SweepOp):
            subject = row_pieces.plan_sweep(op, self.scope, self.given.names)
        return Statement(op=op, form=Form.Rows, subject=subject, place="")
