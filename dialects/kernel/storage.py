"""Storage of a kernel: cursors on the arrays it is given, tiles, and arrays of its own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_attr_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..block.dims import require_declared
from ..block.syntax import parse_attributes, parse_axes, print_attributes, print_axes
from ..block.types import AxesAttr, axes_attr
from . import placement
from .effects import NoTileEffects
from .structure import enclosing_loop, require_axes
from .types import ArrayType, CursorType, PackedAttr, TileType


@irdl_op_definition
class CursorOp(NoTileEffects):
    """The current block of an array: `%q = kernel.cursor %Q [H, M, K] : !kernel.array<…> -> !kernel.cursor<M
    x K x f32>`.

    `axes` has the dims of each axis of the array, as in `block.partition`. Along its own dims the cursor is
    one block wide. A dim of `axes` that the cursor does not have selects one index: the number of the
    iteration. With `first [N]` the cursor stays at the first block of N in all iterations over N. With `here
    [M]` the array holds only one block of M, the current one.
    """

    name = "kernel.cursor"
    axes: AxesAttr = prop_def(AxesAttr)
    first: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])
    here: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])
    array = operand_def(ArrayType)
    result = result_def(CursorType)

    def __init__(
        self,
        array: SSAValue,
        axes: Sequence[Sequence[str]],
        result_type: CursorType,
        first: Sequence[str] = (),
        here: Sequence[str] = (),
    ):
        super().__init__(
            operands=[array],
            result_types=[result_type],
            properties={
                "axes": axes_attr(axes),
                "first": _names_attr(first),
                "here": _names_attr(here),
            },
        )

    @property
    def axis_dims(self) -> list[list[str]]:
        return [[dim.data for dim in axis] for axis in self.axes]

    @property
    def first_dims(self) -> tuple[str, ...]:
        return _names(self.first)

    @property
    def here_dims(self) -> tuple[str, ...]:
        return _names(self.here)

    def verify_(self) -> None:
        array, cursor = self.array.type, self.result.type
        assert isinstance(array, ArrayType)
        assert isinstance(cursor, CursorType)
        named = [dim for axis in self.axis_dims for dim in axis]
        if len(self.axis_dims) != len(array.extents):
            raise VerifyException(
                f"kernel.cursor: {len(self.axis_dims)} axes are named, but {array} has {len(array.extents)}"
            )
        if len(set(named)) != len(named):
            raise VerifyException(f"kernel.cursor: a dim names two axes, in {', '.join(named)}")
        if array.element_type != cursor.element_type:
            raise VerifyException(
                f"kernel.cursor: element types differ, {array.element_type} and {cursor.element_type}"
            )
        for dim in cursor.dims:
            if dim not in named:
                raise VerifyException(f"kernel.cursor: no axis of the array is over {dim}")
        require_axes(self, cursor.dims)
        for what, dims in (("first", self.first_dims), ("here", self.here_dims)):
            for dim in dims:
                if dim not in named:
                    raise VerifyException(f"kernel.cursor: `{what}` names {dim}, which no axis is over")
        dims = require_declared(self, tuple(named))
        for dim in named:
            pinned = dim in self.first_dims or dim in self.here_dims
            if dims and not pinned and not dims[dim].is_whole and enclosing_loop(self, dim) is None:
                raise VerifyException(f"kernel.cursor: no enclosing loop iterates over {dim}")
        if array.packed is not None:
            self._verify_packed(array.packed, cursor)

    def _verify_packed(self, layout: PackedAttr, cursor: CursorType) -> None:
        """Require that a packed matrix is read in the blocks in which it is packed."""
        if self.axis_dims != [[dim] for dim in cursor.dims] or self.first_dims or self.here_dims:
            raise VerifyException("kernel.cursor: a packed array is read along its own axes, block by block")
        dims = require_declared(self, cursor.dims)
        for name, size in zip(cursor.dims, layout.block, strict=True):
            own = dims[name].static_extent if name in dims and dims[name].is_whole else None
            if name in dims and size != (dims[name].block_size if own is None else own):
                raise VerifyException(
                    f"kernel.cursor: the array is packed in other blocks of {name}, of {size}"
                )

    @property
    def packed(self) -> PackedAttr | None:
        """The layout of the array, if it is packed."""
        assert isinstance(self.array.type, ArrayType)
        return self.array.type.packed

    @classmethod
    def parse(cls, parser: Parser) -> CursorOp:
        operand = parser.parse_unresolved_operand()
        axes = parse_axes(parser)
        first = _parse_names(parser, "first")
        here = _parse_names(parser, "here")
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        array = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->")
        op = cls.create(
            operands=[array],
            result_types=[parser.parse_type()],
            properties={
                "axes": axes,
                **({"first": first} if first is not None else {}),
                **({"here": here} if here is not None else {}),
            },
            attributes=attributes,
        )
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.array)
        printer.print_string(" ")
        print_axes(printer, self.axes)
        for what, dims in (("first", self.first_dims), ("here", self.here_dims)):
            if dims:
                printer.print_string(f" {what} [{', '.join(dims)}]")
        print_attributes(printer, self)
        printer.print_string(f" : {self.array.type} -> {self.result.type}")


def packed_layout(value: SSAValue) -> PackedAttr | None:
    """The layout of the array that an operand is a block of; None if it is not packed."""
    return value.owner.packed if isinstance(value.owner, CursorOp) else None


def _names_attr(names: Sequence[str]) -> ArrayAttr[StringAttr] | None:
    return ArrayAttr([StringAttr(name) for name in names]) if names else None


def _names(attribute: ArrayAttr[StringAttr] | None) -> tuple[str, ...]:
    return () if attribute is None else tuple(name.data for name in attribute)


def _parse_names(parser: Parser, keyword: str) -> ArrayAttr[StringAttr] | None:
    if parser.parse_optional_keyword(keyword) is None:
        return None
    names = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_identifier(context_msg=" as the name of a dim")
    )
    return _names_attr(names)


@irdl_op_definition
class TileOp(NoTileEffects):
    """Room for a block, vector or scalar: `%s = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes =
    rows>`.

    What it holds at first is undefined.
    """

    name = "kernel.tile"
    swizzled: UnitAttr | None = opt_attr_def(placement.SWIZZLED)
    stages: IntegerAttr[IntegerType] | None = opt_attr_def(placement.STAGES)
    offset: IntegerAttr[IntegerType] | None = opt_attr_def(placement.OFFSET)
    result = result_def(TileType)

    def __init__(self, type: TileType):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        assert isinstance(self.result.type, TileType)
        require_axes(self, self.result.type.dims)
        placement.verify_tile(self, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> TileOp:
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)
        printer.print_string(f" : {self.result.type}")


@irdl_op_definition
class BufferOp(NoTileEffects):
    """An array of its own for each iteration around it: `%h = kernel.buffer [M, K] here [M] :
    !kernel.array<?x?xf32>`.

    Its axes are as long as the extents of the dims (or their numbers of blocks, for `blocks`); along a dim of
    `here` it is one block long. The extents in its type are `?`.

    `local 65536` allots it that many bytes of local memory. A larger buffer lies in global memory.
    """

    name = "kernel.buffer"
    axes: AxesAttr = prop_def(AxesAttr)
    here: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])
    blocks: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])
    local: IntegerAttr[IntegerType] | None = opt_prop_def(IntegerAttr[IntegerType])
    result = result_def(ArrayType)

    def __init__(
        self,
        axes: Sequence[str],
        element_type: Attribute,
        here: Sequence[str] = (),
        blocks: Sequence[str] = (),
        local: int | None = None,
    ):
        super().__init__(
            result_types=[ArrayType([-1] * len(axes), element_type)],
            properties={
                "axes": axes_attr([[dim] for dim in axes]),
                "here": _names_attr(here),
                "blocks": _names_attr(blocks),
                "local": None if local is None else IntegerAttr(local, i64),
            },
        )

    @property
    def axis_dims(self) -> list[str]:
        return [axis.data[0].data for axis in self.axes]

    @property
    def here_dims(self) -> tuple[str, ...]:
        return _names(self.here)

    @property
    def block_dims(self) -> tuple[str, ...]:
        return _names(self.blocks)

    @property
    def local_bytes(self) -> int | None:
        """Bytes of local memory that it may take; None where there is no limit."""
        return None if self.local is None else self.local.value.data

    def verify_(self) -> None:
        if any(len(axis.data) != 1 for axis in self.axes):
            raise VerifyException("kernel.buffer: each axis is over one dim")
        require_declared(self, tuple(self.axis_dims))
        if (local := self.local_bytes) is not None and local < 0:
            raise VerifyException(f"kernel.buffer: a number of bytes is not negative, got {local}")
        for dim in (*self.here_dims, *self.block_dims):
            if dim not in self.axis_dims:
                raise VerifyException(f"kernel.buffer: no axis is over {dim}")
        assert isinstance(self.result.type, ArrayType)
        if self.result.type.extents != (None,) * len(self.axis_dims):
            raise VerifyException(
                f"kernel.buffer: the type must have {len(self.axis_dims)} axes of extent `?`, "
                f"got {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> BufferOp:
        axes = parse_axes(parser)
        here = _parse_names(parser, "here")
        blocks = _parse_names(parser, "blocks")
        local = None
        if parser.parse_optional_keyword("local") is not None:
            local = IntegerAttr(parser.parse_integer(allow_boolean=False, allow_negative=False), i64)
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()],
            properties={
                "axes": axes,
                **({"here": here} if here is not None else {}),
                **({"blocks": blocks} if blocks is not None else {}),
                **({"local": local} if local is not None else {}),
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_axes(printer, self.axes)
        for what, dims in (("here", self.here_dims), ("blocks", self.block_dims)):
            if dims:
                printer.print_string(f" {what} [{', '.join(dims)}]")
        if self.local_bytes is not None:
            printer.print_string(f" local {self.local_bytes}")
        print_attributes(printer, self)
        printer.print_string(f" : {self.result.type}")
