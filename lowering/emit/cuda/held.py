"""Tiles in registers, and the rows and columns of a block that a warp holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....dialects import kernel
from ..source_text import comment_text
from .geometry import Dim


@dataclass(frozen=True)
class Rows:
    """The rows of a dim's blocks that a warp holds: their number, the first one, and the number in the
    block.
    """

    count: str
    first: str
    in_block: int

    def declarations(self, warps: int, columns: int) -> list[str]:
        """The lines that declare them, for a grid of warps."""
        warp = "bb::warp_id()" if columns == 1 else f"bb::warp_id() / {columns}"
        return [
            f"constexpr int {self.count} = {self.in_block // warps};  // of each tile, in a warp's registers",
            f"const int {self.first} = {warp} * {self.count};",
        ]


@dataclass(frozen=True)
class Columns:
    """The columns of a dim's blocks that a warp holds: their number, the first one, and the number in a
    block.
    """

    count: int
    first: str
    in_block: int

    @property
    def column(self) -> str:
        """Expression of the column of the current element, `c`, in the block's tile."""
        return "c.col()" if self.first == "0" else f"{self.first} + c.col()"

    def lines(self, dims: Mapping[str, Dim]) -> list[str]:
        """The line that declares the first one, if columns are divided among warps."""
        if self.count == self.in_block:
            return []
        across = self.in_block // self.count
        return [f"const int {self.first} = bb::warp_id() % {across} * {self.count};"]


@dataclass(frozen=True)
class WarpGrid:
    """The warps among which tiles in registers are divided: numbers of warps along rows and along columns."""

    warps: int
    columns: int
    rows: Mapping[str, Rows]
    """Of the dims whose blocks are divided."""

    def declarations(self) -> list[str]:
        """The lines that declare the rows of a warp."""
        return [line for each in self.rows.values() for line in each.declarations(self.warps, self.columns)]


@dataclass(frozen=True)
class Held:
    """A tile in registers: of a warp's rows and columns; of rows alone, if it is a vector over them."""

    name: str
    type: kernel.TileType
    rows: Rows
    cols: Columns | None

    @property
    def columns(self) -> int:
        """The columns that a warp holds."""
        return 0 if self.cols is None else self.cols.count

    @property
    def col0(self) -> str:
        """The first of them."""
        return "0" if self.cols is None else self.cols.first

    def lines(self, dims: Mapping[str, Dim]) -> list[str]:
        """The line that declares it."""
        shape = f"[{', '.join(comment_text(dim) for dim in self.type.dims)}]"
        if len(self.type.dims) == 1:
            return [f"bb::row_vec<{self.rows.count}> {self.name};  // {shape}"]
        return [f"bb::acc_tile<{self.rows.count}, {self.columns}> {self.name};  // {shape}"]
