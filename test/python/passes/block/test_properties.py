"""Properties of random programs as block programs: their values, their text, their traffic."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from io import StringIO

import numpy as np
import pytest
from array_programs import Array, ArrayProgram, array_program_texts, array_programs, assert_close
from bb.dialects.diagnostics import OpError
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.traffic.block import Traffic, traffic_of_function, values_for
from bb.runtime.interpreter.functions import InterpreterError, interpret
from bb.runtime.program.functions import select_function
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

pytestmark = pytest.mark.long

CLEANUPS = ("canonicalize", "cse", "dce", "canonicalize,cse,dce")
BLOCK_SIZES = st.sampled_from((3, 4, 5))


def examples(count: int) -> settings:
    """`count` examples in the suite, as many as the profile says in 'make fuzz'."""
    calm = settings(suppress_health_check=list(HealthCheck), deadline=None)
    return calm if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else settings(calm, max_examples=count)


def blocked(module: ModuleOp) -> ModuleOp:
    return PassPipeline("array-decompose,array-to-block").run(module.clone())


def assert_same_values(module: ModuleOp, inputs: Sequence[Array], expected: list[Array], size: int) -> None:
    """Fail unless the block program gives what is expected and moves what `block-traffic` says."""
    run = interpret(module, inputs, float64=True, default_block_size=size)
    assert_close(run.results, expected)
    total = Traffic()
    for _, traffic in traffic_of_function(select_function(module, None)):
        total += traffic
    assert total.evaluate(values_for(run.extents, run.block_sizes)) == vars(run.counts)


@pytest.mark.fuzz
@examples(60)
@given(array_programs(), BLOCK_SIZES)
def test_values_are_kept(program: ArrayProgram, size: int) -> None:
    expected = interpret(program.module, program.inputs, float64=True).results
    module = blocked(program.module)
    assert_same_values(module, program.inputs, expected, size)
    for passes in CLEANUPS:
        cleaned = PassPipeline(passes).run(module.clone())
        assert_same_values(cleaned, program.inputs, expected, size)


@pytest.mark.fuzz
@examples(60)
@given(array_programs())
def test_text_round_trip(program: ArrayProgram) -> None:
    module = blocked(program.module)
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    pretty, generic = str(module), stream.getvalue()
    for text in (pretty, generic):
        parsed = parse_module(text)
        assert str(parsed) == pretty
        assert parsed.is_structurally_equivalent(module)


# Unknown extents

_TENSOR = re.compile(r"tensor<((?:\w+x)+)(\w+)>")
_SIZES = re.compile(r"(sizes \[)([^]]*)\]")
_IOTA = re.compile(r"(array\.iota axis \d+) : (tensor<((?:[\d?]+x)+)\w+>)")
_ARGUMENT = re.compile(r"(%arg\d+): (tensor<((?:[\d?]+x)+)\w+>)")


def forget(text: str, extents: set[str]) -> str:
    """The program with these extents unknown wherever they occur; it need not be valid."""

    def tensor(match: re.Match[str]) -> str:
        shape = "".join(f"{'?' if extent in extents else extent}x" for extent in match[1].split("x")[:-1])
        return f"tensor<{shape}{match[2]}>"

    def sizes(match: re.Match[str]) -> str:
        return f"{match[1]}{', '.join('-1' if size in extents else size for size in match[2].split(', '))}]"

    def iota(match: re.Match[str]) -> str:
        like = next((arg for arg in _ARGUMENT.finditer(text) if arg[3] == match[3]), None)
        if like is None or "?" not in match[3]:
            return match[0]
        return f"{match[1]} like {like[1]} : {like[2]} -> {match[2]}"

    text = _SIZES.sub(sizes, _TENSOR.sub(tensor, text))
    return _IOTA.sub(iota, text)


@st.composite
def programs_of_unknown_extents(draw: st.DrawFn) -> ArrayProgram:
    text, inputs = draw(array_program_texts())
    # An extent of 1 is broadcast, an unknown one is not.
    found = {extent for shape, _ in _TENSOR.findall(text) for extent in shape.split("x")[:-1]}
    extents = sorted(found - {"1"})
    assume(extents)
    chosen = draw(st.sets(st.sampled_from(extents), min_size=1))
    try:
        module = parse_module(forget(text, chosen))
        verify(module)
    except (ParseError, OpError):
        assume(False)
        raise
    return ArrayProgram(module, inputs)


@pytest.mark.fuzz
@examples(60)
@given(programs_of_unknown_extents(), BLOCK_SIZES)
def test_values_are_kept_where_extents_are_unknown(program: ArrayProgram, size: int) -> None:
    try:
        expected = interpret(program.module, program.inputs, float64=True).results
        decomposed = PassPipeline("array-decompose").run(program.module.clone())
        assert_close(interpret(decomposed, program.inputs, float64=True).results, expected)
    except (InterpreterError, AssertionError):
        assume(False)  # without the extents the program has another meaning: heads, slices to the end
        raise
    module = blocked(program.module)
    assert_same_values(module, program.inputs, expected, size)
    cleaned = PassPipeline("canonicalize,cse,dce").run(module)
    assert_same_values(cleaned, program.inputs, expected, size)


# Programs that were lowered wrongly once


def check(text: str, *shapes: tuple[int, ...], size: int = 2) -> ModuleOp:
    module = parse_module(text)
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, shape) for shape in shapes]
    expected = interpret(module, inputs, float64=True).results
    lowered = blocked(module)
    assert_same_values(lowered, inputs, expected, size)
    for passes in CLEANUPS:
        assert_same_values(PassPipeline(passes).run(lowered.clone()), inputs, expected, size)
    return lowered


def test_products_are_not_repeated_along_batch_dims() -> None:
    # The columns of the first product are the heads of the second.
    text = """
    func.func @f(%y: tensor<5x7xf32>, %w: tensor<7x3xf32>, %k: tensor<3x1x6xf32>) -> tensor<3x5x6xf32> {
      %q = array.matmul %y, %w : tensor<5x7xf32>, tensor<7x3xf32> -> tensor<5x3xf32>
      %r = array.reshape %q : tensor<5x3xf32> -> tensor<5x3x1xf32>
      %t = array.transpose %r perm [1, 0, 2] : tensor<5x3x1xf32> -> tensor<3x5x1xf32>
      %s = array.matmul %t, %k : tensor<3x5x1xf32>, tensor<3x1x6xf32> -> tensor<3x5x6xf32>
      func.return %s : tensor<3x5x6xf32>
    }"""
    check(text, (5, 7), (7, 3), (3, 1, 6))


def test_iotas_tell_extents() -> None:
    text = """
    func.func @f(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %i = array.iota axis 1 like %x : tensor<?x?xf32> -> tensor<?x?xi32>
      %y = array.elementwise (%p = %i) : tensor<?x?xi32> -> tensor<?x?xf32> {
        %z = arith.sitofp %p : i32 to f32
        array.yield %z : f32
      }
      func.return %y : tensor<?x?xf32>
    }"""
    check(text, (5, 3))


def test_iotas_of_known_dims_are_no_arrays() -> None:
    text = """
    func.func @f(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
      %i = array.iota axis 0 like %x : tensor<?x3xf32> -> tensor<?x3xi32>
      %m = array.elementwise (%p = %i) : tensor<?x3xi32> -> tensor<?x3xf32> {
        %z = arith.sitofp %p : i32 to f32
        array.yield %z : f32
      }
      %y = array.elementwise (%p = %m, %q = %x) : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<?x3xf32> {
        %z = arith.mulf %p, %q : f32
        array.yield %z : f32
      }
      func.return %y : tensor<?x3xf32>
    }"""
    assert "array.iota" not in str(check(text, (5, 3)))


def test_unused_operands_tell_extents() -> None:
    text = """
    func.func @f(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
      %y = array.elementwise (%p = %x) : tensor<?x3xf32> -> tensor<?x3xf32> {
        %one = arith.constant 1.0 : f32
        array.yield %one : f32
      }
      func.return %y : tensor<?x3xf32>
    }"""
    check(text, (5, 3))


def test_results_with_different_operands() -> None:
    text = """
    func.func @f(%a: tensor<f32>, %x: tensor<5xf32>) -> (tensor<f32>, tensor<f32>, tensor<5xf32>) {
      %s = array.reduce sum %x axes [0] : tensor<5xf32> -> tensor<f32>
      %u, %v = array.elementwise (%p = %a, %q = %s) : tensor<f32>, tensor<f32> -> tensor<f32>, tensor<f32> {
        %z = arith.addf %p, %p : f32
        %y = arith.negf %q : f32
        array.yield %z, %y : f32, f32
      }
      func.return %u, %v, %x : tensor<f32>, tensor<f32>, tensor<5xf32>
    }"""
    check(text, (), (5,))


def test_lists_of_vectors_are_read_again() -> None:
    # `vector` names a type of MLIR too.
    text = """
    func.func @f(%x: tensor<5x3xf32>) -> tensor<5xf32> {
      %s = array.reduce sum %x axes [1] : tensor<5x3xf32> -> tensor<5xf32>
      func.return %s : tensor<5xf32>
    }"""
    lowered = str(check(text, (5, 3)))
    assert "vector<M x f32>" in lowered
    assert str(parse_module(lowered)) == lowered
