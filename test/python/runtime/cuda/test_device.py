"""The target cuda: what it says without a GPU, and what it does with one that the emulator plays."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, cast

import bb
import numpy as np
import pytest
from bb.runtime.cuda.compile import CudaCompilerError
from bb.runtime.cuda.memory import CudaMemory
from fake_cupy import CompileException, DeviceArray, FakeCupy, RawKernel, RawModule, Stream, with_cupy
from paths import ROOT

EXAMPLES = ROOT / "examples"
SOFTMAX = EXAMPLES / "softmax.mlir"
NARROW = """
func.func @narrow(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x32xf32> {
  %half = array.slice %w offsets [0, 32] sizes [64, 32] : tensor<64x64xf32> -> tensor<64x32xf32>
  %out = array.matmul %x, %half : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
  func.return %out : tensor<8x32xf32>
}
"""


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
    """A slice is no row-major array: the kernel then reads its strides."""
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


class TorchTensor:
    """As much of a torch tensor as tells one, on a device array."""

    __module__ = "torch"

    def __init__(self, array: Any, device: tuple[int, int] = (2, 0)):
        self.array, self.device, self.is_cuda = array, device, device[0] == 2

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)


def test_work_goes_to_the_stream_of_torch(monkeypatch: pytest.MonkeyPatch):
    """Between what CuPy's own stream did before, and what it will do with the result."""
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    stream = SimpleNamespace(__cuda_stream__=lambda: (0, 7))
    torch = SimpleNamespace(cuda=SimpleNamespace(current_stream=lambda: stream))
    monkeypatch.setitem(sys.modules, "torch", cast(Any, torch))
    softmax = bb.compile(SOFTMAX, target="cuda")
    x = np.random.default_rng(0).standard_normal((150, 96)).astype(np.float32)
    given = TorchTensor(cupy.asarray(x))
    result = softmax(given)
    assert cupy.log == ["7 waits for 0", "launch to 7", "0 waits for 7"]
    softmax(given, out=result)
    stream.__cuda_stream__ = lambda: (0, 0)
    cupy.log.clear()
    assert np.array_equal(softmax(given).host, result.host)
    assert cupy.log == ["launch to 0"]
    with pytest.raises(
        bb.InputError, match=r"%x of 'softmax' is on GPU 1, expected one on the current GPU, 0"
    ):
        softmax(TorchTensor(given.array, (2, 1)))
    with pytest.raises(
        bb.InputError, match=r"%x of 'softmax' is on another device \(CPU\), expected an array on"
    ):
        softmax(TorchTensor(given.array, (1, 0)))


@pytest.mark.parametrize("cupy_version", [13, 14])
@pytest.mark.parametrize("torch_version", ["2.9", "2.10"])
def test_streams_of_older_libraries(monkeypatch: pytest.MonkeyPatch, cupy_version: int, torch_version: str):
    """torch has the stream protocol from 2.10 on, CuPy from 14 on."""
    cupy = FakeCupy()
    if cupy_version == 13:
        cupy.like_version_13()
    with_cupy(monkeypatch, cupy)
    stream = SimpleNamespace(cuda_stream=7)
    if torch_version == "2.10":
        stream.__cuda_stream__ = lambda: (0, 7)
    torch = SimpleNamespace(cuda=SimpleNamespace(current_stream=lambda: stream))
    monkeypatch.setitem(sys.modules, "torch", cast(Any, torch))
    with CudaMemory().session([TorchTensor(cupy.empty((2, 2), np.float32))]):
        assert cupy.cuda.get_current_stream().ptr == 7
    assert cupy.log == ["7 waits for 0", "0 waits for 7"]


def test_what_an_output_may_not_be(monkeypatch: pytest.MonkeyPatch):
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    softmax = bb.compile(SOFTMAX, target="cuda")
    given = cupy.empty((150, 96), np.float32)
    with pytest.raises(bb.InputError, match="result 0 of 'softmax' shares memory with argument %x"):
        softmax(given, out=given)
    row = cupy.empty((1, 96), np.float32)
    row.host = np.lib.stride_tricks.as_strided(row.host, (150, 96), (0, 4))
    with pytest.raises(bb.InputError, match="elements of result 0 of 'softmax' share memory"):
        softmax(given, out=row)


LOG = """/somewhere/y.cu(9): error: identifier "three" is undefined
    int y = three;
            ^

1 error detected in the compilation of "/somewhere/y.cu".
"""


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        (
            "get_function",
            CompileException(LOG),
            r'^program\.cu:9:11: error: identifier "three" is undefined \(for sm_80\)',
        ),
        (
            "get_function",
            RuntimeError("CUDA_ERROR_X:\n no"),
            "'bbk_softmax_kernel1' cannot be loaded: CUDA_ERROR_X",
        ),
        ("__call__", RuntimeError("CUDA_ERROR_Y"), "'bbk_softmax_kernel1' cannot be launched: CUDA_ERROR_Y"),
        ("synchronize", RuntimeError("CUDA_ERROR_Z"), "the GPU failed: CUDA_ERROR_Z"),
    ],
)
def test_what_the_device_refuses(where: str, error: Exception, message: str, monkeypatch: pytest.MonkeyPatch):
    """CuPy's errors come out as sentences: no source, no driver, no device is taken to be right."""
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)

    def fail(*arguments: object, **options: object) -> None:
        raise error

    owner = {"get_function": RawModule, "__call__": RawKernel, "synchronize": Stream}[where]
    monkeypatch.setattr(owner, where, fail)
    softmax = bb.compile(SOFTMAX, target="cuda")
    with pytest.raises((bb.InputError, CudaCompilerError), match=message) as raised:
        softmax.prepare(x=cupy.empty((150, 96), np.float32))
    assert "\n" not in str(raised.value)


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch):
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    softmax = bb.compile(SOFTMAX, target="cuda")
    given = cupy.empty((150, 96), np.float32)

    def fail(shape: object, dtype: object) -> None:
        raise MemoryError("Out of memory allocating 57,600 bytes")

    monkeypatch.setattr(cupy, "empty", fail)
    with pytest.raises(bb.InputError, match=r"%probs of 'softmax_kernel1' does not fit into the GPU's"):
        softmax(given)
