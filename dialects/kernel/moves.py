"""Moves between arrays and tiles, and fills. Each operation writes into a tile or a block that is its
operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, UnitAttr, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_attr_def, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..array.directives import float_text, parse_f64
from ..block.syntax import (
    parse_attributes,
    parse_operand_types,
    print_attributes,
    print_operands,
    print_types,
)
from ..scalar import is_float
from . import placement
from .accessors import require_item, require_tile
from .effects import KernelOp, writers
from .storage import CursorOp, TileOp, packed_layout
from .structure import is_input, is_output
from .sweeps import SweepOp
from .types import CursorType, Space


class _MoveOp(KernelOp):
    """`%to, %from word… : type, type`: copies the elements of one item to another of the same dims.

    The words are optional flags of the operation.
    """

    WORDS: ClassVar[tuple[str, ...]] = ()

    target = operand_def()
    source = operand_def()

    def __init__(self, target: SSAValue, source: SSAValue, words: Sequence[str] = ()):
        super().__init__(operands=[target, source], properties={word: UnitAttr() for word in words})

    @property
    def tiles_read(self) -> tuple[SSAValue, ...]:
        return (self.source,)

    @property
    def tiles_written(self) -> tuple[SSAValue, ...]:
        return (self.target,)

    def verify_same_dims(self, *, perhaps_turned: bool = False) -> None:
        target, source = require_item(self, self.target), require_item(self, self.source)
        if target.dims != source.dims and not (perhaps_turned and target.dims == source.dims[::-1]):
            raise VerifyException(f"{self.name}: both sides must have the same dims, got {target}, {source}")
        if is_float(target.element_type) != is_float(source.element_type):
            raise VerifyException(
                f"{self.name}: {source.element_type} cannot become {target.element_type} in a move"
            )

    @classmethod
    def parse(cls, parser: Parser):
        target = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        source = parser.parse_unresolved_operand()
        words = [word for word in cls.WORDS if parser.parse_optional_keyword(word) is not None]
        attributes = parse_attributes(parser)
        operands = parse_operand_types(parser, [target, source])
        properties: dict[str, Attribute] = {word: UnitAttr() for word in words}
        return cls.create(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        for word in self.WORDS:
            if word in self.properties:
                printer.print_string(f" {word}")
        print_attributes(printer, self)
        print_types(printer, self.operands)

    def _verify_in_place(self, tile: SSAValue) -> None:
        """Require of a tile that may be a block of an array: one operation writes it, and it has the array's
        lanes.
        """
        type = require_tile(self, tile)
        if not isinstance(tile.owner, TileOp) or not type.dims or type.rows_in_lanes:
            raise VerifyException(f"{self.name}: `in_place` needs a tile with columns in lanes, got {type}")
        count = len(writers(tile))
        if count != 1:
            raise VerifyException(
                f"{self.name}: `in_place` needs a tile that one operation writes, got {count}"
            )


@irdl_op_definition
class LoadOp(_MoveOp):
    """A block of an array → a tile, in the layout and the element type of the tile: `kernel.load %q, %Q :
    !kernel.tile<…>, !kernel.cursor<…>`.

    With `in_place` the tile may be the block of the array itself, where its rows lie as a tile's: no other
    operation writes to it. With `ahead` the row after the current one is prefetched into the cache.
    """

    name = "kernel.load"
    WORDS: ClassVar[tuple[str, ...]] = ("in_place", "ahead")
    in_place: UnitAttr | None = opt_prop_def(UnitAttr)
    ahead: UnitAttr | None = opt_prop_def(UnitAttr)
    is_async: UnitAttr | None = opt_attr_def(placement.ASYNC, attr_name=placement.ASYNC_ATTRIBUTE)

    def verify_(self) -> None:
        type = require_tile(self, self.target)
        if not isinstance(self.source.type, CursorType):
            raise VerifyException(f"kernel.load: expected a cursor to load from, got {self.source.type}")
        self.verify_same_dims()
        if packed_layout(self.source) is not None:
            raise VerifyException("kernel.load: only contractions read a packed array")
        cursor = self.source.owner
        if self.in_place is not None:
            self._verify_in_place(self.target)
            if isinstance(cursor, CursorOp) and not is_input(cursor.array):
                raise VerifyException("kernel.load: `in_place` needs an array that the kernel only reads")
        if self.ahead is not None and (len(type.dims) != 2 or type.rows_in_lanes):
            raise VerifyException(f"kernel.load: `ahead` needs rows of columns in lanes, got {type}")
        placement.verify_load(self, self.target)


@irdl_op_definition
class StoreOp(_MoveOp):
    """A tile → a block of an array: `kernel.store %O, %o : !kernel.cursor<…>, !kernel.tile<…>`.

    With `in_place` the tile may be the block of the array itself: only a sweep writes to it, and no other
    operation reads it. With `stream` the block is written past the caches, if the array would not stay in
    them.
    """

    name = "kernel.store"
    WORDS: ClassVar[tuple[str, ...]] = ("in_place", "stream")
    in_place: UnitAttr | None = opt_prop_def(UnitAttr)
    stream: UnitAttr | None = opt_prop_def(UnitAttr)
    offset: IntegerAttr[IntegerType] | None = opt_attr_def(placement.OFFSET)

    def verify_(self) -> None:
        require_tile(self, self.source)
        if not isinstance(self.target.type, CursorType):
            raise VerifyException(f"kernel.store: expected a cursor to store to, got {self.target.type}")
        self.verify_same_dims()
        cursor = self.target.owner
        if isinstance(cursor, CursorOp) and is_input(cursor.array):
            raise VerifyException("kernel.store: the kernel only reads this array")
        if self.in_place is not None:
            self._verify_in_place(self.source)
            others = [use for use in self.source.uses if use.operation is not self]
            if len(others) != 1 or not isinstance(others[0].operation, SweepOp):
                raise VerifyException("kernel.store: `in_place` needs a tile that one sweep writes")
        if self.stream is not None and isinstance(cursor, CursorOp) and not is_output(cursor.array):
            raise VerifyException("kernel.store: `stream` is for arrays that the kernel gives")
        placement.verify_store(self, self.source)


@irdl_op_definition
class MoveOp(_MoveOp):
    """A tile → another tile, perhaps with other lanes: `kernel.move %b, %a : !kernel.tile<…>,
    !kernel.tile<…>`. A tile in shared memory may have the dims the other way around.
    """

    name = "kernel.move"

    def verify_(self) -> None:
        target = require_tile(self, self.target)
        require_tile(self, self.source)
        self.verify_same_dims(perhaps_turned=target.space.data is Space.Shared)


@irdl_op_definition
class FillOp(KernelOp):
    """Every element of a tile becomes a number: `kernel.fill %top, -inf : !kernel.tile<M x f32, scratch>`."""

    name = "kernel.fill"
    tile = operand_def()
    value: FloatAttr[Attribute] = prop_def(FloatAttr)  # pyright: ignore[reportInvalidTypeArguments]

    def __init__(self, tile: SSAValue, value: float):
        super().__init__(operands=[tile], properties={"value": FloatAttr(value, f64)})

    @property
    def tiles_read(self) -> tuple[SSAValue, ...]:
        return ()

    @property
    def tiles_written(self) -> tuple[SSAValue, ...]:
        return (self.tile,)

    @property
    def number(self) -> float:
        return self.value.value.data

    def verify_(self) -> None:
        require_tile(self, self.tile)
        if isnan(self.number):
            raise VerifyException("kernel.fill: the value must be a number or infinite")

    @classmethod
    def parse(cls, parser: Parser) -> FillOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        negative = parser.parse_optional_punctuation("-") is not None
        if parser.parse_optional_keyword("inf") is not None:
            number = float("inf")
        else:
            number = parse_f64(parser, " or `inf`")
        attributes = parse_attributes(parser)
        (tile,) = parse_operand_types(parser, [operand])
        op = cls(tile, -number if negative else number)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.tile)
        text = float_text(self.number) if isnan(self.number) else repr(self.number)
        mantissa, exponent, power = text.partition("e")
        # A number is only read as a float with a point in it.
        point = ".0" if exponent and "." not in mantissa else ""
        printer.print_string(f", {mantissa}{point}{exponent}{power}")
        print_attributes(printer, self)
        print_types(printer, (self.tile,))
