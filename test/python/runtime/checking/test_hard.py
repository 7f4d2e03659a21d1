"""Hard inputs: what they hold, and the comparison of results with the program as it is written."""

import bb
import ml_dtypes
import numpy as np
import pytest
from bb.runtime.checking.hard import Verdict, compare_rows

PROGRAM = """
func.func @f(%x: tensor<7x9x{type}>, %scale: tensor<9x{type}>, %w: tensor<9x5x{type}>)
    -> tensor<7x5x{type}> {{
  %n = array.rms_norm %x scale(%scale : tensor<9x{type}>) eps 1.000000e-06 : tensor<7x9x{type}>
  %y = array.matmul %n, %w : tensor<7x9x{type}>, tensor<9x5x{type}> -> tensor<7x5x{type}>
  func.return %y : tensor<7x5x{type}>
}}
"""

MASKED = """
func.func @f(%q: tensor<6x4xf32>, %k: tensor<11x4xf32>, %v: tensor<11x4xf32>, %m: tensor<6x11xi1>)
    -> tensor<6x4xf32> {
  %o = array.attention %q, %k, %v mask(%m : tensor<6x11xi1>)
    : tensor<6x4xf32>, tensor<11x4xf32>, tensor<11x4xf32> -> tensor<6x4xf32>
  func.return %o : tensor<6x4xf32>
}
"""


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
def test_cases_of_floats(type: str):
    cases = bb.hard_inputs(PROGRAM.format(type=type), 3)
    ordinary = bb.random_inputs(PROGRAM.format(type=type), 3)
    for array, wanted in zip(cases["ordinary"], ordinary, strict=True):
        np.testing.assert_array_equal(array, wanted)
    dtype = ordinary[0].dtype
    largest = float(ml_dtypes.finfo(dtype).max)
    for arrays in cases.values():
        assert [(array.dtype, array.shape) for array in arrays] == [(a.dtype, a.shape) for a in ordinary]
        np.testing.assert_array_equal(arrays[2], ordinary[2])  # weights stay as they are
    wide = {name: [array.astype(np.float64) for array in arrays] for name, arrays in cases.items()}
    assert (np.abs(wide["outliers"][0]).max(axis=1) == dtype.type(3000.0)).all()
    assert np.abs(wide["outliers"][1]).max() == 30.0
    assert 0.5 * largest < np.abs(wide["the largest"][0]).max() <= largest
    assert np.isfinite(wide["the largest"][0]).all()
    assert np.isnan(wide["NaN and infinities"][0]).sum() + np.isinf(wide["NaN and infinities"][0]).sum() == 2
    zeros = wide["zeros and denormals"][0]
    assert (zeros[0] == 0).all()
    assert np.signbit(zeros[1]).any()
    assert (zeros[2] != 0).any()
    assert (np.ptp(wide["equal"][0], axis=1) == 0).all()
    assert "garbage that masks hide" not in cases
    assert "extreme integers" not in cases


def test_garbage_lies_where_masks_hide_it():
    _, k, v, mask = bb.hard_inputs(MASKED, 1)["garbage that masks hide"]
    hidden = ~mask.any(axis=0)
    assert hidden.any()
    assert not mask[0].any()
    assert mask[1:, ~hidden].any()
    for array in (k, v):
        assert (~np.isfinite(array[hidden]) | (np.abs(array[hidden]) > 1e38)).all()
        assert np.isfinite(array[~hidden]).all()


def test_extreme_integers():
    text = "func.func @f(%i: tensor<50xi32>) -> tensor<50xi32> {\n  func.return %i : tensor<50xi32>\n}"
    (array,) = bb.hard_inputs(text)["extreme integers"]
    assert {-(2**31), 2**31 - 1, 0, -1} <= set(array.tolist())


ROW = np.array([[1.0, 2.0, 4.0], [1e-3, 2e-3, 4e-3]])


def verdict(result: np.ndarray, written: np.ndarray | None = None, reference: np.ndarray = ROW) -> Verdict:
    with np.errstate(over="ignore"):
        single = result.astype(np.float32)
        own = (reference if written is None else written).astype(np.float32)
    return compare_rows(single, reference, own, 1e-5).verdict


def test_errors_are_those_of_rows():
    off = ROW.copy()
    off[1, 0] += 4e-6  # little beside the first row, much in its own
    assert verdict(ROW) is Verdict.OK
    assert verdict(off) is Verdict.OUTSIDE
    assert verdict(off, ROW + np.array([[0.0], [3e-6]])) is Verdict.AS_WRITTEN
    assert verdict(off, ROW + np.array([[0.0], [1e-6]])) is Verdict.OUTSIDE


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_special_numbers(number: float):
    special = ROW.copy()
    special[0, 1] = number
    assert verdict(special, reference=special) is Verdict.OK
    assert verdict(special) is Verdict.OUTSIDE  # made by a pass
    assert verdict(ROW, reference=special, written=special) is Verdict.OUTSIDE  # lost by a pass
    assert verdict(special, written=special) is Verdict.AS_WRITTEN
    assert verdict(ROW, reference=special, written=ROW) is Verdict.AS_WRITTEN
    assert verdict(ROW, written=special) is Verdict.OK  # better than written


def test_a_reference_that_its_type_cannot_hold():
    reference = np.array([[1e39, 1.0]])
    assert verdict(np.array([[np.inf, 1.0]]), reference=reference) is Verdict.OK
    assert verdict(np.array([[3e38, 1.0]]), reference=reference) is Verdict.OUTSIDE


def test_denormal_rows_are_compared_with_the_smallest_normal_number():
    reference = np.array([[1e-42, 2e-42]])
    assert verdict(reference + 1e-44, reference=reference) is Verdict.OK
    assert verdict(np.zeros((1, 2)) + 1e-36, reference=reference) is Verdict.OUTSIDE


def test_integers_are_equal_to_the_reference_or_as_written():
    wanted, wrapped = np.array([5, 6]), np.array([5, -6])
    assert compare_rows(wanted, wanted, wrapped, 1e-5).verdict is Verdict.OK
    assert compare_rows(wrapped, wanted, wrapped, 1e-5).verdict is Verdict.AS_WRITTEN
    assert compare_rows(np.array([5, 7]), wanted, wrapped, 1e-5).verdict is Verdict.OUTSIDE
