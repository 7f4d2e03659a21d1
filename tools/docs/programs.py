"""Facts about programs for generated pages: their fused forms, and the arrays that a fused form moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects import block
from ...lowering.frontends.mlir_text import parse
from ...lowering.pipelines import PassPipeline

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TO_BLOCKS = "array-decompose,array-to-block"


def compiled(name: str, passes: str) -> ModuleOp:
    """An example after some passes."""
    return PassPipeline(passes).run(parse(EXAMPLES / f"{name}.mlir"))


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that are block programs."""
    return [op for op in module.ops if isinstance(op, FuncOp) and block.DIMS in op.attributes]


@dataclass(frozen=True)
class Moved:
    """The arrays whose blocks a program loads and stores, and the lists that it both makes and reads."""

    loaded: tuple[str, ...]
    stored: tuple[str, ...]
    lists: tuple[str, ...]


def moved_arrays(function: FuncOp) -> Moved:
    """Follow every load to the array that it reads and every store to the array that it writes, by names."""
    loaded: dict[str, None] = {}
    stored: dict[str, None] = {}
    lists: dict[str, None] = {}
    for op in function.walk():
        if isinstance(op, block.LoadOp | block.ReduceOp):
            for name, is_array in _sources(op.operands[0]):
                (loaded if is_array else lists)[name] = None
        elif isinstance(op, block.StoreOp):
            stored |= dict.fromkeys(_targets(op.result))
    return Moved(tuple(loaded), tuple(stored), tuple(lists))


def _sources(value: SSAValue) -> Iterator[tuple[str, bool]]:
    """The names of the arrays (true) or of the lists from nests (false) that a value is an element of."""
    owner = value.owner
    if isinstance(owner, Block):
        assert isinstance(value, BlockArgument)
        user = owner.parent_op()
        if isinstance(user, block.MapOp):
            yield from _sources(user.inputs[value.index])
        else:
            yield value.name_hint or f"arg{value.index}", True
    elif isinstance(owner, block.MapOp | block.StoreOp):
        yield value.name_hint or "a list", False
    else:  # a partition, a view, or an operator on arrays
        for operand in owner.operands:
            yield from _sources(operand)


def _targets(value: SSAValue) -> Iterator[str]:
    """The names of the arrays that a stored item becomes a part of."""
    for use in value.uses:
        user: Operation = use.operation
        if isinstance(user, block.AssembleOp):
            yield user.result.name_hint or "out"
        elif isinstance(user, block.YieldOp):
            maker = user.parent_op()
            assert isinstance(maker, block.MapOp)
            yield from _targets(maker.results[use.index])
