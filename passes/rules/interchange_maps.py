"""A list that is read in another order of its dims is made in that order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import Kind
from .law import Check, Law, Placer


@dataclass(frozen=True)
class TransposedView:
    """A list seen with its dims nested in another order: the partition of an assembled list, along the same
    axes.
    """

    partition: block.PartitionOp
    list: SSAValue

    @property
    def made(self) -> tuple[str, ...]:
        """The dims of the list, outermost first."""
        return _dims(self.list.type)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The dims of the view, outermost first."""
        return _dims(self.partition.result.type)

    @property
    def depth(self) -> int:
        """How many dims, from the outermost, change their places."""
        pairs = zip(self.made, self.wanted, strict=True)
        return 1 + max(level for level, (own, other) in enumerate(pairs) if own != other)

    @property
    def nest(self) -> list[block.MapOp]:
        """The maps over those dims, as far as one makes what the one around it yields; outermost first."""
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
        """How many pairs of dims are nested the other way round."""
        place = {dim: index for index, dim in enumerate(self.wanted)}
        return sum(place[outer] > place[inner] for outer, inner in combinations(self.made, 2))


def transposed_view(op: Operation) -> TransposedView | None:
    """The view that a partition is, if it shows an assembled list in another order of its dims."""
    if not isinstance(op, block.PartitionOp) or not isinstance(op.tensor.owner, block.AssembleOp):
        return None
    source = op.tensor.owner
    view = TransposedView(op, source.list)
    same_items = _item(source.list.type) == _item(op.result.type) and sorted(view.made) == sorted(view.wanted)
    return view if source.axes == op.axes and same_items and view.made != view.wanted else None


@dataclass(frozen=True)
class _Chain:
    """An element that the body of a nest reads: of which list, and in which levels of the nest the list and
    its elements are mapped.
    """

    list: SSAValue
    levels: tuple[int, ...]


class InterchangeMaps(Law[TransposedView]):
    """map H { map M {..} }, seen as a list over M of lists over H → map M { map H {..} }.

    Works for any permutation of the outermost dims of a nest. The lists that the nest reads are seen
    transposed afterwards, so that the nests that make them follow; where that leads to an array, the array is
    partitioned in the other order.
    """

    name = "interchange-maps"
    law = "Maps that stand directly one inside another run in the order in which the list they make is read."
    before = "y = map H (x) { map M { f } }; partition (assemble y) as a list over M, H"
    after = "y = map M (x as a list over M, H) { map H { f } }"
    traffic = "none; a map over the view's outermost dim can then be fused with the nest"
    side_conditions = {
        "perfect": (
            "as deep as the orders differ, the list is made by maps that stand directly one inside another "
            "and only stack"
        ),
        "private": "the lists that the maps stack are read as arrays only",
        "one-order": "all views of these arrays along the same axes nest the dims in one order",
        "viewable": "each list that the maps read in another order is an array or can be one",
    }
    anchors = (block.PartitionOp,)

    def sites(self, op: Operation) -> Iterator[TransposedView]:
        view = transposed_view(op)
        if view is not None and isinstance(view.list.owner, block.MapOp):
            yield view

    def checks(self, site: TransposedView) -> Iterator[Check]:
        nest, depth = site.nest, site.depth
        beside = next((inner for outer, inner in pairwise(nest) if len(outer.body.block.ops) != 2), None)
        kinds = {kind for map_ in nest for kind in map_.result_kinds}
        if len(nest) < depth:
            outer, inner = site.made[len(nest) - 1 : len(nest) + 1]
            reason = f"no map over {inner} makes what the map over {outer} yields"
        elif beside is not None:
            reason = f"the map over {beside.dim_name} does not stand alone in the map around it"
        else:
            reason = "the maps do not only stack"
        only_stack = kinds <= {Kind.Stack} and all(
            value.owner is inner for outer, inner in pairwise(nest) for value in outer.yield_op.arguments
        )
        yield Check("perfect", len(nest) == depth and beside is None and only_stack, reason)
        read = [
            result
            for result, kind in zip(nest[0].results, nest[0].result_kinds, strict=True)
            if kind is Kind.Stack and not _only_assembled(result)
        ]
        yield Check("private", not read, f"{_names(read)} is also read in the order in which it is made")
        others = [
            other
            for view in _views(nest[0])
            if (other := _dims(view.result.type)[:depth]) != site.wanted[:depth]
        ]
        told = ", ".join(others[0]) if others else ""
        yield Check("one-order", not others, f"another view nests the dims as {told}")
        chains = _chains(nest)
        stuck = [chain.list for chain in chains if _moves(chain, site) and not _is_viewable(chain.list)]
        yield Check(
            "viewable", not stuck, f"{_names(stuck)} cannot be seen in another order: no array has its items"
        )

    def rewrite(self, op: Operation, site: TransposedView, rewriter: PatternRewriter) -> None:
        nest, depth = site.nest, site.depth
        assert len(nest) == depth
        made, order = site.made[:depth], site.wanted[:depth]
        place = Placer(rewriter, nest[0])
        elements = _chains(nest)
        current = {
            chain: _seen(chain.list, _reordered(chain, made, order), place)
            if _moves(chain, site)
            else chain.list
            for chain in elements
        }
        bodies: list[Block] = []
        inputs: list[list[SSAValue]] = []
        for dim in order:
            body, mapped = Block(), dict[SSAValue, BlockArgument]()
            for chain, value in current.items():
                if any(made[level] == dim for level in chain.levels):
                    if value not in mapped:
                        assert isinstance(value.type, block.ListType)
                        mapped[value] = body.insert_arg(value.type.element, len(body.args))
                        mapped[value].name_hint = _element_name(value, dim, value.owner in bodies)
                    current[chain] = mapped[value]
            bodies.append(body)
            inputs.append(list(mapped))
        for inner in list(nest[-1].body.block.ops):
            inner.detach()
            bodies[-1].add_op(inner)
        for chain, arguments in elements.items():
            for argument in arguments:
                rewriter.replace_uses_with_if(argument, current[chain], lambda use: use.operation not in nest)
        names = [result.name_hint for result in nest[-1].results]
        new = nest[-1]
        for level in reversed(range(depth)):
            kinds = [Kind.Stack] * len(names)
            new = block.MapOp(order[level], inputs[level], kinds, Region(bodies[level]))
            new.attributes.update(nest[level].attributes)
            new.location = nest[made.index(order[level])].location
            for result, name in zip(new.results, names, strict=True):
                result.name_hint = name
            if level:
                end = block.YieldOp(*new.results)
                end.location = new.location
                bodies[level - 1].add_ops([new, end])
        results = [new.results[index] for index in _innermost_results(nest)]
        for result, old in zip(results, nest[0].results, strict=True):
            result.name_hint = old.name_hint
        place(new)
        rewriter.replace(nest[0], (), results)


