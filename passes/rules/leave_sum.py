"""What is the same in every iteration leaves a summed result of a map, inside every level of a nest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import CoefficientAttr, DimQuantity, Kind
from ..facts import is_inside, is_invariant
from .items import Scale, Shift, is_float_item, quantity
from .law import Check, Law, Placer
from .map_editing import add_results, after, insert_before_yield


@dataclass(frozen=True)
class Summed:
    """A summed result of a map and what the body yields for it."""

    map: block.MapOp
    index: int
    yielded: SSAValue

    @property
    def result(self) -> SSAValue:
        return self.map.results_[self.index]

    @property
    def producer(self) -> Operation | None:
        owner = self.yielded.owner
        return owner if isinstance(owner, Operation) and owner.parent is self.map.body.block else None


def summed_results(op: Operation, operators: tuple[type[Operation], ...] = ()) -> Iterator[Summed]:
    """The summed results of a map that somebody uses; if given, only those that one of `operators` makes.

    A sum relative to a maximum is none of them: it weighs each iteration by another factor.
    """
    assert isinstance(op, block.MapOp)
    kinds, arguments = op.kinds.data, op.yield_op.operands
    for index, (kind, value) in enumerate(zip(kinds, arguments, strict=True)):
        owner = value.owner
        if kind.data is not Kind.Sum or (operators and not isinstance(owner, operators)):
            continue
        if op.results[index].uses and op.result_pivots[index] is None:
            site = Summed(op, index, value)
            if not operators or site.producer is owner:
                yield site


class _OutOfSum(Law[Summed]):
    """A law that takes an operator out of a summed result."""

    name = "leave-sum"
    traffic = "none; less work an iteration, and the loop no longer waits for what left it"
    numerics = "the sum is taken before the operator instead of after it"
    anchors = (block.MapOp,)
    operators: tuple[type[Operation], ...]

    def sites(self, op: Operation) -> Iterator[Summed]:
        return summed_results(op, self.operators)


def _sums(
    site: Summed, values: list[SSAValue], rewriter: PatternRewriter
) -> tuple[list[SSAValue], SSAValue, Placer]:
    """Yield each of `values` as a sum of its own; the sums, the old result and a place behind the map."""
    results = add_results(site.map, [(value, Kind.Sum) for value in values], rewriter)
    new = results[0].owner
    assert isinstance(new, block.MapOp)
    return results, new.results_[site.index], Placer(rewriter, after(new), new)


class SumOfScale(_OutOfSum):
    """Σ diag(c)·x = diag(c)·Σx."""

    variant = "scale"
    law = "A scale by an invariant vector leaves a sum."
    before = "sum { row_scale(x, c) }"
    after = "row_scale(sum { x }, c)"
    side_conditions = {"invariant": "c is the same in every iteration"}
    operators = (block.RowScaleOp, block.ColScaleOp)

    def checks(self, site: Summed) -> Iterator[Check]:
        assert isinstance(site.producer, Scale)
        dim = site.map.dim_name
        yield Check(
            "invariant",
            is_invariant(site.producer.vector, site.map),
            f"the scale is another in each iteration over {dim}",
        )

    def rewrite(self, op: Operation, site: Summed, rewriter: PatternRewriter) -> None:
        scale = site.producer
        assert isinstance(scale, Scale)
        (total,), old, place = _sums(site, [scale.block], rewriter)
        rewriter.replace_all_uses_with(old, place(type(scale)(total, scale.vector), old.name_hint))


class SumOfOuter(_OutOfSum):
    """Σ c·dᵀ = c·(Σd)ᵀ."""

    variant = "outer product"
    law = "An invariant factor of an outer product leaves a sum."
    before = "sum { outer(c, d) }"
    after = "outer(c, sum { d })"
    side_conditions = {"invariant": "one of the factors is the same in every iteration"}
    operators = (block.OuterOp,)

    def checks(self, site: Summed) -> Iterator[Check]:
        outer = site.producer
        assert isinstance(outer, block.OuterOp)
        invariant = is_invariant(outer.lhs, site.map) or is_invariant(outer.rhs, site.map)
        yield Check(
            "invariant",
            invariant,
            f"both factors change from one iteration over {site.map.dim_name} to the next",
        )

    def rewrite(self, op: Operation, site: Summed, rewriter: PatternRewriter) -> None:
        outer = site.producer
        assert isinstance(outer, block.OuterOp)
        left = is_invariant(outer.lhs, site.map)
        (total,), old, place = _sums(site, [outer.rhs if left else outer.lhs], rewriter)
        pair = (outer.lhs, total) if left else (total, outer.rhs)
        rewriter.replace_all_uses_with(old, place(block.OuterOp(*pair), old.name_hint))


class SumOfShift(_OutOfSum):
    """Σ (x + c·1ᵀ) = Σx + (Σc)·1ᵀ."""

    variant = "shift"
    law = "The sum of shifted items is the sum of the items, shifted by the sum of the shifts."
    before = "sum { row_shift(x, c) }"
    after = "row_shift(sum { x }, sum { c })"
    operators = (block.RowShiftOp, block.ColShiftOp)

    def rewrite(self, op: Operation, site: Summed, rewriter: PatternRewriter) -> None:
        shift = site.producer
        assert isinstance(shift, Shift)
        (total, shifts), old, place = _sums(site, [shift.block, shift.vector], rewriter)
        rewriter.replace_all_uses_with(old, place(type(shift)(total, shifts), old.name_hint))


class SumOfAdd(_OutOfSum):
    """Σ (x + y) = Σx + Σy."""

    variant = "addition"
    law = "The sum of sums is the sum of their sums."
    before = "sum { add(x, outer(c, d)) }"
    after = "add(sum { x }, sum { outer(c, d) })"
    side_conditions = {
        "worthwhile": "an addend is an outer product, a scale or a shift that can leave the sum next"
    }
    operators = (block.AddOp,)

    def checks(self, site: Summed) -> Iterator[Check]:
        add = site.producer
        assert isinstance(add, block.AddOp)
        wanted = any(isinstance(value.owner, block.OuterOp | Scale | Shift) for value in (add.lhs, add.rhs))
        yield Check("worthwhile", wanted, "taking the addition apart would only double the accumulators")

    def rewrite(self, op: Operation, site: Summed, rewriter: PatternRewriter) -> None:
        add = site.producer
        assert isinstance(add, block.AddOp)
        (left, right), old, place = _sums(site, [add.lhs, add.rhs], rewriter)
        rewriter.replace_all_uses_with(old, place(block.AddOp(left, right), old.name_hint))


class SumOfMonomial(_OutOfSum):
    """Σ c·x = c·Σx."""

    variant = "product"
    law = "Invariant factors of a product of powers leave a sum."
    before = "sum { monomial x * c }"
    after = "monomial (sum { x }) * c"
    side_conditions = {
        "invariant": "at least one factor is the same in every iteration",
        "changing": "at least one factor is not",
    }
    operators = (block.MonomialOp,)

    def checks(self, site: Summed) -> Iterator[Check]:
        monomial = site.producer
        assert isinstance(monomial, block.MonomialOp)
        invariant = [is_invariant(value, site.map) for value in monomial.factors]
        dim = site.map.dim_name
        yield Check("invariant", any(invariant), f"every factor changes over {dim}")
        yield Check("changing", not all(invariant), f"no factor changes over {dim}: all of it can leave")

    def rewrite(self, op: Operation, site: Summed, rewriter: PatternRewriter) -> None:
        monomial = site.producer
        assert isinstance(monomial, block.MonomialOp)
        kept = [pair for pair in monomial.pairs if is_inside(pair[0], site.map)]
        leaving = [pair for pair in monomial.pairs if not is_inside(pair[0], site.map)]
        inner = (
            kept[0][0]
            if [e for _, e in kept] == [1]
            else insert_before_yield(site.map, block.MonomialOp(kept), rewriter)
        )
        (total,), old, place = _sums(site, [inner], rewriter)
        rewriter.replace_all_uses_with(old, place(block.MonomialOp([(total, 1), *leaving]), old.name_hint))


class SumOfLinear(_OutOfSum):
    """Σ (k·x + l·c) = k·Σx + l·n·c, with n blocks, or the extent where l is a width."""

    variant = "linear form"
    law = (
        "The sum of a linear form is the linear form of the sums; an invariant term is multiplied by the "
        "number of blocks."
    )
    before = "sum { linear x + width(K) * c }"
    after = "linear (sum { x }) + extent(K) * c"
    side_conditions = {
        "steady": "the coefficient of a term that changes does not contain the width of the block at hand",
        "powers": "the coefficient of an invariant term contains that width at most once",
    }
    operators = (block.LinearOp,)

    def checks(self, site: Summed) -> Iterator[Check]:
        form = site.producer
        assert isinstance(form, block.LinearOp)
        dim = site.map.dim_name
        width = DimQuantity("width", dim)
        counts = [(is_inside(value, site.map), c.factors.count(width)) for c, value in form.pairs]
        steady = not any(count for changing, count in counts if changing)
        yield Check("steady", steady, f"the width of the block over {dim} multiplies a term that changes")
        single = all(count <= 1 for changing, count in counts if not changing)
        yield Check("powers", single, f"powers of the width do not add up to the extent of {dim}")

    def rewrite(self, op: Operation, site: Summed, rewriter: PatternRewriter) -> None:
        form = site.producer
        assert isinstance(form, block.LinearOp)
        changing = [value for value in form.terms if is_inside(value, site.map)]
        dim, sums = site.map.dim_name, dict[SSAValue, SSAValue]()
        if changing:
            results, old, place = _sums(site, changing, rewriter)
            sums = dict(zip(changing, results, strict=True))
        else:
            old, place = site.result, Placer(rewriter, after(site.map), site.map)
        scope = old.owner
        assert isinstance(scope, Operation)
        terms = [
            (c, sums[value]) if value in sums else (_summed_coefficient(c, dim, scope), value)
            for c, value in form.pairs
        ]
        rewriter.replace_all_uses_with(old, place(block.LinearOp(terms), old.name_hint))


def _summed_coefficient(coefficient: CoefficientAttr, dim: str, scope: Operation) -> CoefficientAttr:
    """A coefficient, summed over all blocks of a dim: widths add up to the extent, the rest is counted."""
    width = DimQuantity("width", dim)
    if width in coefficient.factors:
        rest = [factor for factor in coefficient.factors if factor != width]
        return CoefficientAttr(coefficient.value, rest) * quantity(scope, "extent", dim)
    return coefficient * quantity(scope, "blocks", dim)


class SumOfInvariant(Law[Summed]):
    """Σ v = n·v, over n blocks."""

    name = "leave-sum"
    variant = "invariant"
    law = "The sum of what is the same in every iteration is a multiple of it."
    before = "sum over K { v }"
    after = "linear blocks(K) * v"
    traffic = "none; no loop is needed"
    side_conditions = {"invariant": "v is the same in every iteration"}
    anchors = (block.MapOp,)

    def sites(self, op: Operation) -> Iterator[Summed]:
        for site in summed_results(op):
            if is_float_item(site.yielded):
                yield site

    def checks(self, site: Summed) -> Iterator[Check]:
        invariant = is_invariant(site.yielded, site.map)
        yield Check(
            "invariant", invariant, f"what is summed changes over {site.map.dim_name}", noteworthy=False
        )

    def rewrite(self, op: Operation, site: Summed, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, after(site.map), site.map)
        form = block.LinearOp([(quantity(op, "blocks", site.map.dim_name), site.yielded)])
        rewriter.replace_all_uses_with(site.result, place(form, site.result.name_hint))


LAWS = (SumOfScale, SumOfOuter, SumOfShift, SumOfAdd, SumOfMonomial, SumOfLinear, SumOfInvariant)
