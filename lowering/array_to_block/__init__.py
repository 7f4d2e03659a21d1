"""`array-to-block`: array operations become nests of maps over lists of blocks, one nest an operation."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects import block
from ...passes.array.simplify_views import simplify_views
from .analysis import Analysis, analyse
from .axis_classes import Role
from .emit import Emitter
from .plan import make_plan
from .statistics import statistics


@dataclass(frozen=True)
class ArrayToBlockPass(ModulePass):
    """Turn each array operation into its own nest of maps over lists of blocks.

    Needs `array-decompose` first: composites, and what cannot be blocked, stay operations on arrays between
    the nests.
    """

    name = "array-to-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                lower_function(function)


def lower_function(function: FuncOp) -> None:
    """Rewrite the body of one function."""
    if block.DIMS in function.attributes:
        return  # a block program already
    simplify_views(function)
    analysis = analyse(function)
    if not analysis.iterations:
        function.attributes[block.DIMS] = block.dims_attr({})  # nothing iterates: a block program as it is
        return
    new = _lowered(function, analysis)
    if not _extents_known(new, analysis):
        # Nothing but an iota has these extents; made as an array, it tells them.
        analysis = analyse(function, opaque_iotas=True)
        new = _lowered(function, analysis)
    function.attributes[block.DIMS] = block.dims_attr(_dims(analysis, new))
    old = function.body.detach_block(0)
    function.body.add_block(new)
    old.erase(safe_erase=False)


def _lowered(function: FuncOp, analysis: Analysis) -> Block:
    """Return the new body."""
    old = function.body.block
    plan = make_plan(
        analysis, [value for op in old.ops if op in analysis.opaque for value in _outer_values(op)]
    )
    new = Block(arg_types=old.arg_types)
    for before, after in zip(old.args, new.args, strict=True):
        after.name_hint, after.location = before.name_hint, before.location
    emitter = Emitter(analysis, plan, new, dict(zip(old.args, new.args, strict=True)), statistics(old))
    nests = sorted(plan.nests.values(), key=lambda nest: analysis.order[nest.op])
    for op in old.ops:
        while nests and nests[0].op is op:
            emitter.emit(nests.pop(0))
        if op in analysis.opaque:
            _keep(op, emitter)
    return new


def _extents_known(body: Block, analysis: Analysis) -> bool:
    """True if each dim of unknown extent occurs in some array that is cut before a map iterates over
    the dim.
    """
    known = {
        dim
        for op in body.ops
        if isinstance(op, block.PartitionOp)
        for dim in _cut(op)
        if op.tensor in body.args
    }
    for op in body.ops:
        if isinstance(op, block.PartitionOp):
            known |= _cut(op)
        missing = {inner.dim_name for inner in op.walk() if isinstance(inner, block.MapOp)} - known
        if any(analysis.names.leaf(dim).extent is None for dim in missing):
            return False
    return True


def _cut(op: block.PartitionOp) -> set[str]:
    return {dim.data for axis in op.axes for dim in axis}


def _outer_values(op: Operation) -> list[SSAValue]:
    """The values of the enclosing block that an operation uses, inside its regions too."""
    inside = {value for inner in op.walk() for value in inner.results}
    inside |= {
        argument
        for inner in op.walk()
        for region in inner.regions
        for b in region.blocks
        for argument in b.args
    }
    return [value for inner in op.walk() for value in inner.operands if value not in inside]


def _keep(op: Operation, emitter: Emitter) -> None:
    """Copy an opaque operation to the new body, with arrays as operands."""
    copy = op.clone({value: emitter.array(value) for value in _outer_values(op)})
    emitter.body.add_op(copy)
    for before, after in zip(op.results, copy.results, strict=True):
        emitter.arrays[before] = after


def _dims(analysis: Analysis, body: Block) -> dict[str, block.DimAttr]:
    """The dims that a body uses, in the order in which they were met."""
    used: set[str] = set()
    for op in body.walk():
        if isinstance(op, block.MapOp | block.DimScalarOp):
            used.add(op.dim_name)
        elif isinstance(op, block.ViewOp):
            used.update(dim.data for axis in op.axes for dim in axis)
    return {name: _dim(analysis, name) for name in sorted(used, key=analysis.names.position)}


def _dim(analysis: Analysis, name: str) -> block.DimAttr:
    leaf = analysis.names.leaf(name)
    blocking = block.Blocking.Batch if leaf.role is Role.Batch else block.Blocking.Blocked
    return block.DimAttr(block.UNKNOWN if leaf.extent is None else leaf.extent, 0, blocking)
