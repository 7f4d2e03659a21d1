"""Invariant operands leave a summed result of a map, inside every level of a nest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeGuard, TypeVar

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import CoefficientAttr, DimQuantity, Kind
from ..analysis.facts import is_inside, is_invariant, waits_for_reduction
from ..analysis.items import Scale, Shift, is_float_item, quantity
from .law import Check, Law, Placer, SiteT, Topic, operation_classes, type_argument
from .shared.formed import WIDE, formed_wide
from .shared.map_editing import add_results, after, insert_before_yield

ProducerT = TypeVar("ProducerT", bound=Operation)


@dataclass(frozen=True)
class Summed:
    """A summed result of a map and the value that the body yields for it."""

    map: block.MapOp
    index: int
    yielded: SSAValue

    @property
    def result(self) -> SSAValue:
        """The result of the map."""
        return self.map.results_[self.index]


@dataclass(frozen=True)
class _SummedBy(Summed, Generic[ProducerT]):
    producer: ProducerT
    """The operator in the body that computes the yielded value."""


def summed_results(op: block.MapOp) -> Iterator[Summed]:
    """Return the summed results of a map that are used.

    A sum relative to a maximum is not among them, because it scales each iteration by another factor.
    """
    for index, (kind, value) in enumerate(zip(op.kinds.data, op.yield_op.operands, strict=True)):
        if kind.data is Kind.Sum and op.results[index].uses and op.result_pivots[index] is None:
            yield Summed(op, index, value)


_DEMAND = "an operand depends on a reduced result, so that it can leave the sum next"
_WIDE = {WIDE: "the sum has 32 bits or more"}


class _LeaveSum(Law[block.MapOp, SiteT], Generic[SiteT]):
    name = "leave-sum"
    topic = Topic.SCALES
    rank = 110


class _OutOfSum(_LeaveSum[_SummedBy[ProducerT]], Generic[ProducerT]):
    """A law that moves an operator of certain classes out of a summed result."""

    traffic = "none; less work an iteration, and the loop no longer waits for what left it"
    numerics = "the sum is taken before the operator instead of after it, and must be in the range of f32"
    operators: ClassVar[tuple[type[Operation], ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.operators = operation_classes(type_argument(cls, _OutOfSum, ProducerT))

    def takes_out(self, op: Operation | Block) -> TypeGuard[ProducerT]:
        """True if the law applies to an operator."""
        return isinstance(op, self.operators)

    def sites(self, op: block.MapOp) -> Iterator[_SummedBy[ProducerT]]:
        for site in summed_results(op):
            producer = site.yielded.owner
            if self.takes_out(producer) and producer.parent is op.body.block:
                yield _SummedBy(op, site.index, site.yielded, producer)

    def checks(self, site: _SummedBy[ProducerT]) -> Iterator[Check]:
        yield formed_wide(site.yielded, "the sum without what leaves it")


def _sums(
    site: Summed, values: list[SSAValue], rewriter: PatternRewriter
) -> tuple[list[SSAValue], SSAValue, Placer]:
    """Yield each of `values` as a sum of its own; return the sums, the old result and a place after the
    map.
    """
    results = add_results(site.map, [(value, Kind.Sum) for value in values], rewriter)
    new = results[0].owner
    assert isinstance(new, block.MapOp)
    return results, new.results_[site.index], Placer(rewriter, after(new), new)


def _waits(site: Summed) -> Check:
    """The side condition that a sum waits for a reduction."""
    reason = "the sum does not wait for a reduction, and the law can cancel numerically"
    return Check("demand", waits_for_reduction(site.yielded), reason)


class SumOfScale(_OutOfSum[Scale]):
    """Σ diag(c)·x = diag(c)·Σx."""

    variant = "scale"
    law = "A scale by an invariant vector leaves a sum."
    before = "sum { row_scale(x, c) }"
    after = "row_scale(sum { x }, c)"
    side_conditions = {**_WIDE, "invariant": "c is the same in every iteration"}

    def checks(self, site: _SummedBy[Scale]) -> Iterator[Check]:
        yield from super().checks(site)
        dim = site.map.dim_name
        yield Check(
            "invariant",
            is_invariant(site.producer.vector, site.map),
            f"the scale is another in each iteration over {dim}",
        )

    def rewrite(self, op: block.MapOp, site: _SummedBy[Scale], rewriter: PatternRewriter) -> None:
        scale = site.producer
        (total,), old, place = _sums(site, [scale.block], rewriter)
        rewriter.replace_all_uses_with(old, place(type(scale)(total, scale.vector), old.name_hint))


class SumOfOuter(_OutOfSum[block.OuterOp]):
    """Σ c·dᵀ = c·(Σd)ᵀ."""

    variant = "outer product"
    law = "An invariant factor of an outer product leaves a sum."
    before = "sum { outer(c, d) }"
    after = "outer(c, sum { d })"
    side_conditions = {**_WIDE, "invariant": "one of the factors is the same in every iteration"}

    def checks(self, site: _SummedBy[block.OuterOp]) -> Iterator[Check]:
        yield from super().checks(site)
        outer = site.producer
        invariant = is_invariant(outer.lhs, site.map) or is_invariant(outer.rhs, site.map)
        yield Check(
            "invariant",
            invariant,
            f"both factors change from one iteration over {site.map.dim_name} to the next",
        )

    def rewrite(self, op: block.MapOp, site: _SummedBy[block.OuterOp], rewriter: PatternRewriter) -> None:
        outer = site.producer
        left = is_invariant(outer.lhs, site.map)
        (total,), old, place = _sums(site, [outer.rhs if left else outer.lhs], rewriter)
        pair = (outer.lhs, total) if left else (total, outer.rhs)
        rewriter.replace_all_uses_with(old, place(block.OuterOp(*pair), old.name_hint))


class SumOfShift(_OutOfSum[Shift]):
    """Σ (x + c·1ᵀ) = Σx + (Σc)·1ᵀ."""

    variant = "shift"
    law = "The sum of shifted items is the sum of the items, shifted by the sum of the shifts."
    before = "sum { row_shift(x, c) }"
    after = "row_shift(sum { x }, sum { c })"
    numerics = "what cancels between x and c is rounded at the size of the sums"
    side_conditions = {"demand": _DEMAND}

    def checks(self, site: _SummedBy[Shift]) -> Iterator[Check]:
        yield _waits(site)

    def rewrite(self, op: block.MapOp, site: _SummedBy[Shift], rewriter: PatternRewriter) -> None:
        shift = site.producer
        (total, shifts), old, place = _sums(site, [shift.block, shift.vector], rewriter)
        rewriter.replace_all_uses_with(old, place(type(shift)(total, shifts), old.name_hint))


class SumOfAdd(_OutOfSum[block.AddOp]):
    """Σ (x + y) = Σx + Σy."""

    variant = "addition"
    law = "The sum of sums is the sum of their sums."
    before = "sum { add(x, outer(c, d)) }"
    after = "add(sum { x }, sum { outer(c, d) })"
    numerics = "what cancels between x and y is rounded at the size of the sums"
    side_conditions = {
        "demand": _DEMAND,
        "worthwhile": "an addend is an outer product, a scale or a shift that can leave the sum next",
    }

    def checks(self, site: _SummedBy[block.AddOp]) -> Iterator[Check]:
        yield _waits(site)
        add = site.producer
        wanted = any(isinstance(value.owner, block.OuterOp | Scale | Shift) for value in (add.lhs, add.rhs))
        yield Check("worthwhile", wanted, "taking the addition apart would only double the accumulators")

    def rewrite(self, op: block.MapOp, site: _SummedBy[block.AddOp], rewriter: PatternRewriter) -> None:
        add = site.producer
        (left, right), old, place = _sums(site, [add.lhs, add.rhs], rewriter)
        rewriter.replace_all_uses_with(old, place(block.AddOp(left, right), old.name_hint))


class SumOfMonomial(_OutOfSum[block.MonomialOp]):
    """Σ c·x = c·Σx."""

    variant = "product"
    law = "Invariant factors of a product of powers leave a sum."
    before = "sum { monomial x * c }"
    after = "monomial (sum { x }) * c"
    side_conditions = {
        **_WIDE,
        "invariant": "at least one factor is the same in every iteration",
        "changing": "at least one factor is not",
        "plain": "what changes is one factor, with the exponent 1",
    }

    def checks(self, site: _SummedBy[block.MonomialOp]) -> Iterator[Check]:
        yield from super().checks(site)
        monomial = site.producer
        invariant = [is_invariant(value, site.map) for value in monomial.factors]
        dim = site.map.dim_name
        yield Check("invariant", any(invariant), f"every factor changes over {dim}")
        yield Check("changing", not all(invariant), f"no factor changes over {dim}: all of it can leave")
        changing = [exponent for value, exponent in monomial.pairs if is_inside(value, site.map)]
        plain = changing == [1] or not any(invariant) or all(invariant)
        yield Check(
            "plain", plain, "what changes could overflow without the factors that it is multiplied by"
        )

    def rewrite(self, op: block.MapOp, site: _SummedBy[block.MonomialOp], rewriter: PatternRewriter) -> None:
        monomial = site.producer
        kept = [pair for pair in monomial.pairs if is_inside(pair[0], site.map)]
        leaving = [pair for pair in monomial.pairs if not is_inside(pair[0], site.map)]
        inner = (
            kept[0][0]
            if [e for _, e in kept] == [1]
            else insert_before_yield(site.map, block.MonomialOp(kept), rewriter)
        )
        (total,), old, place = _sums(site, [inner], rewriter)
        rewriter.replace_all_uses_with(old, place(block.MonomialOp([(total, 1), *leaving]), old.name_hint))


class SumOfLinear(_OutOfSum[block.LinearOp]):
    """Σ (k·x + l·c) = k·Σx + l·n·c, with n blocks, or the extent where l is a width."""

    variant = "linear form"
    law = (
        "The sum of a linear form is the linear form of the sums; an invariant term is multiplied by the "
        "number of blocks."
    )
    before = "sum { linear x + width(K) * c }"
    after = "linear (sum { x }) + extent(K) * c"
    numerics = _OutOfSum.numerics + ", and coefficients above 1 no longer enlarge what is summed"
    side_conditions = {
        **_WIDE,
        "growth": "no coefficient of a term that changes is less than 1, or the sum waits for a whole loop",
        "steady": "the coefficient of a term that changes does not contain the width of the current block",
        "powers": "the coefficient of an invariant term contains that width at most once",
    }

    def checks(self, site: _SummedBy[block.LinearOp]) -> Iterator[Check]:
        yield from super().checks(site)
        form = site.producer
        dim = site.map.dim_name
        width = DimQuantity("width", dim)
        counts = [(is_inside(value, site.map), c.factors.count(width)) for c, value in form.pairs]
        small = [c for c, value in form.pairs if is_inside(value, site.map) and abs(c.value) < 1]
        yield Check(
            "growth",
            not small or waits_for_reduction(site.yielded),
            f"the sum without the factor {small[0] if small else 1} could overflow",
        )
        steady = not any(count for changing, count in counts if changing)
        yield Check("steady", steady, f"the width of the block over {dim} multiplies a term that changes")
        single = all(count <= 1 for changing, count in counts if not changing)
        yield Check("powers", single, f"powers of the width do not add up to the extent of {dim}")

    def rewrite(self, op: block.MapOp, site: _SummedBy[block.LinearOp], rewriter: PatternRewriter) -> None:
        form = site.producer
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
    """Return a coefficient summed over all blocks of a dim: widths add up to the extent, anything else is
    multiplied by the number of blocks.
    """
    width = DimQuantity("width", dim)
    if width in coefficient.factors:
        rest = [factor for factor in coefficient.factors if factor != width]
        return CoefficientAttr(coefficient.value, rest) * quantity(scope, "extent", dim)
    return coefficient * quantity(scope, "blocks", dim)


class SumOfInvariant(_LeaveSum[Summed]):
    """Σ v = n·v, over n blocks."""

    variant = "invariant"
    law = "The sum of what is the same in every iteration is a multiple of it."
    before = "sum over K { v }"
    after = "linear blocks(K) * v"
    traffic = "none; no loop is needed"
    side_conditions = {"invariant": "v is the same in every iteration"}

    def sites(self, op: block.MapOp) -> Iterator[Summed]:
        for site in summed_results(op):
            if is_float_item(site.yielded):
                yield site

    def checks(self, site: Summed) -> Iterator[Check]:
        invariant = is_invariant(site.yielded, site.map)
        yield Check(
            "invariant", invariant, f"what is summed changes over {site.map.dim_name}", noteworthy=False
        )

    def rewrite(self, op: block.MapOp, site: Summed, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, after(site.map), site.map)
        form = block.LinearOp([(quantity(op, "blocks", site.map.dim_name), site.yielded)])
        rewriter.replace_all_uses_with(site.result, place(form, site.result.name_hint))


LAWS = (SumOfScale, SumOfOuter, SumOfShift, SumOfAdd, SumOfMonomial, SumOfLinear, SumOfInvariant)
