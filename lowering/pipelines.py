"""The passes by name, and pipelines of passes that verify the program after every step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ..dialects.context import make_context
from ..dialects.diagnostics import OpError, did_you_mean, one_sentence
from ..dialects.verification import verify
from ..passes.rules import register_rule
from .pipeline_text import PassFactory, PipelineError, parse_pipeline

__all__ = [
    "ALL_PASSES",
    "PIPELINES",
    "Callback",
    "PassError",
    "PassPipeline",
    "PipelineError",
    "describe_pass",
    "describe_pipeline",
    "named_pipeline",
    "register_pass",
    "register_rule",
    "split_after",
]


def _array_decompose() -> type[ModulePass]:
    from ..passes.array_decompose import ArrayDecomposePass

    return ArrayDecomposePass


def _array_inline_indices() -> type[ModulePass]:
    from ..passes.array_inline_indices import ArrayInlineIndicesPass

    return ArrayInlineIndicesPass


def _array_simplify_views() -> type[ModulePass]:
    from ..passes.array_simplify_views import ArraySimplifyViewsPass

    return ArraySimplifyViewsPass


def _array_to_block() -> type[ModulePass]:
    from .array_to_block import ArrayToBlockPass

    return ArrayToBlockPass


def _block_apply() -> type[ModulePass]:
    from ..passes.block_apply import BlockApplyPass

    return BlockApplyPass


def _block_cost() -> type[ModulePass]:
    from ..passes.block_cost import BlockCostPass

    return BlockCostPass


def _block_distribute() -> type[ModulePass]:
    from ..passes.block_distribute import BlockDistributePass

    return BlockDistributePass


def _block_fuse() -> type[ModulePass]:
    from ..passes.fuse import BlockFusePass

    return BlockFusePass


def _block_fuse_elementwise() -> type[ModulePass]:
    from ..passes.block_fuse_elementwise import BlockFuseElementwisePass

    return BlockFuseElementwisePass


def _block_mask_remainders() -> type[ModulePass]:
    from ..passes.block_mask_remainders import BlockMaskRemaindersPass

    return BlockMaskRemaindersPass


def _block_stabilize() -> type[ModulePass]:
    from ..passes.block_stabilize import BlockStabilizePass

    return BlockStabilizePass


def _block_select() -> type[ModulePass]:
    from ..passes.block_select import BlockSelectPass

    return BlockSelectPass


def _block_shapes() -> type[ModulePass]:
    from ..passes.block_shapes import BlockShapesPass

    return BlockShapesPass


def _block_to_kernel() -> type[ModulePass]:
    from .block_to_kernel import BlockToKernelPass

    return BlockToKernelPass


def _block_traffic() -> type[ModulePass]:
    from ..passes.block_traffic import BlockTrafficPass

    return BlockTrafficPass


def _canonicalize() -> type[ModulePass]:
    from xdsl.transforms.canonicalize import CanonicalizePass

    return CanonicalizePass


def _cse() -> type[ModulePass]:
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

    return CommonSubexpressionElimination


def _dce() -> type[ModulePass]:
    from xdsl.transforms.dead_code_elimination import DeadCodeElimination

    return DeadCodeElimination


def _kernel_fuse_sweeps() -> type[ModulePass]:
    from ..passes.kernel_fuse_sweeps import KernelFuseSweepsPass

    return KernelFuseSweepsPass


def _kernel_scale_operands() -> type[ModulePass]:
    from ..passes.kernel_scale_operands import KernelScaleOperandsPass

    return KernelScaleOperandsPass


def _kernel_traffic() -> type[ModulePass]:
    from ..passes.kernel_traffic import KernelTrafficPass

    return KernelTrafficPass


def _kernel_hoist() -> type[ModulePass]:
    from ..passes.kernel_hoist import KernelHoistPass

    return KernelHoistPass


def _kernel_pack_constants() -> type[ModulePass]:
    from ..passes.kernel_pack_constants import KernelPackConstantsPass

    return KernelPackConstantsPass


def _kernel_in_place() -> type[ModulePass]:
    from ..passes.kernel_in_place import KernelInPlacePass

    return KernelInPlacePass


def _kernel_split_loops() -> type[ModulePass]:
    from ..passes.kernel_split_loops import KernelSplitLoopsPass

    return KernelSplitLoopsPass


def _kernel_place_cuda() -> type[ModulePass]:
    from ..passes.kernel_place_cuda import KernelPlaceCudaPass

    return KernelPlaceCudaPass


ALL_PASSES: dict[str, PassFactory] = {
    "array-decompose": _array_decompose,
    "array-inline-indices": _array_inline_indices,
    "array-simplify-views": _array_simplify_views,
    "array-to-block": _array_to_block,
    "block-apply": _block_apply,
    "block-cost": _block_cost,
    "block-distribute": _block_distribute,
    "block-fuse": _block_fuse,
    "block-fuse-elementwise": _block_fuse_elementwise,
    "block-mask-remainders": _block_mask_remainders,
    "block-stabilize": _block_stabilize,
    "block-select": _block_select,
    "block-shapes": _block_shapes,
    "block-to-kernel": _block_to_kernel,
    "block-traffic": _block_traffic,
    "canonicalize": _canonicalize,
    "cse": _cse,
    "dce": _dce,
    "kernel-fuse-sweeps": _kernel_fuse_sweeps,
    "kernel-hoist": _kernel_hoist,
    "kernel-scale-operands": _kernel_scale_operands,
    "kernel-pack-constants": _kernel_pack_constants,
    "kernel-in-place": _kernel_in_place,
    "kernel-place-cuda": _kernel_place_cuda,
    "kernel-traffic": _kernel_traffic,
    "kernel-split-loops": _kernel_split_loops,
}
"""Every known pass; a factory imports its pass's module when called."""

