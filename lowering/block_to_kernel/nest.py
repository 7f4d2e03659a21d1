"""Lowering of one kernel: loops, tiles and moves for the operations of a block program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, Float64Type
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from ...dialects import block, kernel
from ...dialects.block import Kind
from ...dialects.diagnostics import OpError
from ...dialects.kernel import Lanes, Output
from ...dialects.scalar import is_float
from ...dialects.scalar_builder import ScalarBuilder
from ...passes.analysis.causal_masks import Until
from .causal_bound import visible_until
from .layout import Layouts, is_block
from .products import Products, type_of_products
from .running_maximum import may_run
from .sweeps import Recipe, make_sweep, recipe_for, widened

_IDENTITY = {Kind.Sum: 0.0, Kind.Max: float("-inf"), Kind.Min: float("inf")}
_COMBINE: Mapping[Kind, tuple[type[Operation], type[Operation]]] = {
    Kind.Sum: (arith.AddfOp, arith.AddiOp),
    Kind.Max: (arith.MaximumfOp, arith.MaxSIOp),
    Kind.Min: (arith.MinimumfOp, arith.MinSIOp),
}


@dataclass(frozen=True)
class Place:
    """Place of a list (or of an item in global memory): an array, and the dims of its axes."""

    array: SSAValue
    axes: tuple[tuple[str, ...], ...]
    first: tuple[str, ...] = ()
    here: tuple[str, ...] = ()


def first_of(op: block.FirstOp, places: Mapping[SSAValue, Sequence[Place]]) -> list[Place]:
    """Return the place of the first element of a list."""
    return [
        Place(place.array, place.axes, (*place.first, _list_dim(op.list)), place.here)
        for place in places[op.list]
    ]


@dataclass
class NestLowering:
    """Lowers operations of a block program into the body of one kernel.

    `places` has the lists from outside that the kernel reads or writes. Tiles are made in `tiles`, the block
    that runs once for each parallel iteration.
    """

    dims: Mapping[str, block.DimAttr]
    layouts: Layouts
    places: dict[SSAValue, list[Place]]
    tiles: Block
    double: bool = False
    """True if the kernel computes in f64; else it computes in f32, of which 16-bit floats are a part."""
    products: Products = Products.Operands
    _tile_of: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _accumulators: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Tiles to which the operation that computes a value adds it, instead of writing it to a tile of
    its own.
    """
    _last_tile: Operation | None = None

    def lower(self, ops: Iterable[Operation], body: Block) -> None:
        """Lower operations in order to the end of a body."""
        for op in ops:
            self._lower(op, body)

    # Tiles

    def _tile(self, type: Attribute, lanes: Lanes, hint: str | None) -> SSAValue:
        assert isinstance(type, block.ItemType)
        op = kernel.TileOp(kernel.TileType(type.dims, type.element_type, lanes))
        self._reserve(op)
        op.result.name_hint = hint
        return op.result

    def _reserve(self, op: Operation) -> None:
        """Insert an operation that makes a tile or buffer at a place that all loops see."""
        if self._last_tile is None and self.tiles.first_op is not None:
            self.tiles.insert_op_before(op, self.tiles.first_op)
        elif self._last_tile is None:
            self.tiles.add_op(op)
        else:
            self.tiles.insert_op_after(op, self._last_tile)
        self._last_tile = op

    def _new_tile(self, value: SSAValue) -> SSAValue:
        """A tile for a value of the block program."""
        tile = self._tile_of[value] = self._tile(value.type, self.layouts[value], value.name_hint)
        return tile

    def _tile_for(self, value: SSAValue) -> SSAValue:
        return self._tile_of[value]

    # Operations

    def _lower(self, op: Operation, into: Block) -> None:
        match op:
            case block.LoadOp():
                self._load(op, into)
            case block.StoreOp():
                self._store(op, into)
            case block.FirstOp():
                self.places[op.result] = first_of(op, self.places)
            case block.MapOp():
                self._map(op, into)
            case block.ReduceOp():
                self._reduce(op, into)
            case block.DotOp():
                self._dot(op, into)
            case block.YieldOp():
                pass
            case block.ElementwiseOp() if _is_mask(op):
                pass  # each contraction computes its mask, and only in a careful run
            case _:
                recipe = recipe_for(op)
                if recipe is None:
                    raise OpError(op, "has no form in a kernel")
                self._sweep(op, recipe, into)

    def _cursor(self, place: Place, item: block.ItemType, into: Block, hint: str | None) -> SSAValue:
        op = kernel.CursorOp(
            place.array, place.axes, kernel.CursorType(item.dims, item.element_type), place.first, place.here
        )
        into.add_op(op)
        op.result.name_hint = hint
        return op.result

    def _load(self, op: block.LoadOp, into: Block) -> None:
        item = op.source.type
        assert isinstance(item, block.ItemType)
        cursor = self._cursor(self.places[op.source][0], item, into, op.result.name_hint)
        if self._is_read_in_place(op.result, self.places[op.source][0]):
            self._tile_of[op.result] = cursor
            return
        into.add_op(kernel.LoadOp(self._new_tile(op.result), cursor))

    def _is_read_in_place(self, value: SSAValue, place: Place) -> bool:
        """True if only contractions read a loaded block: element by element, or along the lanes of a
        buffer.
        """
        if not is_block(value) or not value.uses:
            return False
        rows = self.layouts.orientation is Lanes.Rows
        along = rows and isinstance(place.array.owner, kernel.BufferOp)
        for use in value.uses:
            user = use.operation
            if not isinstance(user, block.DotOp) or user.lhs is user.rhs or value is user.kept:
                return False
            if rows and value is not user.rhs and not along:
                return False
        return isinstance(block.element_type_of(value.type), Float64Type) == self.double

    def _store(self, op: block.StoreOp, into: Block) -> None:
        item = op.source.type
        assert isinstance(item, block.ItemType)
        if op.result not in self.places:
            self.places[op.result] = [self._buffer(op.result.type)]
        for place in self.places[op.result]:
            cursor = self._cursor(place, item, into, op.result.name_hint)
            into.add_op(kernel.StoreOp(cursor, self._tile_for(op.source)))

    def _buffer(self, type: Attribute) -> Place:
        """Make a buffer for a list that no other iteration of the loops around uses."""
        nest = type.dims if isinstance(type, block.ListType) else ()
        item = type.item if isinstance(type, block.ListType) else type
        assert isinstance(item, block.ItemType)
        outer = [dim for dim in nest if dim not in item.dims]
        # The axis along the lanes last, so that tiles are copied as they are, and contractions read in place.
        turned = len(item.dims) == 2 and self.layouts.orientation is Lanes.Rows
        axes = [*outer, *(reversed(item.dims) if turned else item.dims)]
        here = [dim for dim in item.dims if dim not in nest and not self.dims[dim].is_whole]
        op = kernel.BufferOp(axes, item.element_type, here, outer)
        self._reserve(op)
        return Place(op.result, tuple((dim,) for dim in axes), (), tuple(here))

    def _dot(self, op: block.DotOp, into: Block) -> None:
        accumulator = self._accumulators.get(op.result)
        lhs, rhs = self._tile_for(op.lhs), self._tile_for(op.rhs)
        if self.layouts.orientation is Lanes.Cols:
            rhs = self._turned(op.rhs, rhs, into)
        multiply, kept = type_of_products(op, self.products), self._mask(op, into)
        if accumulator is not None:
            self._tile_of[op.result] = accumulator
            into.add_op(
                kernel.ContractOp(accumulator, lhs, rhs, accumulate=True, kept=kept, multiply=multiply)
            )
        else:
            tile = self._new_tile(op.result)
            into.add_op(kernel.ContractOp(tile, lhs, rhs, kept=kept, multiply=multiply))

    def _mask(self, op: block.DotOp, into: Block) -> SSAValue | None:
        """Return the tile of 0 and 1 that a careful run makes of a contraction's mask; None without one."""
        if op.kept is None:
            return None
        assert isinstance(op.kept.type, block.BlockType)
        maker, dims = op.kept.owner, op.kept.type.dims
        number = block.element_type_of(op.result.type)
        tile = self._tile(block.item_type(dims, number), self.layouts[op.kept], "seen")
        values, deferred = [op.kept], None
        if isinstance(maker, block.ElementwiseOp) and _is_mask(maker):
            values, deferred = list(maker.inputs), recipe_for(maker)

        def function(s: ScalarBuilder, elements: Sequence[SSAValue]) -> list[SSAValue]:
            kept = elements[0] if deferred is None else deferred.function(s, elements)
            return [s.select(kept, s.constant(1.0, number), s.constant(0.0, number))]

        inputs, outputs = [self._tile_for(value) for value in values], [(Output.Each, tile)]
        into.add_op(make_sweep(dims, inputs, outputs, function, careful=True))
        return tile

    def _turned(self, value: SSAValue, tile: SSAValue, into: Block) -> SSAValue:
        """Return the right operand of a contraction with its rows in lanes."""
        if not isinstance(tile.type, kernel.TileType) or tile.type.rows_in_lanes:
            return tile
        turned = self._tile(value.type, Lanes.Rows, value.name_hint)
        into.add_op(kernel.MoveOp(turned, tile))
        return turned

    def _sweep(self, op: Operation, recipe: Recipe, into: Block) -> None:
        result = op.results[0]
        inputs = [self._tile_for(operand) for operand in op.operands]
        output = self._new_tile(result)
        into.add_op(
            make_sweep(
                recipe.dims, inputs, [(recipe.output, output)], lambda s, values: [recipe.function(s, values)]
            )
        )

    # Loops

    def _reduce(self, op: block.ReduceOp, into: Block) -> None:
        kind, item = op.kind.data, op.result.type
        assert isinstance(item, block.ItemType)
        total, dim = self._new_tile(op.result), op.dim_name
        place = self.places[op.list][0]
        if self.dims[dim].is_whole:
            into.add_op(kernel.LoadOp(total, self._cursor(place, item, into, op.result.name_hint)))
            return
        into.add_op(kernel.FillOp(total, _IDENTITY[kind]))
        part = self._tile(item, self.layouts[op.result], op.result.name_hint)
        inner = self._loop(dim, into)
        inner.add_op(kernel.LoadOp(part, self._cursor(place, item, inner, op.result.name_hint)))
        self._combine(kind, total, part, inner)
        if into is self.tiles:
            self._unite(inner, {0: total}, [kind], {})

    def _loop(self, dim: str, into: Block, until: Until | None = None) -> Block:
        body = Block()
        end = None if until is None else (until.dim, until.offset)
        into.add_op(kernel.ForOp(dim, Region(body), end))
        return body

    def _combine(self, kind: Kind, total: SSAValue, part: SSAValue, into: Block) -> None:
        """total = total + part, or the like."""
        assert isinstance(total.type, kernel.TileType)
        of_floats, of_integers = _COMBINE[kind]

        def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
            combine = of_floats if is_float(values[0].type) else of_integers
            return [s.insert(combine.create(operands=list(values), result_types=[values[0].type]))]

        dims = total.type.dims
        into.add_op(make_sweep(dims, [total, part], [(Output.Each, total)], function))

    def _map(self, op: block.MapOp, into: Block) -> None:
        for value, argument in zip(op.inputs, op.body.block.args, strict=True):
            self.places[argument] = self.places[value]
        self._place_lists(op, into)
        if self.dims[op.dim_name].is_whole:
            self._single(op, into)
        else:
            self._iterated(op, into)

    def _place_lists(self, op: block.MapOp, into: Block) -> None:
        """Choose the places of the lists that a map makes; they decide what its body stores."""
        for kind, result, yielded in zip(op.result_kinds, op.results_, op.yield_op.arguments, strict=True):
            if block.is_local(yielded.type) or (kind is Kind.Any and result not in self.places):
                continue
            if result not in self.places:
                self.places[result] = [self._buffer(result.type)]
            self.places[yielded] = [*self.places.get(yielded, []), *self.places[result]]

    def _single(self, op: block.MapOp, into: Block) -> None:
        """Lower a map over a dim with one block: its body, without a loop."""
        for kind, result, yielded in zip(op.result_kinds, op.results_, op.yield_op.arguments, strict=True):
            if kind.reduces and result in self._accumulators and _may_add_directly(op, yielded):
                self._accumulators[yielded] = self._accumulators[result]
        self.lower(op.body.block.ops, into)
        for kind, result, yielded in zip(op.result_kinds, op.results_, op.yield_op.arguments, strict=True):
            if kind is Kind.Stack or yielded not in self._tile_of:
                self.places[result] = self.places[yielded]
                continue
            self._tile_of[result] = self._tile_of[yielded]
            total = self._accumulators.get(result)
            if total is not None and self._tile_of[yielded] is not total:
                self._combine(kind, total, self._tile_of[yielded], into)
                self._tile_of[result] = total

    def _iterated(self, op: block.MapOp, into: Block) -> None:
        yields = op.yield_op.arguments
        totals: dict[int, SSAValue] = {}
        for index, (kind, result) in enumerate(zip(op.result_kinds, op.results_, strict=True)):
            if not kind.reduces:
                continue
            total = self._accumulators.get(result)
            if total is None:
                total = self._new_tile(result)
                into.add_op(kernel.FillOp(total, _IDENTITY[kind]))
            else:
                self._tile_of[result] = total
            totals[index] = total
            pivot = op.result_pivots[index]
            if kind is Kind.Sum and pivot is None and _may_add_directly(op, yields[index]):
                self._accumulators[yields[index]] = total
        maxima = {pivot for pivot in op.result_pivots if pivot is not None}
        until = visible_until(op, min(maxima)) if len(maxima) == 1 else None
        inner = self._loop(op.dim_name, into, until)
        running = {index: may_run(op, index) for index in maxima}
        fades: dict[int, SSAValue] = {}
        delayed = self._delayed_contractions(op, running)
        for each in op.body.block.ops:
            if each not in delayed:
                self._lower(each, inner)
            for index in maxima:
                if running[index] and each is yields[index].owner:
                    fades[index] = self._advance(yields[index], totals[index], inner)
                    self._tile_of[yields[index]] = totals[index]
        factors = {
            index: (fades[index], None)
            if running[index]
            else self._rescale(self._tile_for(yields[index]), totals[index], inner)
            for index in sorted(maxima)
        }
        for index, total in totals.items():
            pivot = op.result_pivots[index]
            maker = yields[index].owner
            if pivot is not None and isinstance(maker, Operation) and maker in delayed:
                assert isinstance(maker, block.DotOp)
                self._rescale_and_contract(maker, total, factors[pivot][0], inner)
            elif pivot is not None:
                self._rescale_and_add(total, self._tile_for(yields[index]), factors[pivot], inner)
            elif index in maxima or yields[index] in self._accumulators:
                continue
            else:
                self._combine(op.result_kinds[index], total, self._tile_for(yields[index]), inner)
        kept: list[SSAValue] = []
        for kind, result, yielded in zip(op.result_kinds, op.results_, yields, strict=True):
            if kind is Kind.Any and yielded in self._tile_of:
                self._tile_of[result] = self._tile_of[yielded]
                kept.append(self._tile_of[result])
            elif kind is Kind.Any:
                self.places[result] = self.places[yielded]
        lists = any(
            kind is Kind.Any and not block.is_local(yielded.type)
            for kind, yielded in zip(op.result_kinds, yields, strict=True)
        )
        if into is self.tiles and not lists:
            pivots = {index: pivot for index in totals if (pivot := op.result_pivots[index]) is not None}
            self._unite(inner, totals, op.result_kinds, pivots, kept)

    def _unite(
        self,
        inner: Block,
        totals: Mapping[int, SSAValue],
        kinds: Sequence[Kind],
        pivots: Mapping[int, int],
        kept: Sequence[SSAValue] = (),
    ) -> None:
        """Write the merge of two parts of a loop's iterations: its `totals` by their numbers, of which some
        are relative to the maximum whose number `pivots` gives. For `kept` the tiles of any iteration will
        do.
        """
        loop = inner.parent_op()
        assert isinstance(loop, kernel.ForOp)
        carried = list(dict.fromkeys((*totals.values(), *kept)))
        merge = Block(arg_types=[tile.type for tile in carried])
        others = dict(zip(carried, merge.args, strict=True))
        for tile, other in others.items():
            other.name_hint = f"{tile.name_hint}_other" if tile.name_hint else "other"
        outside, self.tiles, self._last_tile = (self.tiles, self._last_tile), merge, None
        factors = {
            top: self._rescale(others[totals[top]], totals[top], merge)
            for top in sorted(set(pivots.values()))
        }
        for index, total in totals.items():
            if index in pivots:
                self._rescale_and_add(total, others[total], factors[pivots[index]], merge)
            elif index not in factors:
                self._combine(kinds[index], total, others[total], merge)
        self.tiles, self._last_tile = outside
        loop.operands = carried
        loop.add_region(Region(merge))

    def _delayed_contractions(self, op: block.MapOp, running: Mapping[int, bool]) -> set[Operation]:
        """Contractions that add directly to a sum that is relative to a running maximum."""
        found: set[Operation] = set()
        for index, yielded in enumerate(op.yield_op.arguments):
            pivot = op.result_pivots[index]
            if pivot is not None and running[pivot] and _may_add_directly(op, yielded):
                maker = yielded.owner
                if isinstance(maker, block.DotOp):
                    found.add(maker)
        return found

    def _rescale_and_contract(self, op: block.DotOp, total: SSAValue, decay: SSAValue, into: Block) -> None:
        lhs, rhs = self._tile_for(op.lhs), self._tile_for(op.rhs)
        if self.layouts.orientation is Lanes.Cols:
            rhs = self._turned(op.rhs, rhs, into)
        multiply, kept = type_of_products(op, self.products), self._mask(op, into)
        into.add_op(kernel.ContractOp(total, lhs, rhs, scale=decay, kept=kept, multiply=multiply))

    def _factor_tile(self, total: SSAValue, hint: str) -> SSAValue:
        assert isinstance(total.type, kernel.TileType)
        dims, element_type = total.type.dims, total.type.element_type
        return self._tile(block.item_type(dims, element_type), Lanes.Cols, hint)

    def _advance(self, part: SSAValue, top: SSAValue, into: Block) -> SSAValue:
        """Raise a running maximum to that of an iteration; return the factor that rescales earlier sums."""
        decay = self._factor_tile(top, "fade")

        def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
            old, new = values
            moved = s.maximum(old, new)
            return [moved, _relative_exp(s, old, moved)]

        tile = top.type
        assert isinstance(tile, kernel.TileType)
        outputs = [(Output.Each, top), (Output.Each, decay)]
        into.add_op(make_sweep(tile.dims, [top, self._tile_for(part)], outputs, function))
        return decay

    def _rescale(self, part: SSAValue, top: SSAValue, into: Block) -> tuple[SSAValue, SSAValue]:
        """Update a maximum; return the factors that rescale earlier sums and the sums of this iteration."""
        decay, unit = self._factor_tile(top, "fade"), self._factor_tile(top, "unit")

        def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
            old, new = values
            moved = s.maximum(old, new)
            return [moved, _relative_exp(s, old, moved), _relative_exp(s, new, moved)]

        tile = top.type
        assert isinstance(tile, kernel.TileType)
        outputs = [(Output.Each, top), (Output.Each, decay), (Output.Each, unit)]
        into.add_op(make_sweep(tile.dims, [top, part], outputs, function))
        return decay, unit

    def _rescale_and_add(
        self, total: SSAValue, part: SSAValue, factors: tuple[SSAValue, SSAValue | None], into: Block
    ) -> None:
        """Write total = total * decay + part * unit."""
        decay, unit = factors
        assert isinstance(total.type, kernel.TileType)

        def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
            own = widened(s, values[2], values[0].type)
            kept = s.multiply(values[0], own)
            new = values[1] if unit is None else s.multiply(values[1], widened(s, values[3], values[1].type))
            return [s.add(kept, new)]

        inputs = [total, part, decay, *([] if unit is None else [unit])]
        into.add_op(make_sweep(total.type.dims, inputs, [(Output.Each, total)], function))


