"""Plain tables for the reports of the cost model."""

from __future__ import annotations

from collections.abc import Sequence


def rendered(head: Sequence[str], rows: Sequence[Sequence[str]], total: Sequence[str]) -> str:
    """A table as text, without colours and with no line cut; cells may have several lines."""
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in head:
        table.add_column(title, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    table.add_section()
    table.add_row(*total)
    stream = StringIO()
    console = Console(
        file=stream, width=10_000, color_system=None, force_terminal=False, highlight=False, markup=False
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines() if line.strip()) + "\n"
