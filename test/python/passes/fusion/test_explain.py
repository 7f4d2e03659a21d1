"""The trace as a story for people: grouping, widths, refusals, and traces that users keep."""

from pathlib import Path

import bb
import pytest
from bb.lowering.pipelines import PassPipeline
from bb.passes.fusion.explore import EXTENSIONS
from bb.passes.fusion.trace.explain import ACTIONS, MOST_REFUSALS, WIDTH, explain
from bb.passes.fusion.trace.records import Record
from bb.passes.fusion.trace.story import chapters_of, read_trace, stories_of
from bb.passes.rules.fuse_elementwise import FuseElementwise
from bb.passes.rules.table import all_laws
from bb.passes.text.units import change_in_units, counted, in_units
from bb.tools.bb_opt import main
from bb.tools.opt.explanation import Explanation
from paths import ROOT

pytestmark = pytest.mark.long

EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.mlir") if path.stem != "decoder_layer")


def records_of(path: Path, options: str = "") -> list[Record]:
    run = Explanation(PassPipeline(f"array-decompose,array-to-block,block-fuse{options}"))
    run.run(bb.parse(path))
    return run.records


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_has_a_short_story(path: Path):
    records = records_of(path)
    text = explain(records)
    assert explain(records_of(path)) == text, "the story is not deterministic"
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) < 150 * len(stories_of(records))
    assert all(line == line.rstrip() for line in lines)
    assert "\n\n\n" not in text


def test_steps_cover_every_firing_in_order():
    records = records_of(ROOT / "examples" / "rmsnorm_ffn_swiglu.mlir")
    (story,) = stories_of(records)
    told = [firing.number for leg in story.legs for step in leg.steps for firing in step.firings]
    assert told == list(range(1, 1 + sum(record["event"] == "fired" for record in records)))
    for leg in story.legs:
        chapters = chapters_of(leg.steps)
        assert [step for chapter in chapters for step in chapter] == leg.steps
        assert all(a.rule != b.rule for a, b in zip(leg.steps, leg.steps[1:], strict=False))


def test_snapshots_of_one_function_are_told_once():
    path = ROOT / "examples" / "rmsnorm_ffn_swiglu.mlir"
    (story,) = stories_of(records_of(path, "{snapshot=all}"))
    assert len({leg.path for leg in story.legs}) == len(story.legs) > 2
    assert sum(not leg.path for leg in story.legs) == 1


def test_every_law_has_a_few_words():
    laws = [*all_laws(), *EXTENSIONS, FuseElementwise]
    silent = [law.title() for law in laws if not {law.name, f"{law.name}/{law.variant}"} & ACTIONS.keys()]
    assert silent == []


def record(event: str, **content: object) -> Record:
    return {"event": event, "function": "f", **content}


NUMBERS = {"nests": 1, "lists": 2, "loads": 3, "stores": 4, "bytes": 5000, "flops": 6, "recomputed_flops": 0}


def test_refusals_are_grouped_and_capped():
    site = {"op": "block.map", "inside": [], "dim": "M", "makes": ["y"], "location": 'loc("f.mlir":7:1)'}
    refused = [
        record("refused", rule=rule, variant="", reason=reason, condition="c", snapshot=0, site=site)
        for rule, reason in [
            *(("leave-sum", f"reason {i}") for i in range(MOST_REFUSALS)),
            ("split-map", "it would repeat a contraction"),
            ("fuse-sibling-maps", "the second map needs a result of the first"),
            ("fuse-sibling-maps", "the second map needs a result of the first"),
        ]
    ]
    text = explain(
        [
            record("program", numbers=NUMBERS, program=""),
            record("snapshot", number=0, path=[], numbers=NUMBERS),
            *refused,
        ]
    )
    lines = text.partition("Refused\n")[2].splitlines()
    assert lines[0] == "  fuse-sibling-maps: the second map needs a result of the first"
    assert lines[1] == "      %y at [M] (line 7), in the last snapshot"
    assert lines[2] == "  split-map: it would repeat a contraction"
    assert lines[-1] == "  and 2 more reasons, which block-fuse{trace=FILE} writes down"
    assert len(lines) == 2 * MOST_REFUSALS + 1


def test_unknown_laws_speak_for_themselves():
    site = {"op": "block.dot", "inside": ["M"], "makes": ["y"]}
    fired = record(
        "fired",
        step=1,
        rule="my-rule",
        variant="",
        law="A rule of my own.",
        site=site,
        before=NUMBERS,
        after={**NUMBERS, "bytes": 4000},
    )
    text = explain([record("program", numbers=NUMBERS), fired])
    line = next(line for line in text.splitlines() if "my-rule" in line)
    assert " ".join(line.split()) == "1 my-rule A rule of my own: %y at [M] 5.00 -> 4.00 kB"
    assert len(line) == WIDTH


def test_a_trace_of_the_users_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = tmp_path / "trace.jsonl"
    example = str(ROOT / "examples" / "gelu_gate.mlir")
    passes = f"array-decompose,array-to-block,block-fuse{{trace={trace}}}"
    assert main([example, "-p", passes, "--explain"]) == 0
    assert explain(read_trace(trace.read_text())) == capsys.readouterr().out
    records = read_trace(trace.read_text())
    assert not any("program" in record for record in records if record["event"] == "fired")

    missing = tmp_path / "no" / "trace.jsonl"
    passes = f"array-decompose,array-to-block,block-fuse{{trace={missing}}}"
    assert main([example, "-p", passes, "--explain"]) == 1
    assert "cannot write the trace to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (9_994, "9.99 kB"),
        (9_995, "10.0 kB"),
        (99_949, "99.9 kB"),
        (99_960, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.00 MB"),
        (2_777_600, "2.78 MB"),
        (10**30, "1000000000000 EB"),
    ],
)
def test_units(number: int, text: str):
    assert in_units(number, "B") == text


def test_changes_and_counts():
    assert change_in_units(2_777_600, 2_654_720, "B") == "2.78 -> 2.65 MB"
    assert change_in_units(1_167_360, 921_600, "B") == "1.17 MB -> 922 kB"
    assert change_in_units(1_167_360, 1_167_361, "B") == "1.17 MB"
    assert [counted(n, "nest") for n in (0, 1, 1234)] == ["0 nests", "1 nest", "1,234 nests"]
