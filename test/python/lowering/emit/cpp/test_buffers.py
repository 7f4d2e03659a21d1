"""Tiles that are blocks of buffers: what is put away and fetched again is not copied."""

from __future__ import annotations

import numpy as np
import pytest
from bb.runtime.api import compile_program
from bb.runtime.executable.executable import Executable

pytestmark = pytest.mark.long

PROGRAM = """
!A = !kernel.array<37x100xf32>
!L = !kernel.array<?x?xf32>
!T = !kernel.tile<M x N x f32, scratch, lanes = cols>
!C = !kernel.cursor<M x N x f32>

kernel.func @square_twice(%x : !A) outs(%y : !A)
    attributes {block.dims = {M = #block.dim<37, block = 8>, N = #block.dim<100, block = BLOCK>}} {
  kernel.parallel @M {
    %squares = kernel.buffer [M, N] here [M] : !L
    %a = kernel.tile : !T
    %b = kernel.tile : !T
    %c = kernel.tile : !T
    %d = kernel.tile : !T
    kernel.for @N {
      %from = kernel.cursor %x [M, N] : !A -> !C
      kernel.load %a, %from : !T, !C
      BEFORE
      kernel.sweep [M, N] (%v = %a) -> (each %b) : !T, !T {
        %p = arith.mulf %v, %v : f32
        kernel.yield %p : f32
      }
      %to = kernel.cursor %squares [M, N] here [M] : !L -> !C
      kernel.store %to, %b : !C, !T
    }
    kernel.for @N {
      %old = kernel.cursor %squares [M, N] here [M] : !L -> !C
      kernel.load %c, %old : !T, !C
      kernel.sweep [M, N] (%v = %c) -> (each %d) : !T, !T {
        %p = arith.mulf %v, %v : f32
        kernel.yield %p : f32
      }
      %out = kernel.cursor %y [M, N] : !A -> !C
      kernel.store %out, %d : !C, !T
      AFTER
    }
  }
}
func.func @main(%x: tensor<37x100xf32>) -> tensor<37x100xf32> {
  %y = kernel.launch @square_twice(%x) [[M, N]] : (tensor<37x100xf32>) -> (tensor<37x100xf32>)
  func.return %y : tensor<37x100xf32>
}
"""


def compiled(block: int, before: str = "", after: str = "") -> Executable:
    text = PROGRAM.replace("BLOCK", str(block)).replace("BEFORE", before).replace("AFTER", after)
    return compile_program(text, pipeline="")


@pytest.mark.parametrize(("block", "copies"), [(32, 1), (24, 2)], ids=["whole vectors", "amid a vector"])
def test_blocks_of_whole_vectors_are_not_copied(block: int, copies: int) -> None:
    executable = compiled(block)
    assert executable.source.count("bb::load_plane<T>(") == copies
    assert executable.source.count("bb::store_plane<T>(") == copies
    assert ("T* const b = " in executable.source) == (copies == 2)
    x = np.random.default_rng(0).standard_normal((37, 100)).astype(np.float32)
    assert np.array_equal(executable(x), (x * x) * (x * x))


def test_what_is_fetched_before_it_is_overwritten_is_copied() -> None:
    fetched = """%last = kernel.cursor %squares [M, N] here [M] : !L -> !C
      kernel.load %c, %last : !T, !C"""
    source = compiled(32, before=fetched).source
    assert source.count("bb::store_plane<T>(") == 2
    assert source.count("bb::load_plane<T>(") == 3  # for the tile has two writers then


def test_what_is_overwritten_after_it_is_fetched_is_copied() -> None:
    overwritten = """%again = kernel.cursor %squares [M, N] here [M] : !L -> !C
      kernel.store %again, %a : !C, !T"""
    source = compiled(32, after=overwritten).source
    assert source.count("bb::load_plane<T>(") == 2
    assert source.count("bb::store_plane<T>(") == 2


def test_what_is_fetched_and_stored_is_copied_once() -> None:
    """The tile is a block of the buffer, so the store copies from there."""
    text = PROGRAM.replace("BLOCK", "32").replace("BEFORE", "").replace("AFTER", "")
    executable = compile_program(text.replace("kernel.store %out, %d", "kernel.store %out, %c"), pipeline="")
    assert executable.source.count("bb::store_plane<T>(") == 1
    x = np.random.default_rng(0).standard_normal((37, 100)).astype(np.float32)
    assert np.array_equal(executable(x), x * x)


BF16 = """
func.func @projected(%x: tensor<70x96xbf16>, %w: tensor<96x64xbf16>) -> tensor<70x64xbf16> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<70x96xbf16>
  %y = array.matmul %n, %w : tensor<70x96xbf16>, tensor<96x64xbf16> -> tensor<70x64xbf16>
  func.return %y : tensor<70x64xbf16>
}
"""


def test_what_is_rounded_when_it_is_stored_is_not_rounded_before() -> None:
    source = compile_program(BF16).source
    before, after, *_ = source.split("bb::contract_bf16(")
    assert "_pairs" in before  # the operand, which is rounded as its sweep puts it into pairs
    assert "_plane<T>(" in after
    assert "bb::rounded<bb::bf16>(" not in source
