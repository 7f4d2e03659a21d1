"""Views of arrays as lists of items, and the moves of items between the tiers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .dims import require_declared, require_item
from .syntax import parse_attributes, parse_axes, print_attributes, print_axes
from .types import AxesAttr, ItemType, ListType, Tier, axes_attr, in_tier, is_local

ViewT = TypeVar("ViewT", bound="ViewOp")
MoveT = TypeVar("MoveT", bound="MoveOp")


def _axis_text(dims: Sequence[str]) -> str:
    return " * ".join(dims) if dims else "1"


class ViewOp(IRDLOperation):
    """A tensor seen as nested lists of items, or back; nothing moves.

    `axes` gives the dims of each axis of the tensor, in the order of the tensor: one dim, several if the axis
    is their product (row-major), none if its extent is 1. The list may nest the dims in any order, and its
    items may have their axes in any order: a partition of B into blocks of Bᵀ is a view too. A dim that no
    list iterates over must be whole.
    """

    axes: AxesAttr = prop_def(AxesAttr)

    def verify_view(self, tensor: Attribute, blocks: Attribute) -> None:
        """Raise VerifyException unless `tensor`, cut along `axes`, is the list (or global item) `blocks`."""
        if not isinstance(tensor, TensorType):
            raise VerifyException(f"{self.name}: expected a tensor, got {tensor}")
        if isinstance(blocks, ListType):
            nest, item = blocks.dims, blocks.item
        elif isinstance(blocks, ItemType) and not is_local(blocks):
            nest, item = (), blocks
        else:
            raise VerifyException(f"{self.name}: expected a list or an item in the global tier, got {blocks}")
        axes = [[dim.data for dim in axis] for axis in self.axes]
        named = [dim for axis in axes for dim in axis]
        if len(axes) != tensor.get_num_dims():
            raise VerifyException(
                f"{self.name}: {len(axes)} axes are named, but {tensor} has {tensor.get_num_dims()}"
            )
        if len(set(named)) != len(named):
            raise VerifyException(
                f"{self.name}: a dim names two axes, in [{', '.join(map(_axis_text, axes))}]"
            )
        if tensor.get_element_type() != item.element_type:
            raise VerifyException(
                f"{self.name}: element types differ, {tensor.get_element_type()} of the tensor "
                f"and {item.element_type} of the items"
            )
        if set(named) != {*nest, *item.dims}:
            raise VerifyException(
                f"{self.name}: the axes have the dims {', '.join(named) or 'none'}, "
                f"the list and its items {', '.join(dict.fromkeys((*nest, *item.dims))) or 'none'}"
            )
        dims = require_declared(self, tuple(named))
        if not dims:
            return
        for dim in named:
            if dim in item.dims and dims[dim].is_batch:
                raise VerifyException(f"{self.name}: {dim} is a batch dim, its items have no axis over it")
            if dim in item.dims and dim not in nest and not dims[dim].is_whole:
                raise VerifyException(
                    f"{self.name}: no list iterates over {dim}, so it would have to be whole"
                )
            if dim not in item.dims and not dims[dim].is_batch:
                raise VerifyException(
                    f"{self.name}: {dim} is no batch dim, so the items need an axis over it"
                )
        for extent, axis in zip(tensor.get_shape(), axes, strict=True):
            extents = [dims[dim].static_extent for dim in axis]
            product = prod(extent for extent in extents if extent is not None)
            known = None not in extents
            if extent != DYNAMIC_INDEX and (product != extent if known else extent % product):
                raise VerifyException(
                    f"{self.name}: an axis of extent {extent} cannot be {_axis_text(axis)} (extent {product})"
                )
            if extent == DYNAMIC_INDEX and not axis:
                raise VerifyException(f"{self.name}: an axis without a dim has extent 1, got `?`")


@irdl_op_definition
class PartitionOp(ViewOp, HasCanonicalizationPatternsInterface):
    """`%Q = block.partition %q [M, D] : tensor<200x64xf32> -> !block.list<M, D, block<M x D x f32>>`"""

    name = "block.partition"
    tensor = operand_def(TensorType)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, tensor: SSAValue, axes: Sequence[Sequence[str]], result_type: ListType | ItemType):
        super().__init__(operands=[tensor], result_types=[result_type], properties={"axes": axes_attr(axes)})

    def verify_(self) -> None:
        self.verify_view(self.tensor.type, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> PartitionOp:
        return _parse_view(cls, parser)

    def print(self, printer: Printer) -> None:
        _print_view(printer, self, self.tensor, self.result)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import PartitionOfAssemble

        return (PartitionOfAssemble(),)


@irdl_op_definition
class AssembleOp(ViewOp, HasCanonicalizationPatternsInterface):
    """`%o = block.assemble %O [M, L] : !block.list<M, L, block<M x L x f32>> -> tensor<200x48xf32>`"""

    name = "block.assemble"
    list = operand_def()
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def __init__(self, list: SSAValue, axes: Sequence[Sequence[str]], result_type: TensorType[Attribute]):
        super().__init__(operands=[list], result_types=[result_type], properties={"axes": axes_attr(axes)})

    def verify_(self) -> None:
        self.verify_view(self.result.type, self.list.type)

    @classmethod
    def parse(cls, parser: Parser) -> AssembleOp:
        return _parse_view(cls, parser)

    def print(self, printer: Printer) -> None:
        _print_view(printer, self, self.list, self.result)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import AssembleOfPartition

        return (AssembleOfPartition(),)


def _parse_view(cls: type[ViewT], parser: Parser) -> ViewT:
    operand = parser.parse_unresolved_operand()
    axes = parse_axes(parser)
    attributes = parse_attributes(parser)
    parser.parse_punctuation(":")
    source = parser.resolve_operand(operand, parser.parse_type())
    parser.parse_punctuation("->")
    target = parser.parse_type()
    return cls.create(
        operands=[source], result_types=[target], properties={"axes": axes}, attributes=attributes
    )


def _print_view(printer: Printer, op: ViewOp, source: SSAValue, target: SSAValue) -> None:
    printer.print_string(" ")
    printer.print_operand(source)
    printer.print_string(" ")
    print_axes(printer, op.axes)
    print_attributes(printer, op)
    printer.print_string(f" : {source.type} -> {target.type}")


class MoveOp(IRDLOperation):
    """A move of one item between the tiers; only these operations and `block.reduce` cause traffic."""

    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def verify_move(self, from_: Tier, to: Tier) -> None:
        source, result = self.source.type, self.result.type
        if not isinstance(source, ItemType) or source.tier.data is not from_:
            raise VerifyException(f"{self.name}: expected an item in the {from_} tier, got {source}")
        require_item(self, source)
        if result != in_tier(source, to):
            raise VerifyException(f"{self.name}: the result must be {in_tier(source, to)}, got {result}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        print_attributes(printer, self)
        printer.print_string(f" : {self.source.type}")


def _parse_move(cls: type[MoveT], parser: Parser, to: Tier) -> MoveT:
    operand = parser.parse_unresolved_operand()
    attributes = parse_attributes(parser)
    parser.parse_punctuation(":")
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, ItemType):
        parser.raise_error(f"{cls.name}: expected the type of an item, got {type}", position, parser.pos)
    source = parser.resolve_operand(operand, type)
    return cls.create(operands=[source], result_types=[in_tier(type, to)], attributes=attributes)


@irdl_op_definition
class LoadOp(MoveOp, HasCanonicalizationPatternsInterface):
    """Item in global → item in local: `%q = block.load %qs : !block.block<M x D x f32, global>`"""

    name = "block.load"

    def __init__(self, source: SSAValue):
        assert isinstance(source.type, ItemType)
        super().__init__(operands=[source], result_types=[in_tier(source.type, Tier.Local)])
        self.result.name_hint = source.name_hint

    def verify_(self) -> None:
        self.verify_move(Tier.Global, Tier.Local)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        return _parse_move(cls, parser, Tier.Local)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import LoadOfStore

        return (LoadOfStore(),)


@irdl_op_definition
class StoreOp(MoveOp):
    """Item in local → item in global: `%os = block.store %o : !block.block<M x L x f32>`"""

    name = "block.store"

    def __init__(self, source: SSAValue):
        assert isinstance(source.type, ItemType)
        super().__init__(operands=[source], result_types=[in_tier(source.type, Tier.Global)])
        self.result.name_hint = source.name_hint

    def verify_(self) -> None:
        self.verify_move(Tier.Local, Tier.Global)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        return _parse_move(cls, parser, Tier.Global)
