"""On random programs each application of each law, and the whole of phase 2, keeps all values.

`block_programs` draws programs for the laws; `array_programs` draws array programs, which `array-to-block`
turns into block programs as users have them. Some steps of phase 2, in random order, lead to the programs
that laws meet on the way.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from random import Random

import pytest
from array_programs import ArrayProgram, array_programs
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.structural_keys import Interner, program_key
from bb.passes.fusion.normalize import Normalizer
from bb.passes.rules.table import all_laws
from bb.runtime.interpreter.blocks import Value
from bb.runtime.interpreter.functions import interpret
from block_evaluation import Array, difference, evaluate
from block_programs import BlockProgram, block_programs
from example_programs import Case, cases, respell
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from law_probes import PROBE, TOLERANCE, Evaluation, Probes, assert_applications_keep_items, copy_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

pytestmark = pytest.mark.long

STEPS = st.integers(0, 40)
SEEDS = st.integers(0, 1 << 16)


def examples(count: int) -> settings:
    """`count` examples in the suite, as many as the profile says in 'make fuzz'."""
    calm = settings(suppress_health_check=list(HealthCheck), deadline=None)
    return calm if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else settings(calm, max_examples=count)


def advance(function: FuncOp, steps: int, seed: int) -> None:
    """Take the first steps of phase 2, in random order."""
    with suppress(RuntimeError):  # the limit
        Normalizer(function, random=Random(seed), limit=steps).run()


def evaluation_of_blocks(program: BlockProgram) -> Evaluation:
    return lambda function, probes: evaluate(function, program.arguments, callbacks={PROBE: probes})[0]


def evaluation_of_arrays(inputs: Sequence[Array], size: int) -> Evaluation:
    def evaluation(function: FuncOp, probes: Probes) -> Sequence[Value]:
        module = function.parent_op()
        assert isinstance(module, ModuleOp)
        callbacks = {PROBE: probes}
        return interpret(module, inputs, float64=True, default_block_size=size, callbacks=callbacks).results

    return evaluation


def block_function(module: ModuleOp, entry: str | None = None) -> FuncOp:
    """A function of an array program as a block program, in a module of its own."""
    blocks = PassPipeline("array-decompose,array-to-block").run(module.clone())
    functions = [op for op in blocks.ops if isinstance(op, FuncOp)]
    return copy_of(next(op for op in functions if entry in (None, op.sym_name.data)))


@pytest.mark.fuzz
@examples(25)
@given(block_programs(), STEPS, SEEDS)
def test_applications_in_block_programs_keep_items(program: BlockProgram, steps: int, seed: int) -> None:
    advance(program.function, steps, seed)
    assert_applications_keep_items(all_laws(), program.function, evaluation_of_blocks(program))


@pytest.mark.fuzz
@examples(6)
@given(array_programs(max_ops=10), STEPS, SEEDS)
def test_applications_in_array_programs_keep_items(program: ArrayProgram, steps: int, seed: int) -> None:
    function = block_function(program.module)
    advance(function, steps, seed)
    assert_applications_keep_items(all_laws(), function, evaluation_of_arrays(program.inputs, 4))


@pytest.mark.fuzz
@examples(60)
@given(block_programs(), SEEDS)
def test_phase_2_keeps_results_in_any_order(program: BlockProgram, seed: int) -> None:
    expected, _ = evaluate(program.function, program.arguments)
    for random in (None, Random(seed)):
        function = copy_of(program.function)
        Normalizer(function, random=random, limit=10_000).run()
        verify(function.get_toplevel_object())
        assert difference(evaluate(function, program.arguments)[0], expected) <= TOLERANCE


# One normal form


def normal_form(function: FuncOp, intern: Interner, seed: int | None) -> tuple[int, ...]:
    copy = copy_of(function)
    Normalizer(copy, random=None if seed is None else Random(seed)).run()
    return program_key(copy, intern)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_any_order_of_laws_gives_one_normal_form(case: Case) -> None:
    function = block_function(parse_module(case.text, case.name), case.entry)
    intern = Interner()
    expected = normal_form(function, intern, None)
    for seed in range(3):
        assert normal_form(function, intern, seed) == expected


@pytest.mark.parametrize("element_type", ["f16", "bf16"])
@pytest.mark.parametrize("case", [case for case in cases() if case.name != "decoder_layer"], ids=str)
def test_any_order_gives_one_normal_form_in_16_bits(case: Case, element_type: str) -> None:
    text = respell(case.text, case.module.DIMS, {}, element_type)
    function = block_function(parse_module(text, case.name), case.entry)
    intern = Interner()
    assert normal_form(function, intern, 0) == normal_form(function, intern, None)
