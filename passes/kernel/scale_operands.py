"""`kernel-scale-operands`: moves a constant factor of a contraction's result to its left operand.

c·(a·b) = (c·a)·b. In an attention the left operand of the scores is packed once for all blocks of keys. The
scale of the logits costs nothing there, and the maximum is taken of the scores as the contraction wrote them.
Each product gets one more rounding, of the size of those that the contraction has anyway (none if c is a
power of two). c is at most 1, so that nothing new overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, ModuleOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects import kernel
from ...dialects.scalar_builder import ScalarBuilder
from ..analysis.items import constant_of


@dataclass(frozen=True)
class KernelScaleOperandsPass(ModulePass):
    """Multiply left operands of contractions, once, by what multiplies the results in every iteration."""

    name = "kernel-scale-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for contraction in [inner for inner in op.walk() if isinstance(inner, kernel.ContractOp)]:
            scale_operand(contraction)


def scale_operand(contraction: kernel.ContractOp) -> bool:
    """Move the factor of one contraction; return True if it has one that can move."""
    tile, result = contraction.lhs, contraction.accumulator
    load = _only_writer(tile)
    if not isinstance(load, kernel.LoadOp) or kernel.readers(tile) != [contraction]:
        return False
    if load.parent is contraction.parent or not isinstance(tile.type, kernel.TileType):
        return False  # the operand is not used again, so that nothing would be gained
    if not isinstance(tile.type.element_type, Float32Type | Float64Type):
        return False  # it would be rounded to 16 bits once more
    if contraction.accumulates or contraction.scale is not None or _only_writer(result) is not contraction:
        return False
    products: list[arith.MulfOp] = []
    for reader in kernel.readers(result):
        found = _products(reader, result)
        if found is None:
            return False
        products += found
    factors = {constant_of(product.lhs) or constant_of(product.rhs) for product in products}
    factor = factors.pop() if len(factors) == 1 else None
    if factor is None or not 0 < factor <= 1:
        return False
    for product in products:
        kept = product.rhs if constant_of(product.lhs) is not None else product.lhs
        product.result.replace_all_uses_with(kept)
        product.detach()
        product.erase()
    _scale(load, tile, tile.type, factor)
    for reader in kernel.readers(result):
        if isinstance(reader, kernel.SweepOp):
            _drop_copy(reader)
    return True


def _only_writer(tile: SSAValue) -> Operation | None:
    writers = kernel.writers(tile)
    return writers[0] if len(writers) == 1 else None


def _products(reader: Operation, tile: SSAValue) -> list[arith.MulfOp] | None:
    """The multiplications by a constant, if a sweep does nothing else with a tile; else None."""
    if not isinstance(reader, kernel.SweepOp) or tile in reader.outputs:
        return None
    found: list[arith.MulfOp] = []
    for value, argument in zip(reader.inputs, reader.body.block.args, strict=True):
        if value is not tile:
            continue
        for use in argument.uses:
            product = use.operation
            if not isinstance(product, arith.MulfOp):
                return None
            if constant_of(product.lhs) is None and constant_of(product.rhs) is None:
                return None
            found.append(product)
    return found


def _scale(load: kernel.LoadOp, tile: SSAValue, type: kernel.TileType, factor: float) -> None:
    """Multiply a tile by a factor directly after its load."""
    body = kernel.scalar_block([tile])
    body.args[0].name_hint = tile.name_hint
    scalars = ScalarBuilder(Builder(InsertPoint.at_end(body)))
    product = scalars.multiply(body.args[0], scalars.constant(factor, type.element_type))
    body.add_op(kernel.YieldOp(product))
    parent = load.parent
    assert parent is not None
    parent.insert_op_after(
        kernel.SweepOp(type.dims, [tile], [(kernel.Output.Each, tile)], Region(body)), load
    )


def _drop_copy(sweep: kernel.SweepOp) -> None:
    """Remove a sweep that only copies a tile to another of its type, where either would do."""
    if len(sweep.inputs) != 1 or sweep.output_kinds != (kernel.Output.Each,):
        return
    (source,), (target,) = sweep.inputs, sweep.outputs
    if sweep.yield_op.arguments[0] is not sweep.body.block.args[0] or source.type != target.type:
        return
    if kernel.readers(source) != [sweep] or _only_writer(target) is not sweep:
        return
    sweep.detach()
    sweep.erase()
    target.replace_all_uses_with(source)
