"""CUDA's operations in the emulator, against numpy and tables written from the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.runtime.cuda.emulator import EmulatedModule
from cuda_kernels import source_of

pytestmark = pytest.mark.long

LANES = np.arange(32)
GROUP, PLACE = LANES // 4, LANES % 4


@pytest.fixture(scope="module", params=["fast", "check"])
def module(request: pytest.FixtureRequest) -> EmulatedModule:
    return EmulatedModule(source_of("conformance"), check=request.param == "check", schedule="random", seed=3)


def launch(module: EmulatedModule, name: str, *args: Any, grid: int = 1, block: Any = (32,)) -> None:
    module.get_function(name)((grid,), block, args)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng([*shape]).standard_normal(shape)


def edge_values() -> np.ndarray:
    """Numbers of all magnitudes of f16, its limits, halfway cases, and what rounds to them."""
    magnitudes = random(20000) * 10.0 ** np.random.default_rng(1).uniform(-9, 6, 20000)
    halves = np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16).astype(np.float64)
    midpoints = (halves[1:] + halves[:-1]) / 2
    close = np.concatenate([midpoints, np.nextafter(midpoints, 0), np.nextafter(midpoints, 1e9)])
    special = [0, -0.0, 65504, 65519.996, 65520, np.inf, -np.inf, np.nan, 2.0**-25, 2.0**-24, 1e30, -1e-30]
    return np.concatenate([magnitudes, halves, close, -close, special])


@np.errstate(over="ignore")
def test_narrowing_rounds_to_nearest_even(module: EmulatedModule) -> None:
    x = edge_values().astype(np.float32)
    half, bfloat = np.zeros(len(x), np.uint16), np.zeros(len(x), np.uint16)
    launch(module, "narrow", x, half, bfloat, np.int32(len(x)), grid=-(-len(x) // 256), block=(256,))
    number = ~np.isnan(x)
    assert np.array_equal(half[number], x[number].astype(np.float16).view(np.uint16))
    assert np.array_equal(bfloat[number], x[number].astype(ml_dtypes.bfloat16).view(np.uint16))
    assert np.all(half[~number] == 0x7FFF)
    assert np.all(bfloat[~number] == 0x7FFF)


@np.errstate(over="ignore")
def test_doubles_are_rounded_once(module: EmulatedModule) -> None:
    x = edge_values()
    x = x[~np.isnan(x)]
    half = np.zeros(len(x), np.uint16)
    launch(module, "narrow_double", x, half, np.int32(len(x)), grid=-(-len(x) // 256), block=(256,))
    assert np.array_equal(half, x.astype(np.float16).view(np.uint16))


def test_widening_of_all_narrow_numbers(module: EmulatedModule) -> None:
    bits = np.arange(65536, dtype=np.uint16)
    halves, bfloats = bits.view(np.float16), bits.view(ml_dtypes.bfloat16)
    from_half, from_bfloat = np.zeros(65536, np.float32), np.zeros(65536, np.float32)
    launch(module, "widen", halves, bfloats, from_half, from_bfloat, grid=256, block=(256,))
    np.testing.assert_array_equal(from_half, halves.astype(np.float32))
    np.testing.assert_array_equal(from_bfloat, bfloats.astype(np.float32))


@pytest.mark.parametrize(("name", "dtype"), [("half", np.float16), ("bfloat", ml_dtypes.bfloat16)])
@np.errstate(all="ignore")
def test_narrow_arithmetic(module: EmulatedModule, name: str, dtype: Any) -> None:
    generator = np.random.default_rng(2)
    n = 5000
    a, b, c = (
        (generator.standard_normal(n) * 2.0 ** generator.integers(-8, 8, n)).astype(dtype) for _ in range(3)
    )
    c[: n // 2] = (-(a * b)[: n // 2].astype(np.float64)).astype(
        dtype
    )  # cancellation shows a second rounding
    out = np.zeros(5 * n, dtype)
    launch(module, f"arithmetic_{name}", a, b, c, out, np.int32(n), grid=-(-n // 256), block=(256,))
    fused = (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(dtype)
    for got, expected in zip(out.reshape(5, n), (a + b, a - b, a * b, a / b, fused), strict=True):
        np.testing.assert_array_equal(got.astype(np.float64), expected.astype(np.float64))


def test_integers(module: EmulatedModule) -> None:
    generator = np.random.default_rng(4)
    x, y = (generator.integers(0, 2**32, 32, dtype=np.uint32) for _ in range(2))
    x[:3] = 0, 1, 2**32 - 1
    out = np.zeros((10, 32), np.uint32)
    launch(module, "integers", x, y, out, np.int32(32))

    def table(function: Callable[[int, int, int], int]) -> list[int]:
        return [function(int(u), int(v), i) & 0xFFFFFFFF for i, (u, v) in enumerate(zip(x, y, strict=True))]

    def signed(u: int) -> int:
        return u - 2**32 if u >= 2**31 else u

    expected = [
        table(lambda u, v, i: u.bit_count()),
        table(lambda u, v, i: 32 - u.bit_length()),
        table(lambda u, v, i: (u & -u).bit_length()),
        table(lambda u, v, i: int(f"{u:032b}"[::-1], 2)),
        table(lambda u, v, i: u * v >> 32),
        table(lambda u, v, i: (v & 0xFFFF) << 16 | u & 0xFFFF),
        table(lambda u, v, i: (v << 32 | u) << i >> 32),
        table(lambda u, v, i: (v << 32 | u) >> i),
        table(lambda u, v, i: min(u, v)),
        table(lambda u, v, i: max(signed(u), signed(v))),
    ]
    assert out.tolist() == expected


def test_roundings_saturate(module: EmulatedModule) -> None:
    x = np.concatenate([random(24) * 100, [0.5, 1.5, -2.5, 3e9, -3e9, np.inf, -np.inf, np.nan]]).astype(
        np.float32
    )
    out = np.zeros((4, 32), np.int32)
    launch(module, "roundings", x, out, np.int32(32))
    wide = np.nan_to_num(x.astype(np.float64), nan=0.0)
    for got, rounding in zip(out, (np.rint, np.trunc, np.floor, np.ceil), strict=True):
        assert np.array_equal(got, np.clip(rounding(wide), -(2**31), 2**31 - 1).astype(np.int64))


def source_lane(kind: str, lane: int, b: int, width: int) -> int:
    """The lane that a lane reads, from the PTX ISA's description of shfl.sync."""
    segment_mask = 32 - width
    clamp = 0 if kind == "up" else 31
    low = lane & segment_mask
    high = low | clamp & ~segment_mask & 31
    b &= 31
    match kind:
        case "up":
            source, inside = lane - b, lane - b >= high
        case "down":
            source, inside = lane + b, lane + b <= high
        case "xor":
            source, inside = lane ^ b, lane ^ b <= high
        case _:
            source = low | b & ~segment_mask
            inside = source <= high
    return source if inside else lane


