"""The target cuda: what it says without a GPU, and what it does with one that the emulator plays."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import bb
import numpy as np
import pytest
from fake_cupy import DeviceArray, FakeCupy

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOFTMAX = EXAMPLES / "softmax.mlir"
NARROW = """
func.func @narrow(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x32xf32> {
  %half = array.slice %w offsets [0, 32] sizes [64, 32] : tensor<64x64xf32> -> tensor<64x32xf32>
  %out = array.matmul %x, %half : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
  func.return %out : tensor<8x32xf32>
}
"""


def with_cupy(monkeypatch: pytest.MonkeyPatch, cupy: object) -> None:
    def load(name: str) -> Any:
        if name == "cupy" and isinstance(cupy, Exception):
            raise cupy
        return cupy if name == "cupy" else importlib.__import__(name)

    monkeypatch.setattr("bb.runtime.cuda_device.importlib.import_module", load)


@pytest.mark.parametrize(
    ("cupy", "message"),
    [
        (ImportError("No module named 'cupy'"), "needs CuPy, which cannot be imported: install bb-compiler"),
        (FakeCupy(devices=0), "the driver knows of none"),
        (FakeCupy(capability="75"), "compute capability 7.5, generated code needs 8.0"),
    ],
)
def test_without_a_device(cupy: object, message: str, monkeypatch: pytest.MonkeyPatch):
    with_cupy(monkeypatch, cupy)
    with pytest.raises(bb.InputError, match=message):
        bb.compile(SOFTMAX, target="cuda")


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch):
    cupy = FakeCupy()

    def fail() -> int:
        raise RuntimeError("cudaErrorInsufficientDriver")

    cupy.cuda.runtime.getDeviceCount = fail
    with_cupy(monkeypatch, cupy)
    with pytest.raises(bb.InputError, match="needs an NVIDIA GPU and its driver: cudaErrorInsufficient"):
        bb.compile(SOFTMAX, target="cuda")


def test_arrays_stay_on_the_device(monkeypatch: pytest.MonkeyPatch):
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    softmax = bb.compile(SOFTMAX, target="cuda")
    x = np.random.default_rng(0).standard_normal((150, 96)).astype(np.float32)
    wanted = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    given = cupy.asarray(x)
    result = softmax(given)
    assert isinstance(result, DeviceArray)
    assert np.allclose(result.host, wanted, atol=1e-6)
    assert cupy.launches[0][1] == (128,)
    out = cupy.empty((150, 96), np.float32)
    assert softmax(given, out=out) is out
    assert np.allclose(out.host, wanted, atol=1e-6)
    assert cupy.modules == 1, "a source is compiled once"
    with pytest.raises(bb.InputError, match="lies in the CPU's memory, expected an array on the GPU"):
        softmax(x)
    with pytest.raises(bb.InputError, match=r"has extent 149 on axis 0, expected 150"):
        softmax(cupy.asarray(x[:149]))


def test_views_on_the_device(monkeypatch: pytest.MonkeyPatch):
    """What is sliced is no row-major array: the kernel takes strides then."""
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    narrow = bb.compile(NARROW, target="cuda")
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 64), (64, 64)))
    assert np.allclose(narrow(cupy.asarray(x), cupy.asarray(w)).host, x @ w[:, 32:], atol=1e-4)


@pytest.mark.parametrize(
    ("cupy", "message"),
    [
        (FakeCupy(shared=1024), "of shared memory, the GPU has 1.0 KiB for a block: kernel-place-cuda"),
        (FakeCupy(registers=4096), r"registers for a block of \d+ threads, the GPU has 65536"),
    ],
)
def test_too_little_of_something(cupy: FakeCupy, message: str, monkeypatch: pytest.MonkeyPatch):
    with_cupy(monkeypatch, cupy)
    narrow = bb.compile(NARROW, target="cuda")
    with pytest.raises(bb.InputError, match=message):
        narrow(cupy.empty((8, 64), np.float32), cupy.empty((64, 64), np.float32))


def test_gpu_check_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from bb.tools import gpu_check

    with_cupy(monkeypatch, FakeCupy(devices=0))
    assert gpu_check.main([]) == 0
    assert "nothing to check: the target cuda needs an NVIDIA GPU" in capsys.readouterr().out


def test_gpu_check_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch):
    from bb.tools import gpu_check
    from rich.console import Console

    with_cupy(monkeypatch, FakeCupy())
    monkeypatch.setattr(gpu_check, "TYPES", ("f32",))
    assert gpu_check.check_examples(["softmax"], Console(), float("inf")) == []
    monkeypatch.setattr(gpu_check, "BOUNDS", {"f32": 1e-12})
    found = gpu_check.check_examples(["softmax"], Console(), float("inf"))
    assert any("softmax in f32: @softmax is off by" in text for text in found)


def test_programs_that_are_timed_compile():
    from bb.runtime.cuda_library import CudaLibrary
    from bb.runtime.lowered_program import CompileOptions
    from bb.tools.gpu_check import CASES

    for case in CASES[::5]:
        library = CudaLibrary(bb.parse(case.text), CompileOptions(target="cuda"))
        assert "bb::contract" in library.source, case.name
