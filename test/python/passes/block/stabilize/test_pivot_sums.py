"""Pivots of rows that are computed where they are summed: a LayerNorm after a residual."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.traffic.block import Traffic, traffic_of_function, values_for
from bb.passes.block.mask_remainders import mask_remainders
from bb.passes.block.stabilize import BlockStabilizePass
from bb.runtime.api import compile_program
from bb.runtime.checking.exact.equivalence import equivalent
from bb.runtime.interpreter.functions import interpret
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

pytestmark = pytest.mark.long

Array = NDArray[np.float64]

M, K, N = 24, 40, 12
EPS = 1e-5
ROWS = f"tensor<{M}x{K}xf32>"


def elementwise(result: str, body: str, rest: str = "") -> str:
    """`%result` of x, z and u (as %a, %b and %c), and of `rest`; the last line of `body` gives %r."""
    operands, types = f"%a = %x, %b = %z, %c = %u{rest}", f"{ROWS}, {ROWS}, {ROWS}"
    if rest:
        types += f", {ROWS if '%n' in rest else f'tensor<{K}xf32>'}"
    return f"""
  %{result} = array.elementwise ({operands}) : {types} -> {ROWS} {{
    {body}
    array.yield %r : f32
  }}"""


SUMS = {
    "two": f"""
  %s = array.elementwise (%a = %x, %b = %z) : {ROWS}, {ROWS} -> {ROWS} {{
    %r = arith.addf %a, %b : f32
    array.yield %r : f32
  }}""",
    "three": elementwise("s", "%0 = arith.addf %a, %b : f32\n    %r = arith.addf %0, %c : f32"),
    "difference": elementwise("s", "%0 = arith.subf %a, %b : f32\n    %r = arith.subf %0, %c : f32"),
    "product": elementwise("s", "%0 = arith.mulf %c, %c : f32\n    %r = arith.addf %a, %0 : f32"),
    "bias": elementwise(
        "s", "%0 = arith.addf %a, %d : f32\n    %r = arith.addf %0, %b : f32", ", %d = %bias"
    ),
}
"""Spellings of a sum, and the arrays whose blocks they load."""
LISTS = {"two": "xz", "three": "xzu", "difference": "xzu", "product": "xu", "bias": "xzb"}


def summed(spelling: str, inputs: list[Array]) -> Array:
    """The sum that a program normalises, rounded where the program rounds; float32 in, float32 out."""
    x, z, u, bias = (value.astype(np.float32) for value in inputs[:4])
    match spelling:
        case "two":
            return x + z
        case "three":
            return (x + z) + u
        case "difference":
            return (x - z) - u
        case "product":
            return x + u * u
        case _:
            return (x + bias) + z


NORM = f"\n  %n = array.layer_norm %s eps 1.0e-5 : {ROWS}"
RMS_NORM = NORM.replace("layer_norm", "rms_norm")
MATMUL = f"""
  %y = array.matmul %n, %w : {ROWS}, tensor<{K}x{N}xf32> -> tensor<{M}x{N}xf32>"""
TAILS = pytest.mark.parametrize("tail", [False, True], ids=["alone", "matmul"])
SPELLINGS = pytest.mark.parametrize("spelling", SUMS)


def fused(text: str, result: str, type: str) -> ModuleOp:
    arguments = f"%x: {ROWS}, %z: {ROWS}, %u: {ROWS}, %bias: tensor<{K}xf32>, %w: tensor<{K}x{N}xf32>"
    module = f"func.func @f({arguments}) -> {type} {{{text}\n  func.return %{result} : {type}\n}}\n"
    return PassPipeline("array-decompose,array-to-block,block-fuse").run(parse_module(module, "program.mlir"))


@cache
def program(spelling: str, tail: bool, norm: str = NORM) -> ModuleOp:
    """The LayerNorm of a sum, alone or before a product with w, fused."""
    result, type = ("y", f"tensor<{M}x{N}xf32>") if tail else ("n", ROWS)
    return fused(SUMS[spelling] + norm + (MATMUL if tail else ""), result, type)


@cache
def stabilised(module: ModuleOp, pivot: bool = True) -> ModuleOp:
    copy = module.clone()
    PassPipeline([BlockStabilizePass(pivot=pivot)]).run(copy)
    verify(copy)
    return copy


def function_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def pivots(module: ModuleOp) -> int:
    """The number of pivots; a pivot whose scale is undone keeps its name, and does not count again."""

    def is_pivot(value: SSAValue) -> bool:
        return value.name_hint == "pivot"

    return sum(
        is_pivot(op.results[0]) and not any(map(is_pivot, op.operands)) for op in module.walk() if op.results
    )


def firsts(module: ModuleOp) -> int:
    return sum(isinstance(op, block.FirstOp) for op in module.walk())


def arrays(mean: float = 0.0, seed: int = 0, width: int = K) -> list[Array]:
    rng = np.random.default_rng(seed)
    shapes = (M, width), (M, width), (M, width), (width,), (width, N)
    values = [rng.standard_normal(shape) for shape in shapes]
    values[0] += mean
    return [value.astype(np.float32).astype(np.float64) for value in values]


def layer_norm(x: NDArray[np.floating]) -> NDArray[np.floating]:
    """Two passes, in the type of x."""
    centred = x - x.mean(axis=1, keepdims=True)
    var = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(var + x.dtype.type(EPS))


def references(spelling: str, tail: bool, inputs: list[Array]) -> tuple[Array, Array]:
    """The result in float64, of the sum in float32, and two passes in float32."""
    s, w = summed(spelling, inputs), inputs[4]
    wanted, numpy = layer_norm(s.astype(np.float64)), layer_norm(s)
    if tail:
        wanted, numpy = wanted @ w, numpy @ w.astype(np.float32)
    return wanted.astype(np.float64), numpy.astype(np.float64)


def relative(got: NDArray[np.floating], wanted: Array) -> float:
    return float(np.max(np.abs(got.astype(np.float64) - wanted)) / np.max(np.abs(wanted)))


@TAILS
@SPELLINGS
def test_a_layernorm_of_a_sum_gets_one_pivot(spelling: str, tail: bool):
    module = program(spelling, tail)
    assert (pivots(stabilised(module)), firsts(stabilised(module))) == (1, len(LISTS[spelling]))
    assert firsts(stabilised(module, False)) == 0


@TAILS
@SPELLINGS
def test_it_is_exactly_equivalent(spelling: str, tail: bool):
    module = program(spelling, tail)
    assert equivalent(module, stabilised(module))


@pytest.mark.parametrize("size", [7, 16, 40, 64])
@TAILS
@SPELLINGS
def test_large_means(spelling: str, tail: bool, size: int):
    module = program(spelling, tail)
    for mean in (0.0, 1e2, 1e4, 1e6):
        inputs = arrays(mean)
        wanted, numpy = references(spelling, tail, inputs)
        got = interpret(stabilised(module), inputs, default_block_size=size).results[0]
        assert relative(got, wanted) <= max(4 * relative(numpy, wanted), 1e-6), mean
        if mean >= 1e2:
            without = interpret(stabilised(module, False), inputs, default_block_size=size).results[0]
            assert not relative(without, wanted) <= max(4 * relative(numpy, wanted), 1e-6)


@TAILS
@SPELLINGS
def test_padded_blocks(spelling: str, tail: bool):
    masked = stabilised(program(spelling, tail)).clone()
    mask_remainders(function_of(masked))
    for size in (7, 16, 64):
        for mean in (0.0, 1e6):
            inputs = arrays(mean)
            wanted, numpy = references(spelling, tail, inputs)
            got = interpret(masked, inputs, default_block_size=size, padded=True).results[0]
            assert relative(got, wanted) <= max(4 * relative(numpy, wanted), 1e-6)


@TAILS
@pytest.mark.parametrize("spelling", ["two", "bias"])
def test_compiled_for_the_cpu(spelling: str, tail: bool):
    """With rows of several blocks."""
    result, type = ("y", f"tensor<{M}x{N}xf32>") if tail else ("n", ROWS)
    arguments = f"%x: {ROWS}, %z: {ROWS}, %u: {ROWS}, %bias: tensor<{K}xf32>, %w: tensor<{K}x{N}xf32>"
    text = SUMS[spelling] + NORM + (MATMUL if tail else "")
    module = f"func.func @f({arguments}) -> {type} {{{text}\n  func.return %{result} : {type}\n}}\n"
    module = module.replace(f"{K}x", "1024x")
    executable = compile_program(parse_module(module, "program.mlir"))
    for mean in (0.0, 1e4, 1e6):
        inputs = arrays(mean, width=1024)
        wanted, numpy = references(spelling, tail, inputs)
        got = executable(*(value.astype(np.float32) for value in inputs))
        got = got[0] if isinstance(got, list | tuple) else got
        assert relative(got, wanted) <= max(4 * relative(numpy, wanted), 1e-6)


@TAILS
@SPELLINGS
def test_traffic_is_the_first_block_of_each_list(spelling: str, tail: bool):
    module = program(spelling, tail)
    for size in (7, 16, 64):
        before = interpret(stabilised(module, False), arrays(), default_block_size=size)
        after = interpret(stabilised(module), arrays(), default_block_size=size)
        # The nests that compute the sums: one for each block of the result.
        rows, columns = -(-M // size), -(-N // size) if tail else 1
        lists = LISTS[spelling]
        assert after.counts.loads - before.counts.loads == rows * columns * len(lists)
        blocks = len(lists.replace("b", ""))
        elements = M * blocks + (rows if "b" in lists else 0)
        assert after.counts.bytes_loaded - before.counts.bytes_loaded == 4 * min(size, K) * elements * columns
        assert after.counts.stores == before.counts.stores
        assert after.counts.bytes_stored == before.counts.bytes_stored
        total = Traffic()
        for _, traffic in traffic_of_function(function_of(stabilised(module))):
            total += traffic
        assert total.evaluate(values_for(after.extents, after.block_sizes)) == vars(after.counts)


@TAILS
@SPELLINGS
def test_an_rmsnorm_of_a_sum_gets_none(spelling: str, tail: bool):
    assert firsts(stabilised(program(spelling, tail, RMS_NORM))) == 0


def test_a_sum_that_is_used_besides_gets_none():
    """x + z is added to its LayerNorm."""
    again = elementwise("y", "%0 = arith.addf %a, %b : f32\n    %r = arith.addf %0, %d : f32", ", %d = %n")
    assert firsts(stabilised(fused(SUMS["two"] + NORM + again, "y", ROWS))) == 0


def stored(spelling: str) -> ModuleOp:
    """A program that stores the sum where it is summed up, and loads it where it is normalised."""
    text = SUMS[spelling] + NORM
    arguments = f"%x: {ROWS}, %z: {ROWS}, %u: {ROWS}, %bias: tensor<{K}xf32>, %w: tensor<{K}x{N}xf32>"
    module = parse_module(
        f"func.func @f({arguments}) -> {ROWS} {{{text}\n  func.return %n : {ROWS}\n}}\n", "p"
    )
    return PassPipeline("array-decompose,array-to-block,block-fuse{extend=false}").run(module)


@SPELLINGS
def test_a_sum_that_is_stored_in_between(spelling: str):
    """It is stored as it is, and shifted again when it is loaded."""
    module = stored(spelling)
    with_pivot = stabilised(module)
    assert sum(isinstance(op, block.StoreOp) for op in module.walk()) == 2
    assert (pivots(with_pivot), firsts(with_pivot)) == (1, len(LISTS[spelling]))
    assert equivalent(module, with_pivot)
    for mean in (0.0, 1e2, 1e4, 1e6):
        inputs = arrays(mean)
        wanted, numpy = references(spelling, False, inputs)
        got = interpret(with_pivot, inputs, default_block_size=16).results[0]
        assert relative(got, wanted) <= max(4 * relative(numpy, wanted), 1e-6), mean


def test_an_index_along_the_row_gets_none():
    """Its place is part of such an item, which is not computed outside the map."""
    index = f"""
  %i = array.iota axis 1 : tensor<{M}x{K}xi32>
  %s = array.elementwise (%a = %x, %b = %i) : {ROWS}, tensor<{M}x{K}xi32> -> {ROWS} {{
    %0 = arith.sitofp %b : i32 to f32
    %r = arith.addf %a, %0 : f32
    array.yield %r : f32
  }}"""
    assert firsts(stabilised(fused(index + NORM, "n", ROWS))) == 0


def test_an_exponential_gets_none():
    """It is carried with an exponent of its own."""
    exp = elementwise("s", "%r = math.exp %a : f32")
    assert firsts(stabilised(fused(exp + NORM, "n", ROWS))) == 0


def test_a_layernorm_of_a_layernorm_and_a_residual():
    """The second sum is made of what the first LayerNorm's pivot has shifted already."""
    second = elementwise("t", "%r = arith.addf %b, %d : f32", ", %d = %n")
    norm = NORM.replace("%n", "%y").replace("%s", "%t")
    module = fused(SUMS["two"] + NORM + second + norm, "y", ROWS)
    with_pivots = stabilised(module)
    assert pivots(with_pivots) == 2
    assert equivalent(module, with_pivots)
    for mean in (0.0, 1e4):
        inputs = arrays(mean)
        first = layer_norm(summed("two", inputs).astype(np.float64))
        wanted = layer_norm(first + inputs[1])
        got = interpret(with_pivots, inputs, default_block_size=16).results[0]
        assert relative(got, wanted) < 1e-5
