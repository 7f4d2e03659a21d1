"""Sums that are relative to a maximum: what they mean, that they are associative, and that laws keep them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.facts import Facts
from bb.passes.analysis.structural_keys import Interner, program_key
from bb.passes.analysis.traffic.block import Traffic, traffic_of_function, values_for
from bb.passes.block.fuse import extract_constants
from bb.passes.rules.law import AnyLaw
from bb.passes.rules.leave_sum import summed_results
from bb.passes.rules.shared import extension
from bb.passes.rules.shared.map_editing import add_input, add_results, merge_maps
from bb.passes.rules.table import all_laws
from bb.runtime.interpreter.functions import interpret
from block_evaluation import apply_once, difference, evaluate, random_arguments
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

Array = NDArray[np.float64]


def significands(rng: np.random.Generator, blocks: int, shape: Sequence[int]) -> list[Array]:
    return [rng.standard_normal(tuple(shape)) for _ in range(blocks)]


def exponents(rng: np.random.Generator, blocks: int, rows: int) -> list[Array]:
    """Exponents far apart, some -inf: a row that is masked in some blocks, and one that is in all."""
    found = [rng.uniform(-1e3, 1e3, rows) for _ in range(blocks)]
    for index, exponent in enumerate(found):
        exponent[index % rows] = -np.inf
        exponent[-1] = -np.inf
    return found


Pair = tuple[Array, Array]


def combine(left: Pair, right: Pair) -> Pair:
    """The combination of two parts of a relative sum, as the operation's documentation has it."""
    (s, e), (t, f) = left, right
    top = np.maximum(e, f)

    def factor(exponent: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.where(exponent == top, 1.0, np.exp(exponent - top))

    def scaled(item: Array, factors: Array) -> Array:
        return item * factors.reshape(factors.shape + (1,) * (item.ndim - 1))

    return scaled(s, factor(e)) + scaled(t, factor(f)), top


# What a relative sum means

PROGRAM = """
func.func @sums(%X: !block.list<N, block<M x L x f32>>, %E: !block.list<N, vector<M x f32>>)
    -> (!block.block<M x L x f32>, !block.vector<M x f32>, !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<4>, L = #block.dim<3, whole>, N = #block.dim<9, batch>}} {
  %o, %t, %s = block.map @N (%x = %X, %e = %E) -> (sum rel 1, max, sum rel 1)
      : !block.list<N, block<M x L x f32>>, !block.list<N, vector<M x f32>> {
    %a = block.load %x : !block.block<M x L x f32, global>
    %b = block.load %e : !block.vector<M x f32, global>
    %r = block.row_sum %a acc f32 : !block.block<M x L x f32>
    block.yield %a, %b, %r : !block.block<M x L x f32>, !block.vector<M x f32>, !block.vector<M x f32>
  }
  func.return %o, %t, %s : !block.block<M x L x f32>, !block.vector<M x f32>, !block.vector<M x f32>
}
"""


def program(text: str) -> FuncOp:
    module = parse_module(text, "relative-sums")
    verify(module)
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return function


def run(values: list[Array], tops: list[Array], float64: bool = True) -> list[Array]:
    results, _ = evaluate(program(PROGRAM), [list(values), list(tops)], float64=float64)
    return [np.asarray(result, np.float64) for result in results]


def test_a_relative_sum_is_its_definition():
    rng = np.random.default_rng(0)
    values, tops = significands(rng, 9, (4, 3)), exponents(rng, 9, 4)
    blocks, top, sums = run(values, tops)
    largest = np.max(tops, axis=0)
    assert np.array_equal(top, largest)
    with np.errstate(invalid="ignore"):
        weights = [np.where(exponent == largest, 1.0, np.exp(exponent - largest)) for exponent in tops]
    expected = sum(value * weight[:, None] for value, weight in zip(values, weights, strict=True))
    assert np.allclose(blocks, expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(sums, expected.sum(axis=1), rtol=1e-12, atol=1e-12)


def test_a_row_of_minus_infinity_is_no_nan():
    values, tops = [np.ones((4, 3))] * 9, [np.full(4, -np.inf)] * 9
    blocks, top, _ = run(values, tops)
    assert np.all(np.isneginf(top))
    assert np.all(blocks == 9)  # every factor is 1: a mask gives significands of 0, not these


def test_factors_are_computed_in_the_type_of_the_exponents_at_least():
    rng = np.random.default_rng(1)
    values, tops = significands(rng, 9, (4, 3)), exponents(rng, 9, 4)
    for got, wanted in zip(run(values, tops, float64=False), run(values, tops), strict=True):
        assert np.allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_workers_may_share_the_iterations_in_any_way(seed: int):
    """Any split of the iterations, combined in any order, gives the same."""
    rng = np.random.default_rng(seed)
    values, tops = significands(rng, 9, (4, 3)), exponents(rng, 9, 4)
    blocks, top, _ = run(values, tops)
    order = rng.permutation(9)
    parts: list[Pair] = []
    for worker in np.array_split(order, 3):
        part = values[worker[0]], tops[worker[0]]
        for index in worker[1:]:
            part = combine(part, (values[index], tops[index]))
        parts.append(part)
    while len(parts) > 1:
        left, right = (parts.pop(rng.integers(len(parts))) for _ in range(2))
        parts.append(combine(left, right))
    ((combined_blocks, combined_top),) = parts
    assert np.array_equal(combined_top, top)
    assert np.allclose(combined_blocks, blocks, rtol=1e-12, atol=1e-12)


def test_counts_are_those_of_the_traffic_model():
    text = """
    func.func @f(%x: tensor<5x7xf32>) -> (tensor<5xf32>, tensor<5xf32>)
        attributes {block.dims = {M = #block.dim<5, block = 2>, N = #block.dim<7, block = 3>}} {
      %X = block.partition %x [M, N] : tensor<5x7xf32> -> !block.list<M, N, block<M x N x f32>>
      %T, %S = block.map @M (%Xm = %X) -> (stack, stack) : !block.list<M, N, block<M x N x f32>> {
        %t, %s = block.map @N (%xn = %Xm) -> (max, sum rel 0) : !block.list<N, block<M x N x f32>> {
          %a = block.load %xn : !block.block<M x N x f32, global>
          %e = block.row_max %a : !block.block<M x N x f32>
          %r = block.row_sum %a acc f32 : !block.block<M x N x f32>
          block.yield %e, %r : !block.vector<M x f32>, !block.vector<M x f32>
        }
        %u = block.store %t : !block.vector<M x f32>
        %v = block.store %s : !block.vector<M x f32>
        block.yield %u, %v : !block.vector<M x f32, global>, !block.vector<M x f32, global>
      }
      %t = block.assemble %T [M] : !block.list<M, vector<M x f32>> -> tensor<5xf32>
      %s = block.assemble %S [M] : !block.list<M, vector<M x f32>> -> tensor<5xf32>
      func.return %t, %s : tensor<5xf32>, tensor<5xf32>
    }
    """
    module = parse_module(text, "counts")
    verify(module)
    result = interpret(module, [np.random.default_rng(0).standard_normal((5, 7))])
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    total = Traffic()
    for _, traffic in traffic_of_function(function):
        total += traffic
    assert total.evaluate(values_for(result.extents, result.block_sizes)) == vars(result.counts)


# Laws, and the edits of maps that they share, keep what sums are relative to


NEST = """
!Stored = !block.vector<M x f32, global>
func.func @nest(
  %X: !block.list<N, block<M x L x f32>>, %E: !block.list<N, vector<M x f32>>, %c: !block.vector<M x f32>
) -> (!block.block<M x L x f32>, !block.vector<M x f32>, !block.list<N, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<4>, L = #block.dim<3, whole>, N = #block.dim<9, batch>}} {
  %u, %o, %t, %Y = block.map @N (%x = %X, %e = %E) -> (sum, sum rel 2, max, stack)
      : !block.list<N, block<M x L x f32>>, !block.list<N, vector<M x f32>> {
    %a = block.load %x : !block.block<M x L x f32, global>
    %b = block.load %e : !block.vector<M x f32, global>
    %r = block.row_sum %a acc f32 : !block.block<M x L x f32>
    %y = block.store %r : !block.vector<M x f32>
    %s = block.row_scale %a, %c : !block.block<M x L x f32>, !block.vector<M x f32>
    block.yield %r, %s, %b, %y
        : !block.vector<M x f32>, !block.block<M x L x f32>, !block.vector<M x f32>, !Stored
  }
  %q, %p, %Z = block.map @N (%y = %Y, %e = %E) -> (max, sum rel 0, stack)
      : !block.list<N, vector<M x f32>>, !block.list<N, vector<M x f32>> {
    %a = block.load %y : !block.vector<M x f32, global>
    %b = block.load %e : !block.vector<M x f32, global>
    %w = block.linear 2 * %a : !block.vector<M x f32>
    %z = block.store %w : !block.vector<M x f32>
    block.yield %b, %w, %z : !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32, global>
  }
  func.return %o, %p, %Z : !block.block<M x L x f32>, !block.vector<M x f32>, !block.list<N, vector<M x f32>>
}
"""


def module_of(function: FuncOp) -> ModuleOp:
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    return module


def maps_of(function: FuncOp) -> list[block.MapOp]:
    return [op for op in function.walk() if isinstance(op, block.MapOp)]


def _more_results(map_: block.MapOp, rewriter: PatternRewriter) -> None:
    value = map_.yield_op.arguments[0]
    add_results(map_, [(value, block.Kind.Sum)], rewriter)


def _more_inputs(map_: block.MapOp, rewriter: PatternRewriter) -> None:
    add_input(map_, map_.inputs[0], rewriter)


def _merged(map_: block.MapOp, rewriter: PatternRewriter) -> None:
    second = next(use.operation for use in map_.results[3].uses)
    assert isinstance(second, block.MapOp)
    merge_maps(map_, second, Facts().between(map_, second), rewriter)


def _sliced(map_: block.MapOp, rewriter: PatternRewriter) -> None:
    part = extension.slice_of(map_, map_.results[1])
    assert part.result_kinds == (block.Kind.Sum, block.Kind.Max)
    assert part.result_pivots == (1, None)
    rewriter.insert(part)
    rewriter.replace_all_uses_with(map_.results[1], part.results[0])


@pytest.mark.parametrize("edit", [_more_results, _more_inputs, _merged, _sliced])
def test_edits_of_maps_keep_values(edit: Callable[[block.MapOp, PatternRewriter], None]):
    function = program(NEST)
    arguments = random_arguments(function)
    expected, _ = evaluate(function, arguments)
    first = maps_of(function)[0]
    edit(first, PatternRewriter(first))
    verify(function.get_toplevel_object())
    assert difference(evaluate(function, arguments)[0], expected) <= 1e-12
    assert any(pivot is not None for op in maps_of(function) for pivot in op.result_pivots)


@pytest.mark.parametrize("law", all_laws(), ids=lambda law: law.title())
def test_laws_keep_values(law: type[AnyLaw]):
    function = program(NEST)
    arguments = random_arguments(function)
    expected, _ = evaluate(function, arguments)
    for _ in range(20):
        if not apply_once(law(), function):
            break
        verify(function.get_toplevel_object())
        assert difference(evaluate(function, arguments)[0], expected) <= 1e-12


def test_maps_with_relative_sums_are_fused():
    function = program(NEST)
    fused = PassPipeline("block-apply{rules=fuse-consecutive-maps}").run(module_of(function))
    (inner,) = fused.ops
    assert isinstance(inner, FuncOp)
    (only,) = maps_of(inner)
    assert only.result_kinds == tuple(map(block.Kind, ("sum", "max", "max", "sum", "stack")))
    assert only.result_pivots == (1, None, None, 2, None)


def test_nothing_leaves_a_relative_sum():
    """Each iteration has another weight, so that no constant term may be multiplied by the trip count."""
    function = program(NEST)
    for map_ in maps_of(function):
        for site in summed_results(map_):
            assert map_.result_pivots[site.index] is None


def test_what_makes_a_relative_sum_includes_its_exponents():
    function = program(NEST)
    first, second = maps_of(function)
    part = extension.part_for(first, first.results[1])
    assert first.yield_op.arguments[2].owner in part.ops
    assert {value.name_hint for value in part.outside if isinstance(value, SSAValue)} >= {"c"}
    assert second.yield_op.arguments[0].owner in extension.part_for(second, second.results[1]).ops


def test_a_map_over_one_block_is_its_body():
    function = program(NEST.replace("#block.dim<9, batch>", "#block.dim<9, whole>"))
    fused = PassPipeline("block-apply{rules=inline-whole-dim}").run(module_of(function))
    (inner,) = fused.ops
    assert isinstance(inner, FuncOp)
    assert not maps_of(inner)


def test_programs_that_differ_in_a_pivot_have_different_keys():
    intern = Interner()
    relative, plain = (
        program(text)
        for text in (PROGRAM, PROGRAM.replace("(sum rel 1, max, sum rel 1)", "(sum, max, sum rel 1)"))
    )
    assert program_key(relative, intern) == program_key(program(PROGRAM), intern)
    assert program_key(relative, intern) != program_key(plain, intern)


CONSTANT = """
func.func @scaled(%x: tensor<5xf32>, %w: tensor<7xf32> {bb.constant}) -> tensor<5xf32>
    attributes {block.dims = {M = #block.dim<5, block = 2>, N = #block.dim<7, block = 3>}} {
  %X = block.partition %x [M] : tensor<5xf32> -> !block.list<M, vector<M x f32>>
  %W = block.partition %w [N] : tensor<7xf32> -> !block.list<N, vector<N x f32>>
  %Y = block.map @M (%xm = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    %n, %t, %s = block.map @N (%wn = %W) -> (sum, max, sum rel 1) : !block.list<N, vector<N x f32>> {
      %a = block.load %wn : !block.vector<N x f32, global>
      %e = block.row_max %a : !block.vector<N x f32>
      %r = block.row_sum %a acc f32 : !block.vector<N x f32>
      block.yield %r, %e, %r : !block.scalar<f32>, !block.scalar<f32>, !block.scalar<f32>
    }
    %b = block.load %xm : !block.vector<M x f32, global>
    %y = block.elementwise (%p = %b, %q = %s)
        : !block.vector<M x f32>, !block.scalar<f32> -> !block.vector<M x f32> {
      %z = arith.mulf %p, %q : f32
      block.yield %z : f32
    }
    %z = block.store %y : !block.vector<M x f32>
    block.yield %z : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
"""


def test_a_constant_relative_sum_is_made_in_a_prologue():
    function = program(CONSTANT)
    arguments = random_arguments(function)
    expected, _ = evaluate(function, arguments)
    extract_constants(function)
    verify(module_of(function))
    prologue, kernel = (op for op in function.body.block.ops if isinstance(op, block.MapOp))
    assert prologue.result_pivots == (1, None)
    assert maps_of(function) == [prologue, kernel]
    assert difference(evaluate(function, arguments)[0], expected) <= 1e-12


def test_a_plain_sum_is_another_value():
    rng = np.random.default_rng(0)
    values, tops = significands(rng, 9, (4, 3)), exponents(rng, 9, 4)
    wrong, _ = evaluate(program(PROGRAM.replace("sum rel 1", "sum")), [list(values), list(tops)])
    assert not np.allclose(np.asarray(wrong[0]), run(values, tops)[0])
