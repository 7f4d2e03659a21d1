"""A program lowered to kernels for a target, whichever compiler then takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass

from ..dialects import kernel
from ..dialects.kernel import FuncOp as KernelOp
from ..lowering.choices import Choice
from ..lowering.levels import TO_KERNELS, check_kernels, remaining_passes
from ..lowering.pipelines import PassPipeline
from .interpreter import InputError, select_function

DEFAULT_ARCH = "sm_90"
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
TIERS = ("source", "ptx")


@dataclass(frozen=True)
class CudaOptions:
    """How kernels for a GPU are compiled and, on the emulator, run.

    `arch` is the architecture that NVRTC compiles for; None for that of the device at hand, and `sm_90` where
    there is none. `tier` says what the emulator runs: the `source`, or the `ptx` that NVRTC makes of it. With
    `check` it looks at every access to memory, and finds races. `seed` gives the order in which threads run;
    None for the same order always. With `tf32` contractions of f32 multiply on tensor cores, which round
    their operands to 10 bits of fraction: a product is off by a 1,000th of it at most. Sums are in f32.
    """

    arch: str | None = None
    tier: str = "source"
    check: bool = False
    seed: int | None = None
    profile: bool = False
    tf32: bool = False

    def __post_init__(self) -> None:
        if self.arch is not None and self.arch not in ARCHITECTURES:
            raise InputError(f"there is no architecture '{self.arch}'; there are: {', '.join(ARCHITECTURES)}")
        if self.tier not in TIERS:
            raise InputError(f"the emulator has no tier '{self.tier}'; there are: {', '.join(TIERS)}")


@dataclass(frozen=True)
class CompileOptions:
    """How a program was compiled; with its text, all that another process needs to do it again."""

    entry: str | None = None
    pipeline: str | None = None
    sanitize: tuple[str, ...] = ()
    use_cache: bool = True
    counting: bool = False
    """Whether the kernels count what they load and store; see `KernelLibrary.counts`."""
    profiling: bool = False
    """Whether the kernels tell where their time goes; see `KernelLibrary.profiler`."""
    choice: Choice | None = None
    """How to fuse and cut the program, where no pipeline says it; None for the default."""
    target: str = "cpu"
    cuda: CudaOptions = CudaOptions()


DEFAULT_OPTIONS = CompileOptions()


class LoweredProgram:
    """The kernels of a program: of one function of it, or of all."""

    def __init__(self, program: ModuleOp, options: CompileOptions, pipeline_target: str):
        self.options = options
        self.given = program.clone()
        """The program before the passes."""
        if options.entry is not None:
            select_function(self.given, options.entry)
            keep_only(self.given, options.entry)
        self.module = self.given.clone()
        self.blocks: ModuleOp | None = None
        """The block program that the kernels were made from; None where the program was kernels already."""
        self.passes = passes_for(self.given, options.pipeline, options.choice, pipeline_target)
        if options.cuda.tf32:
            self.passes = _in_tf32(self.passes, options)
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


def passes_for(
    program: ModuleOp, pipeline: str | None, choice: Choice | None = None, target: str = "cpu"
) -> tuple[ModulePass, ...]:
    """The passes that make kernels of a program: those of a pipeline, or what is left of the default one, or
    of what a choice makes of that.

    Raises PipelineError, and what the passes raise.
    """
    if pipeline is not None:
        return PassPipeline(pipeline).passes
    return remaining_passes(program, target, None if choice is None else choice.passes())


def _in_tf32(passes: tuple[ModulePass, ...], options: CompileOptions) -> tuple[ModulePass, ...]:
    """The passes, but contractions of f32 may multiply in tf32. Raises InputError where no pass decides."""
    from ..lowering.block_to_kernel import BlockToKernelPass
    from ..lowering.block_to_kernel.products import Products

    if options.target == "cpu":
        raise InputError("tf32 belongs to the targets cuda and emulator: a CPU multiplies f32 exactly")
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
    """Drop the other functions of a program, but for those that may be called."""
    if any(isinstance(op, CallOp) for op in module.walk()):
        return
    for op in list(module.body.block.ops):
        if isinstance(op, FuncOp) and op.sym_name.data != entry:
            op.detach()
            op.erase()
