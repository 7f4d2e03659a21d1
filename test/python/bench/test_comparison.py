"""The harness of bench/compare.py: rows, checks, statistics, files and sentences, but no times."""

from __future__ import annotations

import json
import math
import signal
from dataclasses import replace
from pathlib import Path

import bb
import compare
import numpy as np
import pytest
from bb.tools.shared.files import ToolError
from comparison import page
from comparison.contenders import CONTENDERS, OURS, RIVALS, UNFUSED, Ready, aligned, fastest
from comparison.floors import Floor, Limits, floor
from comparison.measure import in_the_running
from comparison.process import ContenderDied, Process, busy_seconds, environment
from comparison.records import Record, RecordError, Row, Timing, merged, parse_record, read_record
from comparison.tables import cells, disturbed, heads, milliseconds, slower_when_fused
from comparison.worker import error_of
from comparison.workloads import BF16_ROWS, BOUNDS, F32_ROWS, ROWS, tiny, visible
from paths import ROOT

pytestmark = pytest.mark.long


def made_row(name: str = "A1", **medians: float | None) -> Row:
    workload = ROWS[name]
    timings = {
        contender.replace("_", "-"): Timing(failed="no luck") if median is None else Timing(median)
        for contender, median in medians.items()
    }
    return Row(
        name=name,
        kind=workload.kind,
        dtype=workload.dtype,
        extents=dict(workload.extents),
        causal=workload.causal,
        flops=workload.flops,
        bytes=workload.bytes,
        floor_ms=1.0,
        floor_by="compute",
        contenders=timings,
    )


def made_record(*rows: Row, commit: str = "abc") -> Record:
    machine = {"processor": "P", "cpus": 2, "memory_gib": 4.0, "system": "S", "compiler": "C", "features": []}
    settings = {"threads": 2, "rounds": 7, "seconds": 0.1}
    return Record(machine, {"python": "3"}, commit, settings, {"f32 GFLOP/s": 1.0}, list(rows))


# Rows


def test_rows_are_those_of_the_readme():
    readme = (ROOT / "bench" / "README.md").read_text()
    for row in F32_ROWS:
        extents = ", ".join(map(str, row.extents.values()))
        if not row.causal and not row.name.startswith("D"):
            assert f"({extents})" in readme, row.name


@pytest.mark.parametrize("name", ROWS)
def test_programs_take_the_inputs_of_their_rows(name: str):
    workload = ROWS[name]
    module = bb.parse(workload.program())
    (function,) = module.ops
    types = [str(type) for type in function.function_type.inputs]  # pyright: ignore
    wanted = [
        f"tensor<{'x'.join(map(str, shape))}x{workload.dtype}>" for shape in workload.program_shapes.values()
    ]
    assert types == wanted
    result = workload.program_shapes["q"] if workload.kind == "attention" else workload.result_shape
    (type,) = function.function_type.outputs  # pyright: ignore
    assert str(type) == f"tensor<{'x'.join(map(str, result))}x{workload.dtype}>"


@pytest.mark.parametrize("name", [row.name for row in F32_ROWS if row.name != "A5c"])
def test_references_agree_with_the_interpreter(name: str):
    workload = tiny(ROWS[name])
    inputs = workload.inputs()
    shapes = workload.program_shapes
    arrays = [array.reshape(shapes[name]) for name, array in inputs.items()]
    found = np.asarray(bb.run(workload.program(), arrays, float64=True)).reshape(workload.result_shape)
    assert error_of(found, workload.reference(inputs)) < 1e-12


def test_the_cached_mask_is_that_of_the_program():
    workload = tiny(ROWS["A5c"])
    inputs = workload.inputs()
    found = bb.run(workload.program(), list(inputs.values()), float64=True)
    assert error_of(np.asarray(found), workload.reference(inputs)) < 1e-12


