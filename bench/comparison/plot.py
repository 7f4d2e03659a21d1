"""Records as a picture: how long each rival takes, relative to ours."""

from __future__ import annotations

from bb.tools.shared.files import ToolError

from .contenders import OURS, UNFUSED
from .records import Record, Row
from .tables import columns

_MARKERS = "osD^vP<>X*h"


def draw(record: Record, path: str) -> None:
    """Draw a line of marks for each row: contenders to the right of 1 take longer than ours.

    Raises ToolError where matplotlib is missing or the file cannot be written.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ToolError("--plot needs matplotlib, which is not installed: pip install '.[bench]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    rows = [row for row in record.rows if row.median(OURS) is not None]
    if not rows:
        raise ToolError("there is nothing to draw: no row has a time of ours")
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.28 * len(rows)))
    places = list(range(len(rows)))[::-1]
    for index, name in enumerate(name for name in columns(rows) if name != OURS):
        points = [(_relative(row, name), place) for row, place in zip(rows, places, strict=True)]
        shown = [(x, y) for x, y in points if x is not None]
        hollow = name == UNFUSED
        axes.scatter(
            [x for x, _ in shown],
            [y for _, y in shown],
            marker=_MARKERS[index % len(_MARKERS)],
            s=26,
            label=name,
            facecolors="none" if hollow else f"C{index % 10}",
            edgecolors="black" if hollow else f"C{index % 10}",
            zorder=3,
        )
    floors = [row.share_of_floor for row in rows]
    axes.scatter(floors, places, marker="|", s=90, color="gray", label="floor", zorder=2)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_yticks(places, [row.name for row in rows])
    axes.grid(axis="x", which="both", linewidth=0.3)
    axes.set_xlabel("time relative to ours: right of 1 takes longer")
    threads = record.settings.get("threads")
    axes.set_title(f"{record.machine.get('processor')}, {threads} threads", fontsize=9)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    try:
        figure.savefig(path, dpi=150, bbox_inches="tight")
    except (OSError, ValueError) as error:
        raise ToolError(f"cannot write '{path}': {error}") from error
    finally:
        plt.close(figure)


def _relative(row: Row, name: str) -> float | None:
    own, other = row.median(OURS), row.median(name)
    return None if own is None or other is None else other / own
