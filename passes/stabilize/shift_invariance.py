"""Whether results stay the same when a vector is added to every column of the blocks of one list."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import cast

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects import block
from ...dialects.block import CoefficientAttr, Kind
from ..rules.items import through_cast
from .polynomials import ONES, Atom, Basis, Combination, Monomial, Polynomial, TooComplex

SHIFT: Atom = ("shift",)
"""The vector that is added; it is the same in every iteration of the maps over the list."""

Value = Polynomial | Combination


class ShiftTest:
    """Evaluates the body of a map (or function) with one list shifted, and looks for the shift where it would
    show.
    """

    def __init__(self, scope: Block, shifted: SSAValue):
        self.scope = scope
        self.shifted = shifted
        self.values: dict[SSAValue, Value] = {}

    def passes(self) -> bool:
        """Whether nothing that leaves the scope depends on the shift."""
        try:
            self._body(self.scope)
        except TooComplex:
            return False
        return True

    # A value is plain if the shift is not in it; its key then identifies it.

    def _of(self, value: SSAValue) -> Value:
        known = self.values.get(value)
        if known is None:
            known = self.values[value] = self._atom(value)
        return known

    def _atom(self, value: SSAValue) -> Value:
        """A value of which only the identity is known."""
        return self._fresh(value.type, ("value", id(value)))

    @staticmethod
    def _fresh(type: object, key: Hashable) -> Value:
        return Combination.of(key) if isinstance(type, block.BlockType) else Polynomial.atom(key)

    def _plain_key(self, value: SSAValue) -> Hashable:
        known = self._of(value)
        if known.has(SHIFT):
            raise TooComplex
        return known.key()

    def _row(self, value: SSAValue) -> Polynomial:
        known = self._of(value)
        assert isinstance(known, Polynomial)
        return known

    def _block(self, value: SSAValue) -> Combination:
        known = self._of(value)
        assert isinstance(known, Combination)
        return known

    def _body(self, body: Block) -> None:
        for op in body.ops:
            if isinstance(op, block.YieldOp):
                continue
            if isinstance(op, block.MapOp):
                self._map(op)
            elif op.results:
                self.values[op.results[0]] = self._operation(op)
            else:
                for operand in op.operands:
                    self._plain_key(operand)

    def _operation(self, op: Operation) -> Value:
        match op:
            case block.LoadOp():
                loaded = self._fresh(op.result.type, ("load", id(op.source)))
                if self._is_shifted(op) and isinstance(loaded, Combination):
                    return loaded + Combination.of(ONES, Polynomial.atom(SHIFT))
                return loaded
            case block.ElementwiseOp() if (source := through_cast(op.result)) is not op.result:
                return self._of(source)
            case block.RowShiftOp():
                return self._block(op.block) + Combination.of(ONES, self._row(op.vector))
            case block.ColShiftOp():
                return self._block(op.block) + Combination.of(("columns", self._plain_key(op.vector)))
            case block.RowScaleOp():
                return self._block(op.block).scaled(self._row(op.vector))
            case block.ColScaleOp():
                return self._columns(self._block(op.block), self._plain_key(op.vector))
            case block.AddOp() if isinstance(op.result.type, block.BlockType):
                return self._block(op.lhs) + self._block(op.rhs)
            case block.MulOp() if isinstance(op.result.type, block.BlockType):
                return self._product(self._block(op.lhs), self._block(op.rhs))
            case block.OuterOp():
                return Combination.of(("columns", self._plain_key(op.rhs)), self._row(op.lhs))
            case block.DotOp():
                return self._dot(op)
            case block.RowSumOp() if isinstance(op.operand.type, block.BlockType):
                return self._row_sum(op)
            case block.LinearOp():
                return self._linear(op)
            case block.MonomialOp() if not isinstance(op.result.type, block.BlockType):
                return self._monomial(op)
            case _:
                return self._opaque(op)

    def _is_shifted(self, op: block.LoadOp) -> bool:
        source = op.source
        if not isinstance(source, BlockArgument):
            return False
        user = source.block.parent_op()
        return isinstance(user, block.MapOp) and user.inputs[source.index] is self.shifted

    @staticmethod
    def _columns(value: Combination, key: Hashable) -> Combination:
        parts: dict[Basis, Polynomial] = {}
        for basis, coefficient in value.parts.items():
            parts[("columns", key) if basis == ONES else ("column scale", basis, key)] = coefficient
        return Combination(parts)

    @staticmethod
    def _product(left: Combination, right: Combination) -> Combination:
        total = Combination({})
        for a, p in left.parts.items():
            for b, q in right.parts.items():
                basis = (
                    b
                    if a == ONES
                    else a
                    if b == ONES
                    else ("product", frozenset({(a, 1), (b, 2 if a == b else 1)}))
                )
                total = total + Combination.of(basis, p * q)
        return total

    def _dot(self, op: block.DotOp) -> Combination:
        key = self._plain_key(op.rhs)
        parts: dict[Basis, Polynomial] = {}
        for basis, coefficient in self._block(op.lhs).parts.items():
            # 1·bᵀ has the row sums of b for columns: the name that `_row_sum` gives them.
            parts[("columns", _atom_key(("row sum", key))) if basis == ONES else ("dot", basis, key)] = (
                coefficient
            )
        return Combination(parts)

    def _row_sum(self, op: block.RowSumOp) -> Polynomial:
        value = self._block(op.operand)
        if not value.has(SHIFT) and ONES not in value.parts:
            return Polynomial.atom(("row sum", value.key()))
        assert isinstance(op.operand.type, block.BlockType)
        total = Polynomial.number(0)
        for basis, coefficient in value.parts.items():
            if basis == ONES:
                summed: Atom = ("width", op.operand.type.cols.data)
            else:
                summed = ("row sum", Combination.of(basis).key())
            total = total + coefficient * Polynomial.atom(summed)
        return total

    def _linear(self, op: block.LinearOp) -> Value:
        total: Value | None = None
        for coefficient, term in op.pairs:
            factor = _coefficient(coefficient)
            value = self._of(term)
            value = value.scaled(factor) if isinstance(value, Combination) else value * factor
            total = value if total is None else _added(total, value)
        assert total is not None
        return total

    def _monomial(self, op: block.MonomialOp) -> Polynomial:
        total = Polynomial.number(1)
        for factor, exponent in op.pairs:
            value = self._row(factor)
            if exponent < 0:
                total = total * Polynomial.atom(("inverse", self._plain_key(factor))) ** -exponent
            else:
                total = total * value**exponent
        return total

    def _opaque(self, op: Operation) -> Value:
        """An operator of which only this is known: equal operands give equal results."""
        operands = tuple(self._plain_key(operand) for operand in op.operands)
        result = op.results[0]
        if isinstance(op, block.StoreOp) or not isinstance(result.type, block.ItemType):
            return self._fresh(None, ("global", id(op)))
        return self._fresh(result.type, ("opaque", id(op), operands))

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
                self.values[result] = self._fresh(result.type, ("result", id(result)))

    def _summed(self, value: Value, op: block.MapOp) -> Value:
        if isinstance(value, Polynomial):
            return self._summed_polynomial(value, op)
        total = Combination({})
        for basis, coefficient in value.parts.items():
            for monomial, number in coefficient.terms.items():
                outside, inside = _parted(monomial)
                key = _summed_basis(basis, inside, op.dim_name)
                total = total + Combination.of(key, Polynomial({outside: number}))
        return total

    def _summed_polynomial(self, value: Polynomial, op: block.MapOp) -> Polynomial:
        total = Polynomial.number(0)
        width: Atom = ("width", op.dim_name)
        for monomial, number in value.terms.items():
            outside, inside = _parted(monomial)
            if inside == ((width, 1),):
                summed: Atom = ("extent", op.dim_name)
            else:
                summed = ("sum", op.dim_name, inside)
            total = total + Polynomial({outside: number}) * self._extent(Polynomial.atom(summed), op)
        return total

    def _extent(self, value: Polynomial, op: block.MapOp) -> Polynomial:
        """The extent as a number where the program declares it."""
        dims = block.declared_dims(op) or {}
        known = dims[op.dim_name].static_extent if op.dim_name in dims else None
        if known is not None and value.has(("extent", op.dim_name)):
            return Polynomial.number(known)
        return value


def _atom_key(atom: Atom) -> Hashable:
    return Polynomial.atom(atom).key()


def _parted(monomial: Monomial) -> tuple[Monomial, Monomial]:
    """The shift, which is the same in every iteration, and the rest, which counts as changing."""
    outside = tuple(pair for pair in monomial if pair[0] == SHIFT)
    inside = tuple(pair for pair in monomial if pair[0] != SHIFT)
    return outside, inside


def _summed_basis(basis: Basis, inside: Monomial, dim: str) -> Basis:
    """The sum over a dim of diag(inside)·basis.

    The sum of 1·vᵀ has the sum of the vectors v for columns: the name that the sum of v itself gets.
    """
    vector = _columns_of(basis)
    if vector is not None and not inside:
        terms = list(vector)
        if len(terms) == 1 and terms[0][1] == 1:
            return ("columns", _atom_key(("sum", dim, terms[0][0])))
    return ("sum", dim, inside, basis)


def _columns_of(basis: Basis) -> frozenset[tuple[Monomial, Fraction]] | None:
    """The key of v in 1·vᵀ; None for any other basis."""
    if not isinstance(basis, tuple):
        return None
    parts = cast("tuple[object, ...]", basis)
    return cast("frozenset[tuple[Monomial, Fraction]]", parts[1]) if parts[0] == "columns" else None


def _added(left: Value, right: Value) -> Value:
    if isinstance(left, Combination):
        assert isinstance(right, Combination)
        return left + right
    assert isinstance(right, Polynomial)
    return left + right


def _coefficient(coefficient: CoefficientAttr) -> Polynomial:
    value = Polynomial.number(coefficient.value)
    for factor in coefficient.factors:
        value = value * Polynomial.atom((factor.quantity, factor.dim))
    return value


def is_shift_invariant(scope: Block, shifted: SSAValue) -> bool:
    """Whether a vector could be added to every column of the blocks of a list without changing what a body
    stores or yields.

    The list is one that maps in the body run over. A yes is a proof by exact algebra; a no may just mean that
    the program is beyond it.
    """
    return ShiftTest(scope, shifted).passes()
