"""Sweeps: functions of scalars on every element of tiles, and reductions of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.utils import AbstractYieldOperation, EnumAttribute
from xdsl.ir import Attribute, Block, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    opt_attr_def,
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
    print_types,
)
from ..scalar import verify_scalar_region
from . import placement
from .accessors import require_tile
from .effects import KernelOp, NoTileEffects
from .structure import enclosing_loop, require_axes
from .types import Space, TileType


class Output(StrEnum):
    """Use that a sweep makes of a value: it writes each element, or reduces each row."""

    Each = auto()
    Sum = auto()
    Max = auto()
    Min = auto()


@irdl_attr_definition
class OutputAttr(EnumAttribute[Output], SpacedOpaqueSyntaxAttribute):
    name = "kernel.output"


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute], NoTileEffects):
    """Ends the region of a sweep."""

    name = "kernel.yield"
    traits = traits_def(IsTerminator(), Pure())


@irdl_op_definition
class SweepOp(KernelOp):
    """A function of scalars applied to each element of tiles, in one pass.

    `kernel.sweep [M, N] (%a = %s, %b = %c) -> (each %p, sum %t) : … -> … { … kernel.yield %x, %y }`

    An input with fewer axes is broadcast along the others. The region holds `arith` and `math` on scalars,
    and `kernel.quantity`. It yields a value for each output: `each` writes it to that element, `sum`, `max`
    and `min` reduce it over the last of the dims into a tile without that axis. An input may be an output.
    With the attribute `careful` it is done in a careful run alone: see `masked.py`.
    """

    name = "kernel.sweep"
    axes: ArrayAttr[Attribute] = prop_def(ArrayAttr)
    kinds: ArrayAttr[OutputAttr] = prop_def(ArrayAttr[OutputAttr])
    offset: IntegerAttr[IntegerType] | None = opt_attr_def(placement.OFFSET)
    careful: UnitAttr | None = opt_attr_def(UnitAttr)
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
    def tiles_read(self) -> tuple[SSAValue, ...]:
        return tuple(self.inputs)

    @property
    def tiles_written(self) -> tuple[SSAValue, ...]:
        return tuple(self.outputs)

    @property
    def yield_op(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def rows_in_lanes(self) -> bool:
        """True if the blocks among its tiles have their rows in lanes."""
        return any(
            value.type.rows_in_lanes
            for value in self.operands
            if isinstance(value.type, TileType) and value.type.dims == self.dims
        )

    @property
    def reduces_fragments(self) -> bool:
        """True if it reduces rows of blocks in registers."""
        return any(kind is not Output.Each for kind in self.output_kinds) and any(
            isinstance(value.type, TileType)
            and value.type.space.data is Space.Register
            and len(value.type.dims) == 2
            for value in self.operands
        )

    def verify_(self) -> None:
        dims = self.dims
        if len(dims) > 2 or len(set(dims)) != len(dims):
            raise VerifyException(f"kernel.sweep: expected at most two dims, got [{', '.join(dims)}]")
        require_axes(self, dims)
        blocks: set[object] = set()
        for value in self.inputs:
            tile = require_tile(self, value)
            if tuple(dim for dim in dims if dim in tile.dims) != tile.dims:
                raise VerifyException(f"kernel.sweep: {tile} cannot be broadcast to [{', '.join(dims)}]")
            blocks |= {tile.lanes} if len(tile.dims) == 2 else set()
        if len(self.kinds) != len(self.outputs):
            raise VerifyException(
                f"kernel.sweep: {len(self.kinds)} kinds are given for {len(self.outputs)} outputs"
            )
        for kind, value in zip(self.output_kinds, self.outputs, strict=True):
            tile = require_tile(self, value)
            expected = dims if kind is Output.Each else dims[:-1]
            if tile.dims != expected or (kind is not Output.Each and not dims):
                raise VerifyException(
                    f"kernel.sweep: an output of kind {kind} must be over [{', '.join(expected)}], got {tile}"
                )
            blocks |= {tile.lanes} if len(tile.dims) == 2 else set()
        if len(blocks) > 1:
            raise VerifyException("kernel.sweep: all blocks must have the same axis in lanes")
        element_types = [require_tile(self, value).element_type for value in self.inputs]
        verify_scalar_region(self, self.body, element_types, YieldOp, allow_index_ops=True)
        if len(self.yield_op.arguments) != len(self.outputs):
            raise VerifyException(
                f"kernel.sweep: {len(self.yield_op.arguments)} values are yielded "
                f"for {len(self.outputs)} outputs"
            )
        if self.offset is not None and not self.reduces_fragments:
            raise VerifyException("kernel.sweep: `offset` needs rows of blocks in registers that it reduces")

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
    """Number that a kernel can ask of a dim."""

    Index = auto()
    """The index of the element along the dim, counted from the start of the array."""
    Extent = auto()
    """The extent in elements."""
    Width = auto()
    """The number of elements of the current block."""
    Blocks = auto()
    """The number of blocks."""


@irdl_attr_definition
class QuantityAttr(EnumAttribute[Quantity], SpacedOpaqueSyntaxAttribute):
    name = "kernel.quantity_kind"


@irdl_op_definition
class QuantityOp(NoTileEffects):
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
