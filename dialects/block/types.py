"""Types and attributes of the `block` dialect: dims, tiers, items and lists.

An *item* is a block, a vector or a scalar; it lives in a tier. A *list* holds items or lists along one dim,
and always lives in the global tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..scalar import is_element_type

UNKNOWN = -1
"""Extent of a dim that is known only at run time; printed `?`."""

RESERVED_DIM_NAMES = frozenset({"x"})
"""`x` separates the dims of an item's type."""


class Tier(StrEnum):
    """Memory tier of an item: `global` (DRAM) or `local` (cache, shared memory, registers)."""

    Global = auto()
    Local = auto()


@irdl_attr_definition
class TierAttr(EnumAttribute[Tier], SpacedOpaqueSyntaxAttribute):
    name = "block.tier"


class Kind(StrEnum):
    """Combination of one result of a map over its iterations.

    `stack` makes a list; `sum`, `max` and `min` reduce items; `any` takes the value of any iteration, all
    being equal.
    """

    Stack = auto()
    Sum = auto()
    Max = auto()
    Min = auto()
    Any = auto()

    @property
    def reduces(self) -> bool:
        """True if a monoid folds the iterations into one item."""
        return self in (Kind.Sum, Kind.Max, Kind.Min)


@irdl_attr_definition
class KindAttr(EnumAttribute[Kind], SpacedOpaqueSyntaxAttribute):
    name = "block.kind"


class Blocking(StrEnum):
    """Division of a dim: into blocks, not at all, or into single elements without an axis of their own."""

    Blocked = auto()
    Whole = auto()
    Batch = auto()


@irdl_attr_definition
class BlockingAttr(EnumAttribute[Blocking], SpacedOpaqueSyntaxAttribute):
    name = "block.blocking"


@irdl_attr_definition
class DimAttr(ParametrizedAttribute):
    """One iteration axis: `#block.dim<1024, block = 64>`, `#block.dim<?>`, `#block.dim<16, whole>`,
    `#block.dim<8, batch>`.

    `extent` is in elements, `UNKNOWN` where it comes with the arrays; `size` is the block size in elements, 0
    where it is not chosen yet. The last block of a dim may be ragged.
    """

    name = "block.dim"
    extent: IntAttr = param_def()
    size: IntAttr = param_def()
    blocking: BlockingAttr = param_def()

    def __init__(self, extent: int, size: int = 0, blocking: Blocking = Blocking.Blocked):
        super().__init__(IntAttr(extent), IntAttr(size), BlockingAttr(blocking))

    def verify(self) -> None:
        if self.extent.data < 1 and self.extent.data != UNKNOWN:
            raise VerifyException(f"block.dim: extent must be at least 1 or `?`, got {self.extent.data}")
        if self.size.data < 0:
            raise VerifyException(f"block.dim: block size must be at least 1, got {self.size.data}")
        if self.size.data and self.blocking.data is not Blocking.Blocked:
            raise VerifyException(f"block.dim: a {self.blocking.data} dim takes no block size")

    @property
    def is_batch(self) -> bool:
        return self.blocking.data is Blocking.Batch

    @property
    def is_whole(self) -> bool:
        return self.blocking.data is Blocking.Whole

    @property
    def static_extent(self) -> int | None:
        """The extent in elements, or None where it is unknown."""
        return None if self.extent.data == UNKNOWN else self.extent.data

    @property
    def block_size(self) -> int | None:
        """Elements a block, or None where no size is chosen (and for a whole dim of unknown extent)."""
        if self.is_batch:
            return 1
        if self.is_whole:
            return self.static_extent
        return self.size.data or None

    def with_block_size(self, size: int) -> DimAttr:
        """This dim cut into blocks of `size` elements."""
        return DimAttr(self.extent.data, size)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_punctuation("?") is not None:
                extent = UNKNOWN
            else:
                extent = parser.parse_integer(
                    allow_boolean=False, allow_negative=False, context_msg=" as the extent of a dim, or `?`"
                )
            size, blocking = 0, Blocking.Blocked
            if parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("whole") is not None:
                    blocking = Blocking.Whole
                elif parser.parse_optional_keyword("batch") is not None:
                    blocking = Blocking.Batch
                elif parser.parse_optional_keyword("block") is not None:
                    parser.parse_punctuation("=")
                    size = parser.parse_integer(allow_boolean=False)
                    if size < 1:
                        parser.raise_error(f"block.dim: block size must be at least 1, got {size}")
                else:
                    parser.raise_error("block.dim: expected `block = <size>`, `whole` or `batch`")
        return IntAttr(extent), IntAttr(size), BlockingAttr(blocking)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("?" if self.extent.data == UNKNOWN else str(self.extent.data))
            if self.size.data:
                printer.print_string(f", block = {self.size.data}")
            elif self.blocking.data is not Blocking.Blocked:
                printer.print_string(f", {self.blocking.data}")


