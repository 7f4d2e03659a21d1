"""Functions of the CUDA tile library against numpy in f64: errors, limits, NaN. In both tiers.

What the emulator cannot tell is the error of the GPU's own approximate instructions, which it takes from the
C library. So bounds are those of the formulas; the PTX ISA has the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from bb.runtime.cuda.compile import cuda_compiler_problem
from bb.runtime.cuda.emulator import EmulatedModule
from bb.runtime.cuda.ptx import PtxModule
from cuda_tile_cases import source_of

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason="CuPy is not installed")

TINY = 2.0**-126  # the least number that is not flushed to zero
ULP = 2.0**-23
Function = Callable[..., np.ndarray]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1.0 + e)


def _silu(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, -0.0, np.where(x == -np.inf, 0.0, x) * _sigmoid(x))


def _gelu(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, 0.0, x) * (0.5 + 0.5 * _erf(x / math.sqrt(2.0)))


def _inverse(x: np.ndarray) -> np.ndarray:
    # A GPU flushes what is below the least normal number to zero, and so here.
    return np.copysign(1.0, x) / np.abs(np.where(np.abs(x) < TINY, 0.0, x))


# Number in functions.cu, numpy's, the largest error: in units in the last place.
EXACT: dict[str, tuple[int, Function, float]] = {
    "exp": (0, np.exp, 2.0),
    "exp2": (1, np.exp2, 2.0),
    "expm1": (2, np.expm1, 2.0),
    "log": (3, np.log, 2.0),
    "log2": (4, np.log2, 2.0),
    "log1p": (5, np.log1p, 2.0),
    "tanh": (6, np.tanh, 2.0),
    "erf": (7, _erf, 2.0),
    "sigmoid": (8, _sigmoid, 3.0),
    "silu": (9, _silu, 5.0),
    "sin": (11, np.sin, 2.0),
    "cos": (12, np.cos, 2.0),
    "sqrt": (13, np.sqrt, 0.501),
    "rsqrt": (
        14,
        lambda x: 1.0 / np.sqrt(np.abs(np.where(np.abs(x) < TINY, 0.0, x))) * np.where(x < 0, np.nan, 1),
        2.0,
    ),
    "recip": (15, _inverse, 0.501),
    "abs": (16, np.abs, 0.0),
    "floor": (17, np.floor, 0.0),
    "ceil": (18, np.ceil, 0.0),
}
# Number, numpy's, the relative error of the formula as a function of x, and where it is promised.
FAST: dict[str, tuple[int, Function, Function, tuple[float, float]]] = {
    "exp": (27, np.exp, lambda x: ULP * (1 + np.abs(x)), (-87.0, 88.0)),
    "exp2": (28, np.exp2, lambda x: ULP + 0 * x, (-125.0, 127.0)),
    "log": (29, np.log, lambda x: 2 * ULP + 0 * x, (2.0, 1e30)),
    "log2": (30, np.log2, lambda x: ULP + 0 * x, (2.0, 1e30)),
    "tanh": (31, np.tanh, lambda x: 2.0**-20 + 0 * x, (-30.0, 30.0)),
    "sigmoid": (32, _sigmoid, lambda x: ULP * (4 + np.abs(x)), (-87.0, 88.0)),
    "silu": (33, _silu, lambda x: ULP * (4 + np.abs(x)), (-87.0, 88.0)),
    "sqrt": (34, np.sqrt, lambda x: ULP + 0 * x, (1e-30, 1e30)),
    "rsqrt": (35, lambda x: 1.0 / np.sqrt(x), lambda x: 2 * ULP + 0 * x, (1e-30, 1e30)),
    "recip": (36, lambda x: 1.0 / x, lambda x: ULP + 0 * x, (1e-30, 1e30)),
}


@pytest.fixture(scope="module", params=["source", pytest.param("sm_80", marks=needs_nvrtc)])
def module(request: pytest.FixtureRequest) -> EmulatedModule | PtxModule:
    source = source_of("functions")
    if request.param == "source":
        return EmulatedModule(source, file_name="functions.cu")
    return PtxModule(source, arch=request.param, file_name="functions.cu")


def call(
    module: EmulatedModule | PtxModule, which: int, x: np.ndarray, z: np.ndarray | None = None
) -> np.ndarray:
    y = np.empty_like(x)
    second = x if z is None else z
    arguments = (x, second, y, np.int32(len(x)), np.int32(which))
    module.get_function("functions")((-(-len(x) // 256),), (256,), arguments)
    return y


def everywhere() -> np.ndarray:
    """Normal numbers of all magnitudes, whole ones, and around 1."""
    generator = np.random.default_rng(20)
    exponents = generator.integers(-120, 120, 1500)
    logarithmic = np.ldexp(generator.uniform(1, 2, 1500), exponents) * generator.choice([-1, 1], 1500)
    uniform = [generator.uniform(-limit, limit, 700) for limit in (1.0, 20.0, 100.0)]
    return np.concatenate(
        [logarithmic, *uniform, np.arange(-40, 41), 1 + generator.normal(size=200) * 1e-3]
    ).astype(np.float32)


def ulps(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Errors in units in the last place; numbers that are flushed to zero, or infinite, have none."""
    unit = np.maximum(np.abs(expected), TINY)
    unit = 2.0 ** (np.floor(np.log2(unit)) - 23)
    limit = float(np.finfo(np.float32).max)
    same = (np.abs(expected) < TINY) & (np.abs(got) <= TINY)
    same |= (np.abs(expected) >= limit) & (np.abs(got) >= limit) & (np.sign(got) == np.sign(expected))
    return np.where(same, 0.0, np.abs(got - np.clip(expected, -limit, limit)) / unit)


