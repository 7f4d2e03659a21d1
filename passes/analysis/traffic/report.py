"""The traffic of the functions of a module, as tables and as JSON, for passes and tools."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from io import StringIO
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import PassFailedException

from ....dialects import block
from ...text.output import os_reason, print_text, replace_file
from .block import Traffic, known_values, traffic_of_function
from .symbolic import Polynomial, Symbol

Json: TypeAlias = "int | str | list[Json] | dict[str, Json] | None"

QUANTITIES: tuple[str, ...] = tuple(field.name for field in fields(Traffic))
"""Quantities that are counted: loads, stores, bytes_loaded, bytes_stored, flops."""

WIDEST_CELL = 26
"""Columns of a cell after which an expression continues on the next line."""

LEGEND = (
    "M: extent of dim M in elements; #M: number of its blocks; "
    "= a number, where the extents and block sizes are known"
)


@dataclass(frozen=True)
class Nest:
    """One operation at the top of a function that moves or computes something."""

    name: str
    op: Operation
    traffic: Traffic


@dataclass(frozen=True)
class FunctionTraffic:
    """The traffic of one function, nest by nest.

    `uncounted` names the operations at the top that stay on whole arrays, and calls, once for each time.
    """

    name: str
    dims: Mapping[str, block.DimAttr]
    nests: tuple[Nest, ...]
    uncounted: tuple[str, ...]

    @property
    def total(self) -> Traffic:
        total = Traffic()
        for nest in self.nests:
            total += nest.traffic
        return total

    def __str__(self) -> str:
        """The table that `block-traffic` prints."""
        return table_text([self])

    def number(self, expression: Polynomial) -> int | None:
        """The value of an expression, None where it needs an extent or block size that is not known."""
        return evaluate(expression, known_values(self.dims))


def evaluate(expression: Polynomial, values: Mapping[Symbol, int]) -> int | None:
    """The value of an expression, None where a symbol has none."""
    return expression.evaluate(values) if expression.symbols() <= values.keys() else None


def quantity(traffic: Traffic, name: str) -> Polynomial:
    """One of the `QUANTITIES`."""
    found = getattr(traffic, name)
    assert isinstance(found, Polynomial)
    return found


def traffic_of_module(module: ModuleOp) -> list[FunctionTraffic]:
    """The traffic of each function that has a body, in order."""
    return [_report(op) for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]


def _report(function: FuncOp) -> FunctionTraffic:
    names = _printed_names(function)

    def name(op: Operation) -> str:
        return ", ".join(names[result] for result in op.results) or op.name

    nests = tuple(Nest(name(op), op, traffic) for op, traffic in traffic_of_function(function))
    uncounted = [
        op.name
        for op in function.body.ops
        if not op.name.startswith("block.") and not isinstance(op, ReturnOp)
    ]
    return FunctionTraffic(
        function.sym_name.data, block.declared_dims(function) or {}, nests, tuple(uncounted)
    )


def _printed_names(function: FuncOp) -> dict[SSAValue, str]:
    """The names of the values at the top of a function, as the printer makes them unique."""
    printer = Printer(StringIO())
    names: dict[SSAValue, str] = {}
    for argument in function.body.block.args:
        printer.print_ssa_value(argument)
    for op in function.body.ops:
        names |= {result: printer.print_ssa_value(result) for result in op.results}
        printer.print_op(op)
    return names


def as_json(functions: list[FunctionTraffic]) -> dict[str, Json]:
    """`{"functions": {name: {dims, nests, total, uncounted}}}`; expressions are text."""
    return {"functions": {function.name: _function_json(function) for function in functions}}


def _function_json(function: FunctionTraffic) -> Json:
    dims: dict[str, Json] = {
        name: {
            "extent": dim.static_extent,
            "block_size": dim.block_size,
            "blocking": str(dim.blocking.data),
        }
        for name, dim in function.dims.items()
    }
    nests: list[Json] = [
        {"name": nest.name, "op": nest.op.name, **_traffic_json(function, nest.traffic)}
        for nest in function.nests
    ]
    return {
        "dims": dims,
        "nests": nests,
        "total": _traffic_json(function, function.total),
        "uncounted": list(function.uncounted),
    }


def _traffic_json(function: FunctionTraffic, traffic: Traffic) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name in QUANTITIES:
        expression = quantity(traffic, name)
        found[name] = {"expression": str(expression), "number": function.number(expression)}
    return found


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


def dims_text(dims: Mapping[str, block.DimAttr]) -> str:
    """The extents and block sizes of dims: `M = 160 in blocks of 64, K = 64 (whole)`."""
    return ", ".join(f"{name} = {_dim_text(dim)}" for name, dim in dims.items())


def _dim_text(dim: block.DimAttr) -> str:
    extent = "?" if dim.static_extent is None else str(dim.static_extent)
    if dim.is_batch or dim.is_whole:
        return f"{extent} ({dim.blocking.data})"
    return extent if dim.block_size is None else f"{extent} in blocks of {dim.block_size}"


def table_of(first: str, headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table of named rows; the last row is the total."""
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
    """An expression on several lines if need be, and its value if that is known and not the same text."""
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


@dataclass(frozen=True)
class TrafficReportPass(ModulePass, ABC):
    """Show the traffic of a module, which stays as it is; subclasses say what they count."""

    format: str = "table"
    file: str | None = None

    def __post_init__(self) -> None:
        if self.format not in ("table", "json"):
            raise ValueError(f"option 'format' is table or json, not '{self.format}'")

    @abstractmethod
    def table(self, module: ModuleOp) -> str:
        """Return the tables of a module as text."""

    @abstractmethod
    def json(self, module: ModuleOp) -> Mapping[str, Json]:
        """Return the same as a JSON object."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.format == "table":
            text = as_comments(self.table(op))
        else:
            text = json.dumps(self.json(op), indent=2, ensure_ascii=False) + "\n"
        print_report(text, self.file)
