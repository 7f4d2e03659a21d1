"""The CUDA kernels of test/cuda with inputs, launches and what numpy says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from bb.runtime.cuda.emulator import EmulatedKernel, LaunchReport, TensorMap
from paths import TESTS

FOLDER = TESTS / "cuda"


@dataclass(frozen=True)
class Case:
    """One launch: its arguments by name, the outputs among them and their expected values."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Mapping[str, Any]
    expected: Mapping[str, np.ndarray]
    shared_mem: int = 0
    tolerance: float = 1e-4
    undefined: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """A kernel's file and name, and a case for each of its sizes: a regular one, and ragged ones.

    `arch` is the least architecture that it is for.
    """

    name: str
    make: Callable[..., Case]
    sizes: tuple[tuple[int, ...], ...]
    arch: str = "sm_80"

    @property
    def source(self) -> str:
        return source_of(self.name)


@cache
def source_of(name: str) -> str:
    return (FOLDER / f"{name}.cu").read_text()


def outcome(kernel: EmulatedKernel, case: Case, **choices: Any) -> tuple[LaunchReport, float]:
    """Launch a case on fresh copies: the report, and the largest error of its outputs, or NaN."""
    arguments = {name: _fresh(value) for name, value in case.arguments.items()}
    names = list(arguments)
    kernel.max_dynamic_shared_size_bytes = max(48 * 1024, case.shared_mem)
    report = kernel.launch(
        case.grid,
        case.block,
        list(arguments.values()),
        case.shared_mem,
        names=names,
        undefined=[names.index(name) for name in case.undefined],
        **choices,
    )
    errors = [
        float(np.abs(_array(arguments[name]).astype(np.float64) - value).max()) if value.size else 0.0
        for name, value in case.expected.items()
    ]
    return report, max(errors) if not np.isnan(errors).any() else float("nan")


def _fresh(value: Any) -> Any:
    if isinstance(value, TensorMap):
        return replace(value, array=value.array.copy())
    return value.copy() if isinstance(value, np.ndarray) else value


def _array(value: Any) -> np.ndarray:
    return value.array if isinstance(value, TensorMap) else value


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def _matmul_mma(m: int, n: int, k: int) -> Case:
    a = _random(m, k, seed=1).astype(ml_dtypes.bfloat16)
    b = _random(k, n, seed=2).astype(ml_dtypes.bfloat16)
    c = a.astype(np.float64) @ b.astype(np.float64)
    arguments = {"A": a, "B": b, "C": np.empty((m, n), np.float32)}
    extents = {"M": np.int32(m), "N": np.int32(n), "K": np.int32(k)}
    return Case((n // 64, -(-m // 64)), (128,), arguments | extents, {"C": c}, undefined=("C",))


def _flash_attention(heads: int, length: int) -> Case:
    q, k, v = (_random(heads, length, 64, seed=seed).astype(np.float64) for seed in (3, 4, 5))
    scores = np.einsum("hid,hjd->hij", q, k) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    arguments = {name: value.astype(np.float32) for name, value in (("Q", q), ("K", k), ("V", v))}
    output = {"O": np.empty((heads, length, 64), np.float32)}
    extents = {"length": np.int32(length), "scale": np.float32(np.log2(np.e) / 8)}
    shared = 4 * (32 * 64 + 32 * 68 + 32 * 64 + 4 * 8 * 32)
    return Case(
        (-(-length // 32), heads),
        (128,),
        arguments | output | extents,
        {"O": expected},
        shared,
        undefined=("O",),
    )


def _layernorm(rows: int, columns: int) -> Case:
    x, weight, bias = _random(rows, columns, seed=6), _random(columns, seed=7), _random(columns, seed=8)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    arguments = {"x": x, "weight": weight, "bias": bias, "y": np.empty_like(x)}
    extents = {"columns": np.int32(columns), "eps": np.float32(1e-5)}
    return Case((rows,), (128,), arguments | extents, {"y": expected}, 4 * columns, undefined=("y",))


def _block_sums(blocks: int, n: int) -> Case:
    x = _random(n, seed=9)
    bins = np.bincount(np.minimum(7, (np.abs(x) * 2).astype(int)), minlength=8)
    arguments = {
        "x": x,
        "partial": np.empty(blocks, np.float32),
        "total": np.empty(1, np.float32),
        "histogram": np.zeros(8, np.int32),
        "n": np.int32(n),
    }
    expected = {"total": x.astype(np.float64).sum(keepdims=True), "histogram": bins}
    return Case((blocks,), (256,), arguments, expected, undefined=("partial", "total"), tolerance=1e-3)


def _producer_consumer(rows: int, columns: int) -> Case:
    x, w = _random(rows, columns, seed=10), _random(columns, seed=11)
    arguments = {"x": x, "w": w, "out": np.empty(rows, np.float32)}
    extents = {"rows": np.int32(rows), "columns": np.int32(columns)}
    expected = {"out": x.astype(np.float64) @ w.astype(np.float64)}
    return Case((-(-rows // 32),), (160,), arguments | extents, expected, undefined=("out",), tolerance=1e-3)


def _transpose(rows: int, columns: int) -> Case:
    x = _random(rows, columns, seed=12).astype(np.float16)
    arguments = {"in": x, "out": np.empty((columns, rows), np.float16)}
    extents = {"rows": np.int32(rows), "columns": np.int32(columns)}
    grid = (-(-columns // 32), -(-rows // 32))
    return Case(
        grid, (32, 8), arguments | extents, {"out": x.T.astype(np.float64)}, undefined=("out",), tolerance=0
    )


def _named_barriers(blocks: int, steps: int) -> Case:
    x = _random(blocks * 64, seed=13)
    swapped = x.reshape(-1, 2)[:, ::-1].reshape(-1).astype(np.float64)
    arguments = {"x": x, "out": np.empty_like(x), "steps": np.int32(steps)}
    expected = {"out": swapped * (steps * (steps - 1) // 2)}
    return Case((blocks,), (128,), arguments, expected, undefined=("out",))


def _matmul_hopper(m: int, n: int, k: int) -> Case:
    a = _random(m, k, seed=14).astype(ml_dtypes.bfloat16)
    b = _random(n, k, seed=15).astype(ml_dtypes.bfloat16)
    c = np.empty((m, n), np.float32)
    maps = {"A": TensorMap(a, (64, 64), 128), "B": TensorMap(b, (32, 64), 128), "C": TensorMap(c, (64, 32))}
    expected = {"C": a.astype(np.float64) @ b.astype(np.float64).T}
    shared = 2 * (64 + 32) * 64 * 2 + 64 * 32 * 4
    grid = (-(-n // 32), -(-m // 64))
    return Case(grid, (160,), maps | {"K": np.int32(k)}, expected, shared, undefined=("C",))


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("matmul_mma", _matmul_mma, ((64, 64, 128), (100, 64, 96))),
        Kernel("flash_attention", _flash_attention, ((1, 64), (1, 50))),
        Kernel("layernorm", _layernorm, ((3, 256), (2, 200))),
        Kernel("block_sums", _block_sums, ((4, 2048), (3, 1500))),
        Kernel("producer_consumer", _producer_consumer, ((32, 320), (50, 256))),
        Kernel("transpose", _transpose, ((64, 64), (50, 70))),
        Kernel("named_barriers", _named_barriers, ((2, 7),)),
        Kernel("matmul_hopper", _matmul_hopper, ((64, 32, 256), (100, 44, 192)), arch="sm_90a"),
    )
}
