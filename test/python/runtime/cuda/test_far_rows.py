"""Arrays whose rows lie further apart than 32 bits count, and arrays that share a matrix with others."""

from __future__ import annotations

import mmap
from typing import Any

import bb
import ml_dtypes
import numpy as np
import pytest

pytestmark = pytest.mark.long

# Elements, sums of rows, and a contraction, which is done by mma on GPUs in bf16.
PROGRAM = """
func.func @twice(%x: tensor<40x32xTYPE>) -> tensor<40x32xTYPE> {
  %twice = array.elementwise (%a = %x) : tensor<40x32xTYPE> -> tensor<40x32xTYPE> {
    %b = arith.addf %a, %a : TYPE
    array.yield %b : TYPE
  }
  func.return %twice : tensor<40x32xTYPE>
}
func.func @sums(%x: tensor<40x32xTYPE>) -> tensor<40xTYPE> {
  %sums = array.reduce sum %x axes [1] : tensor<40x32xTYPE> -> tensor<40xTYPE>
  func.return %sums : tensor<40xTYPE>
}
func.func @product(%x: tensor<40x32xTYPE>, %w: tensor<32x24xTYPE>) -> tensor<40x24xTYPE> {
  %product = array.matmul %x, %w : tensor<40x32xTYPE>, tensor<32x24xTYPE> -> tensor<40x24xTYPE>
  func.return %product : tensor<40x24xTYPE>
}
"""
TYPES = {"cpu": "f32", "emulator": "bf16"}
DTYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16)}
NO_RESERVE = 0x4000
"""MAP_NORESERVE of Linux, which Python's mmap names from version 3.12 on."""
# A stride that 32 bits cut to 64, and one that fits where its product with a row's number does not.
DISTANCES = (2**32 + 64, 2**29 + 64)


def far_rows(values: np.ndarray[Any, Any], distance: int) -> np.ndarray[Any, Any]:
    """Return the array with rows `distance` elements apart, or a vector with such elements.

    Memory between them is never touched, so the machine does not provide it.
    """
    steps = (distance, 1)[: values.ndim]
    size = sum((extent - 1) * step for extent, step in zip(values.shape, steps, strict=True)) + 16
    try:
        memory = mmap.mmap(
            -1, size * values.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
        )
    except OSError as error:
        pytest.skip(f"address space of {size * values.itemsize} bytes cannot be mapped here: {error}")
    flat = np.frombuffer(memory, values.dtype)
    strides = tuple(step * values.itemsize for step in steps)
    array = np.lib.stride_tricks.as_strided(flat, values.shape, strides)
    array[...] = values
    return array


def call(entry: str, dtype: np.dtype[Any]) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Return arguments of a function, and its result, which is exact in bf16."""
    random = np.random.default_rng(0)
    x, w = random.integers(-1, 2, (40, 32)), random.integers(-1, 2, (32, 24))
    wanted = {"twice": 2 * x, "sums": x.sum(axis=1), "product": x @ w}[entry]
    arguments = [x, w] if entry == "product" else [x]
    return [each.astype(dtype) for each in arguments], wanted.astype(dtype)


@pytest.mark.parametrize("entry", ["twice", "sums", "product"])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_rows_that_lie_further_apart_than_32_bits_count(target: str, entry: str):
    type = TYPES[target]
    arguments, wanted = call(entry, DTYPES[type])
    compiled = bb.compile(PROGRAM.replace("TYPE", type), target=target, entry=entry)
    for distance in DISTANCES:
        result = far_rows(np.full_like(wanted, 77), distance)
        compiled(*(far_rows(each, distance) for each in arguments), out=result)
        assert np.array_equal(result, wanted)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_result_beside_an_argument_in_one_matrix(target: str):
    """Elements between those of a result belong to others: they keep their values, and may be arguments."""
    type = TYPES[target]
    (x, w), wanted = call("product", DTYPES[type])
    both = np.full((40, 96), 7, x.dtype)
    both[:, :32] = x
    product = bb.compile(PROGRAM.replace("TYPE", type), target=target, entry="product")
    product(both[:, :32], w, out=both[:, 64:88])
    assert np.array_equal(both[:, :32], x)
    assert (both[:, 32:64] == 7).all()
    assert np.array_equal(both[:, 64:88], wanted)
    assert (both[:, 88:] == 7).all()
