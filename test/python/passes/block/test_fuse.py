"""Fusion of whole programs: every snapshot is right, and the last one is one nest without lists."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.passes.analysis.traffic.block import modelled_traffic
from bb.passes.fusion.explore import Snapshot
from bb.passes.fusion.normalize import Normalizer
from bb.passes.fusion.termination import MeasureCheck
from bb.passes.fusion.trace.records import dims_around, intermediate_lists
from bb.runtime.interpreter.functions import interpret
from fusion import FusionCase, assert_snapshot, first_snapshot, fusion_cases, key, retraced, snapshots
from law_cases import RULES_DIR
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

pytestmark = pytest.mark.long

DECODER = FusionCase("decoder_layer", "decoder_layer")
DIRECT = FusionCase("softmax_of_softmax", "direct")
"""The only program besides the decoder in which a list remains: without it, a contraction would be repeated.
"""


def nests(snapshot: Snapshot) -> list[block.MapOp]:
    """The maps at the top of a snapshot."""
    return [op for op in snapshot.function.body.block.ops if isinstance(op, block.MapOp)]


# Every snapshot


@pytest.mark.parametrize("case", fusion_cases(), ids=str)
def test_snapshots(case: FusionCase) -> None:
    inputs = case.inputs()
    expected = interpret(ModuleOp([case.arrays()]), inputs, float64=True).results
    first = case.first()
    chain, others = snapshots(first, others=0 if case == DECODER else 8)
    for snapshot in (*chain, *others):
        assert_snapshot(snapshot, inputs, expected, case.block_size())
    assert [snapshot.number for snapshot in (*chain, *others)] == list(range(len(chain) + len(others)))
    assert len({key(snapshot) for snapshot in (*chain, *others)}) == len(chain) + len(others)
    for snapshot in (chain[-1], *others[-1:]):
        assert key(retraced(first, snapshot)) == key(snapshot)


@pytest.mark.parametrize("case", fusion_cases(), ids=str)
def test_last_snapshot_is_one_nest(case: FusionCase) -> None:
    chain, _ = snapshots(case.first())
    assert len(nests(chain[-1])) == 1
    lists = intermediate_lists(chain[-1].function)
    if case in (DECODER, DIRECT):
        assert lists
        places = [dims_around(maker) for value in lists if isinstance(maker := value.owner, Operation)]
        assert all(places), "a list is not private to an iteration"
    else:
        assert not lists


# Spellings


@pytest.mark.parametrize(
    "pair",
    [
        (("softmax_spellings", "safe"), ("softmax_spellings", "unsafe")),
        (("attention_spellings", "safe"), ("attention_spellings", "unsafe")),
        (("attention_spellings", "safe"), ("attention_spellings", "divided_last")),
        (("layernorm_spellings", "two_pass"), ("layernorm_spellings", "one_pass")),
        (("attention", "attention"), ("attention_decomposed", "attention_decomposed")),
        (
            ("layernorm_matmul", "layernorm_matmul"),
            ("layernorm_matmul_decomposed", "layernorm_matmul_decomposed"),
        ),
        (
            ("rmsnorm_ffn_swiglu", "rmsnorm_ffn_swiglu"),
            ("rmsnorm_ffn_swiglu_decomposed", "rmsnorm_ffn_swiglu_decomposed"),
        ),
    ],
    ids=lambda pair: f"{pair[0][0]}-{pair[0][1]}-{pair[1][1]}",
)
def test_spellings_end_in_the_same_program(pair: tuple[tuple[str, str], tuple[str, str]]) -> None:
    chains = [snapshots(FusionCase(*spelling).first())[0] for spelling in pair]
    left, right = ([key(snapshot) for snapshot in chain] for chain in chains)
    assert left == right


# Nest orders


def heads_outside() -> FuncOp:
    """Attention over heads, then rows, and its output projection over rows, then heads."""
    path = RULES_DIR.parent / "passes" / "block" / "fuse" / "heads-outside.mlir"
    (function,) = parse_module(path.read_text(), path.name).ops
    assert isinstance(function, FuncOp)
    return function.clone()


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_attention_with_heads_outside_fuses_with_its_projection(seed: int | None) -> None:
    """As where both run over rows, then heads: the order in which nests are written does not matter."""
    case = FusionCase("attention_projection", "attention_projection")
    first = first_snapshot(heads_outside(), None if seed is None else Random(seed))
    assert key(first) == key(case.first())
    chain, _ = snapshots(first)
    assert len(nests(chain[-1])) == 1
    assert not intermediate_lists(chain[-1].function)
    assert_right(case, chain[-1])


# Whole dims


def loops(snapshot: Snapshot) -> list[str]:
    """The dims of all maps of a snapshot, in program order."""
    return [op.dim_name for op in snapshot.function.walk() if isinstance(op, block.MapOp)]


def assert_right(case: FusionCase, snapshot: Snapshot) -> None:
    inputs = case.inputs()
    expected = interpret(ModuleOp([case.arrays()]), inputs, float64=True).results
    assert_snapshot(snapshot, inputs, expected, case.block_size())


def test_layer_norm_of_a_whole_row_keeps_its_two_passes() -> None:
    """The mean waits for no loop, so that nothing demands the delicate laws: no E[x²]."""
    case = FusionCase("norms", "layer_norm")
    chain, _ = snapshots(case.first(whole=["N"]))
    assert len(chain) == 1
    assert loops(chain[0]) == ["M"]
    products = [op for op in chain[0].function.walk() if isinstance(op, block.MulOp)]
    assert [product.lhs is product.rhs for product in products] == [True]
    centred = products[0].lhs.owner
    assert isinstance(centred, block.RowShiftOp)
    assert isinstance(centred.block.owner, block.LoadOp)
    assert_right(case, chain[0])


@pytest.mark.parametrize("entry", ["two_pass", "one_pass"])
def test_spellings_of_layer_norm_differ_where_rows_are_whole(entry: str) -> None:
    case = FusionCase("layernorm_spellings", entry)
    chain, _ = snapshots(case.first(whole=["N"]))
    centred = [op for op in chain[-1].function.walk() if isinstance(op, block.RowShiftOp)]
    assert bool(centred)
    squares = [op.lhs.owner for op in chain[-1].function.walk() if isinstance(op, block.MulOp)]
    assert [isinstance(owner, block.RowShiftOp) for owner in squares] == [entry == "two_pass"]
    assert_right(case, chain[-1])


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("attention", ("L",)),
        ("attention", ("N",)),
        ("rmsnorm_ffn_swiglu", ("K", "L")),
        ("matmul_chain", ("L",)),
    ],
    ids=str,
)
def test_one_snapshot_where_the_loop_that_would_repeat_work_is_whole(
    name: str, whole: tuple[str, ...]
) -> None:
    case = FusionCase(name, name)
    chain, _ = snapshots(case.first(whole=whole))
    assert len(chain) == 1
    assert len(nests(chain[0])) == 1
    assert not intermediate_lists(chain[0].function)
    assert_right(case, chain[0])


def test_lora_with_a_whole_rank() -> None:
    case = FusionCase("lora", "lora")
    dims = block.parse_dims(case.blocks().attributes[block.DIMS])
    (rank,) = (name for name, dim in dims.items() if dim.static_extent == 8)
    chain, _ = snapshots(case.first(whole=[rank]))
    assert not intermediate_lists(chain[-1].function)
    assert rank not in loops(chain[-1])
    assert_right(case, chain[-1])


def test_decoder_of_whole_features_needs_no_list() -> None:
    chain, _ = snapshots(DECODER.first(whole=["K", "D", "L"]))
    assert len(nests(chain[-1])) == 1
    assert not intermediate_lists(chain[-1].function)
    assert_right(DECODER, chain[-1])


# Traffic


def test_fused_attention_reads_its_arguments_and_writes_its_result_only() -> None:
    case = FusionCase("attention", "attention")
    chain, _ = snapshots(case.first())
    last = chain[-1].function
    loaded = {op.result.name_hint.split("_")[0] for op in last.walk() if isinstance(op, block.LoadOp)}
    assert loaded == {"q", "k", "v"}
    assert sum(isinstance(op, block.StoreOp) for op in last.walk()) == 1


@pytest.mark.parametrize("case", fusion_cases(), ids=str)
def test_fusion_without_extensions_repeats_nothing(case: FusionCase) -> None:
    def numbers(snapshot_or_source: Snapshot | None) -> Mapping[str, int]:
        function = snapshot_or_source.function if snapshot_or_source is not None else case.blocks()
        return modelled_traffic(function)

    source, first = numbers(None), numbers(case.first())
    assert all(first[name] <= source[name] for name in ("loads", "stores", "bytes_loaded", "bytes_stored"))


# The order of the laws


@pytest.mark.parametrize("case", fusion_cases(), ids=str)
def test_laws_reach_one_normal_form_in_any_order(case: FusionCase) -> None:
    wanted = key(case.first())
    for seed in range(1 if case == DECODER else 3):
        assert key(case.first(random=Random(seed))) == wanted, f"seed {seed}"


def test_the_measure_is_checked_at_every_firing() -> None:
    function = FusionCase("attention", "attention").blocks()
    check = MeasureCheck(function)
    firings = Normalizer(function, check).run()
    assert len(check.firings) == sum(firings.counts.values()) - 1
    assert all(after <= before for _, before, after in check.firings)
