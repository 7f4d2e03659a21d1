"""Records as tables: for a terminal, and as cells for a page."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from .contenders import CONTENDERS, OURS, UNFUSED
from .records import Record, Row

WIDEST = 250


def milliseconds(value: float | None) -> str:
    """Four digits at most: `0.367`, `5.88`, `12.3`, `108`."""
    if value is None:
        return "-"
    return (
        f"{value:.3f}"
        if value < 1
        else f"{value:.2f}"
        if value < 10
        else f"{value:.1f}"
        if value < 100
        else f"{value:.0f}"
    )


def columns(rows: Sequence[Row]) -> list[str]:
    """The contenders that have a figure in some row, in the order of the table."""
    return [name for name in CONTENDERS if any(row.median(name) is not None for row in rows)]


def cells(row: Row, names: Sequence[str]) -> list[str]:
    """A row of the table: name, contenders, best rival, ratio, floor, share of it."""
    ratio, share = row.ratio, row.share_of_floor
    return [
        row.name,
        *(milliseconds(row.median(name)) for name in names),
        row.best_rival or "-",
        "-" if ratio is None else f"{ratio:.2f}",
        milliseconds(row.floor_ms),
        "-" if share is None else f"{100 * share:.0f} %",
    ]


def heads(names: Sequence[str]) -> list[str]:
    """The heads of the columns."""
    return ["row", *names, "best rival", "ratio", "floor", "of floor"]


def show(record: Record, console: Console) -> None:
    """Print the table, and below it what the columns mean and who was left out."""
    names = columns(record.rows)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in heads(names):
        table.add_column(head, justify="left" if head in ("row", "best rival") else "right", no_wrap=True)
    for row in record.rows:
        texts = cells(row, names)
        ratio = row.ratio
        if ratio is not None:
            texts[-3] = f"[{'green' if ratio >= 1 else 'red'}]{texts[-3]}[/]"
        best = row.best_rival
        for index, name in enumerate(names, start=1):
            if name == OURS:
                texts[index] = f"[bold]{texts[index]}[/]"
            elif name == best:
                texts[index] = f"[cyan]{texts[index]}[/]"
        table.add_row(*texts)
    # In a file no line is broken; in a terminal that is too narrow, the table would be no table either.
    console.width = max(
        console.width, console.measure(table, options=console.options.update(max_width=WIDEST)).maximum + 1
    )
    console.print(table)
    for line in notes(record):
        console.print(line, markup=False, soft_wrap=True, highlight=False)


def notes(record: Record) -> list[str]:
    """Notes below a table, a sentence a line."""
    threads = record.settings.get("threads", "?")
    lines = [
        f"Milliseconds, medians of calls in turns; {threads} threads; "
        f"{record.machine.get('processor', '?')}; commit {record.commit}.",
        "ratio: best rival over ours (above 1 ours is faster). floor: the larger of contraction flops and "
        "bytes at the machine's limits.",
        ", ".join(f"{name} {number}" for name, number in record.versions.items()),
    ]
    lines += slower_when_fused(record.rows)
    lines += disturbed(record.rows)
    for row in record.rows:
        for name, timing in row.contenders.items():
            if timing.failed:
                lines.append(f"{row.name}: {name} is left out: {timing.failed}")
    return lines


def slower_when_fused(rows: Sequence[Row]) -> list[str]:
    """A sentence for each row whose fused program is slower than the unfused one by more than 2 %."""
    found: list[str] = []
    for row in rows:
        fused, unfused = row.median(OURS), row.median(UNFUSED)
        if fused is not None and unfused is not None and fused > 1.02 * unfused:
            found.append(f"{row.name}: fused takes {fused / unfused:.2f} times as long as unfused")
    return found


def disturbed(rows: Sequence[Row]) -> list[str]:
    """A sentence for each row during which something else used more than a tenth of a CPU."""
    return [
        f"{row.name}: something else used {row.foreign:.1f} CPUs meanwhile; measure again when the machine "
        "is quiet"
        for row in rows
        if row.foreign > 0.1
    ]
