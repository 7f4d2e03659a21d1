"""Block programs, interpreted: examples agree with their references, and counts with `block-traffic`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_evaluation import DTYPES
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.traffic.block import Traffic, traffic_of_function, values_for
from bb.runtime.errors import InputError
from bb.runtime.interpreter.functions import InterpreterError, Run, interpret
from bb.runtime.program.functions import select_function
from example_programs import Case, assert_agree, cases, odd_sizes, resized, respell
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long

BOUNDS = {"f64": 1e-13, "f32": 3e-6, "f16": 4e-3, "bf16": 3e-2}
"""The largest error allowed, relative to the largest element of the result."""


def blocked(text: str, name: str = "program.mlir") -> ModuleOp:
    """The block program of an array program, verified after every pass."""
    return PassPipeline("array-decompose,array-to-block").run(parse_module(text, name))


def assert_counted(module: ModuleOp, run: Run, entry: str | None = None) -> None:
    """Fail unless the run moved and computed what `block-traffic` says it does."""
    total = Traffic()
    for _, traffic in traffic_of_function(select_function(module, entry)):
        total += traffic
    assert total.evaluate(values_for(run.extents, run.block_sizes)) == vars(run.counts)


def check(case: Case, text: str, dims: Mapping[str, int] | None = None, **options: Any) -> None:
    module = blocked(text, case.name)
    arrays = case.inputs(dims)
    run = interpret(module, arrays, entry=case.entry, float64=True, **options)
    assert_agree(run.results, case.expected(arrays), 1e-10)
    assert_counted(module, run, case.entry)


# Examples


@pytest.mark.parametrize("case", cases(), ids=str)
def test_float64(case: Case) -> None:
    check(case, case.text, default_block_size=32)


@pytest.mark.parametrize("size", ["ones", "primes", "past_block"])
@pytest.mark.parametrize("case", cases(), ids=str)
def test_odd_extents(case: Case, size: str) -> None:
    text, dims = resized(case.name, odd_sizes(case.name)[size])
    check(case, text, dims, default_block_size=32)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_unknown_row_extents(case: Case) -> None:
    text = respell(case.text, case.module.DIMS, dict.fromkeys(case.module.DYNAMIC, "?"))
    rows = dict(zip(case.module.DYNAMIC, (37, 66), strict=False))
    check(case, text, case.module.DIMS | rows, default_block_size=16)


@pytest.mark.parametrize("element_type", BOUNDS)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_element_types(case: Case, element_type: str) -> None:
    module = blocked(respell(case.text, case.module.DIMS, {}, element_type), case.name)
    arrays = [array.astype(DTYPES[element_type]) for array in case.inputs()]
    run = interpret(module, arrays, entry=case.entry, default_block_size=32)
    assert all(array.dtype == DTYPES[element_type] for array in run.results)
    assert_agree(run.results, case.expected(arrays), BOUNDS[element_type])
    assert_counted(module, run, case.entry)


# Block sizes and extents

MATMUL = """
func.func @f(%a: tensor<5x7xf32> {bb.dims = ["M", "K"]}, %b: tensor<7x6xf32> {bb.dims = ["K", "N"]})
    -> tensor<5x6xf32> {
  %c = array.matmul %a, %b : tensor<5x7xf32>, tensor<7x6xf32> -> tensor<5x6xf32>
  func.return %c : tensor<5x6xf32>
}
"""


def arange(*shape: int) -> NDArray[np.float64]:
    return np.arange(1.0, np.prod(shape) + 1).reshape(shape) / 8


def test_counts() -> None:
    a, b = arange(5, 7), arange(7, 6)
    sizes = {"M": 2, "K": 3, "N": 4}
    run = interpret(blocked(MATMUL), [a, b], block_sizes=sizes)
    assert_agree(run.results, [a @ b], 1e-6)
    assert run.extents == {"M": 5, "K": 7, "N": 6}
    assert run.block_sizes == sizes
    rows, columns, terms = 3, 2, 3  # blocks
    products, outputs = rows * columns * terms, rows * columns
    # Each product loads two blocks and stores its own, which the sum loads again.
    assert run.counts.loads == 2 * products + products
    assert run.counts.stores == products + outputs
    assert run.counts.bytes_loaded == 4 * (5 * 7 * columns + 7 * 6 * rows + 5 * 6 * terms)
    assert run.counts.bytes_stored == 4 * (5 * 6 * terms + 5 * 6)
    assert run.counts.flops == 2 * 5 * 7 * 6 + 5 * 6 * terms


def test_block_size_of_the_program_wins() -> None:
    text = str(blocked(MATMUL)).replace("M = #block.dim<5>", "M = #block.dim<5, block = 3>")
    text = text.replace("N = #block.dim<6>", "N = #block.dim<6, whole>")
    run = interpret(parse_module(text), [arange(5, 7), arange(7, 6)], block_sizes={"M": 1, "N": 1})
    assert run.block_sizes == {"M": 3, "K": 64, "N": 6}


def test_default_block_size() -> None:
    run = interpret(blocked(MATMUL), [arange(5, 7), arange(7, 6)], block_sizes={"K": 2}, default_block_size=4)
    assert run.block_sizes == {"M": 4, "K": 2, "N": 4}


def test_dims_that_are_not_iterated_are_whole() -> None:
    text = """
    func.func @f(%x: tensor<?x4xf32>) -> tensor<?xf32>
        attributes {block.dims = {M = #block.dim<?, whole>, K = #block.dim<4, whole>}} {
      %X = block.partition %x [M, K] : tensor<?x4xf32> -> !block.block<M x K x f32, global>
      %b = block.load %X : !block.block<M x K x f32, global>
      %s = block.row_sum %b acc f32 : !block.block<M x K x f32>
      %i = block.elementwise (%p = %s) : !block.vector<M x f32> -> !block.vector<M x f32> {
        %i = block.index @M
        %j = arith.index_cast %i : index to i32
        %f = arith.sitofp %j : i32 to f32
        %r = arith.addf %p, %f : f32
        block.yield %r : f32
      }
      %S = block.store %i : !block.vector<M x f32>
      %r = block.assemble %S [M] : !block.vector<M x f32, global> -> tensor<?xf32>
      func.return %r : tensor<?xf32>
    }"""
    module = parse_module(text)
    verify(module)
    run = interpret(module, [arange(3, 4)])
    assert_agree(run.results, [arange(3, 4).sum(1) + np.arange(3)], 1e-6)
    assert run.block_sizes == {"M": 3, "K": 4}
    assert_counted(module, run)


def test_any_takes_one_iteration() -> None:
    text = """
    func.func @f(%x: tensor<6xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>)
        attributes {block.dims = {M = #block.dim<6, block = 2>}} {
      %X = block.partition %x [M] : tensor<6xf32> -> !block.list<M, vector<M x f32>>
      %Y = block.partition %y [] : tensor<f32> -> !block.scalar<f32, global>
      %s, %d = block.map @M (%v = %X) -> (max, any) : !block.list<M, vector<M x f32>> {
        %a = block.load %v : !block.vector<M x f32, global>
        %b = block.load %Y : !block.scalar<f32, global>
        %m = block.row_max %a : !block.vector<M x f32>
        %t = block.add %b, %b : !block.scalar<f32>
        block.yield %m, %t : !block.scalar<f32>, !block.scalar<f32>
      }
      %S = block.store %s : !block.scalar<f32>
      %D = block.store %d : !block.scalar<f32>
      %r = block.assemble %S [] : !block.scalar<f32, global> -> tensor<f32>
      %t = block.assemble %D [] : !block.scalar<f32, global> -> tensor<f32>
      func.return %r, %t : tensor<f32>, tensor<f32>
    }"""
    module = parse_module(text)
    verify(module)
    run = interpret(module, [arange(6), 1.5])
    assert [float(result) for result in run.results] == [0.75, 3.0]
    assert (run.counts.loads, run.counts.stores) == (6, 2)
    assert_counted(module, run)


def test_calls_add_up() -> None:
    text = """
    func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = array.elementwise (%p = %x) : tensor<4xf32> -> tensor<4xf32> {
        %z = arith.addf %p, %p : f32
        array.yield %z : f32
      }
      func.return %y : tensor<4xf32>
    }
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = func.call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %z = func.call @double(%y) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %z : tensor<4xf32>
    }"""
    run = interpret(blocked(text), [arange(4)], default_block_size=2)
    assert_agree(run.results, [4 * arange(4)], 1e-6)
    assert (run.counts.loads, run.counts.stores, run.counts.flops) == (4, 4, 8)


def test_inputs_may_be_anything_like_an_array() -> None:
    a, b = arange(5, 7), arange(7, 6)
    module = blocked(MATMUL)
    for given in ([a.tolist(), b.tolist()], [a.astype(np.float16), b.astype(ml_dtypes.bfloat16)]):
        assert_agree(interpret(module, given).results, [np.float64(given[0]) @ np.float64(given[1])], 1e-6)


CUSTOM = """
func.func @f(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %y = array.elementwise (%p = %x) : tensor<4x6xf32> -> tensor<4x6xf32> {
    %z = arith.addf %p, %p : f32
    array.yield %z : f32
  }
  %u, %s = array.custom @sort(%y) {descending = true} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>)
  %v = array.elementwise (%p = %u) : tensor<4x6xf32> -> tensor<4x6xf32> {
    %z = arith.negf %p : f32
    array.yield %z : f32
  }
  func.return %v, %s : tensor<4x6xf32>, tensor<4xf32>
}
"""


def test_custom_operators_call_back() -> None:
    def sort(x: NDArray[Any], descending: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        assert descending
        assert x.dtype == np.float32
        return -np.sort(-x, axis=1), x.max(axis=1)

    run = interpret(blocked(CUSTOM), [arange(4, 6)], callbacks={"sort": sort}, default_block_size=3)
    assert_agree(run.results, [-np.sort(2 * arange(4, 6), 1)[:, ::-1], 2 * arange(4, 6).max(1)], 1e-6)


BLOCK_CUSTOM = """
func.func @f(%x: tensor<5xf32>) -> tensor<5xf32> attributes {block.dims = {M = #block.dim<5, block = 2>}} {
  %X = block.partition %x [M] : tensor<5xf32> -> !block.list<M, vector<M x f32>>
  %Y = block.map @M (%v = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    %a = block.load %v : !block.vector<M x f32, global>
    %b = block.custom @shift(%a) {by = 3 : i64} : (!block.vector<M x f32>) -> (!block.vector<M x f32>)
    %c = block.store %b : !block.vector<M x f32>
    block.yield %c : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
"""


def test_custom_operators_on_items_call_back() -> None:
    module = parse_module(BLOCK_CUSTOM)
    verify(module)
    run = interpret(module, [arange(5)], callbacks={"shift": lambda x, by: x + by})
    assert_agree(run.results, [arange(5) + 3], 1e-6)


# Faults


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([arange(5, 7)], r"'f' takes 2 arrays, got 1"),
        ([arange(5, 7), arange(6, 7)], r"argument %b of 'f' has shape \[6, 7\], expected \[7, 6\]"),
        ([arange(5, 7, 1), arange(7, 6)], r"argument %a of 'f' has shape \[5, 7, 1\], expected \[5, 7\]"),
        ([arange(5, 7), arange(7, 6) * 1j], r"argument %b of 'f' has dtype complex128, expected numbers"),
        ([np.full((5, 7), "one"), arange(7, 6)], r"argument %a of 'f' has dtype <U3, expected numbers"),
        ([np.full((5, 7), None), arange(7, 6)], r"argument %a of 'f' has dtype object, expected numbers"),
        ([[[1.0, 2.0], [3.0]], arange(7, 6)], r"argument %a of 'f' is no array"),
    ],
)
def test_inputs_that_do_not_fit(inputs: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        interpret(blocked(MATMUL), inputs)


def test_empty_arrays() -> None:
    text = MATMUL.replace("5x", "?x")
    with pytest.raises(
        InputError, match=r"%a of 'f' is empty \(shape \[0, 7\]\), every extent must be at least 1"
    ):
        interpret(blocked(text), [np.zeros((0, 7)), arange(7, 6)])


@pytest.mark.parametrize("sizes", [{"default_block_size": 0}, {"block_sizes": {"M": -1}}])
def test_block_sizes(sizes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"the block size of (every dim|M) must be at least 1, got"):
        interpret(blocked(MATMUL), [arange(5, 7), arange(7, 6)], **sizes)


def test_entries() -> None:
    module = blocked(MATMUL + MATMUL.replace("@f", "@g"))
    with pytest.raises(InputError, match="there is no function 'h'; the functions are: f, g"):
        interpret(module, [], entry="h")
    with pytest.raises(InputError, match="there are 2 public functions, so `entry` must name one of: f, g"):
        interpret(module, [])
    with pytest.raises(InputError, match="there are 0 public functions, so `entry` must name one of: none"):
        interpret(parse_module("func.func private @e(tensor<4xf32>)"), [])


def test_arguments_must_be_arrays() -> None:
    text = "func.func @f(%X: !block.list<M, vector<M x f32>>) { func.return }"
    with pytest.raises(InputError, match=r"%X of 'f' has type !block.list<M, vector<M x f32>>, only arrays"):
        interpret(parse_module(text), [arange(4)])


@pytest.mark.parametrize("text", [CUSTOM, BLOCK_CUSTOM])
def test_unknown_callback(text: str) -> None:
    module = blocked(text)
    shape = [extent for extent in (4, 6) if text is CUSTOM] or [5]
    with pytest.raises(
        InterpreterError, match=r"custom' callback '(sort|shift)' is not known; known callbacks: other"
    ):
        interpret(module, [arange(*shape)], callbacks={"other": lambda x: x})


def test_recursion() -> None:
    text = """
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    with pytest.raises(
        InterpreterError, match="call of 'f' is nested too deeply; recursion is not supported"
    ):
        interpret(parse_module(text), [arange(4)])


def test_calls_of_declarations() -> None:
    text = """
    func.func private @g(tensor<4xf32>) -> tensor<4xf32>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    with pytest.raises(
        InterpreterError, match=r"'func.call': there is no function 'g'; the functions are: f"
    ):
        interpret(parse_module(text), [arange(4)])


def test_extents_that_disagree() -> None:
    text = MATMUL.replace("7x", "?x").replace("x7", "x?")
    with pytest.raises(InterpreterError, match=r"'block.partition' axis has extent 8, expected K = 7"):
        interpret(blocked(text), [arange(5, 7), arange(8, 6)])


def test_extent_without_an_array() -> None:
    text = """
    func.func @f() -> tensor<?xf32> attributes {block.dims = {M = #block.dim<?>}} {
      %Y = block.map @M () -> (stack) {
        %a = block.elementwise () -> !block.vector<M x f32> {
          %one = arith.constant 1.0 : f32
          block.yield %one : f32
        }
        %b = block.store %a : !block.vector<M x f32>
        block.yield %b : !block.vector<M x f32, global>
      }
      %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<?xf32>
      func.return %y : tensor<?xf32>
    }"""
    with pytest.raises(
        InterpreterError, match=r"'block.map' needs the extent of dim M, which no array has given yet"
    ):
        interpret(parse_module(text), [])
