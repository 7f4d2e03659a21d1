"""Properties of random array programs: they survive a trip through text, and passes keep their values."""

from __future__ import annotations

from io import StringIO

from array_evaluation import evaluate
from array_programs import ArrayProgram, array_programs, assert_close
from bb.dialects.context import make_context
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.passes.array_decompose import ArrayDecomposePass
from hypothesis import HealthCheck, given, settings
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

SETTINGS = settings(
    derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
COMPOSITES = {
    f"array.{name}"
    for name in ("softmax", "layer_norm", "rms_norm", "silu", "gelu", "relu", "sigmoid", "attention")
}


def generic_text(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


@settings(SETTINGS, max_examples=100)
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


@settings(SETTINGS, max_examples=100)
@given(array_programs())
def test_decompose_keeps_values(program: ArrayProgram) -> None:
    expected = evaluate(program.module, "program", program.inputs, float64=True)
    decomposed = program.module.clone()
    ArrayDecomposePass().apply(make_context(), decomposed)
    verify(decomposed)
    assert not COMPOSITES & {op.name for op in decomposed.walk()}
    assert_close(evaluate(decomposed, "program", program.inputs, float64=True), expected)
