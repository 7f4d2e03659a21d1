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
from .dead import drop_dead
from .folding import assume, fold
from .loops import fuse_loops


@dataclass(frozen=True)
class KernelSpeculatePass(ModulePass):
    """Compute as if every comparison that is marked as likely held, and all once more where one did not.

    `block-stabilize` scales rows by powers of two where their squares would overflow or vanish. Few rows need
    it, but sums would be computed twice for all of them, and what is multiplied by the scale would wait for
    it. So the kernel takes the scale for 1: the second sums are dropped, and a loop that waited for the scale
    becomes one with the loop before it. A sweep compares; where it finds a row that needs the scale, the
    kernel's body as it was before, in a `kernel.redo`, computes the results of the current blocks again.
    Ordinary rows keep every bit: their scale is 1 there, too.
    """

    name = "kernel-speculate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for parallel in [each for each in op.walk() if isinstance(each, kernel.ParallelOp)]:
            speculate(parallel)


def speculate(parallel: kernel.ParallelOp) -> bool:
    """Rewrite one parallel loop; return False if nothing in it is likely, or not all can be assumed."""
    body = parallel.body.block
    compares = [op for op in parallel.walk() if isinstance(op, arith.CmpfOp) and LIKELY in op.attributes]
    if not compares or not all(_may_assume(compare, parallel) for compare in compares):
        return False
    careful = parallel.body.clone()
    for op in careful.walk():
        op.attributes.pop(LIKELY, None)
    conditions: dict[object, SSAValue] = {}
    for compare in compares:
        key = _key(compare.result, _sweep_of(compare))
        if key not in conditions:
            conditions[key] = _compare_apart(compare, parallel)
    assume(compares)
    fold(parallel)
    drop_dead(parallel, conditions.values())
    fuse_loops(body)
    body.add_op(kernel.RedoOp(list(conditions.values()), careful))
    return True


def _sweep_of(compare: Operation) -> kernel.SweepOp:
    sweep = compare.parent_op()
    assert isinstance(sweep, kernel.SweepOp)
    return sweep


def _may_assume(compare: arith.CmpfOp, parallel: kernel.ParallelOp) -> bool:
    """True if a comparison is done once for each row of the current blocks, and only selects by it."""
    sweep = compare.parent_op()
    if not isinstance(sweep, kernel.SweepOp) or sweep.parent is not parallel.body.block:
        return False
    selects = all(isinstance(use.operation, arith.SelectOp) and use.index == 0 for use in compare.result.uses)
    return selects and len(_dims(compare, sweep)) <= 1


def _slice(value: SSAValue) -> Iterator[SSAValue]:
    """A scalar and those that it is computed from, operands first."""
    if isinstance(value.owner, Operation):
        for operand in value.owner.operands:
            yield from _slice(operand)
    yield value


def _tiles(value: SSAValue, sweep: kernel.SweepOp) -> list[SSAValue]:
    """The inputs of a sweep that a scalar in it is computed from."""
    arguments = (each for each in _slice(value) if isinstance(each, BlockArgument))
    return list(dict.fromkeys(sweep.inputs[argument.index] for argument in arguments))


def _dims(compare: arith.CmpfOp, sweep: kernel.SweepOp) -> tuple[str, ...]:
    named = {dim for tile in _tiles(compare.result, sweep) for dim in kernel.dims_of(tile)}
    return tuple(dim for dim in sweep.dims if dim in named)


def _key(value: SSAValue, sweep: kernel.SweepOp) -> object:
    """Equal for scalars that are computed alike from the same tiles."""
    if isinstance(value, BlockArgument):
        return sweep.inputs[value.index]
    op = value.owner
    assert isinstance(op, Operation)
    properties = tuple(sorted((name, str(attribute)) for name, attribute in op.properties.items()))
    return op.name, properties, tuple(_key(operand, sweep) for operand in op.operands)


def _compare_apart(compare: arith.CmpfOp, parallel: kernel.ParallelOp) -> SSAValue:
    """Compare in a sweep of its own, before the one that does: 1 for the rows for which it does not hold."""
    sweep = _sweep_of(compare)
    tiles, dims = _tiles(compare.result, sweep), _dims(compare, sweep)
    wide = isinstance(compare.lhs.type, Float64Type)
    tile = kernel.TileOp(kernel.TileType(dims, f64 if wide else f32))
    tile.result.name_hint = "far"
    parallel.body.block.insert_op_before(tile, _first(parallel))
    body = kernel.scalar_block(tiles)
    known: dict[SSAValue, SSAValue] = {}
    for argument, own in zip(body.args, tiles, strict=True):
        argument.name_hint = own.name_hint
        known[sweep.body.block.args[list(sweep.inputs).index(own)]] = argument
    scalars = ScalarBuilder(Builder(InsertPoint.at_end(body)))
    for value in dict.fromkeys(_slice(compare.result)):
        if isinstance(value.owner, Operation):
            copy = value.owner.clone(known)
            copy.attributes.pop(LIKELY, None)
            scalars.insert(copy)
    type = kernel.element_type_of(tile.result)
    far = scalars.select(known[compare.result], scalars.constant(0.0, type), scalars.constant(1.0, type))
    body.add_op(kernel.YieldOp(far))
    outputs: Sequence[tuple[kernel.Output, SSAValue]] = [(kernel.Output.Each, tile.result)]
    parallel.body.block.insert_op_before(kernel.SweepOp(dims, tiles, outputs, Region(body)), sweep)
    return tile.result


def _first(parallel: kernel.ParallelOp) -> Operation:
    first = parallel.body.block.first_op
    assert first is not None
    return first
