"""The cost model: it counts as others count, more to move never costs less, and searches find the optimum."""

import itertools
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from bb.dialects import block
from bb.lowering.frontends.mlir_text import parse
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.cost.choose import choose_by_model
from bb.passes.analysis.cost.machine import DIRECTORY, machine_named, read_machine
from bb.passes.analysis.cost.model import Extent, visible_part
from bb.passes.analysis.cost.program import CostedProgram
from bb.passes.analysis.cost.shapes import best_shapes, legal_sizes
from bb.passes.analysis.programs import block_programs
from bb.passes.analysis.traffic.block import modelled_traffic
from bb.runtime.machine.description import described
from bb.runtime.machine.limits import MachineLimits
from bb.runtime.profile.work import work_of
from bb.runtime.program.functions import select_function
from example_programs import resized
from paths import ROOT
from xdsl.utils.exceptions import PassFailedException

EXAMPLES = ROOT / "examples"
NAMES = ["attention", "attention_causal", "layernorm_matmul", "rmsnorm_ffn_swiglu", "softmax"]
TO_BLOCKS = "array-decompose,array-to-block"
FUSED = TO_BLOCKS + ",block-fuse,block-stabilize"
CPU = read_machine(DIRECTORY / "cpu.json")


@cache
def program_of(name: str, passes: str):
    """The block program that passes make of an example; do not change it."""
    module = PassPipeline(passes).run(parse(EXAMPLES / f"{name}.mlir"))
    (function,) = block_programs(module)
    return function


def costed(name: str, passes: str, machine=CPU) -> CostedProgram:
    return CostedProgram.of(program_of(name, passes), machine)


@pytest.mark.parametrize("name", NAMES)
def test_flops_are_those_of_the_work(name: str):
    program = parse(EXAMPLES / f"{name}.mlir")
    function = select_function(program, None)
    arrays = [np.zeros(type.get_shape(), np.float32) for type in function.function_type.inputs]
    unfused = costed(name, TO_BLOCKS)
    costs = unfused.costs()
    assert sum(float(cost.contract_flops) for cost in costs) == work_of(program, None, arrays, []).flops
    assert all(float(cost.recomputed_flops) == 0 for cost in costs)


@pytest.mark.parametrize("name", NAMES)
def test_unfused_programs_move_what_block_traffic_says(name: str):
    function = program_of(name, TO_BLOCKS)
    traffic = modelled_traffic(function)
    moved = sum(float(cost.moved) for cost in CostedProgram.of(function, CPU).costs())
    assert moved == traffic["bytes_loaded"] + traffic["bytes_stored"]


def test_an_extension_computes_again():
    fused = costed("rmsnorm_ffn_swiglu", FUSED)
    sizes = {"L": 16.0}
    (cost,) = fused.costs(sizes)
    base = sum(float(each.contract_flops) for each in costed("rmsnorm_ffn_swiglu", TO_BLOCKS).costs())
    assert float(cost.recomputed_flops) > 0
    assert float(cost.contract_flops) - float(cost.recomputed_flops) == base


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("passes", [TO_BLOCKS, FUSED], ids=["unfused", "fused"])
def test_slower_and_smaller_tiers_never_cost_less(name: str, passes: str):
    program = costed(name, passes)
    for cost in program.costs():
        assert np.isclose(sum(map(float, cost.bytes)), float(cost.moved))
        assert min(map(float, cost.bytes)) >= 0
    for index, tier in enumerate(CPU.tiers):
        others = [replace(tier, bandwidth=tier.bandwidth / 2)]
        if tier.capacity is not None:
            others.append(replace(tier, capacity=tier.capacity / 4))
        for other in others:
            tiers = (*CPU.tiers[:index], other, *CPU.tiers[index + 1 :])
            worse = costed(name, passes, replace(CPU, tiers=tiers))
            for before, after in zip(program.costs(), worse.costs(), strict=True):
                assert float(after.seconds) >= float(before.seconds) * (1 - 1e-12)


