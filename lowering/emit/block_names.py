"""Names of the dims of a kernel and of their blocks in emitted source, in C++ as in CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import block
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