@pytest.mark.parametrize("width", [32, 16, 8, 2])
@pytest.mark.parametrize("distance", [1, 3, 8, 17])
def test_shuffles(module: EmulatedModule, width: int, distance: int) -> None:
    lanes = ((LANES * 7 + distance) % 40).astype(np.int32)
    lanes[0] = distance
    out = np.zeros((5, 32), np.int32)
    launch(module, "shuffles", lanes, out, np.int32(width))
    for row, kind in enumerate(("index", "up", "down", "xor")):
        b = lanes if kind == "index" else np.full(32, distance)
        assert out[row].tolist() == [source_lane(kind, lane, int(b[lane]), width) for lane in LANES]
    assert out[4].tolist() == [4 * (31 - lane) + 1 for lane in LANES]


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x0000FFFF, 0x80000421])
def test_votes(module: EmulatedModule, mask: int) -> None:
    x = np.random.default_rng(mask).integers(0, 5, 32).astype(np.int32)
    out = np.zeros((11, 32), np.uint32)
    launch(module, "votes", x, np.uint32(mask), out)
    lanes = [lane for lane in range(32) if mask >> lane & 1]

    def ballot(holds: Callable[[int], bool]) -> int:
        return sum(1 << lane for lane in lanes if holds(int(x[lane])))

    values = [int(x[lane]) for lane in lanes]
    everywhere = {
        0: ballot(lambda v: v > 2),
        1: int(3 in values),
        2: 1,
        4: mask,
        5: 1,
        6: sum(values),
        7: (min(values) - 2) & 0xFFFFFFFF,
        8: max((v - 2) & 0xFFFFFFFF for v in values),
        9: int(np.bitwise_xor.reduce(values)),
    }
    for row, value in everywhere.items():
        assert set(out[row, lanes].tolist()) == {value}
    assert out[3, lanes].tolist() == [ballot(lambda v, own=int(x[lane]): v == own) for lane in lanes]
    assert all(int(active) >> lane & 1 for lane, active in zip(lanes, out[10, lanes], strict=True))


