"""The exact check on real programs: it accepts every snapshot, and no planted fault."""

from collections import Counter
from random import Random
from time import process_time

import bb
import numpy as np
import pytest
from bb.dialects import block
from equivalence_programs import FUSE, Program, programs
from example_programs import EXAMPLES_DIR
from mutations import mutants
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

pytestmark = pytest.mark.long

PROGRAMS = programs()
MUTANTS = 180


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_accepts_every_snapshot(program: Program):
    source = program.source
    for snapshot in program.through(f"{FUSE}{{snapshot=all}}"):
        verdict = bb.equivalent(source, snapshot, runs=1)
        assert verdict.equal, f"{snapshot.sym_name.data}: {verdict}"


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_accepts_stabilised_programs_with_other_pivots(program: Program):
    (stable,) = program.through(f"{FUSE},block-stabilize")
    verdict = bb.equivalent(program.source, stable)
    assert verdict.equal, verdict
    assert verdict.maximum_in_result == (program.entry == "reglu")
    assert verdict.error_probability < 1e-3


@pytest.mark.parametrize("name", ["attention", "attention_causal", "decoder_layer"])
def test_takes_seconds_at_the_extents_of_the_examples(name: str):
    source = bb.parse(EXAMPLES_DIR / f"{name}.mlir")
    fused = bb.PassPipeline(FUSE).run(source.clone())
    start = process_time()
    assert bb.equivalent(source, fused)
    assert process_time() - start < 20


def test_softmax_of_softmax_needs_three_moduli():
    program = next(p for p in PROGRAMS if str(p) == "softmax_of_softmax-direct")
    (fused,) = program.through(FUSE)
    from bb.runtime.checking.exact.equivalence import _Comparison  # pyright: ignore[reportPrivateUsage]
    from bb.runtime.checking.exact.evaluate import prepare
    from bb.runtime.checking.exact.field import Exhausted

    comparison = _Comparison([prepare(program.source), prepare(fused)], 2, 0)
    with pytest.raises(Exhausted):
        comparison._run(0, False, False, 2)  # pyright: ignore[reportPrivateUsage]
    for seed in range(5):
        assert bb.equivalent(program.source, fused, seed=seed)


# Faults


def relative_difference(source: FuncOp, function: FuncOp) -> float:
    """The largest difference of results in float64, relative to the largest result."""
    inputs = bb.random_inputs(ModuleOp([source.clone()]), 1)
    results = [
        bb.interpret(ModuleOp([f.clone()]), inputs, float64=True, default_block_size=3).results
        for f in (source, function)
    ]
    with np.errstate(all="ignore"):
        return max(float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in zip(*results, strict=True))


RARE = {
    *("row_scale on the wrong side", "col_scale on the wrong side", "dot transposed", "mask off by one"),
    *("causal mask transposed", "row_shift dropped", "col_shift dropped", "sign", "term dropped"),
}
SLIGHT = {"coefficient off by 1e-5", "epsilon changed", "constant changed"}


def test_refuses_planted_faults():
    share = -(-MUTANTS // len(PROGRAMS))
    outcomes: Counter[bool | None] = Counter()
    kinds: set[str] = set()
    for number, program in enumerate(PROGRAMS):
        (fused,) = program.through(FUSE)
        rare = mutants(fused, len(RARE), Random(number), RARE)
        for mutant in [*rare, *mutants(fused, max(2, share - len(rare)), Random(number))]:
            verdict = bb.equivalent(program.source, mutant.function, runs=1)
            outcomes[verdict.equal] += 1
            kinds.add(mutant.fault)
            if verdict.equal:  # only if the fault changes nothing
                difference = relative_difference(program.source, mutant.function)
                assert difference < 1e-9, f"{program}: accepted in spite of '{mutant.fault}'"
    assert sum(outcomes.values()) >= 150
    assert outcomes[False] >= 0.98 * sum(outcomes.values())
    assert kinds >= {*RARE, *SLIGHT, "row_scale dropped", "row_sum is row_max", "sum is any", "wrong list"}


def test_refuses_faults_that_a_tolerance_of_1e_2_lets_pass():
    passed: Counter[str] = Counter()
    for program in PROGRAMS:
        for mutant in mutants(program.through(FUSE)[0], 3, Random(0), SLIGHT):
            if passed[mutant.fault] < 4 and relative_difference(program.source, mutant.function) < 1e-2:
                assert bb.equivalent(program.source, mutant.function).equal is False, mutant.fault
                passed[mutant.fault] += 1
        if min(passed[fault] for fault in SLIGHT) >= 4:
            return
    pytest.fail(f"too few slight faults: {passed}")


def test_refuses_a_program_with_wrong_dims():
    """One that reads another array of the same type, as a rewrite with a wrong dim would."""
    text = """func.func @f(%x: tensor<6x6xf32>, %y: tensor<6x6xf32>) -> tensor<6x6xf32> {
      %o = array.matmul %x, %y transpose_b : tensor<6x6xf32>, tensor<6x6xf32> -> tensor<6x6xf32>
      func.return %o : tensor<6x6xf32>
    }"""
    blocks = bb.PassPipeline("array-to-block").run(bb.parse(text))
    assert bb.equivalent(text, blocks)
    assert bb.equivalent(text.replace("transpose_b ", ""), blocks).equal is False
    assert bb.equivalent(text.replace("%x, %y trans", "%y, %x trans"), blocks).equal is False
    partitions = [op for op in blocks.walk() if isinstance(op, block.PartitionOp)]
    partitions[0].operands[0] = partitions[1].tensor
    assert bb.equivalent(text, blocks).equal is False
