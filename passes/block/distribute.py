"""`block-distribute`: a nest that would keep only one worker busy becomes several nests with parallel loops.

A nest over few rows has a single iteration, which contains all the work. The loops over columns inside it can
only be parallel as nests of their own (loop distribution). Values that one part makes for a later one go
through global memory; these are few rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects import block
from ...dialects.block import Kind
from ..analysis.programs import block_programs
from ..analysis.ranges import largest_extents

WORTH = 1 << 20
"""Multiply-adds that a loop must have at least to become a nest of its own."""


@dataclass(frozen=True)
class BlockDistributePass(ModulePass):
    """Make nests of their own of the loops in a nest with a single iteration, where they contract much.

    Every dim needs a block size. A dim of unknown extent counts as long, or as long as its range allows.
    """

    name = "block-distribute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in block_programs(op):
            dims = largest_extents(function, block.parse_dims(function.attributes[block.DIMS]))
            for nest in list(function.body.block.ops):
                if isinstance(nest, block.MapOp) and _is_single(nest, dims):
                    _distribute(nest, dims)


def _iterations(dim: block.DimAttr) -> int | None:
    """Return the number of iterations of a loop over a dim; None if it is not known."""
    if dim.is_whole:
        return 1
    if dim.static_extent is None or dim.is_batch:
        return dim.static_extent
    return None if dim.block_size is None else -(-dim.static_extent // dim.block_size)


def _is_single(op: block.MapOp, dims: Mapping[str, block.DimAttr]) -> bool:
    return _iterations(dims[op.dim_name]) == 1 and all(kind is Kind.Stack for kind in op.result_kinds)


def _is_worth(op: Operation, dims: Mapping[str, block.DimAttr]) -> bool:
    """True if an operation is a loop with several parallel iterations and enough multiply-adds."""
    if not isinstance(op, block.MapOp) or any(kind is not Kind.Stack for kind in op.result_kinds):
        return False
    if _iterations(dims[op.dim_name]) == 1:
        return False
    work = 0
    for dot in op.walk():
        if not isinstance(dot, block.DotOp):
            continue
        assert isinstance(dot.result.type, block.ItemType)
        assert isinstance(dot.lhs.type, block.ItemType)
        extents = [dims[name].static_extent for name in {*dot.result.type.dims, *dot.lhs.type.dims}]
        if None in extents:
            return True
        work += prod(extent for extent in extents if extent is not None)
    return work >= WORTH


def _distribute(nest: block.MapOp, dims: Mapping[str, block.DimAttr]) -> None:
    """Cut the body of a map before and after its large loops, and make each part a map of its own."""
    parts: list[list[Operation]] = [[]]
    for op in nest.body.block.ops:
        if isinstance(op, block.YieldOp):
            break
        if _is_worth(op, dims):
            parts += [[op], []]
        else:
            parts[-1].append(op)
    parts = _with_cheap_ends(parts)
    if len(parts) < 2:
        return
    results = list(nest.yield_op.arguments)
    made: dict[SSAValue, SSAValue] = {}
    """Values that a part makes for others → the lists that hold them."""
    arguments = dict(zip(nest.body.block.args, nest.inputs, strict=True))
    for index, part in enumerate(parts):
        later = {operand for other in parts[index + 1 :] for op in other for operand in _operands(op)}
        own = [result for op in part for result in op.results]
        wanted = [value for value in own if value in later or value in results]
        new = _part(nest, part, wanted, {**arguments, **made})
        made.update(zip(wanted, new.results, strict=True))
    for old, value in zip(list(nest.results), results, strict=True):
        old.replace_all_uses_with(made[value])
    nest.detach()
    nest.erase(safe_erase=False)


def _with_cheap_ends(parts: Sequence[list[Operation]]) -> list[list[Operation]]:
    """The non-empty parts; operations outside of loops join the part of the next loop."""
    found: list[list[Operation]] = []
    for part in parts:
        if found and not any(isinstance(op, block.MapOp | block.DotOp | block.ReduceOp) for op in found[-1]):
            found[-1] += part
        elif part:
            found.append(list(part))
    return found


def _operands(op: Operation) -> set[SSAValue]:
    return {operand for inner in op.walk() for operand in inner.operands}


def _part(
    nest: block.MapOp,
    ops: Sequence[Operation],
    wanted: Sequence[SSAValue],
    lists: Mapping[SSAValue, SSAValue],
) -> block.MapOp:
    """Insert a map before another one, with some operations of its body; its results are the values `wanted`.

    `lists` has the lists whose elements the body reads: inputs of the old map, and results of earlier parts.
    """
    needed = {operand for op in ops for operand in _operands(op)}
    inputs = [value for value in lists if value in needed]
    body = Block(arg_types=[_element_type(lists[value]) for value in inputs])
    known: dict[SSAValue, SSAValue] = {}
    for value, argument in zip(inputs, body.args, strict=True):
        argument.name_hint = value.name_hint
        known[value] = argument
        if block.is_local(value.type):
            load = block.LoadOp(argument)
            load.result.name_hint = value.name_hint
            body.add_op(load)
            known[value] = load.result
    for op in ops:
        clone = op.clone(known)
        body.add_op(clone)
        known.update(zip(op.results, clone.results, strict=True))
    yields: list[SSAValue] = []
    for value in wanted:
        item = known[value]
        if block.is_local(value.type):
            store = block.StoreOp(item)
            store.result.name_hint = value.name_hint
            body.add_op(store)
            item = store.result
        yields.append(item)
    body.add_op(block.YieldOp(*yields))
    new = block.MapOp(
        nest.dim_name, [lists[value] for value in inputs], [Kind.Stack] * len(yields), Region(body)
    )
    new.attributes.update(nest.attributes)
    new.location = nest.location
    for value, result in zip(wanted, new.results, strict=True):
        result.name_hint = value.name_hint
    parent = nest.parent
    assert parent is not None
    parent.insert_op_before(new, nest)
    return new


def _element_type(value: SSAValue) -> Attribute:
    assert isinstance(value.type, block.ListType)
    return value.type.element
