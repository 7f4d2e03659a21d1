"""Traffic of kernels with arrays, as functions of their dims.

Every load moves the current block of its cursor, every store too, in each iteration of the loops around it. A
load that `kernel-hoist` moved out of a loop therefore counts once for each iteration of the remaining loops.
In a loop that ends early, `kernel.for @N until @M`, only visited blocks count: `until(#M·N)` is the number of
elements of N that the loop visits, summed over the blocks of M. A `kernel.redo` counts as not taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel.placement import GROUP_ATTRIBUTE, THREADS_ATTRIBUTE, integer, warp_grid
from .block import item_bytes, known_values
from .symbolic import ZERO, Polynomial, Symbol


@dataclass(frozen=True)
class ArrayMoves:
    """The bytes of one array that a kernel reads and writes; `own` of a list that an iteration keeps."""

    name: str
    read: Polynomial = ZERO
    written: Polynomial = ZERO
    own: bool = False


@dataclass(frozen=True)
class KernelMoves:
    """The traffic of one kernel: its arrays in order, then its buffers."""

    name: str
    dims: Mapping[str, block.DimAttr]
    arrays: tuple[ArrayMoves, ...]

    @property
    def total(self) -> ArrayMoves:
        """The sums over all arrays."""
        read, written = ZERO, ZERO
        for each in self.arrays:
            read, written = read + each.read, written + each.written
        return ArrayMoves("total", read, written)

    def number(self, expression: Polynomial, extents: Mapping[str, int] | None = None) -> int | None:
        """The value of an expression; None where it needs an extent that is neither declared nor given."""
        values = known_values(self.dims)
        known = {name: dim.static_extent for name, dim in self.dims.items() if dim.static_extent is not None}
        for name, extent in (extents or {}).items():
            known[name] = extent
            size = self.dims[name].block_size
            values[Symbol(name)] = extent
            if size is not None:
                values[Symbol(name, blocks=True)] = -(-extent // size)
                values[Symbol(name, first=True)] = min(extent, size)
        for symbol in expression.symbols():
            if symbol.until and symbol.dim in known and symbol.until in known:
                values[symbol] = _visited(symbol, self.dims, known)
        return expression.evaluate(values) if expression.symbols() <= values.keys() else None


def _visited(symbol: Symbol, dims: Mapping[str, block.DimAttr], extents: Mapping[str, int]) -> int:
    """Return the number of elements that a loop with an early end visits, over all blocks that end it."""
    extent, end = extents[symbol.dim], extents[symbol.until]
    step = end if dims[symbol.until].is_whole else dims[symbol.until].block_size or 1
    size = extent if dims[symbol.dim].is_whole else dims[symbol.dim].block_size or 1
    total = 0
    for begin in range(0, end, step):
        after = min(begin + step, end)
        visited = min(extent, after + symbol.offset)
        blocks = -(-visited // size)
        own = blocks if symbol.blocks else min(extent, blocks * size) if symbol.whole else visited
        total += own * (after - begin if symbol.rows else 1)
    return total


def moves_of_module(module: ModuleOp) -> list[KernelMoves]:
    """Return the traffic of each kernel. Raises OpError for loops with early ends inside each other."""
    return [moves_of_kernel(function) for function in kernel.kernels_of(module)]


def moves_of_kernel(function: kernel.FuncOp) -> KernelMoves:
    """Return the traffic of a kernel. Raises OpError if two loops around a load have different early ends."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    found: dict[SSAValue, ArrayMoves] = {
        argument: ArrayMoves(argument.name_hint or f"array{number}")
        for number, argument in enumerate(function.body.block.args)
    }
    for op in function.walk():
        if kernel.in_redo(op):
            continue
        match op:
            case kernel.BufferOp():
                found[op.result] = ArrayMoves(op.result.name_hint or "list", own=True)
            case kernel.LoadOp() | kernel.StoreOp():
                value = op.source if isinstance(op, kernel.LoadOp) else op.target
                _add(found, op, value, dims)
            case kernel.ContractOp():
                for value in (op.lhs, op.rhs):
                    if isinstance(value.type, kernel.CursorType):
                        _add(found, op, value, dims)
            case _:
                pass
    return KernelMoves(function.sym_name.data, dims, tuple(found.values()))


