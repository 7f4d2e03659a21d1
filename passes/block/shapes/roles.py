"""Roles of the dims of a block program in its results and its contractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....dialects import block
from ....dialects.array.core import bit_width
from ...analysis.causal_masks import masked_later
from ...analysis.ranges import largest_extents

FEW_ROWS = 8
"""Number of rows up to which vectors along the rows would be mostly empty."""
MANY_COLUMNS = 4096
"""Number of columns whose blocks are enough to divide among threads."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Dims of a program by their roles in its results and contractions; one dim may have several."""

    rows: frozenset[str]
    """Rows of the program's results."""
    given: frozenset[str]
    """Columns of the program's results."""
    columns: frozenset[str]
    """Columns of contractions' results that no contraction sums over."""
    chained: frozenset[str]
    """Columns of one contraction's result that another contraction sums over."""
    few: frozenset[str]
    """The chained columns that are keys of few queries: rows are reduced along them, and all their
    contractions have few rows.
    """
    streamed: frozenset[str]
    """Dims along which a single row is contracted, for results of many columns."""
    causal_rows: frozenset[str]
    """Rows that a causal mask bounds, if it does so in all their contractions."""
    causal_columns: frozenset[str]
    """Chained columns that are masked from some index of those rows on."""
    reduced: frozenset[str]
    """Dims along which rows are reduced or masked."""
    sums: Mapping[str, int]
    """Number of contractions for each of `columns`."""
    scores: Mapping[str, int]
    """The keys of an attention, with the number of contractions that have each as a column: chained columns
    along which rows of results are reduced, and which are no columns of results themselves.
    """
    sweeps_rows: bool
    """True if the program contracts nothing, and its only reductions are along rows."""
    wide: bool
    """True if the program contracts blocks with elements of 32 bits or more."""

    @staticmethod
    def of(function: FuncOp) -> Roles:
        """Return the roles of the dims of a block program, at the largest extents in its ranges."""
        found = _Occurrences(largest_extents(function, block.parse_dims(function.attributes[block.DIMS])))
        for op in function.walk():
            found.add(op)
        return found.roles()


@dataclass
class _Occurrences:
    """The dims of a program by the kinds of operations in which they occur, collected in one walk."""

    extents: Mapping[str, block.DimAttr]
    rows: set[str] = field(default_factory=set[str])
    given: set[str] = field(default_factory=set[str])
    reduced: set[str] = field(default_factory=set[str])
    masked: dict[str, str] = field(default_factory=dict[str, str])
    """Columns that a mask cuts, each with the rows whose index bounds it."""
    columns: Counter[str] = field(default_factory=Counter[str])
    """Columns of contractions' results, with the number of contractions."""
    summed: set[str] = field(default_factory=set[str])
    contractions: list[set[str]] = field(default_factory=list[set[str]])
    """All dims of each contraction."""
    results: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """The dims of each contraction's result."""
    many_rows: set[str] = field(default_factory=set[str])
    """Dims of contractions with more than `FEW_ROWS` rows."""
    unstreamed: set[str] = field(default_factory=set[str])
    """Dims of contractions with more than one row, or with fewer than `MANY_COLUMNS` columns."""
    wide: bool = False

    def add(self, op: Operation) -> None:
        """Record the dims of one operation."""
        match op:
            case block.AssembleOp():
                item = op.list.type.item if isinstance(op.list.type, block.ListType) else op.list.type
                assert isinstance(item, block.ItemType)
                self.rows.update(item.dims[:1])
                self.given.update(item.dims[1:])
            case block.RowSumOp() | block.RowMaxOp() | block.RowMinOp():
                self.reduced.update(_dims(op.operands[0])[1:])
            case block.DotOp():
                self._add_contraction(op)
            case block.ElementwiseOp():
                self.masked |= {dim: until.dim for dim, until in masked_later(op).items()}
            case _:
                pass

    def _add_contraction(self, op: block.DotOp) -> None:
        result, dims = _dims(op.result), {*_dims(op.lhs), *_dims(op.rhs)}
        self.columns.update(result[1:])
        self.summed.update(_dims(op.lhs)[1:])
        self.contractions.append(dims)
        self.results.append(result)
        self.wide |= any(bit_width(block.element_type_of(x.type)) > 16 for x in (op.lhs, op.rhs))
        height, width = self.extents[result[0]].static_extent, self.extents[result[-1]].static_extent
        if height is None or height > FEW_ROWS:
            self.many_rows |= dims
        if height != 1 or width is None or width < MANY_COLUMNS:
            self.unstreamed |= dims

    def roles(self) -> Roles:
        """Return the roles that follow from all recorded operations."""
        chained = self.columns.keys() & self.summed - self.rows
        columns = self.columns.keys() - chained - self.rows
        reduced = {*self.reduced, *self.masked}
        keys = (chained & reduced) - self.given
        causal = {
            dim: row
            for dim, row in self.masked.items()
            if dim in chained and all(dim in dims for dims in self.contractions if row in dims)
        }
        scores = Counter(dims[1] for dims in self.results if dims[0] in self.rows and dims[1] in keys)
        return Roles(
            rows=frozenset(self.rows),
            given=frozenset(self.given),
            columns=frozenset(columns),
            chained=frozenset(chained),
            few=frozenset(chained & self.reduced - self.many_rows),
            streamed=frozenset(self.summed - self.columns.keys() - self.rows - self.unstreamed),
            causal_rows=frozenset(causal.values()),
            causal_columns=frozenset(causal),
            reduced=frozenset(reduced),
            sums={dim: count for dim, count in self.columns.items() if dim in columns},
            scores=scores,
            sweeps_rows=bool(self.rows) and not self.contractions and not self.rows & self.reduced,
            wide=self.wide,
        )


def _dims(value: SSAValue) -> tuple[str, ...]:
    return value.type.dims if isinstance(value.type, block.ItemType) else ()
