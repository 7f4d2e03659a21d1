"""Pseudo-code says what a program does: its text alone gives the program's values."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from array_programs import ArrayProgram, array_programs, assert_close
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.passes.text.pseudo_code import pseudo_code
from bb.runtime.interpreter.functions import interpret
from bb.runtime.program.functions import select_function
from example_programs import EXAMPLES_DIR, Case, cases
from hypothesis import HealthCheck, given, settings
from paths import FILECHECK, GOLDEN
from pseudo_code_evaluation import run_pseudo_code
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

pytestmark = pytest.mark.long

GOLDEN_DIR = GOLDEN / "pseudo_code"
ARRAYS, NESTS, FUSED = "", "array-decompose,array-to-block", "array-decompose,array-to-block,block-fuse"
STABLE = f"{FUSED},block-stabilize"
STAGES = {"arrays": ARRAYS, "nests": NESTS, "fused": FUSED, "stable": STABLE}
WIDEST = 110
CALM = settings(suppress_health_check=list(HealthCheck), deadline=None)


@cache
def lowered(text: str, passes: str) -> ModuleOp:
    return PassPipeline(passes).run(parse_module(text))


def function_of(case: Case, passes: str) -> FuncOp:
    return select_function(lowered(case.text, passes), case.entry)


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN_DIR.iterdir()))
def test_unfused_program_is_as_pinned(name: str) -> None:
    """Compare the output of `bb-opt examples/NAME.mlir -p array-decompose,array-to-block --pseudo-code`."""
    text = (EXAMPLES_DIR / f"{name}.mlir").read_text()
    assert (
        pseudo_code(select_function(lowered(text, NESTS), name)) == (GOLDEN_DIR / f"{name}.txt").read_text()
    )


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_every_example_prints(case: Case, stage: str) -> None:
    function = function_of(case, STAGES[stage])
    text = pseudo_code(function)
    assert text == pseudo_code(function), "printing is deterministic"
    assert text == pseudo_code(select_function(parse_module(str(function)), None)), "also after a round trip"
    head, _, body = text.partition("\n\n")
    assert head.startswith(f"{case.entry}(")
    for argument in function.args:
        assert f"{argument.name_hint}[" in head
        assert f"{argument.name_hint}" in body
    assert all(len(line) <= WIDEST and line == line.rstrip() for line in text.splitlines())
    assert pseudo_code(function, ascii=True).isascii()


@pytest.mark.parametrize("stage", ["nests", "fused", "stable"])
@pytest.mark.parametrize("case", cases(), ids=str)
def test_text_of_examples_gives_their_values(case: Case, stage: str) -> None:
    arrays = case.inputs()
    text = pseudo_code(function_of(case, STAGES[stage]), ascii=True)
    assert_close(run_pseudo_code(text, arrays), case.expected(arrays))


@pytest.mark.fuzz
@(CALM if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else settings(CALM, max_examples=30))
@given(array_programs())
def test_text_of_random_programs_gives_their_values(program: ArrayProgram) -> None:
    text = str(program.module)
    for passes in (NESTS, f"{FUSED}{{budget=3}}"):
        module = PassPipeline(NESTS).run(program.module.clone())
        if "block." not in str(module):
            return
        if passes != NESTS:
            module = PassPipeline("block-fuse{budget=3}").run(module)
        printed = pseudo_code(select_function(module, None), ascii=True)
        # Constants of 16 bits print as what they stand for; arrays of various constants do not print whole.
        if "f16" in text or "array.custom" in text or "constant(..." in printed:
            continue
        expected = interpret(module, program.inputs, float64=True, default_block_size=4).results
        assert_close(run_pseudo_code(printed, program.inputs, 4), expected, 1e-6)


@pytest.mark.parametrize("path", sorted(FILECHECK.glob("rules/*.mlir")), ids=lambda path: path.stem)
def test_every_program_of_the_laws_prints(path: Path) -> None:
    for op in parse_module(path.read_text()).walk():
        if isinstance(op, FuncOp):
            text = pseudo_code(op)
            assert text == pseudo_code(op)
            assert text.startswith(f"{op.sym_name.data}(")


def test_options() -> None:
    function = select_function(lowered((EXAMPLES_DIR / "attention.mlir").read_text(), NESTS), None)
    assert "    where M = 160, " in pseudo_code(function)
    assert "where" not in pseudo_code(function, extents=False)
    assert "load v[n, l]ᵀ" in pseudo_code(function)
    assert "load v[n, l].T" in pseudo_code(function, ascii=True)


def test_unknown_operations_print_by_name() -> None:
    (function,) = parse_module(
        """
        func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {block.dims = {M = #block.dim<4>}} {
          %X = block.partition %x [M] : tensor<4xf32> -> !block.list<M, vector<M x f32>>
          %Y = block.map @M (%Xm = %X) -> (stack) : !block.list<M, vector<M x f32>> {
            %a = block.load %Xm : !block.vector<M x f32, global>
            %b = "test.op"(%a) : (!block.vector<M x f32>) -> !block.vector<M x f32>
            "test.op"(%Xm, %x) : (!block.vector<M x f32, global>, tensor<4xf32>) -> ()
            %c = block.store %b : !block.vector<M x f32>
            block.yield %c : !block.vector<M x f32, global>
          }
          %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<4xf32>
          %z = "test.op"(%y) : (tensor<4xf32>) -> tensor<4xf32>
          func.return %z : tensor<4xf32>
        }
        """
    ).ops
    assert isinstance(function, FuncOp)
    assert pseudo_code(function, extents=False).splitlines() == [
        "f(x[M]) -> z[4]",
        "",
        "forall m in M:",
        "    a = load x[m]",
        "    b = test.op(a)",
        "    test.op(x[m], x)",
        "    store y[m] = b",
        "",
        "z = test.op(y)",
    ]


def test_inputs_are_left_alone() -> None:
    module = parse_module((EXAMPLES_DIR / "attention.mlir").read_text())
    before = str(PassPipeline(NESTS).run(module))
    pseudo_code(select_function(module, None))
    assert str(module) == before


def test_evaluation_notices_a_wrong_text() -> None:
    """The evaluation of pseudo-code that these tests use is not blind."""
    case = next(case for case in cases() if case.name == "attention")
    text = pseudo_code(function_of(case, NESTS), ascii=True)
    arrays = case.inputs()
    expected = case.expected(arrays)
    with pytest.raises(AssertionError):
        assert_close(run_pseudo_code(text.replace("/ 8", "/ 4"), arrays), expected)
    with pytest.raises((AssertionError, ValueError)):
        run_pseudo_code(text.replace("load v[n, l].T", "load v[n, l]"), arrays)
    assert np.isfinite(expected[0]).all()