def check_dim_name(what: str, name: str) -> None:
    """Raise VerifyException unless `name` can name a dim."""
    if not name.isidentifier() or not name.isascii() or name in RESERVED_DIM_NAMES:
        raise VerifyException(f"{what}: a dim is named by an identifier other than `x`, got '{name}'")


def _check_element_type(what: str, element_type: Attribute) -> None:
    if not is_element_type(element_type):
        raise VerifyException(
            f"{what}: element type must be f16, bf16, f32, f64, i1, i32 or i64, got {element_type}"
        )


class _Item(ParametrizedAttribute, TypeAttribute):
    """Base of blocks, vectors and scalars: dims, an element type and a tier."""

    KEYWORD: ClassVar[str]

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of the item's axes: rows and columns of a block, one of a vector, none of a scalar."""
        raise NotImplementedError

    def print_inside(self, printer: Printer, *, with_tier: bool) -> None:
        """Print `<M x K x f32, global>`; the tier only if it is asked for and not local."""
        with printer.in_angle_brackets():
            for dim in self.dims:
                printer.print_string(f"{dim} x ")
            printer.print_attribute(element_type_of(self))
            if with_tier and not is_local(self):
                printer.print_string(", global")

    def print_parameters(self, printer: Printer) -> None:
        self.print_inside(printer, with_tier=True)


def _parse_dims(parser: AttrParser, count: int) -> list[Attribute]:
    dims: list[Attribute] = []
    for _ in range(count):
        dims.append(StringAttr(parser.parse_identifier(context_msg=" as the name of a dim")))
        parser.parse_keyword("x")
    return dims


def _parse_item(parser: AttrParser, count: int, *, with_tier: bool) -> list[Attribute]:
    with parser.in_angle_brackets():
        parameters = _parse_dims(parser, count)
        parameters.append(parser.parse_type())
        tier = Tier.Local if with_tier else Tier.Global
        if with_tier and parser.parse_optional_punctuation(",") is not None:
            tier = parser.parse_str_enum(Tier)
    return [*parameters, TierAttr(tier)]


@irdl_attr_definition
class BlockType(_Item):
    """A tile with rows over one dim and columns over another: `!block.block<M x K x f32, global>`."""

    name = "block.block"
    KEYWORD = "block"
    rows: StringAttr = param_def()
    cols: StringAttr = param_def()
    element_type: Attribute = param_def()
    tier: TierAttr = param_def()

    def __init__(self, rows: str, cols: str, element_type: Attribute, tier: Tier = Tier.Local):
        super().__init__(StringAttr(rows), StringAttr(cols), element_type, TierAttr(tier))

    def verify(self) -> None:
        check_dim_name(self.name, self.rows.data)
        check_dim_name(self.name, self.cols.data)
        if self.rows == self.cols:
            raise VerifyException(
                f"{self.name}: rows and columns must be two dims, got {self.rows.data} for both"
            )
        _check_element_type(self.name, self.element_type)

    @property
    def dims(self) -> tuple[str, ...]:
        return self.rows.data, self.cols.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parse_item(parser, 2, with_tier=True)


@irdl_attr_definition
class VectorType(_Item):
    """A statistic of the rows (or columns) of a block: `!block.vector<M x f32>`."""

    name = "block.vector"
    KEYWORD = "vector"
    dim: StringAttr = param_def()
    element_type: Attribute = param_def()
    tier: TierAttr = param_def()

    def __init__(self, dim: str, element_type: Attribute, tier: Tier = Tier.Local):
        super().__init__(StringAttr(dim), element_type, TierAttr(tier))

    def verify(self) -> None:
        check_dim_name(self.name, self.dim.data)
        _check_element_type(self.name, self.element_type)

    @property
    def dims(self) -> tuple[str, ...]:
        return (self.dim.data,)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parse_item(parser, 1, with_tier=True)


@irdl_attr_definition
class ScalarType(_Item):
    """One number: `!block.scalar<f32>`."""

    name = "block.scalar"
    KEYWORD = "scalar"
    element_type: Attribute = param_def()
    tier: TierAttr = param_def()

    def __init__(self, element_type: Attribute, tier: Tier = Tier.Local):
        super().__init__(element_type, TierAttr(tier))

    def verify(self) -> None:
        _check_element_type(self.name, self.element_type)

    @property
    def dims(self) -> tuple[str, ...]:
        return ()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parse_item(parser, 0, with_tier=True)


ItemType: TypeAlias = BlockType | VectorType | ScalarType
_ITEMS: dict[str, tuple[type[ItemType], int]] = {
    "block": (BlockType, 2),
    "vector": (VectorType, 1),
    "scalar": (ScalarType, 0),
}


