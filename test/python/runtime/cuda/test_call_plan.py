"""Repeated calls on a GPU that the emulator plays: with CuPy's arrays they go a short way, and are right."""

from __future__ import annotations

from typing import Any

import bb
import ml_dtypes
import numpy as np
import pytest
from bb.runtime.executable.call import Call
from fake_cupy import FakeCupy, with_cupy

# Two kernels with an array between them, and a view of an argument that the host makes.
PROGRAM = """
func.func @rows(%x: tensor<9x32xTYPE>, %w: tensor<32x48xTYPE>) -> tensor<9x16xTYPE> {
  %part = array.slice %w offsets [0, 16] sizes [32, 16] : tensor<32x48xTYPE> -> tensor<32x16xTYPE>
  %y = array.matmul %x, %part : tensor<9x32xTYPE>, tensor<32x16xTYPE> -> tensor<9x16xTYPE>
  %out = array.softmax %y axis 1 : tensor<9x16xTYPE>
  func.return %out : tensor<9x16xTYPE>
}
"""


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    fake = FakeCupy()
    with_cupy(monkeypatch, fake)
    return fake


def compiled(type: str = "f32") -> bb.Executable:
    return bb.compile(PROGRAM.replace("TYPE", type), target="cuda", pipeline=UNFUSED)


UNFUSED = (
    "array-decompose,array-simplify-views,array-to-block,block-shapes{device=gpu},block-stabilize,"
    "block-to-kernel{lanes=cols},kernel-place-cuda"
)


def wanted(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    y = np.exp(x.astype(float) @ w[:, 16:32].astype(float))
    return y / y.sum(axis=1, keepdims=True)


def arrays(seed: int, dtype: Any = np.float32) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    x, w = random.standard_normal((9, 32)), 0.2 * random.standard_normal((32, 48))
    return x.astype(dtype), w.astype(dtype)


@pytest.fixture
def long_ways(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that grows by each call that goes the long way."""
    found: list[object] = []
    original = Call.run

    def run(call: Any) -> Any:
        found.append(call)
        return original(call)

    monkeypatch.setattr(Call, "run", run)
    return found


def test_calls_with_arrays_of_the_same_layout(cupy: FakeCupy, long_ways: list[object]):
    rows = compiled()
    launches: list[int] = []
    for seed in range(3):
        x, w = arrays(seed)
        before = len(cupy.launches)
        result = rows(cupy.asarray(x), cupy.asarray(w))
        launches.append(len(cupy.launches) - before)
        assert np.allclose(result.host, wanted(x, w), atol=1e-5)
    assert len(long_ways) == 1
    assert launches[0] > 1
    assert launches == launches[:1] * 3
    held = sum(cupy.allocations)
    for _ in range(3):
        rows(cupy.asarray(x), cupy.asarray(w))
    assert sum(cupy.allocations) == held, "what lies between kernels is given back"


def test_arrays_that_lie_otherwise(cupy: FakeCupy, long_ways: list[object]):
    rows = compiled()
    x, w = arrays(1)
    there, weight = cupy.asarray(x), cupy.asarray(w)
    rows(there, weight)
    wide = cupy.asarray(np.pad(x, ((0, 0), (1, 3))))
    for given in (wide[:, 1:33], wide[:, 1:33], there):  # rows of 36 elements that begin at 4 bytes
        assert np.allclose(rows(given, weight).host, wanted(x, w), atol=1e-5)
    assert len(long_ways) == 2
    with pytest.raises(bb.InputError, match="has extent 8 on axis 0, expected 9"):
        rows(there[:8], weight)


def test_results_in_given_arrays(cupy: FakeCupy, long_ways: list[object]):
    rows = compiled()
    x, w = arrays(2)
    given, weight = cupy.asarray(x), cupy.asarray(w)
    outs = [cupy.empty((9, 16), np.float32) for _ in range(2)]
    for out in outs:
        assert rows(given, weight, out=out) is out
        assert np.allclose(out.host, wanted(x, w), atol=1e-5)
    assert len(long_ways) == 1
    with pytest.raises(bb.InputError, match="result 0 of 'rows' shares memory with argument %w"):
        rows(given, weight, out=weight.reshape((-1,))[:144].reshape((9, 16)))


def test_weights_that_are_bound(cupy: FakeCupy, long_ways: list[object]):
    x, w = arrays(3, ml_dtypes.bfloat16)
    prepared = compiled("bf16").prepare(w=w)
    for seed in (4, 5):
        x, _ = arrays(seed, ml_dtypes.bfloat16)
        result = prepared(cupy.asarray(x))
        assert result.dtype == ml_dtypes.bfloat16
        assert np.allclose(result.host.astype(float), wanted(x, w), atol=0.02)
    assert len(long_ways) == 1


def test_arrays_on_another_device(cupy: FakeCupy, long_ways: list[object]):
    rows = compiled()
    x, w = (cupy.asarray(array) for array in arrays(6))
    rows(x, w)
    x.device_id = 1
    rows(x, w)
    assert len(long_ways) == 2, "the long way tells what is wrong"


def test_memory_that_is_not_there_the_second_time(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch):
    rows = compiled()
    x, w = (cupy.asarray(array) for array in arrays(7))
    rows(x, w)

    def fail(shape: object, dtype: object) -> None:
        raise MemoryError("Out of memory")

    monkeypatch.setattr(cupy, "empty", fail)
    with pytest.raises(bb.InputError, match="does not fit into the GPU's memory: Out of memory"):
        rows(x, w)
