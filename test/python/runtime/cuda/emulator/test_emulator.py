"""CUDA kernels on the CPU: right results without findings, exact traffic, CuPy's calling convention."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from bb.runtime.compilation.errors import HostCompilerError
from bb.runtime.cuda.emulator import (
    EmulatedModule,
    EmulationError,
    EmulatorBuildError,
    FindingKind,
    StridedArray,
)
from cuda_kernels import KERNELS, Kernel, outcome

pytestmark = pytest.mark.long

SCHEDULES = [("fifo", 0), ("lifo", 0), ("random", 1), ("pct", 2), ("pct", 3)]

SCALE = """
extern "C" __global__ void scale(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}
template <class T> __global__ void twice(T* x) { x[threadIdx.x] += x[threadIdx.x]; }
namespace outer::deep { namespace { extern "C" { __global__ void deepest(int* x) { x[2] = 1; } } } }
namespace inner {
__global__ void hidden(int* x) { x[0] = 1; }
extern "C" __global__ void known(int* x) { x[1] = 1; }
}
#define KERNEL(NAME, VALUE) extern "C" __global__ void NAME(int* x) { x[threadIdx.x] = VALUE; }
KERNEL(ones, 1)
#if 0
KERNEL(absent, 2)
#endif
// Functions of the C library, which a GPU does not have.
struct Halves { int v; __device__ int div(int by) const { return v / by; } };
extern "C" __global__ void div(int* x);
extern "C" __global__ void div(int* x) { x[0] = Halves{x[0]}.div(2); }
namespace inner { extern "C" __global__ void remove(int* x) { x[1] = 9; } }
extern "C" { __global__ void dynamic(float* x) {
  extern __shared__ float a[];
  extern __shared__ int b[];
  a[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = __int_as_float(b[threadIdx.x ^ 1]);
} }
"""


@pytest.fixture(scope="module")
def scale() -> EmulatedModule:
    return EmulatedModule(SCALE, name_expressions=("twice<float>", "twice<int>", "inner::hidden"))


def module_of(kernel: Kernel, *, check: bool) -> EmulatedModule:
    return EmulatedModule(kernel.source, check=check, file_name=f"{kernel.name}.cu")


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_correct_kernels_have_no_findings(name: str, check: bool) -> None:
    kernel = KERNELS[name]
    function = module_of(kernel, check=check).get_function(name)
    for size in kernel.sizes:
        case = kernel.make(*size)
        for schedule, seed in SCHEDULES:
            report, error = outcome(function, case, schedule=schedule, seed=seed)
            assert report.ok, report.findings
            assert error <= case.tolerance
            if check:
                assert sum(buffer.never_written for buffer in report.buffers) == 0


def test_traffic_is_exact() -> None:
    kernel = KERNELS["flash_attention"]
    report, _ = outcome(
        module_of(kernel, check=True).get_function(kernel.name), kernel.make(2, 64), profile=True
    )
    size = 2 * 64 * 64 * 4
    assert report.buffer("Q").bytes_read == size
    assert report.buffer("K").bytes_read == 2 * size  # once for each block of queries
    assert report.buffer("O").bytes_written == size
    for name in "QKV":  # float4 by 32 lanes: 16 sectors a request
        traffic = report.buffer(name)
        assert traffic.load_sectors == 16 * traffic.load_requests
        assert traffic.load_sectors * 32 == traffic.bytes_read
    assert report.shared.conflict_factor == 1
    assert report.counters.barriers == 4 * 4
    assert report.counters.shuffles == 4 * 2 * 4 * 8 * 10
    with pytest.raises(KeyError):
        report.buffer("P")


def test_matrix_instructions_are_counted() -> None:
    kernel = KERNELS["matmul_mma"]
    report, _ = outcome(
        module_of(kernel, check=True).get_function(kernel.name), kernel.make(64, 64, 64), profile=True
    )
    assert report.counters.mma == 64 * 64 * 64 // (16 * 8 * 16)
    assert report.counters.cp_async == 2 * 64 * 64 * 2 // 16
    assert report.counters.ldmatrix == report.counters.mma // 2
    assert 1 < report.shared.conflict_factor < 1.5


def test_bank_conflicts_show() -> None:
    kernel = KERNELS["transpose"]
    case = kernel.make(64, 64)
    source = kernel.source.replace("TILE + 2]", "TILE]")
    report, _ = outcome(EmulatedModule(source, check=True).get_function("transpose"), case, profile=True)
    padded, _ = outcome(module_of(kernel, check=True).get_function("transpose"), case, profile=True)
    assert padded.shared.conflict_factor == 1
    assert report.shared.conflict_factor > 4


def test_cupys_calling_convention(scale: EmulatedModule) -> None:
    x = np.arange(100, dtype=np.float32)
    y = np.zeros(100, np.float32)
    assert scale.get_function("scale")((4,), (32,), (x, y, np.int32(90), np.float32(3))) is None
    assert np.array_equal(y, np.where(np.arange(100) < 90, 3 * x, 0))
    numbers = np.arange(8, dtype=np.int32)
    scale.get_function("twice<int>")((1,), (8,), (numbers,))
    assert numbers.tolist() == list(range(0, 16, 2))
    scale.get_function("inner::hidden")((1,), (1,), (numbers,))
    scale.get_function("known")((1,), (1,), (numbers,))
    scale.get_function("deepest")((1,), (1,), (numbers,))
    scale.get_function("ones")((1,), (4,), (numbers,))
    assert numbers.tolist() == [1, 1, 1, 1, 8, 10, 12, 14]
    numbers[0] = 24
    scale.get_function("div")((1,), (1,), (numbers,))
    scale.get_function("remove")((1,), (1,), (numbers,))
    assert numbers.tolist()[:3] == [12, 9, 1]
    swapped = np.arange(32, dtype=np.float32)
    scale.get_function("dynamic")((1,), (32,), (swapped,), shared_mem=128)
    assert swapped.tolist() == [i ^ 1 for i in range(32)]


def test_arrays_that_share_memory_share_it_on_the_device(scale: EmulatedModule) -> None:
    x = np.arange(64, dtype=np.float32)
    scale.get_function("scale")((1,), (64,), (x, x, np.int32(64), np.float32(2)))
    assert np.array_equal(x, 2 * np.arange(64))
    scale.get_function("scale")((1,), (32,), (x[:32], x[32:], np.int32(32), np.float32(1)))
    assert np.array_equal(x[32:], x[:32])
    fixed = np.zeros(4, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(EmulationError, match="write"):
        EmulatedModule(SCALE, check=True).get_function("scale")(
            (1,), (4,), (x[:4], fixed, np.int32(4), np.float32(1))
        )
    assert not fixed.any()


def test_arguments_are_checked(scale: EmulatedModule) -> None:
    kernel = scale.get_function("scale")
    x = np.zeros(8, np.float32)
    good = (x, x, np.int32(8), np.float32(1))
    for args, message in [
        (good[:3], "has 4 parameters, 3 arguments given"),
        ((x, x, 8, np.float32(1)), "argument 2 of kernel 'scale' has 8 bytes \\(int, passed as int64\\)"),
        ((x, x, np.int32(8), 1.0), "argument 3 .* has 8 bytes \\(float, passed as float64\\)"),
        ((x, np.float32(0), *good[2:]), "argument 1 .* is a pointer"),
        ((x, x[::2], *good[2:]), "argument 1 .* is not C-contiguous"),
        (
            (x, StridedArray(x[::-1]), *good[2:]),
            "argument 1 .* has strides .-4,. bytes, expected multiples of 4",
        ),
        ((x, x, "8", np.float32(1)), "argument 2 .* is of type str"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            kernel((1,), (8,), args)
    for grid, block, shared, message in [
        ((0,), (8,), 0, "a grid has one to three positive extents"),
        ((1,), (1025,), 0, "at most 1,024 threads"),
        ((1, 70000), (8,), 0, "65,535"),
        ((1,), (8,), 50000, "set max_dynamic_shared_size_bytes"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernel(grid, block, good, shared)
    kernel.max_dynamic_shared_size_bytes = 60000
    kernel((1,), (8,), good, 50000)
    with pytest.raises(ValueError, match="more than any device has"):
        kernel.max_dynamic_shared_size_bytes = 300000
    with pytest.raises(ValueError, match="no array"):
        kernel.launch((1,), (8,), good, undefined=(2,))
    with pytest.raises(ValueError, match="schedule 'best'"):
        kernel.launch((1,), (8,), good, schedule="best")


def test_findings_say_where_and_who() -> None:
    module = EmulatedModule(SCALE, check=True, file_name="scale.cu")
    x, y = np.zeros(90, np.float32), np.zeros(100, np.float32)
    with pytest.raises(EmulationError) as caught:
        module.get_function("scale")((4,), (32,), (x, y, np.int32(100), np.float32(3)))
    (finding,) = caught.value.report.findings
    assert finding.kind is FindingKind.OUT_OF_BOUNDS
    assert (finding.block, finding.thread) == ((2, 0, 0), (26, 0, 0))
    assert (finding.buffer, finding.offset, finding.size) == ("argument 0", 360, 4)
    assert str(finding) == (
        "scale.cu:4: out of bounds: read of 4 bytes at argument 0+360 [block (2,0,0) thread (26,0,0)]"
    )
    assert str(caught.value) == str(finding)
    assert pickle.loads(pickle.dumps(caught.value)).report == caught.value.report


def test_a_race_names_both_sides() -> None:
    kernel = KERNELS["layernorm"]
    source = kernel.source.replace("__syncthreads();  // the parts may be overwritten", "")
    function = EmulatedModule(source, check=True, file_name="ln.cu").get_function("layernorm")
    report, _ = outcome(function, kernel.make(*kernel.sizes[0]))
    finding = report.findings[0]
    assert finding.kind is FindingKind.RACE
    assert finding.buffer == "shared of_warp"
    lines = source.splitlines()
    assert finding.location is not None
    assert finding.other is not None
    assert finding.other.location is not None
    assert "of_warp[threadIdx.x / 32] = value" in lines[finding.location.line - 1]
    assert "of_warp[" in lines[finding.other.location.line - 1]
    assert finding.other.thread != finding.thread


@pytest.mark.parametrize(
    ("code", "line", "message"),
    [
        ('\n\nextern "C" __global__ void k(int* x) { x[0] = y; }', 3, "'y' was not declared"),
        ("#include <missing.h>", 1, "missing.h"),
        ('\nextern "C" __global__ void k(int* x) {\n  __shfl_sync(1);\n}', 3, "no matching function"),
        ('extern "C" __global__ void k() {\n\n  asm volatile("exit;");\n}', 3, "inline assembly"),
        ('extern "C" __global__ int k() { return 1; }', 1, "returns void"),
    ],
)
def test_errors_of_compilation_have_lines(code: str, line: int | None, message: str) -> None:
    with pytest.raises(EmulatorBuildError, match=message) as caught:
        EmulatedModule(code, file_name="mine.cu").get_function("k")
    if line is not None:
        assert caught.value.location is not None
        assert (caught.value.location.file, caught.value.location.line) == ("mine.cu", line)
        assert str(caught.value).startswith(f"mine.cu:{line}: ")


def test_kernels_that_there_are_not(scale: EmulatedModule) -> None:
    with pytest.raises(
        EmulatorBuildError, match=r"there is no kernel 'hidden' in kernel\.cu: it has 'scale', "
    ):
        scale.get_function("hidden")
    for options, message in [
        (("-O7",), "'-O7' is not known"),
        (("-D", "1X=2"), "does not begin with the name of a macro"),
        (("-arch=gfx90a",), "names no architecture"),
        (("-I",), "needs a value"),
    ]:
        with pytest.raises(ValueError, match=message):
            EmulatedModule(SCALE, options=options)
    with pytest.raises(ValueError, match="no expression"):
        EmulatedModule(SCALE, name_expressions=('twice<int>; system("true")',)).compile()


def test_options_and_included_files(tmp_path: Path) -> None:
    header = tmp_path / "value.cuh"
    code = """#include "value.cuh"
extern "C" __global__ void k(int* x) { x[0] = value(x) + ADD; x[1] = __CUDA_ARCH__; }
"""
    options = ("-I", str(tmp_path), "-DADD=5", "--std=c++17", "-arch=sm_90")
    for value in (1, 2):  # a changed header is another program
        header.write_text(f"__device__ int value(int* x) {{ return {value} / x[0]; }}")
        x = np.array([1, 0], np.int32)
        module = EmulatedModule(code, options=options)
        module.get_function("k")((1,), (1,), (x,))
        assert x.tolist() == [value + 5, 900]
    report = module.get_function("k").launch((1,), (1,), (np.zeros(2, np.int32),))
    assert report.findings[0].kind is FindingKind.DIVISION_BY_ZERO
    assert report.findings[0].location is not None
    assert report.findings[0].location.file == str(header)


def test_concurrent_use() -> None:
    code = 'extern "C" __global__ void k(int* x) { x[threadIdx.x] += 41; }  // of several threads'

    def use(seed: int) -> tuple[Path, int]:
        x = np.full(32, seed, np.int32)
        module = EmulatedModule(code)
        module.get_function("k")((1,), (32,), (x,))
        return module.compile().path, int(x[0])

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(use, range(8)))
    assert [value for _, value in results] == [seed + 41 for seed in range(8)]
    assert len({path for path, _ in results}) == 1


def test_a_removed_program_is_compiled_again() -> None:
    module = EmulatedModule('extern "C" __global__ void k(int* x) { x[0] = 3; }  // removed')
    kernel = module.get_function("k")
    module.compile().path.unlink()
    x = np.zeros(1, np.int32)
    kernel((1,), (1,), (x,))
    assert x[0] == 3


def test_cas_loops_are_no_races() -> None:
    code = """
extern "C" __global__ void sum(double* total) {
  unsigned long long* bits = (unsigned long long*)total;
  unsigned long long old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, (unsigned long long)__double_as_longlong(__longlong_as_double(seen) + 0.5));
  } while (old != seen);
}
extern "C" __global__ void early(int* total, int* seen) {
  atomicAdd(total, 1);
  seen[threadIdx.x] = *total;
}
"""
    module = EmulatedModule(code, check=True, schedule="random", seed=5)
    total = np.zeros(1)
    module.get_function("sum")((2,), (48,), (total,))
    assert total[0] == 48
    report = module.get_function("early").launch(
        (1,), (48,), (np.zeros(1, np.int32), np.zeros(48, np.int32)), names=("total", "seen")
    )
    assert [finding.kind for finding in report.findings] == [FindingKind.RACE] * len(report.findings)
    assert report.findings


def test_reused_barriers_of_warps_and_flags_between_warps() -> None:
    """Locks and flags made of atomics order memory; without their fence they do not."""
    code = """
