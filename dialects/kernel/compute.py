"""Moves between arrays and tiles, and arithmetic on tiles. Every op writes into tiles that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from math import isnan
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    FlatSymbolRefAttr,
    Float16Type,
    FloatAttr,
    FloatTF32Type,
    IndexType,
    SymbolRefAttr,
    UnitAttr,
    f32,
    f64,
)
from xdsl.dialects.utils import AbstractYieldOperation, EnumAttribute
from xdsl.ir import Attribute, Block, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..block.dims import require_declared
from ..block.syntax import (
    parse_attributes,
    parse_binding,
    parse_operand_types,
    print_attributes,
    print_bindings,
    print_operands,
    print_types,
)
from ..scalar import is_float, verify_scalar_region
from .storage import CursorOp, TileOp
from .structure import enclosing_loop, is_input, is_output, require_axes
from .types import CursorType, PackedAttr, Space, TileType


def _item(op: IRDLOperation, value: SSAValue) -> TileType | CursorType:
    if not isinstance(value.type, TileType | CursorType):
        raise VerifyException(f"{op.name}: expected a tile or a cursor, got {value.type}")
    return value.type


def _tile(op: IRDLOperation, value: SSAValue) -> TileType:
    if not isinstance(value.type, TileType):
        raise VerifyException(f"{op.name}: expected a tile, got {value.type}")
    return value.type


def _layout(value: SSAValue) -> PackedAttr | None:
    """The layout of the array that an operand is a block of, if it is packed."""
    return value.owner.packed if isinstance(value.owner, CursorOp) else None


class _MoveOp(IRDLOperation):
    """`%to, %from word… : type, type`: the elements of one item become those of another of the same dims.

    A word is a property that an operation may have or not.
    """

    WORDS: ClassVar[tuple[str, ...]] = ()

    target = operand_def()
    source = operand_def()

    def __init__(self, target: SSAValue, source: SSAValue, words: Sequence[str] = ()):
        super().__init__(operands=[target, source], properties={word: UnitAttr() for word in words})

    def verify_same_dims(self, *, perhaps_turned: bool = False) -> None:
        target, source = _item(self, self.target), _item(self, self.source)
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
        """A tile that may be a block of an array has one writer, and its lanes are the array's."""
        type = _tile(self, tile)
        if not isinstance(tile.owner, TileOp) or not type.dims or type.rows_in_lanes:
            raise VerifyException(f"{self.name}: `in_place` needs a tile with columns in lanes, got {type}")
        from .effects import writers  # which asks for the operations of this file

        count = len(writers(tile))
        if count != 1:
            raise VerifyException(
                f"{self.name}: `in_place` needs a tile that one operation writes, got {count}"
            )


@irdl_op_definition
class LoadOp(_MoveOp):
    """A block of an array → a tile, in the layout and the element type of the tile: `kernel.load %q, %Q :
    !kernel.tile<…>, !kernel.cursor<…>`.

    With `in_place` the tile may be the block of the array itself, where its rows lie as a tile's: nobody else
    writes to it. With `ahead` the row after the one at hand is fetched into the cache meanwhile.
    """

    name = "kernel.load"
    WORDS: ClassVar[tuple[str, ...]] = ("in_place", "ahead")
    in_place: UnitAttr | None = opt_prop_def(UnitAttr)
    ahead: UnitAttr | None = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        type = _tile(self, self.target)
        if not isinstance(self.source.type, CursorType):
            raise VerifyException(f"kernel.load: expected a cursor to load from, got {self.source.type}")
        self.verify_same_dims()
        if _layout(self.source) is not None:
            raise VerifyException("kernel.load: only contractions read a packed array")
        cursor = self.source.owner
        if self.in_place is not None:
            self._verify_in_place(self.target)
            if isinstance(cursor, CursorOp) and not is_input(cursor.array):
                raise VerifyException("kernel.load: `in_place` needs an array that the kernel only reads")
        if self.ahead is not None and (len(type.dims) != 2 or type.rows_in_lanes):
            raise VerifyException(f"kernel.load: `ahead` needs rows of columns in lanes, got {type}")