def _list_dim(value: SSAValue) -> str:
    assert isinstance(value.type, block.ListType)
    return value.type.dim.data


def _is_mask(op: block.ElementwiseOp) -> bool:
    """True if an operator computes nothing but masks of contractions."""
    uses = list(op.result.uses)
    return bool(uses) and all(isinstance(use.operation, block.DotOp) and use.index == 2 for use in uses)


def _may_add_directly(op: block.MapOp, yielded: SSAValue) -> bool:
    """True if the operation that computes a yielded value can add it to a total: it has no other reader."""
    maker = yielded.owner
    if not isinstance(maker, block.DotOp | block.MapOp) or maker.parent is not op.body.block:
        return False
    if len(list(yielded.uses)) != 1:
        return False
    if isinstance(maker, block.MapOp):
        index = list(maker.results).index(yielded)  # pyright: ignore[reportArgumentType]
        return maker.result_kinds[index] is Kind.Sum and maker.result_pivots[index] is None
    return True


def _relative_exp(s: ScalarBuilder, exponent: SSAValue, top: SSAValue) -> SSAValue:
    """exp(exponent - top), and 1 if both are equal, even -inf."""
    type = exponent.type
    assert isa(type, AnyFloat)
    same = s.insert(arith.CmpfOp(exponent, top, "oeq"))
    power = s.insert(math.ExpOp(s.subtract(exponent, top)))
    return s.select(same, s.constant(1.0, type), power)
