"""The scalar operations of a sweep as declarations in CUDA C++, independent of the memory of its tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel import Output
from ....dialects.kernel.integer_ranges import IntegerRanges
from ..names import Names
from .geometry import Dim
from .scalars import expression, type_of
from .scope import Scope

NEUTRAL = {Output.Sum: 0.0, Output.Max: float("-inf"), Output.Min: float("inf")}
"""The number that a reduction starts from."""

Values = Mapping[SSAValue, str]
"""Names of arguments and results of a sweep's body."""


class PlannedSweep(Protocol):
    """The plan of a sweep in some form."""

    @property
    def op(self) -> kernel.SweepOp:
        """The operation."""
        ...


PlanT = TypeVar("PlanT", bound=PlannedSweep)


@dataclass(frozen=True)
class SweepText(Generic[PlanT]):
    """The text of one sweep; each form has a subclass."""

    plan: PlanT
    scope: Scope

    @property
    def op(self) -> kernel.SweepOp:
        """The operation."""
        return self.plan.op


def claim_arguments(
    op: kernel.SweepOp, names: Names, chosen: Callable[[SSAValue], bool] = lambda tile: True
) -> dict[SSAValue, str]:
    """Claim names for the used arguments of a sweep's body, of the chosen input tiles."""
    return {
        argument: names.claim(argument.name_hint or tile.name_hint)
        for argument, tile in zip(op.body.block.args, op.inputs, strict=True)
        if argument.uses and chosen(tile)
    }


def claim_results(
    op: kernel.SweepOp,
    names: Names,
    is_rounded_later: Callable[[arith.TruncFOp], bool] = lambda op: False,
) -> dict[SSAValue, str]:
    """Claim names for the values that a sweep's body computes.

    Constants have none, because they are written where they are used. Nor has a value that
    `is_rounded_later`: the unrounded value is used instead.
    """
    return {
        inner.results[0]: names.claim(inner.results[0].name_hint or "t")
        for inner in _computing(op)
        if not isinstance(inner, arith.ConstantOp)
        and not (isinstance(inner, arith.TruncFOp) and is_rounded_later(inner))
    }


def computed(
    op: kernel.SweepOp,
    arguments: Values,
    results: Values,
    quantity: Callable[[kernel.QuantityOp], str],
    *,
    fast: bool = False,
    changed: Callable[[Operation, str], str] = lambda op, text: text,
) -> tuple[list[str], dict[SSAValue, str]]:
    """Return the lines that compute an element, and the expressions of all values of the body.

    `arguments` are expressions, `results` the names from `claim_results`. `quantity` writes an index or an
    extent; `changed` may replace the expression of an operation. With `fast`, functions are approximated.
    Raises OpError for operations without a form on a GPU.
    """
    lines: list[str] = []
    values = dict(arguments)
    ranges = _ranges(op)
    for inner in _computing(op):
        result = inner.results[0]
        if isinstance(inner, arith.ConstantOp):
            values[result] = expression(inner, (), ranges)
            continue
        if result not in results:
            values[result] = values[inner.operands[0]]
            continue
        if isinstance(inner, kernel.QuantityOp):
            text = quantity(inner)
        else:
            text = expression(inner, [values[operand] for operand in inner.operands], ranges, fast=fast)
        values[result] = results[result]
        lines.append(f"const {type_of(result, ranges)} {results[result]} = {changed(inner, text)};")
    return lines, values


def _ranges(op: kernel.SweepOp) -> IntegerRanges:
    """The ranges of the integers in a sweep's body."""
    function: Operation | None = op
    while function is not None and not isinstance(function, kernel.FuncOp):
        function = function.parent_op()
    assert function is not None
    return IntegerRanges.of(op.body.block, block.parse_dims(function.attributes[block.DIMS]))


def _computing(op: kernel.SweepOp) -> list[Operation]:
    """The operations of a body whose results are used."""
    return [
        inner
        for inner in op.body.block.ops
        if inner is not op.yield_op and inner.results and inner.results[0].uses
    ]


def sweep_outputs(op: kernel.SweepOp, name: Callable[[SSAValue], str]) -> str:
    """The outputs of a sweep, each with its reduction, for a comment."""
    return ", ".join(
        f"{'' if kind is Output.Each else f'{kind} '}{name(value)}"
        for kind, value in zip(op.output_kinds, op.outputs, strict=True)
    )


def sweep_comment(op: kernel.SweepOp, name: Callable[[SSAValue], str]) -> str:
    """The comment above a sweep: its outputs, and the tiles that it reads."""
    outputs = sweep_outputs(op, name)
    inputs = ", ".join(dict.fromkeys(name(value) for value in op.inputs))
    return f"// {outputs} of {inputs}" if inputs else f"// {outputs}"


def sweep_quantity(
    sweep: kernel.SweepOp, op: kernel.QuantityOp, dims: Mapping[str, Dim], indices: Sequence[str]
) -> str:
    """Expression of an index or an extent in a sweep's body.

    `indices` are the places of the current element in its block along the sweep's dims. Raises OpError for an
    index along another dim.
    """
    dim = dims[op.dim_name]
    if (same := dim.quantity(op.kind.data)) is not None:
        return same
    for name, index in zip(sweep.dims, indices, strict=False):
        if name == op.dim_name:
            return f"{dim.start} + {index}"
    raise OpError(op, f"asks for an index along {op.dim_name}, which the sweep does not run over")
