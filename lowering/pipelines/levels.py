"""Level of a program on its way to kernels, and the passes that are still to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass

from ...dialects import block, kernel
from ...dialects.block import is_stabilized
from . import PipelineError, split_after

TO_BLOCKS = "array-to-block"
STABILIZED = "block-stabilize"
SHAPES = "block-shapes"
TO_KERNELS = "block-to-kernel"


def functions_of(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a program that have a body."""
    return (op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration)


def is_launcher(function: FuncOp) -> bool:
    """True if a function launches kernels."""
    return any(isinstance(op, kernel.LaunchOp) for op in function.walk())


def is_block_program(function: FuncOp) -> bool:
    """True if a function has operations on blocks: those that `block-to-kernel` turns into kernels."""
    return any(op.name.startswith("block.") for op in function.walk())


def remaining_passes(module: ModuleOp, passes: tuple[ModulePass, ...]) -> tuple[ModulePass, ...]:
    """Return what is left of the passes from arrays to kernels for a program: none if it is kernels already.

    A block program goes in after `array-to-block`, a stabilised one after `block-stabilize`.
    """
    _, to_kernels = split_after(passes, TO_BLOCKS)
    functions = list(functions_of(module))
    if not any(is_block_program(function) or is_launcher(function) for function in functions):
        return passes
    blocks = [function for function in functions if is_block_program(function)]
    if not blocks:
        return ()
    return split_after(to_kernels, STABILIZED)[1] if all(map(is_stabilized, blocks)) else to_kernels


def check_kernels(module: ModuleOp, passes: Sequence[ModulePass], target: str) -> None:
    """Raise PipelineError where passes that a user chose leave something that is no launch of kernels."""
    for function in functions_of(module):
        missing = _missing(function, {step.name for step in passes})
        if missing:
            kind = "blocks" if is_block_program(function) else "arrays"
            verb = "is" if len(missing) == 1 else "are"
            raise PipelineError(
                f"the passes leave @{function.sym_name.data} a program on {kind}, but the target {target} "
                f"runs kernels: {_listed(missing)} {verb} missing at the end"
            )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _missing(function: FuncOp, ran: set[str]) -> list[str]:
    if is_block_program(function):
        dims = block.parse_dims(function.attributes[block.DIMS]).values()
        sized = all(dim.block_size is not None or dim.is_whole or dim.is_batch for dim in dims)
        return [TO_KERNELS] if sized else [SHAPES, TO_KERNELS]
    # What array-to-block leaves on arrays has no other form; it declares dims even where there are none.
    done = is_launcher(function) or block.DIMS in function.attributes or TO_BLOCKS in ran
    on_arrays = any(not isinstance(op, ReturnOp) for op in function.body.ops)
    return [TO_BLOCKS, SHAPES, TO_KERNELS] if on_arrays and not done else []
