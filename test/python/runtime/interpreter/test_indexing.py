"""Lookups by index, prefix sums and padding: against numpy, on every target, and in the exact check."""

import bb
import ml_dtypes
import numpy as np
import pytest
from array_evaluation import DTYPES
from bb.runtime.interpreter.arrays import InterpreterError
from single_operations import normal, run

PROGRAM = """
func.func @f(%table: tensor<30x8xf32>, %ids: tensor<?x5xi64>, %x: tensor<4x6xf16>, %i: tensor<4x3xi32>)
    -> (tensor<?x5x8xf32>, tensor<4x3xf16>, tensor<4x6xf16>, tensor<7x6xf16>) {
  %rows = array.gather %table, %ids axis 0 : tensor<30x8xf32>, tensor<?x5xi64> -> tensor<?x5x8xf32>
  %normed = array.softmax %rows axis 2 : tensor<?x5x8xf32>
  %picked = array.gather_elements %x, %i axis 1 : tensor<4x6xf16>, tensor<4x3xi32> -> tensor<4x3xf16>
  %sums = array.cumsum %x axis 1 : tensor<4x6xf16> -> tensor<4x6xf16>
  %padded = array.pad %x low [1, 0] high [2, 0] value 2.0 : f16 : tensor<4x6xf16> -> tensor<7x6xf16>
  func.return %normed, %picked, %sums, %padded
    : tensor<?x5x8xf32>, tensor<4x3xf16>, tensor<4x6xf16>, tensor<7x6xf16>
}
"""


@pytest.mark.parametrize("element", [*DTYPES, "i32", "i64", "i1"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lookups(element, axis):
    dtype = {**DTYPES, "i32": np.int32, "i64": np.int64, "i1": np.bool_}[element]
    table = (10 * normal(5, 6, 7)).astype(dtype)
    rng = np.random.default_rng(axis)
    extent = table.shape[axis]
    indices = rng.integers(-extent, extent, (2, 3)).astype(np.int32)
    shape = [*table.shape[:axis], 2, 3, *table.shape[axis + 1 :]]
    line = (
        f"array.gather %t, %i axis {axis} : tensor<5x6x7x{element}>, tensor<2x3xi32> "
        f"-> tensor<{'x'.join(map(str, shape))}x{element}>"
    )
    got = run(line, table, indices, t=f"5x6x7x{element}", i="2x3xi32")
    np.testing.assert_array_equal(got, np.take(table, indices, axis))
    each = rng.integers(-extent, extent, table.shape)
    line = (
        f"array.gather_elements %t, %i axis {axis} : tensor<5x6x7x{element}>, tensor<5x6x7xi64> "
        f"-> tensor<5x6x7x{element}>"
    )
    got = run(line, table, each, t=f"5x6x7x{element}", i="5x6x7xi64")
    np.testing.assert_array_equal(got, np.take_along_axis(table, each, axis))


@pytest.mark.parametrize("index", [30, -31, 2**40])
def test_an_index_outside_of_the_table(index):
    table, x, i = normal(30, 8), normal(4, 6), np.zeros((4, 3), np.int32)
    ids = np.array([[0, 1, 2, 3, index]])
    message = rf"'array.gather' has the index {index}, expected -30 to 29 for an axis of extent 30"
    for target in ("interpreter", "cpu"):
        with pytest.raises((InterpreterError, bb.InputError), match=message):
            bb.run(PROGRAM, [table, ids, x, i], target=target)


@pytest.mark.parametrize("element", DTYPES)
def test_cumsum_is_kept_in_the_accumulator(element):
    x = normal(3, 500).astype(DTYPES[element])
    got = run(
        f"array.cumsum %x axis 1 : tensor<3x500x{element}> -> tensor<3x500x{element}>",
        x,
        x=f"3x500x{element}",
    )
    wide = np.float64 if element == "f64" else np.float32
    np.testing.assert_array_equal(got, np.cumsum(x.astype(wide), axis=1, dtype=wide).astype(x.dtype))


def test_cumsum_of_integers_wraps():
    x = np.full((1, 4), 2**31 - 1, np.int32)
    got = run("array.cumsum %x axis 1 : tensor<1x4xi32> -> tensor<1x4xi32>", x, x="1x4xi32")
    np.testing.assert_array_equal(got, [[2**31 - 1, -2, 2**31 - 3, -4]])


def test_targets_agree():
    arrays = bb.random_inputs(PROGRAM, 2, extents={"ids.0": 3})
    assert arrays[1].min() >= 0
    assert arrays[1].max() < 30
    table, ids, x, i = arrays
    rows = table[ids].astype(np.float64)
    exponentials = np.exp(rows - rows.max(axis=-1, keepdims=True))
    wanted = [
        exponentials / exponentials.sum(axis=-1, keepdims=True),
        np.take_along_axis(x, i, 1),
        np.cumsum(x.astype(np.float32), axis=1).astype(np.float16),
        np.pad(x, [(1, 2), (0, 0)], constant_values=2.0),
    ]
    for target in ("interpreter", "cpu"):
        for got, right in zip(bb.run(PROGRAM, arrays, target=target), wanted, strict=True):
            np.testing.assert_allclose(got.astype(np.float64), right.astype(np.float64), rtol=1e-6)


def test_exact_check():
    text = PROGRAM.replace("?", "3")
    module = bb.parse(text)
    assert bb.equivalent(module, module.clone()).equal
    for old, new in (("cumsum %x axis 1", "cumsum %x axis 0"), ("value 2.0", "value 3.0")):
        assert not bb.equivalent(module, bb.parse(text.replace(old, new))).equal


def test_builder():
    f = bb.ArrayFunction("f", {"t": "tensor<9x4xf32>", "i": "tensor<3xi32>", "j": "tensor<3x2xi64>"})
    t, i, j = f.arguments
    f.returns(t.gather(i).gather_elements(j, -1).cumsum(0).pad([1, 0], [0, 2], -1.0))
    module = bb.build(f)
    arrays = bb.random_inputs(module)
    rows = np.cumsum(np.take_along_axis(arrays[0][arrays[1]], arrays[2], 1), axis=0)
    wanted = np.pad(rows, [(1, 0), (0, 2)], constant_values=-1.0)
    np.testing.assert_allclose(bb.run(module, arrays), wanted, rtol=1e-6)


def test_bfloat16_moves_as_it_is():
    table = np.array([[1.0, 2.0], [3.0, 4.0]], ml_dtypes.bfloat16)
    line = "array.gather %t, %i axis 0 : tensor<2x2xbf16>, tensor<1xi32> -> tensor<1x2xbf16>"
    got = run(line, table, np.array([1], np.int32), t="2x2xbf16", i="1xi32")
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got, table[1:])
