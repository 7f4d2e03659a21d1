"""Tiles that an operation of a kernel reads and writes: each operation of the dialect declares its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ..diagnostics import OpError
from .types import CursorType, TileType

_DECLARATIONS = ("tiles_read", "tiles_written")


class KernelOp(IRDLOperation, ABC):
    """An operation of the `kernel` dialect: it declares which tiles and cursors it reads and writes.

    There is no default. Passes move, split and remove operations by these declarations, so a class of
    operations without both raises TypeError when it is defined; `NoTileEffects` defines them for operations
    that touch no tile. The values are operands of the operation itself. Operations in its regions declare
    their own.

    xDSL's `MemoryEffect` is not used for two reasons. Its effects are a set, but passes need an order that is
    the same in every run. And `dce` and `cse` erase and merge operations that have it.
    """

    @property
    @abstractmethod
    def tiles_read(self) -> tuple[SSAValue, ...]:
        """The operands whose elements it reads: tiles, and cursors for the blocks of their arrays."""

    @property
    @abstractmethod
    def tiles_written(self) -> tuple[SSAValue, ...]:
        """The operands whose elements it writes."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "name"):
            return  # a base of several operations
        missing = [
            name for name in _DECLARATIONS if getattr(getattr(cls, name), "__isabstractmethod__", False)
        ]
        if missing:
            raise TypeError(f"{cls.name}: {cls.__name__} does not define {' and '.join(missing)}")


class NoTileEffects(KernelOp):
    """An operation that reads and writes no tile itself."""

    @property
    def tiles_read(self) -> tuple[SSAValue, ...]:
        return ()

    @property
    def tiles_written(self) -> tuple[SSAValue, ...]:
        return ()


def with_effects(operations: Sequence[type[Operation]]) -> list[type[Operation]]:
    """Return the operations of the dialect. Raises TypeError for one that is no `KernelOp`."""
    for operation in operations:
        if not issubclass(operation, KernelOp):
            raise TypeError(f"{operation.name}: {operation.__name__} declares no effects, it is no KernelOp")
    return list(operations)


def tiles_read(op: Operation) -> tuple[SSAValue, ...]:
    """The tiles (and cursors) that one operation reads, without the operations in its regions.

    An operation of another dialect reads none. Raises OpError if such an operation has tiles as operands or
    results.
    """
    return op.tiles_read if isinstance(op, KernelOp) else _no_tiles(op)


def tiles_written(op: Operation) -> tuple[SSAValue, ...]:
    """The tiles (and cursors) that one operation writes, without the operations in its regions.

    An operation of another dialect writes none. Raises OpError if such an operation has tiles as operands or
    results.
    """
    return op.tiles_written if isinstance(op, KernelOp) else _no_tiles(op)


def _no_tiles(op: Operation) -> tuple[SSAValue, ...]:
    for value in (*op.operands, *op.results):
        if isinstance(value.type, TileType | CursorType):
            raise OpError(
                op,
                f"has a value of {value.type}, but only operations of the kernel dialect declare what they "
                "read and write",
            )
    return ()


def readers(tile: SSAValue) -> list[Operation]:
    """The operations that read a tile."""
    return list(dict.fromkeys(use.operation for use in tile.uses if tile in tiles_read(use.operation)))


def writers(tile: SSAValue) -> list[Operation]:
    """The operations that write a tile."""
    return list(dict.fromkeys(use.operation for use in tile.uses if tile in tiles_written(use.operation)))
