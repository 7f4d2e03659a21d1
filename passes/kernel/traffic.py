"""The pass ``kernel-traffic``: the traffic of kernels with each array, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ..analysis.traffic.kernel import ArrayMoves, KernelMoves, moves_of_module
from ..analysis.traffic.report import LEGEND, Json, TrafficReportPass, dims_text, folded, table_of
from ..analysis.traffic.symbolic import Polynomial

HEADINGS = ("bytes read", "bytes written")
UNTIL = (
    "until(#M·N): elements of N that a loop visits which ends at the current block of M, "
    "summed over the blocks of M"
)


@dataclass(frozen=True)
class KernelTrafficPass(TrafficReportPass):
    """Show what each kernel reads and writes of each array, as functions of the dims; nothing is changed.

    Bytes are those that a GPU's warps ask for, where several lanes that ask for the same element count once.
    ``format`` is ``table`` (comment lines, so that the output is still a program) or ``json``. ``file`` is
    where it goes instead of standard output; an existing file is replaced whole.
    """

    name = "kernel-traffic"

    def table(self, module: ModuleOp) -> str:
        return table_text(moves_of_module(module))

    def json(self, module: ModuleOp) -> Mapping[str, Json]:
        return as_json(moves_of_module(module))


def table_text(kernels: Sequence[KernelMoves]) -> str:
    """A table for each kernel, and a legend; without colours and with no line cut."""
    if not kernels:
        return "there are no kernels in it (block-to-kernel makes some)\n"
    legend = [LEGEND]
    if any(symbol.until for each in kernels for row in each.arrays for symbol in row.read.symbols()):
        legend.append(UNTIL)
    return "\n".join([*(_kernel_text(each) for each in kernels), "\n".join(legend) + "\n"])


def _kernel_text(moves: KernelMoves) -> str:
    rows = [(_name(each), _cells(moves, each)) for each in moves.arrays]
    table = table_of("array", HEADINGS, [*rows, ("total", _cells(moves, moves.total))])
    return f"traffic of kernel @{moves.name}: {dims_text(moves.dims)}\n{table}"


def _name(row: ArrayMoves) -> str:
    return f"{row.name} (own list)" if row.own else row.name


def _cells(moves: KernelMoves, row: ArrayMoves) -> list[str]:
    return [folded(each, moves.number(each)) for each in (row.read, row.written)]


def as_json(kernels: Sequence[KernelMoves]) -> dict[str, Json]:
    """`{"kernels": {name: {"arrays": [{name, own, read, written}], "total": …}}}`; expressions are text."""
    return {
        "kernels": {
            each.name: {
                "arrays": [{"name": row.name, "own": row.own, **_row_json(each, row)} for row in each.arrays],
                "total": _row_json(each, each.total),
            }
            for each in kernels
        }
    }


def _row_json(moves: KernelMoves, row: ArrayMoves) -> dict[str, Json]:
    def quantity(expression: Polynomial) -> Json:
        return {"expression": str(expression), "number": moves.number(expression)}

    return {"read": quantity(row.read), "written": quantity(row.written)}
