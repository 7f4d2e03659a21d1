"""Cost of a call of an executable beside its kernels."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.lowering.pipelines import PIPELINES
from bb.runtime.api import compile_program
from bb.runtime.calls import call_plan
from bb.runtime.calls.call_plan import Intermediate, lay_out
from bb.runtime.errors import InputError
from bb.runtime.executable import call
from bb.runtime.executable.executable import Executable
from cpu_programs import Array

pytestmark = pytest.mark.long


def test_a_call_reads_no_attributes_of_the_program(monkeypatch: pytest.MonkeyPatch):
    text = """
    func.func @add(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> tensor<?x4xf32> {
      %s = array.elementwise (%a = %x, %b = %y) : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32> {
        %c = arith.addf %a, %b : f32
        array.yield %c : f32
      }
      func.return %s : tensor<?x4xf32>
    }
    """
    compiled = compile_program(text)
    x, y = np.ones((3, 4), np.float32), np.arange(4, dtype=np.float32)
    prepared = compiled.prepare(y=y)

    def refuse(function: object) -> None:
        raise AssertionError("reading attributes takes longer than a small kernel")

    monkeypatch.setattr(call, "arguments_of", refuse)
    assert compiled.argument_names == ["x", "y"]
    assert np.array_equal(compiled(x, y=y), x + y)
    assert np.array_equal(prepared(x), x + y)


# Calls that are repeated with arrays of the same layout

CHAIN = """
func.func @chain(%x: tensor<?x?xELEMENT>, %w: tensor<?x5xELEMENT>) -> tensor<?x5xELEMENT> {
  %s = array.softmax %x axis 1 : tensor<?x?xELEMENT>
  %y = array.matmul %s, %w : tensor<?x?xELEMENT>, tensor<?x5xELEMENT> -> tensor<?x5xELEMENT>
  %p = array.softmax %y axis 1 : tensor<?x5xELEMENT>
  func.return %p : tensor<?x5xELEMENT>
}
"""
UNFUSED = PIPELINES["cpu-unfused"]


@cache
def chain(element: str = "f32") -> Executable:
    """Several kernels with arrays between them."""
    compiled = compile_program(CHAIN.replace("ELEMENT", element), pipeline=UNFUSED)
    assert len(compiled.library.entries) > 2
    return compiled


def chain_inputs(rows: int, columns: int, seed: int = 0, dtype: Any = np.float32) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((rows, columns)).astype(dtype),
        rng.standard_normal((columns, 5)).astype(dtype),
    )


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def assert_chain(got: object, x: Array, w: Array, bound: float = 1e-5) -> None:
    wanted = softmax(softmax(x.astype(np.float64)) @ w.astype(np.float64))
    assert isinstance(got, np.ndarray)
    assert np.abs(got.astype(np.float64) - wanted).max() < bound


def layouts(array: Array) -> dict[str, Array]:
    """Equal arrays that lie differently in memory."""
    wide = np.zeros((2 * array.shape[0], array.shape[1] + 3), array.dtype)
    wide[::2, 1:-2] = array
    return {
        "rows": array,
        "columns": np.asfortranarray(array),
        "apart": wide[::2, 1:-2],
        "backwards": np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    }


def test_one_executable_serves_layouts_in_turn():
    compiled = compile_program(CHAIN.replace("ELEMENT", "f32"), pipeline=UNFUSED)
    for _ in range(3):
        for rows, columns in ((3, 7), (33, 40), (3, 8), (1, 1)):
            x, w = chain_inputs(rows, columns)
            for one in layouts(x).values():
                for other in layouts(w).values():
                    assert_chain(compiled(one, other), x, w)
                    out = np.full((rows, 5), np.nan, np.float32)
                    for place in layouts(out).values():
                        assert_chain(compiled(one, other, out=place), x, w)
                        assert_chain(place, x, w)


def test_repeated_calls_take_no_new_structures(monkeypatch: pytest.MonkeyPatch):
    x, w = chain_inputs(9, 4)
    first = chain()(x, w)
    monkeypatch.setattr(call, "Call", None)  # the long way
    assert isinstance(first, np.ndarray)
    second = chain()(x + 0, w + 0)
    assert isinstance(second, np.ndarray)
    assert second.tobytes() == first.tobytes()
    assert not np.shares_memory(first, second)
    assert second.ctypes.data % 64 == 0
    named = chain()(w=w, x=x)
    assert isinstance(named, np.ndarray)
    assert named.tobytes() == first.tobytes()


def test_an_output_is_what_is_returned():
    x, w = chain_inputs(6, 4)
    out = np.empty((6, 5), np.float32)
    for _ in range(3):
        assert chain()(x, w, out=out) is out
        assert chain()(x, w, out=[out]) is out


def test_errors_are_the_same_after_many_calls():
    x, w = chain_inputs(6, 4)
    out = np.empty((6, 5), np.float32)
    memory = np.zeros(6 * 5 + 6 * 4, np.float32)
    shared = memory[:24].reshape(6, 4), memory[20:50].reshape(6, 5)
    read_only = out.copy()
    read_only.flags.writeable = False
    odd = np.zeros(4 * 6 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(6, 4)
    bad: list[tuple[tuple[Any, ...], Any, str]] = [
        (
            (x[:, :3], w),
            None,
            "%x of 'chain' has extent 3 and axis 0 of argument %w of 'chain' has extent 4",
        ),
        ((x.astype(np.float64), w), None, "argument %x of 'chain' has dtype float64, expected float32"),
        ((x.astype(">f4"), w), None, "whose byte order is not this machine's"),
        ((np.ma.masked_array(x), w), None, "argument %x of 'chain' is a masked array"),
        ((odd, w), None, "argument %x of 'chain' starts at an address that is no multiple of 4 bytes"),
        ((x[:0], w), None, "argument %x of 'chain' has extent 0 on axis 0"),
        ((x.tolist(), w), None, "argument %x of 'chain' is of type 'list'"),
        ((x,), None, "'chain' needs arrays for w"),
        ((x, w, w), None, "'chain' takes 2 arrays, got 3"),
        ((x, w), read_only, "result 0 of 'chain' is read-only"),
        ((x, w), [out, out], "'chain' has 1 results, got 2 arrays as `out`"),
        ((x, w), out[:5], "result 0 of 'chain' has shape [5, 5], expected [6, 5]"),
        ((shared[0], w), shared[1], "result 0 of 'chain' shares memory with argument %x of 'chain'"),
        ((x, w), np.broadcast_to(out[:, :1], (6, 5)), "result 0 of 'chain' is read-only"),
    ]
    for _ in range(3):
        assert_chain(chain()(x, w), x, w)
        assert_chain(chain()(x, w, out=out), x, w)
        for arrays, place, sentence in bad:
            with pytest.raises(InputError) as error:
                chain()(*arrays, out=place)
            assert sentence in str(error.value)


def test_outputs_between_the_elements_of_an_argument():
    x, w = chain_inputs(6, 4)
    wide = np.zeros((6, 10), np.float32)
    wide[:, ::2][:, :4] = x
    for _ in range(3):
        chain()(wide[:, ::2][:, :4], w, out=wide[:, 1::2])
        assert_chain(wide[:, 1::2], x, w)
        assert np.array_equal(wide[:, ::2][:, :4], x)


def test_one_array_for_two_arguments():
    compiled = compile_program(
        """
        func.func @square(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
          %z = array.matmul %x, %y : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
          func.return %z : tensor<?x?xf32>
        }
        """
    )
    x, y = np.random.default_rng(0).standard_normal((2, 5, 5), np.float32)
    for one, other in ((x, x), (x, y), (y, y), (x, x)):
        assert np.abs(compiled(one, other) - one @ other).max() < 1e-5


def test_threads_repeat_calls_at_once():
    arguments = [chain_inputs(20 + number % 3, 30, seed=number) for number in range(6)]
    wanted = [chain()(*each) for each in arguments]
    results: dict[int, list[object]] = {}

    def work(number: int) -> None:
        results[number] = [chain()(*arguments[number]) for _ in range(200)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, first in enumerate(wanted):
        assert isinstance(first, np.ndarray)
        assert all(np.array_equal(np.asarray(each), first) for each in results[number])


def test_arguments_of_several_dtypes():
    x, w = chain_inputs(6, 4, dtype=ml_dtypes.bfloat16)
    compiled = chain("bf16")
    for _ in range(2):
        assert_chain(compiled(x, w), x, w, 0.02)
        # As numpy loads it from a file.
        untyped = compiled(x.view("V2"), w, out=(out := np.zeros((6, 5), "V2")))
        assert_chain(untyped, x, w, 0.02)
        assert_chain(out.view(ml_dtypes.bfloat16), x, w, 0.02)


class Foreign:
    """An array of another library: nothing but DLPack."""

    def __init__(self, array: Array):
        self.array = array

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_repeated_calls_read_dlpack(monkeypatch: pytest.MonkeyPatch):
    x, w = chain_inputs(6, 4)
    out = np.zeros((6, 5), np.float32)
    chain()(Foreign(x), w, out=Foreign(out))
    monkeypatch.setattr(call, "Call", None)
    for factor in (2, 3):
        assert_chain(chain()(Foreign(factor * x), w, out=Foreign(out)), factor * x, w)
        assert_chain(out, factor * x, w)


def test_bound_arguments_are_read_at_each_call():
    x, w = chain_inputs(6, 4)
    prepared = chain().prepare(w=w)
    other = chain().prepare(w=2 * w)
    for factor in (1, 2, 3):
        assert_chain(prepared(factor * x), factor * x, w)
        assert_chain(other(factor * x), factor * x, 2 * w)
        with pytest.raises(InputError, match="shares memory with argument %w of 'chain'"):
            prepared(x[:4], out=np.ndarray((4, 5), np.float32, w))


def test_parts_of_arguments_that_the_host_takes(monkeypatch: pytest.MonkeyPatch):
    text = """
    func.func @halves(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
      %a = array.slice %x offsets [0, 0] sizes [6, 4] : tensor<6x8xf32> -> tensor<6x4xf32>
      %b = array.slice %x offsets [0, 4] sizes [6, 4] : tensor<6x8xf32> -> tensor<6x4xf32>
      %s = array.elementwise (%p = %a, %q = %b) : tensor<6x4xf32>, tensor<6x4xf32> -> tensor<6x4xf32> {
        %r = arith.subf %p, %q : f32
        array.yield %r : f32
      }
      func.return %s : tensor<6x4xf32>
    }
    """
    compiled = compile_program(text)
    x = np.random.default_rng(0).standard_normal((6, 8), np.float32)
    compiled(x)
    monkeypatch.setattr(call, "Call", None)
    for factor in (1, 2):
        assert np.array_equal(compiled(factor * x), factor * x[:, :4] - factor * x[:, 4:])


def test_intermediate_arrays_share_memory_only_when_one_is_done_with():
    arrays = [
        Intermediate(1000, 0, 1),
        Intermediate(64, 1, 2),
        Intermediate(900, 2, 3),
        Intermediate(70, 0, 3),
    ]
    total = lay_out(arrays)
    for number, one in enumerate(arrays):
        assert one.offset % 64 == 0
        assert one.offset + one.bytes <= total
        for other in arrays[:number]:
            if one.first <= other.last and other.first <= one.last:
                assert one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
    assert arrays[0].offset == arrays[2].offset
    assert total == 1024 + 128 + 64
    assert lay_out([]) == 0


def test_memory_of_intermediate_arrays_is_kept_only_up_to_a_size(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(call_plan, "_KEPT_BYTES", 0)
    compiled = compile_program(CHAIN.replace("ELEMENT", "f32"), pipeline=UNFUSED)
    x, w = chain_inputs(70, 50)
    for factor in (1, 2, 3):
        assert_chain(compiled(factor * x, w), factor * x, w)


def test_layouts_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(call_plan, "_MOST_PLANS", 2)
    compiled = compile_program(CHAIN.replace("ELEMENT", "f32"), pipeline=UNFUSED)
    for _ in range(2):
        for rows in range(1, 6):
            x, w = chain_inputs(rows, 4)
            assert_chain(compiled(x, w), x, w)
            assert_chain(compiled(x, w), x, w)
