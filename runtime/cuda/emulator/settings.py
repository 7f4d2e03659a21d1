"""The settings of a launch."""

from __future__ import annotations

from dataclasses import dataclass

SCHEDULES = ("fifo", "lifo", "random", "pct")


@dataclass(frozen=True)
class LaunchSettings:
    """Settings of a launch: order of threads, checks, and time limit.

    `schedule` is one of `SCHEDULES`; `seed` matters for the last two. `time_limit` is in seconds of CPU time.
    """

    schedule: str = "fifo"
    seed: int = 0
    profile: bool = False
    flush_denormals: bool = True
    max_findings: int = 20
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(f"there is no schedule {self.schedule!r}, only {', '.join(SCHEDULES)}")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed {self.seed} is not from 0 to 2^63 - 1")
        if not 0 < self.time_limit <= 1e6:
            raise ValueError(f"a time limit of {self.time_limit} s is not from 0 to 1,000,000")
