"""The outcome of one emulated launch: findings, and counts of what the kernel did."""

from __future__ import annotations

from dataclasses import dataclass

from .findings import Finding, SourceLocation


@dataclass(frozen=True)
class Counters:
    """Number of events of each kind in the whole launch.

    Barriers are counted once for a block, operations of a warp once for a warp, cp.async and atomics once for
    a thread, bulk copies (TMA) once each, wgmma once for a warpgroup. `votes` includes match and reduce;
    `switches` is the emulator's own work.
    """

    mma: int = 0
    ldmatrix: int = 0
    stmatrix: int = 0
    barriers: int = 0
    named_barriers: int = 0
    shuffles: int = 0
    votes: int = 0
    syncwarps: int = 0
    cp_async: int = 0
    atomics: int = 0
    mbarrier_phases: int = 0
    bulk_copies: int = 0
    wgmma: int = 0
    switches: int = 0


WIDTHS = (1, 2, 4, 8, 16)
"""Widths of accesses, in bytes."""


@dataclass(frozen=True)
class BufferTraffic:
    """Traffic of one buffer in global memory.

    Bytes are as the threads asked for them and counted in check mode; requests (of a warp) and sectors (of 32
    bytes) with the profile. `never_written` counts bytes of a buffer that was undefined at entry.

    `load_widths` and `store_widths` are bytes as warps asked for them, by the width of their accesses (see
    `WIDTHS`); what several lanes ask for at the same time counts once.
    """

    name: str
    size: int
    bytes_read: int = 0
    bytes_written: int = 0
    load_requests: int = 0
    load_sectors: int = 0
    store_requests: int = 0
    store_sectors: int = 0
    never_written: int = 0
    load_widths: tuple[int, ...] = (0,) * len(WIDTHS)
    store_widths: tuple[int, ...] = (0,) * len(WIDTHS)

    @property
    def bytes_loaded(self) -> int:
        """The bytes that warps asked for; with the profile."""
        return sum(self.load_widths)

    @property
    def bytes_stored(self) -> int:
        """The bytes that warps wrote; with the profile."""
        return sum(self.store_widths)


class _Passes:
    """Requests to shared memory: the passes that they took, and how few they could have taken."""

    passes: int
    ideal_passes: int

    @property
    def conflict_factor(self) -> float:
        """Passes for each ideal pass: 1 without bank conflicts."""
        return self.passes / self.ideal_passes if self.ideal_passes else 1.0


@dataclass(frozen=True)
class SharedTraffic(_Passes):
    """Traffic of shared memory, and its distribution over the 32 banks.

    A request of a warp takes passes; `ideal_passes` is how many it would take without bank conflicts. The
    model (groups of lanes that ask for 128 bytes) has not been compared with a GPU's counters.
    """

    static_bytes: int = 0
    dynamic_bytes: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    requests: int = 0
    passes: int = 0
    ideal_passes: int = 0


@dataclass(frozen=True)
class LineTraffic(_Passes):
    """Counts of one line of the source over the whole launch; with the profile.

    Requests and passes are those of shared memory (see `SharedTraffic`), `mma` is once for a warp.
    """

    location: SourceLocation | None
    mma: int = 0
    requests: int = 0
    passes: int = 0
    ideal_passes: int = 0


@dataclass(frozen=True)
class LaunchReport:
    """The outcome of a launch. Counts are zero where the launch did not run to its end."""

    kernel: str
    findings: tuple[Finding, ...]
    finished: bool
    counters: Counters
    buffers: tuple[BufferTraffic, ...]
    shared: SharedTraffic
    output: str
    schedule: str
    seed: int
    lines: tuple[LineTraffic, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the kernel ran to its end without findings."""
        return self.finished and not self.findings

    def buffer(self, name: str) -> BufferTraffic:
        """The traffic of a buffer. Raises KeyError."""
        for traffic in self.buffers:
            if traffic.name == name:
                return traffic
        raise KeyError(name)
