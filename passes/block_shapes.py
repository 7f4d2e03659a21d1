"""`block-shapes`: a block size for every dim, by a simple model of caches and registers.

The model: a tile that vectors run over has a few vectors' worth of rows (`ROWS`), so that a register tile of
a contraction is full and the planes of a chain of contractions stay in the first-level cache; a dim that is
summed over, or runs along the columns of a result, is cut where a plane of that many columns and `ROWS` rows
would leave the second-level cache (`COLUMNS`); a dim that is summed over after it was a column (the keys of
an attention, the hidden units of a feed-forward network) is cut shorter (`CHAINED`), for its planes are
written and read again. What is not much longer than that stays whole, which spares loops and lets more fuse.
The keys of few queries (`FEW_ROWS`) make small planes, and are read as streams in long blocks
(`LONG_CHAINED`). So is what a single row is multiplied with, summed over a long dim: nothing but memory is
waited for, and two operands that a loop takes short blocks of in turns come more slowly than one after the
other. That is for results of many columns (`MANY_COLUMNS`), whose blocks are enough to share between threads.
Rows that do not come out even in blocks of `ROWS` get other ones, if workers then wait less for each other.

Under a causal mask the loop over the keys ends with the block of rows, so that what is computed in vain lies
in a triangle above the diagonal: fewer rows (`CAUSAL_ROWS`) make it smaller, and the keys are never whole.
That is for attention alone: where other contractions have the same rows, they would read their right operands
more often.

A program without contractions waits for memory, not for arithmetic: its rows stay whole as long as the
second-level cache has room for them (`LONGEST_ROW`), and a tile has as many of them as the first-level cache
holds beside their results (`ROW_ELEMENTS`), so that each element is fetched once and used from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects import block
from ..dialects.array.core import bit_width
from ..dialects.block import Blocking
from ..dialects.diagnostics import OpError, did_you_mean
from .causal import masked_later
from .gpu_shapes import gpu_shape, gpu_tile
from .output import os_reason, print_text
from .programs import block_programs
from .ranges import largest_extents

ROWS = 64
COLUMNS = 256
CHAINED = 128
CAUSAL_ROWS = 32
FEW_ROWS = 8
"""Rows up to which vectors along the rows would be mostly empty."""
LONG_CHAINED = 2048
MANY_COLUMNS = 4096
ROW_ELEMENTS = 4096
LONGEST_ROW = 16384
WHOLE = "whole"
DEVICES = ("cpu", "gpu")
VECTOR = 16
"""Rows that are computed together, whether they exist or not."""
TEAMS = (2, 4)
"""Numbers of workers that blocks of rows should be fair to; with many blocks, all are."""


@dataclass(frozen=True)
class BlockShapesPass(ModulePass):
    """Choose a block size for every dim that has none: `block-shapes{M=64 N=256 K=whole}` sets some by name.

    A size that a program declares stays, unless it is named. Dims of extent `?` are cut into blocks as well.
    `target=NAME` takes, of all legal sizes, those at which the program as it stands costs least on a machine,
    by the model of `block-cost`: it belongs behind `block-fuse`. `report=true` shows them, as comments, and
    how many were considered. `device=gpu` chooses sizes for the tiles of a GPU's thread blocks.
    """

    name = "block-shapes"
    free_options: ClassVar[str] = "sizes"
    """The field that takes the options named like dims."""

    sizes: tuple[str, ...] = ()
    target: str | None = None
    report: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise ValueError(f"option 'device' must be {' or '.join(DEVICES)}, got {self.device!r}")
        if self.report and self.target is None:
            raise ValueError("option 'report' belongs to option 'target', which is not given")
        for size in self.sizes:
            dim, _, text = size.partition("=")
            if text != WHOLE and not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
                raise ValueError(f"the size of dim {dim} must be a positive number or whole, got {text!r}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wanted = dict(size.split("=", 1) for size in self.sizes)
        functions = block_programs(op)
        known: dict[str, None] = {}
        for function in functions:
            dims = block.parse_dims(function.attributes[block.DIMS])
            known |= dict.fromkeys(dims)
            if self.target is None:
                chosen = choose_shapes(function, dims, wanted, self.device)
            else:
                chosen = self._by_model(function, dims, wanted, self.target)
            function.attributes[block.DIMS] = block.dims_attr(chosen)
        for name in wanted:
            if name not in known:
                otherwise = f"; the dims are {', '.join(known)}" if known else ""
                raise PassFailedException(
                    f"no function has a dim {name}{did_you_mean(name, known, otherwise)}"
                )

    def _by_model(
        self,
        function: FuncOp,
        dims: Mapping[str, block.DimAttr],
        wanted: Mapping[str, str],
        target: str,
    ) -> dict[str, block.DimAttr]:
        from .cost.choose import choice_text, choose_by_model
        from .cost.machine import machine_named
        from .traffic_report import as_comments

        machine = machine_named(target)
        given = {
            name: _wanted(function, name, dim, wanted[name]) if name in wanted else dim
            for name, dim in dims.items()
        }
        function.attributes[block.DIMS] = block.dims_attr(given)
        chosen, best, _ = choose_by_model(function, machine)
        if self.report:
            try:
                print_text(as_comments(choice_text(function, chosen, best, machine)))
            except OSError as error:
                raise PassFailedException(f"cannot write to standard output: {os_reason(error)}") from error
        return chosen


def choose_shapes(
    function: FuncOp,
    dims: Mapping[str, block.DimAttr],
    wanted: Mapping[str, str],
    device: str = "cpu",
) -> dict[str, block.DimAttr]:
    """The dims of a block program with their sizes. `wanted` maps names to sizes, or to `whole`.

    Raises OpError where a batch dim is to have a size.
    """
    roles = _Roles.of(function)
    likely = largest_extents(function, dims)
    found: dict[str, block.DimAttr] = {}
    for name, dim in dims.items():
        chosen = _shaped(function, name, dims if name in wanted else likely, wanted.get(name), roles, device)
        found[name] = chosen if name in wanted or likely[name] == dim else _of_unknown(dim, chosen)
    return found


def _of_unknown(dim: block.DimAttr, likely: block.DimAttr) -> block.DimAttr:
    """A dim of unknown extent as it was chosen for the largest that it is meant to have."""
    extent, size = likely.static_extent, likely.block_size
    if dim.is_batch or dim.is_whole or dim.block_size is not None or extent is None or size is None:
        return dim
    return dim.with_block_size(min(size, extent))


def _shaped(
    function: FuncOp,
    name: str,
    dims: Mapping[str, block.DimAttr],
    wanted: str | None,
    roles: _Roles,
    device: str,
) -> block.DimAttr:
    dim = dims[name]
    if wanted is not None:
        return _wanted(function, name, dim, wanted)
    if dim.is_batch or dim.block_size is not None or dim.is_whole:
        return dim
    if device == "gpu":
        return gpu_shape(
            name,
            dims,
            roles.rows,
            roles.chained,
            roles.causal_columns,
            roles.columns,
            roles.scores,
            roles.given,
            gpu_tile(
                dims,
                roles.rows,
                roles.chained,
                roles.reduced,
                roles.sums,
                roles.scores,
                wide=roles.wide,
            ),
            sweeps_rows=roles.sweeps_rows,
        )
    extent, longest = dim.static_extent, COLUMNS
    if name in roles.causal_rows:
        return dim.with_block_size(CAUSAL_ROWS)
    if name in roles.causal_columns:
        return dim.with_block_size(COLUMNS if extent is None else min(COLUMNS, extent))
    if name in roles.rows:
        size = ROWS if extent is None or extent <= COLUMNS or roles.chained else even_rows(extent)
        if roles.sweeps_rows:
            size = max(1, min(ROWS, _power_below(ROW_ELEMENTS // _row_length(dims, roles))))
        return dim.with_block_size(size)
    if roles.sweeps_rows:
        longest = LONGEST_ROW
    elif name in roles.few or name in roles.streamed:
        longest = 2 * LONG_CHAINED
    if extent is not None and extent <= longest:
        return block.DimAttr(extent, 0, Blocking.Whole)
    if roles.sweeps_rows and extent is not None:
        return dim.with_block_size(ROW_ELEMENTS)
    if name in roles.chained:
        return dim.with_block_size(LONG_CHAINED if name in roles.few else CHAINED)
    if name in roles.streamed:
        return dim.with_block_size(LONG_CHAINED)
    return dim.with_block_size(COLUMNS if extent is None else even_columns(extent))


def _wanted(function: FuncOp, name: str, dim: block.DimAttr, wanted: str) -> block.DimAttr:
    """A dim with the size that was asked for."""
    if dim.is_batch:
        raise OpError(function, f"batch dim {name} takes no block size: its items have no axis over it")
    if wanted == WHOLE:
        return block.DimAttr(dim.extent.data, 0, Blocking.Whole)
    return dim.with_block_size(int(wanted))


def _row_length(dims: Mapping[str, block.DimAttr], roles: _Roles) -> int:
    """The elements of a row that a tile of a program without contractions has; `COLUMNS` where unknown."""
    lengths = [1]
    for name, dim in dims.items():
        if name not in roles.rows and not dim.is_batch:
            extent = dim.block_size or dim.static_extent or COLUMNS
            lengths.append(extent if extent <= LONGEST_ROW else ROW_ELEMENTS)
    return max(lengths)


def _power_below(number: int) -> int:
    """The largest power of two that is not above a number; 0 for 0."""
    return 1 << number.bit_length() >> 1


def even_columns(extent: int) -> int:
    """The block size for so many columns: about `COLUMNS`, but with no short block at the end."""
    parts, rest = divmod(extent, COLUMNS)
    if not 0 < rest < COLUMNS // 4 or parts == 0:
        return COLUMNS
    if extent > parts * COLUMNS * 9 // 8:
        parts += 1
    return -(-extent // (8 * parts)) * 8


def even_rows(extent: int) -> int:
    """The block size for so many rows: `ROWS`, or what leaves workers idle for less of the time by 5 %.

    Workers take block after block: the last, shorter ones are taken by whoever is ready first.
    """

    def idle(size: int) -> float:
        """How much longer the longest worker takes than if all took as long, for the teams on average."""
        vectors = [-(-min(size, extent - start) // VECTOR) for start in range(0, extent, size)]
        total = 0.0
        for team in TEAMS:
            busy = [0] * team
            for block_ in vectors:
                busy[busy.index(min(busy))] += block_
            total += max(busy) * team / sum(vectors) - 1
        return total / len(TEAMS)

    if extent > ROWS * 8 * max(TEAMS):
        return ROWS
    best = min((48, 64, 80, 96), key=idle)
    return best if idle(best) < idle(ROWS) - 0.05 else ROWS


@dataclass(frozen=True)
class _Roles:
    """What the dims of a program are to its results and contractions."""

    rows: frozenset[str]
    """Rows of what the program gives."""
    chained: frozenset[str]
    """Columns of one contraction's result that another contraction sums over."""
    few: frozenset[str]
    """Those of them that are keys of few queries: reduced, too, and their contractions all have few rows."""
    streamed: frozenset[str]
    """What single rows are summed over, for results of many columns."""
    causal_rows: frozenset[str]
    """Rows of contractions all of which a causal mask cuts short."""
    causal_columns: frozenset[str]
    """What is masked from some index of those rows on."""
    columns: frozenset[str]
    """Columns of contractions' results that nothing is summed over."""
    reduced: frozenset[str]
    """What rows are reduced along, or masked along."""
    sums: Mapping[str, int]
    """How many contractions have each of the columns."""
    scores: Mapping[str, int]
    """Chained columns that rows of results are reduced along, but that results do not have: the keys of an
    attention. How many contractions have each of them beside those rows.
    """
    given: frozenset[str]
    """Columns of what the program gives."""
    sweeps_rows: bool
    """Whether the program contracts nothing, and reduces nothing but rows."""
    wide: bool
    """Whether it contracts blocks of 32-bit elements or longer ones."""

    @classmethod
    def of(cls, function: FuncOp) -> _Roles:
        rows: set[str] = set()
        given: set[str] = set()
        columns: set[str] = set()
        summed: set[str] = set()
        masked: dict[str, str] = {}
        contractions: list[set[str]] = []
        results: list[tuple[str, ...]] = []
        many: set[str] = set()
        shared: set[str] = set()
        extents = largest_extents(function, block.parse_dims(function.attributes[block.DIMS]))
        reduced: set[str] = set()
        sums: dict[str, int] = {}
        wide = False
        for op in function.walk():
            if isinstance(op, block.AssembleOp):
                item = op.list.type.item if isinstance(op.list.type, block.ListType) else op.list.type
                assert isinstance(item, block.ItemType)
                rows.update(item.dims[:1])
                given.update(item.dims[1:])
            elif isinstance(op, block.RowSumOp | block.RowMaxOp | block.RowMinOp):
                reduced.update(_dims(op.operands[0])[1:])
            elif isinstance(op, block.DotOp):
                columns.update(_dims(op.result)[1:])
                results.append(_dims(op.result))
                for dim in _dims(op.result)[1:]:
                    sums[dim] = sums.get(dim, 0) + 1
                wide |= any(bit_width(block.element_type_of(x.type)) > 16 for x in (op.lhs, op.rhs))
                summed.update(_dims(op.lhs)[1:])
                contractions.append({*_dims(op.lhs), *_dims(op.rhs)})
                extent = extents[_dims(op.result)[0]].static_extent
                if extent is None or extent > FEW_ROWS:
                    many |= contractions[-1]
                across = extents[_dims(op.result)[-1]].static_extent
                if extent != 1 or across is None or across < MANY_COLUMNS:
                    shared |= contractions[-1]
            elif isinstance(op, block.ElementwiseOp):
                masked |= {dim: until.dim for dim, until in masked_later(op).items()}
        chained = columns & summed - rows
        keys = (chained & {*reduced, *masked}) - given
        causal = {
            dim: row
            for dim, row in masked.items()
            if dim in chained and all(dim in dims for dims in contractions if row in dims)
        }
        return cls(
            frozenset(rows),
            frozenset(chained),
            frozenset(chained & reduced - many),
            frozenset(summed - columns - rows - shared),
            frozenset(causal.values()),
            frozenset(causal),
            frozenset(columns - chained - rows),
            frozenset(reduced | {*masked}),
            {dim: count for dim, count in sums.items() if dim in columns - chained - rows},
            Counter(dims[1] for dims in results if dims[0] in rows and dims[1] in keys),
            frozenset(given),
            bool(rows) and not contractions and not rows & reduced,
            wide,
        )


def _dims(value: SSAValue) -> tuple[str, ...]:
    return value.type.dims if isinstance(value.type, block.ItemType) else ()
