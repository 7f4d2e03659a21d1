"""Which tiles an operation of a kernel reads and writes."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from .compute import ContractOp, FillOp, LoadOp, MoveOp, StoreOp, SweepOp
from .structure import FuncOp


def tiles_read(op: Operation) -> tuple[SSAValue, ...]:
    """The tiles (and cursors) that one operation, without what it contains, reads."""
    match op:
        case LoadOp() | MoveOp() | StoreOp():
            return (op.source,)
        case ContractOp():
            scale = () if op.scale is None else (op.scale,)
            kept = (op.accumulator,) if op.accumulates or op.scale is not None else ()
            return (op.lhs, op.rhs, *scale, *kept)
        case SweepOp():
            return tuple(op.inputs)
        case _:
            return ()


def tiles_written(op: Operation) -> tuple[SSAValue, ...]:
    """The tiles (and cursors) that one operation, without what it contains, writes."""
    match op:
        case LoadOp() | MoveOp() | StoreOp():
            return (op.target,)
        case ContractOp():
            return (op.accumulator,)
        case FillOp():
            return (op.tile,)
        case SweepOp():
            return tuple(op.outputs)
        case _:
            return ()


def readers(tile: SSAValue) -> list[Operation]:
    """The operations that read a tile."""
    return list(dict.fromkeys(use.operation for use in tile.uses if tile in tiles_read(use.operation)))


def writers(tile: SSAValue) -> list[Operation]:
    """The operations that write a tile."""
    return list(dict.fromkeys(use.operation for use in tile.uses if tile in tiles_written(use.operation)))


def sweeps_only(function: FuncOp) -> bool:
    """Whether a kernel contracts nothing: it sweeps over rows, and waits for memory more than it computes."""
    return not any(isinstance(op, ContractOp) for op in function.walk())
