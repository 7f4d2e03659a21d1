"""Shift invariance: results that do not change when a vector is added to every column of some blocks."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from fractions import Fraction
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import block
from ....dialects.block import CoefficientAttr, Kind
from ...analysis.items import quantity, through_cast
from .expressions import maps_around
from .extents import factors, power_of_extent
from .polynomials import ONES, Atom, Basis, Combination, Monomial, Polynomial, TooComplex, times

SHIFT: Atom = ("shift",)
"""The vector that is added, the same in every iteration of the maps over the list."""

Value = Polynomial | Combination


class ShiftTest:
    """Evaluates the body of a map (or function) with some blocks shifted, and checks whether the shift
    reaches a result.

    Atoms are vectors over the rows of a block; one over its columns is wrapped as `("column", atom)`. An
    outer product is thus the block of ones with a coefficient of both kinds.
    """

    def __init__(self, scope: Block, shifted: Collection[SSAValue]):
        self.scope = scope
        self.shifted = shifted
        self.values: dict[SSAValue, Value] = {}
        self._makers: dict[int, SSAValue | Operation] = {}

    def passes(self) -> bool:
        """True if nothing that leaves the scope depends on the shift."""
        try:
            self._body(self.scope)
            last = self.scope.last_op
            for value in last.operands if isinstance(last, block.YieldOp) else ():
                if block.is_local(value.type):
                    self._plain_key(value)
        except TooComplex:
            return False
        return True

    # A value is plain if the shift is not in it; its key then identifies it.

    def _named(self, tag: str, maker: SSAValue | Operation) -> Atom:
        self._makers[id(maker)] = maker
        return tag, id(maker)

    def _of(self, value: SSAValue) -> Value:
        known = self.values.get(value)
        if known is None:
            # Made outside of the scope.
            known = self._extent(value) or self._fresh(value.type, self._named("value", value))
            self.values[value] = known
        return known

    def _extent(self, value: SSAValue, exponent: int = 1) -> Polynomial | None:
        """A power of a number that is a power of an extent."""
        known = power_of_extent(value)
        operation = self.scope.parent_op()
        if known is None or operation is None:
            return None
        extent = quantity(operation, "extent", known[0])
        exponent *= known[1]
        if not extent.factors:
            return Polynomial.number(extent.value**exponent) if extent.value else None
        return Polynomial({times((), ((("extent", known[0]), exponent),)): Fraction(1)})

    @staticmethod
    def _fresh(type: object, key: Hashable) -> Value:
        return Combination.of(key) if isinstance(type, block.BlockType) else Polynomial.atom(key)

    def _plain_key(self, value: SSAValue) -> Hashable:
        known = self._of(value)
        if known.has(SHIFT) or known.has(_column(SHIFT)):
            raise TooComplex
        return known.key()

    def _row(self, value: SSAValue) -> Polynomial:
        return cast(Polynomial, self._of(value))

    def _block(self, value: SSAValue) -> Combination:
        return cast(Combination, self._of(value))

    def _body(self, body: Block) -> None:
        for op in body.ops:
            if isinstance(op, block.YieldOp):
                continue
            if isinstance(op, block.MapOp):
                self._map(op)
            elif op.results:
                shifted = op.results[0] in self.shifted
                self.values[op.results[0]] = self._shifted(op) if shifted else self._operation(op)
            else:
                for operand in op.operands:
                    self._plain_key(operand)

    def _operation(self, op: Operation) -> Value:
        match op:
            case block.LoadOp() if (extent := self._extent(op.result)) is not None:
                return extent
            case block.LoadOp():
                return self._fresh(op.result.type, self._named("load", op.source))
            case block.ElementwiseOp() if (source := through_cast(op.result)) is not op.result:
                return self._of(source)
            case block.ElementwiseOp() if pairs := factors(op.result):
                return self._monomial(pairs)
            case block.RowShiftOp():
                return self._block(op.block) + Combination.of(ONES, self._row(op.vector))
            case block.ColShiftOp():
                return self._block(op.block) + Combination.of(ONES, _columns(self._row(op.vector)))
            case block.RowScaleOp():
                return self._block(op.block).scaled(self._row(op.vector))
            case block.ColScaleOp():
                return self._block(op.block).scaled(_columns(self._row(op.vector)))
            case block.AddOp() if isinstance(op.result.type, block.BlockType):
                return self._block(op.lhs) + self._block(op.rhs)
            case block.MulOp() if isinstance(op.result.type, block.BlockType):
                return self._product(self._block(op.lhs), self._block(op.rhs))
            case block.OuterOp():
                return Combination.of(ONES, self._row(op.lhs) * _columns(self._row(op.rhs)))
            case block.DotOp():
                return self._dot(op)
            case block.RowSumOp() if isinstance(op.operand.type, block.BlockType):
                return self._row_sum(op, op.operand.type.cols.data)
            case block.LinearOp():
                return self._linear(op)
            case block.MonomialOp() if pairs := factors(op.result):
                return self._monomial(pairs)
            case _:
                return self._opaque(op)

    def _shifted(self, op: Operation) -> Combination:
        """Return an unknown block plus the shift."""
        item = cast(Combination, self._opaque(op))
        return item + Combination.of(ONES, Polynomial.atom(SHIFT))

    @staticmethod
    def _product(left: Combination, right: Combination) -> Combination:
        total = Combination({})
        for a, p in left.parts.items():
            for b, q in right.parts.items():
                both = frozenset({(a, 1), (b, 2 if a == b else 1)})
                basis = b if a == ONES else a if b == ONES else ("product", both)
                total = total + Combination.of(basis, p * q)
        return total

    def _dot(self, op: block.DotOp) -> Combination:
        """Contract term by term: factors of the columns of both sides stay in the sum, the others leave
        it.
        """
        assert isinstance(op.lhs.type, block.BlockType)
        dim = op.lhs.type.cols.data
        total = Combination({})
        for a, left, m in _terms(self._block(op.lhs)):
            for b, right, n in _terms(self._block(op.rhs)):
                (rows, inner), (columns, others) = _sides(left), _sides(right)
                inner = _plain(times(inner, others))
                outside = Polynomial({rows: m * n}) * _columns(Polynomial({columns: Fraction(1)}))
                if a == ONES or b == ONES:
                    summed = self._row_sum_of(op, b if a == ONES else a, inner, dim)
                    outside = outside * (_columns(summed) if a == ONES else summed)
                    total = total + Combination.of(ONES, outside)
                else:
                    total = total + Combination.of(("dot", a, b, inner), outside)
        return total

    def _row_sum(self, op: block.RowSumOp, dim: str) -> Polynomial:
        total = Polynomial.number(0)
        for basis, monomial, number in _terms(self._block(op.operand)):
            rows, columns = _sides(monomial)
            total = total + Polynomial({rows: number}) * self._row_sum_of(op, basis, _plain(columns), dim)
        return total

    @staticmethod
    def _row_sum_of(op: Operation, basis: Basis, columns: Monomial, dim: str) -> Polynomial:
        """The row sums of basis·diag(columns)."""
        if basis != ONES:
            return Polynomial.atom(("row sum", basis, columns))
        if columns:
            return Polynomial.atom(("total", dim, columns))
        if not any(map_.dim_name == dim for map_ in maps_around(op.parent)):
            # The block is a whole row.
            return _coefficient(quantity(op, "extent", dim))
        return Polynomial.atom(("width", dim))

    def _linear(self, op: block.LinearOp) -> Value:
        factors = [(_coefficient(coefficient), self._of(term)) for coefficient, term in op.pairs]
        if isinstance(op.result.type, block.BlockType):
            blocks = Combination({})
            for factor, value in factors:
                blocks = blocks + cast(Combination, value).scaled(factor)
            return blocks
        total = Polynomial.number(0)
        for factor, value in factors:
            total = total + cast(Polynomial, value) * factor
        return total

    def _monomial(self, pairs: Iterable[tuple[SSAValue, int]]) -> Polynomial:
        total = Polynomial.number(1)
        for factor, exponent in pairs:
            if (extent := self._extent(factor, exponent)) is not None:
                total = total * extent
            elif exponent < 0:
                self._plain_key(factor)
                total = total * Polynomial.atom(self._named("inverse", factor)) ** -exponent
            else:
                total = total * self._row(factor) ** exponent
        return total

    def _opaque(self, op: Operation) -> Value:
        """Return an unknown result of an operator whose operands are free of the shift; a store never depends
        on it.
        """
        for operand in op.operands:
            if not isinstance(op, block.StoreOp) or operand not in self.shifted:
                self._plain_key(operand)
        result = op.results[0]
        local = isinstance(result.type, block.ItemType) and not isinstance(op, block.StoreOp)
        return self._fresh(result.type if local else None, self._named("opaque", op))

    # Maps

    def _map(self, op: block.MapOp) -> None:
        self._body(op.body.block)
        for value, kind, result in zip(op.yield_op.arguments, op.result_kinds, op.results_, strict=True):
            if kind is Kind.Sum and block.is_local(value.type):
                self.values[result] = self._summed(self._of(value), op)
            elif kind is Kind.Any:
                self.values[result] = self._of(value)
            else:
                if block.is_local(value.type):
                    self._plain_key(value)
                self.values[result] = self._fresh(result.type, self._named("result", result))

    def _summed(self, value: Value, op: block.MapOp) -> Value:
        if isinstance(value, Polynomial):
            total = Polynomial.number(0)
            for monomial, number in value.terms.items():
                outside, inside = self._parted(monomial, op)
                total = total + Polynomial({outside: number}) * self._sum_of(inside, op)
            return total
        summed = Combination({})
        for basis, monomial, number in _terms(value):
            outside, inside = self._parted(monomial, op)
            rows, columns = _sides(inside)
            factor = Polynomial({outside: number})
            if basis == ONES and not columns:
                summed = summed + Combination.of(ONES, factor * self._sum_of(rows, op))
            elif basis == ONES and all(_is_scalar(atom) for atom, _ in rows):
                both = times(rows, columns)
                summed = summed + Combination.of(ONES, factor * _columns(self._sum_of(both, op)))
            else:
                summed = summed + Combination.of(("sum", op.dim_name, inside, basis), factor)
        return summed

    def _parted(self, monomial: Monomial, op: block.MapOp) -> tuple[Monomial, Monomial]:
        """Split a value into the part that is the same in every iteration of a map, with the shift, and the
        part that changes.
        """
        changing = [self._changes(atom, op) for atom, _ in monomial]
        outside = tuple(pair for pair, inside in zip(monomial, changing, strict=True) if not inside)
        inside = tuple(pair for pair, inside in zip(monomial, changing, strict=True) if inside)
        return outside, inside

    def _changes(self, key: Hashable, op: block.MapOp) -> bool:
        """True if a key names something inside a map. Keys of long chains are nested deeply."""
        pending = [key]
        while pending:
            part = pending.pop()
            if isinstance(part, frozenset):
                pending.extend(cast("frozenset[Hashable]", part))
            elif isinstance(part, tuple):
                parts = cast("tuple[Hashable, ...]", part)
                if len(parts) == 2 and parts[0] in _NAMED:
                    if _is_inside(self._makers[cast(int, parts[1])], op):
                        return True
                elif len(parts) == 2 and parts[0] == "width":
                    if parts[1] == op.dim_name:
                        return True
                else:
                    pending.extend(parts)
        return False

    def _sum_of(self, inside: Monomial, op: block.MapOp) -> Polynomial:
        """Return the sum over all iterations of a part that changes."""
        dim = op.dim_name
        if inside == ((("width", dim), 1),):
            known = (block.declared_dims(op) or {})[dim].static_extent
            return Polynomial.atom(("extent", dim)) if known is None else Polynomial.number(known)
        return Polynomial.atom(("sum", dim, inside) if inside else ("blocks", dim))


_NAMED = ("value", "load", "inverse", "opaque", "result")
"""Tags of atoms that stand for the operation or value in their name."""


def _is_inside(maker: SSAValue | Operation, scope: Operation) -> bool:
    if isinstance(maker, Operation):
        op = maker
    else:
        op = maker.owner if isinstance(maker.owner, Operation) else maker.owner.parent_op()
        if isinstance(maker.owner, Block) and op is scope:
            return True
    while op is not None and op is not scope:
        op = op.parent_op()
    return op is scope and maker is not scope


def _column(atom: Atom) -> Atom:
    return "column", atom


def _is_scalar(atom: Atom) -> bool:
    """True if an atom is one number, the same for all rows and columns."""
    pending = [atom]
    while pending:
        part = pending.pop()
        if not isinstance(part, tuple):
            return False
        parts = cast("tuple[Hashable, ...]", part)
        if parts[0] == "sum":
            pending.extend(inner for inner, _ in cast(Monomial, parts[2]))
        elif parts[0] not in ("width", "extent", "blocks", "total"):
            return False
    return True


def _columns(value: Polynomial) -> Polynomial:
    """Vectors over rows taken as vectors over columns."""
    total = Polynomial.number(0)
    for monomial, number in value.terms.items():
        turned: Monomial = ()
        for atom, power in monomial:
            turned = times(turned, ((atom if _is_scalar(atom) else _column(atom), power),))
        total = total + Polynomial({turned: number})
    return total


def _sides(monomial: Monomial) -> tuple[Monomial, Monomial]:
    """The factors over rows, numbers included, and those over columns, taken as vectors over rows."""
    rows: Monomial = ()
    columns: Monomial = ()
    for atom, power in monomial:
        parts = cast("tuple[Atom, ...]", atom)
        if parts[0] == "column":
            columns = times(columns, ((parts[1], power),))
        else:
            rows = times(rows, ((atom, power),))
    return rows, columns


def _terms(value: Combination) -> Iterator[tuple[Basis, Monomial, Fraction]]:
    for basis, coefficient in value.parts.items():
        for monomial, number in coefficient.terms.items():
            yield basis, monomial, number


def _plain(monomial: Monomial) -> Monomial:
    """A monomial that goes into a name, where the shift would not be found again."""
    if any(atom == SHIFT for atom, _ in monomial):
        raise TooComplex
    return monomial


def _coefficient(coefficient: CoefficientAttr) -> Polynomial:
    value = Polynomial.number(coefficient.value)
    for factor in coefficient.factors:
        value = value * Polynomial.atom((factor.quantity, factor.dim))
    return value


def is_shift_invariant(scope: Block, shifted: Collection[SSAValue]) -> bool:
    """True if a vector could be added to every column of some blocks without a change of any stored or
    yielded value: the same vector for all blocks, in all iterations of the maps of the body that make them.
    If one of the blocks is stored, it is stored without the vector.

    True is a proof by exact algebra. False may only mean that the program is too complex.
    """
    return ShiftTest(scope, shifted).passes()
