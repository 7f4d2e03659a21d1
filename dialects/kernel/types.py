"""Types of the `kernel` dialect: arrays, cursors over them, and tiles in a memory space."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..block.types import UNKNOWN, check_dim_name
from ..scalar import is_element_type


class Space(StrEnum):
    """Memory of a tile: `scratch` (a core's caches), `shared` (a thread block's memory) or `register`."""

    Scratch = auto()
    Shared = auto()
    Register = auto()


class Lanes(StrEnum):
    """Axis of a tile that is contiguous, and so runs along the lanes of vectors."""

    Rows = auto()
    Cols = auto()


@irdl_attr_definition
class SpaceAttr(EnumAttribute[Space], SpacedOpaqueSyntaxAttribute):
    name = "kernel.space"


@irdl_attr_definition
class LanesAttr(EnumAttribute[Lanes], SpacedOpaqueSyntaxAttribute):
    name = "kernel.lanes"


def _check_element_type(what: str, element_type: Attribute) -> None:
    if not is_element_type(element_type):
        raise VerifyException(
            f"{what}: element type must be f16, bf16, f32, f64, i1, i32 or i64, got {element_type}"
        )


@irdl_attr_definition
class PackedAttr(ParametrizedAttribute):
    """The layout of a matrix [R, K] that contractions read block by block: `#kernel.packed<[256, 128] by 6>`.

    Blocks of 256 x 128 elements follow each other in row-major order. The rows of a block are in groups of 6;
    each group is contiguous, k after k: element (r, k) of a block is at ((r / 6) * 128 + k) * 6 + r % 6. The
    padding at the ends of R, of K and of the last group is zero.

    `by 6 x 2` puts 2 elements of a row side by side, as instructions need them that sum products of pairs:
    with a depth d of 2 and D = 128 / d, rounded up, element (r, k) is at (((r / 6) * D + k / d) * 6 + r % 6)
    * d + k % d.
    """

    name = "kernel.packed"
    rows: IntAttr = param_def()
    columns: IntAttr = param_def()
    group: IntAttr = param_def()
    depth: IntAttr = param_def()

    def __init__(self, rows: int, columns: int, group: int, depth: int = 1):
        super().__init__(IntAttr(rows), IntAttr(columns), IntAttr(group), IntAttr(depth))

    def verify(self) -> None:
        if min(size.data for size in (self.rows, self.columns, self.group, self.depth)) < 1:
            raise VerifyException(f"{self.name}: expected positive sizes of blocks and groups")

    @property
    def block(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return self.rows.data, self.columns.data

    @property
    def elements_of_group(self) -> int:
        """Number of elements that a group of rows of a block takes."""
        depth = self.depth.data
        return self.group.data * -(-self.columns.data // depth) * depth

    @property
    def elements_of_block(self) -> int:
        """Number of elements that a block takes."""
        return -(-self.rows.data // self.group.data) * self.elements_of_group

    def elements(self, shape: Sequence[int]) -> int:
        """Number of elements that a matrix of that shape takes."""
        rows, columns = (-(-extent // size) for extent, size in zip(shape, self.block, strict=True))
        return rows * columns * self.elements_of_block

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            block = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )
            parser.parse_keyword("by")
            group, depth = parser.parse_integer(allow_boolean=False), 1
            if parser.parse_optional_keyword("x") is not None:
                depth = parser.parse_integer(allow_boolean=False)
        if len(block) != 2:
            parser.raise_error(f"expected rows and columns of a block, got {len(block)} numbers")
        return [IntAttr(number) for number in (*block, group, depth)]

    def print_parameters(self, printer: Printer) -> None:
        rows, columns = self.block
        depth = f" x {self.depth.data}" if self.depth.data != 1 else ""
        with printer.in_angle_brackets():
            printer.print_string(f"[{rows}, {columns}] by {self.group.data}{depth}")


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """An array in global memory with strides that are known at launch: `!kernel.array<200x?xf32>`, or a
    matrix with another layout: `!kernel.array<200x?xf32, #kernel.packed<[64, 128] by 6>>`.
    """

    name = "kernel.array"
    shape: ArrayAttr[IntAttr] = param_def()
    element_type: Attribute = param_def()
    layout: PackedAttr | NoneAttr = param_def()

    def __init__(self, shape: Sequence[int], element_type: Attribute, layout: PackedAttr | None = None):
        super().__init__(ArrayAttr([IntAttr(extent) for extent in shape]), element_type, layout or NoneAttr())

    @classmethod
    def of(cls, tensor: TensorType[Attribute]) -> ArrayType:
        """The array that holds a tensor, in the layout that is the tensor's encoding."""
        shape = [UNKNOWN if extent < 0 else extent for extent in tensor.get_shape()]
        return cls(
            shape,
            tensor.element_type,
            tensor.encoding if isinstance(tensor.encoding, PackedAttr) else None,
        )

    def verify(self) -> None:
        for extent in self.shape:
            if extent.data < 0 and extent.data != UNKNOWN:
                raise VerifyException(f"{self.name}: an extent must not be negative, got {extent.data}")
        _check_element_type(self.name, self.element_type)
        if self.packed is not None and len(self.shape) != 2:
            raise VerifyException(f"{self.name}: only a matrix can be packed")

    @property
    def packed(self) -> PackedAttr | None:
        """The packed layout; None for a plain array."""
        return self.layout if isinstance(self.layout, PackedAttr) else None

    @property
    def extents(self) -> tuple[int | None, ...]:
        """The extent of each axis in elements; None where it is known only at launch."""
        return tuple(None if extent.data == UNKNOWN else extent.data for extent in self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        layout: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            if parser.parse_optional_punctuation(",") is not None:
                layout = parser.parse_attribute()
        return ArrayAttr([IntAttr(UNKNOWN if n < 0 else n) for n in shape]), element_type, layout

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for extent in self.extents:
                printer.print_string(f"{'?' if extent is None else extent}x")
            printer.print_attribute(self.element_type)
            if self.packed is not None:
                printer.print_string(", ")
                printer.print_attribute(self.packed)


_ELEMENT_TYPES: dict[str, Attribute] = {
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f32": Float32Type(),
    "f64": Float64Type(),
    "i1": IntegerType(1),
    "i32": IntegerType(32),
    "i64": IntegerType(64),
}


def _parse_axes_and_element(parser: AttrParser) -> tuple[ArrayAttr[StringAttr], Attribute]:
    """`M x K x f32`: dims, then an element type. A dim may be called like a type."""
    dims: list[StringAttr] = []
    while True:
        position = parser.pos
        word = parser.parse_identifier(context_msg=" as the name of a dim, or an element type")
        if parser.parse_optional_keyword("x") is not None:
            dims.append(StringAttr(word))
        elif word in _ELEMENT_TYPES:
            return ArrayAttr(dims), _ELEMENT_TYPES[word]
        else:
            parser.raise_error(
                f"expected one of {', '.join(_ELEMENT_TYPES)}, or a dim and `x`", position, parser.pos
            )


def _check_dims(what: str, dims: Sequence[str]) -> None:
    if len(dims) > 2:
        raise VerifyException(f"{what}: at most two axes, got {', '.join(dims)}")
    for dim in dims:
        check_dim_name(what, dim)
    if len(set(dims)) != len(dims):
        raise VerifyException(f"{what}: rows and columns must be two dims, got {dims[0]} for both")


class _Item(ParametrizedAttribute, TypeAttribute):
    """Base of tiles and cursors: the dims of at most two axes, and an element type.

    Each class declares its parameters itself, because equality compares those alone.
    """

    axes: ArrayAttr[StringAttr]
    element_type: Attribute

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of the axes: rows and columns, one of a vector, none of a scalar."""
        return tuple(axis.data for axis in self.axes)

    def print_axes(self, printer: Printer) -> None:
        for dim in self.dims:
            printer.print_string(f"{dim} x ")
        printer.print_attribute(self.element_type)

    def verify_item(self) -> None:
        _check_dims(self.name, self.dims)
        _check_element_type(self.name, self.element_type)


@irdl_attr_definition
class CursorType(_Item):
    """The current block of an array: `!kernel.cursor<M x K x f32>`.

    It moves with the loops over its dims. The last block ends where the array does.
    """

    name = "kernel.cursor"
    axes: ArrayAttr[StringAttr] = param_def()
    element_type: Attribute = param_def()

    def __init__(self, dims: Sequence[str], element_type: Attribute):
        super().__init__(ArrayAttr([StringAttr(dim) for dim in dims]), element_type)

    def verify(self) -> None:
        self.verify_item()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            axes, element_type = _parse_axes_and_element(parser)
        return axes, element_type

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_axes(printer)


@irdl_attr_definition
class TileType(_Item):
    """A block, vector or scalar in a memory space: `!kernel.tile<M x N x f32, scratch, lanes = rows>`.

    It has the size of a full block of its dims; for a shorter last block only the first elements are defined.
    `lanes` says which axis of a block is contiguous.
    """

    name = "kernel.tile"
    axes: ArrayAttr[StringAttr] = param_def()
    element_type: Attribute = param_def()
    space: SpaceAttr = param_def()
    lanes: LanesAttr = param_def()

    def __init__(
        self,
        dims: Sequence[str],
        element_type: Attribute,
        lanes: Lanes = Lanes.Cols,
        space: Space = Space.Scratch,
    ):
        lanes = lanes if len(dims) == 2 else Lanes.Cols
        axes = ArrayAttr([StringAttr(dim) for dim in dims])
        super().__init__(axes, element_type, SpaceAttr(space), LanesAttr(lanes))

    def verify(self) -> None:
        self.verify_item()
        if len(self.dims) < 2 and self.lanes.data is not Lanes.Cols:
            raise VerifyException(f"{self.name}: only a block can have its rows in lanes")

    @property
    def rows_in_lanes(self) -> bool:
        return self.lanes.data is Lanes.Rows

    @property
    def outer_dim(self) -> str | None:
        """The dim of the axis that is not contiguous; None for vectors and scalars."""
        if len(self.dims) < 2:
            return None
        return self.dims[1] if self.rows_in_lanes else self.dims[0]

    @property
    def lane_dim(self) -> str | None:
        """The dim of the contiguous axis; None for scalars."""
        if not self.dims:
            return None
        return self.dims[0] if self.rows_in_lanes else self.dims[-1]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            axes, element_type = _parse_axes_and_element(parser)
            parser.parse_punctuation(",")
            space, lanes = parser.parse_str_enum(Space), Lanes.Cols
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("lanes")
                parser.parse_punctuation("=")
                lanes = parser.parse_str_enum(Lanes)
        return axes, element_type, SpaceAttr(space), LanesAttr(lanes)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_axes(printer)
            printer.print_string(f", {self.space.data}")
            if len(self.dims) == 2:
                printer.print_string(f", lanes = {self.lanes.data}")