PIPELINES: dict[str, str] = {
    "cpu": "array-decompose,array-simplify-views,array-inline-indices,array-to-block,block-shapes,"
    "block-fuse{extend=false},block-stabilize,block-fuse-elementwise,block-distribute,block-to-kernel,"
    "kernel-hoist,kernel-scale-operands,kernel-fuse-sweeps,kernel-in-place,kernel-pack-constants",
    "cpu-unfused": "array-decompose,array-to-block,block-shapes,block-to-kernel,kernel-hoist,"
    "kernel-fuse-sweeps,kernel-in-place,kernel-pack-constants",
    "cuda": "array-decompose,array-simplify-views,array-inline-indices,array-to-block,"
    "block-shapes{device=gpu},"
    "block-fuse{snapshot=same-work},block-stabilize,block-fuse-elementwise,block-to-kernel{lanes=cols},"
    "kernel-hoist,kernel-scale-operands,kernel-fuse-sweeps,kernel-split-loops,kernel-place-cuda",
}
"""The default pipelines, from arrays to kernels: one for each target, and what fusion is compared with."""

_PIPELINE_SUMMARIES = {
    "cpu": "From arrays to kernels for the CPU: fused, numerically stable, with block sizes.",
    "cuda": "From arrays to kernels for NVIDIA's GPUs: fused, numerically stable, their tiles placed.",
    "cpu-unfused": "The same without fusion: every operator a kernel of its own.",
}

_XDSL_PASSES = {
    "canonicalize": "Fold constants, apply each operation's own simplifications and drop dead code.",
    "cse": "Merge operations that compute the same value.",
    "dce": "Remove operations whose results nobody uses.",
}


def register_pass(cls: type[ModulePass], name: str | None = None) -> type[ModulePass]:
    """Make a pass usable by name in pipelines; returns the class, so it works as a decorator.

    ``cls`` is a frozen dataclass derived from ``xdsl.passes.ModulePass`` whose fields are the
    options. ``name``, if given, must equal ``cls.name``. Raises ValueError when the name is taken.
    """
    own = getattr(cls, "name", None)
    if not isinstance(own, str):
        raise ValueError(f"pass class '{cls.__name__}' has no attribute 'name'")
    if name is not None and name != own:
        raise ValueError(f"pass class '{cls.__name__}' is named '{own}' and cannot be registered as '{name}'")
    if own in ALL_PASSES:
        raise ValueError(f"a pass named '{own}' is registered already")
    ALL_PASSES[own] = lambda: cls
    return cls


