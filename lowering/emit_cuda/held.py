"""Tiles in registers: which rows and columns of a block a warp holds."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import kernel


@dataclass(frozen=True)
class Rows:
    """The rows of a dim's blocks that a warp holds: how many, the first one, and how many the block has."""

    count: str
    first: str
    in_block: int

    def declarations(self, warps: int, columns: int) -> list[str]:
        """The lines that declare them, for so many warps along rows and along columns."""
        warp = "bb::warp_id()" if columns == 1 else f"bb::warp_id() / {columns}"
        return [
            f"constexpr int {self.count} = {self.in_block // warps};  // of each tile, in a warp's registers",
            f"const int {self.first} = {warp} * {self.count};",
        ]


@dataclass(frozen=True)
class Columns:
    """The columns of a dim's blocks that a warp holds: how many, the first one, and how many a block has."""

    count: int
    first: str
    in_block: int


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

    @property
    def column(self) -> str:
        """The column of the element at hand, `c`, in the block's tile."""
        return "c.col()" if self.col0 == "0" else f"{self.col0} + c.col()"

    @property
    def declaration(self) -> str:
        """The line that declares it."""
        if len(self.type.dims) == 1:
            return f"bb::row_vec<{self.rows.count}> {self.name};"
        return f"bb::acc_tile<{self.rows.count}, {self.columns}> {self.name};"
