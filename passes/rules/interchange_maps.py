"""A list that is read in another order of its dims is made in that order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import Kind
from .law import Check, Law, Phase, Placer, Topic
from .shared.transposed_views import (
    TransposedView,
    changes_order,
    dims_of,
    elements_of,
    is_viewable,
    transposed_view,
    view_in_order,
    views_along,
)


class InterchangeMaps(Law[block.PartitionOp, TransposedView]):
    """map H { map M {..} }, seen as a list over M of lists over H → map M { map H {..} }.

    Works for any permutation of the outermost dims of a nest. The lists that the nest reads are seen
    transposed afterwards, so that the nests that make them follow; where that leads to an array, the array is
    partitioned in the other order.
    """

    name = "interchange-maps"
    phase = Phase.OWN_STEP
    topic = Topic.MAPS
    rank = 20
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

    def sites(self, op: block.PartitionOp) -> Iterator[TransposedView]:
        view = transposed_view(op)
        if view is not None and isinstance(view.list.owner, block.MapOp):
            yield view

    def checks(self, site: TransposedView) -> Iterator[Check]:
        nest, depth = site.nest, site.depth
        imperfect = next((inner for outer, inner in pairwise(nest) if len(outer.body.block.ops) != 2), None)
        kinds = {kind for map_ in nest for kind in map_.result_kinds}
        if len(nest) < depth:
            outer, inner = site.made[len(nest) - 1 : len(nest) + 1]
            reason = f"no map over {inner} makes what the map over {outer} yields"
        elif imperfect is not None:
            reason = f"the map over {imperfect.dim_name} does not stand alone in the map around it"
        else:
            reason = "the maps do not only stack"
        only_stack = kinds <= {Kind.Stack} and all(
            value.owner is inner for outer, inner in pairwise(nest) for value in outer.yield_op.arguments
        )
        yield Check("perfect", len(nest) == depth and imperfect is None and only_stack, reason)
        read = [
            result
            for result, kind in zip(nest[0].results, nest[0].result_kinds, strict=True)
            if kind is Kind.Stack and not _only_assembled(result)
        ]
        yield Check("private", not read, f"{_names(read)} is also read in the order in which it is made")
        others = [
            other
            for view in views_along(nest[0])
            if (other := dims_of(view.result.type)[:depth]) != site.wanted[:depth]
        ]
        order_text = ", ".join(others[0]) if others else ""
        yield Check("one-order", not others, f"another view nests the dims as {order_text}")
        moving = [element.list for element in elements_of(nest) if changes_order(element, site)]
        stuck = [value for value in moving if not is_viewable(value)]
        yield Check(
            "viewable", not stuck, f"{_names(stuck)} cannot be seen in another order: no array has its items"
        )

    def rewrite(self, op: block.PartitionOp, site: TransposedView, rewriter: PatternRewriter) -> None:
        nest, depth = site.nest, site.depth
        assert len(nest) == depth
        made, order = site.made[:depth], site.wanted[:depth]
        place = Placer(rewriter, nest[0])
        read = elements_of(nest)
        current = {
            element: view_in_order(element.list, element.dims_in_order(made, order), place)
            if changes_order(element, site)
            else element.list
            for element in read
        }
        bodies: list[Block] = []
        inputs: list[list[SSAValue]] = []
        for dim in order:
            body, mapped = Block(), dict[SSAValue, BlockArgument]()
            for element, value in current.items():
                if any(made[level] == dim for level in element.levels):
                    if value not in mapped:
                        assert isinstance(value.type, block.ListType)
                        mapped[value] = body.insert_arg(value.type.element, len(body.args))
                        mapped[value].name_hint = _element_name(value, dim, value.owner in bodies)
                    current[element] = mapped[value]
            bodies.append(body)
            inputs.append(list(mapped))
        for inner in list(nest[-1].body.block.ops):
            inner.detach()
            bodies[-1].add_op(inner)
        for element, arguments in read.items():
            new_element = current[element]
            for argument in arguments:
                rewriter.replace_uses_with_if(argument, new_element, lambda use: use.operation not in nest)
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


def _names(values: Sequence[SSAValue]) -> str:
    return ", ".join(f"%{value.name_hint}" if value.name_hint else "a list" for value in values)


def _only_assembled(value: SSAValue) -> bool:
    return all(isinstance(use.operation, block.AssembleOp) for use in value.uses)


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
