"""Choices: as data, measured, kept for the next process, shared as a file, and never lost."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import bb
import numpy as np
import pytest
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.lowering.pipelines.choices import DEFAULT, UNFUSED, Choice, choice_of
from bb.passes.analysis.cost.machine import DIRECTORY, read_machine
from bb.passes.analysis.ranges import declare_ranges
from bb.runtime.compilation.directory import CacheWarning, forget_warnings
from bb.runtime.errors import InputError
from bb.runtime.program.functions import select_function
from bb.runtime.tuning import store
from bb.runtime.tuning import tune as tuning
from bb.runtime.tuning.candidates import CandidatePipeline, candidate_pipelines, modelled
from bb.runtime.tuning.choosing import choice_for
from bb.runtime.tuning.keys import key_of
from bb.runtime.tuning.records import Record, record_of
from bb.runtime.tuning.request import Request
from bb.runtime.tuning.search import Measured, Outcome, search
from bb.tools import bb_run, bb_tune
from paths import ROOT

pytestmark = pytest.mark.long

EXAMPLES = ROOT / "examples"
CPU = read_machine(DIRECTORY / "cpu.json")
SIZED = Choice(0, ("N",), {"M": 32, "N": "whole"})
RECORD = Record(
    key="0" * 64,
    program="softmax",
    arguments="tensor<8x8xf32>",
    machine="some processor",
    version="0.1.0",
    threads=2,
    choice=SIZED,
    seconds=1e-5,
    default_seconds=2e-5,
    unfused_seconds=None,
    measured=3,
    at=1e9,
)
PROGRAM = """func.func @twice(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %y = array.softmax %x axis 1 : tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache directory of its own."""
    monkeypatch.setenv("BB_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    forget_warnings()


@pytest.mark.parametrize("choice", [Choice(), Choice(UNFUSED), SIZED, Choice(3, (), {"M": 1})])
def test_a_choice_survives_json(choice: Choice):
    assert choice_of(json.loads(json.dumps(choice.record()))) == choice


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"fusion": "block-fuse{trace=x}"}, "must be default, unfused or the number"),
        ({"fusion": True}, "must be default, unfused or the number"),
        ({"fusion": -1}, "must be default, unfused or the number"),
        ({"whole": "N"}, "'whole' must be a list"),
        ({"whole": ["N,M"]}, "'N,M' is no name of a dim"),
        ({"sizes": {"M": 0}}, "the size of dim M must be a number above 0 or whole"),
        ({"sizes": {"M": "64 target=x"}}, "the size of dim M must be a number above 0 or whole"),
        ({"sizes": {"M\nN": 4}}, "is no name of a dim"),
        ({"sizes": {f"M{number}": 4 for number in range(500)}}, "at most 64 dims"),
        ({"passes": []}, "has the keys fusion, whole and sizes"),
    ],
)
def test_what_is_no_choice_is_refused(changed: dict[str, object], said: str):
    with pytest.raises(ValueError, match=said):
        choice_of({**SIZED.record(), **changed})


def test_a_choice_is_a_pipeline():
    default = PassPipeline(PIPELINES["cpu"])
    assert str(PassPipeline(Choice().passes())) == str(default)
    assert str(PassPipeline(Choice(UNFUSED).passes())) == str(PassPipeline(PIPELINES["cpu-unfused"]))
    names = [step.name for step in SIZED.passes()]
    assert sorted(names) == sorted(step.name for step in default.passes)
    assert names.index("block-fuse") == names.index("block-shapes") - 1
    assert "M=32" in str(PassPipeline(SIZED.passes()))


@pytest.mark.parametrize("name", ["softmax", "layernorm_matmul", "rmsnorm_ffn_swiglu"])
def test_the_model_says_the_same_of_a_choice_and_of_its_candidate(name: str):
    program = bb.parse(EXAMPLES / f"{name}.mlir")
    candidates = candidate_pipelines(program, CPU)
    assert candidates is not None
    order = list(candidates.in_order())
    assert [way.choice.fusion for way in order[:2]] == [DEFAULT, UNFUSED]
    assert len({way.choice.key() for way in order}) == len(order)
    for way in candidates.best[:3]:
        assert modelled(program, way.choice, CPU) == pytest.approx(way.seconds)
    assert list(candidates.best) == sorted(candidates.best, key=lambda way: way.seconds)


def outcome(**seconds: float) -> Outcome:
    measured = [
        Measured(
            CandidatePipeline(Choice(int(name[1:]) if name[1:].isdecimal() else name), 1.0),
            lambda: None,
            [taken],
        )
        for name, taken in seconds.items()
    ]
    return Outcome(tuple(sorted(measured, key=lambda each: each.time)))


def test_the_default_stays_unless_something_is_measurably_faster():
    assert outcome(default=1.0, n0=0.99).best.pipeline.choice.is_default
    assert outcome(default=1.0, n0=0.9).best.pipeline.choice.fusion == 0
    assert outcome(default=1.0, unfused=0.8, n0=0.9).best.pipeline.choice.fusion == UNFUSED


def test_a_search_leaves_out_what_does_not_compile_and_what_it_has():
    candidates = [CandidatePipeline(choice, 1.0) for choice in (Choice(), *map(Choice, range(4)))]
    called: list[object] = []

    def compiled(choice: Choice):
        if choice.fusion == 0:
            raise ValueError("no")
        return None if choice.fusion == 1 else lambda: called.append(choice.fusion)

    told: list[str] = []
    found = search(iter(candidates), compiled, 0.2, 4, lambda what, part: told.append(what))
    assert sorted(str(each.pipeline.choice.fusion) for each in found.measured) == ["2", DEFAULT]
    assert all(len(each.turns) >= 1 for each in found.measured)
    assert 3 not in called  # one too many
    assert any("measuring" in what for what in told)

    def none(choice: Choice):
        raise ValueError("no compiler")

    with pytest.raises(ValueError, match="no compiler"):
        search(iter(candidates), none, 0.1, 4)


def test_tuning_is_done_once(monkeypatch: pytest.MonkeyPatch):
    # In the cache of all tests, for in an empty one the micro-kernels would have to be compiled.
    store.clear(["twice"])
    x = np.random.default_rng(0).standard_normal((24, 40)).astype(np.float32)
    monkeypatch.setattr(tuning, "machine_named", lambda name: CPU)  # which takes no time to measure
    tuned = bb.compile(PROGRAM, tune=0.1)
    record = store.find(key_of(bb.parse(PROGRAM), None))
    assert record is not None
    assert record.program == "twice"
    assert record.measured >= 2
    assert record.default_seconds is not None
    assert record.seconds <= record.default_seconds
    wanted = bb.run(PROGRAM, [x], float64=True)
    assert np.abs(tuned(x) - wanted).max() < 1e-6

    def never(*_: object):
        raise AssertionError("searched again")

    monkeypatch.setattr(tuning, "search", never)
    bb.compile(PROGRAM, tune=0.1)
    # Without tuning, too, the choice is taken; but not where rules are asked for, or nothing is to be kept.
    store.keep(replace(record, choice=Choice(UNFUSED)))
    program = bb.parse(PROGRAM)
    requests = (Request(), Request(choose="rules"), Request(use_cache=False))
    assert [choice_for(program, each) for each in requests] == [Choice(UNFUSED), None, None]
    store.clear(["twice"])
    # Another shape is another program.
    assert store.find(key_of(bb.parse(PROGRAM.replace("24x", "25x")), None)) is None


def test_what_cannot_be_tuned_is_refused(cache: Path):
    kernels = PassPipeline(PIPELINES["cpu"]).run(bb.parse(PROGRAM))
    for program, options, said in (
        (PROGRAM, {"tune": 0}, "tune is 0, expected seconds"),
        (PROGRAM, {"tune": float("nan")}, "expected seconds"),
        (PROGRAM, {"tune": 1, "pipeline": PIPELINES["cpu"]}, "no meaning with a pipeline"),
        (PROGRAM, {"tune": 1, "choose": "model"}, "give one of them"),
        (PROGRAM, {"choose": "luck"}, "expected 'rules' or 'model'"),
        (PROGRAM.replace("24x", "?x"), {"tune": 1}, "has an unknown extent: tuning needs its range"),
        (kernels, {"tune": 1}, "it has been fused already"),
    ):
        with pytest.raises(InputError, match=said):
            bb.compile(program, **options)
    assert store.all_records() == []


def test_records_come_back(cache: Path):
    assert store.find(RECORD.key) is None
    store.keep(RECORD)
    store.keep(replace(RECORD, key="1" * 64, at=2e9))
    assert store.find(RECORD.key) == RECORD
    assert [record.at for record in store.all_records()] == [1e9, 2e9]
    for damage in (
        b"",
        b"{",
        b"[]",
        b"\xff",
        json.dumps(RECORD.record()).encode().replace(b"0" * 64, b"2" * 64),
    ):
        (cache / "choices" / f"{RECORD.key}.json").write_bytes(damage)
        assert store.find(RECORD.key) is None
    (cache / "choices" / "note.txt").write_text("not ours")
    assert len(store.all_records()) == 1
    assert store.clear() == 1
    assert store.all_records() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_cannot_be_written_to_is_told(cache: Path):
    store.keep(RECORD)
    (cache / "choices").chmod(0o500)
    with pytest.warns(CacheWarning, match="cannot be written to"):
        store.keep(RECORD)
    (cache / "choices").chmod(0o700)


def test_writers_side_by_side_leave_a_whole_record(cache: Path):
    store.keep(RECORD)
    stop = threading.Event()
    seen: list[Record | None] = []

    def write(seconds: float):
        while not stop.is_set():
            store.keep(replace(RECORD, seconds=seconds))

    writers = [threading.Thread(target=write, args=(seconds,)) for seconds in (1e-5, 2e-5)]
    for writer in writers:
        writer.start()
    seen = [store.find(RECORD.key) for _ in range(200)]
    stop.set()
    for writer in writers:
        writer.join()
    assert all(record is not None and record.seconds in (1e-5, 2e-5) for record in seen)


def test_choices_go_from_one_machine_to_another(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "choices.json"
    store.keep(RECORD)
    store.keep(replace(RECORD, key="1" * 64, program="other"))
    assert store.export_file(str(file)) == 2
    monkeypatch.setenv("BB_CACHE_DIR", str(tmp_path / "elsewhere"))
    later = replace(RECORD, key="1" * 64, at=1.5e9)
    store.keep(later)
    assert store.import_file(str(file)) == (1, 1)
    assert store.find(RECORD.key) == RECORD
    assert store.find("1" * 64) == later


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"key": "../../x"}, "64 hexadecimal digits"),
        ({"choice": None}, "a choice must be an object"),
        ({"seconds": -1}, "'seconds' must be a number above 0"),
        ({"seconds": float("nan")}, "'seconds' must be a number above 0"),
        ({"measured": 1.5}, "'measured' must be a whole number"),
        ({"program": "a\nb"}, "'program' must be a text of one line"),
        ({"at": 1e12}, "'at' is in the future"),
        ({"secnds": 1}, "no key 'secnds'; did you mean 'seconds'"),
    ],
)
def test_a_file_is_taken_whole_or_not_at_all(
    cache: Path, tmp_path: Path, changed: dict[str, object], said: str
):
    file = tmp_path / "choices.json"
    bad = {**RECORD.record(), "key": "1" * 64, **changed}
    shared = {"file": store.SHARED, "format": store.FORMAT, "records": [RECORD.record(), bad]}
    file.write_text(json.dumps(shared))
    with pytest.raises(store.StoreError, match=f"cannot be imported: record 1: .*{said}"):
        store.import_file(str(file))
    assert store.all_records() == []


def test_records_of_other_versions_are_no_records():
    without = RECORD.record()
    del without["threads"]
    with pytest.raises(ValueError, match="has no 'threads'"):
        record_of(without)


def test_bb_tune(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def tool(*argv: str) -> tuple[int, str]:
        status = bb_tune.main(argv)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out + captured.err

    file, other = str(tmp_path / "choices.json"), tmp_path / "other"
    assert "no choice has been measured yet" in tool("list")[1]
    assert tool("export", file) == (
        1,
        f"bb-tune: error: there is nothing to write to '{file}': no choice has been measured yet\n",
    )
    store.keep(RECORD)
    status, listed = tool("list")
    assert status == 0
    assert "snapshot 0, N whole before, M=32 N=whole" in listed
    assert json.loads(tool("list", "softmax", "--json")[1]) == [RECORD.record()]
    assert tool("export", file) == (0, f"1 choice written to {file}\n")
    assert "0 choices taken" in tool("import", file)[1]
    for argv, said in (
        (["export", file, "softmx"], "no choice for a function 'softmx'; did you mean 'softmax'"),
        (["import", str(other)], "cannot read"),
        (["import", str(tmp_path)], "cannot read"),
        (["clear"], "takes the names of functions, or --all"),
        (["clear", "softmax", "--all"], "not both"),
        (["remove"], "invalid choice: 'remove'"),
        ([], "arguments are required"),
    ):
        status, text = tool(*argv)
        assert (status, text.count("\n")) == (1, 1)
        assert said in text
    for data, said in (
        (b"{", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (b"[]", "it is not what 'bb-tune export' writes"),
        (b'{"file": "blockbuster choices", "format": 99, "records": []}', "it has format 99"),
    ):
        other.write_bytes(data)
        assert said in tool("import", str(other))[1]
    assert tool("clear", "softmax") == (0, "1 choice removed\n")
    assert tool("import", file) == (0, f"1 choice taken from {file}\n")


def test_a_file_that_cannot_be_written_stays(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "choices.json"
    file.write_text("precious")
    store.keep(RECORD)

    def full(*_: object):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(store.StoreError, match="no space left on device"):
        store.export_file(str(file))
    assert file.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir() if "choices.json" in path.name] == [file.name]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--tune", "5"], "--tune belongs to the target cpu"),
        (["--target", "cpu", "--tune", "soon"], "takes seconds above 0, up to a day, not 'soon'"),
        (["--target", "cpu", "--tune", "5", "-p", "cse"], "no meaning with --passes"),
        (["--target", "cpu", "--choose", "luck"], "invalid choice: 'luck'"),
    ],
)
def test_bb_run_refuses(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    assert bb_run.main([str(EXAMPLES / "softmax.mlir"), "--random", "0", *argv]) == 1
    assert said in capsys.readouterr().err


def test_bb_run_takes_what_was_chosen_for_the_extents(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = """func.func @shrunk(%x: tensor<?x40xf32>) -> tensor<?x40xf32> {
  %y = array.softmax %x axis 1 : tensor<?x40xf32>
  func.return %y : tensor<?x40xf32>
}
"""
    (tmp_path / "shrunk.mlir").write_text(text)
    program = bb.parse(text)
    declare_ranges(select_function(program, None), {"M": (5, 5)})
    key = key_of(program, None)
    store.keep(replace(RECORD, key=key, program="shrunk", choice=Choice(UNFUSED)))
    argv = [str(tmp_path / "shrunk.mlir"), "--target", "cpu", "--random", "0", "--extent"]
    try:
        assert bb_run.main([*argv, "x.0=5"]) == 0
        assert "chosen: unfused: 0.01 ms, the best of 3 ways" in capsys.readouterr().out
        assert bb_run.main([*argv, "x.0=6"]) == 0
        assert "chosen" not in capsys.readouterr().out
    finally:
        store.clear(["shrunk"])
