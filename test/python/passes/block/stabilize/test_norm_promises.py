"""Promises for norms, on each pipeline that users get, with whole rows and cut ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.passes.block.fuse import BlockFusePass
from bb.runtime.api import compile_all
from bb.runtime.interpreter.functions import interpret
from numpy.typing import NDArray

pytestmark = pytest.mark.long

Array = NDArray[np.float32]
Wide = NDArray[np.longdouble]

M, N = 5, 6
SHORT, LONG = 24, 300
"""Extents of rows: of one block on the CPU, and of two where a product follows."""
EPS = 1e-12

PROGRAM = """
func.func @layer_norm(%x: tensor<5xKxf32>) -> tensor<5xKxf32> {
  %n = array.layer_norm %x eps 1.0e-12 : tensor<5xKxf32>
  func.return %n : tensor<5xKxf32>
}
func.func @rms_norm(%x: tensor<5xKxf32>) -> tensor<5xKxf32> {
  %n = array.rms_norm %x eps 1.0e-38 : tensor<5xKxf32>
  func.return %n : tensor<5xKxf32>
}
func.func @by_hand(%x: tensor<5xKxf32>) -> tensor<5xKxf32> {
  %s = array.reduce sum %x axes [1] keepdims : tensor<5xKxf32> -> tensor<5x1xf32>
  %q = array.elementwise (%a = %x) : tensor<5xKxf32> -> tensor<5xKxf32> {
    %m = arith.mulf %a, %a : f32
    array.yield %m : f32
  }
  %t = array.reduce sum %q axes [1] keepdims : tensor<5xKxf32> -> tensor<5x1xf32>
  %y = array.elementwise (%a = %x, %b = %s, %c = %t)
      : tensor<5xKxf32>, tensor<5x1xf32>, tensor<5x1xf32> -> tensor<5xKxf32> {
    %n = arith.constant K.0 : f32
    %e = arith.constant 1.0e-12 : f32
    %mean = arith.divf %b, %n : f32
    %mean2 = arith.divf %c, %n : f32
    %square = arith.mulf %mean, %mean : f32
    %v = arith.subf %mean2, %square : f32
    %ve = arith.addf %v, %e : f32
    %r = math.rsqrt %ve : f32
    %z = arith.subf %a, %mean : f32
    %w = arith.mulf %z, %r : f32
    array.yield %w : f32
  }
  func.return %y : tensor<5xKxf32>
}
func.func @layer_norm_product(%x: tensor<5xKxf32>, %g: tensor<Kxf32>, %w: tensor<Kx6xf32>)
    -> tensor<5x6xf32> {
  %n = array.layer_norm %x scale(%g : tensor<Kxf32>) eps 1.0e-12 : tensor<5xKxf32>
  %y = array.matmul %n, %w : tensor<5xKxf32>, tensor<Kx6xf32> -> tensor<5x6xf32>
  func.return %y : tensor<5x6xf32>
}
func.func @rms_norm_product(%x: tensor<5xKxf32>, %g: tensor<Kxf32>, %w: tensor<Kx6xf32>)
    -> tensor<5x6xf32> {
  %n = array.rms_norm %x scale(%g : tensor<Kxf32>) eps 1.0e-38 : tensor<5xKxf32>
  %y = array.matmul %n, %w : tensor<5xKxf32>, tensor<Kx6xf32> -> tensor<5x6xf32>
  func.return %y : tensor<5x6xf32>
}
"""
NAMES = ("layer_norm", "by_hand", "rms_norm", "layer_norm_product", "rms_norm_product")
Function = Callable[..., NDArray[np.floating]]


def text(name: str, width: int) -> str:
    start = PROGRAM.index(f"func.func @{name}(")
    return PROGRAM[start : PROGRAM.index("\n}\n", start) + 3].replace("K", str(width))


@cache
def interpreted(name: str, width: int, whole: bool, snapshot: str) -> Function:
    module = PassPipeline("array-decompose,array-to-block").run(
        parse_module(text(name, width), "program.mlir")
    )
    dims = ("N",) if whole and "product" not in name else ()
    if snapshot == "first":
        module = PassPipeline([BlockFusePass(extend=False, whole=dims)]).run(module)
    else:
        module = PassPipeline([BlockFusePass(whole=dims)]).run(module)
    module = PassPipeline("block-stabilize").run(module)

    def call(*arrays: Array) -> NDArray[np.floating]:
        return interpret(module, [a.astype(np.float64) for a in arrays], default_block_size=7).results[0]

    return call


@cache
def compiled(target: str, width: int) -> dict[str, Function]:
    names = NAMES if target == "cpu" else ("by_hand",)
    module = parse_module("".join(text(name, width) for name in names), "program.mlir")
    return dict(compile_all(module, target=target).items())


PIPELINES = {
    "interpreter, cut": lambda name: (interpreted(name, SHORT, False, "last"), SHORT),
    "interpreter, cut, first": lambda name: (interpreted(name, SHORT, False, "first"), SHORT),
    "interpreter, whole": lambda name: (interpreted(name, SHORT, True, "first"), SHORT),
    "cpu, whole": lambda name: (compiled("cpu", SHORT)[name], SHORT),
    "cpu, long": lambda name: (compiled("cpu", LONG)[name], LONG),
    "emulator": lambda name: (compiled("emulator", SHORT).get(name), SHORT),
}
EVERYWHERE = pytest.mark.parametrize("pipeline", PIPELINES)
EACH = pytest.mark.parametrize("name", NAMES)


def function(pipeline: str, name: str) -> tuple[Function, int]:
    found, width = PIPELINES[pipeline](name)
    if found is None:
        pytest.skip("one program is enough for the emulator")
    return found, width


def norm(name: str, x: NDArray[np.floating]) -> NDArray[np.floating]:
    """Two passes, in the type of x."""
    eps = x.dtype.type(1e-38 if "rms" in name else EPS)
    with np.errstate(all="ignore"):
        centred = x if "rms" in name else x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + eps)


def check(pipeline: str, name: str, x: Array) -> None:
    """The error is at most 4 times that of two passes, or some units, of the row's largest element."""
    call, width = function(pipeline, name)
    rng = np.random.default_rng(1)
    g, w = rng.standard_normal(width).astype(np.float32), rng.standard_normal((width, N)).astype(np.float32)
    wanted, two = norm(name, x.astype(np.longdouble)), norm(name, x)
    rest = (g, w) if "product" in name else ()
    if rest:
        wanted, two = (wanted * g) @ w.astype(np.longdouble), (two * g) @ w
    largest = np.max(np.abs(wanted), axis=1, keepdims=True)
    largest[largest == 0] = 1
    allowed = np.max(np.abs(two - wanted) / largest)
    # A product adds the rounding of its own sums.
    floor = 5e-6 if rest else 2e-6
    allowed = max(4 * allowed, floor) if np.isfinite(allowed) else floor
    error = np.max(np.abs(call(x, *rest) - wanted) / largest)
    assert error <= allowed, (error, allowed)


