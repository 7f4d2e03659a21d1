"""The meanings of operations on integers, against Python's own integers and fractions."""

from fractions import Fraction
from itertools import product
from math import isfinite, isnan, trunc

import bb
import numpy as np
import pytest
from bb.runtime.arrays.dtypes import to_dtype
from integer_programs import FLOATS, INTEGERS, MEANINGS, Array, floats, integers, wrapped

WIDTHS = {"i1": 1, "i32": 32, "i64": 64}


def _evaluate(name: str, type: str, result: str, operands: list[Array]) -> Array:
    extent = len(operands[0])
    arguments = ", ".join(f"%{i}: tensor<{extent}x{type}>" for i in range(len(operands)))
    pairs = ", ".join(f"%x{i} = %{i}" for i in range(len(operands)))
    types = ", ".join(f"tensor<{extent}x{type}>" for _ in operands)
    values = ", ".join(f"%x{i}" for i in range(len(operands)))
    cast = "" if type == result else f" to {result}"
    return bb.run(
        f"""func.func @f({arguments.replace("%", "%a")}) -> tensor<{extent}x{result}> {{
          %y = array.elementwise ({pairs.replace("= %", "= %a")}) : {types} -> tensor<{extent}x{result}> {{
            %z = arith.{name} {values} : {type}{cast}
            array.yield %z : {result}
          }}
          func.return %y : tensor<{extent}x{result}>
        }}""",
        operands,
    )  # pyright: ignore[reportReturnType]


def _signed(value: object, width: int) -> int:
    return wrapped(int(value), width)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("name", MEANINGS)
def test_operations_agree_with_those_of_unbounded_integers(name: str, type: str) -> None:
    random, width = np.random.default_rng(1), WIDTHS[type]
    a, b = (integers(type, 300, random) for _ in "ab")
    found = _evaluate(name, type, type, [a, b])
    for x, y, z in zip(a, b, found, strict=True):
        wanted = MEANINGS[name](_signed(x, width), _signed(y, width), width)
        assert _signed(z, width) == wrapped(wanted, width), (x, y)


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("name", ["fptosi", "fptoui"])
@pytest.mark.parametrize("result", INTEGERS)
def test_floats_saturate_as_integers_and_nan_is_zero(type: str, name: str, result: str) -> None:
    width, signed = WIDTHS[result], name == "fptosi"
    least, most = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    values = floats(type, 300, np.random.default_rng(2))
    for x, y in zip(values, _evaluate(name, type, result, [values]), strict=True):
        value = float(x)
        whole = trunc(value) if isfinite(value) else 0 if isnan(value) else most if value > 0 else least
        assert _signed(y, width) == wrapped(min(most, max(least, whole)), width), x


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("type", ["i32", "i64"])
@pytest.mark.parametrize("name", ["sitofp", "uitofp"])
def test_integers_are_rounded_once(type: str, name: str, result: str) -> None:
    values = integers(type, 300, np.random.default_rng(3))
    found = _evaluate(name, type, result, [values])
    width = WIDTHS[type]
    for x, y in zip(values, found, strict=True):
        wanted = int(x) % (1 << width) if name == "uitofp" else int(x)
        if not np.isfinite(y):
            assert result == "f16"
            assert abs(wanted) >= 65520
            continue
        with np.errstate(over="ignore"):
            neighbours = [np.nextafter(y, y.dtype.type(end)) for end in (np.inf, -np.inf)]
        for other in neighbours:
            if np.isfinite(other):
                assert abs(Fraction(float(y)) - wanted) <= abs(Fraction(float(other)) - wanted), x


@pytest.mark.parametrize("result", ["f16", "bf16"])
def test_f64_is_rounded_once_to_16_bits(result: str) -> None:
    dtype = np.dtype(FLOATS[result])
    ties = [1 + 2.0**-11, 1 + 2.0**-8, 3 + 2.0**-10, 2.0**-24 * 1.5, 2.0**-133 * 1.5]
    for tie, nudge in product(ties, (2.0**-40, -(2.0**-40))):
        value = tie * (1 + nudge)
        found = float(to_dtype(np.array([value]), dtype)[0])
        for other in (found + step for step in (2.0**-10, -(2.0**-10), 2.0**-24, 2.0**-7, -(2.0**-7))):
            rounded = float(np.array([other]).astype(dtype)[0])
            assert abs(Fraction(found) - Fraction(value)) <= abs(Fraction(rounded) - Fraction(value))
