"""Products with arrays of equal elements are sums: their values, and the kernels that they fuse into."""

from __future__ import annotations

import random

import bb
import numpy as np
import pytest
from bb.dialects import array, kernel
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.arrays.dtypes import to_dtype
from bb.runtime.interpreter.functions import interpret
from bb.runtime.program.functions import select_function
from bb.runtime.program.inputs import arguments_of

pytestmark = pytest.mark.long

PASS = PassPipeline("array-simplify-contractions")
DTYPES = {"f16": "0.3", "bf16": "0.3", "f32": "0.3", "f64": "0.3", "i32": "3", "i64": "3"}


def type_of(shape: tuple[int, ...], dtype: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{dtype}>"


def uniform(rng: random.Random, shape: tuple[int, ...], dtype: str) -> tuple[list[str], list[str]]:
    """Lines that make %u of one shape, all elements equal, and the arguments that they read."""
    one, value = ("1", DTYPES[dtype]) if dtype.startswith("i") else ("1.0", DTYPES[dtype])
    type, scalar = type_of(shape, dtype), type_of((1,) * len(shape), dtype)
    back = shape[::-1]
    perm = list(range(len(shape)))[::-1]
    flat = int(np.prod(shape))
    entries = str(np.full(shape, 7).tolist()).replace("7", value)
    operation = ("arith.muli" if dtype.startswith("i") else "arith.divf") + " %a, %k"
    return rng.choice(
        [
            ([f"%u = array.constant dense<{one}> : {type}"], []),
            ([f"%u = array.constant dense<{value}> : {type}"], []),
            ([f"%u = array.constant dense<{entries}> : {type}"], []),
            (
                [
                    f"%c = array.constant dense<{one}> : {type_of(back, dtype)}",
                    f"%u = array.transpose %c perm {perm} : {type_of(back, dtype)} -> {type}",
                ],
                [],
            ),
            (
                [
                    f"%c = array.constant dense<{value}> : {type_of((flat,), dtype)}",
                    f"%u = array.reshape %c : {type_of((flat,), dtype)} -> {type}",
                ],
                [],
            ),
            (
                [
                    f"%c = array.constant dense<{one}> : {scalar}",
                    f"%u = array.broadcast %c : {scalar} -> {type}",
                ],
                [],
            ),
            ([f"%u = array.broadcast %s : tensor<1x{dtype}> -> {type}"], [f"%s: tensor<1x{dtype}>"]),
            (
                [
                    f"%c = array.constant dense<{one}> : {type}",
                    f"%u = array.elementwise (%a = %c) : {type} -> {type} {{",
                    f"  %k = arith.constant {value} : {dtype}",
                    f"  %q = {operation} : {dtype}",
                    f"  array.yield %q : {dtype}",
                    "}",
                ],
                [],
            ),
        ]
    )


def product(seed: int, dtype: str) -> str:
    """A product of %x, or with %x, and an array of equal elements."""
    rng = random.Random(seed)
    m, k, n = 3, 4, rng.choice([1, 1, 5])
    batch = rng.choice([(), (), (2,)])
    left, ta, tb = rng.random() < 0.3, rng.random() < 0.4, rng.random() < 0.4
    acc = {"f16": "f32", "bf16": "f32", "f32": "f64", "i32": "i64"}.get(dtype) if rng.random() < 0.4 else None
    shapes = [(k, m) if ta else (m, k), (n, k) if tb else (k, n)]
    at = 0 if left else 1
    data = (*batch, *shapes[1 - at])
    if rng.random() < 0.3:
        shapes[at] = (*batch, *shapes[at])
    lines, arguments = uniform(rng, shapes[at], dtype)
    types = [type_of(data, dtype), type_of(shapes[at], dtype)]
    operands = ["%x", "%u"]
    if left:
        types, operands = types[::-1], operands[::-1]
    result = type_of((*batch, m, n), acc if acc and rng.random() < 0.5 else dtype)
    flags = " transpose_a" * ta + " transpose_b" * tb + (f" acc {acc}" if acc else "")
    body = "\n".join(lines)
    return (
        f"func.func @f({', '.join([f'%x: {type_of(data, dtype)}', *arguments])}) -> {result} {{\n{body}\n"
        f"%y = array.matmul {', '.join(operands)}{flags} : {', '.join(types)} -> {result}\n"
        f"func.return %y : {result}\n}}"
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_with_equal_elements_are_sums(dtype: str) -> None:
    for seed in range(40):
        text = product(seed, dtype)
        before, after = bb.parse(text), PASS.run(bb.parse(text))
        assert not any(isinstance(op, array.MatmulOp) for op in after.walk()), text
        inputs = bb.random_inputs(before, seed)
        inputs[0] = inputs[0].copy()
        if not dtype.startswith("i") and seed % 4 == 0:
            inputs[0].flat[1], inputs[0].flat[-1] = np.nan, np.inf
        (expected,), (found,) = interpret(before, inputs).results, interpret(after, inputs).results
        assert expected.dtype == found.dtype
        bound = {"f16": 2e-3, "bf16": 2e-2}.get(dtype, 1e-6)
        np.testing.assert_allclose(
            to_dtype(found, np.dtype(np.float64)),
            to_dtype(expected, np.dtype(np.float64)),
            rtol=0 if dtype.startswith("i") else bound,
            atol=0 if dtype.startswith("i") else bound,
        )


MEANS = {
    "a reduction": """
      %{0}_s = array.reduce sum %{1} axes [1] keepdims : tensor<24x48xf32> -> tensor<24x1xf32>
      %{0} = array.elementwise (%a = %{0}_s) : tensor<24x1xf32> -> tensor<24x1xf32> {{
        %c = arith.constant 0.020833334 : f32
        %m = arith.mulf %a, %c : f32
        array.yield %m : f32
      }}""",
    "ones, then 1/K": """
      %{0}_u = array.constant dense<1.0> : tensor<48x1xf32>
      %{0}_s = array.matmul %{1}, %{0}_u : tensor<24x48xf32>, tensor<48x1xf32> -> tensor<24x1xf32>
      %{0} = array.elementwise (%a = %{0}_s) : tensor<24x1xf32> -> tensor<24x1xf32> {{
        %c = arith.constant 0.020833334 : f32
        %m = arith.mulf %a, %c : f32
        array.yield %m : f32
      }}""",
    "ones/K": """
      %{0}_u = array.constant dense<0.020833334> : tensor<48x1xf32>
      %{0} = array.matmul %{1}, %{0}_u : tensor<24x48xf32>, tensor<48x1xf32> -> tensor<24x1xf32>""",
    "a matrix of 1/K": """
      %{0}_u = array.constant dense<0.020833334> : tensor<48x48xf32>
      %{0}_b = array.matmul %{1}, %{0}_u : tensor<24x48xf32>, tensor<48x48xf32> -> tensor<24x48xf32>
      %{0} = array.slice %{0}_b offsets [0, 0] sizes [24, 1] : tensor<24x48xf32> -> tensor<24x1xf32>""",
    "a transposed product": """
      %{0}_u = array.constant dense<0.020833334> : tensor<1x48xf32>
      %{0}_t = array.matmul %{0}_u, %{1} transpose_b : tensor<1x48xf32>, tensor<24x48xf32> -> tensor<1x24xf32>
      %{0} = array.transpose %{0}_t perm [1, 0] : tensor<1x24xf32> -> tensor<24x1xf32>""",
}


def combined(name: str, a: str, b: str, scalar: str, flat: bool = True) -> str:
    """An element-wise operation of two arrays; `flat` says that the second is a column."""
    second = "tensor<24x1xf32>" if flat else "tensor<24x48xf32>"
    return f"""
      %{name} = array.elementwise (%a = %{a}, %b = %{b}) : tensor<24x48xf32>, {second} -> tensor<24x48xf32> {{
        {scalar}
        array.yield %r : f32
      }}"""


NORM = """%e = arith.constant 1.0e-5 : f32
        %v = arith.addf %b, %e : f32
        %i = math.rsqrt %v : f32
        %r = arith.mulf %a, %i : f32"""


def normalised(kind: str, spelling: str) -> str:
    """A normalisation with sums in some spelling, then a product with %w."""
    mean = MEANS[spelling].format
    if kind == "softmax":
        body = combined("e", "x", "x", "%r = math.exp %a : f32", False) + mean("t", "e")
        body += combined("n", "e", "t", "%r = arith.divf %a, %b : f32")
    else:
        centred = "x"
        body = ""
        if kind == "layer_norm":
            body = mean("mean", "x") + combined("d", "x", "mean", "%r = arith.subf %a, %b : f32")
            centred = "d"
        body += combined("q", centred, centred, "%r = arith.mulf %a, %b : f32", False) + mean("t", "q")
        body += combined("n", centred, "t", NORM)
    return (
        f"func.func @f(%x: tensor<24x48xf32>, %w: tensor<48x32xf32>) -> tensor<24x32xf32> {{{body}\n"
        "%y = array.matmul %n, %w : tensor<24x48xf32>, tensor<48x32xf32> -> tensor<24x32xf32>\n"
        "func.return %y : tensor<24x32xf32>\n}"
    )


def launches(text: str, pipeline: str) -> int:
    module = PassPipeline(PIPELINES[pipeline]).run(bb.parse(text))
    return sum(isinstance(op, kernel.LaunchOp) for op in module.walk())


@pytest.mark.parametrize("kind", ["softmax", "rms_norm", "layer_norm"])
@pytest.mark.parametrize("pipeline", ["cpu", "cuda"])
def test_spellings_of_sums_fuse_alike(kind: str, pipeline: str) -> None:
    counts = {spelling: launches(normalised(kind, spelling), pipeline) for spelling in MEANS}
    assert set(counts.values()) == {1}, counts


def test_a_row_of_the_identity_still_reads_all_elements() -> None:
    text = """func.func @f(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
      %e = array.constant dense<[[0.0], [1.0], [0.0]]> : tensor<3x1xf32>
      %y = array.matmul %x, %e : tensor<2x3xf32>, tensor<3x1xf32> -> tensor<2x1xf32>
      func.return %y : tensor<2x1xf32>
    }"""
    x = np.array([[1, 2, 3], [np.nan, 5, np.inf]], np.float32)
    (found,) = interpret(PASS.run(bb.parse(text)), [x]).results
    np.testing.assert_array_equal(found, np.array([[2], [np.nan]], np.float32))


def test_unknown_extents_stay_known() -> None:
    text = """func.func @f(%x: tensor<?x?xf32>, %z: tensor<1x1xf32>) -> tensor<?x1xf32> {
      %c = array.constant dense<1.0> : tensor<1x4xf32>
      %u = array.transpose %c perm [1, 0] : tensor<1x4xf32> -> tensor<4x1xf32>
      %y = array.matmul %x, %u : tensor<?x?xf32>, tensor<4x1xf32> -> tensor<?x1xf32>
      func.return %y : tensor<?x1xf32>
    }"""
    module = PASS.run(bb.parse(text))
    assert not any(isinstance(op, array.MatmulOp) for op in module.walk())
    assert [each.name for each in arguments_of(select_function(module, None))] == ["x", "z"]
