"""Launches of the kernels of test/cuda/tiles: inputs, numpy's results in float64, bytes of each buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import gcd
from typing import Any

import ml_dtypes
import numpy as np
from bb.runtime.cuda.emulator import EmulatedKernel, EmulatedModule
from bb.runtime.cuda.ptx import PtxModule
from cuda_kernels import FOLDER, Case

DTYPES = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16), "float": np.dtype(np.float32)}
DTYPES["tf32"] = DTYPES["float"]
# Half a unit in the last place of a number in [1, 2).
EPSILON = {"bf16": 2.0**-9, "f16": 2.0**-12, "tf32": 2.0**-12, "float": 2.0**-24}


@dataclass(frozen=True)
class TileCase:
    """A launch of a kernel in test/cuda/tiles.

    `settings` are its macros SET_..., `traffic` bytes to and from each buffer, `whole` whether no tile
    goes over an end of an array, and rows begin at sectors.
    """

    label: str
    file: str
    kernel: str
    settings: tuple[tuple[str, str | int], ...]
    case: Case
    traffic: Mapping[str, int]
    whole: bool

    @property
    def output(self) -> str:
        return next(iter(self.case.expected))


@cache
def source_of(file: str) -> str:
    return (FOLDER / "tiles" / f"{file}.cu").read_text()


def options(settings: Mapping[str, str | int]) -> list[str]:
    return [f"-DSET_{name}={value}" for name, value in settings.items()]


@cache
def module(file: str, settings: tuple[tuple[str, str | int], ...], tier: str) -> EmulatedModule | PtxModule:
    """A kernel's module for a tier: `fast` or `check` of the source, or an architecture for its PTX."""
    source, macros, name = source_of(file), options(dict(settings)), f"{file}.cu"
    if tier in ("fast", "check"):
        return EmulatedModule(source, options=macros, check=tier == "check", file_name=name)
    return PtxModule(source, arch=tier, options=macros, check=True, file_name=name)


def kernel_of(tile: TileCase, tier: str) -> EmulatedKernel:
    return module(tile.file, tile.settings, tier).get_function(tile.kernel)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _type(dtype: str) -> str:
    """The name of a type in the tile library."""
    return dtype if dtype == "float" else f"bb::{dtype}"