def test_visible_keys_end_with_the_query():
    assert visible(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


def test_work_of_rows():
    a1, a1c, d1 = ROWS["A1"], ROWS["A1c"], ROWS["D1"]
    assert a1.flops == 4 * 16 * 1024 * 1024 * 64
    assert a1c.flops == 4 * 16 * (1024 * 1025 // 2) * 64
    assert a1.bytes == 4 * 16 * 1024 * 64 * 4
    assert ROWS["A1.bf16"].bytes * 2 == a1.bytes
    assert (d1.flops, d1.bytes) == (0, 2 * 8192 * 4096 * 4)
    assert ROWS["C1"].flops == 6 * 1024 * 1024 * 2816


def test_inputs_are_the_same_every_time_and_bfloat16_where_wanted():
    workload = tiny(ROWS["C1.bf16"])
    first, second = workload.inputs(), workload.inputs()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert {str(array.dtype) for array in first.values()} == {"bfloat16"}


# Checks


def test_errors_are_relative_to_the_largest_element():
    wanted = np.array([[0.0, -4.0], [1.0, 2.0]])
    assert error_of(wanted.astype(np.float32), wanted) == 0
    assert error_of(np.array([[0.0, -4.0], [1.0, 2.1]]), wanted) == pytest.approx(0.1 / 4)
    assert error_of(np.array([[0.0, -4.0], [1.0, np.nan]]), wanted) == math.inf
    assert error_of(np.array([[0.0, np.inf], [1.0, 2.0]]), wanted) == math.inf
    assert error_of(wanted[:, :1], wanted) == math.inf
    assert error_of(np.ones(2), np.zeros(2)) == 1


def test_errors_of_large_arrays_are_found_in_every_part():
    wanted = np.ones(2**22 + 3)
    found = wanted.astype(np.float32)
    found[-1] = 1.5
    assert error_of(found, wanted) == pytest.approx(0.5)


def test_contenders_by_row():
    assert [name for name in RIVALS if CONTENDERS[name].takes(ROWS["A1"])] == [
        "torch-eager",
        "torch-naive",
        "torch-compile",
        "torch-flex",
        "onnxruntime",
        "openvino",
        "jax",
        "numpy",
    ]
    assert "onnxruntime" not in [name for name in RIVALS if CONTENDERS[name].takes(BF16_ROWS[0])]
    assert all(CONTENDERS[name].takes(row) for row in ROWS.values() for name in (OURS, UNFUSED))


def test_the_fastest_variant_is_taken_and_those_that_fail_are_not(capfd: pytest.CaptureFixture[str]):
    def fails() -> Ready:
        raise ValueError("no such operator")

    def slow() -> Ready:
        return Ready(lambda: sum(range(300_000)), np.asarray)

    quick = Ready(lambda: None, np.asarray)
    found = fastest([("fails", fails), ("slow", slow), ("quick", lambda: quick)])
    assert (found.variant, found.run) == ("quick", quick.run)
    assert "variant fails: ValueError: no such operator" in capfd.readouterr().err
    with pytest.raises(ValueError, match="no such operator"):
        fastest([("fails", fails)])


def test_aligned_arrays_start_at_a_page():
    array = aligned((3, 5), np.dtype(np.float32))
    assert array.shape == (3, 5)
    assert array.ctypes.data % 4096 == 0


def test_processes_answer_and_tell_why_they_cannot(tmp_path: Path):
    process = Process("with_numpy", 1, tmp_path, tmp_path / "log")
    try:
        reply = process.ask({"do": "time", "name": "numpy", "seconds": 0}, 60)
        assert reply == {"failed": "KeyError: 'numpy'"}
        assert process.ask({"do": "close"}, 60) == {}
        process._signal(signal.SIGKILL)
        with pytest.raises(ContenderDied, match="its process ended with status -9"):
            process.ask({"do": "close"}, 60)
        assert not process.alive
    finally:
        process.end()
    with pytest.raises(ContenderDied, match="its process ended"):
        process.ask({"do": "close"}, 60)


def test_environment_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    found = environment(3, tmp_path)
    assert "OPENBLAS_CORETYPE" not in found
    assert found["OMP_NUM_THREADS"] == found["OPENBLAS_NUM_THREADS"] == "3"
    assert "hugetlb=1" in found["GLIBC_TUNABLES"]


# Statistics


def test_statistics_of_calls():
    timing = Timing.of([0.004, 0.001, 0.003, 0.002, 0.1], 1e-7, 0.5, "mha")
    assert timing.median_ms == pytest.approx(3.0)
    assert timing.fastest_ms == pytest.approx(1.0)
    assert timing.calls == 5
    assert timing.quartiles_ms is not None
    assert timing.quartiles_ms[0] < 3 < timing.quartiles_ms[1]
    alone = Timing.of([0.002], 0.0, 0.0, "")
    assert (alone.median_ms, alone.quartiles_ms) == (2.0, (2.0, 2.0))


def test_who_is_far_behind_sits_out():
    assert in_the_running({"a": [1.0, 1.2], "b": [3.9], "c": [4.9], "d": []}) == ["a", "b"]
    assert in_the_running({}) == []


def test_ratio_share_and_best_rival():
    row = made_row(ours=2.0, ours_unfused=1.0, torch_eager=3.0, jax=5.0, numpy=None)
    assert (row.best_rival, row.ratio, row.share_of_floor) == ("torch-eager", 1.5, 0.5)
    assert made_row(ours=None, jax=1.0).ratio is None
    assert made_row(ours=2.0, ours_unfused=1.0).best_rival is None


def test_floors_take_the_larger_time():
    a3, d1 = ROWS["A3"], ROWS["D1"]
    assert floor(a3, 1e9, 4e9) == Floor(pytest.approx(1e3 * a3.flops / 1e9), "compute")
    assert floor(a3, 1e12, 1e6) == Floor(pytest.approx(1e3 * a3.bytes / 1e6), "memory")
    assert floor(d1, 1e9, 4e9) == Floor(pytest.approx(1e3 * d1.bytes / 4e9), "memory")


def test_limits_keep_the_best_that_was_measured(monkeypatch: pytest.MonkeyPatch):
    limits, row = Limits(1), tiny(ROWS["A1.bf16"])
    answers = iter([1e9, 3e9, 5e9, 6e9, 2e9, 0.0, 7e9, 4e9])
    monkeypatch.setattr(limits, "_measure", lambda *_: next(answers))
    limits.watch(row)
    assert (limits.peaks, limits.bandwidths) == ({"f32": 1e9, "bf16": 3e9}, {row.bytes: 6e9})
    limits.watch(row)
    assert (limits.peaks, limits.bandwidths) == ({"f32": 2e9, "bf16": 3e9}, {row.bytes: 7e9})
    assert limits.floor(row) == floor(row, 3e9, 7e9)
    assert limits.figures() == {
        "f32 GFLOP/s": 2.0,
        "bf16 GFLOP/s": 3.0,
        f"{row.bytes / 1e6:.3g} MB, GB/s": 7.0,
    }


# Tables


def test_cells():
    row = made_row(ours=2.0, ours_unfused=1.0, torch_eager=30.0, jax=None)
    names = [OURS, UNFUSED, "torch-eager", "jax"]
    assert dict(zip(heads(names), cells(row, names), strict=True)) == {
        "row": "A1",
        "ours": "2.00",
        "ours-unfused": "1.00",
        "torch-eager": "30.0",
        "jax": "-",
        "best rival": "torch-eager",
        "ratio": "15.00",
        "floor": "1.00",
        "of floor": "50 %",
    }
    assert [milliseconds(value) for value in (0.3671, 5.884, 12.31, 108.4)] == [
        "0.367",
        "5.88",
        "12.3",
        "108",
    ]


def test_a_fused_kernel_that_is_slower_is_told():
    assert slower_when_fused([made_row(ours=2.0, ours_unfused=1.0)]) == [
        "A1: fused takes 2.00 times as long as unfused"
    ]
    assert slower_when_fused([made_row(ours=1.01, ours_unfused=1.0), made_row(ours=None)]) == []


def test_rows_that_were_disturbed_are_told():
    quiet = made_row(ours=1.0)
    assert disturbed([quiet, replace(quiet, name="C1", foreign=0.84)]) == [
        "C1: something else used 0.8 CPUs meanwhile; measure again when the machine is quiet"
    ]


def test_processor_time_is_counted(tmp_path: Path):
    process = Process("with_numpy", 1, tmp_path, tmp_path / "log")
    before = busy_seconds()
    try:
        process.ask({"do": "close"}, 60)
        assert process.cpu_seconds() > 0
        assert busy_seconds() > before
    finally:
        process.end()
    assert process.cpu_seconds() == 0


# Files


def test_records_survive_json(tmp_path: Path):
    timing = Timing.of([0.001, 0.002], 1e-7, 0.5, "mha")
    row = replace(made_row(jax=3.0, numpy=None), contenders={OURS: timing, "numpy": Timing(failed="no luck")})
    record = made_record(row)
    file = tmp_path / "a.json"
    file.write_text(record.text())
    assert read_record(file) == record


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "rows": 3}', '{"format": 1, "rows": [{}]}'])
def test_files_without_results_are_refused(text: str):
    with pytest.raises(RecordError, match=r"^'a.json' holds no results of bench/compare.py$"):
        parse_record(text, "a.json")


def test_records_of_another_format_are_refused():
    other = json.dumps({"format": 0, "rows": []})
    with pytest.raises(RecordError, match=r"'a\.json' is of another format than 1; measure again"):
        parse_record(other, "a.json")


def test_pieces_of_a_run_become_one():
    pieces = [made_record(made_row("D1", ours=1.0)), made_record(made_row("A1", ours=2.0))]
    assert [row.name for row in merged(pieces, ROWS).rows] == ["A1", "D1"]
    with pytest.raises(RecordError, match="the row A1 is in more than one of the files"):
        merged([pieces[1], pieces[1]], ROWS)
    with pytest.raises(RecordError, match="the files differ in commit: pieces of one run are wanted"):
        merged([pieces[0], made_record(commit="def")], ROWS)


# The command line


def test_rows_by_name():
    def names(text: str | None) -> list[str]:
        return [row.name for row in compare.chosen_rows(text)]

    assert names(None) == names("all") == list(ROWS)
    assert names("D,A1") == ["A1", "D1", "D2", "D3"]
    assert names("C.bf16, A1c") == ["A1c", "C1.bf16", "C2.bf16", "C4.bf16"]
    assert names("f32") == [row.name for row in F32_ROWS]
    with pytest.raises(ToolError, match="there is no row 'A9'"):
        names("A9")
    with pytest.raises(ToolError, match=r"there is no row 'C1\.bf15'; did you mean 'C1\.bf16'\?"):
        names("C1.bf15")
    with pytest.raises(ToolError, match="--rows names no row"):
        names(",")


def test_rivals_by_name(monkeypatch: pytest.MonkeyPatch):
    assert compare.chosen_contenders("none") == [OURS, UNFUSED]
    assert compare.chosen_contenders("numpy") == [OURS, UNFUSED, "numpy"]
    assert {OURS, UNFUSED, "numpy"} <= set(compare.chosen_contenders(None))
    with pytest.raises(ToolError, match=r"there is no rival 'torch-eagr'; did you mean 'torch-eager'\?"):
        compare.chosen_contenders("torch-eagr")
    monkeypatch.setitem(CONTENDERS, "jax", replace(CONTENDERS["jax"], package="no_such_package"))
    with pytest.raises(ToolError, match="the rival 'jax' needs the package no_such_package, which is not"):
        compare.chosen_contenders("jax")
    assert "jax" not in compare.chosen_contenders(None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rows", "Z1"], "compare: error: there is no row 'Z1'; there are: A1, "),
        (["--rounds", "none"], "compare: error: argument --rounds: takes a positive integer, not 'none'; "),
        (["--turn", "-1"], "compare: error: argument --turn: takes 0 to 60 seconds, not '-1'; "),
        (
            ["--table", "missing.json"],
            "compare: error: cannot read 'missing.json': No such file or directory",
        ),
        (["--threads", "5000"], "compare: error: the number of threads is 5000, expected 1 to 4096"),
    ],
)
def test_errors_are_sentences(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    assert compare.main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(sentence)
    assert captured.err.count("\n") == 1


def test_a_tiny_row_is_measured_checked_and_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "d2.json"
    arguments = ["--rows", "D2", "--rivals", "numpy", "--tiny", "--rounds", "2", "--turn", "0"]
    assert compare.main([*arguments, "--json", str(file)]) == 0
    first = capsys.readouterr().out
    (row,) = read_record(file).rows
    assert list(row.contenders) == [OURS, UNFUSED, "numpy"]
    assert all(timing.calls == 2 for timing in row.contenders.values())
    assert all(0 <= timing.error <= BOUNDS["f32"] for timing in row.contenders.values() if timing.error)
    assert row.ratio is not None
    assert "D2" in first
    assert "2 of" not in first
    assert compare.main(["--table", str(file)]) == 0
    assert capsys.readouterr().out == first


# The page


def test_the_page_is_what_the_runs_say():
    text = (ROOT / "docs" / "targets" / "performance.md").read_text(encoding="utf-8")
    assert text == page.text(), "run 'make docs': docs/targets/performance.md is out of date"


def test_the_page_tells_wins_ties_and_losses(tmp_path: Path):
    rows = [
        made_row("A1", ours=2.0, ours_unfused=3.0, jax=4.0),
        made_row("A2", ours=2.0, ours_unfused=3.0, jax=2.01),
        made_row("A3", ours=2.0, ours_unfused=3.0, jax=1.0, numpy=None),
    ]
    for name in page.RUNS:
        (tmp_path / name).write_text(made_record(*rows).text())
    text = page.text(tmp_path)
    assert "Faster than every rival (1): A1 (2.00)" in text
    assert "Ties (1): A2 (1.00)" in text
    assert "Slower than the best rival (1): A3 (0.50)" in text
    assert "| A1 | H 16, M 1024, N 1024, D 64 | jax | 4.00 | 2.00 | 2.00 | 2.00 | 1.50 | 50 % |" in text
    assert "- A3: `numpy`: no luck" in text


def test_the_page_of_one_run_leaves_the_second_empty(tmp_path: Path):
    record = made_record(made_row("A1", ours=2.0, ours_unfused=3.0, jax=4.0))
    (tmp_path / page.RUNS[0]).write_text(record.text())
    text = page.text(tmp_path)
    assert "| A1 | H 16, M 1024, N 1024, D 64 | jax | 4.00 | 2.00 | 2.00 | - | 1.50 | 50 % |" in text
    with pytest.raises(RecordError, match="cannot read"):
        page.text(tmp_path / "nowhere")
