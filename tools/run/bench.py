"""`bb-run --bench`: times of calls, compared with the machine's limits."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ...runtime.host.timing import duration
from ...runtime.machine.limits import MachineLimits
from ...runtime.profile.work import Work


@dataclass(frozen=True)
class Measurement:
    """The times of one function, and the work it does in each of them."""

    seconds: Sequence[float]
    work: Work
    limits: MachineLimits
    double: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def lines(self) -> list[str]:
        """Return the lines that `bb-run --bench` prints."""
        rates = [f"{self.work.bytes / self.median / 1e9:.4g} GB/s"]
        if self.work.flops:
            rates.insert(0, f"{self.work.flops / self.median / 1e9:.4g} GFLOP/s")
        return [
            f"  bench: {duration(self.median)} (median of {len(self.seconds)} runs), {', '.join(rates)}",
            f"  {self._floor()}",
        ]

    def _floor(self) -> str:
        flops, bytes = self.work.flops or 0, self.work.bytes
        floor = self.limits.floor(flops, bytes, double=self.double)
        peak = self.limits.peak_double if self.double else self.limits.peak_float
        speed = self.limits.bandwidth(bytes)
        if flops / peak >= bytes / speed:
            why = f"{flops / 1e9:.4g} GFLOP at {peak / 1e9:.4g} GFLOP/s"
        else:
            why = f"{bytes / 1e6:.4g} MB at {speed / 1e9:.4g} GB/s"
        return f"floor: {duration(floor)} ({why}), which is {100 * floor / self.median:.3g}% of the median"
