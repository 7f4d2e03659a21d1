"""Kernels with CuPy's calling convention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .arguments import pack_arguments
from .errors import EmulationError
from .launch import run_launch
from .program import KernelSignature, Program
from .report import LaunchReport
from .settings import LaunchSettings
from .variables import ModuleVariables

STATIC_SHARED_LIMIT = 48 * 1024
"""Shared memory in bytes that a block may have without asking for more."""
SHARED_LIMIT = 227 * 1024
"""Shared memory in bytes that a block may have on the largest devices."""


class EmulatedKernel:
    """A kernel of an emulated program, called as one of CuPy; `launch` has options and a report."""

    def __init__(
        self,
        program: Callable[[], Program],
        name: str,
        settings: LaunchSettings,
        variables: ModuleVariables | None = None,
        shared_limit: int = SHARED_LIMIT,
    ):
        self._program = program
        self._settings = settings
        self._variables = variables if variables is not None else ModuleVariables(program)
        self.name = name
        self.shared_limit = shared_limit
        """Bytes of shared memory that a block may have at most."""
        self._max_dynamic = STATIC_SHARED_LIMIT
        self.signature: KernelSignature = program().kernels[name]

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """The limit of dynamic shared memory, which on a GPU has to be raised for more than 48 KiB."""
        return self._max_dynamic

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        if not 0 <= size <= self.shared_limit:
            whose = "any device" if self.shared_limit == SHARED_LIMIT else "a block of this architecture"
            raise ValueError(
                f"{size} bytes of dynamic shared memory are more than {whose} has ({self.shared_limit})"
            )
        self._max_dynamic = size

    def __call__(
        self, grid: Sequence[int], block: Sequence[int], args: Sequence[object], shared_mem: int = 0
    ) -> None:
        """Launch the kernel: what it writes is then in the numpy arrays among `args`.

        Raises EmulationError where the kernel did something wrong, and what `launch` raises.
        """
        report = self.launch(grid, block, args, shared_mem)
        if not report.ok:
            raise EmulationError(report)

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[object],
        shared_mem: int = 0,
        *,
        schedule: str | None = None,
        seed: int | None = None,
        profile: bool | None = None,
        names: Sequence[str] = (),
        undefined: Sequence[int] = (),
        time_limit: float | None = None,
        max_findings: int | None = None,
    ) -> LaunchReport:
        """Launch the kernel and report on it; findings are in the report, not raised.

        `names` are what messages call the arguments. `undefined` are indices of arrays whose contents at
        entry mean nothing: they are filled with 0xff, and reading what was not written is a finding in check
        mode. `time_limit` is in seconds of CPU time. Raises ValueError or TypeError for a launch that no
        device would take, HostCompilerError where the program cannot be run.
        """
        settings = self._settings
        if schedule is not None:
            settings = replace(settings, schedule=schedule)
        if seed is not None:
            settings = replace(settings, seed=seed)
        if profile is not None:
            settings = replace(settings, profile=profile)
        if time_limit is not None:
            settings = replace(settings, time_limit=time_limit)
        if max_findings is not None:
            settings = replace(settings, max_findings=max_findings)
        grid3, block3 = _extents("grid", grid), _extents("block", block)
        _check_limits(grid3, block3)
        if not 0 <= shared_mem <= self._max_dynamic:
            raise ValueError(
                f"{shared_mem} bytes of dynamic shared memory are above the kernel's limit of "
                f"{self._max_dynamic}: set max_dynamic_shared_size_bytes"
            )
        signature = self._signature_for(args)
        arguments = pack_arguments(signature, args, names, undefined)
        return run_launch(
            self._program(),
            signature,
            grid3,
            block3,
            arguments,
            shared_mem,
            settings,
            self._variables.addressed(),
        )

    def _signature_for(self, args: Sequence[object]) -> KernelSignature:
        """The signature by which these arguments are passed."""
        return self.signature


def _extents(what: str, extents: Sequence[int]) -> tuple[int, int, int]:
    whole = [int(extent) for extent in extents]
    if not 1 <= len(whole) <= 3 or min(whole) < 1:
        raise ValueError(f"a {what} has one to three positive extents, not {tuple(extents)}")
    x, y, z = [*whole, 1, 1][:3]
    return x, y, z


def _check_limits(grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    threads = block[0] * block[1] * block[2]
    if threads > 1024 or block[2] > 64:
        raise ValueError(f"a block has at most 1,024 threads, and 64 along z, not {block}")
    if grid[0] >= 2**31 or grid[1] > 65535 or grid[2] > 65535:
        raise ValueError(f"a grid has at most 2^31 - 1 blocks along x and 65,535 along y and z, not {grid}")
    if grid[0] * grid[1] * grid[2] * threads >= 2**32:
        raise ValueError(f"the emulator runs fewer than 2^32 threads, not a grid {grid} of blocks {block}")
