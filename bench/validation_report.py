"""The figures of `cost_validation.py`: correlation of ranks, and what a choice takes over the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Measured(Protocol):
    """A way to compile a row; `role` says whose choice it is."""

    @property
    def role(self) -> str: ...
    @property
    def choice(self) -> object: ...
    @property
    def modelled(self) -> float: ...
    @property
    def measured(self) -> float | None: ...


ROLES = ("untuned", "default", "tuned", "unfused")


def report(rows: Mapping[str, Sequence[Measured]], plot: Path | None = None) -> str:
    """A table of all rows in Markdown, and the figures over all of them."""
    lines = [
        "| row | ways | best, ms | best way | Spearman | model's choice | default | tuned | unfused |",
        "| --- | --: | --: | --- | --: | --: | --: | --: | --: |",
    ]
    ranks: list[float] = []
    regrets: dict[str, list[float]] = {role: [] for role in ROLES}
    pairs: list[tuple[str, float, float]] = []
    for name, points in rows.items():
        known = [(each, each.measured) for each in points if each.measured is not None]
        best, seconds = min(known, key=lambda pair: pair[1])
        ranks.append(spearman([each.modelled for each, _ in known], [taken for _, taken in known]))
        cells: list[str] = []
        for role in ROLES:
            taken = _of(points, role)
            if taken is None and role == "untuned":
                taken = _of(points, "default")  # which the model would not leave
            cells.append("-" if taken is None else f"+{taken / seconds - 1:.1%}")
            if taken is not None:
                regrets[role].append(taken / seconds)
        lines.append(
            f"| {name} | {len(known)} | {seconds * 1e3:.4g} | {best.choice} | {ranks[-1]:.2f} | "
            + " | ".join(cells)
            + " |"
        )
        pairs += [(name, each.modelled, taken) for each, taken in known]
    lines.append("")
    every = spearman([modelled for _, modelled, _ in pairs], [taken for _, _, taken in pairs])
    lines.append(
        f"- Spearman's correlation over all {len(pairs)} points: {every:.3f}; "
        f"of the points of one row, on average: {sum(ranks) / len(ranks):.2f}"
    )
    for role, found in regrets.items():
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            lines.append(
                f"- Regret, {role}: {mean - 1:.1%} in the geometric mean, {max(found) - 1:.1%} at worst "
                f"({len(found)} rows)"
            )
    if plot is not None:
        draw(pairs, plot)
    return "\n".join(lines)


def _of(points: Sequence[Measured], role: str) -> float | None:
    """The seconds of a role; None where it was not measured."""
    for each in points:
        if each.role == role and each.measured is not None:
            return each.measured
    return None


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's correlation of ranks; ties share their mean rank."""

    def ranks(values: Sequence[float]) -> Any:
        array = np.asarray(values)
        return np.asarray([(array < value).sum() + (array == value).sum() / 2 for value in array])

    first, second = ranks(one), ranks(other)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def draw(pairs: Sequence[tuple[str, float, float]], path: Path) -> None:
    """All points: time by the model against time as measured, also relative to the best of the row."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 5.5))
    kinds = sorted({name[0] for name, _, _ in pairs})
    labels = {"A": "attention", "B": "LayerNorm, matmul", "C": "RMSNorm, SwiGLU", "D": "sweeps over rows"}
    least: dict[str, tuple[float, float]] = {}
    for name, modelled, measured in pairs:
        known = least.get(name, (math.inf, math.inf))
        least[name] = min(known[0], modelled), min(known[1], measured)
    for kind in kinds:
        own = [pair for pair in pairs if pair[0][0] == kind]
        label = labels.get(kind, kind)
        left.scatter([m * 1e3 for _, m, _ in own], [t * 1e3 for _, _, t in own], s=14, label=label)
        right.scatter(
            [m / least[n][0] for n, m, _ in own], [t / least[n][1] for n, _, t in own], s=14, label=label
        )
    for axes, what in ((left, "ms"), (right, "relative to the row's best")):
        low, high = axes.get_xlim()[0], max(axes.get_xlim()[1], axes.get_ylim()[1])
        axes.set(xscale="log", yscale="log", xlabel=f"by the model, {what}", ylabel=f"measured, {what}")
        start = max(low, 0.1) if axes is left else 1.0
        axes.plot([start, high], [start, high], color="gray", linewidth=0.8)
    left.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
