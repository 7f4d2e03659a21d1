"""As much of torch as `bb.tools.gpu_check` uses, on numpy; its tensors lie on the device of `FakeCupy`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from fake_cupy import DeviceArray, FakeCupy


class Tensor:
    __module__ = "torch"
    is_cuda = True
    device = "cuda:0"

    def __init__(self, host: Any, cupy: FakeCupy):
        self.array = host if isinstance(host, DeviceArray) else cupy.asarray(host)
        self.cupy = cupy
        self.dtype = self.array.host.dtype

    def wide(self) -> Any:
        host = self.array.host
        return host if host.dtype == bool else host.astype(np.float32)

    def _like(self, value: Any) -> Tensor:
        return Tensor(np.asarray(value).astype(self.dtype), self.cupy)

    def cuda(self) -> Tensor:
        return self

    def to(self, dtype: Any) -> Tensor:
        return Tensor(self.array.host.astype(dtype), self.cupy)

    def float(self) -> Tensor:
        return self.to(np.float32)

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.array.host

    def unsqueeze(self, axis: int) -> Tensor:
        return self._like(np.expand_dims(self.wide(), axis))

    def transpose(self, one: int, other: int) -> Tensor:
        return self._like(self.wide().swapaxes(one, other))

    def triu(self, diagonal: int) -> Tensor:
        return self._like(np.triu(self.array.host, diagonal))

    def masked_fill(self, mask: Tensor, value: float) -> Tensor:
        return self._like(np.where(mask.array.host, value, self.wide()))

    def __getitem__(self, index: int) -> Tensor:
        return self._like(self.wide()[index])

    def __matmul__(self, other: Tensor) -> Tensor:
        return self._like(self.wide() @ other.wide())

    def __mul__(self, other: Any) -> Tensor:
        return self._like(self.wide() * (other.wide() if isinstance(other, Tensor) else other))

    def __add__(self, other: Tensor) -> Tensor:
        return self._like(self.wide() + other.wide())

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)


def softmax(tensor: Tensor, dim: int) -> Tensor:
    wide = np.exp(tensor.wide() - tensor.wide().max(dim, keepdims=True))
    return tensor._like(wide / wide.sum(dim, keepdims=True))


class FakeTorch(ModuleType):
    """The module. cuDNN's attention refuses, as it does where it has no kernel for something."""

    def __init__(self, cupy: FakeCupy, *, gpu: bool = True):
        super().__init__("torch")
        self.backend = ""
        self.resets = 0
        self.__version__ = "2.fake"
        self.bfloat16, self.bool = ml_dtypes.bfloat16, np.bool_
        stream = SimpleNamespace(__cuda_stream__=lambda: (0, 0))
        self.cuda = SimpleNamespace(
            is_available=lambda: gpu, current_stream=lambda: stream, empty_cache=lambda: None
        )
        self.backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 91000))
        self.from_numpy = lambda host: Tensor(host, cupy)
        self.zeros = lambda shape, dtype, device: Tensor(np.zeros(shape, dtype), cupy)
        self.ones = lambda shape, dtype, device: Tensor(np.ones(shape, dtype), cupy)
        self.matmul, self.softmax = Tensor.__matmul__, softmax
        self.nn = ModuleType("torch.nn")
        self.nn.functional = SimpleNamespace(  # pyright: ignore[reportAttributeAccessIssue]
            layer_norm=self._layer_norm,
            rms_norm=self._rms_norm,
            silu=lambda x: x._like(x.wide() / (1 + np.exp(-x.wide()))),
            scaled_dot_product_attention=self._attention,
        )

    @staticmethod
    def _layer_norm(x: Tensor, shape: tuple[int], eps: float) -> Tensor:
        wide = x.wide()
        centred = wide - wide.mean(-1, keepdims=True)
        return x._like(centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps))

    @staticmethod
    def _rms_norm(x: Tensor, shape: tuple[int], eps: float) -> Tensor:
        wide = x.wide()
        return x._like(wide / np.sqrt((wide**2).mean(-1, keepdims=True) + eps))

    def _attention(self, q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Tensor:
        if self.backend == "cudnn":
            raise RuntimeError("No available kernel.\nAborting execution.")
        scores = q @ k.transpose(2, 3) * q.wide().shape[-1] ** -0.5
        if is_causal:
            mask = np.triu(np.ones(scores.wide().shape[-2:], np.bool_), 1)
            scores = scores.masked_fill(Tensor(mask, q.cupy), -np.inf)
        return softmax(scores, -1) @ v

    def compile(self, function: Any, *, dynamic: bool) -> Any:
        assert not dynamic
        return function

    @contextmanager
    def sdpa_kernel(self, backends: list[str]) -> Iterator[None]:
        (self.backend,) = backends
        yield
        self.backend = ""

    def _reset(self) -> None:
        self.resets += 1


def with_torch(monkeypatch: pytest.MonkeyPatch, torch: FakeTorch) -> None:
    """Let this be torch."""
    choice = SimpleNamespace(
        SDPBackend=SimpleNamespace(FLASH_ATTENTION="flash", CUDNN_ATTENTION="cudnn"),
        sdpa_kernel=torch.sdpa_kernel,
    )
    dynamo = SimpleNamespace(reset=torch._reset)
    for name, module in (
        ("torch", torch),
        ("torch.nn", torch.nn),
        ("torch.nn.attention", choice),
        ("torch._dynamo", dynamo),
    ):
        monkeypatch.setitem(sys.modules, name, module)
