"""Programs of many layers: no pass calls itself along the flow of data."""

from __future__ import annotations

import inspect
import sys

import bb
import pytest
from bb.lowering.pipelines import PIPELINES, PassPipeline

pytestmark = pytest.mark.long

DEPTH = 150
"""Calls that a pass may nest: enough for the nests of one program, fewer than there are layers."""

LAYERS = 50
TYPE = "tensor<8x8xf32>"


def constant_chain() -> str:
    """Each layer adds a declared constant."""
    lines = [
        f"%y{layer + 1} = array.elementwise (%a = %y{layer}, %b = %w) : {TYPE}, {TYPE} -> {TYPE} {{\n"
        "  %m = arith.addf %a, %b : f32\n  %t = math.tanh %m : f32\n  array.yield %t : f32\n}"
        for layer in range(LAYERS)
    ]
    return _function(lines, f"%y0: {TYPE}, %w: {TYPE} {{bb.constant}}", f"y{LAYERS}")


def index_chain() -> str:
    """A mask that is computed from indices in many steps."""
    steps = "\n".join(f"  %i{step + 1} = arith.addi %i{step}, %j : i32" for step in range(2 * LAYERS))
    lines = [
        "%rows = array.iota axis 0 : tensor<8x8xi32>",
        "%columns = array.iota axis 1 : tensor<8x8xi32>",
        f"%z = array.elementwise (%a = %y0, %i0 = %rows, %j = %columns) : {TYPE}, tensor<8x8xi32>, "
        f"tensor<8x8xi32> -> {TYPE} {{\n{steps}\n  %zero = arith.constant 0.0 : f32\n"
        f"  %k = arith.cmpi slt, %i{2 * LAYERS}, %j : i32\n  %r = arith.select %k, %a, %zero : f32\n"
        "  array.yield %r : f32\n}",
    ]
    return _function(lines, f"%y0: {TYPE}", "z")


def view_chain() -> str:
    """Transposes and reshapes."""
    lines = [
        f"%t{layer} = array.transpose %y{layer} perm [1, 0] : {TYPE} -> {TYPE}\n"
        f"%r{layer} = array.reshape %t{layer} : {TYPE} -> tensor<64xf32>\n"
        f"%y{layer + 1} = array.reshape %r{layer} : tensor<64xf32> -> {TYPE}"
        for layer in range(LAYERS)
    ]
    return _function(lines, f"%y0: {TYPE}", f"y{LAYERS}")


def _function(lines: list[str], arguments: str, result: str) -> str:
    body = "\n".join(lines)
    return f"func.func @f({arguments}) -> {TYPE} {{\n{body}\nfunc.return %{result} : {TYPE}\n}}"


@pytest.mark.parametrize("pipeline", ["cpu", "cuda"])
@pytest.mark.parametrize("program", [constant_chain, index_chain, view_chain])
def test_passes_do_not_recurse_along_data_flow(program: object, pipeline: str) -> None:
    assert callable(program)
    module = bb.parse(program())
    passes = PassPipeline(PIPELINES[pipeline])
    PassPipeline(PIPELINES[pipeline]).run(bb.parse(_function([], f"%x: {TYPE}", "x")))  # imports are deep
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + DEPTH)
    try:
        passes.run(module)
    finally:
        sys.setrecursionlimit(limit)
