"""Expressions: items that a map computes only from blocks of its lists in the same iteration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ....dialects import block
from ...analysis.items import POINTWISE
from ...analysis.structural_keys import Interner, Keys
from .needs import is_exp, own_maximum
from .values import Writer, dims_of


@dataclass(frozen=True)
class Expression:
    """An item in the body of a map over its columns, as loads and operators on them."""

    item: SSAValue
    map: block.MapOp
    ops: tuple[Operation, ...]
    """Loads and operators, in an order in which they can be computed."""
    lists: tuple[SSAValue, ...]
    """The lists whose elements are loaded; the map runs over them."""
    others: tuple[SSAValue, ...]
    """Values from outside the map."""

    def scope(self) -> Block | None:
        """The outermost block in which the lists and all other values are defined; None if the rows of a
        block differ within it.
        """
        blocks = [home_of(value) for value in (*self.lists, *self.others)]
        scope = max(blocks, key=lambda home: sum(1 for _ in maps_around(home)))
        for around in maps_around(self.map.parent):
            if around.body.block is scope:
                break
            if scope.is_ancestor(around) and around.dim_name in dims_of(self.item):
                return None
        return scope

    def occurrences(self, part: SSAValue, scope: Block) -> tuple[SSAValue, ...]:
        """Every item of a block, and of the maps in it, that equals a part of the expression, or all of it:
        the same operators on the same values, or a load of such an item after it was stored.
        """
        keys = Keys(Interner())
        stored: dict[SSAValue, int] = {}

        def visit(body: Block, inside: bool) -> None:
            for op in body.ops:
                if isinstance(op, block.MapOp):
                    own = op.dim_name == self.map.dim_name
                    if own:
                        for argument, list_ in zip(op.body.block.args, op.inputs, strict=True):
                            keys.values[argument] = keys.intern(("element", id(list_)))
                    visit(op.body.block, inside or own)
                    for result, value in zip(op.results_, op.yield_op.arguments, strict=True) if own else ():
                        if isinstance(value.owner, block.StoreOp):
                            stored[result] = keys.of(value.owner.source)
                elif isinstance(op, block.LoadOp) and (list_ := self._list_of(op)) in stored:
                    keys.values[op.result] = stored[list_]
                elif inside and isinstance(op, (block.LoadOp, *POINTWISE)):
                    keys.name(op, keys.of_op(op))

        visit(scope, False)
        wanted = keys.of(part)
        return tuple(value for value, key in keys.values.items() if key == wanted)

    def _list_of(self, load: block.LoadOp) -> SSAValue:
        """The list whose element a map over the same dim loads; for other loads, their operand itself."""
        source = load.source
        if isinstance(source, BlockArgument) and isinstance(map_ := source.block.parent_op(), block.MapOp):
            return map_.inputs[source.index] if map_.dim_name == self.map.dim_name else source
        return source

    def of_first_blocks(self, write: Writer) -> SSAValue:
        """Write the value that the item has in the first iteration of the map, outside of it."""
        return self.of_elements(
            [write(block.FirstOp(list_), "first") for list_ in self.lists], write, "first"
        )

    def of_elements(self, elements: Sequence[SSAValue], write: Writer, hint: str | None = None) -> SSAValue:
        """Write the item with one element of each of the lists."""
        values: dict[SSAValue, SSAValue] = {}
        for argument, list_ in zip(self.map.body.block.args, self.map.inputs, strict=True):
            if list_ in self.lists:
                values[argument] = elements[self.lists.index(list_)]
        for op in self.ops:
            values[op.results[0]] = write(op.clone(dict(values)), hint or op.results[0].name_hint)
        return values[self.item]

    def anchor(self, scope: Block) -> Operation:
        """The operation of a block before which all lists and other values are defined."""
        makers = [value.owner for value in (*self.lists, *self.others)]
        own = [maker for maker in makers if isinstance(maker, Operation) and maker.parent is scope]
        last = own[0] if own else None
        for maker in own:
            assert last is not None
            last = maker if last.is_before_in_block(maker) else last
        after = scope.first_op if last is None else last.next_op
        assert after is not None
        return after


def expression_of(item: SSAValue) -> Expression | None:
    """Return the expression of the innermost map over a block's columns; None if it has none."""
    if not isinstance(item.type, block.BlockType):
        return None
    map_ = next((m for m in maps_around(home_of(item)) if m.dim_name == item.type.cols.data), None)
    if map_ is None:
        return None
    found = _Finder(map_)
    if not found.visit(item) or not found.lists:
        return None
    return Expression(item, map_, tuple(found.ops), tuple(found.lists), tuple(found.others))


class _Finder:
    def __init__(self, map_: block.MapOp):
        self.map = map_
        self.ops: dict[Operation, None] = {}
        self.lists: dict[SSAValue, None] = {}
        self.others: dict[SSAValue, None] = {}

    def visit(self, value: SSAValue) -> bool:
        """Add a value to the expression, after its operands; False if that is not possible."""
        op = value.owner
        if not self.map.is_ancestor(op):
            self.others[value] = None
            return True
        if op in self.ops:
            return True
        if isinstance(op, block.LoadOp) and op.source.owner is self.map.body.block:
            self.lists[self.map.inputs[op.source.index]] = None  # pyright: ignore
        elif isinstance(op, Block) or not _is_pointwise(op) or not all(map(self.visit, op.operands)):
            return False
        self.ops[op] = None
        return True


def _is_pointwise(op: Operation) -> bool:
    """True if an operator gives the same result in any place, and has no exponent to carry."""
    if isinstance(op, block.ElementwiseOp):
        given = {dim for value in op.inputs for dim in dims_of(value)}
        if not given.issuperset(dims_of(op.result)):
            return False
        if is_exp(op) or any(isinstance(inner, block.IndexOp) for inner in op.walk()):
            return False
    return isinstance(op, (block.LoadOp, *POINTWISE)) and own_maximum(op) is None


def home_of(value: SSAValue) -> Block:
    """The block of operations that defines a value."""
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    assert home is not None
    return home


def maps_around(home: Block | None) -> Iterator[block.MapOp]:
    """The maps around a block, the innermost first."""
    while home is not None and (op := home.parent_op()) is not None:
        if isinstance(op, block.MapOp):
            yield op
        home = op.parent
