"""Names of the dims of a kernel and of their blocks in emitted source, in C++ as in CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...dialects import block, kernel
from ...dialects.kernel import Quantity


@dataclass(frozen=True)
class BlockNames:
    """Names of a dim: the extent `M`, its block size `Mblock`, its number of blocks `Mblocks`; and of the
    current block the number `Mi`, the first element `M0`, and the width `Mn`.
    """

    extent: str
    declared: block.DimAttr

    SUFFIXES = ("block", "blocks", "i", "0", "n")

    @property
    def size(self) -> str:
        return f"{self.extent}block"

    @property
    def blocks(self) -> str:
        return f"{self.extent}blocks"

    @property
    def number(self) -> str:
        return f"{self.extent}i"

    @property
    def start(self) -> str:
        return f"{self.extent}0"

    @property
    def width(self) -> str:
        return f"{self.extent}n"

    @property
    def trips(self) -> str:
        """Number of iterations of a loop over the dim."""
        return self.extent if self.declared.is_batch else self.blocks

    def after(self, offset: int) -> str:
        """Expression of the element `offset` elements after the last one of the current block."""
        batch = self.declared.is_batch
        end = f"{self.number} + 1" if batch else f"{self.start} + {self.width}"
        return f"{end} + {offset}" if offset else end

    def quantity(self, kind: Quantity) -> str | None:
        """Return a quantity that is the same for the current block; None for an index, which differs."""
        batch = self.declared.is_batch
        match kind:
            case Quantity.Extent:
                return self.extent
            case Quantity.Width:
                return "1" if batch else self.width
            case Quantity.Blocks:
                return self.trips
            case Quantity.Index:
                return self.number if batch else None


def block_offset(
    cursor: kernel.CursorOp, name: str, item: Sequence[str], dims: Mapping[str, BlockNames]
) -> str | None:
    """Return the first element, along a dim, of the block that a cursor points to; None if that is zero.

    Along a dim that the item, with the dims `item`, does not have, it is the number of the block.
    """
    if name in cursor.first_dims or name in cursor.here_dims or dims[name].declared.is_whole:
        return None
    return dims[name].start if name in item else dims[name].number


def block_width(cursor: kernel.CursorOp, name: str, dims: Mapping[str, BlockNames], minimum: str) -> str:
    """Return the number of elements, along a dim, of the block that a cursor points to.

    `minimum` is the target's function of two numbers.
    """
    if name in cursor.first_dims and not dims[name].declared.is_whole:
        return f"{minimum}({dims[name].size}, {dims[name].extent})"
    return dims[name].width
