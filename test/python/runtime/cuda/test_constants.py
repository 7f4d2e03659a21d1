"""Constants of programs for GPUs: what depends on them alone is computed once, and stays on the device."""

from __future__ import annotations

import gc
from typing import Any

import bb
import ml_dtypes
import numpy as np
import pytest
from bb.runtime.checking.tolerances import BOUNDS, compare
from fake_cupy import FakeCupy, with_cupy

pytestmark = pytest.mark.long

X, G, W, Y = "tensor<20x192xbf16>", "tensor<192xbf16>", "tensor<192x136xbf16>", "tensor<20x136xbf16>"
FOLDED = f"""
func.func @folded(%x: {X}, %g: {G}, %w: {W}) -> {Y} {{
  %y = array.layer_norm %x scale(%g : {G}) eps 1.000000e-05 : {X}
  %o = array.matmul %y, %w : {X}, {W} -> {Y}
  func.return %o : {Y}
}}
"""
TRANSPOSED = """
func.func @transposed(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>)
    -> (tensor<8x32xbf16>, tensor<64x32xbf16>) {
  %t = array.transpose %w perm [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %o = array.matmul %x, %t : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  func.return %o, %t : tensor<8x32xbf16>, tensor<64x32xbf16>
}
"""


def numbers(seed: int, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]


def arrays(seed: int) -> list[Any]:
    return numbers(seed, (20, 192), (192,), (192, 136))


def near(found: Any, x: Any, g: Any, w: Any) -> bool:
    """True if a result is what float64 gives, to the bits that bfloat16 has."""
    return compare(found, exact(x, g, w), BOUNDS["bf16"]).within


def exact(x: Any, g: Any, w: Any) -> Any:
    x, g, w = (array.astype(np.float64) for array in (x, g, w))
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g @ w


def launches(executable: Any) -> list[str]:
    return [report.kernel for report in executable.library.reports]


ONCE, EVERY = ["bbk_folded_kernel1", "bbk_folded_kernel2"], ["bbk_folded_kernel3"]


def test_what_depends_on_constants_is_launched_once():
    folded = bb.compile(FOLDED, target="emulator", constants=["g", "w"])
    (x, g, w), (other_x, other_g, other_w) = arrays(0), arrays(1)
    plain = folded(x, g, w)
    assert launches(folded) == ONCE + EVERY
    prepared = folded.prepare(g=g, w=w)
    assert launches(folded) == ONCE
    for _ in range(2):
        assert np.array_equal(prepared(x), plain)
        assert launches(folded) == EVERY
    # Another one has results of its own, and the first keeps its.
    another = folded.prepare(g=other_g, w=other_w)
    assert launches(folded) == ONCE
    assert near(another(x), x, other_g, other_w)
    assert near(prepared(other_x), other_x, g, w)
    assert launches(folded) == EVERY


def test_constants_that_were_not_declared():
    folded = bb.compile(FOLDED, target="emulator")
    x, g, w = arrays(0)
    prepared = folded.prepare(g=g, w=w)
    assert launches(prepared.executable) == ONCE
    assert near(prepared(x), x, g, w)
    assert launches(prepared.executable) == EVERY


def test_constants_stay_on_the_device(monkeypatch: pytest.MonkeyPatch):
    """In the CPU's memory, they are copied once; all is given back with what was prepared."""
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    folded = bb.compile(FOLDED, target="cuda", constants=["g", "w"])
    x, g, w = arrays(0)
    given = cupy.asarray(x)
    before = cupy.allocations
    prepared = folded.prepare(g=g, w=cupy.asarray(w))
    assert len(cupy.launches) == 2
    assert cupy.log[-1] == "synchronize 0", "calls may use other streams"
    kept = cupy.allocations
    for number in (1, 2):
        assert near(prepared(given).host, x, g, w)
        assert len(cupy.launches) == 2 + number
    gc.collect()
    assert cupy.allocations == kept, "a call keeps no memory"
    del prepared
    gc.collect()
    assert cupy.allocations == before
    with pytest.raises(
        bb.InputError, match=r"argument %w of 'folded' has extent 191 on axis 0, expected 192"
    ):
        folded.prepare(g=g, w=w[:191])
    with pytest.raises(bb.InputError, match=r"argument %x of 'folded' lies in the CPU's memory"):
        folded(x, g, w)


def test_views_of_constants(monkeypatch: pytest.MonkeyPatch):
    """A transposed weight is no copy, and as a result of the program it is one of the caller's own."""
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    x, w = numbers(0, (8, 64), (32, 64))
    prepared = bb.compile(TRANSPOSED, target="cuda").prepare(w=w)
    first, transposed = prepared(cupy.asarray(x))
    assert np.array_equal(transposed.host, w.T)
    transposed.host[...] = 0
    second, transposed = prepared(cupy.asarray(x))
    assert np.array_equal(transposed.host, w.T)
    wanted = x.astype(np.float64) @ w.T.astype(np.float64)
    for product in (first, second):
        assert compare(product.host, wanted, BOUNDS["bf16"]).within