extern "C" __global__ void hand_over(int* out, int fenced) {
  __shared__ int value;
  __shared__ int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = 7;
    if (fenced) __threadfence_block();
    atomicExch(&ready, 1);
  } else if (threadIdx.x == 32) {
    while (atomicAdd(&ready, 0) == 0) {}
    out[0] = value;
  }
}
"""
    kernel = EmulatedModule(code, check=True, schedule="lifo").get_function("hand_over")
    out = np.zeros(1, np.int32)
    kernel((1,), (64,), (out, np.int32(1)))
    assert out[0] == 7
    report = kernel.launch((1,), (64,), (out, np.int32(0)))
    assert [finding.kind for finding in report.findings] == [FindingKind.RACE]
    assert report.findings[0].buffer == "shared value"


def test_a_grid_that_takes_for_ever(scale: EmulatedModule) -> None:
    report = scale.get_function("ones").launch(
        (2**31 - 1,), (1,), (np.zeros(1, np.int32),), schedule="random", time_limit=0.2
    )
    assert report.findings[0].kind is FindingKind.TIME_LIMIT


def test_shared_memory_has_its_limits() -> None:
    code = """
extern "C" __global__ void k(int* x) {
  extern __shared__ int dynamic[];
  dynamic[x[0]] = 5;
  x[1] = dynamic[x[0]];
}
"""
    kernel, x = EmulatedModule(code, check=True).get_function("k"), np.array([25000, 0], np.int32)
    with pytest.raises(
        ValueError, match="above the kernel's limit of 49152: set max_dynamic_shared_size_bytes"
    ):
        kernel((1,), (1,), (x,), 100004)
    kernel.max_dynamic_shared_size_bytes = 232448
    kernel((1,), (1,), (x,), 100004)
    assert x.tolist() == [25000, 5]
    assert kernel.launch((1,), (1,), (x,), 100000).findings[0].kind is FindingKind.OUT_OF_BOUNDS
    with pytest.raises(
        ValueError, match="232449 bytes of dynamic shared memory are more than any device has"
    ):
        kernel.max_dynamic_shared_size_bytes = 232449
    code = 'extern "C" __global__ void k(int* x) { __shared__ int a[20000]; a[x[0]] = 1; x[1] = a[x[0]]; }'
    with pytest.raises(HostCompilerError, match="more than 49152 bytes: take dynamic shared memory"):
        EmulatedModule(code).get_function("k")((1,), (1,), (x,))