def describe_pass(name: str) -> str:
    """One line on what a pass does: the first line of its class's docstring."""
    if name in _XDSL_PASSES:
        return _XDSL_PASSES[name]
    doc = inspect.cleandoc(ALL_PASSES[name]().__doc__ or "").partition("\n")[0]
    # A dataclass without a docstring gets its own signature as one.
    return "" if doc.startswith(f"{ALL_PASSES[name]().__name__}(") else doc


def describe_pipeline(name: str) -> str:
    """One line on what a default pipeline makes of a program."""
    return _PIPELINE_SUMMARIES[name]


def named_pipeline(name: str) -> str:
    """The text of a default pipeline. Raises PipelineError for a name that none has."""
    if name not in PIPELINES:
        known = f"; there are: {', '.join(PIPELINES)}"
        raise PipelineError(f"there is no pipeline '{name}'{did_you_mean(name, PIPELINES, known)}")
    return PIPELINES[name]


def split_after(
    passes: Sequence[ModulePass], name: str
) -> tuple[tuple[ModulePass, ...], tuple[ModulePass, ...]]:
    """The passes up to the one of that name, and those after it.

    Raises PipelineError unless there is exactly one of that name.
    """
    found = [index for index, step in enumerate(passes) if step.name == name]
    if len(found) != 1:
        listed = ", ".join(step.name for step in passes) or "none"
        what = "does not occur" if not found else f"occurs {len(found)} times"
        raise PipelineError(f"pass '{name}' {what} in the pipeline; its passes are: {listed}")
    return tuple(passes[: found[0] + 1]), tuple(passes[found[0] + 1 :])


class PassError(DiagnosticException):
    """A pass that gave up without naming an operation."""

    def __init__(self, pass_name: str, message: str):
        self.pass_name = pass_name
        super().__init__(f"pass '{pass_name}': {one_sentence(message)}")


Callback = Callable[[ModulePass | None, ModuleOp, ModulePass | None], None]
"""Called before, between and after the passes with (pass that ran, program, pass to run next)."""


class PassPipeline:
    """Passes to run one after the other, from text (``"array-decompose,cse"``) or as objects.

    Raises PipelineError for a text that cannot be understood.
    """

    def __init__(self, passes: str | Sequence[ModulePass] = (), *, callback: Callback | None = None):
        self.passes = parse_pipeline(passes, ALL_PASSES) if isinstance(passes, str) else tuple(passes)
        self.callback = callback

    def __str__(self) -> str:
        return ",".join(str(step.spec()) for step in self.passes)

    def __repr__(self) -> str:
        return f"PassPipeline({str(self)!r})"

    def run(self, module: ModuleOp, ctx: Context | None = None) -> ModuleOp:
        """Change ``module`` by every pass in turn and return it.

        The program is verified, dominance included, before the first pass and after each one. Raises
        OpError or PassError, which name the pass; any other exception of a pass gets a note that does.
        """
        context = make_context() if ctx is None else ctx
        verify(module)
        if self.callback is not None:
            self.callback(None, module, self.passes[0] if self.passes else None)
        for index, step in enumerate(self.passes, start=1):
            _run_pass(step, context, module)
            following = self.passes[index] if index < len(self.passes) else None
            if self.callback is not None:
                self.callback(step, module, following)
        return module

    def apply(self, ctx: Context, module: ModuleOp) -> None:
        """``run`` with the arguments in xDSL's order."""
        self.run(module, ctx)


def _run_pass(step: ModulePass, ctx: Context, module: ModuleOp) -> None:
    try:
        step.apply(ctx, module)
    except OpError as error:
        error.stage = error.stage or f"pass '{step.name}'"
        raise
    except DiagnosticException as error:
        raise PassError(step.name, str(error)) from error
    except Exception as error:
        error.add_note(f"while running pass '{step.name}'")
        raise
    try:
        verify(module)
    except OpError as error:
        error.stage = f"pass '{step.name}' left an invalid program"
        raise
