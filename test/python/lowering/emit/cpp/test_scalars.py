"""Every floating-point operation of element-wise regions on the CPU, at ordinary and at hard values."""

from __future__ import annotations

import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.runtime.api import compile_program
from bb.runtime.interpreter.functions import interpret

UNARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt"),
    *("tanh", "erf", "sin", "cos", "absf", "floor", "ceil"),
)
BINARY = {
    "fma": "math.fma %a, %b, %a",
    "powf": "math.powf %a, %b",
    "maxnumf": "arith.maxnumf %a, %b",
    "minnumf": "arith.minnumf %a, %b",
    "maximumf": "arith.maximumf %a, %b",
    "minimumf": "arith.minimumf %a, %b",
}
ULPS = 4


def program(element_type: str) -> tuple[str, list[str]]:
    """A function with a result for each operation, and the names of the operations."""
    tensor = f"tensor<5x37x{element_type}>"
    operations = {name: f"math.{name} %a" for name in UNARY} | BINARY
    lines: list[str] = []
    for name, operation in operations.items():
        lines += [
            f"%{name}_0 = array.elementwise (%a = %x, %b = %y) : {tensor}, {tensor} -> {tensor} {{",
            f"  %r = {operation} : {element_type}",
            f"  array.yield %r : {element_type}",
            "}",
        ]
    types = ", ".join([tensor] * len(operations))
    results = ", ".join(f"%{name}_0" for name in operations)
    body = "\n  ".join([*lines, f"func.return {results} : {types}"])
    return f"func.func @f(%x: {tensor}, %y: {tensor}) -> ({types}) {{\n  {body}\n}}\n", list(operations)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scalar_operations(dtype: type[np.floating]):
    text, names = program("f32" if dtype is np.float32 else "f64")
    module = parse_module(text, "operations")
    rng = np.random.default_rng(0)
    x = np.exp(rng.standard_normal((5, 37))).astype(dtype)
    y = rng.standard_normal((5, 37)).astype(dtype)
    x[0, :4] = np.nan, np.inf, 0, 1e-30
    y[1, :3] = np.nan, np.inf, -np.inf
    found = compile_program(module)(x, y)
    with np.errstate(all="ignore"):
        wanted = interpret(module, [x, y], float64=True).results
        for name, got, exact in zip(names, found, wanted, strict=True):
            rounded = exact.astype(dtype)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded), err_msg=name)
            special = np.isnan(rounded) | np.isinf(rounded)
            np.testing.assert_array_equal(got[special], rounded[special], err_msg=name)
            error = np.abs(got - exact)[~special]
            # The reference rounds the product of an fma, so that its own error shows where the sum cancels.
            magnitude = np.abs(x * y) + np.abs(x) if name == "fma" else np.abs(rounded)
            bound = ULPS * np.spacing(magnitude[~special])
            assert (error <= bound).all(), f"{name}: {np.max(error / bound)} of the bound"
