"""Simplifications that hold in any program of the `block` dialect."""

from __future__ import annotations

from xdsl.ir import BlockArgument
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from .dims import declared_dims
from .moves import AssembleOp, LoadOp, PartitionOp, StoreOp
from .structure import MapOp


class LoadOfStore(RewritePattern):
    """Replace a load of an item that was just stored by the item: load(store x) → x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoadOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.source.owner, StoreOp):
            rewriter.replace(op, (), (op.source.owner.source,))


class PartitionOfAssemble(RewritePattern):
    """Cancel a view and its inverse: partition(assemble x) → x if axes and type agree."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PartitionOp, rewriter: PatternRewriter, /) -> None:
        source = op.tensor.owner
        if isinstance(source, AssembleOp) and source.axes == op.axes and source.list.type == op.result.type:
            rewriter.replace(op, (), (source.list,))


class AssembleOfPartition(RewritePattern):
    """Cancel a view and its inverse: assemble(partition x) → x if axes and type agree."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AssembleOp, rewriter: PatternRewriter, /) -> None:
        source = op.list.owner
        if (
            isinstance(source, PartitionOp)
            and source.axes == op.axes
            and source.tensor.type == op.result.type
        ):
            rewriter.replace(op, (), (source.tensor,))


class DropUnusedMapResults(RewritePattern):
    """Drop results of a map that have no uses."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MapOp, rewriter: PatternRewriter, /) -> None:
        used = [index for index, result in enumerate(op.results) if result.uses]
        if not used or len(used) == len(op.results):
            return  # a map without any used result is dead as a whole
        kept = op.with_pivots(used)
        if len(kept) == len(op.results):
            return
        last = op.yield_op
        values = [last.arguments[index] for index in kept]
        rewriter.replace(last, type(last)(*values))
        body = rewriter.move_region_contents_to_new_regions(op.body)
        kinds = [op.result_kinds[index] for index in kept]
        new = MapOp(op.dim_name, op.inputs, kinds, body, op.pivots_among(kept))
        new.attributes.update(op.attributes)
        results = [
            new.results_[kept.index(index)] if index in kept else None for index in range(len(op.results_))
        ]
        rewriter.replace(op, new, results)


def _keep_inputs(op: MapOp, kept: list[int], rewriter: PatternRewriter) -> None:
    inputs = [op.inputs[index] for index in kept]
    body = rewriter.move_region_contents_to_new_regions(op.body)
    for index in reversed(range(len(body.block.args))):
        if index not in kept:
            rewriter.erase_block_argument(body.block.args[index])
    new = MapOp.create(
        operands=inputs,
        result_types=op.result_types,
        properties=dict(op.properties),
        attributes=op.attributes,
        regions=[body],
    )
    rewriter.replace(op, new)


def _extent_is_unknown(op: MapOp) -> bool:
    dim = (declared_dims(op) or {}).get(op.dim_name)
    return dim is not None and dim.static_extent is None


class DropUnusedMapInputs(RewritePattern):
    """Drop inputs of a map whose elements are not read; the dim alone says how often a map runs.

    If the extent of the dim is unknown, one list stays, because its length tells the extent.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MapOp, rewriter: PatternRewriter, /) -> None:
        kept = [index for index, argument in enumerate(op.body.block.args) if argument.uses]
        if not kept and op.inputs and _extent_is_unknown(op):
            views = [index for index, value in enumerate(op.inputs) if isinstance(value.owner, PartitionOp)]
            kept = [views[0] if views else 0]
        if len(kept) < len(op.inputs):
            _keep_inputs(op, kept, rewriter)


class DropDuplicateMapInputs(RewritePattern):
    """Merge two inputs of a map that are the same list."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MapOp, rewriter: PatternRewriter, /) -> None:
        first: dict[object, int] = {}
        duplicates: list[tuple[BlockArgument, BlockArgument]] = []
        for index, value in enumerate(op.inputs):
            known = first.setdefault(value, index)
            if known != index:
                duplicates.append((op.body.block.args[index], op.body.block.args[known]))
        if not duplicates:
            return
        for argument, kept in duplicates:
            rewriter.replace_all_uses_with(argument, kept)
        _keep_inputs(op, list(first.values()), rewriter)
