"""Whatever a kernel does, the Python process lives on and gets a report."""

from __future__ import annotations

import numpy as np
import pytest
from bb.runtime.cuda.emulator import EmulatedModule, FindingKind, LaunchReport
from cuda_kernels import source_of


@pytest.fixture(scope="module", params=["fast", "check"])
def module(request: pytest.FixtureRequest) -> EmulatedModule:
    return EmulatedModule(
        source_of("misbehaviour"), check=request.param == "check", time_limit=0.3, file_name="bad.cu"
    )


def launch(module: EmulatedModule, name: str, threads: int = 64) -> tuple[LaunchReport, np.ndarray]:
    x = np.zeros(64, np.int32)
    return module.get_function(name).launch((1,), (threads,), (x,), names=["x"]), x


@pytest.mark.parametrize(
    ("name", "kinds", "line"),
    [
        ("wild_write", {FindingKind.ILLEGAL_ADDRESS, FindingKind.OUT_OF_BOUNDS}, "wild_write("),
        ("for_ever", {FindingKind.TIME_LIMIT, FindingKind.RACE}, "for (;;) ((volatile int*)x)"),
        ("divide", {FindingKind.DIVISION_BY_ZERO}, "divide("),
        ("recurse", {FindingKind.STACK_OVERFLOW}, "local"),
        ("trap", {FindingKind.TRAP}, "__trap()"),
        ("asserts", {FindingKind.TRAP}, "asserts("),
        ("prints_for_ever", {FindingKind.TOO_MUCH_OUTPUT, FindingKind.TIME_LIMIT}, None),
        ("deadlock", {FindingKind.DEADLOCK}, "bb_barrier_sync(1"),
        ("lanes_part", {FindingKind.WARP_DIVERGENCE}, "__ballot_sync"),
        ("leaves_process", {FindingKind.ILLEGAL_ADDRESS, FindingKind.OUT_OF_BOUNDS}, "leaves_process"),
        ("spoils_barrier", {FindingKind.INVALID_MBARRIER}, "bb_mbarrier_init(&barrier, 0)"),
    ],
)
def test_findings_name_kind_and_line(
    module: EmulatedModule, name: str, kinds: set[FindingKind], line: str | None
) -> None:
    report, _ = launch(module, name)
    assert not report.ok
    finding = report.findings[0]
    assert finding.kind in kinds, report.findings
    assert finding.block == (0, 0, 0)
    if line is not None:
        assert finding.location is not None, finding
        assert finding.location.file == "bad.cu"
        assert line in source_of("misbehaviour").splitlines()[finding.location.line - 1]


@pytest.mark.parametrize("name", ["scribble", "overwrite_program"])
def test_a_kernel_that_overwrites_its_process(module: EmulatedModule, name: str) -> None:
    report, _ = launch(module, name)
    assert report.findings
    assert not report.ok


def test_the_thread_that_traps_is_named(module: EmulatedModule) -> None:
    report, _ = launch(module, "trap")
    assert report.findings[0].thread == (5, 0, 0)
    report, _ = launch(module, "asserts")
    assert "x[0] == 1" in report.findings[0].detail


def test_output_is_in_the_report(module: EmulatedModule) -> None:
    report, _ = launch(module, "prints")
    assert report.ok
    assert report.output == "x is 0\n"


def test_a_lane_outside_the_mask_is_undefined(module: EmulatedModule) -> None:
    report, x = launch(module, "undefined_lane", threads=32)
    if module.check:
        assert report.findings[0].kind is FindingKind.UNDEFINED_SHUFFLE
    assert x[:8].tolist() == list(range(8, 16))


def test_neighbouring_bytes_do_not_race(module: EmulatedModule) -> None:
    x = np.zeros(61, np.uint8)
    module.get_function("bytes")((1,), (61,), (x,))
    assert x.tolist() == list(range(61))


def test_vectors_must_be_aligned(module: EmulatedModule) -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
    kernel = module.get_function("copies_struct")
    report = kernel.launch((1,), (8,), (x, y), names=["x", "y"])
    assert report.ok
    assert np.array_equal(y, x[:32])
    # The second argument lies in the memory of the first, four bytes further than float4 may.
    report = kernel.launch((1,), (4,), (x, x[1:]), names=["x", "shifted"])
    assert report.findings
    if module.check:
        assert report.findings[0].kind is FindingKind.MISALIGNED
