"""PTX: what is not known is an error with its line; whole kernels run with the results that numpy has."""

from __future__ import annotations

import re

import numpy as np
import pytest
from bb.runtime.cuda.compile import cuda_compiler_problem
from bb.runtime.cuda.emulator import EmulatedModule, EmulatorBuildError, FindingKind
from bb.runtime.cuda.ptx import PtxError, PtxModule
from bb.runtime.cuda.ptx.parse import parse_ptx
from bb.runtime.cuda.ptx.syntax import Instruction, Location, Registers, Scope, Vector
from bb.runtime.cuda.ptx.translate import translate
from cuda_kernels import KERNELS, outcome

pytestmark = pytest.mark.long

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason=str(cuda_compiler_problem()))


def ptx(*lines: str, registers: str = ".reg .b32 %r<9>;") -> str:
    body = "\n".join((registers, ".reg .pred %p<3>;", ".reg .b64 %rd<4>;", ".reg .b16 %rs<4>;", *lines))
    return f".version 9.0\n.target sm_90\n.visible .entry k(.param .u64 a)\n{{\n{body}\nret;\n}}\n"


def translated(*lines: str) -> str:
    return translate(parse_ptx(ptx(*lines)), "k.cu").source


FIRST = 9
"""The number of the first line that `ptx` is given."""


@pytest.mark.parametrize(("used", "bytes_read"), [("%r1", 8), ("%r3", 16)])
def test_elements_that_nobody_looks_at_are_not_read(used: str, bytes_read: int):
    """Compilers take four elements for three that they need: the fourth may be anything."""
    text = translated("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1];", f"st.global.u32 [%rd2], {used};")
    assert f"{bytes_read}, BB_EMU_READ" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("frobnicate.b32 %r1, %r2;", "the instruction 'frobnicate.b32' is not supported"),
        ("add.rp.f32 %r1, %r2, %r3;", "the instruction 'add.rp.f32' is not supported, because of its '.rp'"),
        ("add.s32 %r1, %r2;", "'add.s32' does not have 2 operands"),
        ("cvt.rz.f16.f32 %rs1, %r2;", "'cvt.rz.f16.f32' is not supported, because of its rounding '.rz'"),
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 %r1, %r2, %r3, %r4;", "'mma.sync.aligned.m8n8k4"),
        ("wgmma.fence.sync.aligned;", "'wgmma.fence.sync.aligned' needs the architecture sm_90a"),
        ("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd1, {%r1}], [%r2];", "'.3d'"),
        ("ld.global.u32 %r1, [%rd1, {%r2}];", "coordinates in an address are for copies by tensor maps"),
        ("mov.u32 %r1, %clock;", "the special register '%clock' is not supported"),
        ("mov.u32 %r1, %r77;", "the register '%r77' is not declared"),
        ("bra $nowhere;", "there is no label '$nowhere'"),
        ("call nothing, (a);", "the function 'nothing' has no code here"),
        ("ld.global.u32 %r1, [%rd1+%rd2];", "an address with more parts"),
        ("add.s32 %r1, %r2, %r3", "is expected before 'ret'"),
        ("setp.foo.s32 %p1, %r1, %r2;", "the instruction 'setp.foo.s32' is not supported"),
        ("ld.global.u32 %r1, [b];", "the register 'b' is not declared"),
        ("add.s32 %r1, %r2, 'x';", "is no part of PTX"),
    ],
)
def test_what_is_not_known_is_an_error(line: str, message: str):
    with pytest.raises(PtxError, match=r"^PTX line \d+: ") as caught:
        translated(line)
    assert message in str(caught.value)
    assert caught.value.line - FIRST in (0, 1)


@pytest.mark.parametrize(
    "text", ["", "{", ".visible .entry k(", ".loc 1", "@@", "\0", ".shared .b8 x[", "$a:"]
)
def test_what_is_no_ptx_is_an_error(text: str):
    with pytest.raises(PtxError):
        translate(parse_ptx(text), "k.cu")


def test_no_prefix_of_a_module_crashes():
    text = ptx("{ .reg .pred p; @!p bra L; L: }", "ld.global.v2.u32 {%r1, %r2}, [%rd1+8];", "// end")
    for length in range(0, text.index("// end"), 3):
        with pytest.raises(PtxError):
            translate(parse_ptx(text[:length]), "k.cu")


def test_names_never_reach_the_code_unchanged():
    source = translate(
        parse_ptx(".visible .entry $evil_x(.param .u32 a$b)\n{\n.reg .b32 int;\nmov.u32 int, 1;\nret;\n}"),
        'a"; system("x");//.cu',
    ).source
    assert "system" not in source
    assert "kernel__24_evil__x" in source


