"""Executables and the arrays they are called with: unknown extents, strides, outputs; wrong ones refused."""

from __future__ import annotations

import pickle
import threading
from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.runtime.api import compile_all, compile_program
from bb.runtime.checking.tolerances import BOUNDS, compare
from bb.runtime.errors import InputError
from bb.runtime.executable.executable import Executable
from bb.runtime.interpreter.functions import interpret
from cpu_programs import Array, Program, as_tuple, faults, renamed
from example_programs import cases, respell
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long

MATMUL = """
func.func @product(%x: tensor<37x29xf32>, %w: tensor<29x13xf32>) -> tensor<37x13xf32> {
  %y = array.matmul %x, %w : tensor<37x29xf32>, tensor<29x13xf32> -> tensor<37x13xf32>
  func.return %y : tensor<37x13xf32>
}
"""


@cache
def product() -> Executable:
    return compile_program(MATMUL)


def operands(seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((37, 29), np.float32), rng.standard_normal((29, 13), np.float32)


def assert_product(got: object, x: Array, w: Array) -> None:
    assert isinstance(got, np.ndarray)
    wanted = x.astype(np.float64) @ w.astype(np.float64)
    assert compare(got, wanted, BOUNDS["f32"]).within


# Unknown extents


@cache
def unknown_extents() -> tuple[ModuleOp, dict[str, Executable]]:
    """Every example with unknown extents, in one module."""
    functions = [
        renamed(
            respell(case.text, case.module.DIMS, dict.fromkeys(case.module.DYNAMIC, "?")),
            case.entry,
            str(case).replace("-", "_"),
        )
        for case in cases()
    ]
    module = ModuleOp(functions)
    return module, compile_all(module)


@pytest.mark.parametrize("extents", [(1, 1), (37, 41), (65, 257), (1, 65), (130, 2)], ids=str)
def test_unknown_extents(extents: tuple[int, int]) -> None:
    module, executables = unknown_extents()
    found: list[str] = []
    for case in cases():
        dims = case.module.DIMS | dict(zip(case.module.DYNAMIC, extents, strict=False))
        program = Program(str(case).replace("-", "_"), case.inputs(dims, seed=2))
        found += faults(module, program, executables[program.name], BOUNDS["f32"])
    assert found == []


def test_unknown_extents_must_agree() -> None:
    executable = compile_program(MATMUL.replace("29", "?"))
    x, w = operands()
    assert_product(executable(x, w), x, w)
    with pytest.raises(
        InputError,
        match=r"axis 1 of argument %x of 'product' has extent 28 and axis 0 of argument %w .* has extent 29",
    ):
        executable(np.ascontiguousarray(x[:, :28]), w)


# Strides


def laid_out(array: Array, layout: str) -> Array:
    """An equal array that lies otherwise in memory."""
    match layout:
        case "transposed":
            return np.asfortranarray(array)
        case "every second":
            wide = np.zeros((2 * array.shape[0], 3 * array.shape[1]), array.dtype)
            wide[::2, ::3] = array
            return wide[::2, ::3]
        case "backwards":
            return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
        case "rows backwards":
            return np.ascontiguousarray(array[::-1])[::-1]
        case "inside":
            wide = np.full((array.shape[0] + 7, array.shape[1] + 5), np.nan, array.dtype)
            wide[3:-4, 2:-3] = array
            return wide[3:-4, 2:-3]
        case _:
            raise AssertionError(layout)


LAYOUTS = ("transposed", "every second", "backwards", "rows backwards", "inside")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("which", ["x", "w", "out", "all"])
def test_strides(layout: str, which: str) -> None:
    x, w = operands()
    wanted = product()(x, w)
    assert isinstance(wanted, np.ndarray)
    out = np.full_like(wanted, np.nan)
    arrays = {"x": x, "w": w, "out": out}
    for name in arrays:
        if which in (name, "all"):
            arrays[name] = laid_out(arrays[name], layout)
    around = arrays["out"].base
    before = None if around is None else np.array(around)
    got = product()(arrays["x"], arrays["w"], out=arrays["out"])
    assert isinstance(got, np.ndarray)
    assert np.shares_memory(got, arrays["out"])
    assert arrays["out"].tobytes() == wanted.tobytes()
    if layout == "inside" and before is not None and which in ("out", "all"):
        # What lies around the array is as it was.
        assert around is not None
        around[3:-4, 2:-3] = np.nan
        before[3:-4, 2:-3] = np.nan
        assert np.isnan(around).sum() == np.isnan(before).sum()


def test_broadcast_inputs() -> None:
    x, w = operands()
    row, column = np.broadcast_to(x[:1], x.shape), np.broadcast_to(w[:, :1], w.shape)
    assert row.strides[0] == 0
    assert column.strides[1] == 0
    assert_product(product()(row, column), row, column)


def test_permuted_batches() -> None:
    text = """
    !Q = tensor<3x17x8xf32>
    !K = tensor<3x21x8xf32>
    !V = tensor<3x21x5xf32>
    func.func @attention(%q: !Q, %k: !K, %v: !V) -> tensor<3x17x5xf32> {
      %o = array.attention %q, %k, %v : !Q, !K, !V -> tensor<3x17x5xf32>
      func.return %o : tensor<3x17x5xf32>
    }
    """
    executable = compile_program(text)
    rng = np.random.default_rng(0)
    # As projections make them: [rows, heads, features].
    q, k, v = (rng.standard_normal(shape, np.float32) for shape in ((17, 3, 8), (21, 3, 8), (21, 3, 5)))
    views = [array.transpose(1, 0, 2) for array in (q, k, v)]
    out = np.empty((17, 3, 5), np.float32)
    executable(*views, out=out.transpose(1, 0, 2))
    wanted = interpret(
        parse_module(text), [np.ascontiguousarray(view) for view in views], float64=True
    ).results
    assert compare(out.transpose(1, 0, 2), wanted[0], BOUNDS["f32"]).within


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    x, w = operands()
    out = torch.empty(13, 37).T
    got = product()(torch.from_numpy(x), torch.from_numpy(w.T.copy()).T, out=out)
    assert isinstance(got, np.ndarray)
    assert_product(np.array(out.numpy()), x, w)
    half = compile_program(MATMUL.replace("f32", "bf16"))
    result = half(torch.from_numpy(x).bfloat16(), torch.from_numpy(w).bfloat16())
    assert isinstance(result, np.ndarray)
    assert result.dtype == ml_dtypes.bfloat16


# What does not fit


def bad_calls() -> dict[str, tuple[list[Any], dict[str, Any], str]]:
    x, w = operands()
    return {
        "missing": ([x], {}, "'product' needs arrays for w"),
        "superfluous": ([x, w, w], {}, "'product' takes 2 arrays, got 3"),
        "twice": ([x, w], {"x": x}, "argument %x of 'product' is given twice"),
        "unknown": ([x], {"v": w}, "'product' has no argument 'v'; there are: x, w"),
        "shape": ([x[:36], w], {}, "argument %x of 'product' has extent 36 on axis 0, expected 37: [37, 29]"),
        "rank": ([x[0], w], {}, "argument %x of 'product' has rank 1, expected 2: [37, 29]"),
        "dtype": (
            [x.astype(np.float64), w],
            {},
            "argument %x of 'product' has dtype float64, expected float32",
        ),
        "list": (
            [x.tolist(), w],
            {},
            "argument %x of 'product' is of type 'list', expected a numpy array or one",
        ),
        "masked": ([np.ma.masked_array(x), w], {}, "argument %x of 'product' is a masked array"),
        "byte order": ([x.astype(">f4"), w], {}, "argument %x of 'product' has dtype >f4, whose byte order"),
        "empty": (
            [x[:, :0], w[:0]],
            {},
            "argument %x of 'product' has extent 0 on axis 1, expected 29: [37, 29]",
        ),
        "out count": ([x, w], {"out": [x, x]}, "'product' has 1 results, got 2 arrays as `out`"),
        "out shape": (
            [x, w],
            {"out": x},
            "result 0 of 'product' has extent 29 on axis 1, expected 13: [37, 13]",
        ),
        "out dtype": ([x, w], {"out": np.zeros((37, 13))}, "result 0 of 'product' has dtype float64"),
        "out read-only": (
            [x, w],
            {"out": np.broadcast_to(np.float32(0), (37, 13))},
            "result 0 of 'product' is read-only",
        ),
    }


@pytest.mark.parametrize("name", list(bad_calls()))
def test_wrong_arrays(name: str) -> None:
    arrays, named, sentence = bad_calls()[name]
    with pytest.raises(InputError) as error:
        product()(*arrays, **named)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_empty_extents() -> None:
    executable = compile_program(MATMUL.replace("37", "?").replace("29", "?"))
    x, w = operands()
    for arrays in ((x[:0], w), (x[:, :0], w[:0])):
        with pytest.raises(
            InputError, match=r"argument %x of 'product' has extent 0 on axis \d, expected at least 1"
        ):
            executable(*arrays)


def test_overlapping_outputs() -> None:
    text = """
    func.func @twice(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
      %y = array.elementwise (%a = %x) : tensor<8x8xf32> -> tensor<8x8xf32> {
        %b = arith.addf %a, %a : f32
        array.yield %b : f32
      }
      %z = array.elementwise (%a = %y) : tensor<8x8xf32> -> tensor<8x8xf32> {
        %b = arith.addf %a, %a : f32
        array.yield %b : f32
      }
      func.return %y, %z : tensor<8x8xf32>, tensor<8x8xf32>
    }
    """
    twice = compile_program(text)
    memory = np.arange(200, dtype=np.float32)
    x, y = memory[:64].reshape(8, 8), memory[64:128].reshape(8, 8)
    with pytest.raises(InputError, match="result 1 of 'twice' shares memory with argument %x of 'twice'"):
        twice(x, out=[y, x])
    with pytest.raises(InputError, match="result 1 of 'twice' shares memory with result 0 of 'twice'"):
        twice(x, out=[y, memory[127:191].reshape(8, 8)])
    got = as_tuple(twice(x, out=[y, memory[128:192].reshape(8, 8)]))
    assert np.array_equal(got[0], 2 * x)
    assert np.array_equal(memory[128:192].reshape(8, 8), 4 * x)


def test_results_that_are_arguments() -> None:
    text = """
    func.func @same(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      func.return %x, %x : tensor<8xf32>, tensor<8xf32>
    }
    """
    x = np.arange(8, dtype=np.float32)
    same = compile_program(text)
    one, other = as_tuple(same(x))
    assert np.array_equal(one, x)
    assert np.array_equal(other, x)
    assert not np.shares_memory(one, x)
    assert not np.shares_memory(one, other)
    out = np.zeros(8, np.float32), np.zeros(8, np.float32)
    same(x, out=out)
    assert np.array_equal(out[0], x)
    assert np.array_equal(out[1], x)


def test_one_result_twice() -> None:
    text = """
    func.func @doubled(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %y = array.elementwise (%a = %x) : tensor<8xf32> -> tensor<8xf32> {
        %b = arith.addf %a, %a : f32
        array.yield %b : f32
      }
      func.return %y, %y : tensor<8xf32>, tensor<8xf32>
    }
    """
    x = np.arange(8, dtype=np.float32)
    doubled = compile_program(text)
    one, other = as_tuple(doubled(x))
    assert np.array_equal(one, 2 * x)
    assert np.array_equal(other, 2 * x)
    assert not np.shares_memory(one, other)
    out = np.zeros(8, np.float32), np.zeros(8, np.float32)
    doubled(x, out=out)
    assert np.array_equal(out[0], 2 * x)
    assert np.array_equal(out[1], 2 * x)


# Executables as objects


def test_pickle() -> None:
    x, w = operands()
    restored = cast(Executable, pickle.loads(pickle.dumps(product())))
    again, first = restored(x, w), product()(x, w)
    assert isinstance(again, np.ndarray)
    assert isinstance(first, np.ndarray)
    assert again.tobytes() == first.tobytes()
    assert restored.argument_names == ["x", "w"]


def test_keyword_arguments() -> None:
    x, w = operands()
    assert_product(product()(w=w, x=x), x, w)
    assert_product(product()(x, w=w, threads=1), x, w)


def test_threads_share_an_executable() -> None:
    arguments = [operands(seed) for seed in range(8)]
    results: dict[int, list[object]] = {}

    def work(number: int) -> None:
        results[number] = [product()(*arguments[number]) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, arrays in arguments_by_number(arguments).items():
        for result in results[number]:
            assert_product(result, *arrays)


def arguments_by_number(arguments: list[tuple[Array, Array]]) -> dict[int, tuple[Array, Array]]:
    return dict(enumerate(arguments))