@pytest.mark.parametrize("machine", ["cpu", "sm90"])
@pytest.mark.parametrize("name", ["attention", "rmsnorm_ffn_swiglu"])
@pytest.mark.parametrize("passes", [TO_BLOCKS, FUSED], ids=["unfused", "fused"])
def test_the_optimum_is_that_of_brute_force(name: str, passes: str, machine: str):
    program = costed(name, passes, read_machine(DIRECTORY / f"{machine}.json"))
    free = [dim for dim in ("M", "N", "K") if dim in program.dims]
    best = best_shapes(program, free)
    sizes = [legal_sizes(program.lengths[dim], program.model.machine.lanes)[::3] for dim in free]
    least = min(program.seconds(dict(zip(free, each, strict=True))) for each in itertools.product(*sizes))
    assert best.seconds <= least * (1 + 1e-12)
    assert np.isclose(program.seconds(dict(best.sizes)), best.seconds, rtol=1e-12)
    assert best.combinations >= np.prod([len(each) for each in sizes])


def test_the_optimum_is_found_exactly_where_kernels_share_dims():
    program = costed("softmax", TO_BLOCKS)
    best = best_shapes(program, ["M", "N"])
    sizes = [legal_sizes(program.lengths[dim], CPU.lanes) for dim in ("M", "N")]
    every = {each: program.seconds(dict(zip("MN", each, strict=True))) for each in itertools.product(*sizes)}
    assert np.isclose(best.seconds, min(every.values()), rtol=1e-12)
    assert best.combinations == len(every)
    assert np.isclose(every[best.sizes["M"], best.sizes["N"]], best.seconds, rtol=1e-12)


@pytest.mark.parametrize("length", [1, 7, 64, 100, 4096, 100_000])
def test_legal_sizes(length: int):
    sizes = legal_sizes(length, 16)
    assert sizes[0] == length
    assert sizes == sorted(set(sizes), reverse=True)
    assert min(sizes) >= 1
    assert set(legal_sizes(length, 16, 2)) <= set(sizes)


def test_a_causal_mask_leaves_what_it_shows():
    rows = Extent(100, np.array([[1.0], [32.0], [100.0]]))
    expected = [
        np.mean([min(min(start + size, 100), 100) for start in range(0, 100, size)]) / 100
        for size in (1, 32, 100)
    ]
    assert np.allclose(visible_part(rows, 100, 0).ravel(), expected)


def test_a_masked_dim_is_cut_even_if_it_is_short():
    function = program_of("attention_causal", FUSED)
    dims, _, _ = choose_by_model(function, CPU)
    (masked,) = {
        loop.dim for plan in CostedProgram.of(function, CPU).plans for loop in plan.loops() if loop.until
    }
    assert not dims[masked].is_whole
    assert dims[masked].block_size is not None


def test_selected_programs_cost_no_more_than_what_is_fused_by_default():
    chosen = "array-decompose,array-to-block,block-select{target=sm90},block-stabilize,block-fuse-elementwise"
    default = "array-decompose,array-to-block,block-shapes,block-fuse,block-stabilize,block-fuse-elementwise"
    machine = read_machine(DIRECTORY / "sm90.json")
    for name in ("softmax", "rmsnorm_matmul"):
        assert costed(name, chosen, machine).seconds() <= costed(name, default, machine).seconds()


def test_the_best_few_are_kept():
    module = PassPipeline(TO_BLOCKS + ",block-select{target=sm90 top=2}").run(
        parse(EXAMPLES / "softmax.mlir")
    )
    functions = block_programs(module)
    assert [function.sym_name.data for function in functions] == ["softmax_choice0", "softmax_choice1"]
    assert all(block.parse_dims(f.attributes[block.DIMS]) for f in functions)


