"""Loops whose iterations are shared out, where a kernel has few tasks; results do not depend on threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.runtime.api import compile_all
from bb.runtime.checking.tolerances import BOUNDS, compare
from bb.runtime.executable.executable import Executable
from bb.runtime.interpreter.functions import interpret
from cpu_programs import AFTER_BLOCKS, Array, as_blocks, as_tuple, example_programs, faults, shared_out_always
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long

DTYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "bf16": np.dtype(ml_dtypes.bfloat16)}
INFINITE = {"f32": "0xff800000", "f64": "0xfff0000000000000", "bf16": "0xff80"}
"""Minus infinity."""

PROGRAMS = """
func.func @decode_{d}(%q: tensor<1x1x64x{d}>, %k: tensor<1x?x64x{d}>, %v: tensor<1x?x48x{d}>,
                      %mask: tensor<1x1x?x{d}>) -> tensor<1x1x48x{d}> {{
  %0 = array.attention %q, %k, %v bias(%mask : tensor<1x1x?x{d}>)
    : tensor<1x1x64x{d}>, tensor<1x?x64x{d}>, tensor<1x?x48x{d}> -> tensor<1x1x48x{d}>
  func.return %0 : tensor<1x1x48x{d}>
}}
func.func @heads_{d}(%q: tensor<3x1x64x{d}>, %k: tensor<3x12000x64x{d}>, %v: tensor<3x12000x48x{d}>)
    -> tensor<3x1x48x{d}> {{
  %0 = array.attention %q, %k, %v
    : tensor<3x1x64x{d}>, tensor<3x12000x64x{d}>, tensor<3x12000x48x{d}> -> tensor<3x1x48x{d}>
  func.return %0 : tensor<3x1x48x{d}>
}}
func.func @grouped_{d}(%q: tensor<6x5x64x{d}>, %k: tensor<2x9000x64x{d}>, %v: tensor<2x9000x48x{d}>)
    -> tensor<6x5x48x{d}> {{
  %0 = array.attention %q, %k, %v
    : tensor<6x5x64x{d}>, tensor<2x9000x64x{d}>, tensor<2x9000x48x{d}> -> tensor<6x5x48x{d}>
  func.return %0 : tensor<6x5x48x{d}>
}}
func.func @causal_{d}(%q: tensor<40x64x{d}>, %k: tensor<9000x64x{d}>, %v: tensor<9000x48x{d}>)
    -> tensor<40x48x{d}> {{
  %s = array.matmul %q, %k transpose_b : tensor<40x64x{d}>, tensor<9000x64x{d}> -> tensor<40x9000x{d}>
  %i = array.iota axis 0 : tensor<40x1xi32>
  %j = array.iota axis 1 : tensor<1x9000xi32>
  %masked = array.elementwise (%a = %s, %m = %i, %n = %j)
      : tensor<40x9000x{d}>, tensor<40x1xi32>, tensor<1x9000xi32> -> tensor<40x9000x{d}> {{
    %c = arith.constant 4000 : i32
    %last = arith.addi %m, %c : i32
    %seen = arith.cmpi sle, %n, %last : i32
    %hidden = arith.constant {infinite} : {d}
    %chosen = arith.select %seen, %a, %hidden : {d}
    array.yield %chosen : {d}
  }}
  %p = array.softmax %masked axis 1 : tensor<40x9000x{d}>
  %0 = array.matmul %p, %v : tensor<40x9000x{d}>, tensor<9000x48x{d}> -> tensor<40x48x{d}>
  func.return %0 : tensor<40x48x{d}>
}}
func.func @row_sum_{d}(%x: tensor<1x600001x{d}>) -> tensor<1x{d}> {{
  %0 = array.reduce sum %x axes [1] : tensor<1x600001x{d}> -> tensor<1x{d}>
  func.return %0 : tensor<1x{d}>
}}
func.func @extremes_{d}(%x: tensor<2x600001x{d}>) -> (tensor<2x{d}>, tensor<2x{d}>) {{
  %0 = array.reduce max %x axes [1] : tensor<2x600001x{d}> -> tensor<2x{d}>
  %1 = array.reduce min %x axes [1] : tensor<2x600001x{d}> -> tensor<2x{d}>
  func.return %0, %1 : tensor<2x{d}>, tensor<2x{d}>
}}
func.func @total_{d}(%x: tensor<1100x?x{d}>) -> tensor<{d}> {{
  %0 = array.reduce sum %x axes [0, 1] : tensor<1100x?x{d}> -> tensor<{d}>
  func.return %0 : tensor<{d}>
}}
func.func @softmax_{d}(%x: tensor<1x600001x{d}>) -> tensor<1x600001x{d}> {{
  %0 = array.softmax %x axis 1 : tensor<1x600001x{d}>
  func.return %0 : tensor<1x600001x{d}>
}}
func.func @rms_norm_{d}(%x: tensor<1x?x{d}>, %g: tensor<?x{d}>) -> tensor<1x?x{d}> {{
  %0 = array.rms_norm %x scale(%g : tensor<?x{d}>) eps 1.000000e-06 : tensor<1x?x{d}>
  func.return %0 : tensor<1x?x{d}>
}}
func.func @long_sum_{d}(%x: tensor<24x9000x{d}>, %w: tensor<9000x40x{d}>) -> tensor<24x40x{d}> {{
  %0 = array.matmul %x, %w : tensor<24x9000x{d}>, tensor<9000x40x{d}> -> tensor<24x40x{d}>
  func.return %0 : tensor<24x40x{d}>
}}
"""


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def inputs_of(name: str) -> list[Array]:
    """Inputs in float64; `decode` without a mask."""
    match name:
        case "decode":
            return [normal(1, 1, 64), normal(1, 9001, 64), normal(1, 9001, 48), np.zeros((1, 1, 9001))]
        case "heads":
            return [normal(3, 1, 64), normal(3, 12000, 64), normal(3, 12000, 48)]
        case "grouped":
            return [normal(6, 5, 64), normal(2, 9000, 64), normal(2, 9000, 48)]
        case "causal":
            return [normal(40, 64), normal(9000, 64), normal(9000, 48)]
        case "extremes":
            return [normal(2, 600001)]
        case "total":
            return [normal(1100, 700)]
        case "rms_norm":
            return [normal(1, 600001), normal(600001)]
        case "long_sum":
            return [normal(24, 9000), normal(9000, 40)]
        case _:
            return [normal(1, 600001)]


NAMES = (
    "decode",
    "heads",
    "grouped",
    "causal",
    "row_sum",
    "extremes",
    "total",
    "softmax",
    "rms_norm",
    "long_sum",
)


@dataclass(frozen=True)
class Compiled:
    module: ModuleOp
    executables: dict[str, Executable]


@pytest.fixture(scope="module")
def programs() -> Compiled:
    module = parse_module("".join(PROGRAMS.format(d=dtype, infinite=INFINITE[dtype]) for dtype in DTYPES))
    return Compiled(module, compile_all(module))


def run_as(
    dtype: str, executable: Executable, inputs: Sequence[Array]
) -> tuple[list[Array], tuple[Array, ...]]:
    """Inputs in the type of the program, and the results, which one thread and three must agree about."""
    arrays = [array.astype(DTYPES[dtype]) for array in inputs]
    results, alone = as_tuple(executable(*arrays, threads=3)), as_tuple(executable(*arrays, threads=1))
    for result, serial in zip(results, alone, strict=True):
        assert result.tobytes() == serial.tobytes(), "the number of threads makes a difference"
    return arrays, results


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_results(programs: Compiled, name: str, dtype: str) -> None:
    entry = f"{name}_{dtype}"
    arrays, results = run_as(dtype, programs.executables[entry], inputs_of(name))
    wanted = interpret(programs.module, arrays, entry=entry, float64=True).results
    for result, reference in zip(results, wanted, strict=True):
        comparison = compare(result, reference, BOUNDS[dtype])
        # The sum of many numbers around zero is small beside them.
        cancelled = name in ("row_sum", "total") and abs(float(result.astype(np.float64).sum())) < 5000
        assert comparison.within or (
            cancelled and np.max(np.abs(result.astype(np.float64) - reference)) < 1000 * BOUNDS[dtype]
        )


def test_these_are_shared_out(programs: Compiled) -> None:
    """The programs share out iterations at these extents."""
    source = next(iter(programs.executables.values())).source
    assert source.count("bb::in_pieces<T>(") == len(NAMES) * len(DTYPES)


def masks() -> Iterator[tuple[str, Array]]:
    """Masks over 9001 keys, of which every one of 16 parts has 563 or fewer."""
    columns = np.zeros((1, 1, 9001))
    columns[..., 563:1126:2] = -np.inf
    yield "every other key of one part", columns
    part = np.zeros((1, 1, 9001))
    part[..., :1300] = -np.inf
    yield "the first parts", part
    last = np.zeros((1, 1, 9001))
    last[..., 7000:] = -np.inf
    yield "the last parts", last
    single = np.full((1, 1, 9001), -np.inf)
    single[..., 4000] = 0
    yield "all keys but one", single
    yield "no key at all", np.full((1, 1, 9001), -np.inf)
    yield "large logits", 1e4 * normal(1, 1, 9001, seed=1)
    slope = np.linspace(-1e5, 1e5, 9001).reshape(1, 1, 9001)
    yield "ever larger logits", slope
    yield "ever smaller logits", -slope


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "mask"), list(masks()), ids=[name for name, _ in masks()])
def test_masked_parts(programs: Compiled, name: str, mask: Array, dtype: str) -> None:
    inputs = [*inputs_of("decode")[:3], mask]
    arrays, (result,) = run_as(dtype, programs.executables[f"decode_{dtype}"], inputs)
    q, k, v, bias = (array.astype(np.float64) for array in arrays)
    scores = q @ k.swapaxes(1, 2) / 8 + bias
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(axis=-1, keepdims=True)
    wanted = weights @ v / np.where(total == 0, 1, total)
    assert compare(result, wanted, 8 * BOUNDS[dtype]).within, name


def test_special_values(programs: Compiled) -> None:
    """A NaN or an infinity in one part reaches the whole result."""
    row_sum, extremes = programs.executables["row_sum_f32"], programs.executables["extremes_f32"]
    x = inputs_of("row_sum")[0]
    x[0, 300000] = np.inf
    assert run_as("f32", row_sum, [x])[1][0] == [np.inf]
    x[0, 500000] = -np.inf
    assert np.isnan(run_as("f32", row_sum, [x])[1][0]).all()
    both = np.concatenate([x, x])
    both[1, 400000] = np.nan
    _, (largest, smallest) = run_as("f32", extremes, [both])
    assert (largest[0], smallest[0]) == (np.inf, -np.inf)
    assert np.isnan(largest[1])
    assert np.isnan(smallest[1])


def test_small_problems_are_one_part() -> None:
    """Extents that are known to be small leave no trace of it; others ask at run time."""
    small = compile_all(
        "func.func @f(%x: tensor<1x3000xf32>) -> tensor<1xf32> {\n"
        "  %0 = array.reduce sum %x axes [1] : tensor<1x3000xf32> -> tensor<1xf32>\n"
        "  func.return %0 : tensor<1xf32>\n}"
    )
    assert "in_pieces" not in small["f"].source


@pytest.mark.slow
def test_examples_in_parts() -> None:
    """All examples, cut into small blocks, in as many parts as there are iterations.

    test_sanitizers.py runs the same programs with the same values in each run of the suite.
    """
    module, found = example_programs("f32", "primes")
    with shared_out_always():
        executables = compile_all(as_blocks(module, 4), pipeline=AFTER_BLOCKS)
    assert next(iter(executables.values())).source.count("bb::in_pieces") > 10
    assert not [
        fault
        for program in found
        for fault in faults(module, program, executables[program.name], BOUNDS["f32"])
    ]


LOADS = """
func.func @f(%x: tensor<40x?xf32>, %w: tensor<?x24xf32>) -> tensor<40x24xf32> {
  %0 = array.matmul %x, %w : tensor<40x?xf32>, tensor<?x24xf32> -> tensor<40x24xf32>
  func.return %0 : tensor<40x24xf32>
}
"""


def test_counted_traffic() -> None:
    """Parts load their own iterations and nothing twice, but for what precedes the loop."""
    executable = compile_all(LOADS, counting=True)["f"]
    for extent, threads in ((600, 1), (60000, 1), (60000, 3)):
        x, w = normal(40, extent).astype(np.float32), normal(extent, 24).astype(np.float32)
        executable.library.counts()
        executable(x, w, threads=threads)
        counted = executable.library.counts()
        assert counted.bytes_loaded == x.nbytes + w.nbytes
        assert counted.bytes_stored == 4 * 40 * 24