def test_places_in_the_source():
    module = parse_ptx(
        ptx(
            ".loc 1 5 3",
            "mov.u32 %r1, 1;",
            ".loc 2 70 1, function_name $x, inlined_at 1 8 2",
            "mov.u32 %r1, 2;",
            ".loc 3 9 9",
            "mov.u32 %r1, 3;",
        )
    )
    body = module.functions[0].body
    assert body is not None
    places = [item.location for item in body.items if isinstance(item, Instruction)]
    # What is inlined counts for the line of the kernel's own file that calls it.
    assert places[:3] == [Location(1, 5), Location(1, 8), Location(3, 9)]


def test_structure():
    module = parse_ptx(ptx("{ .reg .b16 t; mov.b32 {t, _}, %r1; }", "@!%p1 add.s32 %r1, %r2, -0x10;"))
    body = module.functions[0].body
    assert body is not None
    assert body.items[0] == Registers("b32", "%r", 9)
    scope = next(item for item in body.items if isinstance(item, Scope))
    move = scope.items[1]
    assert isinstance(move, Instruction)
    assert isinstance(move.operands[0], Vector)
    assert move.opcode == ("mov", "b32")


@needs_nvrtc
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_without_a_finding(name: str):
    kernel = KERNELS[name]
    # One architecture for each, two among all of them.
    arch = kernel.arch if kernel.arch != "sm_80" or len(name) % 2 else "sm_90"
    function = PtxModule(kernel.source, arch=arch, check=True, file_name=f"{name}.cu").get_function(name)
    for number, size in enumerate(kernel.sizes):
        case = kernel.make(*size)
        report, error = outcome(function, case, schedule="pct", seed=number)
        assert report.ok, report.findings
        assert error <= case.tolerance


@needs_nvrtc
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"r"(a[1]), "r"(a[2])', '"r"(a[2]), "r"(a[1])'),
        ('BB_LDMATRIX(4, _trans, 1, ".trans"', 'BB_LDMATRIX(4, _trans, 1, ""'),
    ],
    ids=["operands of mma swapped", "no .trans"],
)
def test_bugs_in_inline_ptx_are_seen_by_this_tier_alone(old: str, new: str):
    from bb.runtime.cuda.emulator.native_files import device_directory

    kernel = KERNELS["matmul_mma"]
    device = (device_directory() / "bb" / "cuda" / "device.cuh").read_text()
    assert old in device
    source = re.sub(
        r"^#include.*device\.cuh.*$", lambda _: device.replace(old, new), kernel.source, flags=re.M
    )
    case = kernel.make(*kernel.sizes[0])
    modules = EmulatedModule(source), PtxModule(source, arch="sm_80")
    (_, right), (_, wrong) = (outcome(module.get_function("matmul_mma"), case) for module in modules)
    assert right <= case.tolerance
    assert wrong > 1


@needs_nvrtc
def test_a_race_has_its_line_and_its_variable():
    source = """extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = tile[63 - threadIdx.x];
}"""
    kernel = PtxModule(source, check=True, file_name="race.cu").get_function("k")
    report = kernel.launch((1,), (64,), (np.arange(64, dtype=np.int32), np.zeros(64, np.int32)))
    found = {(finding.kind, str(finding.location)) for finding in report.findings}
    assert found & {(FindingKind.RACE, "race.cu:4"), (FindingKind.UNINITIALISED, "race.cu:4")}
    assert all("tile" in str(finding.buffer) for finding in report.findings)


@needs_nvrtc
def test_const_pointers_are_read_from_the_source():
    source = 'extern "C" __global__ void k(const float* x, float* y) { ((float*)x)[threadIdx.x] = *y; }'
    kernel = PtxModule(source, check=True).get_function("k")
    report = kernel.launch((1,), (1,), (np.zeros(1, np.float32), np.zeros(1, np.float32)))
    assert [finding.kind for finding in report.findings] == [FindingKind.WRITE_TO_CONST]


@needs_nvrtc
def test_unknown_kernel():
    with pytest.raises(EmulatorBuildError, match=r"there is no kernel 'other' in kernel.cu: it has 'k'"):
        PtxModule('extern "C" __global__ void k() {}').get_function("other")


@needs_nvrtc
def test_templates():
    source = "template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }"
    module = PtxModule(source, name_expressions=["twice<double>"])
    values = np.arange(4.0)
    module.get_function("twice<double>")((1,), (4,), (values,))
    np.testing.assert_array_equal(values, [0, 2, 4, 6])
