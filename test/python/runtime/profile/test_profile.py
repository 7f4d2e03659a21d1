"""Profiles: what they count adds up, is what the program does, and is told in tables, JSON and a picture."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import bb
import ml_dtypes
import numpy as np
import pytest
from bb.lowering.emit.cpp import Category, Statement
from bb.lowering.pipelines import PIPELINES
from bb.runtime.compilation.host_compiler import find_compiler
from bb.runtime.compilation.shared_objects import include_directory
from bb.runtime.machine.limits import MachineLimits
from bb.runtime.profile.measure import Run, middle_of
from bb.runtime.profile.records import KernelTime, StatementTime
from bb.runtime.profile.report import Profile, report
from bb.runtime.profile.work import Work, work_of
from bb.tools.bb_run import main
from bb.tools.run import roofline
from bb.tools.shared.files import ToolError

pytestmark = pytest.mark.long

M, N, K, L = 70, 50, 24, 40
ATTENTION = f"""func.func @attention(
    %q: tensor<{M}x{K}xf32>, %k: tensor<{N}x{K}xf32>, %v: tensor<{N}x{L}xf32>) -> tensor<{M}x{L}xf32> {{
  %kt = array.transpose %k perm [1, 0] : tensor<{N}x{K}xf32> -> tensor<{K}x{N}xf32>
  %scores = array.matmul %q, %kt : tensor<{M}x{K}xf32>, tensor<{K}x{N}xf32> -> tensor<{M}x{N}xf32>
  %probs = array.softmax %scores axis 1 : tensor<{M}x{N}xf32>
  %out = array.matmul %probs, %v : tensor<{M}x{N}xf32>, tensor<{N}x{L}xf32> -> tensor<{M}x{L}xf32>
  func.return %out : tensor<{M}x{L}xf32>
}}
"""
MATMUL = """func.func @matmul(%x: tensor<?x48xbf16>, %w: tensor<48x40xbf16>) -> tensor<?x40xbf16> {
  %out = array.matmul %x, %w : tensor<?x48xbf16>, tensor<48x40xbf16> -> tensor<?x40xbf16>
  func.return %out : tensor<?x40xbf16>
}
"""
SAME = "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n  func.return %x : tensor<3xf32>\n}\n"
LIMITS = MachineLimits(2, 1e11, 5e10, ((2**20, 4e10), (2**28, 1e10)), 2e11)
RNG = np.random.default_rng(0)
ARRAYS = [RNG.standard_normal(shape).astype(np.float32) for shape in ((M, K), (N, K), (N, L))]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bb.runtime.profile.measure.machine_limits", lambda *_: LIMITS)
    monkeypatch.setattr("bb.runtime.host.timing.LEAST_SECONDS", 0.0)


@pytest.fixture(scope="module")
def attention() -> bb.Executable:
    """With a kernel for every operator, so that there are several."""
    return bb.compile(ATTENTION, entry="attention", pipeline=PIPELINES["cpu-unfused"])


@pytest.fixture
def profile(attention: bb.Executable) -> Profile:
    return attention.profile(*ARRAYS, threads=2, runs=5)


def check_sums(profile: Profile):
    for each in profile.kernels:
        assert min(each.categories.values()) >= 0
        assert sum(each.categories.values()) == pytest.approx(each.thread_seconds, rel=1e-9)
        assert each.thread_seconds == each.threads * each.seconds
        assert each.seconds > 0
    assert sum(profile.categories.values()) == pytest.approx(profile.thread_seconds, rel=1e-9)
    total = sum(each.seconds for each in profile.kernels) + profile.outside
    assert total == pytest.approx(profile.seconds, rel=1e-3) or profile.outside == 0


# What is counted


def test_every_launch_has_its_name_and_its_time(attention: bb.Executable, profile: Profile):
    launches = [op.kernel_name for op in attention.function.body.block.ops if op.name == "kernel.launch"]  # pyright: ignore
    assert [each.name for each in profile.kernels] == launches
    assert len(launches) > 3
    assert all(each.statements for each in profile.kernels)
    assert all(part.statement.kernel == each.name for each in profile.kernels for part in each.statements)
    assert profile.runs == 5


@pytest.mark.parametrize("threads", [1, 2])
def test_categories_add_up_to_the_time_of_the_threads(attention: bb.Executable, threads: int):
    profile = attention.profile(*ARRAYS, threads=threads, runs=3)
    assert profile.threads == threads
    check_sums(profile)
    if threads == 1:
        assert profile.categories[Category.WAITING] == pytest.approx(0, abs=1e-9)


def test_work_is_that_of_the_program(attention: bb.Executable, profile: Profile):
    out = attention(*ARRAYS)
    assert isinstance(out, np.ndarray)
    assert profile.work == work_of(bb.parse(ATTENTION), "attention", ARRAYS, [out])
    assert profile.work.flops == sum(each.flops for each in profile.kernels) == 2 * M * N * (K + L)
    contracts = [each for each in profile.kernels if each.flops]
    assert [each.flops for each in contracts] == [2 * M * N * K, 2 * M * N * L]
    first, last = contracts
    assert first.bytes == 4 * (M * K + N * K + M * N)
    assert last.bytes == 4 * (M * N + N * L + M * L)
    stored = [part.bytes for part in last.statements if part.statement.text == "store out"]
    assert stored == [4 * M * L]
    (product,) = (part for part in last.statements if part.category is Category.CONTRACTION)
    assert product.bytes == product.entries * 4 * N * L  # each block of rows reads all of v


def test_statements_tell_what_they_do(profile: Profile):
    parts = [part for each in profile.kernels for part in each.statements]
    (exponentials,) = (part for part in parts if part.category is Category.EXPONENTIALS)
    assert exponentials.statement.text.endswith("[M, N]: exp")
    assert exponentials.flops >= M * N
    assert {part.statement.type for part in parts} == {"f32"}
    assert {Category.CONTRACTION, Category.ELEMENTWISE, Category.MOVES} <= {part.category for part in parts}
    assert all(part.entries > 0 for part in parts)


def test_results_are_those_of_the_usual_build(attention: bb.Executable):
    np.testing.assert_array_equal(attention.instrumented(*ARRAYS), attention(*ARRAYS))
    assert "bb::profile::at(" in attention.instrumented.source
    assert "profile" not in attention.source


def test_without_the_macro_nothing_of_it_is_compiled(tmp_path: Path):
    source = tmp_path / "kernel.cpp"
    source.write_text("#include <bb/cpu.hpp>\n#include <bb/kernel.hpp>\n")
    command = [*find_compiler().command, "-std=c++20", "-E", "-P", f"-I{include_directory()}", str(source)]
    for define, expected in (([], False), (["-DBB_PROFILE"], True)):
        done = subprocess.run([*command, *define], capture_output=True, text=True, check=True)
        assert ("bb_packing" in done.stdout) is expected
        assert ("profile" in done.stdout) is expected


def test_bound_weights_and_products_in_bf16():
    x, w = (RNG.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((33, 48), (48, 40)))
    profile = bb.compile(MATMUL, constants=["w"]).prepare(w=w).profile(x, threads=1, runs=3)
    check_sums(profile)
    (kernel,) = profile.kernels  # packing was done before
    assert kernel.flops == profile.work.flops == 2 * 33 * 48 * 40
    assert profile.work.bytes == 2 * (33 * 48 + 48 * 40 + 33 * 40)
    assert kernel.roof.rate in (1e11, 2e11, 4e10)


def test_programs_without_kernels_are_refused():
    with pytest.raises(bb.InputError, match="'f' has no kernels to profile: all"):
        bb.compile(SAME).profile(np.ones(3, np.float32))


# Roofs


def made_kernel(
    name: str = "f_kernel1", flops: int = 10**8, type: str = "f32", bytes: int = 10**6
) -> KernelTime:
    """A kernel of 2 ms on two threads: 3 ms of contraction and packing, 1 ms of the rest."""

    def part(text: str, category: Category, seconds: float, flops: int = 0, bytes: int = 0):
        own = Category.CONTRACTION if category is Category.PACKING else category
        return StatementTime(Statement(name, text, own, type, None), category, seconds, 4, flops, bytes)

    parts = [
        part("load x", Category.MOVES, 0.0002, bytes=10**6),
        part("out [M]: exp", Category.EXPONENTIALS, 0.0003, flops=10**6),
    ]
    if flops:
        parts += [
            part("y = x · w", Category.CONTRACTION, 0.0025, flops=flops),
            part("y = x · w", Category.PACKING, 0.0005),
        ]
    busy = sum(each.seconds for each in parts)
    return KernelTime(name, 0.002, 2, tuple(parts), 0.0001, 0.004 - 0.0001 - busy, bytes, LIMITS)


def made_profile(*kernels: KernelTime) -> Profile:
    seconds = sum(each.seconds for each in kernels) + 0.0001
    return Profile("f", 2, 20, seconds, seconds / 1.05, kernels, Work(10**8, 10**6), LIMITS)


def test_roof_of_contractions_is_compute():
    kernel = made_kernel()
    assert (kernel.roof.by, kernel.roof.rate) == ("compute", pytest.approx(1e11))
    assert kernel.share_of_roof == pytest.approx(0.5)
    assert kernel.contraction_rate == pytest.approx(1e8 / 0.00125)
    assert kernel.contraction_share == pytest.approx(0.8)
    assert kernel.intensity == pytest.approx(100)
    assert made_kernel(type="bf16").share_of_roof == pytest.approx(0.25)
    assert made_kernel(type="f64").roof.rate == pytest.approx(5e10)


def test_roof_of_what_moves_much_is_memory():
    kernel = made_kernel(bytes=2 * 10**7)
    assert (kernel.roof.by, kernel.roof.rate) == ("memory", 1e10)
    assert kernel.share_of_roof == pytest.approx(1)
    alone = made_kernel(flops=0)
    assert (alone.roof.by, alone.roof.rate) == ("memory", 4e10)
    assert (alone.flops, alone.operations, alone.arithmetic) == (0, 10**6, 10**6)
    assert (alone.contraction_rate, alone.contraction_share) == (0, 0)


def test_shares_of_categories():
    kernel = made_kernel()
    assert kernel.categories[Category.PACKING] == 0.0005
    assert sum(kernel.categories.values()) == pytest.approx(0.004)
    profile = made_profile(kernel, made_kernel("f_kernel2"))
    assert profile.categories[Category.CONTRACTION] == pytest.approx(0.005)
    assert profile.outside == pytest.approx(0.0001)
    assert profile.overhead == pytest.approx(0.05)


@pytest.mark.parametrize(("count", "kept"), [(1, 1), (2, 2), (3, 1), (4, 2), (12, 6)])
def test_slow_and_fast_runs_do_not_count(count: int, kept: int):
    runs = [Run(float(number * 7 % count), []) for number in range(count)]
    middle = [run.seconds for run in middle_of(runs)]
    assert len(middle) == kept
    assert middle == sorted(run.seconds for run in runs)[(count - kept) // 2 :][:kept]


# What is told


def test_tables_name_kernels_statements_and_roofs():
    text = str(made_profile(made_kernel()))
    flat = [" ".join(line.split()) for line in text.splitlines()]
    assert flat[0] == (
        "profile of @f, 2 threads: 2.1 ms a call, 2 ms without probes (+5.0 %); the middle half of 20 runs"
    )
    assert "kernel time share GFLOP/s GB/s flop/byte roof of roof" in flat
    assert "f_kernel1 2.00 ms 95.2 % 50 0.5 100 compute, 100 GFLOP/s 50.0 %" in flat
    assert "outside of kernels 0.10 ms 4.8 %" in flat
    assert "thread time a call share while it runs" in flat
    assert "contraction 2.50 ms 62.5 % 80 GFLOP/s, 80.0 % of multiply-adds" in flat
    assert "all threads 4.00 ms 100.0 %" in flat
    assert "f_kernel1 what times thread time share while it runs" in flat
    assert "y = x · w contraction 4 2.50 ms 62.5 % 80 GFLOP/s, 80.0 %" in flat
    assert "pack for y = x · w packing 4 0.50 ms 12.5 %" in flat
    assert "load x loads and stores 4 0.20 ms 5.0 % 10 GB/s" in flat
    assert "(waiting) 0.40 ms 10.0 %" in flat
    assert "\x1b" not in text


def test_tables_have_colours_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    profile = made_profile(made_kernel())
    colored = report(profile, color=True)
    assert "\x1b[1m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == report(profile) == str(profile)


def test_a_program_without_contractions_says_what_its_rates_are():
    flat = " ".join(str(made_profile(made_kernel(flops=0))).split())
    assert "no contraction: GFLOP/s are those of the operations in sweeps" in flat
    assert "memory, 40 GB/s" in flat


def test_records_are_json(profile: Profile):
    record = json.loads(json.dumps(profile.record()))
    assert record["function"] == "attention"
    assert [each["name"] for each in record["kernels"]] == [each.name for each in profile.kernels]
    assert record["work"]["flops"] == sum(each["flops"] for each in record["kernels"])
    for each in record["kernels"]:
        own = sum(each["thread_seconds"].values())
        assert own == pytest.approx(each["threads"] * each["seconds"], rel=1e-9)


def test_bb_run_prints_and_writes_it(
    attention: bb.Executable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    program, record = tmp_path / "attention.mlir", tmp_path / "profile.json"
    program.write_text(ATTENTION)
    arguments = [str(program), "--target", "cpu", "--random", "0", "--threads", "2", "--entry", "attention"]
    arguments += ["-p", PIPELINES["cpu-unfused"], "--profile", "--profile-json", str(record)]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "  profile of @attention, 2 threads: " in printed.out
    (written,) = json.loads(record.read_text())["profiles"]
    assert all(each["name"] in printed.out for each in written["kernels"])


def test_bb_run_says_where_there_is_nothing_to_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = tmp_path / "same.mlir"
    program.write_text(SAME)
    assert main([str(program), "--target", "cpu", "--random", "0", "--profile"]) == 0
    printed = capsys.readouterr()
    assert (printed.out.splitlines()[-1], printed.err) == (
        "  profile: there are no kernels, all of it stays on whole arrays",
        "",
    )


# The picture


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_rooflines_are_drawn(suffix: str, tmp_path: Path):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"roof.{suffix}"
    roofline.draw_roofline([made_profile(made_kernel(), made_kernel("f_kernel2", 0))], str(path))
    assert path.read_bytes()[:4] == (b"\x89PNG" if suffix == "png" else b"<?xm")
    if suffix == "svg":
        assert "100 GFLOP/s, f32" in path.read_text()
        assert "10 GB/s, up to 256 MiB" in path.read_text()
    with pytest.raises(ToolError, match=r"cannot write '.*missing/roof.png': no such file or directory"):
        roofline.draw_roofline([made_profile(made_kernel())], str(tmp_path / "missing" / "roof.png"))


def test_rooflines_need_matplotlib_and_a_format(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(roofline, "find_spec", lambda _: None)
    with pytest.raises(ToolError, match=r"^--roofline needs matplotlib, which is not installed: pip install"):
        roofline.check_plot("roof.png")
    with pytest.raises(
        ToolError, match=r"^--roofline writes files that end in .png, .svg, .pdf, not 'roof'$"
    ):
        roofline.check_plot("roof")
