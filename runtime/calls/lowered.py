"""A program lowered to kernels for a target, before it is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass

from ...dialects import kernel
from ...dialects.kernel import FuncOp as KernelOp
from ...lowering.pipelines import PassPipeline
from ...lowering.pipelines.levels import TO_KERNELS, check_kernels, remaining_passes
from ..errors import InputError
from ..program.functions import select_function
from .compile_options import CompileOptions


class LoweredProgram:
    """The kernels of a program: of one function of it, or of all.

    `pipeline` is the target's: the passes from arrays to kernels, where the options have none.
    """

    def __init__(self, program: ModuleOp, options: CompileOptions, pipeline: str):
        self.options = options
        self.given = program.clone()
        """The program before the passes."""
        if options.entry is not None:
            select_function(self.given, options.entry)
            keep_only(self.given, options.entry)
        self.module = self.given.clone()
        self.blocks: ModuleOp | None = None
        """The block program from which the kernels were made; None if the program was given as kernels."""
        self.passes = _passes_for(self.given, options, pipeline)
        if options.cuda.tf32:
            self.passes = _in_tf32(self.passes)
        PassPipeline(self.passes, callback=self._keep_blocks).run(self.module)
        if options.pipeline is not None:
            check_kernels(self.module, self.passes, options.target)

    @property
    def kernels(self) -> Sequence[KernelOp]:
        """The kernels, in order."""
        return kernel.kernels_of(self.module)

    def _keep_blocks(self, before: ModulePass | None, module: ModuleOp, after: ModulePass | None) -> None:
        if after is not None and after.name == TO_KERNELS:
            self.blocks = module.clone()


def _passes_for(program: ModuleOp, options: CompileOptions, pipeline: str) -> tuple[ModulePass, ...]:
    """Return the passes that lower a program to kernels: those of the caller's pipeline, or the remaining
    ones of the program's choice or of the target's pipeline.

    Raises PipelineError, and what the passes raise.
    """
    if options.pipeline is not None:
        return PassPipeline(options.pipeline).passes
    choice = options.choice
    return remaining_passes(program, PassPipeline(pipeline).passes if choice is None else choice.passes())


def _in_tf32(passes: tuple[ModulePass, ...]) -> tuple[ModulePass, ...]:
    """Return the passes, with contractions of f32 multiplying in tf32.

    Raises InputError if no pass has that option.
    """
    from ...lowering.block_to_kernel import BlockToKernelPass
    from ...lowering.block_to_kernel.products import Products

    lowering = [step for step in passes if isinstance(step, BlockToKernelPass)]
    if not lowering:
        raise InputError("tf32 has no meaning for a program on kernels: they say how contractions multiply")
    if any(step.multiply == Products.F32 for step in lowering):
        raise InputError("tf32 contradicts the pipeline, which says block-to-kernel{multiply=f32}")
    return tuple(
        replace(step, multiply=Products.TF32.value) if isinstance(step, BlockToKernelPass) else step
        for step in passes
    )


def keep_only(module: ModuleOp, entry: str) -> None:
    """Drop all functions of a program but one, and those that it may call."""
    if any(isinstance(op, CallOp) for op in module.walk()):
        return
    for op in list(module.body.block.ops):
        if isinstance(op, FuncOp) and op.sym_name.data != entry:
            op.detach()
            op.erase()