def _add(
    found: dict[SSAValue, ArrayMoves], op: Operation, value: SSAValue, dims: Mapping[str, block.DimAttr]
) -> None:
    """Add what one operation moves of the block that a cursor sees."""
    cursor = value.owner
    assert isinstance(cursor, kernel.CursorOp)
    bytes = _bytes(op, cursor, dims) * _copies(op, cursor)
    before = found[cursor.array]
    if isinstance(op, kernel.StoreOp):
        found[cursor.array] = ArrayMoves(before.name, before.read, before.written + bytes, before.own)
    else:
        found[cursor.array] = ArrayMoves(before.name, before.read + bytes, before.written, before.own)


def _bytes(op: Operation, cursor: kernel.CursorOp, dims: Mapping[str, block.DimAttr]) -> Polynomial:
    """The bytes of a cursor's block, summed over all iterations of the loops around an operation."""
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    around: list[str] = []
    parts: set[str] = set()
    early: kernel.ForOp | None = None
    scope = op.parent_op()
    while scope is not None:
        if isinstance(scope, kernel.ForOp | kernel.ParallelOp):
            around += scope.dim_names
        if isinstance(scope, kernel.ForOp) and scope.part_dim is not None:
            parts.add(scope.part_dim)  # all parts together have the iterations of the loop
        if isinstance(scope, kernel.ForOp) and scope.until_dim is not None:
            if early is not None:
                raise OpError(op, "stands in two loops that end early, whose traffic has no formula")
            early = scope
        scope = scope.parent_op()
    moving = {name for name in item.dims if name in around and name not in cursor.first_dims}
    total = Polynomial.constant(item_bytes(item.element_type))
    names = {*around, *item.dims} - parts
    if early is not None:
        total *= _until(early, op, moving, dims)
        names -= {early.dim_names[0], early.until_dim or ""}
        pinned = {early.dim_names[0], early.until_dim or ""} & {*item.dims} - moving
        for name in pinned:
            total *= Polynomial.symbol(Symbol(name, first=not dims[name].is_whole))
    for name in sorted(names):
        if name in moving or (name in item.dims and dims[name].is_whole):
            total *= Polynomial.symbol(Symbol(name))
            continue
        if name in item.dims:
            total *= Polynomial.symbol(Symbol(name, first=True))
        if name in around and not dims[name].is_whole:
            total *= Polynomial.symbol(Symbol(name, blocks=not dims[name].is_batch))
    return total


def _until(
    loop: kernel.ForOp, op: Operation, moving: set[str], dims: Mapping[str, block.DimAttr]
) -> Polynomial:
    """Return the elements that a loop with an early end visits, as a sum over the blocks of its end."""
    (name,) = loop.dim_names
    end = loop.until_dim or ""
    return Polynomial.symbol(
        Symbol(
            name,
            blocks=name not in moving,
            until=end,
            offset=loop.until_offset,
            rows=end in moving or dims[end].is_batch,
            whole=name in moving and _fetches_whole_blocks(op, name),
        )
    )


def _fetches_whole_blocks(op: Operation, dim: str) -> bool:
    """True if a load fetches all of the last block that a loop visits: copies of 16 bytes are not cut at
    elements that are not needed.
    """
    if not isinstance(op, kernel.LoadOp) or op.is_async is None:
        return False
    tile = op.target.type
    assert isinstance(tile, kernel.TileType)
    return tile.lane_dim == dim


def _copies(op: Operation, cursor: kernel.CursorOp) -> int:
    """Return the number of warps of a block that each load the same elements to registers: vectors over
    columns if each warp has whole rows, vectors over rows if several warps divide the columns.
    """
    parallel = op.parent_op()
    while parallel is not None and not isinstance(parallel, kernel.ParallelOp):
        parallel = parallel.parent_op()
    if parallel is None or not isinstance(op, kernel.LoadOp):
        return 1
    tile = op.target.type
    assert isinstance(tile, kernel.TileType)
    if len(tile.dims) != 1 or tile.space.data is not kernel.Space.Register:
        return 1
    group, threads = integer(parallel, GROUP_ATTRIBUTE), integer(parallel, THREADS_ATTRIBUTE)
    if group is None or threads is None:
        grid = warp_grid(parallel)
        return 1 if grid is None else grid[1]
    return 1 if any(tile.dims[0] == rows for rows in _rows(parallel)) else threads // group


def _rows(parallel: kernel.ParallelOp) -> set[str]:
    """The dims of the rows of blocks."""
    types = [op.result.type for op in parallel.walk() if isinstance(op, kernel.TileOp)]
    return {type.dims[0] for type in types if len(type.dims) == 2}
