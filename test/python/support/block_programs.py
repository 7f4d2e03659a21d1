"""A hypothesis strategy that draws random block programs whose values stay in a moderate range.

`block_programs()` draws a `BlockProgram`: a function of lists of items, and arguments for it. Maps nest and
follow one another over dims of all kinds (ragged, of extent 1, whole, batch); lists are mapped, captured at
any depth, both at once, and mapped twice; values are stacked, reduced, both, and handed on as `any`. Shifts
wait for reduced results often enough for the delicate laws to find work.

Each value carries an interval that holds all its elements, and the dims with whose iteration it changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from bb.dialects import block
from bb.dialects.block import CoefficientAttr, Kind, Tier
from bb.runtime.interpreter.blocks import Value
from block_drafter import RANGE, ItemDrafter, Known
from block_evaluation import random_arguments
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

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


def _trips(dim: block.DimAttr) -> int:
    extent, size = dim.static_extent, dim.block_size
    assert extent is not None
    assert size is not None
    return -(-extent // size)


class Drafter(ItemDrafter):
    """Adds maps and reductions, and whole programs."""

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

    def step_view(self, body: Block, known: list[Known], open_: tuple[str, ...]) -> None:
        """A list, mostly one that a perfect nest makes of others, seen in another order of its dims."""

        def nested(k: Known) -> bool:
            return isinstance(k.type, block.ListType) and len(k.type.dims) > 1

        def fits(k: Known) -> bool:
            if not isinstance(k.type, block.ListType):
                return False
            nest, item = k.type.dims, k.type.item.dims
            return all(self.dims[dim].is_batch or dim in item for dim in nest) and all(
                dim in nest or self.dims[dim].is_whole for dim in item
            )

        lists = [k for k in known if nested(k)]
        if not lists:
            return self.step_map(body, known, open_)
        for _ in range(self.one_of((0, 1, 1, 2))):
            made = self.nest(body, known, self.recent(lists), self.one_of(lists))
            lists = [made] if fits(made) else lists
            known.append(made)
        lists = [k for k in lists if fits(k)]
        if not lists:
            return None
        a = self.recent(lists)
        assert isinstance(a.type, block.ListType)
        axes = [[dim] for dim in dict.fromkeys((*a.type.dims, *a.type.item.dims))]
        shape = [self.dims[dim].static_extent or 1 for (dim,) in axes]
        array = block.AssembleOp(a.value, axes, TensorType(block.element_type_of(a.type.item), shape))
        body.add_op(array)
        nest = list(a.type.dims)
        order = self.draw(st.permutations(nest)) if self.flip(4) else nest[::-1]
        seen = block.list_type(order, a.type.item)
        assert isinstance(seen, block.ListType)
        known.append(self.put(body, block.PartitionOp(array.result, axes, seen), a.low, a.high, a.varies))
        self.step_map(body, known, open_, known[-1:])

    def nest(self, body: Block, known: list[Known], *lists: Known) -> Known:
        """Maps, one directly inside another, over the dims of the first list; the list that they stack."""
        assert isinstance(lists[0].type, block.ListType)
        dims = lists[0].type.dims
        elements, bodies, inputs = list(lists), list[Block](), list[list[SSAValue]]()
        for dim in dims:
            here = [k for k in elements if isinstance(k.type, block.ListType) and k.type.dim.data == dim]
            bodies.append(
                Block(arg_types=[k.type.element for k in here if isinstance(k.type, block.ListType)])
            )
            inputs.append([k.value for k in here])
            inner = [
                Known(argument, k.low, k.high, k.varies | {dim})
                for k, argument in zip(here, bodies[-1].args, strict=True)
            ]
            elements = [*inner, *(k for k in elements if k not in here)]
        element = next(k for k in elements if isinstance(k.type, block.ItemType))
        load = block.LoadOp(element.value)
        seen = [*known, *elements, self.put(bodies[-1], load, element.low, element.high, element.varies)]
        self.load_all(bodies[-1], seen)
        self.step_unary(bodies[-1], seen, dims)
        self.step_binary(bodies[-1], seen, dims)
        item = [k for k in seen if k.is_local and k not in known][-1]
        stored = block.StoreOp(item.value)
        bodies[-1].add_ops([stored, block.YieldOp(stored.result)])
        for level in reversed(range(len(dims))):
            op = block.MapOp(dims[level], inputs[level], [Kind.Stack], Region(bodies[level]))
            if level:
                bodies[level - 1].add_ops([op, block.YieldOp(op.results_[0])])
            else:
                body.add_op(op)
        return Known(op.results_[0], item.low, item.high, item.varies - set(dims))

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
        """Values that a body yields, most of them made in it, and the way each is collected."""
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
                step = self.one_of(
                    ("map", "statistic", "map", "statistic", "reduce", "view" if not open_ else "map")
                )
            if open_ and index == 0:
                self.load_all(body, known)
            if self.budget <= 0:
                return
            match step:
                case "decorate":
                    self.step_decorate(body, known, open_)
                case "statistic" if len(open_) < 3:
                    self.step_statistic(body, known, open_)
                case "view":
                    self.step_view(body, known, open_)
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


def _erase_unused(body: Block) -> None:
    """Erase operations whose results are not used, users first."""
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
