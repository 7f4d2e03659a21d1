"""CUDA compiled with NVRTC on a machine without a GPU: results, errors with places, cache, resources."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bb.runtime.cuda.compile import (
    CudaCompilerError,
    compile_cuda,
    cuda_compiler_problem,
    kernel_resources,
    occupancy,
)
from bb.runtime.cuda.compile import compile as compile_module
from bb.runtime.cuda.compile.diagnostics import parse_log, source_of_ptx_line
from bb.runtime.cuda.compile.nvrtc_worker import compile_request
from bb.runtime.cuda.compile.sass import count_kinds, find_disassembler
from bb.runtime.cuda.compile.worker_process import stop_worker

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason=str(cuda_compiler_problem()))

SCALE = """
extern "C" __global__ void scale(const float4* x, float4* y, float by) {
  __shared__ float4 tile[64];
  extern __shared__ float more[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float4 v = tile[threadIdx.x ^ 1];
  more[threadIdx.x] = v.x * by;
  y[threadIdx.x] = make_float4(v.x * by, v.y * by, v.z * by, v.w * by);
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BB_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_90a", "sm_100"])
def test_ptx_and_cubin(arch: str):
    binary = compile_cuda(SCALE, arch, name="scale.cu")
    assert f".target {arch}" in binary.ptx
    assert binary.cubin is not None
    assert binary.cubin.startswith(b"\x7fELF")
    (row,) = kernel_resources(binary, threads=64, dynamic_shared=256)
    assert (row.kernel, row.static_shared, row.dynamic_shared, row.spill_stores) == ("scale", 1024, 256, 0)
    assert 8 <= row.registers <= 64
    assert row.occupancy is not None
    assert row.occupancy.blocks == 32
    assert row.occupancy.limited_by[0] == "blocks"
    if find_disassembler() is not None:
        counts = row.instructions
        assert (counts["LDG.128"], counts["STG.128"], counts["HMMA"]) == (1, 1, 0)
        assert (counts["LDS.128"], counts["STS.128"], counts["BAR"]) == (1, 1, 1)


@needs_nvrtc
def test_matrix_instructions_are_counted():
    source = """
    extern "C" __global__ void k(float* d, const unsigned* a) {
      float c[4] = {};
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
        "{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
      d[threadIdx.x] = c[0] + c[1] + c[2] + c[3];
    }"""
    (row,) = kernel_resources(compile_cuda(source, "sm_80"))
    assert row.occupancy is None  # the size of a block is not given
    if find_disassembler() is not None:
        assert row.instructions["HMMA"] == 1


@needs_nvrtc
def test_the_options_are_those_of_cupy():
    # What CuPy compiles for a device; the constant is denormal, which -ftz=true makes zero.
    source = """
    extern "C" __global__ void k(float* x) { x[0] *= 0.5f; }
    auto lambda() { return [] { return 1; }; }   // without --device-as-default-execution-space: host code
    static_assert(__cplusplus == 201703L, "C++17");
    #include <cuda_bf16.h>
    """
    assert "mul.ftz.f32" in compile_cuda(source, "compute_80").ptx


@needs_nvrtc
def test_errors_have_a_place():
    cases = {
        "\n\n__global__ void k() { x = 1; }": ("a.cu:3:23: error: identifier", 3),
        '#include "none.cuh"\n': ('a.cu:1:20: error: cannot open source file "none.cuh"', 1),
        '\n__global__ void k() {\n asm volatile("foo.bar 3;");\n}': ("a.cu:3: error: ptxas: ", 3),
        "__global__ void k() { INFINITY; }": ("a.cu:1:23: error: ", 1),
        "int": ("a.cu: error: expected an identifier (and 1 more for sm_80)", 0),
    }
    for source, (start, line) in cases.items():
        with pytest.raises(CudaCompilerError) as caught:
            compile_cuda(source, "sm_80", name="a.cu")
        assert str(caught.value).startswith(start)
        assert "\n" not in str(caught.value)
        assert caught.value.diagnostics[0].line == line


@needs_nvrtc
def test_error_in_a_header(tmp_path: Path):
    (tmp_path / "own.cuh").write_text("\nint f() { return y; }\n")
    with pytest.raises(CudaCompilerError, match=r"own\.cuh:2:18: error: identifier \"y\""):
        compile_cuda('#include "own.cuh"\n', "sm_80", include=[tmp_path])


@pytest.mark.parametrize(
    ("arch", "options", "source", "sentence"),
    [
        ("sm_9", [], "", "names no architecture"),
        ("sm_90; rm", [], "", "names no architecture"),
        ("sm_33", [], "", "invalid value for --gpu-architecture"),
        ("sm_80", ["x"], "", "'x' is no option"),
        ("sm_80", [], "a\n\0", "k.cu:2: error: the source holds a NUL byte"),
    ],
)
@needs_nvrtc
def test_bad_requests(arch: str, options: list[str], source: str, sentence: str):
    with pytest.raises(CudaCompilerError, match=sentence):
        compile_cuda(source, arch, name="k.cu", options=options)


def test_without_cupy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compile_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        CudaCompilerError, match=r"CuPy is not installed: pip install 'bb-compiler\[cuda-check\]'"
    ):
        compile_cuda(SCALE, "sm_80")


@needs_nvrtc
def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    header = tmp_path / "by.cuh"
    header.write_text("#define BY 2.0f\n")
    source = '#include "by.cuh"\nextern "C" __global__ void k(float* x) { *x *= BY; }'
    asked: list[str] = []
    real = compile_module.ask_nvrtc

    def ask(request: dict[str, object], ticker: object) -> dict[str, object]:
        asked.append(str(request["arch"]))
        return real(request, ticker)  # type: ignore[arg-type]

    monkeypatch.setattr(compile_module, "ask_nvrtc", ask)

    def ptx(arch: str = "compute_80") -> str:
        return compile_cuda(source, arch, include=[tmp_path]).ptx

    assert ptx() == ptx()
    assert asked == ["compute_80"]
    ptx("compute_90")
    assert asked == ["compute_80", "compute_90"]
    header.write_text("#define BY 4.0f\n")
    assert "40800000" in ptx()
    assert len(asked) == 3


@needs_nvrtc
def test_several_at_once(cache: Path):
    sources = [f'extern "C" __global__ void k(int* x) {{ *x = {number % 3}; }}' for number in range(9)]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda source: compile_cuda(source, "compute_80").ptx, sources))
    assert made[:3] == made[3:6] == made[6:]
    assert len({*made}) == 3
    assert len(list((cache / "objects").glob("*.nvrtc"))) == 3


