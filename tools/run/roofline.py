"""Profiles as a roofline plot: arithmetic a second over arithmetic a byte, under the machine's ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from math import atan2, degrees
from pathlib import PurePath
from typing import Any

from ...lowering.emit.cpp import Category
from ...passes.text.output import os_reason
from ...runtime.machine.limits import MachineLimits
from ...runtime.profile.records import KernelTime
from ...runtime.profile.report import Profile
from ..shared.files import ToolError

Axes = Any
"""Axes of matplotlib, which need not be installed."""

FORMATS = ("png", "svg", "pdf")
_MARKERS = "osD^vP<>X*h"
_APART = 1.5
"""Factor by which another level of memory must be faster for its line to be named, too."""


def check_plot(path: str) -> None:
    """Raise ToolError where a plot could not be drawn to a file of that name."""
    if PurePath(path).suffix.removeprefix(".").lower() not in FORMATS:
        raise ToolError(f"--roofline writes files that end in .{', .'.join(FORMATS)}, not '{path}'")
    if find_spec("matplotlib") is None:
        raise ToolError("--roofline needs matplotlib, which is not installed: pip install '.[plot]'")


def draw_roofline(profiles: Sequence[Profile], path: str) -> None:
    """Draw a mark for each kernel, and a hollow one for its contractions alone, while they run.

    A kernel without contractions is placed by the operations of its sweeps. Raises ToolError.
    """
    check_plot(path)
    try:
        matplotlib: Any = import_module("matplotlib")
        matplotlib.use("Agg")
        plt: Any = import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ToolError(f"--roofline needs matplotlib, which cannot be imported: {error}") from error
    kernels = [
        (f"@{profile.function}: {kernel.name}", kernel)
        for profile in profiles
        for kernel in profile.kernels
        if kernel.intensity
    ]
    if not kernels:
        raise ToolError("--roofline has nothing to draw: no kernel computes anything")
    figure: Any
    axes: Any
    figure, axes = plt.subplots(figsize=(9, 6))
    for index, (name, kernel) in enumerate(kernels):
        _place(axes, name, kernel, _MARKERS[index % len(_MARKERS)], f"C{index % 10}")
    intensities = [kernel.intensity for _, kernel in kernels]
    limits = profiles[0].limits
    types = {part.statement.type for _, kernel in kernels for part in kernel.statements if part.flops}
    _ceilings(axes, limits, sorted(types), [kernel.bytes for _, kernel in kernels], intensities)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("flop/byte: arithmetic for each byte of the arrays that a kernel reads and writes")
    axes.set_ylabel("GFLOP/s")
    axes.grid(which="major", linewidth=0.3)
    threads = profiles[0].threads
    axes.set_title(
        f"Roofline of this machine with {threads} thread{'s' if threads > 1 else ''}: filled are kernels, "
        "hollow their contractions while they run",
        fontsize=9,
    )
    # Below the picture, so that it hides nothing.
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    try:
        figure.savefig(path, dpi=150, bbox_inches="tight")
    except OSError as error:
        raise ToolError(f"cannot write '{path}': {os_reason(error)}") from error
    finally:
        plt.close(figure)


def _place(axes: Axes, name: str, kernel: KernelTime, marker: str, color: str) -> None:
    rate = kernel.arithmetic / kernel.seconds / 1e9
    label = f"{name}: {rate:.4g} GFLOP/s, {100 * kernel.share_of_roof:.0f} % of its roof"
    axes.scatter([kernel.intensity], [rate], marker=marker, s=45, color=color, label=label, zorder=3)
    if kernel.categories[Category.CONTRACTION]:
        alone = kernel.contraction_rate / 1e9
        label = f"its contractions: {alone:.4g} GFLOP/s, {100 * kernel.contraction_share:.0f} %"
        axes.scatter(
            [kernel.intensity],
            [alone],
            marker=marker,
            s=45,
            facecolors="none",
            edgecolors=color,
            label=label,
            zorder=3,
        )


def _ceilings(
    axes: Axes,
    limits: MachineLimits,
    types: Sequence[str],
    sizes: Sequence[int],
    intensities: Sequence[float],
) -> None:
    """The speeds of multiply-adds, and of memory: the slowest, and that of each kernel's bytes."""
    speeds = {limits.bandwidth(size) for size in sizes} | {limits.bandwidths[-1][1]}
    peaks = {type: limits.peak(type) for type in types} or {"f32": limits.peak_float}
    highest = max(peaks.values())
    left = min(*intensities, highest / max(speeds)) / 4
    right = max(*intensities, highest / min(speeds)) * 4
    for type, peak in peaks.items():
        axes.plot([peak / max(speeds), right], [peak / 1e9] * 2, color="black", linewidth=1)
        axes.annotate(
            f"{peak / 1e9:.4g} GFLOP/s, {type}",
            (right, peak / 1e9),
            textcoords="offset points",
            xytext=(-4, 4),
            ha="right",
            fontsize=8,
        )
    named = 0.0
    for speed in sorted(speeds):
        axes.plot([left, highest / speed], [left * speed / 1e9, highest / 1e9], color="gray", linewidth=1)
        if speed < _APART * named:
            continue
        named = speed
        size = max(size for size, own in limits.bandwidths if own == speed)
        axes.text(
            1.5 * left,
            1.25 * left * speed / 1e9,
            f"{speed / 1e9:.4g} GB/s, up to {size / 2**20:g} MiB",
            rotation=degrees(atan2(speed / 1e9, 1)),
            rotation_mode="anchor",
            transform_rotates_text=True,
            verticalalignment="top",
            fontsize=8,
        )