def _vec(columns: int, bytes: int = 2) -> int:
    """Elements that one access can move in rows of so many."""
    return gcd(columns, 16 // bytes)


def _random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def _case(
    label: str,
    file: str,
    kernel: str,
    settings: Mapping[str, str | int],
    launch: tuple[tuple[int, ...], int, int],
    arguments: Mapping[str, Any],
    expected: np.ndarray,
    tolerance: float,
    traffic: Mapping[str, int],
    whole: bool,
) -> TileCase:
    """`tolerance` is relative to the largest number of the result; the buffer that is written comes last."""
    grid, threads, shared = launch
    output = [name for name, value in arguments.items() if isinstance(value, np.ndarray)][-1]
    top = float(np.abs(expected).max()) or 1.0
    case = Case(grid, (threads,), arguments, {output: expected}, shared, tolerance * top, (output,))
    return TileCase(label, file, kernel, tuple(settings.items()), case, traffic, whole)


def attention(
    dtype: str = "bf16",
    d: int = 64,
    *,
    n: int = 64,
    warps: int = 4,
    stages: int = 2,
    causal: bool = False,
    heads: int = 1,
    group: int = 1,
    queries: int = 128,
    keys: int = 128,
    scale_in: float = 1.0,
) -> TileCase:
    held = DTYPES[dtype]
    q = (_random(1, heads, queries, d) * scale_in).astype(held)
    k, v = (_random(seed, heads // group, keys, d).astype(held) for seed in (2, 3))
    offset, scale = keys - queries, d**-0.5
    wide_k, wide_v = (np.repeat(x.astype(np.float64), group, 0) for x in (k, v))
    scores = np.einsum("hid,hjd->hij", q.astype(np.float64), wide_k) * scale
    if causal:
        seen = np.arange(keys)[None, :] <= np.arange(queries)[:, None] + offset
        scores = np.where(seen, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0.0, top))
    total = weights.sum(-1, keepdims=True)
    expected = weights @ wide_v / np.where(total == 0.0, 1.0, total)

    tiles = _ceil(queries, 128)
    last = [max(0, min(keys, i * 128 + 128 + offset)) if causal else keys for i in range(tiles)]
    streamed = sum(min(keys, _ceil(each, n) * n) for each in last) * d * held.itemsize * heads
    arrays = {"Q": q, "K": k, "V": v, "O": np.empty((heads, queries, d), held)}
    numbers = {
        "queries": np.int32(queries),
        "keys": np.int32(keys),
        "group": np.int32(group),
        "scale_log2": np.float32(scale * np.log2(np.e)),
        "offset": np.int32(offset),
    }
    return _case(
        f"attention {dtype} D{d} n{n} w{warps} s{stages}{' causal' if causal else ''} "
        f"{heads}/{heads // group} {queries}x{keys}",
        "attention",
        "attention",
        {"TYPE": _type(dtype), "BYTES": held.itemsize, "D": d, "N": n, "WARPS": warps, "STAGES": stages}
        | {"CAUSAL": int(causal)},
        ((tiles, heads), 32 * warps, (128 + 2 * stages * n) * (64 if d <= 64 else 128) * held.itemsize),
        arrays | numbers,
        expected,
        max(8 * EPSILON[dtype], 1e-6),
        {"Q": q.nbytes, "K": streamed, "V": streamed, "O": q.nbytes},
        queries % 128 == 0 and keys % n == 0 and d in (64, 128),
    )


def matmul(dtype: str = "bf16", m: int = 128, n: int = 128, k: int = 64, *, kn: bool = False) -> TileCase:
    held = DTYPES[dtype]
    a = _random(4, m, k).astype(held)
    b = _random(5, *((k, n) if kn else (n, k))).astype(held)
    wide = b.astype(np.float64)
    size = held.itemsize
    settings = {
        "TYPE": _type(dtype),
        "KN": int(kn),
        "VEC_A": _vec(k, size),
        "VEC_B": _vec(n if kn else k, size),
        "VEC_OUT": gcd(n, 2),
    }
    return _case(
        f"matmul {dtype}{' kn' if kn else ''} {m}x{n}x{k}",
        "matmul",
        "matmul",
        settings,
        ((_ceil(n, 128), _ceil(m, 128)), 256, 3 * 256 * 64),
        {"A": a, "B": b, "C": np.empty((m, n), np.float32)}
        | {"rows": np.int32(m), "cols": np.int32(n), "depth": np.int32(k)},
        a.astype(np.float64) @ (wide if kn else wide.T),
        1e-3 if dtype == "tf32" else 1e-6,
        {"A": a.nbytes * _ceil(n, 128), "B": b.nbytes * _ceil(m, 128), "C": m * n * 4},
        m % 128 == 0 and n % 128 == 0 and k % (64 // size) == 0,
    )


def layernorm_matmul(
    dtype: str = "bf16",
    m: int = 128,
    n: int = 128,
    k: int = 128,
    *,
    mean: float = 0.0,
    tile: int = 128,
    rows: Callable[[np.ndarray], np.ndarray] | None = None,
) -> TileCase:
    """`mean` is that of each row, its sign at random; `rows` changes them further."""
    held, eps = DTYPES[dtype], 1e-5
    x = _random(6, m, k) + mean * np.sign(_random(7, m, 1))
    x = (rows(x) if rows is not None else x).astype(held)
    w = (_random(8, n, k) / np.sqrt(k)).astype(held)
    wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
    centred = wide_x - wide_x.mean(1, keepdims=True)
    expected = centred / np.sqrt(wide_x.var(1, keepdims=True) + eps) @ wide_w.T
    arrays = {"X": x, "W": w, "H": wide_w.sum(1).astype(np.float32), "O": np.empty((m, n), held)}
    return _case(
        f"layernorm_matmul {dtype} {m}x{n}x{k} N{tile} mean {mean:g}{' changed' if rows else ''}",
        "layernorm_matmul",
        "layernorm_matmul",
        {"TYPE": dtype, "N": tile, "VEC": _vec(k), "VEC_OUT": _vec(n)},
        ((_ceil(n, tile), _ceil(m, 128)), 256, 3 * (128 + tile) * 64 + 3 * 128 * 4),
        arrays | {"rows": np.int32(m), "cols": np.int32(n), "depth": np.int32(k), "eps": np.float32(eps)},
        expected,
        6 * EPSILON[dtype],
        {
            "X": x.nbytes * _ceil(n, tile),
            "W": w.nbytes * _ceil(m, 128),
            # Each of a block's two rows of warps reads its columns, eight lanes at a time the same.
            "H": n * 4 * 8 * 2 * _ceil(m, 128),
            "O": m * n * 2,
        },
        m % 128 == 0 and n % tile == 0 and k % 32 == 0,
    )


def _swiglu(x: np.ndarray, w1: np.ndarray, w2: np.ndarray, eps: float) -> np.ndarray:
    wide, gate, up = (each.astype(np.float64) for each in (x, w1, w2))
    scaled = wide / np.sqrt((wide**2).mean(1, keepdims=True) + eps)
    g = scaled @ gate.T
    return g / (1 + np.exp(-g)) * (scaled @ up.T)


def gate_up(dtype: str = "bf16", m: int = 128, f: int = 64, d: int = 128) -> TileCase:
    held, eps = DTYPES[dtype], 1e-6
    x = (3 * _random(9, m, d)).astype(held)
    w1, w2 = ((_random(seed, f, d) / np.sqrt(d)).astype(held) for seed in (10, 11))
    return _case(
        f"gate_up {dtype} {m}x{f}x{d}",
        "gate_up",
        "gate_up",
        {"TYPE": dtype, "VEC": _vec(d), "VEC_OUT": _vec(f)},
        ((_ceil(f, 64), _ceil(m, 128)), 256, 3 * 256 * 64 + 128 * 4),
        {"X": x, "W1": w1, "W2": w2, "Z": np.empty((m, f), held)}
        | {"rows": np.int32(m), "cols": np.int32(f), "depth": np.int32(d), "eps": np.float32(eps)},
        _swiglu(x, w1, w2, eps),
        6 * EPSILON[dtype],
        {
            "X": x.nbytes * _ceil(f, 64),
            "W1": w1.nbytes * _ceil(m, 128),
            "W2": w2.nbytes * _ceil(m, 128),
            "Z": m * f * 2,
        },
        m % 128 == 0 and f % 64 == 0 and d % 32 == 0,
    )


def ffn(
    dtype: str = "bf16", m: int = 128, n: int = 256, f: int = 128, d: int = 256, *, tile: int = 256
) -> TileCase:
    held, eps = DTYPES[dtype], 1e-6
    x = (3 * _random(12, m, d)).astype(held)
    w1, w2 = ((_random(seed, f, d) / np.sqrt(d)).astype(held) for seed in (13, 14))
    w3 = (_random(15, n, f) / np.sqrt(f)).astype(held)
    across, down, steps = _ceil(n, tile), _ceil(m, 128), _ceil(f, 64)
    return _case(
        f"ffn {dtype} {m}x{n} F{f} D{d} N{tile}",
        "ffn",
        "ffn",
        {"TYPE": dtype, "N": tile, "VEC": _vec(d), "VEC_F": _vec(f), "VEC_OUT": _vec(n)},
        ((across, down), 256, 3 * 256 * 128 + tile * 128 + 128 * 128 + 128 * 4),
        {"X": x, "W1": w1, "W2": w2, "W3": w3, "O": np.empty((m, n), held)}
        | {"rows": np.int32(m), "cols": np.int32(n), "hidden": np.int32(f), "depth": np.int32(d)}
        | {"eps": np.float32(eps)},
        _swiglu(x, w1, w2, eps) @ w3.astype(np.float64).T,
        8 * EPSILON[dtype],
        {
            "X": x.nbytes * across * steps,
            "W1": w1.nbytes * across * down,
            "W2": w2.nbytes * across * down,
            "W3": w3.nbytes * down,
            "O": m * n * 2,
        },
        m % 128 == 0 and n % tile == 0 and f % 64 == 0 and d % 64 == 0,
    )


def _row_settings(dtype: str, columns: int) -> tuple[dict[str, str | int], tuple[int, int]]:
    """Settings for rows of so many columns; threads of a block, and rows."""
    vec = _vec(columns, DTYPES[dtype].itemsize)
    group = 32 if columns <= 32 * vec * 8 else 256
    settings = {"TYPE": _type(dtype), "GROUP": group, "VEC": vec, "PIECES": _ceil(columns, group * vec)}
    threads = max(128, group)
    return settings, (threads, threads // group)


def softmax(dtype: str = "bf16", m: int = 8, n: int = 1024) -> TileCase:
    x = (3 * _random(16, m, n)).astype(DTYPES[dtype])
    wide = x.astype(np.float64)
    weights = np.exp(wide - wide.max(1, keepdims=True))
    settings, (threads, each) = _row_settings(dtype, n)
    return _case(
        f"softmax {dtype} {m}x{n}",
        "rows",
        "softmax",
        settings,
        ((_ceil(m, each),), threads, 64),
        {"X": x, "O": np.empty_like(x), "rows": np.int32(m), "cols": np.int32(n)},
        weights / weights.sum(1, keepdims=True),
        max(4 * EPSILON[dtype], 1e-6),
        {"X": x.nbytes, "O": x.nbytes},
        n * x.itemsize % 32 == 0,
    )


def rmsnorm(dtype: str = "bf16", m: int = 8, n: int = 1024) -> TileCase:
    x, gamma = (3 * _random(17, m, n)).astype(DTYPES[dtype]), _random(18, n).astype(DTYPES[dtype])
    wide = x.astype(np.float64)
    settings, (threads, each) = _row_settings(dtype, n)
    return _case(
        f"rmsnorm {dtype} {m}x{n}",
        "rows",
        "rmsnorm",
        settings,
        ((_ceil(m, each),), threads, 64),
        {"X": x, "G": gamma, "O": np.empty_like(x)}
        | {"rows": np.int32(m), "cols": np.int32(n), "eps": np.float32(1e-6)},
        wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * gamma.astype(np.float64),
        max(4 * EPSILON[dtype], 1e-6),
        {"X": x.nbytes, "G": x.nbytes, "O": x.nbytes},
        n * x.itemsize % 32 == 0,
    )


Make = Callable[[], TileCase]

# A case for each way through each kernel. Those with the same settings are compiled once.
CORE: list[Make] = [
    partial(attention, queries=128, keys=192, heads=2),
    partial(attention, queries=200, keys=101, heads=4, group=2),
    partial(attention, queries=1, keys=1),
    partial(attention, "f16", causal=True, heads=2, group=2, queries=77, keys=150),
    partial(attention, "f16", causal=True, queries=150, keys=77),
    partial(attention, "bf16", 128, n=32, causal=True, heads=2, group=2, queries=150, keys=201),
    partial(attention, "f16", 96, n=32, queries=70, keys=45),
    partial(attention, "float", 80, n=32, causal=True, queries=100, keys=101),
    partial(attention, "tf32", 64, n=32, queries=33, keys=70),
    partial(layernorm_matmul, "f16", 128, 128, 256, mean=1000.0),
    partial(layernorm_matmul, "f16", 64, 128, 200, mean=100.0),
    partial(layernorm_matmul, "bf16", 33, 70, 37),
    partial(gate_up, "bf16", 128, 64, 128),
    partial(gate_up, "bf16", 190, 72, 104),
    partial(ffn, "bf16", 128, 256, 128, 256),
    partial(ffn, "bf16", 150, 200, 136, 72),
    partial(matmul, "bf16", 128, 128, 96),
    partial(matmul, "bf16", 131, 136, 72),
    partial(matmul, "f16", 128, 136, 72, kn=True),
    partial(matmul, "tf32", 130, 72, 52, kn=True),
    partial(matmul, "float", 100, 66, 40),
    partial(softmax, "bf16", 7, 1024),
    partial(rmsnorm, "bf16", 10, 1024),
]

# More sizes (1, primes, a little more than a block, odd widths), more ways to cut the work, hard numbers.
FULL: list[Make] = [
    partial(attention, "bf16", 48, warps=8, causal=True, heads=2, queries=129, keys=200),
    partial(attention, "bf16", 80, n=32, heads=2, group=2, queries=150, keys=33),
    partial(attention, causal=True, heads=2, queries=256, keys=256),
    partial(attention, causal=True, heads=2, group=2, queries=77, keys=150),
    partial(attention, warps=8, causal=True, heads=2, group=2, queries=129, keys=129),
    partial(attention, warps=8, queries=128, keys=129),
    partial(attention, "f16", stages=1, causal=True, queries=130, keys=130),
    partial(attention, "f16", warps=8, queries=128, keys=65, scale_in=300.0),
    partial(attention, "bf16", queries=64, keys=192, scale_in=1e4),
    partial(attention, "bf16", 128),
    partial(attention, "bf16", 128, stages=1, heads=2, group=2, queries=100, keys=190),
    partial(attention, "bf16", 128, stages=1, causal=True, heads=2, group=2, queries=150, keys=150),
    partial(attention, "bf16", 128, warps=8, queries=128, keys=150),
    partial(attention, "f16", 128, warps=8, causal=True, heads=2, group=2, queries=190, keys=190),
    partial(attention, "bf16", 128, n=32, heads=2, group=2, queries=128, keys=160),
    partial(attention, "bf16", 128, n=32, queries=1, keys=1),
    partial(attention, "f16", 128, n=32, causal=True, queries=150, keys=201),
    partial(attention, "float", queries=128, keys=192, heads=2),
    partial(attention, "float", causal=True, heads=2, group=2, queries=77, keys=150),
    partial(attention, "float", 128, n=32, causal=True, queries=129, keys=129),
    partial(attention, "float", 128, n=32, queries=1, keys=1),
    partial(attention, "tf32", queries=128, keys=192, heads=2),
    partial(attention, "tf32", 128, n=32, causal=True, heads=2, group=2, queries=150, keys=201),
    partial(layernorm_matmul, "bf16", 128, 128, 128),
    partial(layernorm_matmul, "bf16", 200, 136, 104),
    partial(layernorm_matmul, "bf16", 70, 65, 50),
    partial(layernorm_matmul, "bf16", 64, 64, 16),
    partial(layernorm_matmul, "bf16", 64, 40, 50, mean=50.0),
    partial(layernorm_matmul, "bf16", 128, 128, 256, mean=50.0),
    partial(layernorm_matmul, "bf16", 64, 128, 512, mean=1e6),
    partial(layernorm_matmul, "f16", 130, 128, 96, mean=100.0),
    partial(layernorm_matmul, "f16", 64, 128, 512, mean=3e4),
    partial(layernorm_matmul, "f16", 64, 128, 512, rows=lambda x: x * 300 + 1e4),
    partial(layernorm_matmul, "f16", 64, 128, 512, rows=lambda x: x * 300 + 1e4 * (np.arange(512) >= 32)),
    partial(layernorm_matmul, "f16", 64, 128, 512, rows=lambda x: np.full_like(x, 777.0)),
    partial(layernorm_matmul, "bf16", 130, 300, 72, tile=256),
    partial(gate_up, "f16", 190, 72, 100),
    partial(gate_up, "bf16", 20, 99, 49),
    partial(gate_up, "bf16", 1, 1, 1),
    partial(ffn, "bf16", 128, 128, 128, 256, tile=128),
    partial(ffn, "bf16", 150, 200, 120, 72, tile=128),
    partial(ffn, "f16", 33, 130, 190, 264, tile=128),
    partial(ffn, "bf16", 20, 37, 70, 51, tile=128),
    partial(ffn, "bf16", 20, 300, 70, 266),
    partial(ffn, "f16", 150, 200, 136, 72),
    partial(matmul, "bf16", 130, 140, 70),
    partial(matmul, "bf16", 129, 257, 31, kn=True),
    partial(matmul, "f16", 1, 1, 1),
    partial(matmul, "f16", 300, 7, 257),
    partial(matmul, "tf32", 130, 70, 52),
    partial(matmul, "tf32", 130, 70, 53),
    partial(matmul, "tf32", 128, 128, 64, kn=True),
    partial(matmul, "float", 128, 128, 64),
    partial(matmul, "float", 100, 65, 41, kn=True),
    partial(softmax, "f16", 5, 1000),
    partial(softmax, "bf16", 7, 131),
    partial(softmax, "bf16", 3, 4096),
    partial(softmax, "float", 5, 1004),
    partial(rmsnorm, "f16", 6, 131),
    partial(rmsnorm, "bf16", 3, 4104),
    partial(rmsnorm, "float", 3, 2050),
]

# Through the PTX for a second architecture.
SM_90: list[Make] = [
    partial(attention, queries=200, keys=101, heads=4, group=2),
    partial(attention, "bf16", 128, n=32, causal=True, heads=2, group=2, queries=150, keys=201),
    partial(layernorm_matmul, "f16", 64, 128, 200, mean=100.0),
    partial(gate_up, "bf16", 130, 72, 72),
    partial(ffn, "bf16", 130, 256, 128, 200),
    partial(matmul, "tf32", 130, 70, 52),
    partial(softmax, "bf16", 5, 1000),
]
