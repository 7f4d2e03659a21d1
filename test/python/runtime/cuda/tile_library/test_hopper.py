"""Bulk copies and wgmma: where single bytes and registers go, and what is refused.

Tables here are written out from the pictures of the PTX ISA, not from what the emulator computes with.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.runtime.cuda.compile import compile_cuda, cuda_compiler_problem, kernel_resources
from bb.runtime.cuda.emulator import EmulatedKernel, EmulatedModule, FindingKind, LaunchReport, TensorMap
from bb.runtime.cuda.emulator.native_files import device_directory
from bb.runtime.cuda.ptx import PtxModule
from cuda_kernels import KERNELS, outcome, source_of

# A row's pieces of 16 bytes are exchanged: piece p of row r is where p ^ SWIZZLES[...][r] would be without.
SWIZZLES = {
    0: [0] * 8,
    32: [0, 0, 0, 0, 1, 1, 1, 1],
    64: [0, 0, 1, 1, 2, 2, 3, 3],
    128: [0, 1, 2, 3, 4, 5, 6, 7],
}
needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason="needs NVRTC")


@pytest.fixture(scope="module", params=["source", pytest.param("ptx", marks=needs_nvrtc)])
def module(request: pytest.FixtureRequest) -> EmulatedModule | PtxModule:
    source, name = source_of("conformance_hopper"), "conformance_hopper.cu"
    if request.param == "ptx":
        return PtxModule(source, arch="sm_90a", check=True, file_name=name, time_limit=5.0)
    return EmulatedModule(source, check=True, file_name=name, time_limit=5.0)


def run(kernel: EmulatedKernel, *arguments: Any, threads: int = 128, shared: int = 32768) -> LaunchReport:
    report = kernel.launch((1,), (threads,), arguments, shared)
    assert report.ok, report.findings
    return report


def swizzled(tile: np.ndarray, swizzle: int) -> np.ndarray:
    """The bytes of a tile as they lie in shared memory, for rows of `swizzle` bytes."""
    pieces = tile.view(np.uint8).reshape(len(tile), -1, 16)
    moved = np.empty_like(pieces)
    for row, own in enumerate(pieces):
        for piece, data in enumerate(own):
            moved[row, piece ^ SWIZZLES[swizzle][row % 8]] = data
    return moved.reshape(-1)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_boxes_are_swizzled_and_filled_with_zeros(module: EmulatedModule, swizzle: int) -> None:
    columns = (swizzle or 96) // 2
    array = np.random.default_rng(swizzle).integers(1, 60000, (40, 72)).astype(np.uint16)
    load, store = module.get_function("load_box"), module.get_function("store_box")
    padded = np.zeros((100, 300), np.uint16)
    padded[20:60, 100:172] = array
    for x, y in ((0, 0), (8, 3), (-5, 30), (60, -7), (72, 0), (3, 40)):
        wanted = padded[20 + y : 36 + y, 100 + x : 100 + x + columns]
        out = np.zeros(16 * columns * 2, np.uint8)
        tensor_map = TensorMap(array, (16, columns), swizzle)
        run(load, tensor_map, out, np.int32(x), np.int32(y), np.int32(tensor_map.box_bytes))
        assert np.array_equal(out, swizzled(np.ascontiguousarray(wanted), swizzle))
        # And back: what lies outside the array is left out.
        copied = np.zeros_like(array)
        run(
            store,
            TensorMap(copied, (16, columns), swizzle),
            out,
            np.int32(x),
            np.int32(y),
            np.int32(out.size),
        )
        inside = np.zeros_like(padded)
        inside[20 + y : 36 + y, 100 + x : 100 + x + columns] = wanted
        assert np.array_equal(copied, inside[20:60, 100:172])


def test_lines(module: EmulatedModule) -> None:
    array, out = np.arange(1, 101, dtype=np.float32), np.zeros(64, np.float32)
    report = run(module.get_function("load_line"), TensorMap(array, (64,)), out, np.int32(70), np.int32(256))
    assert np.array_equal(out, [*range(71, 101), *[0] * 34])
    assert report.counters.bulk_copies == 1
    copied = np.zeros(100, np.float32)
    run(module.get_function("store_line"), TensorMap(copied, (64,)), out, np.int32(-3), np.int32(256))
    assert np.array_equal(copied, [*out[3:], *[0] * 39])


def fragments(products: np.ndarray) -> np.ndarray:
    """Part of a 64 x n result that each of 128 threads holds."""
    held: list[list[float]] = []
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        upper = 16 * warp + lane // 4
        own: list[float] = []
        for left in range(2 * (lane % 4), products.shape[1], 8):
            own += [*products[upper, left : left + 2], *products[upper + 8, left : left + 2]]
        held.append(own)
    return np.array(held, np.float32)


def laid_out(matrix: np.ndarray, swizzle: int, transposed: bool, leading: int, stride: int) -> np.ndarray:
    """A rows x 16 matrix of 16-bit numbers as wgmma reads it from shared memory."""
    memory = np.zeros(16384, np.uint8)
    for (row, k), value in np.ndenumerate(matrix.view(np.uint16)):
        if swizzle == 0:
            place = row // 8 * stride + k // 8 * leading
            place += k % 8 * 16 + row % 8 * 2 if transposed else row % 8 * 16 + k % 8 * 2
        elif transposed:
            tile, column = divmod(row * 2, swizzle)
            piece = column // 16 ^ SWIZZLES[swizzle][k % 8]
            place = tile * leading + k // 8 * stride + k % 8 * swizzle + piece * 16 + column % 16
        else:
            piece = k * 2 // 16 ^ SWIZZLES[swizzle][row % 8]
            place = row // 8 * stride + row % 8 * swizzle + piece * 16 + k * 2 % 16
        memory[place : place + 2] = np.frombuffer(value.tobytes(), np.uint8)
    return memory


@pytest.mark.parametrize(
    ("name", "n", "kind", "a_distances", "b_distances"),
    [
        ("product_0", 16, ml_dtypes.bfloat16, (1024, 128), (256, 128)),
        ("product_32", 8, np.float16, (16, 256), (16, 256)),
        ("product_64", 32, ml_dtypes.bfloat16, (16, 512), (16, 1024)),
        ("product_128", 128, np.float16, (16, 1024), (16, 1024)),
        ("transposed_0", 32, ml_dtypes.bfloat16, (1024, 128), (128, 256)),
        ("transposed_32", 64, np.float16, (512, 256), (512, 256)),
        ("transposed_64", 64, ml_dtypes.bfloat16, (1024, 512), (1024, 512)),
        ("transposed_128", 128, ml_dtypes.bfloat16, (2048, 1024), (2048, 1024)),
    ],
)
def test_products(
    module: EmulatedModule,
    name: str,
    n: int,
    kind: Any,
    a_distances: tuple[int, int],
    b_distances: tuple[int, int],
) -> None:
    source = np.random.default_rng(n)
    a, b = (source.standard_normal((rows, 16)).astype(kind) for rows in (64, n))
    c = source.standard_normal((64, n)).astype(np.float32)
    which, _, swizzle = name.partition("_")
    transposed = which == "transposed"
    memory = np.concatenate(
        [
            laid_out(each, int(swizzle), transposed, *distances)
            for each, distances in ((a, a_distances), (b, b_distances))
        ]
    )
    out = fragments(c)
    distances = [np.int32(each) for each in (*a_distances, *b_distances)]
    report = run(module.get_function(name), memory, out, np.int32(memory.size), *distances)
    expected = fragments(c + a.astype(np.float64) @ b.astype(np.float64).T)
    assert np.abs(out - expected).max() < 1e-5
    assert report.counters.wgmma == 1


def test_a_in_registers(module: EmulatedModule) -> None:
    source = np.random.default_rng(5)
    a, b = source.standard_normal((64, 16)), source.standard_normal((16, 64))
    a, b = a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)
    # Two neighbours along k in a register: rows g and g + 8, then the same of columns 8 to 15.
    words = np.empty((128, 4, 2), np.uint16)
    for thread in range(128):
        row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
        places = ((row, column), (row + 8, column), (row, column + 8), (row + 8, column + 8))
        words[thread] = [a.view(np.uint16)[r, c : c + 2] for r, c in places]
    memory, out = swizzled(b, 128), np.zeros((128, 16), np.float32)
    run(module.get_function("registers"), words.view(np.uint32), memory, out, np.int32(memory.size))
    wide = a.astype(np.float64)
    first, second = (wide @ b[:, left : left + 16].astype(np.float64).T for left in (0, 16))
    assert np.abs(out - np.hstack([fragments(2 * first), fragments(second)])).max() < 1e-5


def test_what_is_refused_at_launch(module: EmulatedModule) -> None:
    line, box = module.get_function("load_line"), module.get_function("load_box")
    array, out = np.zeros(512, np.uint8), np.zeros(256, np.uint8)

    def finding(kernel: EmulatedKernel, *arguments: Any) -> str:
        report = kernel.launch((1,), (128,), arguments, 4096)
        assert report.findings[0].kind is FindingKind.INVALID_COPY, report.findings
        return report.findings[0].detail

    count = np.int32(256)
    two = TensorMap(array.reshape(32, 16), (16, 16))
    assert "another number of dimensions" in finding(line, two, out, np.int32(0), count)
    assert "none that the launch was given" in finding(line, bytes(128), out, np.int32(0), count)
    shifted = TensorMap(array[8:], (256,))
    assert "multiple of 16 bytes" in finding(line, shifted, array, np.int32(0), count)
    report = line.launch((1,), (128,), (TensorMap(array, (128,)), out, np.int32(0), count), 4096)
    assert report.findings[0].kind is FindingKind.DEADLOCK  # 128 of 256 bytes come
    report = line.launch((1,), (128,), (TensorMap(array, (128,)), out, np.int32(0), count), 64)
    assert report.findings[0].kind is FindingKind.OUT_OF_BOUNDS
    with pytest.raises(TypeError, match="is a tensor map, which the kernel takes as"):
        box.launch((1,), (128,), (two, two, np.int32(0), np.int32(0), count), 4096)


@pytest.mark.parametrize(
    ("shape", "box", "swizzle", "sentence"),
    [
        ((4, 4, 4), (1, 4, 4), 0, "one or two dimensions"),
        ((32, 64), (8,), 0, "one or two dimensions"),
        ((32, 64), (300, 8), 0, "from 1 to 256 elements"),
        ((32, 64), (8, 6), 0, "12 bytes, no multiple of 16"),
        ((32, 65), (8, 8), 0, "130 bytes apart"),
        ((32, 64), (8, 32), 128, "64 bytes, and the swizzle 128"),
        ((32, 64), (8, 32), 16, "not 16"),
        ((0, 64), (8, 32), 64, "has elements"),
    ],
)
def test_maps_that_are_none(
    shape: tuple[int, ...], box: tuple[int, ...], swizzle: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        TensorMap(np.zeros(shape, np.float16), box, swizzle)


def test_a_warpgroup_has_four_warps(module: EmulatedModule) -> None:
    arguments = np.zeros(32768, np.uint8), np.zeros((128, 8), np.float32), np.int32(32768)
    product = module.get_function("product_0")
    report = product.launch((1,), (96,), (*arguments, *[np.int32(128)] * 4), 32768)
    assert report.findings[0].kind is FindingKind.INVALID_WGMMA
    assert "four warps" in report.findings[0].detail


@needs_nvrtc
def test_the_matmul_compiles_without_spills() -> None:
    binary = compile_cuda(
        source_of("matmul_hopper"), "sm_90a", name="matmul_hopper.cu", include=[device_directory()]
    )
    (found,) = kernel_resources(binary, threads=160)
    assert (found.spill_stores, found.spill_loads, found.stack) == (0, 0, 0)
    assert found.instructions["HGMMA"] >= 4
    assert found.instructions["UTMALDG"] >= 2


@needs_nvrtc
@pytest.mark.parametrize("size", KERNELS["matmul_hopper"].sizes, ids=str)
def test_the_matmul_in_the_ptx_tier(size: tuple[int, ...]) -> None:
    kernel = KERNELS["matmul_hopper"]
    case = kernel.make(*size)
    ptx = PtxModule(kernel.source, arch="sm_90a", check=True, file_name="matmul_hopper.cu")
    report, error = outcome(ptx.get_function(kernel.name), case)
    assert report.ok, report.findings
    assert error < case.tolerance
