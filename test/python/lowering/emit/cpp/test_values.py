"""Compiled programs with integers, booleans, NaN and infinities, and with sizes beyond memory."""

from __future__ import annotations

import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.runtime.api import compile_program
from bb.runtime.errors import InputError
from bb.runtime.interpreter.functions import interpret
from cpu_programs import AFTER_BLOCKS, Array, as_tuple
from example_programs import load

SELECTION = """
!M = tensor<5x7xi1>
!X = tensor<5x7xf32>
!I = tensor<5x7xi32>
func.func @f(%m: !M, %x: !X, %i: !I) -> (!X, !M, !I, tensor<5xi32>) {
  %a, %b, %c = array.elementwise (%p = %m, %q = %x, %r = %i) : !M, !X, !I -> !X, !M, !I {
    %z = arith.constant 0.0 : f32
    %s = arith.select %p, %q, %z : f32
    %g = arith.cmpf ogt, %q, %z : f32
    %k = arith.andi %p, %g : i1
    %j = arith.muli %r, %r : i32
    array.yield %s, %k, %j : f32, i1, i32
  }
  %t = array.reduce sum %i axes [1] : !I -> tensor<5xi32>
  func.return %a, %b, %c, %t : !X, !M, !I, tensor<5xi32>
}
"""


def same(text: str, *inputs: Array) -> bool:
    """True if all results equal the interpreter's, bit by bit."""
    got = as_tuple(compile_program(text)(*inputs))
    wanted = interpret(parse_module(text), inputs).results
    return all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes()
        for one, other in zip(got, wanted, strict=True)
    )


def test_booleans_and_integers() -> None:
    rng = np.random.default_rng(0)
    masks = rng.random((5, 7)) < 0.5
    numbers = rng.standard_normal((5, 7), np.float32)
    assert same(SELECTION, masks, numbers, rng.integers(-1000, 1000, (5, 7), np.int32))


def test_integers_wrap() -> None:
    text = """
    !I = tensor<6xi32>
    func.func @f(%i: !I, %j: !I) -> (!I, !I, !I) {
      %a, %b, %c = array.elementwise (%p = %i, %q = %j) : !I, !I -> !I, !I, !I {
        %x = arith.muli %p, %q : i32
        %y = arith.addi %p, %q : i32
        %z = arith.subi %x, %y : i32
        array.yield %x, %y, %z : i32, i32, i32
      }
      func.return %a, %b, %c : !I, !I, !I
    }
    """
    left = np.array([70_000, -(2**31), 2**31 - 1, 3, -46_341, 2**31 - 1], np.int32)
    right = np.array([70_000, -(2**31), 2**31 - 1, -5, -46_341, 1], np.int32)
    assert same(text, left, right)


def test_nan_stays_in_its_row() -> None:
    """A query that is NaN or infinite spoils its own row, as in float64, in every block of keys."""
    text, module = load("attention")
    blocks = f"array-decompose,array-to-block,block-shapes{{M=64 N=32}},{AFTER_BLOCKS}"
    executable = compile_program(text, pipeline=blocks)
    inputs = [array.astype(np.float32) for array in module.inputs(np.random.default_rng(0))]
    ordinary = executable(*inputs)
    assert isinstance(ordinary, np.ndarray)
    for value in (np.nan, np.inf, -np.inf):
        queries = inputs[0].copy()
        queries[3, 5] = value
        got = executable(queries, *inputs[1:])
        assert isinstance(got, np.ndarray)
        with np.errstate(invalid="ignore"):
            (wanted,) = interpret(parse_module(text), [queries, *inputs[1:]], float64=True).results
        assert np.array_equal(np.isnan(got), np.isnan(wanted))
        assert np.delete(got, 3, 0).tobytes() == np.delete(ordinary, 3, 0).tobytes()


def test_results_beyond_memory() -> None:
    text = """
    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
      %a = array.reshape %x : tensor<?xf32> -> tensor<?x1xf32>
      %b = array.reshape %y : tensor<?xf32> -> tensor<1x?xf32>
      %o = array.matmul %a, %b : tensor<?x1xf32>, tensor<1x?xf32> -> tensor<?x?xf32>
      func.return %o : tensor<?x?xf32>
    }
    """
    outer = compile_program(text)
    x = np.arange(300, dtype=np.float32)
    assert np.array_equal(outer(x, x[:70]), np.outer(x, x[:70]))
    wide = np.broadcast_to(np.float32(1), 10**10)
    with pytest.raises(InputError, match="is too large: its offsets do not fit into 64 bits"):
        outer(wide, wide)
    with pytest.raises(InputError, match=r"needs .* but only .* of memory are available"):
        outer(wide, np.broadcast_to(np.float32(1), 10**6))


def test_programs_of_kernels() -> None:
    """A program that was lowered already compiles as it is."""
    text, module = load("attention")
    first = compile_program(text)
    second = compile_program(str(first.module))
    inputs = [array.astype(np.float32) for array in module.inputs(np.random.default_rng(0))]
    one, other = first(*inputs), second(*inputs)
    assert isinstance(one, np.ndarray)
    assert isinstance(other, np.ndarray)
    assert one.tobytes() == other.tobytes()