def _dims(type: Attribute) -> tuple[str, ...]:
    return type.dims if isinstance(type, block.ListType) else ()


def _item(type: Attribute) -> Attribute:
    return type.item if isinstance(type, block.ListType) else type


def _names(values: Sequence[SSAValue]) -> str:
    return ", ".join(f"%{value.name_hint}" if value.name_hint else "a list" for value in values)


def _only_assembled(value: SSAValue) -> bool:
    return all(isinstance(use.operation, block.AssembleOp) for use in value.uses)


def _views(maker: block.MapOp) -> Iterator[block.PartitionOp]:
    """All views of the arrays that the lists of a map were assembled to, along the same axes."""
    for result in maker.results:
        for use in result.uses:
            if isinstance(use.operation, block.AssembleOp):
                for reader in use.operation.result.uses:
                    view = reader.operation
                    if isinstance(view, block.PartitionOp) and view.axes == use.operation.axes:
                        yield view


def _chains(nest: Sequence[block.MapOp]) -> dict[_Chain, list[BlockArgument]]:
    """The elements that the innermost body reads, each with the arguments that it is."""
    known: dict[SSAValue, _Chain] = {}
    for level, map_ in enumerate(nest):
        for value, argument in zip(map_.inputs, map_.body.block.args, strict=True):
            outer = known.get(value, _Chain(value, ()))
            known[argument] = _Chain(outer.list, (*outer.levels, level))
    found: dict[_Chain, list[BlockArgument]] = {}
    for argument, chain in known.items():
        assert isinstance(argument, BlockArgument)
        if any(use.operation not in nest for use in argument.uses):
            found.setdefault(chain, []).append(argument)
    return found


def _reordered(chain: _Chain, made: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    """The dims of a list as a nest in another order maps them, with those that it does not map behind."""
    mapped = sorted((made[level] for level in chain.levels), key=order.index)
    return (*mapped, *_dims(chain.list.type)[len(mapped) :])


def _moves(chain: _Chain, site: TransposedView) -> bool:
    """Whether a list must be seen in another order than it has."""
    return _reordered(chain, site.made[: site.depth], site.wanted[: site.depth]) != _dims(chain.list.type)


def _is_viewable(value: SSAValue) -> bool:
    """Whether a list is a view of an array, or can be assembled to one."""
    if isinstance(value.owner, block.PartitionOp):
        return True
    owner = value.owner
    scope = owner.parent_op() if isinstance(owner, Block) else owner
    declared = (block.declared_dims(scope) if scope is not None else None) or {}
    nest, item = _dims(value.type), _item(value.type)
    assert isinstance(item, block.ItemType)
    return all(dim in item.dims or (dim in declared and declared[dim].is_batch) for dim in nest) and all(
        dim in nest or (dim in declared and declared[dim].is_whole) for dim in item.dims
    )


def _seen(value: SSAValue, dims: Sequence[str], place: Placer) -> SSAValue:
    """A list with its dims nested in another order."""
    item = _item(value.type)
    assert isinstance(item, block.ItemType)
    wanted = block.list_type(dims, item)
    if isinstance(value.owner, block.PartitionOp):
        axes = [[dim.data for dim in axis] for axis in value.owner.axes]
        return place(block.PartitionOp(value.owner.tensor, axes, wanted), value.name_hint)
    axes = [[dim] for dim in dict.fromkeys((*_dims(value.type), *item.dims))]
    declared = block.declared_dims(place.point.block.parent_op()) or {}  # pyright: ignore[reportArgumentType]
    extents = [declared[dim].static_extent for (dim,) in axes]
    shape = [DYNAMIC_INDEX if extent is None else extent for extent in extents]
    hint = value.name_hint
    tensor = place(
        block.AssembleOp(value, axes, TensorType(item.element_type, shape)), hint.lower() if hint else None
    )
    return place(block.PartitionOp(tensor, axes, wanted), hint)


def _element_name(value: SSAValue, dim: str, nested: bool) -> str | None:
    """`Q` over M has elements `Q_m`, and these, over B, `Q_mb`."""
    if value.name_hint is None:
        return None
    return f"{value.name_hint}{'' if nested and '_' in value.name_hint else '_'}{dim.lower()}"


def _innermost_results(nest: Sequence[block.MapOp]) -> list[int]:
    """For each result of the outermost map, the result of the innermost one that it stacks."""
    indices = list(range(len(nest[0].results)))
    for outer, inner in pairwise(nest):
        indices = [inner.results.index(outer.yield_op.arguments[index]) for index in indices]  # pyright: ignore[reportArgumentType]
    return indices


LAWS = (InterchangeMaps,)