@needs_nvrtc
def test_a_dead_compiler_is_one_sentence_and_the_next_one_works(monkeypatch: pytest.MonkeyPatch):
    from bb.runtime.cuda.compile import worker_process

    compile_cuda(SCALE, "compute_80")
    worker = worker_process._worker
    assert worker is not None
    real = worker.ask

    def killed(*arguments: object) -> bytes:
        worker.process.kill()
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "ask", killed)
    with pytest.raises(CudaCompilerError, match=r"NVRTC was stopped by signal 9 while it compiled 'k.cu'"):
        compile_cuda(SCALE, "compute_86", name="k.cu")
    assert compile_cuda(SCALE, "compute_86", name="k.cu").ptx
    monkeypatch.setattr(worker_process, "LIMIT", 0.0)
    stop_worker()
    with pytest.raises(CudaCompilerError, match=r"NVRTC did not finish 'kernel.cu' within 0 seconds"):
        compile_cuda(SCALE, "sm_87")


def test_cupy_is_not_imported_here():
    code = (
        "import sys, bb.tools.bb_cuda_check, bb.tools.bb_opt;"
        "from bb.runtime.cuda.compile import compile_cuda;"
        "compile_cuda('extern \"C\" __global__ void k() {}', 'compute_80') if sys.argv[1] == '1' else None;"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('cupy', 'cupy_backends')]"
    )
    has = "1" if cuda_compiler_problem() is None else "0"
    done = subprocess.run([sys.executable, "-c", code, has], env=dict(os.environ), check=False, timeout=120)
    assert done.returncode == 0