@irdl_attr_definition
class ListType(ParametrizedAttribute, TypeAttribute):
    """A list in global memory: `!block.list<M, K, block<M x K x f32>>` is a list over M of lists over K of
    blocks.

    The items of a list are in global memory too; the text leaves out their prefix `!block.` and their tier.
    """

    name = "block.list"
    dim: StringAttr = param_def()
    element: Attribute = param_def()

    def __init__(self, dim: str, element: Attribute):
        super().__init__(StringAttr(dim), element)

    def verify(self) -> None:
        check_dim_name(self.name, self.dim.data)
        if isinstance(self.element, ItemType) and is_local(self.element):
            raise VerifyException(
                f"{self.name}: the items of a list are in the global tier, got {self.element}"
            )
        if not isinstance(self.element, ItemType | ListType):
            raise VerifyException(f"{self.name}: a list holds items or lists, got {self.element}")
        if isinstance(self.element, ListType) and self.dim.data in self.element.dims:
            raise VerifyException(f"{self.name}: dim {self.dim.data} occurs twice in the nesting of one list")

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of the nesting, outermost first."""
        if isinstance(self.element, ListType):
            return self.dim.data, *self.element.dims
        return (self.dim.data,)

    @property
    def item(self) -> ItemType:
        """The item at the bottom of the nesting."""
        if isinstance(self.element, ListType):
            return self.element.item
        assert isinstance(self.element, ItemType)
        return self.element

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        dims: list[str] = []
        with parser.in_angle_brackets():
            element: Attribute | None = None
            while element is None:
                position = parser.pos
                # Not a type first: `vector` and dims like `index` name builtin types as well.
                word = parser.parse_optional_identifier()
                if word is None:
                    element = parser.parse_type()
                elif word in _ITEMS and parser.parse_optional_punctuation("<") is not None:
                    element = cls._parse_short_item(parser, word)
                elif parser.parse_optional_punctuation(",") is not None:
                    dims.append(word)
                else:
                    parser.raise_error(
                        "block.list: expected an item or a list, or a dim and `,`", position, parser.pos
                    )
        if not dims:
            parser.raise_error("block.list: expected the dim of the list before its element")
        for dim in reversed(dims[1:]):
            element = ListType(dim, element)
        return StringAttr(dims[0]), element

    @staticmethod
    def _parse_short_item(parser: AttrParser, word: str) -> ItemType:
        # The angle bracket is read already, so `_parse_item` does not apply.
        item, count = _ITEMS[word]
        parameters = [*_parse_dims(parser, count), parser.parse_type(), TierAttr(Tier.Global)]
        parser.parse_punctuation(">")
        return item.new(parameters)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(self.dims) + ", ")
            item = self.item
            printer.print_string(item.KEYWORD)
            item.print_inside(printer, with_tier=False)


AxesAttr: TypeAlias = ArrayAttr[ArrayAttr[StringAttr]]
"""The dims of each axis of a tensor: none for an axis of extent 1, several for a product of dims."""


def is_local(item: Attribute) -> bool:
    """True if an item type is in the local tier."""
    return isinstance(item, ItemType) and item.tier.data is Tier.Local


def element_type_of(type: Attribute) -> Attribute:
    """The element type of an item or of the items of a list.

    Raises TypeError for any other type.
    """
    if isinstance(type, ListType):
        return type.item.element_type
    if isinstance(type, ItemType):
        return type.element_type
    raise TypeError(f"expected an item or a list, got {type}")


def in_tier(item: ItemType, tier: Tier) -> ItemType:
    """The same item in another tier."""
    return item_type(item.dims, item.element_type, tier)


def item_type(dims: Sequence[str], element_type: Attribute, tier: Tier = Tier.Local) -> ItemType:
    """The item with these axes: a block for two dims, a vector for one, a scalar for none."""
    match list(dims):
        case []:
            return ScalarType(element_type, tier)
        case [dim]:
            return VectorType(dim, element_type, tier)
        case [rows, cols]:
            return BlockType(rows, cols, element_type, tier)
        case _:
            raise ValueError(f"an item has at most two axes, got {', '.join(dims)}")


def list_type(dims: Sequence[str], item: ItemType) -> ListType | ItemType:
    """The nested list over `dims` (outermost first) of an item in global memory; the item for no dims."""
    result: ListType | ItemType = in_tier(item, Tier.Global)
    for dim in reversed(dims):
        result = ListType(dim, result)
    return result


def axes_attr(axes: Sequence[Sequence[str]]) -> AxesAttr:
    """Attribute form of the dims of a tensor's axes."""
    return ArrayAttr([ArrayAttr([StringAttr(dim) for dim in axis]) for axis in axes])
