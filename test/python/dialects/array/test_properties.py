"""Properties of random array programs: they survive a trip through text, and passes keep their values."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from array_evaluation import evaluate
from array_programs import Array, ArrayProgram, array_program_texts, array_programs, assert_close
from bb.dialects.context import make_context
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.passes.array.decompose import ArrayDecomposePass
from hypothesis import given, settings
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

pytestmark = pytest.mark.long

COMPOSITES = {
    f"array.{name}"
    for name in ("softmax", "layer_norm", "rms_norm", "silu", "gelu", "relu", "sigmoid", "attention")
}

CORE = {
    f"array.{name}"
    for name in ("matmul", "elementwise", "reduce", "broadcast", "transpose", "reshape", "slice", "concat")
} | {"array.iota", "array.constant", "array.extent"}


def generic_text(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def test_strategy_draws_every_operation() -> None:
    drawn: set[str] = set()

    @settings(max_examples=300)
    @given(array_program_texts())
    def collect(program: tuple[str, list[Array]]) -> None:
        drawn.update(re.findall(r"\barray\.\w+", program[0]))

    collect()
    assert drawn == CORE | COMPOSITES | {"array.yield"}


@pytest.mark.fuzz
@given(array_programs())
def test_text_round_trip(program: ArrayProgram) -> None:
    verify(program.module)
    pretty, generic = str(program.module), generic_text(program.module)
    from_pretty, from_generic = parse_module(pretty), parse_module(generic)
    assert str(from_pretty) == pretty
    assert str(from_generic) == pretty
    assert generic_text(from_generic) == generic
    assert from_pretty.is_structurally_equivalent(program.module)
    assert from_generic.is_structurally_equivalent(program.module)


@pytest.mark.fuzz
@given(array_programs())
def test_decompose_keeps_values(program: ArrayProgram) -> None:
    expected = evaluate(program.module, "program", program.inputs, float64=True)
    decomposed = program.module.clone()
    ArrayDecomposePass().apply(make_context(), decomposed)
    verify(decomposed)
    assert not COMPOSITES & {op.name for op in decomposed.walk()}
    assert_close(evaluate(decomposed, "program", program.inputs, float64=True), expected)
