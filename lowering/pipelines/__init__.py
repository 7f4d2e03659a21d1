"""The passes by name, and pipelines of passes that verify the program after every step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ...dialects.context import make_context
from ...dialects.diagnostics import OpError, did_you_mean, one_sentence
from ...dialects.verification import verify
from ...passes.rules import register_rule
from .text import PassFactory, PipelineError, parse_pipeline

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


_BUILT_IN = {
    "array-decompose": "bb.passes.array.decompose:ArrayDecomposePass",
    "array-inline-indices": "bb.passes.array.inline_indices:ArrayInlineIndicesPass",
    "array-simplify-contractions": ("bb.passes.array.simplify_contractions:ArraySimplifyContractionsPass"),
    "array-simplify-views": "bb.passes.array.simplify_views:ArraySimplifyViewsPass",
    "array-to-block": "bb.lowering.array_to_block:ArrayToBlockPass",
    "block-apply": "bb.passes.block.apply:BlockApplyPass",
    "block-cost": "bb.passes.block.cost:BlockCostPass",
    "block-distribute": "bb.passes.block.distribute:BlockDistributePass",
    "block-fuse": "bb.passes.block.fuse:BlockFusePass",
    "block-fuse-elementwise": "bb.passes.block.fuse_elementwise:BlockFuseElementwisePass",
    "block-mask-remainders": "bb.passes.block.mask_remainders:BlockMaskRemaindersPass",
    "block-stabilize": "bb.passes.block.stabilize:BlockStabilizePass",
    "block-select": "bb.passes.block.select:BlockSelectPass",
    "block-shapes": "bb.passes.block.shapes:BlockShapesPass",
    "block-to-kernel": "bb.lowering.block_to_kernel:BlockToKernelPass",
    "block-traffic": "bb.passes.block.traffic:BlockTrafficPass",
    "canonicalize": "xdsl.transforms.canonicalize:CanonicalizePass",
    "cse": "xdsl.transforms.common_subexpression_elimination:CommonSubexpressionElimination",
    "dce": "xdsl.transforms.dead_code_elimination:DeadCodeElimination",
    "kernel-fuse-sweeps": "bb.passes.kernel.fuse_sweeps:KernelFuseSweepsPass",
    "kernel-hoist": "bb.passes.kernel.hoist:KernelHoistPass",
    "kernel-scale-operands": "bb.passes.kernel.scale_operands:KernelScaleOperandsPass",
    "kernel-pack-constants": "bb.passes.kernel.pack_constants:KernelPackConstantsPass",
    "kernel-in-place": "bb.passes.kernel.in_place:KernelInPlacePass",
    "kernel-place-cuda": "bb.passes.kernel.place_cuda:KernelPlaceCudaPass",
    "kernel-traffic": "bb.passes.kernel.traffic:KernelTrafficPass",
    "kernel-speculate": "bb.passes.kernel.speculate:KernelSpeculatePass",
    "kernel-split-loops": "bb.passes.kernel.split_loops:KernelSplitLoopsPass",
}
"""The module and the class of each pass. A new pass is one row."""


def _built_in(path: str) -> PassFactory:
    """Return a factory that imports a pass from `module:Class` when it is called."""
    module, _, name = path.partition(":")
    return lambda: getattr(import_module(module), name)


ALL_PASSES: dict[str, PassFactory] = {name: _built_in(path) for name, path in _BUILT_IN.items()}
"""Every known pass; a factory imports its pass's module when called."""

PIPELINES: dict[str, str] = {
    "cpu": "array-decompose,array-simplify-contractions,array-simplify-views,array-inline-indices,"
    "array-to-block,block-shapes,"
    "block-fuse{extend=false},block-stabilize,block-fuse-elementwise,block-distribute,block-to-kernel,"
    "kernel-speculate,kernel-hoist,kernel-scale-operands,kernel-fuse-sweeps,kernel-in-place,kernel-pack-constants",
    "cpu-unfused": "array-decompose,array-to-block,block-shapes,block-to-kernel,kernel-hoist,"
    "kernel-fuse-sweeps,kernel-in-place,kernel-pack-constants",
    "cuda": "array-decompose,array-simplify-contractions,array-simplify-views,array-inline-indices,"
    "array-to-block,"
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
    "dce": "Remove operations whose results are not used.",
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
