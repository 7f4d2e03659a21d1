"""Views of lists with their dims nested in another order, and the elements that a nest of maps reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ....dialects import block
from ..law import Placer


@dataclass(frozen=True)
class TransposedView:
    """A list seen with its dims nested in another order: the partition of an assembled list, along the same
    axes.
    """

    partition: block.PartitionOp
    list: SSAValue

    @property
    def made(self) -> tuple[str, ...]:
        """The dims of the list as it is made, outermost first."""
        return dims_of(self.list.type)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The dims of the view, outermost first."""
        return dims_of(self.partition.result.type)

    @property
    def depth(self) -> int:
        """Number of dims, from the outermost, that the view permutes."""
        pairs = zip(self.made, self.wanted, strict=True)
        return 1 + max(level for level, (own, other) in enumerate(pairs) if own != other)

    @property
    def nest(self) -> list[block.MapOp]:
        """The maps over those dims that form a nest, each yielding the result of the next; outermost
        first.
        """
        found: list[block.MapOp] = []
        value = self.list
        while len(found) < self.depth:
            maker = value.owner
            if not isinstance(maker, block.MapOp) or (found and maker.parent is not found[-1].body.block):
                break
            found.append(maker)
            value = maker.yield_op.arguments[maker.results.index(value)]  # pyright: ignore[reportArgumentType]
        return found

    def inversions(self) -> int:
        """Return the number of pairs of dims with opposite nesting."""
        place = {dim: index for index, dim in enumerate(self.wanted)}
        return sum(place[outer] > place[inner] for outer, inner in combinations(self.made, 2))


def transposed_view(op: Operation) -> TransposedView | None:
    """The view that a partition is, if it shows an assembled list with its dims in another order."""
    if not isinstance(op, block.PartitionOp) or not isinstance(op.tensor.owner, block.AssembleOp):
        return None
    source = op.tensor.owner
    view = TransposedView(op, source.list)
    same_items = item_of(source.list.type) == item_of(op.result.type)
    permuted = view.made != view.wanted and sorted(view.made) == sorted(view.wanted)
    return view if source.axes == op.axes and same_items and permuted else None


def views_along(maker: block.MapOp) -> Iterator[block.PartitionOp]:
    """All views of the arrays that the lists of a map were assembled to, along the same axes."""
    for result in maker.results:
        for use in result.uses:
            if isinstance(use.operation, block.AssembleOp):
                for reader in use.operation.result.uses:
                    view = reader.operation
                    if isinstance(view, block.PartitionOp) and view.axes == use.operation.axes:
                        yield view


@dataclass(frozen=True)
class Element:
    """An element that the body of a nest reads: its list, and the levels of the nest at which the list and
    its elements are mapped.
    """

    list: SSAValue
    levels: tuple[int, ...]

    def dims_in_order(self, made: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
        """Return the dims of the list as a nest in another order maps them, then those that it does not map.

        `made` are the dims of the nest, `order` those of the other nest, outermost first.
        """
        mapped = sorted((made[level] for level in self.levels), key=order.index)
        return (*mapped, *dims_of(self.list.type)[len(mapped) :])


def elements_of(nest: Sequence[block.MapOp]) -> dict[Element, list[BlockArgument]]:
    """The elements that the innermost body reads, each with its arguments at all levels."""
    known: dict[SSAValue, Element] = {}
    for level, map_ in enumerate(nest):
        for value, argument in zip(map_.inputs, map_.body.block.args, strict=True):
            outer = known.get(value, Element(value, ()))
            known[argument] = Element(outer.list, (*outer.levels, level))
    found: dict[Element, list[BlockArgument]] = {}
    for argument, element in known.items():
        assert isinstance(argument, BlockArgument)
        if any(use.operation not in nest for use in argument.uses):
            found.setdefault(element, []).append(argument)
    return found


def changes_order(element: Element, site: TransposedView) -> bool:
    """True if the list of an element must be viewed in another order than its own."""
    order = element.dims_in_order(site.made[: site.depth], site.wanted[: site.depth])
    return order != dims_of(element.list.type)


def is_viewable(value: SSAValue) -> bool:
    """True if a list is a view of an array, or can be assembled to one."""
    if isinstance(value.owner, block.PartitionOp):
        return True
    owner = value.owner
    scope = owner.parent_op() if isinstance(owner, Block) else owner
    declared = (block.declared_dims(scope) if scope is not None else None) or {}
    nest, item = dims_of(value.type), item_of(value.type)
    assert isinstance(item, block.ItemType)
    return all(dim in item.dims or (dim in declared and declared[dim].is_batch) for dim in nest) and all(
        dim in nest or (dim in declared and declared[dim].is_whole) for dim in item.dims
    )


def view_in_order(value: SSAValue, dims: Sequence[str], place: Placer) -> SSAValue:
    """Insert a view of a list with its dims nested in another order."""
    item = item_of(value.type)
    assert isinstance(item, block.ItemType)
    wanted = block.list_type(dims, item)
    if isinstance(value.owner, block.PartitionOp):
        axes = [[dim.data for dim in axis] for axis in value.owner.axes]
        return place(block.PartitionOp(value.owner.tensor, axes, wanted), value.name_hint)
    axes = [[dim] for dim in dict.fromkeys((*dims_of(value.type), *item.dims))]
    declared = block.declared_dims(place.point.block.parent_op()) or {}  # pyright: ignore[reportArgumentType]
    extents = [declared[dim].static_extent for (dim,) in axes]
    shape = [DYNAMIC_INDEX if extent is None else extent for extent in extents]
    hint = value.name_hint
    tensor = place(
        block.AssembleOp(value, axes, TensorType(item.element_type, shape)), hint.lower() if hint else None
    )
    return place(block.PartitionOp(tensor, axes, wanted), hint)


def dims_of(type: Attribute) -> tuple[str, ...]:
    """Return the dims of a type of lists, outermost first; none for any other type."""
    return type.dims if isinstance(type, block.ListType) else ()


def item_of(type: Attribute) -> Attribute:
    """Return the type of the items of a list; an item's own type."""
    return type.item if isinstance(type, block.ListType) else type
