"""`kernel-speculate`: kernels compute as if all rows were ordinary, and once more where a row is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, ModuleOp, f32, f64
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ....dialects import kernel
from ....dialects.attributes import LIKELY
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.data_flow import dependencies_first
from .dead import drop_dead
from .folding import assume, fold
from .loops import fuse_loops


@dataclass(frozen=True)
class KernelSpeculatePass(ModulePass):
    """Compute as if the condition of every likely `arith.select` held, and all once more where one did not.

    `block-stabilize` scales rows by powers of two where their squares would overflow or vanish. Few rows need
    it, but sums would be computed twice for all of them, and what is multiplied by the scale would wait for
    it. So a kernel takes the scale for 1: the second sums are dropped, and a loop that waited for the scale
    becomes one with the loop before it. A sweep compares; where it finds a row that needs the scale, the
    kernel's body as it was before, in a `kernel.redo`, computes the results of the current blocks again.
    Ordinary rows keep every bit: their scale is 1 there, too. (But a target that divides the iterations of a
    loop among threads does not divide those of the redo, which adds them in order.)
    """

    name = "kernel-speculate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for parallel in [each for each in op.walk() if isinstance(each, kernel.ParallelOp)]:
            speculate(parallel)


def speculate(parallel: kernel.ParallelOp) -> bool:
    """Rewrite one parallel loop; return False if nothing in it is likely, or not all can be assumed."""
    body = parallel.body.block
    selects = [op for op in parallel.walk() if isinstance(op, arith.SelectOp) and LIKELY in op.attributes]
    if not selects or not all(_may_assume(select, parallel) for select in selects):
        return False
    careful = parallel.body.clone()
    for op in careful.walk():
        op.attributes.pop(LIKELY, None)
    far: dict[object, SSAValue] = {}
    for select in selects:
        key = _key(select.cond, _sweep_of(select))
        if key not in far:
            far[key] = _compute_apart(select, parallel)
    assume(selects)
    fold(parallel)
    drop_dead(parallel, far.values())
    fuse_loops(body)
    body.add_op(kernel.RedoOp(list(far.values()), careful))
    return True


def _sweep_of(select: Operation) -> kernel.SweepOp:
    sweep = select.parent_op()
    assert isinstance(sweep, kernel.SweepOp)
    return sweep


def _may_assume(select: arith.SelectOp, parallel: kernel.ParallelOp) -> bool:
    """True if a condition is computed once for each row of the current blocks."""
    sweep = select.parent_op()
    if not isinstance(sweep, kernel.SweepOp) or sweep.parent is not parallel.body.block:
        return False
    return len(_dims(select.cond, sweep)) <= 1


def _slice(value: SSAValue) -> Iterator[SSAValue]:
    """A scalar and those that it is computed from, each once, operands first."""
    return dependencies_first(
        value, lambda each: each.owner.operands if isinstance(each.owner, Operation) else ()
    )


def _tiles(value: SSAValue, sweep: kernel.SweepOp) -> list[SSAValue]:
    """The inputs of a sweep that a scalar in it is computed from."""
    arguments = (each for each in _slice(value) if isinstance(each, BlockArgument))
    return list(dict.fromkeys(sweep.inputs[argument.index] for argument in arguments))


def _dims(value: SSAValue, sweep: kernel.SweepOp) -> tuple[str, ...]:
    """The dims of a sweep along which a scalar in it changes."""
    named = {dim for tile in _tiles(value, sweep) for dim in kernel.dims_of(tile)}
    return tuple(dim for dim in sweep.dims if dim in named)


def _key(value: SSAValue, sweep: kernel.SweepOp) -> object:
    """Equal for scalars that are computed alike from the same tiles."""
    numbers: dict[SSAValue, int] = {}
    steps: list[object] = []
    for each in _slice(value):
        numbers[each] = len(steps)
        if isinstance(each, BlockArgument):
            steps.append(sweep.inputs[each.index])
            continue
        op = each.owner
        assert isinstance(op, Operation)
        properties = tuple(sorted((name, str(attribute)) for name, attribute in op.properties.items()))
        steps.append((op.name, properties, tuple(numbers[operand] for operand in op.operands)))
    return tuple(steps)


def _compute_apart(select: arith.SelectOp, parallel: kernel.ParallelOp) -> SSAValue:
    """Compute a condition in a sweep before the one that has it: 1 for the rows for which it fails."""
    sweep = _sweep_of(select)
    tiles, dims = _tiles(select.cond, sweep), _dims(select.cond, sweep)
    type = f64 if any(isinstance(value.type, Float64Type) for value in _slice(select.cond)) else f32
    tile = kernel.TileOp(kernel.TileType(dims, type))
    tile.result.name_hint = "far"
    parallel.body.block.insert_op_before(tile, _first(parallel))
    body = kernel.scalar_block(tiles)
    known: dict[SSAValue, SSAValue] = {}
    for argument, own in zip(body.args, tiles, strict=True):
        argument.name_hint = own.name_hint
        known |= {
            old: argument
            for old, value in zip(sweep.body.block.args, sweep.inputs, strict=True)
            if value is own
        }
    scalars = ScalarBuilder(Builder(InsertPoint.at_end(body)))
    for value in _slice(select.cond):
        if isinstance(value.owner, Operation):
            scalars.insert(value.owner.clone(known))
    far = scalars.select(known[select.cond], scalars.constant(0.0, type), scalars.constant(1.0, type))
    body.add_op(kernel.YieldOp(far))
    outputs: Sequence[tuple[kernel.Output, SSAValue]] = [(kernel.Output.Each, tile.result)]
    parallel.body.block.insert_op_before(kernel.SweepOp(dims, tiles, outputs, Region(body)), sweep)
    return tile.result


def _first(parallel: kernel.ParallelOp) -> Operation:
    first = parallel.body.block.first_op
    assert first is not None
    return first
