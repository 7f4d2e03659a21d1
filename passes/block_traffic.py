"""The pass ``block-traffic``: what a block program moves and computes, as a table or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects.block import DimAttr
from .output import os_reason, print_text, replace_file
from .symbolic import Polynomial
from .traffic import Traffic
from .traffic_report import QUANTITIES, FunctionTraffic, as_json, quantity, traffic_of_module

WIDEST_CELL = 26
"""Columns of a cell after which an expression goes on in the next line."""

LEGEND = (
    "M: extent of dim M in elements; #M: number of its blocks; "
    "= a number, where the extents and block sizes are known"
)


@dataclass(frozen=True)
class BlockTrafficPass(ModulePass):
    """Show what each nest loads, stores and computes, as functions of the dims; the program stays as it is.

    ``format`` is ``table`` (comment lines, so that the output is still a program) or ``json``. ``file`` is
    where it goes instead of standard output; an existing file is replaced whole.
    """

    name = "block-traffic"

    format: str = "table"
    file: str | None = None

    def __post_init__(self) -> None:
        if self.format not in ("table", "json"):
            raise ValueError(f"option 'format' is table or json, not '{self.format}'")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = traffic_of_module(op)
        text = json.dumps(as_json(functions), indent=2, ensure_ascii=False) + "\n"
        if self.format == "table":
            text = as_comments(table_text(functions))
        print_report(text, self.file)


def print_report(text: str, file: str | None) -> None:
    """Write a report to standard output, or to a file in place of it. Raises PassFailedException."""
    try:
        if file is None:
            print_text(text)
        else:
            replace_file(file, text.encode())
    except OSError as error:
        where = "to standard output" if file is None else f"'{file}'"
        raise PassFailedException(f"cannot write {where}: {os_reason(error)}") from error


def as_comments(text: str) -> str:
    """The lines of a text as MLIR comments."""
    return "".join(f"// {line}".rstrip() + "\n" for line in text.splitlines())


def table_text(functions: Sequence[FunctionTraffic]) -> str:
    """A table for each function, and a legend; without colours and with no line cut."""
    parts = [_function_text(function) for function in functions]
    if any(function.nests for function in functions):
        parts.append(LEGEND + "\n")
    return "\n".join(parts) or "no function has a body\n"


def _function_text(function: FunctionTraffic) -> str:
    title = f"traffic of @{function.name}"
    if not function.nests:
        return f"{title}: none, there is no block program in it (array-to-block makes one)\n"
    rows = [(nest.name, _cells(function, nest.traffic)) for nest in function.nests]
    headings = [name.replace("_", " ") for name in QUANTITIES]
    table = table_of("nest", headings, [*rows, ("total", _cells(function, function.total))])
    text = f"{title}: {dims_text(function.dims)}\n{table}"
    if function.uncounted:
        counts = Counter(function.uncounted)
        listed = ", ".join(
            name if count == 1 else f"{name} ({count} times)" for name, count in counts.items()
        )
        text += f"not counted, because no block moves in them: {listed}\n"
    return text


def dims_text(dims: Mapping[str, DimAttr]) -> str:
    """The extents and block sizes of dims: `M = 160 in blocks of 64, K = 64 (whole)`."""
    return ", ".join(f"{name} = {_dim_text(dim)}" for name, dim in dims.items())


def _dim_text(dim: DimAttr) -> str:
    extent = "?" if dim.static_extent is None else str(dim.static_extent)
    if dim.is_batch or dim.is_whole:
        return f"{extent} ({dim.blocking.data})"
    return extent if dim.block_size is None else f"{extent} in blocks of {dim.block_size}"


def table_of(first: str, headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table of named rows, of which the last one is the total."""
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in (first, *headings):
        table.add_column(heading, no_wrap=True)
    for name, cells in rows[:-1]:
        table.add_row(name, *cells)
    table.add_section()
    for name, cells in rows[-1:]:
        table.add_row(name, *cells)
    stream = StringIO()
    console = Console(
        file=stream, width=10_000, color_system=None, force_terminal=False, highlight=False, markup=False
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines() if line.strip()) + "\n"


def _cells(function: FunctionTraffic, traffic: Traffic) -> list[str]:
    return [_cell(function, quantity(traffic, name)) for name in QUANTITIES]


def _cell(function: FunctionTraffic, expression: Polynomial) -> str:
    return folded(expression, function.number(expression))


def folded(expression: Polynomial, number: int | None) -> str:
    """An expression on as many lines as it needs, and its value where that is known and says more."""
    lines = _folded(str(expression))
    if number is not None and expression.symbols():
        lines.append(f"= {number:,}")
    return "\n".join(lines)


def _folded(expression: str) -> list[str]:
    """The terms of a sum on as many lines as they need."""
    lines: list[str] = []
    for term in expression.split(" + "):
        if lines and len(lines[-1]) + len(term) + 3 <= WIDEST_CELL:
            lines[-1] += f" + {term}"
        else:
            lines.append(f"+ {term}" if lines else term)
    return lines
