"""Declarations of a kernel that the text of its operations refers to: dims, tiles, windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from .geometry import Dim, Window
from .held import Held, Rows, WarpGrid
from .memory import Memory
from .tiles import SwizzledTile, Tile


class Form(Enum):
    """Ways in which the threads of a block do an operation, by the memory of its tiles."""

    Memory = "has no form on a GPU"
    """The elements of tiles in shared or global memory are divided among all threads."""
    SharedRows = "has no form on left operands in shared memory"
    """The rows of swizzled tiles that warps multiply are divided among all threads."""
    Registers = "has no form on tiles in registers"
    """A warp works on the rows that it holds."""
    Rows = "has no form on rows in registers"
    """A group of threads holds a whole row."""

    @property
    def refusal(self) -> str:
        """The error message for an operation without this form."""
        return self.value


@dataclass(frozen=True)
class RowGroup:
    """The threads that hold a row together, and their tiles."""

    group: int
    """Number of threads."""
    rows: str
    """The dim of the rows."""
    columns: str
    """The dim along a row."""
    vector: int
    """Elements of an access."""
    length: int
    """Elements of a row."""
    names: Mapping[SSAValue, str]
    """Of the tiles; a vector over rows is one number, for the current row."""

    @property
    def pieces(self) -> int:
        """Number of accesses of a thread to a row."""
        return -(-self.length // (self.group * self.vector))

    @property
    def is_cut(self) -> bool:
        """True if threads hold elements beyond the end of a row."""
        return self.pieces * self.group * self.vector != self.length

    def has_piece(self, tile: SSAValue) -> bool:
        """True if a thread holds pieces of rows of a tile; false for a vector over rows."""
        return self.columns in kernel.tile_type(tile).dims

    def declarations(self) -> list[str]:
        """The lines that declare the tiles."""
        kinds = {tile: "Row" if self.has_piece(tile) else "float" for tile in self.names}
        return [
            f"using Row = bb::row_piece<{self.group}, {self.vector}, {self.pieces}>;",
            *(f"{kinds[tile]} {name};" for tile, name in self.names.items()),
        ]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The dims, tiles and windows of one kernel.

    The planner adds windows and stages when it meets cursors and loops; the writer reads all of them.
    """

    dims: Mapping[str, Dim]
    memory: Memory
    grid: WarpGrid | None = None
    """Of warps that hold tiles in registers; None without such tiles."""
    row_group: RowGroup | None = None
    """Of a kernel that holds whole rows in registers."""
    approximate: bool = False
    """True if approximate functions are allowed: all results are rounded to fewer bits than f32 has."""
    windows: Mapping[SSAValue, Window]
    """The current block of each cursor."""
    stages: Mapping[SSAValue, str]
    """The variable with the current stage of each swizzled tile with several stages."""

    @property
    def held(self) -> Mapping[SSAValue, Held]:
        """Tiles in registers."""
        return self.memory.held

    @property
    def rows(self) -> Mapping[str, Rows]:
        """The rows that a warp holds, by the dims whose blocks are divided."""
        return {} if self.grid is None else self.grid.rows

    @property
    def group(self) -> RowGroup:
        """The group of threads that holds a row. Only for the operations of such a kernel."""
        assert self.row_group is not None
        return self.row_group

    def tile(self, tile: SSAValue) -> Tile:
        """A tile in shared or global memory; for one with several stages, the current one."""
        found = self.memory.tiles[tile]
        return replace(found, pointer=self._stage(tile, found)) if tile in self.stages else found

    def staged(self, tile: SSAValue) -> SwizzledTile:
        """A swizzled tile; for one with several stages, the current one."""
        found = self.memory.staged[tile]
        return replace(found, pointer=self._stage(tile, found)) if tile in self.stages else found

    def is_staged(self, tile: SSAValue) -> bool:
        """True for a swizzled tile in shared memory."""
        return tile in self.memory.staged

    def _stage(self, tile: SSAValue, found: Tile) -> str:
        return f"{found.pointer}[{self.stages[tile]}]"

    def width(self, dim: str | None) -> str:
        """Expression of the number of elements of the current block along a dim; 1 without a dim."""
        return "1" if dim is None else self.dims[dim].width

    def form_of(self, op: Operation) -> Form:
        """The form of an operation on tiles."""
        if self.row_group is not None:
            return Form.Rows
        if any(value in self.held for value in op.operands):
            return Form.Registers
        if isinstance(op, kernel.SweepOp) and len(op.dims) == 2 and op.dims[0] in self.rows:
            return Form.SharedRows
        return Form.Memory
