"""The trace of `block-fuse` records all that fired, all that was tried, and why no more was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import bb
import pytest
from bb.dialects import block
from bb.lowering.pipelines import PassPipeline
from bb.passes.fusion.trace.explain import explain
from bb.passes.fusion.trace.records import intermediate_lists
from bb.passes.fusion.trace.story import stories_of
from bb.passes.rules import ALL_RULES
from bb.passes.rules.law import Check, Law
from bb.tools.opt.explanation import Explanation
from fusion import PROGRAMS_DIR
from paths import ROOT
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter

pytestmark = pytest.mark.long

EXAMPLES = ROOT / "examples"

Record = dict[str, Any]


def traced(source: Path | str, options: str = "") -> tuple[list[Record], FuncOp]:
    """The trace of a program's fusion, and the last function that it gives."""
    module = bb.parse(source)
    run = Explanation(PassPipeline(f"array-decompose,array-to-block,block-fuse{options}"))
    run.run(module)
    function = list(module.ops)[-1]
    assert isinstance(function, FuncOp)
    return run.records, function


@cache
def decoder() -> tuple[list[Record], FuncOp]:
    return traced(EXAMPLES / "decoder_layer.mlir")


def events(records: list[Record], event: str) -> list[Record]:
    return [record for record in records if record["event"] == event]


def test_every_firing_has_its_site_and_numbers_before_and_after() -> None:
    records, _ = decoder()
    fired = events(records, "fired")
    wanted = {"nests", "lists", "loads", "stores", "bytes", "flops", "recomputed_flops"}
    for record in fired:
        assert {"op", "inside"} <= record["site"].keys()
        assert wanted <= record["before"].keys()
        assert wanted <= record["after"].keys()
    assert all(one["after"] == two["before"] for one, two in pairwise(fired))
    assert any(record["after"]["recomputed_flops"] > record["before"]["recomputed_flops"] for record in fired)


# Extensions


def test_extensions_tried_from_the_last_snapshot_are_recorded() -> None:
    records, _ = traced(EXAMPLES / "attention.mlir", "{snapshot=0}")
    last = max(index for index, record in enumerate(records) if record["event"] == "snapshot")
    tried = events(records[last:], "extension")
    assert tried
    assert not any(record["kept"] for record in tried)
    assert any(record["reason"] == "it leads to snapshot 1" for record in tried)
    (story,) = stories_of(records)
    assert [attempt.description for attempt in story.last.tried] == [one["description"] for one in tried]
    assert f"tried from here, not taken: {tried[0]['description']}" in " ".join(explain(records).split())


def test_extensions_without_use_are_recorded_at_the_end() -> None:
    """In a softmax on a softmax, one that is possible would only repeat work."""
    records, _ = traced(PROGRAMS_DIR / "softmax_of_softmax.mlir")
    last = max(index for index, record in enumerate(records) if record["event"] == "snapshot")
    found = [one for one in events(records[last:], "extension") if "no structural law" in one["reason"]]
    assert found
    text = " ".join(explain(records).split())
    assert all(f"tried from here, not taken: {one['description']}: no structural" in text for one in found)


@pytest.mark.parametrize("options", ["", "{snapshot=all}", "{snapshot=best-traffic}", "{snapshot=1}"])
def test_every_way_ends_in_its_result(options: str) -> None:
    records, _ = traced(EXAMPLES / "rmsnorm_ffn_swiglu.mlir", options)
    ways = len(events(records, "program"))
    assert len(events(records, "result")) == ways
    for index, record in enumerate(records):
        if record["event"] == "result":
            before = events(records[:index], "snapshot")[-1]
            assert record["number"] == before["number"]
            assert record["numbers"] == before["numbers"]


# Constants

CONSTANT_WEIGHTS = """
func.func @linear(
  %x: tensor<150x64xf32>, %g: tensor<64xf32> {bb.constant}, %w: tensor<64x96xf32> {bb.constant}
) -> tensor<150x96xf32> {
  %y = array.layer_norm %x scale(%g : tensor<64xf32>) eps 1.000000e-05 : tensor<150x64xf32>
  %z = array.matmul %y, %w : tensor<150x64xf32>, tensor<64x96xf32> -> tensor<150x96xf32>
  func.return %z : tensor<150x96xf32>
}
"""


def test_a_constant_prologue_is_recorded(tmp_path: Path) -> None:
    file = tmp_path / "linear.mlir"
    file.write_text(CONSTANT_WEIGHTS)
    records, function = traced(file)
    fired = [record for record in events(records, "fired") if record["rule"] == "constant-prologue"]
    prologues = [op for op in function.walk() if "bb.prologue" in op.attributes]
    assert len(fired) == len(prologues) > 0
    assert fired[0]["before"]["prologue_bytes"] == 0
    assert fired[-1]["after"]["prologue_bytes"] > 0
    assert fired[-1]["after"]["flops"] < fired[0]["before"]["flops"], "the kernel computes less"
    (result,) = events(records, "result")
    assert result["numbers"] == fired[-1]["after"]
    assert result["numbers"]["lists"] == 0, "a constant is no intermediate list"
    text = explain(records)
    assert "leaves the kernel, and is made once" in text
    assert f"constant-prologue x{len(fired)}: What depends on declared constants" in text


# What remains


def test_the_decoder_says_which_lists_remain_and_where() -> None:
    records, function = decoder()
    last = events(records, "snapshot")[-1]
    assert last["numbers"]["nests"] == 1
    remaining = last["lists"]
    assert len(remaining) == last["numbers"]["lists"] == len(intermediate_lists(function)) > 0
    assert all(one["name"] for one in remaining)
    assert {tuple(one["inside"]) for one in remaining} == {("M",)}
    text = " ".join(explain(records).split())
    assert f"lists private to an iteration: %{remaining[0]['name']}" in text
    assert f"%{remaining[-1]['name']} in [M]" in text


def test_lists_read_as_arrays_are_intermediate_lists() -> None:
    records, _ = traced(PROGRAMS_DIR / "attention_projection.mlir")
    (program,) = events(records, "program")
    maps = program["numbers"]["nests"]
    assert program["numbers"]["lists"] >= maps - 1, "each nest but the last makes a list that is read again"


# Rules of users


class RefusingLaw(Law[block.DotOp, block.DotOp]):
    """A law that never applies."""

    name = "refusing-law"
    law = "Nothing is anything."
    before = after = traffic = ""
    side_conditions = {"never": "never"}

    def sites(self, op: block.DotOp) -> Iterator[block.DotOp]:
        yield op

    def checks(self, site: block.DotOp) -> Iterator[Check]:
        yield Check("never", False, "it never applies here")

    def rewrite(self, op: block.DotOp, site: block.DotOp, rewriter: PatternRewriter) -> None:
        raise AssertionError("it never applies")


def test_refusals_of_user_laws_are_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(ALL_RULES, RefusingLaw.name, RefusingLaw)
    trace = tmp_path / "trace.jsonl"
    passes = f"array-decompose,array-to-block,block-fuse{{rules=refusing-law trace={trace}}}"
    PassPipeline(passes).run(bb.parse(EXAMPLES / "rmsnorm_matmul.mlir"))
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    refused = [record for record in events(records, "refused") if record["rule"] == "refusing-law"]
    assert {record["snapshot"] for record in refused} == {
        one["number"] for one in events(records, "snapshot")
    }
    assert {record["reason"] for record in refused} == {"it never applies here"}
    assert {record["condition"] for record in refused} == {"never"}
    assert "refusing-law: it never applies here" in explain(records)
