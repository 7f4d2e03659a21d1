"""The items that a rounding leaves as they are, and the operators that may leave a rounding."""

from __future__ import annotations

from itertools import product

import pytest
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.passes.analysis.roundings import (
    has_range_of,
    holds,
    is_exact_in,
    scale_may_leave,
    shift_may_leave,
)
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import SSAValue

PROGRAM = """
func.func @f(%x: tensor<8x8xf16>, %y: tensor<8x8xf32>, %n: tensor<8x8xi32>, %b: tensor<8x8xi1>)
  -> tensor<8x8xf32> attributes {
  block.dims = {M = #block.dim<8, block = 4>, N = #block.dim<8, block = 4>}
} {
  %X = block.partition %x [M, N] : tensor<8x8xf16> -> !block.list<M, N, block<M x N x f16>>
  %Y = block.partition %y [M, N] : tensor<8x8xf32> -> !block.list<M, N, block<M x N x f32>>
  %B = block.partition %b [M, N] : tensor<8x8xi1> -> !block.list<M, N, block<M x N x i1>>
  %W = block.map @M (%X_m = %X) -> (stack) : !block.list<M, N, block<M x N x f16>> {
    %W_m = block.map @N (%X_mn = %X_m) -> (stack) : !block.list<N, block<M x N x f16>> {
      %0 = block.load %X_mn : !block.block<M x N x f16, global>
      %1 = block.elementwise (%e = %0) : !block.block<M x N x f16> -> !block.block<M x N x f32> {
        %w = arith.extf %e : f16 to f32
        block.yield %w : f32
      }
      %2 = block.store %1 : !block.block<M x N x f32>
      block.yield %2 : !block.block<M x N x f32, global>
    }
    block.yield %W_m : !block.list<N, block<M x N x f32>>
  }
  %R = block.map @M (%W_m2 = %W, %Y_m = %Y, %B_m = %B) -> (stack)
    : !block.list<M, N, block<M x N x f32>>, !block.list<M, N, block<M x N x f32>>,
      !block.list<M, N, block<M x N x i1>> {
    %R_m = block.map @N (%W_mn = %W_m2, %Y_mn = %Y_m, %B_mn = %B_m) -> (stack)
      : !block.list<N, block<M x N x f32>>, !block.list<N, block<M x N x f32>>,
        !block.list<N, block<M x N x i1>> {
      %x_w = block.load %W_mn : !block.block<M x N x f32, global>
      %y_w = block.load %Y_mn : !block.block<M x N x f32, global>
      %mask = block.load %B_mn : !block.block<M x N x i1, global>
      %item = ITEM
      %3 = block.store %item : !block.block<M x N x f32>
      block.yield %3 : !block.block<M x N x f32, global>
    }
    block.yield %R_m : !block.list<N, block<M x N x f32>>
  }
  %r = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}
"""

BLOCK = "!block.block<M x N x f32>"


def unary(scalar: str) -> str:
    """An element-wise operator on the widened block."""
    body = f"{{ %v = {scalar} %e : f32 block.yield %v : f32 }}"
    return f"block.elementwise (%e = %x_w) : {BLOCK} -> {BLOCK} {body}"


def masked(number: str) -> str:
    """The widened block with one number where a mask holds."""
    return (
        f"block.elementwise (%c = %mask, %e = %x_w) : !block.block<M x N x i1>, {BLOCK} -> {BLOCK} {{"
        f"%k = arith.constant {number} : f32 %v = arith.select %c, %e, %k : f32 block.yield %v : f32 }}"
    )


ITEMS = {
    "itself": (f"block.linear 1 * %x_w : {BLOCK}", True),
    "negative": (f"block.linear -1 * %x_w : {BLOCK}", True),
    "doubled": (f"block.linear 2 * %x_w : {BLOCK}", False),
    "halved": (f"block.linear 1/2 * %x_w : {BLOCK}", False),
    "squared": (f"block.mul %x_w, %x_w : {BLOCK}", False),
    "another array": (f"block.linear 1 * %y_w : {BLOCK}", False),
    "absolute": (unary("math.absf"), True),
    "exponential": (unary("math.exp"), False),
    "masked by -inf": (masked("0xFF800000"), True),
    "masked by a number of f16": (masked("0.25"), True),
    "masked by a number beyond f16": (masked("70000.0"), False),
    "masked by a number between those of f16": (masked("0.1"), False),
}


def item(text: str) -> SSAValue:
    module = parse_module(PROGRAM.replace("ITEM", text))
    return next(
        op.source for op in module.walk() if isinstance(op, block.StoreOp) and op.source.name_hint == "item"
    )


@pytest.mark.parametrize("case", ITEMS)
def test_items_that_are_numbers_of_f16(case: str):
    text, exact = ITEMS[case]
    value = item(text)
    assert is_exact_in(value, f16) is exact
    assert shift_may_leave(value, f16) is exact
    assert scale_may_leave(value, f16) is exact
    assert is_exact_in(value, f32)
    assert is_exact_in(value, f64)


def test_a_scale_may_leave_a_rounding_to_bf16_but_a_shift_may_not():
    value = item(ITEMS["squared"][0])
    assert scale_may_leave(value, bf16)
    assert not shift_may_leave(value, bf16)


LARGEST_EXPONENT = {f16: 15, bf16: 127, f32: 127, f64: 1023}
DIGITS = {f16: 11, bf16: 8, f32: 24, f64: 53}


def test_types_hold_what_their_formats_say():
    for outer, inner in product(DIGITS, DIGITS):
        in_range = LARGEST_EXPONENT[outer] >= LARGEST_EXPONENT[inner]
        assert has_range_of(outer, inner) is in_range
        assert holds(outer, inner) is (in_range and DIGITS[outer] >= DIGITS[inner])
