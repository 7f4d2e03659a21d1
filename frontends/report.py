"""Report of an import: functions, kernels, what is not compiled, memory and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .shared.errors import Problem


@dataclass(frozen=True)
class Row:
    """A function of the model, and the layers that call it."""

    function: str
    layers: tuple[str, ...]
    kernels: int
    seconds: float


@dataclass(frozen=True)
class Report:
    """Result of an import; `print` shows it as a table."""

    rows: Sequence[Row]
    problems: Sequence[Problem]
    """Operations that are not compiled and run in the model's own framework, with places and reasons."""
    weight_bytes: int
    """Bytes of all weights, each counted once, before they are packed."""
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """Time of each stage: `import`, `compile`, `bind`."""

    @property
    def kernels(self) -> int:
        """Kernels that one call of the model launches."""
        return sum(row.kernels * len(row.layers) for row in self.rows)

    def __str__(self) -> str:
        width = max([8, *(len(row.function) for row in self.rows)])
        lines = [f"{'function':{width}}  calls  kernels  compiled in"]
        lines += [
            f"{row.function:{width}}  {len(row.layers):5}  {row.kernels:7}  {row.seconds:9.2f} s"
            for row in self.rows
        ]
        lines.append(f"{self.kernels} kernels a call, {self.weight_bytes / 1e6:.1f} MB of weights")
        if self.seconds:
            lines.append(", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in self.seconds.items()))
        lines += [f"not compiled: {problem}" for problem in self.problems]
        return "\n".join(lines)
