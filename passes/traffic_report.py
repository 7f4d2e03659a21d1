"""The traffic of the functions of a module, collected for printing: by `block-traffic`, and by tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from io import StringIO
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.printer import Printer

from ..dialects import block
from .symbolic import Polynomial, Symbol
from .traffic import Traffic, known_values, traffic_of_function

Json: TypeAlias = "int | str | list[Json] | dict[str, Json] | None"

QUANTITIES: tuple[str, ...] = tuple(field.name for field in fields(Traffic))
"""Quantities that are counted: loads, stores, bytes_loaded, bytes_stored, flops."""


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
        from .block_traffic import table_text

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