def test_machines_are_read_and_refused(tmp_path: Path):
    for path in DIRECTORY.glob("*.json"):
        assert read_machine(path).name == path.stem
    record = json.loads((DIRECTORY / "sm90.json").read_text())
    cases = {
        "it has no key 'lanes'": {key: value for key, value in record.items() if key != "lanes"},
        "it has an unknown key 'lane'; did you mean 'lanes'?": {**record, "lane": 3},
        "'workers' must be a whole number above 0, got -1": {**record, "workers": -1},
        "'vector' must be a number above 0, got 'fast'": {**record, "vector": "fast"},
        "'contract' has no rate for f32": {**record, "contract": {"f64": 1e9}},
        "the last tier, and no other, has the capacity null": {**record, "tiers": record["tiers"][:1]},
        "it must be an object with keys": [1],
    }
    path = tmp_path / "machine.json"
    for message, wrong in cases.items():
        path.write_text(json.dumps(wrong))
        with pytest.raises(PassFailedException) as refused:
            machine_named(str(path))
        assert message in str(refused.value)


def test_what_is_measured_replaces_what_the_model_assumes():
    limits = MachineLimits(4, 8e11, 4e11, ((1 << 18, 4e11), (1 << 24, 2e11), (1 << 28, 5e10)))
    machine = described(limits, {1: 49152, 2: 1 << 21, 3: 1 << 22})
    assert machine.workers == 4
    assert machine.contract["f32"] == pytest.approx(0.95 * 2e11)
    assert [tier.capacity for tier in machine.tiers] == [49152, 1 << 21, 1 << 22, None]
    assert [tier.bandwidth for tier in machine.tiers[1:]] == [1e11, 2e11, 0.8 * 5e10]


def swept(size: float, machine=CPU) -> float:
    """Seconds of a program that only sweeps over rows, its columns in blocks of a size."""
    return costed("gelu_gate", FUSED, machine).seconds({"N": size})


def test_short_pieces_of_rows_are_moved_slowly():
    times = [swept(size) for size in (8.0, 16.0, 64.0)]
    assert times == sorted(times, reverse=True)
    evenly = replace(CPU, half_run=0.0)
    assert swept(8.0, evenly) < swept(8.0)


def test_a_short_last_block_is_no_whole_round():
    # Five blocks of 64 and a short one for two workers: three rounds, of which 333 rows would fill 2.6.
    program = costed("layernorm_matmul", FUSED)
    extents = program.extents({"K": 96.0}) | {"M": Extent(333, 64.0)}
    (plan,) = [plan for plan in program.plans if plan.contractions]
    cost = program.model.cost(plan, extents)
    assert float(cost.tasks) == 6
    assert 6 / (333 / 64) <= float(cost.idle) <= 1.05 * 6 / (333 / 64)


def test_sums_that_do_not_fit_registers_are_no_choice():
    small = replace(CPU, registers=4.0 * 64 * 96)
    program = costed("layernorm_matmul", FUSED, small)
    sizes = {"M": 64.0, "K": 96.0, "N": 64.0}
    assert np.isfinite(program.seconds(sizes))
    assert program.seconds({**sizes, "M": 128.0}) == np.inf
    assert np.isfinite(costed("layernorm_matmul", FUSED).seconds({**sizes, "M": 128.0}))


def test_fusion_that_does_not_pay_is_declined(capsys: pytest.CaptureFixture[str]):
    text, _ = resized("rmsnorm_ffn_swiglu", {"M": 1024, "D": 512, "F": 1024}, "f32")
    PassPipeline("array-decompose,array-to-block,block-select{target=sm90 report=true}").run(parse(text))
    lines = capsys.readouterr().out.splitlines()
    (kept,) = [line for line in lines if "kept" in line]
    assert "snapshot 0" in kept
    assert sum("no fusion" in line for line in lines) == 1
    last = lines[-1]
    assert re.fullmatch(
        r"//   further fusion, to snapshot \d, is declined: [\d.]+ us, with .* more to move, "
        r"where snapshot 0 takes [\d.]+ us",
        last,
    ), last
