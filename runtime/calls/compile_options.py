"""Options of compiled programs, as callers give them and pickled executables keep them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:  # what only interprets programs need not wait for it
    from ...lowering.pipelines.choices import Choice

DEFAULT_ARCH = "sm_90"
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
TIERS = ("source", "ptx")


@dataclass(frozen=True)
class CudaOptions:
    """Options of kernels for a GPU: how they are compiled and, on the emulator, run.

    `arch` is the architecture that NVRTC compiles for; None for that of the current device, and `sm_90` if
    there is none. `tier` selects what the emulator runs: the `source`, or the `ptx` that NVRTC makes of it.
    With `check` it checks every access to memory, and finds races. `seed` gives the order in which threads
    run; None for the same order always. With `tf32` contractions of f32 multiply on tensor cores, which round
    their operands to 10 bits of fraction: the error of a product is at most a 1,000th of it. Sums are in f32.
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
    """Options that a program was compiled with: together with its text, all that another process needs."""

    entry: str | None = None
    pipeline: str | None = None
    sanitize: tuple[str, ...] = ()
    use_cache: bool = True
    counting: bool = False
    """True if the kernels count what they load and store; see `KernelLibrary.counts`."""
    profiling: bool = False
    """True if the kernels are built with timers between statements; see `KernelLibrary.profiler`."""
    choice: Choice | None = None
    """Fusion and block sizes of the program, if no pipeline decides them; None for the default."""
    target: str = "cpu"
    cuda: CudaOptions = CudaOptions()


DEFAULT_OPTIONS = CompileOptions()