@needs_nvrtc
def test_name_expressions():
    source = "template <class T> __global__ void twice(T* x) { *x += *x; }"
    binary = compile_cuda(source, "compute_80", name_expressions=["twice<float>"])
    assert binary.lowered_names["twice<float>"] in binary.ptx


@needs_nvrtc
def test_the_worker_answers_a_request():
    request = {"source": "int", "name": "a.cu", "arch": "compute_80", "headers": {}, "options": []}
    answer = compile_request({**request, "name_expressions": []})
    assert answer["refused"] is not None
    assert "error: expected an identifier" in str(answer["log"])


def test_logs():
    log = (
        'a.cu(3): warning #177-D: variable "x" was declared but never referenced\n    int x;\n        ^\n\n'
        "ptxas application ptx input, line 4; error   : Unknown modifier '.bar'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors"
    )
    ptx = '.loc 1 7 0\n.loc 2 9 1\nx;\nfoo.bar;\n.file 1 "/a.cu"\n.file 2 "/b.cuh"'
    assert [str(entry) for entry in parse_log(log, "a.cu", ptx)] == [
        'a.cu:3:7: warning: variable "x" was declared but never referenced',
        "/b.cuh:9: error: ptxas: Unknown modifier '.bar'",
    ]
    assert source_of_ptx_line(ptx, 1, "a.cu") == ("a.cu", 7)
    assert source_of_ptx_line("", 1, "a.cu") == ("", 0)


# Architecture, registers, shared bytes, threads, barriers: blocks. As cuda_occupancy.h of CUDA 13.0 has them.
KNOWN = [
    ("sm_80", 72, 19456, 128, 1, 7),
    ("sm_80", 80, 29184, 128, 1, 5),
    ("sm_90", 82, 29184, 128, 1, 5),
    ("sm_90", 78, 19456, 128, 1, 6),
    ("sm_90a", 168, 232448, 384, 1, 1),
    ("sm_100", 32, 0, 32, 1, 32),
    ("sm_80", 255, 0, 256, 1, 1),
    ("sm_80", 255, 0, 512, 1, 0),
    ("sm_90", 32, 233000, 128, 1, 0),
    ("sm_80", 32, 0, 1025, 1, 0),
    ("sm_86", 64, 49152, 256, 1, 2),
    ("sm_89", 40, 0, 96, 1, 16),
    ("sm_90", 16, 0, 32, 16, 4),
    ("sm_120", 128, 101376, 128, 1, 1),
]


@pytest.mark.parametrize(("arch", "registers", "shared", "threads", "barriers", "blocks"), KNOWN)
def test_occupancy(arch: str, registers: int, shared: int, threads: int, barriers: int, blocks: int):
    found = occupancy(arch, registers=registers, shared=shared, threads=threads, barriers=barriers)
    assert found.blocks == blocks
    assert found.limited_by


def test_occupancy_of_what_is_not_known():
    with pytest.raises(ValueError, match="the occupancy of 'sm_42' is not known"):
        occupancy("sm_42", registers=1, shared=0, threads=32)
    with pytest.raises(ValueError, match="not negative"):
        occupancy("sm_80", registers=-1, shared=0, threads=32)


def test_kinds_of_instructions():
    counts = count_kinds(
        {"LDG.E.128.CONSTANT": 3, "LDG.E": 2, "LDGSTS.E.BYPASS.LTC128B.128": 4, "LDSM.16.M88.4": 1}
    )
    assert (counts["LDG.128"], counts["LDG"], counts["LDGSTS"], counts["LDSM"], counts["LDS"]) == (
        3,
        5,
        4,
        1,
        0,
    )
    assert counts["total"] == 10