@pytest.mark.parametrize("name", EXACT)
@np.errstate(all="ignore")
def test_errors(module: EmulatedModule | PtxModule, name: str) -> None:
    which, function, bound = EXACT[name]
    x = everywhere()
    expected = function(x.astype(np.float64))
    got = call(module, which, x).astype(np.float64)
    assert (np.isnan(got) == np.isnan(expected)).all()
    number = ~np.isnan(expected)
    error = ulps(got[number], expected[number])
    assert error.max() <= bound, x[number][error.argmax()]


@np.errstate(all="ignore")
def test_gelu_has_a_small_absolute_error(module: EmulatedModule | PtxModule) -> None:
    x = everywhere()
    expected = _gelu(x.astype(np.float64))
    error = np.abs(call(module, 10, x) - expected) / np.maximum(1.0, np.abs(expected))
    assert error.max() <= 2e-7


@pytest.mark.parametrize("name", FAST)
def test_errors_of_fast_functions(module: EmulatedModule | PtxModule, name: str) -> None:
    which, function, bound, (low, high) = FAST[name]
    generator = np.random.default_rng(21)
    x = generator.uniform(low, high, 3000)
    if high == 1e30:
        x = np.exp(generator.uniform(np.log(low), np.log(high), 3000))
    x = x.astype(np.float32)
    wide = x.astype(np.float64)
    expected = function(wide)
    error = np.abs(call(module, which, x) / expected - 1)
    assert (error <= bound(wide)).all(), x[(error / bound(wide)).argmax()]


def test_weights_of_a_softmax_have_a_small_absolute_error(module: EmulatedModule | PtxModule) -> None:
    x = -np.random.default_rng(22).exponential(20, 4000).astype(np.float32)
    error = np.abs(call(module, 27, x) - np.exp(x.astype(np.float64)))
    assert error.max() <= 2.0**-22  # and the instruction's 2^-22 on a GPU


def test_small_numbers_have_a_tangent_themselves(module: EmulatedModule | PtxModule) -> None:
    x = np.array([1e-30, -1e-20, 1e-6, -1e-3, 0.0], np.float32)
    for which in (6, 31):
        np.testing.assert_allclose(call(module, which, x), np.tanh(x.astype(np.float64)), rtol=1e-6)


LIMITS: dict[str, tuple[int, float, float]] = {
    "exp": (0, 0.0, math.inf),
    "expm1": (2, -1.0, math.inf),
    "tanh": (6, -1.0, 1.0),
    "erf": (7, -1.0, 1.0),
    "sigmoid": (8, 0.0, 1.0),
    "silu": (9, 0.0, math.inf),
    "gelu": (10, 0.0, math.inf),
    "fast exp": (27, 0.0, math.inf),
    "fast tanh": (31, -1.0, 1.0),
    "fast sigmoid": (32, 0.0, 1.0),
    "fast silu": (33, 0.0, math.inf),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(module: EmulatedModule | PtxModule, name: str) -> None:
    which, below, above = LIMITS[name]
    x = np.array([-np.inf, np.inf, np.nan, -1e30, 1e30], np.float32)
    got = call(module, which, x)
    above_all = np.float32(1e30 if name.endswith(("silu", "gelu")) else above)
    np.testing.assert_array_equal(got, np.array([below, above, np.nan, below, above_all], np.float32))


def test_logarithms_and_roots_of_zero_and_less(module: EmulatedModule | PtxModule) -> None:
    x = np.array([0.0, -0.0, -1.0, np.inf], np.float32)
    for which in (3, 4, 29, 30):
        np.testing.assert_array_equal(
            call(module, which, x), np.array([-np.inf, -np.inf, np.nan, np.inf], np.float32)
        )
    np.testing.assert_array_equal(call(module, 14, x), np.array([np.inf, np.inf, np.nan, 0.0], np.float32))


def test_two_arguments(module: EmulatedModule | PtxModule) -> None:
    generator = np.random.default_rng(23)
    x = generator.uniform(0.1, 30, 1000).astype(np.float32)
    z = generator.uniform(-12, 12, 1000).astype(np.float32)
    wide_x, wide_z = x.astype(np.float64), z.astype(np.float64)
    assert ulps(call(module, 19, x, z).astype(np.float64), wide_x**wide_z).max() <= 4
    np.testing.assert_allclose(call(module, 37, x, z), wide_x / wide_z, rtol=2**-22)
    assert ulps(call(module, 38, x, z).astype(np.float64), wide_x * wide_z + 1).max() <= 0.501
    x[:2], z[1:3] = np.nan, np.nan
    np.testing.assert_array_equal(call(module, 20, x, z), np.fmax(x, z))
    np.testing.assert_array_equal(call(module, 21, x, z), np.fmin(x, z))
    np.testing.assert_array_equal(call(module, 22, x, z), np.maximum(x, z))
    np.testing.assert_array_equal(call(module, 23, x, z), np.minimum(x, z))


@np.errstate(over="ignore")
def test_conversions(module: EmulatedModule | PtxModule) -> None:
    x = everywhere()
    x = x[np.abs(x) > 2.0**-14]
    np.testing.assert_array_equal(call(module, 24, x), x.astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_array_equal(call(module, 25, x), x.astype(np.float16).astype(np.float32))
    whole = np.clip(np.trunc(x.astype(np.float64)), -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(call(module, 26, x), whole.astype(np.float32))
