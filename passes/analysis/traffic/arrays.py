"""Traffic of a block program with each array, and differences of its kernels from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import block
from .block import known_values, traffic_in_loops
from .kernel import KernelMoves
from .symbolic import ZERO, Polynomial

Bytes = tuple[Polynomial, Polynomial]
"""Bytes loaded, and bytes stored."""


def array_traffic(function: FuncOp) -> dict[str, Bytes]:
    """The bytes that a block program loads and stores, by the names of arrays; a list that is no view of an
    array has a name of its own.
    """
    dims = block.declared_dims(function) or {}
    found: dict[str, Bytes] = {}
    for op in function.body.walk():
        if isinstance(op, block.LoadOp | block.ReduceOp):
            name = _source(op.operands[0])
        elif isinstance(op, block.StoreOp):
            name = _target(op.result)
        else:
            continue
        traffic = traffic_in_loops(op, _loops(op), dims)
        loaded, stored = found.get(name, (ZERO, ZERO))
        found[name] = loaded + traffic.bytes_loaded, stored + traffic.bytes_stored
    return found


def _loops(op: Operation) -> tuple[str, ...]:
    """The dims of the maps around an operation, the outermost first."""
    found: list[str] = []
    scope = op.parent_op()
    while isinstance(scope, block.MapOp):
        found.insert(0, scope.dim_name)
        scope = scope.parent_op()
    return tuple(found)


def _source(value: SSAValue) -> str:
    """Return the array of which a list, or an item of one, is a part."""
    owner = value.owner
    while isinstance(owner, Block) and isinstance(around := owner.parent_op(), block.MapOp):
        value = around.operands[list(owner.args).index(value)]  # pyright: ignore[reportArgumentType]
        owner = value.owner
    if isinstance(owner, block.PartitionOp):
        value = owner.tensor
    return value.name_hint or "array"


def _target(value: SSAValue) -> str:
    """Return the array to which a stored item goes."""
    while True:
        use = next(iter(value.uses), None)
        if use is None or not isinstance(use.operation, block.YieldOp):
            break
        around = use.operation.parent_op()
        if not isinstance(around, block.MapOp):
            break
        value = around.results[use.index]
    for use in value.uses:
        if isinstance(use.operation, block.AssembleOp):
            return use.operation.result.name_hint or "array"
    return value.name_hint or "array"


def difference_lines(function: FuncOp, kernels: Sequence[KernelMoves]) -> list[str]:
    """Return a sentence for each array of which kernels read another number of bytes than the block program.

    Arrays whose traffic is not a number, because extents are unknown, are left out.
    """
    dims = block.declared_dims(function) or {}
    values = known_values(dims)
    lines: list[str] = []
    read, cut = _read(kernels), _cut(kernels)
    for name, (loaded, _) in array_traffic(function).items():
        own = read.get(name)
        if own is None or not loaded.symbols() <= values.keys():
            continue
        modelled = loaded.evaluate(values)
        if own < modelled:
            reason = "a mask hides the rest" if name in cut else "once for all iterations of a loop"
            lines.append(f"{name}: {own:,} bytes of {modelled:,}: {reason}")
        elif own > modelled:
            reason = "each block of threads, or each warp, for itself"
            lines.append(f"{name}: {own:,} bytes in place of {modelled:,}: {reason}")
    return lines


def _cut(kernels: Sequence[KernelMoves]) -> set[str]:
    """The arrays that are read in loops that end early."""
    return {
        each.name
        for moves in kernels
        for each in moves.arrays
        if any(symbol.until for symbol in each.read.symbols())
    }


def _read(kernels: Sequence[KernelMoves]) -> Mapping[str, int | None]:
    """The bytes of each array that kernels read together; None where there is no number."""
    found: dict[str, int | None] = {}
    for moves in kernels:
        for each in moves.arrays:
            number, before = moves.number(each.read), found.get(each.name, 0)
            if not each.own:
                found[each.name] = None if number is None or before is None else number + before
    return found
