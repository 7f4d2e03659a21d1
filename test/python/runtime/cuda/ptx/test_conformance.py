"""The PTX tier: what instructions compute, against numpy, and code that is more than straight lines."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.runtime.cuda.compile import cuda_compiler_problem
from bb.runtime.cuda.ptx import PtxModule
from paths import TESTS

pytestmark = pytest.mark.skipif(cuda_compiler_problem() is not None, reason=str(cuda_compiler_problem()))

FOLDER = TESTS / "cuda" / "ptx"
N = 256


def module(name: str) -> PtxModule:
    text = (FOLDER / f"{name}.cu").read_text()
    return PtxModule(text, arch="sm_80", check=True, file_name=f"{name}.cu")


def launch(kernel: Any, *arguments: Any, threads: int = N, blocks: int = 1) -> None:
    report = kernel.launch((blocks,), (threads,), arguments)
    assert report.ok, report.findings


def words() -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(3)
    a, b = (source.integers(0, 2**32, N, dtype=np.uint64).astype(np.uint32) for _ in range(2))
    a[:4], b[:4] = [0, 1, 0x80000000, 0xFFFFFFFF], [0, 0xFFFFFFFF, 31, 0x80000000]
    return a, b


def test_integers():
    a, b = words()
    out = np.zeros((27, N), np.uint32)
    launch(module("arithmetic").get_function("integers"), a, b, out, np.int32(N))

    def signed(x: int) -> int:
        return x - 2**32 if x >= 2**31 else x

    def one(x: int, y: int) -> list[int]:
        sx, sy, odd = signed(x), signed(y), y | 1
        wide = y << 32 | x
        quotient = abs(sx) // abs(signed(odd)) * (1 if (sx < 0) == (signed(odd) < 0) else -1)
        joined = [x >> 8 * i & 255 for i in range(4)] + [y >> 8 * i & 255 for i in range(4)]

        def bytes_of(z: int) -> list[int]:
            return [(z >> 8 * i & 255) - (z >> 8 * i + 7 & 1) * 256 for i in range(4)]

        position = y & 31
        field = signed(x) >> position & 511
        sign = signed(x) >> min(position + 8, 31) & 1
        return [
            x + y,
            x * y,
            x * y >> 32,
            sx * sy >> 32,
            x // odd,
            quotient,
            x % odd,
            sx - quotient * signed(odd),
            min(sx, sy),
            max(x, y),
            x.bit_count(),
            32 - x.bit_length(),
            int(f"{x:032b}"[::-1], 2),
            x << (y & 31),
            sx >> (y & 31),
            (wide << (y & 31)) >> 32,
            joined[0] | joined[4] << 8 | joined[2] << 16 | joined[6] << 24,
            sum(p * q for p, q in zip(bytes_of(x), bytes_of(y), strict=True)) + 7,
            field - 512 * sign,
            y & ~(0x7FF << 5) | (x & 0x7FF) << 5,
            x ^ y ^ 0xFF00FF00,
            x.bit_length() - 1,
            x + (x + y >> 32),
            abs(x - y) + 3,
            wide >> (y & 63),
            wide * (wide * 3 % 2**64) >> 64,
            int(sx < sy),
        ]

    expected = np.array([[value % 2**32 for value in one(int(x), int(y))] for x, y in zip(a, b, strict=True)])
    for row, (got, wanted) in enumerate(zip(out, expected.T, strict=True)):
        np.testing.assert_array_equal(got, wanted.astype(np.uint32), f"row {row}")


def test_floats():
    source = np.random.default_rng(4)
    a, b = (source.standard_normal(N).astype(np.float32) for _ in range(2))
    a[:3], b[:3] = [np.nan, 2.0, -0.0], [1.0, np.nan, 0.0]
    out = np.zeros((25, N), np.float32)
    launch(module("arithmetic").get_function("floats"), a, b, out, np.int32(N))
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        half = [v.astype(np.float16).astype(np.float64) for v in (x, y)]
        tf32 = ((a.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
        expected = [
            *(x + y, x * y, x * y + 0.5, x / y, np.fmin(x, y), np.fmax(x, y)),
            *(np.sqrt(abs(x)), 2.0**x, np.sin(x), 1 / np.sqrt(abs(x) + 1)),
            np.nan_to_num(np.trunc((a * np.float32(100)).astype(np.float64)), nan=0.0),
            np.rint((a * np.float32(10)).astype(np.float64)),
            np.floor((a * np.float32(10)).astype(np.float64)),
            *(np.nan_to_num(np.clip(x, 0, 1), nan=0.0), np.copysign(x, y), x * y + 1e-9, abs(x)),
            a.astype(np.float16).astype(np.float64),
            a.astype(ml_dtypes.bfloat16).astype(np.float64),
            tf32.astype(np.float64),
            half[0] * half[1] + 1,
            half[0] * half[1] + 2,
            np.where(x < y, 1.0, np.where(np.isnan(x), 2.0, 3.0)),
            (~(x >= y)).astype(np.float64),
            np.minimum(x, y),
        ]
    loose = {20: 4e-3, 21: 4e-3}
    exact = {17, 18, 10, 11, 12, 22, 23}
    for row, (got, wanted) in enumerate(zip(out, expected, strict=True)):
        if row == 19:  # the bits that a tf32 does not have are zero, NaN aside
            np.testing.assert_array_equal(got[3:], wanted[3:].astype(np.float32))
            continue
        tolerance = 0.0 if row in exact else loose.get(row, 2e-6)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=f"row {row}")


def test_warps():
    out = np.zeros((12, 32), np.uint32)
    launch(module("threads").get_function("warps"), out, threads=32)
    lanes = np.arange(32)
    expected = [
        np.full(32, 15),
        np.where(lanes >= 3, lanes - 3, lanes),
        np.where(lanes % 8 + 3 < 8, lanes + 3, lanes),
        lanes ^ 9,
        np.full(32, sum(1 << lane for lane in range(0, 32, 3))),
        np.full(32, 1),
        15 << (lanes // 4 * 4),
        np.full(32, 496),
        np.full(32, 2**32 - 21),
        (1 << lanes) - 1,
        np.where(lanes >= 4, lanes - 4, 99),
        np.where(lanes < 16, 0xAAAA, 0xCCCC0000),
    ]
    for row, (got, wanted) in enumerate(zip(out, expected, strict=True)):
        np.testing.assert_array_equal(got, wanted.astype(np.uint32), f"row {row}")


def test_blocks():
    threads = 64
    out, counters = np.zeros((3, threads), np.int32), np.zeros(4, np.int32)
    sums = np.zeros(1, np.float32)
    pair = np.array([2], np.int32).tobytes() + np.array([0, 42, 0], np.float32).tobytes()
    kernel = module("threads").get_function("blocks")
    launch(kernel, out, counters, sums, pair, np.int64(3), threads=threads)
    t = np.arange(threads)
    assert list(counters) == [63, 7, 5, 64]
    assert sums[0] == 16.0
    np.testing.assert_array_equal(out[0], np.array([t[t % 4 == i].sum() for i in range(4)])[t % 4])
    np.testing.assert_array_equal(out[1], (t % 5 + 1) * (t % 5 + 2) // 2)
    choices = [np.array([3, 1, 4, 1])[t % 4], 5, 42, (t + 3) % 8 * t, 1, -t, 32]
    np.testing.assert_array_equal(
        out[2], np.choose((t + 2) % 7, [np.broadcast_to(c, t.shape) for c in choices])
    )


def test_labels_of_inline_assembly():
    out = np.zeros(64, np.int32)
    launch(module("threads").get_function("labels"), out, threads=64)
    np.testing.assert_array_equal(out, np.arange(64) + 1)
