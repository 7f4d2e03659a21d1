"""Draws operators on items for random block programs, for the strategy in `block_programs`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from bb.dialects import block
from bb.dialects.block import CoefficientAttr, DimQuantity
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects import math as scalar_math
from xdsl.dialects.builtin import Float32Type, FloatAttr, f64, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

T = TypeVar("T")

RANGE = 64.0
"""No value exceeds this in magnitude."""


@dataclass(frozen=True)
class Known:
    """A value, the interval that its elements lie in, and the dims with whose iteration it changes."""

    value: SSAValue
    low: float
    high: float
    varies: frozenset[str]

    @property
    def type(self) -> Attribute:
        return self.value.type

    @property
    def magnitude(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def is_local(self) -> bool:
        return block.is_local(self.type)

    @property
    def dims(self) -> tuple[str, ...]:
        assert isinstance(self.type, block.ItemType)
        return self.type.dims


def product_bounds(a: Known, b: Known) -> tuple[float, float]:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


def _relation(a: Known, b: Known) -> str | None:
    """Relation of the dims of two items, by which the drafter picks operators; None if there is none."""
    if block.element_type_of(a.type) != block.element_type_of(b.type):
        return None
    match a.dims, b.dims:
        case left, right if left == right:
            return "same"
        case (rows, _), (dim,) if rows == dim:
            return "rows"
        case (_, columns), (dim,) if columns == dim:
            return "columns"
        case (_, columns), (_, others) if columns == others:
            return "contract"
        case (_,), (_,):
            return "outer"
        case _:
            return None


def _add(region: Block, op: Operation) -> SSAValue:
    region.add_op(op)
    return op.results[0]


@dataclass
class ItemDrafter:
    """Writes operators on items, drawing every choice."""

    draw: st.DrawFn
    dims: dict[str, block.DimAttr] = field(default_factory=dict[str, block.DimAttr])
    budget: int = 40

    # Choices

    def flip(self, of: int = 2) -> bool:
        """One chance in `of`."""
        return self.draw(st.integers(0, of - 1)) == of - 1

    def one_of(self, choices: Sequence[T]) -> T:
        return self.draw(st.sampled_from(choices))

    def recent(self, choices: Sequence[Known]) -> Known:
        """One of the values, mostly one that nothing uses yet, or one of the last three."""
        unused = [k for k in choices if not k.value.uses]
        match self.draw(st.integers(0, 3)):
            case 0 | 1 if unused:
                return self.one_of(unused[-3:])
            case 3:
                return self.one_of(choices)
            case _:
                return self.one_of(choices[-3:])

    # Values

    def put(self, body: Block, op: Operation, low: float, high: float, varies: frozenset[str]) -> Known:
        """Add an operation; its result, scaled into range where it needs it."""
        body.add_op(op)
        self.budget -= 1
        made = Known(op.results[0], low, high, varies)
        if made.magnitude <= RANGE:
            return made
        factor = Fraction(1, 2 ** math.ceil(math.log2(made.magnitude / 8)))
        scaled = block.LinearOp([(CoefficientAttr(factor), made.value)])
        return self.put(body, scaled, low * factor, high * factor, varies)

    def scalar_function(
        self, body: Block, a: Known, write: Callable[[Block, SSAValue], SSAValue], low: float, high: float
    ) -> Known:
        """An element-wise function of one item."""
        assert isinstance(a.type, block.ItemType)
        region = block.scalar_block([a.value])
        region.add_op(block.YieldOp(write(region, region.args[0])))
        op = block.ElementwiseOp([a.value], Region(region), a.type)
        return self.put(body, op, low, high, a.varies)

    def of_scalar(self, body: Block, a: Known, op: type[Operation], low: float, high: float) -> Known:
        return self.scalar_function(
            body, a, lambda region, x: _add(region, op.create(operands=[x], result_types=[x.type])), low, high
        )

    # Operators

    def load_all(self, body: Block, known: list[Known]) -> None:
        """Load most of the items that a map gives."""
        for k in list(known):
            if (
                isinstance(k.type, block.ItemType)
                and not k.is_local
                and not k.value.uses
                and not self.flip(4)
            ):
                known.append(self.put(body, block.LoadOp(k.value), k.low, k.high, k.varies))

    def local(self, known: list[Known], accept: Callable[[Known], bool] = lambda _: True) -> Known | None:
        found = [k for k in known if k.is_local and accept(k)]
        return self.recent(found) if found else None

    def step_unary(self, body: Block, known: list[Known], open_: tuple[str, ...]) -> None:
        a = self.local(known)
        if a is None:
            return
        element_type = block.element_type_of(a.type)
        options: list[Callable[[], Known]] = [
            lambda: self.of_scalar(body, a, arith.NegfOp, -a.high, -a.low),
            lambda: self.of_scalar(body, a, scalar_math.TanhOp, -1.0, 1.0),
            lambda: self.multiple(body, a),
        ]
        if a.high <= 4:
            options.append(
                lambda: self.of_scalar(body, a, scalar_math.ExpOp, math.exp(a.low), math.exp(a.high))
            )
        if a.low >= 0.125:
            options.append(
                lambda: self.of_scalar(body, a, scalar_math.LogOp, math.log(a.low), math.log(a.high))
            )
            options.append(lambda: self.reciprocal(body, a))
        if a.dims:
            options += [lambda: self.row_reduction(body, a)] * 2
        if len(a.dims) == 2 and a.high <= 4 and a.dims[1] in open_:
            options.append(lambda: self.masked_exponential(body, a))
        if isinstance(element_type, Float32Type):
            options.append(lambda: self.cast(body, a))
        known.append(self.one_of(options)())

    def multiple(self, body: Block, a: Known) -> Known:
        factor = self.one_of((Fraction(1, 2), Fraction(-1), Fraction(2), Fraction(1, 3)))
        bounds = sorted((float(factor) * a.low, float(factor) * a.high))
        if self.flip():
            op = block.LinearOp([(CoefficientAttr(factor), a.value)])
            return self.put(body, op, bounds[0], bounds[1], a.varies)

        def write(region: Block, x: SSAValue) -> SSAValue:
            constant = _add(region, arith.ConstantOp(FloatAttr(float(factor), x.type)))
            return _add(region, arith.MulfOp(x, constant))

        exact = factor != Fraction(1, 3)
        return self.scalar_function(body, a, write, *bounds) if exact else a

    def reciprocal(self, body: Block, a: Known) -> Known:
        if self.flip():
            return self.put(body, block.MonomialOp([(a.value, -1)]), 1 / a.high, 1 / a.low, a.varies)

        def write(region: Block, x: SSAValue) -> SSAValue:
            return _add(region, arith.DivfOp(_add(region, arith.ConstantOp(FloatAttr(1.0, x.type))), x))

        return self.scalar_function(body, a, write, 1 / a.high, 1 / a.low)

    def row_reduction(self, body: Block, a: Known) -> Known:
        kind = self.one_of((block.RowSumOp, block.RowMaxOp, block.RowSumOp, block.RowMinOp))
        if kind is block.RowSumOp:
            op = block.RowSumOp(a.value, block.element_type_of(a.type))
            extent = self.dims[a.dims[-1]].static_extent or 1
            return self.put(body, op, min(a.low, a.low * extent), max(a.high, a.high * extent), a.varies)
        return self.put(body, kind(a.value), a.low, a.high, a.varies)

    def masked_exponential(self, body: Block, a: Known) -> Known:
        """exp of a block with −inf where the column comes after the row, or every other column."""
        column = a.dims[1]

        def mask(region: Block, x: SSAValue) -> SSAValue:
            index = _add(region, arith.IndexCastOp(_add(region, block.IndexOp(column)), i32))
            two = _add(region, arith.ConstantOp.from_int_and_width(2, 32))
            zero = _add(region, arith.ConstantOp.from_int_and_width(0, 32))
            keep = _add(region, arith.CmpiOp(_add(region, arith.RemSIOp(index, two)), zero, "eq"))
            low = _add(region, arith.ConstantOp(FloatAttr(-math.inf, x.type)))
            return _add(region, arith.SelectOp(keep, x, low))

        masked = self.scalar_function(body, a, mask, a.low, a.high)
        masked = Known(masked.value, masked.low, masked.high, masked.varies | {column})
        return self.of_scalar(body, masked, scalar_math.ExpOp, 0.0, math.exp(a.high))

    def cast(self, body: Block, a: Known) -> Known:
        assert isinstance(a.type, block.ItemType)
        region = block.scalar_block([a.value])
        region.add_op(block.YieldOp(_add(region, arith.ExtFOp(region.args[0], f64))))
        op = block.ElementwiseOp([a.value], Region(region), block.item_type(a.dims, f64))
        return self.put(body, op, a.low, a.high, a.varies)

    def step_binary(self, body: Block, known: list[Known], open_: tuple[str, ...]) -> None:
        """An operator of two items; which one first, of those that some pair of recent items allows."""
        found: dict[str, list[tuple[Known, Known]]] = {}
        items = [k for k in known if k.is_local][-7:]
        for a in items:
            for b in items:
                if (name := _relation(a, b)) is not None:
                    found.setdefault(name, []).append((a, b))
        if not found:
            return
        names = [name for name in ("contract", "rows", "columns", "outer", "same", "rows") if name in found]
        name = self.one_of(names)
        pairs = found[name]
        fresh = [pair for pair in pairs if not pair[0].value.uses or not pair[1].value.uses]
        a, b = self.one_of(fresh[-6:] if fresh and not self.flip(4) else pairs)
        varies, sums = a.varies | b.varies, (a.low + b.low, a.high + b.high)
        match name:
            case "contract":
                bound = a.magnitude * b.magnitude * (self.dims[a.dims[1]].static_extent or 1)
                op = block.DotOp(a.value, b.value, block.element_type_of(a.type))
                made = self.put(body, op, -bound, bound, varies)
            case "outer":
                made = self.put(body, block.OuterOp(a.value, b.value), *product_bounds(a, b), varies)
            case "same":
                made = self.of_one_type(body, a, b, open_)
            case _:
                shift = block.RowShiftOp if name == "rows" else block.ColShiftOp
                scale = block.RowScaleOp if name == "rows" else block.ColScaleOp
                if self.flip():
                    made = self.put(body, shift(a.value, b.value), *sums, varies)
                else:
                    made = self.put(body, scale(a.value, b.value), *product_bounds(a, b), varies)
        known.append(made)

    def of_one_type(self, body: Block, a: Known, b: Known, open_: tuple[str, ...]) -> Known:
        varies = a.varies | b.varies
        match self.one_of(("add", "mul", "sub", "linear", "monomial")):
            case "add":
                return self.put(body, block.AddOp(a.value, b.value), a.low + b.low, a.high + b.high, varies)
            case "mul":
                return self.put(body, block.MulOp(a.value, b.value), *product_bounds(a, b), varies)
            case "sub":
                return self.put(body, block.SubOp(a.value, b.value), a.low - b.high, a.high - b.low, varies)
            case "linear":
                return self.linear(body, a, b, open_)
            case _:
                op = block.MonomialOp([(a.value, 1), (b.value, 1)])
                return self.put(body, op, *product_bounds(a, b), varies)

    def step_decorate(self, body: Block, known: list[Known], open_: tuple[str, ...]) -> None:
        """A scale or shift of a block, and something that scales and shifts pass, or merge with."""
        pairs = [
            (a, v)
            for a in known[-8:]
            for v in known
            if a.is_local and v.is_local and _relation(a, v) in ("rows", "columns")
        ]
        if not pairs:
            a = self.local(known, lambda k: len(k.dims) == 2)
            if a is not None:
                known.append(self.row_reduction(body, a))
            return
        for _ in range(self.one_of((1, 1, 2))):
            a, v = self.recent_pair(pairs)
            known.append(self.scale_or_shift(body, a, v))
            decorated = known[-1]
            pairs = [(decorated, v) for _, v in pairs if _relation(decorated, v) in ("rows", "columns")]
        other = self.local(known, lambda k: k.type == decorated.type) or decorated
        match self.draw(st.integers(0, 7)):
            case 0 | 1:
                for b in known[::-1]:
                    if b.is_local and _relation(decorated, b) == "contract":
                        a, b = (decorated, b) if self.flip() else (b, decorated)
                        bound = a.magnitude * b.magnitude * (self.dims[a.dims[1]].static_extent or 1)
                        op = block.DotOp(a.value, b.value, block.element_type_of(a.type))
                        known.append(self.put(body, op, -bound, bound, a.varies | b.varies))
                        break
            case 2:
                known.append(self.row_reduction(body, decorated))
            case 3:
                mul = block.MulOp(decorated.value, other.value)
                known.append(
                    self.put(body, mul, *product_bounds(decorated, other), decorated.varies | other.varies)
                )
                known.append(self.row_reduction(body, known[-1]))
            case 4 | 5 if decorated.high <= 4:
                if decorated.dims[1] in open_ and self.flip(3):
                    known.append(self.masked_exponential(body, decorated))
                else:
                    bounds = math.exp(decorated.low), math.exp(decorated.high)
                    known.append(self.of_scalar(body, decorated, scalar_math.ExpOp, *bounds))
            case 6:
                add = block.AddOp(decorated.value, other.value)
                bounds = decorated.low + other.low, decorated.high + other.high
                known.append(self.put(body, add, *bounds, decorated.varies | other.varies))
            case _:
                known.append(self.multiple(body, decorated))

    def recent_pair(self, pairs: list[tuple[Known, Known]]) -> tuple[Known, Known]:
        return self.one_of(pairs[-4:] if not self.flip(4) else pairs)

    def scale_or_shift(self, body: Block, a: Known, v: Known) -> Known:
        rows, varies = _relation(a, v) == "rows", a.varies | v.varies
        if self.flip():
            shift = block.RowShiftOp if rows else block.ColShiftOp
            return self.put(body, shift(a.value, v.value), a.low + v.low, a.high + v.high, varies)
        scale = block.RowScaleOp if rows else block.ColScaleOp
        return self.put(body, scale(a.value, v.value), *product_bounds(a, v), varies)

    def linear(self, body: Block, a: Known, b: Known, open_: tuple[str, ...]) -> Known:
        """2·a + w·b, where w is 1, or a quantity of a dim."""
        quantities = [DimQuantity("extent", dim) for dim in self.dims]
        quantities += [DimQuantity("blocks", dim) for dim in self.dims]
        quantities += [DimQuantity("width", dim) for dim in open_]
        factors = [self.one_of(quantities)] if self.flip() else []
        bound = 2 * a.magnitude + 8 * b.magnitude
        op = block.LinearOp([(CoefficientAttr(2), a.value), (CoefficientAttr(1, factors), b.value)])
        changing = frozenset(factor.dim for factor in factors if factor.quantity == "width")
        return self.put(body, op, -bound, bound, a.varies | b.varies | changing)
