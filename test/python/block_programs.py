"""A hypothesis strategy that draws random block programs whose values stay in a moderate range.

`block_programs()` draws a `BlockProgram`: a function of lists of items, and arguments for it. Maps nest and
follow one another over dims of all kinds (ragged, of extent 1, whole, batch); lists are mapped, captured at
any depth, both at once, and mapped twice; values are stacked, reduced, both, and handed on as `any`. Shifts
wait for reduced results often enough for the delicate laws to find work.

Each value carries an interval that holds all its elements, and the dims with whose iteration it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from bb.dialects import block
from bb.dialects.block import CoefficientAttr, DimQuantity, Kind, Tier
from bb.runtime.block_interpreter import Value
from block_evaluation import random_arguments
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter
from xdsl.dialects import arith
from xdsl.dialects import math as scalar_math
from xdsl.dialects.builtin import Float32Type, FloatAttr, ModuleOp, f32, f64, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

T = TypeVar("T")

RANGE = 64.0
"""No value exceeds this in magnitude."""

DIMS = "MNKL"


@dataclass
class BlockProgram:
    """A function of items and lists in a module of its own, and an argument for each of its parameters."""

    function: FuncOp
    arguments: list[Value]

    def __repr__(self) -> str:
        return str(self.function)

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        for number, line in enumerate(repr(self).splitlines()):
            if number:
                printer.break_()
            printer.text(line)


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


def _trips(dim: block.DimAttr) -> int:
    extent, size = dim.static_extent, dim.block_size
    assert extent is not None
    assert size is not None
    return -(-extent // size)


def _product(a: Known, b: Known) -> tuple[float, float]:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


def _relation(a: Known, b: Known) -> str | None:
    """Which operators there are for two items."""
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


@dataclass
class Drafter:
    """Writes one program, drawing every choice."""

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
        """exp of a block with −inf where the column comes behind the row, or every other column."""
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
                made = self.put(body, block.OuterOp(a.value, b.value), *_product(a, b), varies)
            case "same":
                made = self.of_one_type(body, a, b, open_)
            case _:
                shift = block.RowShiftOp if name == "rows" else block.ColShiftOp
                scale = block.RowScaleOp if name == "rows" else block.ColScaleOp
                if self.flip():
                    made = self.put(body, shift(a.value, b.value), *sums, varies)
                else:
                    made = self.put(body, scale(a.value, b.value), *_product(a, b), varies)
        known.append(made)

    def of_one_type(self, body: Block, a: Known, b: Known, open_: tuple[str, ...]) -> Known:
        varies = a.varies | b.varies
        match self.one_of(("add", "mul", "sub", "linear", "monomial")):
            case "add":
                return self.put(body, block.AddOp(a.value, b.value), a.low + b.low, a.high + b.high, varies)
            case "mul":
                return self.put(body, block.MulOp(a.value, b.value), *_product(a, b), varies)
            case "sub":
                return self.put(body, block.SubOp(a.value, b.value), a.low - b.high, a.high - b.low, varies)
            case "linear":
                return self.linear(body, a, b, open_)
            case _:
                op = block.MonomialOp([(a.value, 1), (b.value, 1)])
                return self.put(body, op, *_product(a, b), varies)

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
                    self.put(body, mul, *_product(decorated, other), decorated.varies | other.varies)
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
        return self.put(body, scale(a.value, v.value), *_product(a, v), varies)

    def step_statistic(self, body: Block, known: list[Known], open_: tuple[str, ...]) -> None:
        """A sum or maximum of the rows of a list of blocks, and another map over that list that uses it."""

        def fits(k: Known) -> bool:
            return (
                isinstance(k.type, block.ListType)
                and isinstance(k.type.element, block.BlockType)
                and k.type.dim == k.type.element.cols
                and k.type.element.rows.data in open_
                and k.type.dim.data not in open_
            )

        lists = [k for k in known if fits(k)]
        if not lists:
            return self.step_map(body, known, open_)
        a = self.recent(lists)
        assert isinstance(a.type, block.ListType)
        dim = a.type.dim.data
        inner = Block(arg_types=[a.type.element])
        item = self.put(inner, block.LoadOp(inner.args[0]), a.low, a.high, a.varies | {dim})
        if self.flip():
            item = self.put(inner, block.MulOp(item.value, item.value), 0, item.magnitude**2, item.varies)
        row = self.row_reduction(inner, item)
        kind = Kind.Sum if self.flip() else Kind.Max
        inner.add_op(block.YieldOp(row.value))
        op = block.MapOp(dim, [a.value], [kind], Region(inner))
        trips = _trips(self.dims[dim]) if kind is Kind.Sum else 1
        low, high = min(row.low, row.low * trips), max(row.high, row.high * trips)
        made = self.put(body, op, low, high, row.varies - {dim})
        known.append(self.multiple(body, made) if self.flip() else made)
        self.step_map(body, known, open_, [a])

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

    # Iteration

    def step_reduce(self, body: Block, known: list[Known], open_: tuple[str, ...]) -> None:
        def fits(k: Known) -> bool:
            if not isinstance(k.type, block.ListType) or not isinstance(k.type.element, block.ItemType):
                return False
            return k.type.dim.data not in (*k.type.element.dims, *open_)

        lists = [k for k in known if fits(k)]
        if lists:
            a = self.recent(lists)
            kind = self.one_of((Kind.Sum, Kind.Max, Kind.Min))
            op = block.ReduceOp(kind, a.value)
            trips = _trips(self.dims[op.dim_name]) if kind is Kind.Sum else 1
            known.append(self.put(body, op, min(a.low, a.low * trips), max(a.high, a.high * trips), a.varies))

    def step_map(
        self, body: Block, known: list[Known], open_: tuple[str, ...], wanted: Sequence[Known] = ()
    ) -> None:
        """A map over some lists; over those that are wanted, and perhaps others."""
        dims = [dim for dim in self.dims if dim not in open_]
        lists = {
            dim: [k for k in known if isinstance(k.type, block.ListType) and k.type.dim.data == dim]
            for dim in dims
        }
        dims = [dim for dim in dims if lists[dim]]
        if not dims:
            return
        dim = self.one_of(dims)
        if wanted:
            assert isinstance(wanted[0].type, block.ListType)
            dim = wanted[0].type.dim.data
        inputs = [*wanted, *(k for k in lists[dim][-4:] if k not in wanted and not self.flip(3))]
        if not inputs or self.flip(6):
            inputs.append(self.recent(lists[dim]))
        element_types = [k.type.element for k in inputs if isinstance(k.type, block.ListType)]
        inner = Block(arg_types=element_types)
        seen = list(known)
        for k, argument in zip(inputs, inner.args, strict=True):
            seen.append(Known(argument, k.low, k.high, k.varies | {dim}))
        self.fill(inner, seen, (*open_, dim), "decorate" if wanted else None)
        yields = self.yields(inner, seen, len(known), dim)
        if not yields:
            return
        inner.add_op(block.YieldOp(*(k.value for k, _ in yields)))
        op = block.MapOp(dim, [k.value for k in inputs], [kind for _, kind in yields], Region(inner))
        body.add_op(op)
        for (k, kind), result in zip(yields, op.results_, strict=True):
            trips = _trips(self.dims[dim]) if kind is Kind.Sum else 1
            low, high = min(k.low, k.low * trips), max(k.high, k.high * trips)
            made = Known(result, low, high, k.varies - {dim})
            if made.magnitude > RANGE and made.is_local:
                factor = CoefficientAttr(Fraction(1, 2 ** math.ceil(math.log2(made.magnitude / 8))))
                scaled = block.LinearOp([(factor, result)])
                made = self.put(
                    body, scaled, low * float(factor.value), high * float(factor.value), made.varies
                )
            known.append(made)

    def yields(self, body: Block, seen: list[Known], outer: int, dim: str) -> list[tuple[Known, Kind]]:
        """What a body gives, and how it is collected; mostly what was made in it."""
        own = seen[outer:]
        found: list[tuple[Known, Kind]] = []
        for _ in range(self.one_of((1, 2, 3))):
            k = self.one_of(seen) if self.flip(8) else self.recent(own)
            kinds = self.kinds(k, dim)
            if self.flip(8) or not kinds:
                kinds = [*kinds, *([Kind.Stack] if self.can_stack(k, dim) else [])]
            elif self.flip() and self.can_stack(k, dim):
                kinds = [Kind.Stack]
            if not kinds:
                continue
            kind = self.one_of(kinds)
            if kind is Kind.Stack and k.is_local:
                store = block.StoreOp(k.value)
                body.add_op(store)
                found.append((Known(store.result, k.low, k.high, k.varies), kind))
                if (more := self.kinds(k, dim)) and self.flip(3):
                    found.append((k, self.one_of(more)))
            else:
                found.append((k, kind))
        return found

    def can_stack(self, k: Known, dim: str) -> bool:
        return not isinstance(k.type, block.ListType) or dim not in k.type.dims

    def kinds(self, k: Known, dim: str) -> list[Kind]:
        """The kinds other than stack that a value can be collected by."""
        nested = isinstance(k.type, block.ListType)
        over = {*k.type.dims, *k.type.item.dims} if nested else set(k.dims)
        if dim in over:
            return []
        kinds = [Kind.Sum, Kind.Sum, Kind.Max, Kind.Min] if k.is_local else []
        return [*kinds, Kind.Any] if dim not in k.varies else kinds

    def fill(self, body: Block, known: list[Known], open_: tuple[str, ...], first: str | None = None) -> None:
        """Write a few operations; a certain one first, if it is given."""
        count = self.draw(st.integers(2, 6)) if open_ else self.draw(st.integers(3, 7))
        for index in range(count):
            nested = open_ and any(isinstance(k.type, block.ListType) for k in known[-2:])
            if index == 0 and first is not None:
                step = first
            elif index == 0 and nested and not self.flip(4):
                step = "map"
            elif any(k.is_local for k in known):
                step = self.one_of(("decorate", "unary", "binary", "decorate", "map", "statistic", "reduce"))
            else:
                step = self.one_of(("map", "statistic", "map", "statistic", "reduce"))
            if open_ and index == 0:
                self.load_all(body, known)
            if self.budget <= 0:
                return
            match step:
                case "decorate":
                    self.step_decorate(body, known, open_)
                case "statistic" if len(open_) < 3:
                    self.step_statistic(body, known, open_)
                case "unary":
                    self.step_unary(body, known, open_)
                case "binary":
                    self.step_binary(body, known, open_)
                case "reduce":
                    self.step_reduce(body, known, open_)
                case _:
                    if len(open_) < 3:
                        self.step_map(body, known, open_)

    # Programs

    def dim(self) -> block.DimAttr:
        """A dim of one or two blocks, the last one ragged in some."""
        extent, size = self.one_of(((3, 2), (2, 1), (1, 1), (5, 3), (4, 2), (2, 3)))
        match self.draw(st.integers(0, 9)):
            case 8:
                return block.DimAttr(extent, 0, block.Blocking.Whole)
            case 9:
                return block.DimAttr(min(extent, 2), 0, block.Blocking.Batch)
            case _:
                return block.DimAttr(extent, size)

    def argument_type(self, axes: Sequence[str]) -> block.ListType:
        """A list of blocks, vectors or scalars; blocks by preference such that two can be contracted."""
        blocks = [(row, axes[-1]) for row in axes[:-1]] or [axes]
        dims = self.one_of((*blocks, *((axis,) for axis in axes), *blocks, ()))
        rest = [name for name in self.dims if name not in dims]
        nest = list(self.draw(st.permutations(dims)))
        if rest and (not nest or self.flip(5)):
            nest.insert(0, self.one_of(rest))
        if not nest:
            nest = dims = axes[:1]
        made = block.list_type(nest, block.item_type(dims[:2], f32, Tier.Global))
        assert isinstance(made, block.ListType)
        return made

    def program(self) -> BlockProgram:
        names = DIMS[: self.one_of((2, 3, 3, 4))]
        self.dims = {name: self.dim() for name in names}
        if all(dim.is_batch for dim in self.dims.values()):
            self.dims["M"] = block.DimAttr(3, 2)
        axes = [name for name, dim in self.dims.items() if not dim.is_batch]
        types = [self.argument_type(axes) for _ in range(self.one_of((1, 2, 3)))]
        for row in axes[:2]:
            if row != axes[-1]:
                item = block.BlockType(row, axes[-1], f32)
                nest = self.one_of(([row, axes[-1]], [axes[-1], row], [row, axes[-1]]))
                made = block.list_type(nest, item)
                assert isinstance(made, block.ListType)
                types.append(made)
        body = Block(arg_types=types)
        for index, argument in enumerate(body.args):
            argument.name_hint = f"a{'bcdef'[index]}"
        known = [Known(argument, -1.5, 1.5, frozenset()) for argument in body.args]
        self.fill(body, known, ())
        made = known[len(types) :]
        results = [k.value for k in made if not k.value.uses][-4:]
        used = [k.value for k in made if k.value.uses]
        if used and (not results or self.flip()):
            results.append(self.one_of(used))
        if not results:
            results = [body.args[0]]
        body.add_op(ReturnOp(*results))
        _erase_unused(body)
        function = FuncOp("program", (types, [value.type for value in results]), Region(body))
        function.attributes[block.DIMS] = block.dims_attr(self.dims)
        ModuleOp([function])
        return BlockProgram(function, random_arguments(function))


def _add(region: Block, op: Operation) -> SSAValue:
    region.add_op(op)
    return op.results[0]


def _erase_unused(body: Block) -> None:
    """Erase operations whose results nobody uses, users first."""
    for op in reversed(list(body.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
        elif isinstance(op, block.MapOp):
            _erase_unused(op.body.block)


@st.composite
def block_programs(draw: st.DrawFn) -> BlockProgram:
    """Random block programs."""
    return Drafter(draw).program()