@irdl_op_definition
class StoreOp(_MoveOp):
    """A tile → a block of an array: `kernel.store %O, %o : !kernel.cursor<…>, !kernel.tile<…>`.

    With `in_place` the tile may be the block of the array itself: only a sweep writes to it, and nobody else
    reads it. With `stream` the block is written past the caches, if the array would not stay in them.
    """

    name = "kernel.store"
    WORDS: ClassVar[tuple[str, ...]] = ("in_place", "stream")
    in_place: UnitAttr | None = opt_prop_def(UnitAttr)
    stream: UnitAttr | None = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        _tile(self, self.source)
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


@irdl_op_definition
class MoveOp(_MoveOp):
    """A tile → another tile, perhaps with other lanes: `kernel.move %b, %a : !kernel.tile<…>,
    !kernel.tile<…>`. A tile in shared memory may have the dims the other way around.
    """

    name = "kernel.move"

    def verify_(self) -> None:
        target = _tile(self, self.target)
        _tile(self, self.source)
        self.verify_same_dims(perhaps_turned=target.space.data is Space.Shared)


@irdl_op_definition
class FillOp(IRDLOperation):
    """Every element of a tile becomes a number: `kernel.fill %top, -inf : !kernel.tile<M x f32, scratch>`."""

    name = "kernel.fill"
    tile = operand_def()
    value: FloatAttr[Attribute] = prop_def(FloatAttr)  # pyright: ignore[reportInvalidTypeArguments]

    def __init__(self, tile: SSAValue, value: float):
        super().__init__(operands=[tile], properties={"value": FloatAttr(value, f64)})

    @property
    def number(self) -> float:
        return self.value.value.data

    def verify_(self) -> None:
        _tile(self, self.tile)
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
            number = float(parser.parse_number(allow_boolean=False, context_msg=" or `inf`"))
        attributes = parse_attributes(parser)
        (tile,) = parse_operand_types(parser, [operand])
        op = cls(tile, -number if negative else number)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.tile)
        mantissa, exponent, power = repr(self.number).partition("e")
        # A number is only read as a float with a point in it.
        point = ".0" if exponent and "." not in mantissa else ""
        printer.print_string(f", {mantissa}{point}{exponent}{power}")
        print_attributes(printer, self)
        print_types(printer, (self.tile,))


