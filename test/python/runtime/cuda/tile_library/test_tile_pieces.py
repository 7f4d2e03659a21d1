"""The CUDA tile library piece by piece, exactly, for small whole numbers are not rounded. In both tiers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.runtime.cuda.compile import CudaCompilerError, compile_cuda, cuda_compiler_problem
from bb.runtime.cuda.emulator import EmulatedModule
from bb.runtime.cuda.emulator.native_files import device_directory
from bb.runtime.cuda.ptx import PtxModule
from cuda_tile_cases import source_of

pytestmark = pytest.mark.long

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason="CuPy is not installed")

BF16, F16, F32 = (np.dtype(each) for each in (ml_dtypes.bfloat16, np.float16, np.float32))
HELD = {"bb::bf16": BF16, "bb::f16": F16, "bb::tf32": F32, "float": F32}

# type, M, N, K, width of B's tile, B stored K x N, A in shared memory (0), in registers (1), or sums (2), or
# B taken twice (3), or B from registers but for its last 3 rows (4); first column or row
PRODUCTS = [
    ("bb::bf16", 32, 32, 64, 64, False, 0, 32),
    ("float", 32, 16, 8, 32, False, 0, 16),
    ("bb::bf16", 32, 64, 32, 128, True, 0, 64),
    ("float", 16, 64, 32, 128, True, 0, 64),
    ("bb::bf16", 16, 128, 16, 256, True, 1, 128),
    ("float", 32, 32, 64, 64, False, 2, 32),
    ("bb::tf32", 16, 32, 32, 64, True, 0, 32),
    ("float", 32, 64, 64, 64, True, 2, 0),
    ("bb::tf32", 32, 48, 32, 64, False, 2, 16),
    ("bb::f16", 32, 32, 32, 32, True, 2, 0),
    ("bb::tf32", 16, 32, 32, 64, True, 2, 32),
    ("bb::f16", 16, 32, 128, 64, False, 1, 16),
    ("float", 16, 16, 8, 32, True, 2, 16),
    ("bb::tf32", 32, 32, 32, 64, False, 0, 32),
    ("bb::tf32", 16, 16, 8, 16, True, 1, 0),
    ("bb::f16", 16, 48, 16, 64, True, 1, 0),
    ("float", 32, 8, 16, 16, True, 0, 8),
    ("bb::tf32", 16, 48, 8, 64, True, 2, 0),
    ("bb::f16", 32, 32, 32, 64, True, 3, 32),
    ("bb::bf16", 16, 16, 64, 32, False, 3, 16),
    ("bb::bf16", 32, 16, 16, 32, True, 4, 16),
    ("float", 16, 32, 16, 32, False, 4, 0),
    ("float", 16, 16, 32, 32, True, 4, 16),
]
# type, rows and columns of a tile, threads, elements an access; rows and columns of the matrix
TILES = [
    ("bb::bf16", 16, 16, 64, 8, 23, 40),
    ("bb::f16", 64, 64, 128, 2, 65, 70),
    ("bb::f16", 8, 64, 256, 1, 11, 77),
    ("bb::f16", 32, 256, 256, 8, 32, 264),
    ("bb::tf32", 32, 8, 32, 4, 40, 12),
    ("float", 16, 16, 64, 2, 17, 34),
    ("float", 32, 64, 256, 1, 33, 65),
]
# type, pairs read or not, elements stored at a time, through shared memory; rows and columns
COPIES = [
    ("bb::bf16", 2, 8, True, 50, 72),
    ("bb::f16", 2, 2, True, 63, 70),
    ("bb::bf16", 1, 1, True, 33, 67),
    ("bb::bf16", 2, 2, False, 50, 70),
    ("bb::f16", 1, 1, False, 50, 71),
    ("float", 2, 2, False, 50, 70),
    ("float", 1, 1, False, 64, 65),
]
# type, threads of a row, elements an access, pieces; columns
ROWS = [
    ("bb::bf16", 32, 8, 2, 400),
    ("bb::f16", 64, 4, 2, 396),
    ("bb::bf16", 32, 1, 3, 95),
    ("float", 64, 4, 1, 252),
    ("float", 128, 1, 2, 201),
]


def instance(name: str, *parameters: object) -> str:
    shown = (str(value).lower() if isinstance(value, bool) else str(value) for value in parameters)
    return f"{name}<{', '.join(shown)}>"


# Templates and the types they are for.
OPERANDS = [("operands", type) for type in ("bb::bf16", "bb::f16", "bb::tf32")]
CROSSINGS = [("crossing", type) for type in ("float", "bb::f16", "bb::bf16", "bb::tf32")]


def names(every: int) -> list[str]:
    """The instances to compile: all of them, or some."""
    return [
        *(instance("product", *each[:-1]) for each in PRODUCTS[::every]),
        *(instance("tiles", *each[:-2]) for each in TILES[::every]),
        *(instance("copies", *each[:-2]) for each in COPIES[::every]),
        *(instance("whole_rows", *each[:-1]) for each in ROWS[::every]),
        *(instance(*each) for each in [*OPERANDS[::every], *CROSSINGS[::every]]),
    ]


def in_tiers(cases: Sequence[tuple[Any, ...]], name: str) -> pytest.MarkDecorator:
    """All cases from the source; every second one from its PTX, which takes longer to compile."""
    chosen = [("source", case) for case in cases] + [("sm_80", case) for case in cases[::2]]
    labels = [f"{tier}-{instance(name, *case) if name else instance(*case)}" for tier, case in chosen]
    marked = [pytest.param(*each, marks=needs_nvrtc if each[0] != "source" else ()) for each in chosen]
    return pytest.mark.parametrize(("tier", "case"), marked, ids=labels)


both_tiers = pytest.mark.parametrize("tier", ["source", pytest.param("sm_80", marks=needs_nvrtc)])


@cache
def module(tier: str) -> EmulatedModule | PtxModule:
    choices: dict[str, Any] = {"check": True, "schedule": "random", "seed": 7, "file_name": "pieces.cu"}
    source = source_of("pieces")
    if tier == "source":
        return EmulatedModule(source, name_expressions=names(1), **choices)
    return PtxModule(source, arch=tier, name_expressions=names(2), **choices)


def launch(tier: str, name: str, *arguments: Any, grid: int = 1, block: int = 32, shared: int = 0) -> None:
    """Launch; findings are errors."""
    kernel = module(tier).get_function(name)
    kernel.max_dynamic_shared_size_bytes = max(shared, 48 * 1024)
    kernel((grid,), (block,), arguments, shared)


def whole(seed: int, *shape: int, dtype: np.dtype = F32, most: int = 4) -> np.ndarray:
    """Whole numbers that every type holds."""
    return np.random.default_rng([seed, *shape]).integers(-most, most + 1, shape).astype(dtype)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


@in_tiers(PRODUCTS, "product")
def test_products(tier: str, case: tuple[Any, ...]) -> None:
    type, m, n, k, width, kn, held, first = case
    a = whole(1, m, k, dtype=HELD[type])
    b = whole(2, *((k, width) if kn else (width, k)), dtype=HELD[type])
    c = np.empty((m, n), np.float32)
    shared = a.nbytes + 3 * b.nbytes
    launch(tier, instance("product", *case[:-1]), a, b, c, np.int32(first), shared=shared)
    if held == 4:
        b[-3:] = 0
    right = wide(b)[:, first : first + n] if kn else wide(b)[first : first + n].T
    times = 3 if held == 3 else 1
    np.testing.assert_array_equal(c, times * (wide(a) @ right + 1))


@both_tiers
def test_sweeps(tier: str) -> None:
    x, v, w = whole(3, 32, 16), whole(4, 32), whole(5, 16)
    out = np.empty((11, 32, 16), np.float32)
    launch(tier, "sweeps", x, v, w, out)
    rows, cols = v[:, None], w[None, :]
    i, j = np.indices(x.shape)
    expected = [
        x * x + rows - cols,
        x * rows,
        x + (100 + i) + 10 * (1000 + j),
        x * rows,
        x + rows,
        x * cols,
        x + cols,
        x + rows * cols,
        np.where(8 + j < (5 + i) // 2 + 1, x, -7),
        np.broadcast_to(rows * rows + rows, x.shape),
        np.broadcast_to(3 + cols, x.shape),
    ]
    for part, (got, value) in enumerate(zip(out, expected, strict=True)):
        np.testing.assert_array_equal(got, value, f"part {part}")


@both_tiers
def test_reductions(tier: str) -> None:
    x = whole(6, 32, 32, most=90)
    x[3, 7], x[4, 16], x[5, 31], x[6, 0] = np.nan, np.nan, np.inf, -np.inf
    parts, out = np.empty((2, 3, 32), np.float32), np.full((3, 32), 1e9, np.float32)
    launch(tier, "reductions", x, parts, out, block=64, shared=768)
    halves = x.reshape(32, 2, 16)
    for row, reduce in enumerate((np.sum, np.max, np.min)):
        np.testing.assert_array_equal(parts[:, row], reduce(halves, axis=2).T)
        np.testing.assert_array_equal(out[row, :30], reduce(x, axis=1)[:30])
    assert (out[:, 30:] == 1e9).all()


@in_tiers(OPERANDS, "")
def test_operands_in_registers(tier: str, case: tuple[str, str]) -> None:
    type = case[1]
    x, v = whole(7, 32, 32, dtype=HELD[type]), whole(8, 32)
    out, squares = np.zeros((3, 32, 32), np.float32), np.zeros(32, np.float32)
    launch(tier, instance("operands", type), x, v, out, squares, shared=2 * x.nbytes)
    i, k = np.indices(x.shape)
    changed = 2 * wide(x) + i - 3 * k
    np.testing.assert_array_equal(out[0], changed)
    np.testing.assert_array_equal(out[1], changed)
    if type != "bb::tf32":
        np.testing.assert_array_equal(squares, (wide(x) ** 2).sum(1))
        np.testing.assert_array_equal(out[2], wide(x) - v[:, None])


@in_tiers(TILES, "tiles")
def test_tiles(tier: str, case: tuple[Any, ...]) -> None:
    type, tall, broad, threads, _, rows, cols = case
    x = whole(9, rows, cols, dtype=HELD[type])
    padded = np.zeros((-(-rows // tall) * tall, -(-cols // broad) * broad))
    padded[:rows, :cols] = x
    out, stats = np.empty(padded.shape, HELD[type]), np.empty((2, tall), np.float32)
    name = instance("tiles", *case[:-2])
    launch(
        tier,
        name,
        x,
        out,
        stats,
        np.int32(rows),
        np.int32(cols),
        block=threads,
        shared=tall * broad * x.itemsize,
    )
    first = padded[:tall, : min(cols, broad)]
    np.testing.assert_array_equal(stats, [first.sum(1), first.max(1)])
    padded[:tall, :broad] *= -1
    i, j = np.indices(padded.shape)
    np.testing.assert_array_equal(wide(out), 2 * padded + i % tall - j % broad)


@in_tiers(COPIES, "copies")
def test_copies(tier: str, case: tuple[Any, ...]) -> None:
    rows, cols = case[-2:]
    x = whole(10, rows, cols, dtype=HELD[case[0]], most=200)
    out = np.zeros_like(x)
    name = instance("copies", *case[:-2])
    launch(
        tier, name, x, out, np.int32(rows), np.int32(cols), grid=-(-cols // 64), block=64, shared=64 * 64 * 2
    )
    np.testing.assert_array_equal(out, x)


@in_tiers(CROSSINGS, "")
def test_from_warp_to_warp(tier: str, case: tuple[str, str]) -> None:
    type = case[1]
    x, out = (
        np.random.default_rng(11).standard_normal((32, 32)).astype(np.float32),
        np.empty((32, 32), np.float32),
    )
    launch(tier, instance("crossing", type), x, out, block=64, shared=32 * 32 * 4)
    np.testing.assert_array_equal(out, x.astype(HELD[type]).astype(np.float32))


@in_tiers(ROWS, "whole_rows")
def test_whole_rows(tier: str, case: tuple[Any, ...]) -> None:
    type, group, _, _, cols = case
    x = whole(12, 3, cols, dtype=HELD[type], most=8)
    out, sums = np.empty_like(x), np.empty((3, 2), np.float32)
    launch(
        tier, instance("whole_rows", *case[:-1]), x, out, sums, np.int32(cols), grid=3, block=group, shared=64
    )
    expected = wide(x) + np.arange(cols)
    np.testing.assert_array_equal(out, expected.astype(HELD[type]))
    np.testing.assert_array_equal(sums, np.stack([wide(x).sum(1), expected.sum(1)], 1))


# The start of what a wrong use is told, and the use.
MISUSES = {
    "an accumulator tile has a multiple of 16 rows": "bb::acc_tile<24, 8> a; bb::fill(a, 0.f);",
    "an accumulator tile has a multiple of 8 columns": "bb::acc_tile<16, 12> a; bb::fill(a, 0.f);",
    "a vector over rows has a multiple of 16 of them": "bb::row_vec<8> v; o[0] = v.at[0][0];",
    "a shared tile has a multiple of 8 rows": "bb::shared_tile<bb::bf16, 12, 64> t{s}; o[0] = t.ROWS;",
    "a row of a shared tile is a power of two of bytes": """
        bb::shared_tile<bb::bf16, 16, 48> t{s}; o[0] = t.ROWS;""",
    "the threads of a reader cover whole rows": """
        bb::reader<bb::shared_tile<float, 64, 64>, 100> r(o, 64, 0, 0, 64, 64); r.load({s});""",
    "an access moves 2, 4, 8 or 16 bytes": """
        bb::reader<bb::shared_tile<float, 64, 64>, 64, 8> r(o, 64, 0, 0, 64, 64); r.load({s});""",
    "a contraction has a multiple of 16 columns": """
        bb::acc_tile<16, 8> c; bb::a_frag<bb::f16, 16, 32> a; bb::shared_tile<bb::f16, 32, 16> b{s};
        bb::contract_kn(c, a, b, 0);""",
    "a right operand has at least as many rows": """
        bb::acc_tile<16, 32> c; bb::contract_kn(c, c, bb::shared_tile<float, 16, 32>{s}, 0);""",
    "DEPTH of f32 is a multiple of 8": """
        bb::acc_tile<16, 16> c; bb::shared_tile<float, 16, 16> t{s}; bb::contract<6>(c, t, 0, t, 0);""",
    "only 16-bit results are stored through shared memory": """
        bb::acc_tile<16, 16> c; bb::store(c, bb::shared_tile<float, 16, 16>{s}, 0, 0, o, 16, 16, 16);""",
    "1, 2, 4, 8, 16 or 32 threads share a row": """
        bb::for_my_row<96>(bb::shared_tile<bb::f16, 32, 64>{s}, 64, [](float) {});""",
    "an access moves at most 16 bytes": "bb::row_piece<32, 8, 1> r; r.load(o, 8, 0.f);",
    "a row belongs to one warp": "o[0] = bb::reduce_group<48>(1.f, o, bb::plus());",
}


@needs_nvrtc
@pytest.mark.parametrize("sentence", MISUSES)
def test_misuse_is_told_in_a_sentence(sentence: str) -> None:
    source = f"""#include <bb/cuda.cuh>
extern "C" __global__ void k(float* o) {{
  extern __shared__ __align__(1024) unsigned char s[];
  {MISUSES[sentence]}
}}"""
    with pytest.raises(CudaCompilerError) as caught:
        compile_cuda(source, "compute_80", include=[device_directory()])
    assert sentence in "\n".join(map(str, caught.value.diagnostics))
