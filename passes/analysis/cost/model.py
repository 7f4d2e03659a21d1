"""The time of a kernel by a model: what is computed, what each tier of memory delivers, what starting costs.

Every quantity is a formula over block sizes. It takes numbers as well as arrays of them, so that a search
evaluates all its candidates at once.

Reuse: an item that is the same in all iterations of a loop is fetched again in each iteration, unless all
that one iteration touches fits the tier, private or shared, that it comes from. Between the capacity and
twice the capacity the part that is fetched again grows from nothing to everything. The first fetch of an
array comes from the nearest tier that holds all that the program touches, because calls follow each other.

Time: workers take the iterations of the parallel loops in turn; the last round may leave some of them idle.
Each byte comes from one tier, so the times of the tiers add up. Computing and moving overlap: the longer of
the two times counts in full, and of the shorter one a part (`Machine.exposed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from .machine import Machine, Tier
from .plan import Contraction, KernelPlan, Loop, Move

Number: TypeAlias = Any
"""A float, or an array of floats: one for each candidate."""


@dataclass(frozen=True)
class Extent:
    """A dim: its elements, and those of one of its blocks."""

    length: int
    size: Number
    is_batch: bool = False

    @cached_property
    def blocks(self) -> Number:
        """Number of blocks."""
        return np.ceil(self.length / self.size)

    def padded(self, lanes: int) -> Number:
        """Elements, where those of each block fill vectors of so many lanes."""
        full = np.floor(self.length / self.size)
        rest = self.length - full * self.size
        return full * _rounded(self.size, lanes) + _rounded(rest, lanes)


Extents: TypeAlias = Mapping[str, Extent]


@dataclass(frozen=True)
class KernelCost:
    """Work and resources of one call of a kernel; fields before `contract_seconds` do not depend on rates.

    `bytes` has what each tier delivers, nearest first, `copied` what goes to tiles in another layout.
    `idle` is how much longer the workers take than if all were busy, as a factor. Seconds of computing and
    moving are of all workers together working side by side, without that factor.
    """

    contract_flops: Number
    recomputed_flops: Number
    vector_operations: Number
    function_calls: Number
    moved: Number
    copied: Number
    bytes: tuple[Number, ...]
    tasks: Number
    idle: Number
    scratch: Number
    registers: Number
    contract_seconds: Number
    vector_seconds: Number
    tile_seconds: Number
    copy_seconds: Number
    tier_seconds: tuple[Number, ...]
    start_seconds: Number
    seconds: Number


class CostModel:
    """Costs of the kernels of one program on one machine.

    `plans` are all of its kernels: what they touch together decides where data lies when a call begins.
    """

    def __init__(self, machine: Machine, plans: Sequence[KernelPlan]):
        self.machine = machine
        self.plans = plans

    def call_seconds(self, costs: Iterable[KernelCost]) -> Number:
        """Seconds of a call of the program, from its kernels that do not run only once."""
        return self.machine.call + sum(cost.seconds for cost in costs)

    def touched(self, extents: Extents) -> float:
        """Bytes of all arrays that a call touches, whatever the block sizes are.

        What a kernel makes for itself alone does not count, nor how many partial results there are of each.
        """
        sizes: dict[object, float] = {}
        for plan in self.plans:
            own = {move.array for move in plan.moves} if plan.once else plan.private_arrays()
            for move in plan.moves:
                if move.array not in own:
                    total = float(move.bytes)
                    batches = {loop.dim for loop in move.indexed if extents[loop.dim].is_batch}
                    for dim in {*move.dims, *batches}:
                        total *= extents[dim].length
                    sizes[move.array] = max(total, sizes.get(move.array, 0.0))
        return sum(sizes.values())

    def cost(self, plan: KernelPlan, extents: Extents) -> KernelCost:
        """The cost of a kernel. The sizes in `extents` are numbers, or arrays that broadcast together."""
        machine = self.machine
        kernel = _Kernel(plan, extents, machine)
        tasks, idle = kernel.tasks_and_idle()
        workers = np.minimum(machine.workers, tasks)
        contract_flops, recomputed, contract = kernel.contractions()
        operations, calls, vector = kernel.vectors()
        copied = kernel.total(move.bytes * kernel.elements(move) for move in plan.moves if move.copied)
        copy = kernel.total(machine.copy * kernel.elements(move) for move in plan.moves if move.copied)
        moved = kernel.total(move.bytes * kernel.elements(move) for move in plan.moves)
        bytes, tier_seconds = self._tiers(kernel, extents, moved, workers)
        sweeping = kernel.tile_seconds()
        steps = kernel.total(kernel.trips(loops) for loops in plan.operations) * machine.step
        exposed: Number = machine.exposed
        if not plan.contractions:
            # Rows that a task has whole are swept where they lie, and the next ones fetched meanwhile; what a
            # loop goes over is copied to tiles, and memory waits while those are swept.
            in_place = kernel.inner_trips() <= 1
            tier_seconds = tuple(kernel.short_runs() * seconds for seconds in tier_seconds)
            copy = _where(in_place, 0.0, copy)
            steps = _where(in_place, np.minimum(steps, 2 * machine.step * tasks), steps)  # sweeps are merged
            exposed = np.minimum(1.0, machine.swept * _where(in_place, 1.0, 2.0))
        computing = (contract + vector + sweeping + copy + steps) / machine.workers * idle
        start = machine.launch + tasks * machine.task / workers
        moving = kernel.total(tier_seconds) * idle
        seconds = np.maximum(computing, moving) + exposed * np.minimum(computing, moving) + start
        scratch, registers = kernel.scratch(), kernel.registers()
        if machine.scratch is not None:
            seconds = _where(scratch > machine.scratch, np.inf, seconds)
        if machine.registers is not None:
            seconds = _where(registers > machine.registers, np.inf, seconds)
        return KernelCost(
            contract_flops,
            recomputed,
            operations,
            calls,
            moved,
            copied,
            bytes,
            tasks,
            idle,
            scratch,
            registers,
            contract / machine.workers,
            vector / machine.workers,
            sweeping / machine.workers,
            (copy + steps) / machine.workers,
            tier_seconds,
            start,
            seconds,
        )

    def _tiers(
        self, kernel: _Kernel, extents: Extents, moved: Number, workers: Number
    ) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
        """Bytes that each tier delivers, and the seconds that takes all workers together."""
        touched = self.touched(extents)
        bytes: list[Number] = []
        seconds: list[Number] = []
        nearer = moved
        fastest: Number = np.inf
        for tier in self.machine.tiers:
            misses = kernel.misses(tier, touched) if tier.capacity is not None else 0.0
            misses = np.minimum(misses, nearer)
            served = nearer - misses
            bytes.append(served)
            # A few workers get no more from a tier that all share than from one nearer to them.
            fastest = np.minimum(fastest, tier.bandwidth * (1 if tier.shared else workers))
            seconds.append(served / fastest)
            nearer = misses
        return tuple(bytes), tuple(seconds)


class _Kernel:
    """The formulas of one kernel at some extents."""

    def __init__(self, plan: KernelPlan, extents: Extents, machine: Machine):
        self.plan, self.extents, self.machine = plan, extents, machine
        self._footprints: dict[Loop, Number] = {}
        self._visible: dict[Loop, Number] = {}
        for loops in plan.chains():
            for loop in loops:
                if loop.until is not None and loop not in self._visible:
                    self._visible[loop] = visible_part(
                        extents[loop.until.dim], extents[loop.dim].length, loop.until.offset
                    )

    def total(self, parts: Iterable[Number]) -> Number:
        return sum(parts, 0.0)

    def visible(self, loops: Sequence[Loop]) -> Number:
        """The part of the iterations that remains after causal masks."""
        part: Number = 1.0
        for loop in loops:
            if loop in self._visible:
                part = part * self._visible[loop]
        return part

    def trips(self, loops: Sequence[Loop]) -> Number:
        """Return the number of times that the body of some loops runs."""
        total: Number = 1.0
        for loop in loops:
            total = total * self.extents[loop.dim].blocks
        return total * self.visible(loops)

    def _along(self, dims: Iterable[str], loops: Sequence[Loop], lanes: Mapping[str, int] = {}) -> Number:
        """Elements of an item over all iterations of loops: exactly, or with each block rounded up to full
        vectors.
        """
        looped = {loop.dim for loop in loops}
        total: Number = 1.0
        for dim in dims:
            extent = self.extents[dim]
            if dim in lanes:
                one = _rounded(np.minimum(extent.size, extent.length), lanes[dim])
                total = total * (extent.padded(lanes[dim]) if dim in looped else one)
            else:
                total = total * (extent.length if dim in looped else np.minimum(extent.size, extent.length))
        others = [loop for loop in loops if loop.dim not in set(dims)]
        for loop in others:
            total = total * self.extents[loop.dim].blocks
        return total * self.visible(loops)

    def elements(self, move: Move) -> Number:
        """Elements of an item that are moved if each iteration moves its own copy."""
        return self._along(move.dims, move.loops)

    def contractions(self) -> tuple[Number, Number, Number]:
        """Flops, the part of them that repeats others, and seconds of one worker."""
        flops: Number = 0.0
        again: Number = 0.0
        seconds: Number = 0.0
        for each in self.plan.contractions:
            dims = (each.rows, each.columns, each.depth)
            own = 2.0 * self._along(dims, each.loops)
            needed = [loop for loop in each.loops if loop in each.needed or loop.dim in dims]
            once = 2.0 * self._along(dims, needed) * self.visible(each.loops) / self.visible(needed)
            flops = flops + own
            again = again + own - once
            seconds = seconds + self._contract_seconds(each)
        return flops, again, seconds

    def _contract_seconds(self, each: Contraction) -> Number:
        machine, extents = self.machine, self.extents
        dims = (each.rows, each.columns, each.depth)
        rows, columns, depth = (np.minimum(extents[dim].size, extents[dim].length) for dim in dims)
        rate = machine.contract_rate(each.element_type)
        padded = 2.0 * self._along(dims, each.loops, {each.rows: machine.lanes})
        filled = _rounded(rows, machine.lanes)
        panel = filled / np.ceil(filled / machine.panel_rows)
        deep = np.minimum(depth, machine.panel_depth)
        slower = 1 + machine.half_rows / panel + machine.half_columns / columns + machine.half_depth / deep
        few = 2.0 * self._along(dims, each.loops) / (rate * machine.few_rows_rate)
        return _where(rows <= machine.few_rows, few, padded * slower / rate)

    def vectors(self) -> tuple[Number, Number, Number]:
        """Simple operations, functions of elements, and seconds of one worker."""
        machine = self.machine
        operations: Number = 0.0
        calls: Number = 0.0
        seconds: Number = 0.0
        for each in self.plan.vectors:
            elements = self._along(each.dims, each.loops)
            operations = operations + elements * each.simple
            calls = calls + elements * sum(each.functions.values())
            time = each.simple / machine.vector
            time += sum(
                count * machine.function_seconds(function) for function, count in each.functions.items()
            )
            seconds = seconds + elements * time
        return operations, calls, seconds

    def tasks_and_idle(self) -> tuple[Number, Number]:
        """Independent iterations, and the factor by which workers take longer than if none were ever idle.

        If the grid has a single iteration, `block-distribute` makes grids of the loops inside; if it has
        fewer iterations than there are workers, workers share the iterations of a reduction.
        """
        workers = self.machine.workers
        tasks: Number = self.trips(self.plan.grid)
        shared: Number = False
        within = self.inner_trips()
        if any(len(loops) > len(self.plan.grid) for loops in self.plan.chains()):
            shared = tasks < workers
            tasks = _where(shared, tasks * np.maximum(1.0, within), tasks)
        rounds: Number = np.ceil(tasks / workers) * workers / tasks
        ragged: Number = self._ragged_rounds(workers)
        idle: Number = _where((ragged > 0) & ~np.asarray(shared), np.maximum(ragged, 1.0), rounds)
        idle = idle * (1 + self.machine.uneven * np.minimum(1.0, workers / tasks))
        return tasks, _where(shared, idle * self.machine.sharing, idle)

    def short_runs(self) -> Number:
        """Return the factor by which memory is slower for short pieces, one for each row of a block."""
        slower: Number = 0.0
        every: Number = 0.0
        for move in self.plan.moves:
            bytes = move.bytes * self.elements(move)
            every = every + bytes
            run: Number = np.inf
            if move.dims:
                extent = self.extents[move.dims[-1]]
                run = _where(extent.size < extent.length, move.bytes * extent.size, np.inf)
            slower = slower + bytes * (1 + self.machine.half_run / run)
        return _where(every > 0, slower / np.maximum(every, 1.0), 1.0)

    def inner_trips(self) -> Number:
        """Iterations of the longest loop directly inside the parallel ones; 1 if there is none."""
        grid = len(self.plan.grid)
        within: Number = 1.0
        for loops in self.plan.chains():
            if len(loops) > grid:
                within = np.maximum(within, self.trips(loops[grid : grid + 1]))
        return within

    def _ragged_rounds(self, workers: int) -> Number:
        """`idle` if each short last block goes to the worker that is free first; 0 if there are none."""
        full: Number = 1.0
        total: Number = 1.0
        parts: Number = 1.0
        for loop in self.plan.grid:
            extent = self.extents[loop.dim]
            full = full * np.floor(extent.length / extent.size)
            total = total * extent.blocks
            parts = parts * extent.length / np.minimum(extent.size, extent.length)
        short = total - full
        rounds = np.ceil(full / workers)
        left = np.maximum(0.0, short - (rounds * workers - full))
        size = _where(short > 0, (parts - full) / np.maximum(short, 1.0), 0.0)
        length = rounds + np.ceil(left / workers) * size
        return _where((short > 0) & (full > 0), length * workers / parts, 0.0)

    def misses(self, tier: Tier, touched: float) -> Number:
        """Bytes that a tier cannot deliver, so that the next one does."""
        assert tier.capacity is not None
        first = _overflow(touched, tier.capacity)
        private = self.plan.private_arrays()
        # What a task made for itself is still where it put it, if all that the task touches is.
        inner = _overflow(self.footprint(self.plan.grid[-1]), tier.capacity) if self.plan.grid else first
        total: Number = 0.0
        for move in self.plan.moves:
            own, again = self._once_and_refetched(move, tier, touched)
            once = np.minimum(first, inner) if move.array in private else first
            total = total + own * self.visible(move.loops) * (once + again - 1)
        return total

    def tile_seconds(self) -> Number:
        """Seconds of one worker to read and write tiles: results of contractions, and inputs and outputs of
        sweeps.

        They come from the nearest tier that holds all that the iteration around touches. Sweeps and
        contractions alternate, so nothing overlaps these moves.
        """
        seconds: Number = 0.0
        for each in self.plan.contractions:
            pieces = np.ceil(self.extents[each.depth].size / self.machine.panel_depth)
            bytes = 4 * self._along((each.rows, each.columns), each.loops) * pieces
            seconds = seconds + self._near_seconds(bytes, each.loops)
        for work in self.plan.vectors:
            if len(work.dims) > 1:
                bytes = 3 * self._along(work.dims, work.loops)
                seconds = seconds + self._near_seconds(bytes, work.loops)
        return seconds

    def _near_seconds(self, bytes: Number, loops: Sequence[Loop]) -> Number:
        around = self.footprint(loops[-1]) if loops else self.scratch()
        seconds: Number = 0.0
        beyond: Number = 1.0
        for tier in self.machine.tiers:
            further = 0.0 if tier.capacity is None else _overflow(around, tier.capacity)
            further = np.minimum(beyond, further)
            rate = tier.bandwidth / (self.machine.workers if tier.shared else 1)
            seconds = seconds + bytes * (beyond - further) / rate
            beyond = further
        return seconds

    def _once_and_refetched(self, move: Move, tier: Tier, touched: float) -> tuple[Number, Number]:
        """Bytes of a move with each element counted once, and the number of further times that they come from
        another tier.
        """
        assert tier.capacity is not None
        own, again = self._part(move, move.loops), 1.0
        for loop in move.loops:
            if loop in move.indexed or loop.dim in move.dims:
                continue
            trips = self.extents[loop.dim].blocks
            footprint, copies = self.footprint(loop), 1.0
            if loop.parallel and tier.shared:
                footprint = np.minimum(footprint * self.machine.workers, touched)
            elif loop.parallel:
                copies = np.minimum(self.machine.workers, trips)
            again = again * (copies + (trips - copies) * _overflow(footprint, tier.capacity))
        return own, again

    def footprint(self, loop: Loop) -> Number:
        """Bytes that one iteration of a loop touches: parts of arrays, and tiles."""
        known = self._footprints.get(loop)
        if known is None:
            known = self._footprints[loop] = self._footprint(loop)
        return known

    def _footprint(self, loop: Loop) -> Number:
        arrays: dict[object, Number] = {}
        for move in self.plan.moves:
            if loop in move.loops:
                inside = move.loops[move.loops.index(loop) + 1 :]
                size = self._part(move, inside)
                arrays[move.array] = np.maximum(size, arrays[move.array]) if move.array in arrays else size
        total = self.total(arrays.values())
        for tile in self.plan.tiles:
            if loop in tile.loops:
                total = total + tile.bytes * self._along(tile.dims, ())
        return total

    def _part(self, move: Move, inside: Sequence[Loop]) -> Number:
        """Bytes of an array that the iterations of some loops touch."""
        looped = {loop.dim for loop in inside}
        total: Number = float(move.bytes)
        for dim in move.dims:
            extent = self.extents[dim]
            total = total * (extent.length if dim in looped else np.minimum(extent.size, extent.length))
        for loop in inside:
            if loop in move.indexed and loop.dim not in move.dims:
                total = total * self.extents[loop.dim].blocks
        return total

    def scratch(self) -> Number:
        """Bytes of the tiles of one iteration of the parallel loops."""
        return self.total(tile.bytes * self._along(tile.dims, ()) for tile in self.plan.tiles)

    def registers(self) -> Number:
        """Bytes of the accumulators of the contractions of one iteration of the parallel loops."""
        width = {"f64": 8}
        return self.total(
            width.get(each.element_type, 4) * self._along((each.rows, each.columns), ())
            for each in self.plan.contractions
        )


def visible_part(rows: Extent, columns: int, offset: int) -> Number:
    """The part of a loop over columns that a causal mask leaves, for all blocks of rows on average.

    Row r sees the columns n <= r + offset; a block of rows goes as far as its last row.
    """
    sizes, inverse = np.unique(np.asarray(rows.size, dtype=np.float64), return_inverse=True)
    parts = [_visible_columns(rows.length, size, columns, offset) for size in sizes]
    return np.asarray(parts)[inverse].reshape(np.shape(rows.size))


def _visible_columns(rows: int, size: float, columns: int, offset: int) -> float:
    ends = np.minimum(np.arange(size, rows + size, size), rows)
    return float(np.mean(np.minimum(ends + offset, columns))) / columns


def _where(condition: Number, yes: Number, no: Number) -> Number:
    """numpy's `where`, typed for numbers and arrays."""
    return cast(Any, np.where(condition, yes, no))


def _rounded(number: Number, step: int) -> Number:
    return np.ceil(number / step) * step


def _overflow(bytes: Number, capacity: float) -> Number:
    """The part of what is touched that does not stay in a tier: 0 up to its capacity, 1 from twice the
    capacity on.
    """
    return np.clip(bytes / capacity - 1, 0.0, 1.0)