@irdl_op_definition
class ContractOp(IRDLOperation):
    """acc<M,N> = a<M,K> · b<N,K>ᵀ: `kernel.contract %acc, %a, %b : …`; with `accumulate`, acc += a·bᵀ; with
    `scale %c`, acc = diag(c)·acc + a·bᵀ.

    A cursor as an operand is read where it lies; b may be a block of a packed array. With `multiply bf16`,
    `multiply f16` or `multiply tf32` a target may round the operands to that type before it multiplies, as
    matrix units do; sums are in the accumulator's type.
    """

    name = "kernel.contract"
    accumulator = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    scale = opt_operand_def()
    accumulate: UnitAttr | None = opt_prop_def(UnitAttr)
    multiply: Attribute | None = opt_prop_def(Attribute)

    def __init__(
        self,
        accumulator: SSAValue,
        lhs: SSAValue,
        rhs: SSAValue,
        *,
        accumulate: bool = False,
        scale: SSAValue | None = None,
        multiply: Attribute | None = None,
    ):
        super().__init__(
            operands=[accumulator, lhs, rhs, scale],
            properties={"accumulate": UnitAttr() if accumulate else None, "multiply": multiply},
        )

    @property
    def accumulates(self) -> bool:
        return self.accumulate is not None

    def verify_(self) -> None:
        acc, a, b = _tile(self, self.accumulator), _item(self, self.lhs), _item(self, self.rhs)
        if len(acc.dims) != 2 or len(a.dims) != 2 or len(b.dims) != 2:
            raise VerifyException(f"kernel.contract: expected blocks, got {acc}, {a} and {b}")
        if a.dims[1] != b.dims[1]:
            raise VerifyException(
                f"kernel.contract: both operands must have the same columns, got {a.dims[1]} and {b.dims[1]}"
            )
        if acc.dims != (a.dims[0], b.dims[0]):
            raise VerifyException(
                f"kernel.contract: the accumulator must be over {a.dims[0]} and {b.dims[0]}, got {acc}"
            )
        if _layout(self.lhs) is not None:
            raise VerifyException("kernel.contract: only the right operand may be packed")
        if self.scale is not None:
            scale = _tile(self, self.scale)
            if scale.dims != acc.dims[:1]:
                raise VerifyException(
                    f"kernel.contract: the scale must be over the rows {acc.dims[0]}, got {scale}"
                )
            if self.accumulates:
                raise VerifyException("kernel.contract: `accumulate` is said by `scale` already")
        self._verify_multiply()

    def _verify_multiply(self) -> None:
        if self.multiply is None:
            return
        if not isinstance(self.multiply, BFloat16Type | Float16Type | FloatTF32Type):
            wanted = "bf16, f16 or tf32 as the type to multiply in"
            raise VerifyException(f"kernel.contract: expected {wanted}, got {self.multiply}")
        acc, a, b = _tile(self, self.accumulator), _item(self, self.lhs), _item(self, self.rhs)
        for item in (a, b):
            in_tf32 = isinstance(self.multiply, FloatTF32Type)
            if item.element_type not in ((f32,) if in_tf32 else (self.multiply, f32)):
                wanted = (
                    f"multiplied in {self.multiply} must be of {'f32' if in_tf32 else 'that type or of f32'}"
                )
                raise VerifyException(f"kernel.contract: operands that are {wanted}, got {item}")
        if acc.element_type != f32:
            raise VerifyException(
                f"kernel.contract: sums of products in {self.multiply} must be in f32, got {acc}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ContractOp:
        accumulate = parser.parse_optional_keyword("accumulate") is not None
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        if parser.parse_optional_keyword("scale") is not None:
            operands.append(parser.parse_unresolved_operand())
        multiply = None
        if parser.parse_optional_keyword("multiply") is not None:
            multiply = parser.parse_type()
        attributes = parse_attributes(parser)
        position = parser.pos
        values = parse_operand_types(parser, operands)
        if len(values) not in (3, 4):
            parser.raise_error(
                f"kernel.contract: expected an accumulator and two operands, got {len(values)} tiles",
                position,
                parser.pos,
            )
        scale = values[3] if len(values) == 4 else None
        op = cls(*values[:3], accumulate=accumulate, scale=scale, multiply=multiply)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" accumulate " if self.accumulates else " ")
        printer.print_list((self.accumulator, self.lhs, self.rhs), printer.print_operand)
        if self.scale is not None:
            printer.print_string(" scale ")
            printer.print_operand(self.scale)
        if self.multiply is not None:
            printer.print_string(" multiply ")
            printer.print_attribute(self.multiply)
        print_attributes(printer, self)
        print_types(printer, self.operands)


class Output(StrEnum):
    """What a sweep does with a value: writes each, or reduces each row."""

    Each = auto()
    Sum = auto()
    Max = auto()
    Min = auto()


