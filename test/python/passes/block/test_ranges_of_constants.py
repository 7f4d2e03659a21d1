"""Constants and scales stay where no intermediate overflows: on the pipelines that users get."""

from __future__ import annotations

import ast
from typing import Any

import bb
import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.runtime.interpreter.functions import interpret
from numpy.typing import NDArray

pytestmark = pytest.mark.long

Array = NDArray[Any]

X, C, G = "tensor<6x9xf32>", "tensor<6x1xf32>", "tensor<9xf32>"

EXPRESSIONS = {
    "half": ("(0.5*g)*h", G),
    "third": ("(g/3)*h", G),
    "quotient": ("(g/h)*g", G),
    "two_scales": ("(x*c)*d", X),
    "row_and_column_scale": ("(x*c)*g", X),
    "two_shifts": ("(x+c)+d", X),
    "shift_of_a_sum": ("(x+c)+y", X),
    "column_and_row_shift": ("(x+g)+c", X),
    "multiple_of_a_shift": ("(x+c)*0.3", X),
    "multiple_of_a_scale": ("(x*c)*2.5", X),
    "scale_of_a_product": ("((0.25*x)*c)*y", X),
    "mean_times_vector": ("(0.1111*s)*c", C),
    "statistic_times_vectors": ("(s*c)*d", C),
    "square_of_a_mean": ("(s/9)*(s/9)", C),
}
"""Programs of one line; s is the sum of the rows of x."""

_NAMES = {"x": X, "y": X, "c": C, "d": C, "g": G, "h": G, "s": C}


def _element_wise(name: str, text: str, result: str) -> str:
    """An element-wise operator for an expression in Python's syntax."""
    lines: list[str] = []

    def write(node: ast.expr) -> str:
        match node:
            case ast.Name(id=own):
                return f"%e_{own}"
            case ast.Constant(value=number):
                lines.append(f"%k{len(lines)} = arith.constant {float(number)!r} : f32")  # pyright: ignore
            case ast.BinOp(left=left, op=op, right=right):
                kind = {ast.Mult: "mulf", ast.Div: "divf", ast.Add: "addf"}[type(op)]  # pyright: ignore
                operands = f"{write(left)}, {write(right)}"
                lines.append(f"%k{len(lines)} = arith.{kind} {operands} : f32")
            case _:
                raise AssertionError(ast.dump(node))
        return f"%k{len(lines) - 1}"

    value = write(ast.parse(text, mode="eval").body)
    used = [own for own in _NAMES if own in text]
    inputs = ", ".join(f"%e_{own} = %{own}" for own in used)
    types = ", ".join(_NAMES[own] for own in used)
    body = "\n    ".join([*lines, f"array.yield {value} : f32"])
    return f"  %{name} = array.elementwise ({inputs}) : {types} -> {result} {{\n    {body}\n  }}\n"


def program() -> str:
    """One function with a result for each expression."""
    arguments = ", ".join(f"%{name}: {type}" for name, type in _NAMES.items() if name != "s")
    types = ", ".join(type for _, type in EXPRESSIONS.values())
    return (
        f"func.func @f({arguments}) -> ({types}) {{\n"
        f"  %s = array.reduce sum %x axes [1] keepdims : {X} -> {C}\n"
        + "".join(_element_wise(name, *parts) for name, parts in EXPRESSIONS.items())
        + f"  func.return {', '.join(f'%{name}' for name in EXPRESSIONS)} : {types}\n}}\n"
    )


def arguments(trial: int) -> list[Array]:
    """Arguments of large, tiny, mixed and nearly cancelling magnitudes."""
    rng = np.random.default_rng(trial)
    top = 38.0 if trial % 3 == 0 else rng.uniform(-30, 38)
    drawn: list[Array] = []
    for shape in ((6, 9), (6, 9), (6, 1), (6, 1), (9,), (9,)):
        unit = rng.uniform(0.3, 1, shape)
        match trial % 4:
            case 0:
                value = unit * 10.0**top
            case 1:
                value = unit * 10.0 ** rng.uniform(-30, 38)
            case 2:
                value = unit * 10.0 ** (rng.choice([-1, 1]) * abs(top))
            case _:
                size = top - rng.choice([0.0, 0.0, rng.uniform(0, 6)])
                value = (1 + unit / 512) * rng.choice([-1, 1]) * 10.0**size
        drawn.append(np.clip(value, -3e38, 3e38).astype(np.float32))
    return drawn


def assert_as_good(found: Array, unfused: Array, exact: Array, what: str) -> None:
    """Fail if a finite number became none, or an error is a few times that of the unfused program."""
    with np.errstate(all="ignore"):
        wanted = exact.astype(np.float32)
        judged = np.isfinite(wanted) & np.isfinite(unfused)
        assert np.isfinite(found[judged]).all(), what
        error, before = (np.abs(each.astype(np.float64) - exact) for each in (found, unfused))
        # The sum of a row may be added in another order, and denormal numbers may be flushed to 0.
        allowed = 3 * before + 4 * 2.0**-23 * np.abs(exact) + 1.2e-38
        rough = 1e-6 * np.max(np.abs(exact), axis=-1, keepdims=True, where=np.isfinite(exact), initial=0)
        assert (error <= np.maximum(allowed, rough))[judged].all(), what


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_no_constant_moves_where_a_product_overflows(target: str):
    module = parse_module(program(), "ranges")
    unfused = PassPipeline("array-decompose,array-to-block").run(module.clone())
    fused = PassPipeline("array-decompose,array-to-block,block-fuse,block-stabilize").run(module.clone())
    compiled = None if target == "interpreter" else bb.compile(module.clone(), target=target)
    for trial in range(24):
        given = arguments(trial)
        with np.errstate(all="ignore"):
            exact = interpret(unfused, given, float64=True, default_block_size=4).results
            before = interpret(unfused, given, default_block_size=4).results
            if compiled is None:
                found = interpret(fused, given, default_block_size=4).results
            else:
                found = compiled(*given)
        for name, *values in zip(EXPRESSIONS, found, before, exact, strict=True):
            assert_as_good(*(np.asarray(value) for value in values), what=f"{name}, trial {trial}")  # pyright: ignore
