"""Extents that are unknown until a call: the arrays that give them, and messages where arrays disagree."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import bb
import numpy as np
import pytest
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.passes.analysis.ranges import ranges_of
from bb.runtime.calls.extents import Extents, ties_of
from bb.runtime.calls.launch_plan import plan_of
from bb.runtime.errors import InputError
from bb.runtime.executable.ranges import compile_ranges
from bb.runtime.program.functions import select_function
from dynamic_programs import DynamicProgram
from xdsl.ir import SSAValue

pytestmark = pytest.mark.long

SPLIT = 32
"""Number of parts into which kernel-split-loops cuts a loop for a GPU."""

SELF_ATTENTION = """
func.func @f(%x: tensor<?x16xf32>, %wq: tensor<16x16xf32>, %wk: tensor<16x16xf32>) -> tensor<?x16xf32> {
  %q = array.matmul %x, %wq : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %k = array.matmul %x, %wk : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %o = array.attention %q, %k, %x : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  func.return %o : tensor<?x16xf32>
}
"""

MASKED_GRAM = """
func.func @f(%x: tensor<?x16xf32>, %mask: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = array.matmul %x, %x transpose_b : tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x?xf32>
  %t = array.elementwise (%a = %s, %b = %mask) : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32> {
    %c = arith.addf %a, %b : f32
    array.yield %c : f32
  }
  func.return %t : tensor<?x?xf32>
}
"""


def extents_from_arguments(text: str, pipeline: str, shapes: list[tuple[int, ...]]) -> list[list[int]]:
    """The extents of all launches of a program, learnt from its arguments alone."""
    module = PassPipeline(PIPELINES[pipeline]).run(bb.parse(text))
    plan = plan_of(module, select_function(module, "f"))
    given: dict[SSAValue, tuple[int, ...]] = dict(zip(plan.function.body.block.args, shapes, strict=True))
    extents = Extents(ties_of(plan))
    for launch in plan.launches:
        for position, value in enumerate(launch.op.inputs):
            if value in given:
                extents.learn(launch, position, given[value], str(value))
    return [extents.of(launch) for launch in plan.launches]


@pytest.mark.parametrize("pipeline", ["cpu", "cpu-unfused", "cuda"])
@pytest.mark.parametrize("seed", range(10))
def test_arguments_give_all_extents(seed: int, pipeline: str) -> None:
    text = DynamicProgram(random.Random(seed)).text(6)
    shapes = [(5, 16), (7, 16), (16, 16)]
    for extents in extents_from_arguments(text, pipeline, shapes):
        assert set(extents) <= {5, 7, 16, SPLIT}, text


@pytest.mark.parametrize("pipeline", ["cpu", "cpu-unfused", "cuda"])
def test_one_unknown_extent_on_both_sides_of_attention(pipeline: str) -> None:
    for extents in extents_from_arguments(SELF_ATTENTION, pipeline, [(5, 16), (16, 16), (16, 16)]):
        assert set(extents) <= {5, 16, SPLIT}


@pytest.mark.parametrize("name", ["M", "L", "x.0"])
def test_a_range_counts_for_all_dims_of_its_extent(name: str) -> None:
    seen: list[dict[str, tuple[int, int]]] = []

    def keep(module: Any) -> Any:
        seen.append(ranges_of(select_function(module, "f")))

    compile_ranges(bb.parse(SELF_ATTENTION), "f", {name: [(1, 4)]}, keep)
    assert seen == [{"M": (1, 4), "L": (1, 4)}]


def test_tied_dims_have_one_range() -> None:
    with pytest.raises(InputError, match="'M' and 'L' have one extent: give its ranges once"):
        bb.compile(SELF_ATTENTION, dims={"M": (1, 4), "L": (1, 4)})


@cache
def masked_gram() -> Any:
    """The program, compiled once."""
    return bb.compile(MASKED_GRAM)


def test_one_unknown_extent_on_both_sides_of_a_product() -> None:
    executable = masked_gram()
    for rows in (5, 40):
        inputs = bb.random_inputs(MASKED_GRAM, 0, extents={"x.0": rows})
        result = executable(*inputs)
        np.testing.assert_allclose(result, inputs[0] @ inputs[0].T + inputs[1], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(executable.prepare(x=inputs[0])(inputs[1]), result)


@pytest.mark.parametrize("shape", [(5, 6), (6, 5), (6, 6)])
def test_disagreement_names_both_arguments(shape: tuple[int, int]) -> None:
    executable = masked_gram()
    x, mask = np.ones((5, 16), np.float32), np.ones(shape, np.float32)
    with pytest.raises(InputError) as error:
        executable(x, mask)
    axis = 0 if shape[0] == 6 else 1
    assert str(error.value) == (
        f"axis 0 of argument %x of 'f' has extent 5 and axis {axis} of argument %mask of 'f' has extent 6, "
        "expected equal extents"
    )


def test_random_arrays_have_the_extents_that_the_program_ties() -> None:
    shapes = [array.shape for array in bb.random_inputs(MASKED_GRAM, 0, extents={"mask.1": 9})]
    assert shapes == [(9, 16), (9, 9)]