@irdl_attr_definition
class OutputAttr(EnumAttribute[Output], SpacedOpaqueSyntaxAttribute):
    name = "kernel.output"


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends the region of a sweep."""

    name = "kernel.yield"
    traits = traits_def(IsTerminator(), Pure())


@irdl_op_definition
class SweepOp(IRDLOperation):
    """A function of scalars applied to each element of tiles, in one pass.

    `kernel.sweep [M, N] (%a = %s, %b = %c) -> (each %p, sum %t) : … -> … { … kernel.yield %x, %y }`

    An input with fewer axes is broadcast along the others. The region holds `arith` and `math` on scalars,
    and `kernel.quantity`. It yields a value for each output: `each` writes it to that element, `sum`, `max`
    and `min` reduce it over the last of the dims into a tile without that axis. An input may be an output.
    """

    name = "kernel.sweep"
    axes: ArrayAttr[Attribute] = prop_def(ArrayAttr)
    kinds: ArrayAttr[OutputAttr] = prop_def(ArrayAttr[OutputAttr])
    inputs = var_operand_def()
    outputs = var_operand_def()
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    def __init__(
        self,
        dims: Sequence[str],
        inputs: Sequence[SSAValue],
        outputs: Sequence[tuple[Output, SSAValue]],
        body: Region,
    ):
        super().__init__(
            operands=[inputs, [tile for _, tile in outputs]],
            properties={
                "axes": ArrayAttr([SymbolRefAttr(dim) for dim in dims]),
                "kinds": ArrayAttr([OutputAttr(kind) for kind, _ in outputs]),
            },
            regions=[body],
        )

    @property
    def dims(self) -> tuple[str, ...]:
        """Rows and columns; one dim for vectors, none for scalars."""
        return tuple(dim.root_reference.data for dim in self.axes if isinstance(dim, SymbolRefAttr))

    @property
    def output_kinds(self) -> tuple[Output, ...]:
        return tuple(kind.data for kind in self.kinds)

    @property
    def yield_op(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def rows_in_lanes(self) -> bool:
        """Whether the blocks among its tiles have their rows in lanes."""
        return any(
            value.type.rows_in_lanes
            for value in self.operands
            if isinstance(value.type, TileType) and value.type.dims == self.dims
        )

    def verify_(self) -> None:
        dims = self.dims
        if len(dims) > 2 or len(set(dims)) != len(dims):
            raise VerifyException(f"kernel.sweep: expected at most two dims, got [{', '.join(dims)}]")
        require_axes(self, dims)
        blocks: set[object] = set()
        for value in self.inputs:
            tile = _tile(self, value)
            if tuple(dim for dim in dims if dim in tile.dims) != tile.dims:
                raise VerifyException(f"kernel.sweep: {tile} cannot be broadcast to [{', '.join(dims)}]")
            blocks |= {tile.lanes} if len(tile.dims) == 2 else set()
        if len(self.kinds) != len(self.outputs):
            raise VerifyException(
                f"kernel.sweep: {len(self.kinds)} kinds are given for {len(self.outputs)} outputs"
            )
        for kind, value in zip(self.output_kinds, self.outputs, strict=True):
            tile = _tile(self, value)
            expected = dims if kind is Output.Each else dims[:-1]
            if tile.dims != expected or (kind is not Output.Each and not dims):
                raise VerifyException(
                    f"kernel.sweep: an output of kind {kind} must be over [{', '.join(expected)}], got {tile}"
                )
            blocks |= {tile.lanes} if len(tile.dims) == 2 else set()
        if len(blocks) > 1:
            raise VerifyException("kernel.sweep: all blocks must have the same axis in lanes")
        element_types = [_tile(self, value).element_type for value in self.inputs]
        verify_scalar_region(self, self.body, element_types, YieldOp, allow_index_ops=True)
        if len(self.yield_op.arguments) != len(self.outputs):
            raise VerifyException(
                f"kernel.sweep: {len(self.yield_op.arguments)} values are yielded "
                f"for {len(self.outputs)} outputs"
            )

    @classmethod
    def parse(cls, parser: Parser) -> SweepOp:
        def dim() -> str:
            return parser.parse_identifier(context_msg=" as the name of a dim")

        def output() -> tuple[Output, UnresolvedOperand]:
            return parser.parse_str_enum(Output), parser.parse_unresolved_operand()

        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim)
        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_binding(parser))
        parser.parse_punctuation("->")
        outputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, output)
        position = parser.pos
        values = parse_operand_types(
            parser, [*(operand for _, operand in bindings), *(o for _, o in outputs)]
        )
        for value in values:
            if not isinstance(value.type, TileType):
                parser.raise_error(f"kernel.sweep: expected a tile, got {value.type}", position, parser.pos)
        attributes = (
            parse_attributes(parser) if parser.parse_optional_keyword("attributes") is not None else {}
        )
        inputs = values[: len(bindings)]
        arguments = [
            argument.resolve(value.type.element_type)
            for (argument, _), value in zip(bindings, inputs, strict=True)
            if isinstance(value.type, TileType)
        ]
        body = parser.parse_region(arguments)
        kinds = [kind for kind, _ in outputs]
        op = cls(dims, inputs, list(zip(kinds, values[len(bindings) :], strict=True)), body)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        def output(pair: tuple[Output, SSAValue]) -> None:
            printer.print_string(f"{pair[0]} ")
            printer.print_ssa_value(pair[1])

        printer.print_string(f" [{', '.join(self.dims)}] ")
        print_bindings(printer, self.body.block.args, self.inputs)
        printer.print_string(" -> (")
        printer.print_list(zip(self.output_kinds, self.outputs, strict=True), output)
        printer.print_string(")")
        print_types(printer, (*self.inputs, *self.outputs))
        if self.attributes:
            printer.print_string(" attributes")
            print_attributes(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


class Quantity(StrEnum):
    """What a kernel can ask about a dim."""

    Index = auto()
    """The index of the element along the dim, counted from the start of the array."""
    Extent = auto()
    """The extent in elements."""
    Width = auto()
    """How many elements the block at hand has."""
    Blocks = auto()
    """The number of blocks."""


@irdl_attr_definition
class QuantityAttr(EnumAttribute[Quantity], SpacedOpaqueSyntaxAttribute):
    name = "kernel.quantity_kind"


@irdl_op_definition
class QuantityOp(IRDLOperation):
    """A number about a dim, inside a sweep: `%i = kernel.quantity index @N`."""

    name = "kernel.quantity"
    kind: QuantityAttr = prop_def(QuantityAttr)
    dim: SymbolRefAttr = prop_def(FlatSymbolRefAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure(), HasParent(SweepOp))

    def __init__(self, kind: Quantity, dim: str):
        super().__init__(
            properties={"kind": QuantityAttr(kind), "dim": SymbolRefAttr(dim)}, result_types=[IndexType()]
        )

    @property
    def dim_name(self) -> str:
        return self.dim.root_reference.data

    def verify_(self) -> None:
        dims = require_declared(self, (self.dim_name,))
        if not dims:
            return
        sweep, dim, kind = self.parent_op(), self.dim_name, self.kind.data
        swept = isinstance(sweep, SweepOp) and dim in sweep.dims
        if kind is Quantity.Index and not swept and not dims[dim].is_batch:
            raise VerifyException(f"kernel.quantity: the sweep has no axis over {dim}")
        at_hand = dims[dim].is_whole or enclosing_loop(self, dim) is not None
        if kind in (Quantity.Index, Quantity.Width) and not at_hand:
            raise VerifyException(f"kernel.quantity: no enclosing loop iterates over {dim}")

    @classmethod
    def parse(cls, parser: Parser) -> QuantityOp:
        kind = parser.parse_str_enum(Quantity)
        op = cls(kind, parser.parse_symbol_name().data)
        op.attributes.update(parse_attributes(parser))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} @{self.dim_name}")
        print_attributes(printer, self)


def scalar_block(inputs: Sequence[SSAValue]) -> Block:
    """An empty block for the region of a sweep over `inputs`."""
    return Block(arg_types=[value.type.element_type for value in inputs if isinstance(value.type, TileType)])