def rows(width: int, mean: float = 0.0, scale: float = 1.0, seed: int = 0) -> Array:
    with np.errstate(over="ignore"):
        normal = np.random.default_rng(seed).standard_normal((M, width))
        return ((normal + mean) * scale).astype(np.float32)


@EVERYWHERE
@EACH
def test_means_up_to_1e6_deviations(name: str, pipeline: str):
    width = function(pipeline, name)[1]
    for seed, mean in enumerate((0.0, 3.0, -1e2, 1e4, 1e6)):
        check(pipeline, name, rows(width, mean, 1.0, seed))


@EVERYWHERE
@EACH
def test_rows_of_any_scale(name: str, pipeline: str):
    """From 1e-37 to 3e38; in LayerNorms, epsilon hides what is far below 1e-6."""
    width = function(pipeline, name)[1]
    for seed, exponent in enumerate((-36, -30, -24, -20, -12, -6, 6, 15, 18, 19, 20, 25, 30, 36, 37)):
        if "rms" in name or exponent >= -24:
            check(pipeline, name, rows(width, 0.0, 10.0**exponent, seed))
        if exponent >= -20 and exponent <= 36:
            check(pipeline, name, rows(width, 30.0, 10.0**exponent, seed))
    largest = np.float32(3e38) * np.sign(rows(width))
    check(pipeline, name, largest)


@EVERYWHERE
@EACH
def test_outliers_of_any_size_anywhere(name: str, pipeline: str):
    """The largest element may come last, in a row that begins with small ones or with zeros."""
    width = function(pipeline, name)[1]
    for seed, outlier in enumerate((1e3, 1e16, 1e25, 3e38)):
        x = rows(width, seed=seed)
        x[0, 0], x[1, -1], x[2, width // 2] = outlier, -outlier, outlier
        x[3, :-1] = 0
        x[3, -1] = outlier
        check(pipeline, name, x)


@EVERYWHERE
@EACH
def test_constant_rows_are_zero(name: str, pipeline: str):
    call, width = function(pipeline, name)
    if "rms" in name:
        return
    rest = (np.ones(width, np.float32), np.ones((width, N), np.float32)) if "product" in name else ()
    for value in (0.0, 0.1, -1e6, 1.1e9, 1e18, 1e30, -1e-30, 3e38):
        assert not np.any(call(np.full((M, width), value, np.float32), *rest)), value


@EVERYWHERE
@EACH
def test_nan_and_infinity_are_not_hidden(name: str, pipeline: str):
    call, width = function(pipeline, name)
    rest = (np.ones(width, np.float32), np.ones((width, N), np.float32)) if "product" in name else ()
    for value in (np.nan, np.inf):
        x = rows(width)
        x[2, 5] = value
        got = call(x, *rest)
        assert np.isnan(got[2]).any()
        assert np.isfinite(np.delete(got, 2, axis=0)).all()
