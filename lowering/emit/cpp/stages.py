"""Stages of a kernel whose loops may be divided among threads, and the tiles that must outlive one stage.

Between two divided loops, and after the last, a task has one thread of its own;
`runtime/include/bb/split.hpp` describes the order. An even stage is a part of a loop (the first with the
operations before the loop). An odd one merges the parts, and continues up to the next loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import kernel
from .windows import DimNames
from .work import Work, static_trips

PIECES = 16
"""Parts of all tasks together: enough for as many workers, and for a balanced load of a few."""
PIECE_WORK = 1 << 20
"""Operations that a part must have: about a tenth of a millisecond."""
REPEATED = 16
"""Least ratio of a part's operations to the additional operations that each part repeats."""


def single_stage(op: kernel.ParallelOp, dims: Mapping[str, DimNames]) -> Stages:
    """All of a parallel loop as one stage."""
    work = Work(dims)
    work.add(op.body.block.ops, op.dim_names)
    nothing = frozenset[SSAValue]()
    return Stages((tuple(op.body.block.ops),), (), nothing, nothing, work, Work(dims))


@dataclass(frozen=True)
class Stages:
    """The operations of a parallel loop by stages."""

    ops: tuple[tuple[Operation, ...], ...]
    """Operations of each stage, without the merge at the beginning of an odd one."""
    loops: tuple[kernel.ForOp, ...]
    """The divided loops, in order: the last operation of each even stage."""
    kept: frozenset[SSAValue]
    """Tiles that several stages use."""
    shared: frozenset[SSAValue]
    """Buffers that several stages use: one for all parts of a task."""
    work: Work
    """Operations of all tasks."""
    repeated: Work
    """Operations that each part does in addition."""

    def parts(self, tasks: str, trips: Sequence[str]) -> str:
        """Expression of the number of parts of each task, from the numbers of tasks and of iterations."""
        if not trips:
            return "1"
        most = trips[0] if len(set(trips)) == 1 else f"std::max({{{', '.join(dict.fromkeys(trips))}}})"
        least, repeated = str(PIECE_WORK), str(self.repeated)
        if repeated != "0":
            least = f"std::max<bb::idx>({least}, {REPEATED} * ({repeated}))"
        return f"bb::parts({tasks}, {most}, work, {least}, {PIECES})"


def stages_of(op: kernel.ParallelOp, dims: Mapping[str, DimNames]) -> Stages | None:
    """The stages of a parallel loop; None if no iterations can be divided, or if it is known that none will
    be.
    """
    body = op.body.block
    loops = tuple(inner for inner in body.ops if isinstance(inner, kernel.ForOp) and inner.merge is not None)
    if not loops:
        return None
    groups = _groups(body, loops)
    first = groups[0][:-1]
    if any(isinstance(inner, kernel.StoreOp | kernel.Loop) for each in first for inner in each.walk()):
        return None  # parts would write the same places, or do much again
    work, repeated = Work(dims), Work(dims)
    work.add(body.ops, op.dim_names)
    repeated.add(first)
    for loop in loops:
        assert loop.merge is not None
        repeated.add(loop.merge.block.ops)
    if not _worth_it(op, loops, work, dims):
        return None
    stage_of = {each: number for number, group in enumerate(groups) for each in group}
    tiles: set[SSAValue] = set()
    buffers: set[SSAValue] = set()
    for inner in op.walk():
        if isinstance(inner, kernel.TileOp) and len(set(_stages(inner.result, body, stage_of))) > 1:
            tiles.add(inner.result)
        elif isinstance(inner, kernel.BufferOp):
            used = {
                stage
                for use in inner.result.uses
                for stage in _stages(use.operation.results[0], body, stage_of)
            }
            if len(used) > 1:
                buffers.add(inner.result)
    return Stages(
        tuple(tuple(group) for group in groups), loops, frozenset(tiles), frozenset(buffers), work, repeated
    )


def _groups(body: Block, loops: Sequence[kernel.ForOp]) -> list[list[Operation]]:
    groups: list[list[Operation]] = [[]]
    for op in body.ops:
        if op in loops:
            if len(groups) % 2 == 0:  # a loop has a stage of its own, but for the first
                groups.append([])
            groups[-1].append(op)
            groups.append([])
        else:
            groups[-1].append(op)
    last = loops[-1].merge
    if not groups[-1] and last is not None and not last.block.ops:
        groups.pop()
    return groups


def _worth_it(
    op: kernel.ParallelOp, loops: Sequence[kernel.ForOp], work: Work, dims: Mapping[str, DimNames]
) -> bool:
    trips = [static_trips(dims[name]) for name in op.dim_names]
    tasks = prod(each or 1 for each in trips)  # at least so many
    if tasks >= PIECES or all(static_trips(dims[loop.dim_names[0]]) == 1 for loop in loops):
        return False
    number = work.number
    return number is None or number // tasks >= 2 * PIECE_WORK


def _stages(value: SSAValue, body: Block, stage_of: Mapping[Operation, int]) -> Iterator[int]:
    """The stages of the operations that use a tile or a cursor."""
    for use in value.uses:
        op, region = use.operation, use.operation.parent
        if isinstance(op, kernel.ForOp):
            continue  # only says what its regions do
        while region is not body and region is not None:
            parent = region.parent_op()
            assert parent is not None
            op, inner, region = parent, region, parent.parent
            if region is body and isinstance(op, kernel.ForOp) and op.merge is not None:
                yield stage_of[op] + (inner is op.merge.block)
                break
        else:
            yield stage_of[op]
