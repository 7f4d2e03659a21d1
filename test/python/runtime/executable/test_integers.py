"""Integers on targets: operations, conversions and reductions give the bits that the interpreter gives."""

import bb
import numpy as np
import pytest
from integer_programs import inputs, integers, program, wrong_cases

pytestmark = pytest.mark.long

SUMS = """
func.func @sums(%x: tensor<5x33xi32>, %w: tensor<33x17xi32>, %y: tensor<5x33xi64>)
    -> (tensor<5xi32>, tensor<33xi64>, tensor<5xi32>, tensor<5x17xi32>, tensor<5x17xi64>, tensor<5xi64>) {
  %rows = array.reduce sum %x axes [1] : tensor<5x33xi32> -> tensor<5xi32>
  %columns = array.reduce sum %y axes [0] : tensor<5x33xi64> -> tensor<33xi64>
  %largest = array.reduce max %x axes [1] : tensor<5x33xi32> -> tensor<5xi32>
  %product = array.matmul %x, %w : tensor<5x33xi32>, tensor<33x17xi32> -> tensor<5x17xi32>
  %wide = array.matmul %x, %w acc i64 : tensor<5x33xi32>, tensor<33x17xi32> -> tensor<5x17xi64>
  %index = array.iota axis 1 : tensor<1x33xi64>
  %shifted = array.elementwise (%a = %y, %i = %index)
      : tensor<5x33xi64>, tensor<1x33xi64> -> tensor<5x33xi64> {
    %one = arith.constant 1 : i64
    %next = arith.addi %i, %one : i64
    %b = arith.muli %a, %next : i64
    array.yield %b : i64
  }
  %weighted = array.reduce sum %shifted axes [1] : tensor<5x33xi64> -> tensor<5xi64>
  func.return %rows, %columns, %largest, %product, %wide, %weighted
    : tensor<5xi32>, tensor<33xi64>, tensor<5xi32>, tensor<5x17xi32>, tensor<5x17xi64>, tensor<5xi64>
}
"""


@pytest.mark.parametrize(("target", "extent"), [("cpu", 19), ("emulator", 17)])
def test_each_operation_gives_the_bits_of_the_interpreter(target: str, extent: int) -> None:
    module = bb.parse(program(extent))
    compiled = bb.compile(module, target=target)
    for seed in range(6):
        arguments = inputs(extent, seed)
        expected = bb.run(module, arguments)
        assert isinstance(expected, tuple)
        assert not wrong_cases(compiled(*arguments), expected)  # pyright: ignore[reportArgumentType]


def _exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A product of matrices of Python's integers."""
    return a.astype(object) @ b.astype(object)


@pytest.mark.parametrize("target", ["interpreter", "cpu", "emulator"])
def test_sums_and_products_wrap_around(target: str) -> None:
    random = np.random.default_rng(4)
    x = integers("i32", 165, random).reshape(5, 33)
    w = integers("i32", 561, random).reshape(33, 17)
    y = integers("i64", 165, random).reshape(5, 33)
    rows, columns, largest, product, wide, weighted = bb.run(SUMS, [x, w, y], target)

    def same(found: object, wanted: np.ndarray, width: int) -> bool:
        return bool(((np.asarray(found).astype(object) - wanted) % (1 << width) == 0).all())

    assert same(rows, x.astype(object).sum(axis=1), 32)
    assert same(columns, y.astype(object).sum(axis=0), 64)
    assert (largest == x.max(axis=1)).all()
    assert same(product, _exact(x, w), 32)
    assert same(wide, _exact(x, w), 64)
    assert same(weighted, (y.astype(object) * np.arange(1, 34)).sum(axis=1), 64)
