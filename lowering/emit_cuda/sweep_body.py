"""What a sweep computes for an element, as declarations in CUDA C++: the same wherever its tiles lie."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects import kernel
from ..emit.names import Names
from .scalars import expression, value_type


def computed(
    op: kernel.SweepOp,
    values: dict[SSAValue, str],
    names: Names,
    quantity: Callable[[kernel.QuantityOp], str],
    *,
    fast: bool = False,
    is_rounded_later: Callable[[arith.TruncFOp], bool] = lambda op: False,
    changed: Callable[[Operation, str], str] = lambda op, text: text,
) -> list[str]:
    """The lines that compute what a sweep yields, for the element at hand.

    `values` has the names of its inputs, and gets those of the results. `quantity` writes an index or an
    extent; `changed` may replace the expression of an operation. Functions are approximated where `fast`.
    What `is_rounded_later` keeps its bits until then. Raises OpError for operations without a form on a GPU.
    """
    lines: list[str] = []
    for inner in op.body.block.ops:
        if inner is op.yield_op:
            break
        if not inner.results or not inner.results[0].uses:
            continue
        result = inner.results[0]
        if isinstance(inner, arith.TruncFOp) and is_rounded_later(inner):
            values[result] = values[inner.operands[0]]
            continue
        if isinstance(inner, arith.ConstantOp):
            values[result] = expression(inner, ())
            continue
        if isinstance(inner, kernel.QuantityOp):
            text = quantity(inner)
        else:
            text = expression(inner, [values[operand] for operand in inner.operands], fast=fast)
        name = values[result] = names.claim(result.name_hint or "t")
        lines.append(f"const {value_type(result.type)} {name} = {changed(inner, text)};")
    return lines
