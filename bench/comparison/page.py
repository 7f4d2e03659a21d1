"""docs/targets/performance.md: what two committed runs say, in words and as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bb.tools.docs.markdown import item, page, paragraph, table

from .contenders import CONTENDERS, OURS, UNFUSED
from .records import Record, Row, read_record
from .tables import columns, milliseconds
from .workloads import BF16_ROWS, BOUNDS, F32_ROWS

RESULTS = Path(__file__).resolve().parents[1] / "results"
RUNS = ("run1.json", "run2.json")
PICTURE = "run1.png"

TIE = 0.05
"""Ratios that are nearer to 1 than this are called a tie: the machine is not quieter."""

INTRODUCTION = """
Every row is a program of [examples](../../examples) or [bench/programs](../../bench/programs) at fixed
extents, compiled by the pipeline `cpu` and called with its weights bound by `prepare`. Its rivals are the
libraries of the extra `bench`. Each of them runs the row in the fastest form that we know. All contenders are
checked against numpy in float64 before they are timed, and then take turns.
[bench/README.md](../../bench/README.md) has the details.
"""

READING = """
Two runs were measured; the tables show both, with the fastest rival of each.
"""

COLUMNS = (
    "*Ratio* is the time of the fastest rival over ours: above 1 ours is faster. A ratio within 5 % of 1 is "
    "a tie on this machine.",
    "*Fused* is the time of the pipeline `cpu-unfused`, with a kernel for every operator, over the time of "
    "`cpu`: the gain of fusion.",
    "*Of floor* is the floor over our time. The floor is the larger of two times, by limits measured on the "
    "same machine: that of the flops of the contractions, and that of the bytes of all arguments and the "
    "result. It leaves out exponentials.",
)

REPRODUCING = """
`make bench` measures all rows with the installed libraries, prints the table, and writes figures and a
picture to `bench/results`. A run can be split into pieces; `--table` combines them. `make docs` writes this
page from the two files.
"""

COMMANDS = """
pip install -e '.[bench]'
python bench/compare.py --rows A --json a.json
python bench/compare.py --rows B,C,D --json b.json
python bench/compare.py --table a.json b.json --json bench/results/run1.json
make docs
"""


def text(folder: Path = RESULTS) -> str:
    """The page of the runs in a folder. Raises RecordError."""
    first = read_record(folder / RUNS[0])
    # A run takes a while: until there is a second one, its column is empty.
    second = read_record(folder / RUNS[1]) if (folder / RUNS[1]).exists() else replace(first, rows=())
    runs = [first, second]
    blocks = ["# Performance", paragraph(INTRODUCTION), *_machine(runs[0]), paragraph(READING)]
    blocks.append("\n".join(map(item, COLUMNS)))
    for title, rows in (("float32", F32_ROWS), ("bfloat16", BF16_ROWS)):
        names = [row.name for row in rows]
        pairs = _pairs(runs, names)
        if pairs:
            blocks += [f"## {title}", _summary(pairs), _ratios(pairs)]
    blocks += [
        "## Every contender",
        _contenders(runs[0]),
        paragraph(f"Medians in milliseconds, `{RUNS[0]}`."),
    ]
    blocks.append(_everything(runs[0]))
    if (folder / PICTURE).exists():
        blocks.append(f"![Times relative to ours, a mark for each contender](../../bench/results/{PICTURE})")
    blocks += _left_out(runs[0])
    blocks += ["## Measuring again", paragraph(REPRODUCING), "```text\n" + COMMANDS.strip() + "\n```"]
    return page(*blocks)


def _machine(record: Record) -> list[str]:
    machine, limits = record.machine, record.limits
    features = ", ".join(machine.get("features", ()))
    listed = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    figures = ", ".join(f"{name.replace(', GB/s', '')} {value:g}" for name, value in limits.items())
    return [
        item(
            f"Machine: {machine['processor']}, {machine['cpus']} CPUs ({features}), "
            f"{machine['memory_gib']} GiB, {machine['system']}, {machine['compiler']}"
        )
        + "\n"
        + item(f"Limits with {record.settings['threads']} threads (GB/s where a size is read): {figures}")
        + "\n"
        + item(f"Versions: {listed}; commit {record.commit}")
        + "\n"
        + item(
            f"Bounds of errors: {', '.join(f'{bound:.0e} ({dtype})' for dtype, bound in BOUNDS.items())}; "
            f"{record.settings['threads']} threads, {record.settings['rounds']} rounds of "
            f"{record.settings['seconds']:g} s"
        )
    ]


def _pairs(runs: Sequence[Record], names: Sequence[str]) -> list[tuple[Row, Row | None]]:
    """The rows of the first run, each with that of the second."""
    first, second = ({row.name: row for row in run.rows} for run in runs)
    return [(first[name], second.get(name)) for name in names if name in first]


def _summary(pairs: Sequence[tuple[Row, Row | None]]) -> str:
    """A sentence on wins, ties and losses, by the geometric mean of both runs."""
    found: dict[str, list[str]] = {"faster": [], "tie": [], "slower": []}
    ratios: list[float] = []
    for first, second in pairs:
        both = [row.ratio for row in (first, second) if row is not None and row.ratio is not None]
        if not both:
            continue
        ratio = math.prod(both) ** (1 / len(both))
        ratios.append(ratio)
        kind = "tie" if abs(ratio - 1) <= TIE else "faster" if ratio > 1 else "slower"
        found[kind].append(f"{first.name} ({ratio:.2f})")
    if not ratios:
        return "No row has both a time of ours and one of a rival."
    mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
    return "\n".join(
        [
            item(f"Faster than every rival ({len(found['faster'])}): {', '.join(found['faster']) or 'none'}"),
            item(f"Ties ({len(found['tie'])}): {', '.join(found['tie']) or 'none'}"),
            item(
                f"Slower than the best rival ({len(found['slower'])}): {', '.join(found['slower']) or 'none'}"
            ),
            item(f"Geometric mean of the ratios: {mean:.2f}"),
        ]
    )


def _ratios(pairs: Sequence[tuple[Row, Row | None]]) -> str:
    head = [
        "row",
        "extents",
        "best rival",
        "rival, ms",
        "ours, ms",
        "ratio",
        "second run",
        "fused",
        "of floor",
    ]
    lines: list[list[str]] = []
    for first, second in pairs:
        rivals = dict.fromkeys(row.best_rival or "-" for row in (first, second) if row is not None)
        rival = first.best_rival
        lines.append(
            [
                first.name,
                _size(first),
                ", ".join(rivals),
                milliseconds(None if rival is None else first.median(rival)),
                milliseconds(first.median(OURS)),
                _number(first.ratio),
                _number(None if second is None else second.ratio),
                _number(_worth(first)),
                "-" if first.share_of_floor is None else f"{100 * first.share_of_floor:.0f} %",
            ]
        )
    return table(head, lines, numbers=6)


def _size(row: Row) -> str:
    listed = ", ".join(f"{name} {extent}" for name, extent in row.extents.items())
    return f"{listed}, causal" if row.causal else listed


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _worth(row: Row) -> float | None:
    fused, unfused = row.median(OURS), row.median(UNFUSED)
    return None if fused is None or unfused is None else unfused / fused


def _contenders(record: Record) -> str:
    names = columns(record.rows)
    return "\n".join(item(f"`{name}`: {CONTENDERS[name].about}") for name in names)


def _everything(record: Record) -> str:
    names = columns(record.rows)
    lines = [
        [row.name, milliseconds(row.floor_ms), *(milliseconds(row.median(name)) for name in names)]
        for row in record.rows
    ]
    return table(["row", "floor", *names], lines, numbers=len(names) + 1)


def _left_out(record: Record) -> list[str]:
    """Contenders that could not be measured, with the reason."""
    items = [
        item(f"{row.name}: `{name}`: {timing.failed}")
        for row in record.rows
        for name, timing in row.contenders.items()
        if timing.failed
    ]
    return ["Left out, because it failed or its result was wrong:", "\n".join(items)] if items else []