def test_votes_of_a_block(module: EmulatedModule) -> None:
    for ones in (0, 5, 96):
        x = (np.arange(96) < ones).astype(np.int32)
        out = np.zeros((3, 96), np.int32)
        launch(module, "block_votes", x, out, block=(8, 4, 3))
        assert (out[0] == ones).all()
        assert ((out[1] != 0) == (ones == 96)).all()
        assert ((out[2] != 0) == (ones > 0)).all()


def tf32(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)


def packed(values: np.ndarray, elements: list[tuple[np.ndarray, np.ndarray]], dtype: Any) -> np.ndarray:
    """Registers of a fragment, from rows and columns of its elements in the order of the PTX ISA's tables."""
    bits = np.stack([values[rows, columns] for rows, columns in elements], axis=1)
    if dtype is np.float32:
        return bits.astype(np.float32).view(np.uint32)
    return np.ascontiguousarray(bits.astype(dtype)).view(np.uint32)


def fragments(depth: int, dtype: Any) -> tuple[list[Any], list[Any]]:
    """Rows and columns of the elements of a (16 x depth) and b (depth x 8), by the PTX ISA."""
    if dtype is np.float32:
        a = [(GROUP, PLACE), (GROUP + 8, PLACE), (GROUP, PLACE + 4), (GROUP + 8, PLACE + 4)]
        b = [(PLACE, GROUP), (PLACE + 4, GROUP)]
        return (a, b) if depth == 8 else (a[:2], b[:1])
    a = [
        (GROUP + (8 if i in (2, 3, 6, 7) else 0), PLACE * 2 + i % 2 + (8 if i >= 4 else 0))
        for i in range(depth // 2)
    ]
    b = [(PLACE * 2 + i % 2 + (8 if i >= 2 else 0), GROUP) for i in range(depth // 4)]
    return a, b


@pytest.mark.parametrize(
    ("name", "depth", "dtype"),
    [
        ("m16n8k16_bf16", 16, ml_dtypes.bfloat16),
        ("m16n8k16_f16", 16, np.float16),
        ("m16n8k8_tf32", 8, np.float32),
        ("m16n8k8_bf16", 8, ml_dtypes.bfloat16),
        ("m16n8k8_f16", 8, np.float16),
        ("m16n8k4_tf32", 4, np.float32),
    ],
)
def test_matrix_products(module: EmulatedModule, name: str, depth: int, dtype: Any) -> None:
    a, b, c = (
        random(16, depth).astype(dtype),
        random(depth, 8).astype(dtype),
        random(16, 8).astype(np.float32),
    )
    of_a, of_b = fragments(depth, dtype)
    of_c = [(GROUP + (8 if i >= 2 else 0), PLACE * 2 + i % 2) for i in range(4)]
    accumulator = np.stack([c[rows, columns] for rows, columns in of_c], axis=1)
    out = np.zeros((32, 4), np.float32)
    launch(module, name, packed(a, of_a, dtype), packed(b, of_b, dtype), accumulator, out)
    d = np.zeros((16, 8))
    for i, (rows, columns) in enumerate(of_c):
        d[rows, columns] = out[:, i]
    exact = [tf32(x) if dtype is np.float32 else x.astype(np.float64) for x in (a, b)]
    np.testing.assert_allclose(d, exact[0] @ exact[1] + c, atol=1e-5)


def test_matrices_are_loaded(module: EmulatedModule) -> None:
    x = np.arange(256, dtype=np.uint16).reshape(4, 8, 8) * 3
    out = np.zeros((14, 32), np.uint32)
    launch(module, "load_matrices", x, out)

    def registers(matrix: np.ndarray) -> np.ndarray:
        return (
            matrix[GROUP, 2 * PLACE].astype(np.uint32) | matrix[GROUP, 2 * PLACE + 1].astype(np.uint32) << 16
        )

    row = 0
    for count in (1, 2, 4):
        for transposed in (False, True):
            for matrix in x[:count]:
                assert np.array_equal(out[row], registers(matrix.T if transposed else matrix))
                row += 1


def test_matrices_are_stored(module: EmulatedModule) -> None:
    x = np.arange(256, dtype=np.uint16).reshape(4, 8, 8) * 5
    registers = np.stack(
        [m[GROUP, 2 * PLACE].astype(np.uint32) | m[GROUP, 2 * PLACE + 1].astype(np.uint32) << 16 for m in x]
    )
    out = np.zeros((2, 4, 8, 8), np.uint16)
    launch(module, "store_matrices", registers, out)
    assert np.array_equal(out[0], x)
    assert np.array_equal(out[1], x.transpose(0, 2, 1))


def test_copies_fill_with_zeros(module: EmulatedModule) -> None:
    x = np.arange(1, 129, dtype=np.int32)
    out = np.zeros(224, np.int32)
    launch(module, "copies", x, out)
    first = x.reshape(32, 4) * (LANES % 3 != 0)[:, None]
    assert np.array_equal(out[:128].reshape(32, 4), np.roll(first, -1, axis=0))
    assert np.array_equal(out[128:160], (x[:32] * (LANES % 2 == 0))[::-1])
    assert np.array_equal(out[160:].reshape(32, 2), x[:64].reshape(32, 2)[::-1])


def test_atomics(module: EmulatedModule) -> None:
    cells = np.array([0, 0, 0, 0, 2**32 - 1, 0, 0, 0, 0, 1, 7], np.uint32)
    total, tickets = np.zeros(1, np.float32), np.zeros(48, np.uint32)
    launch(module, "atomics", cells, total, tickets, block=(48,))
    numbers = range(48)
    assert sorted(tickets.tolist()) == list(numbers)
    assert cells.tolist() == [
        48,
        -sum(numbers) % 2**32,
        -47 % 2**32,
        47,
        0,
        2**32 - 1,
        int(np.bitwise_xor.reduce(list(numbers))),
        48 % 10,
        -48 % 10,
        5,
        7 + 2 * 48,
    ]
    assert total[0] == 24


def test_places(module: EmulatedModule) -> None:
    pair = np.zeros((), np.dtype([("first", np.int32), ("second", np.float64)], align=True))
    pair["first"], pair["second"] = 3, 4.5
    out = np.zeros((12, 24), np.int32)
    kernel = module.get_function("places")
    kernel((2, 3, 2), (4, 3, 2), (out, pair[()], np.array([7, 500, 9], np.uint32)))
    t = np.arange(24)
    expected = (23 - t) + (2000 + 23 - t) + np.array([10, 20, 30, 40])[t % 4] + 3 + 4 + 500
    assert (out[:, 1:] == expected[1:]).all()
    assert sorted(out[:, 0].tolist()) == list(range(100, 112))
