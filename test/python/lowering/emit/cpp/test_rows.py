"""Programs over rows: sweeps on arrays where they lie, and results that go past the caches.

Streamed results must be those of ordinary stores, bit by bit, at all alignments, and nothing beside them may
change.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.dialects import kernel
from bb.lowering.frontends.mlir_text import parse
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.checking.tolerances import BOUNDS, compare
from bb.runtime.executable.executable import Executable
from bb.runtime.host.settings import SettingError
from bb.runtime.interpreter.functions import interpret
from cpu_programs import Array

pytestmark = pytest.mark.long

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f64": np.float64,
}
PROGRAMS = """
func.func @softmax(%x: tensor<?x?xELEMENT>) -> tensor<?x?xELEMENT> {
  %p = array.softmax %x axis 1 : tensor<?x?xELEMENT>
  func.return %p : tensor<?x?xELEMENT>
}
func.func @softmax_130(%x: tensor<?x130xELEMENT>) -> tensor<?x130xELEMENT> {
  %p = array.softmax %x axis 1 : tensor<?x130xELEMENT>
  func.return %p : tensor<?x130xELEMENT>
}
func.func @softmax_4096(%x: tensor<?x4096xELEMENT>) -> tensor<?x4096xELEMENT> {
  %p = array.softmax %x axis 1 : tensor<?x4096xELEMENT>
  func.return %p : tensor<?x4096xELEMENT>
}
func.func @rms_norm_4096(%x: tensor<?x4096xELEMENT>, %g: tensor<4096xELEMENT>) -> tensor<?x4096xELEMENT> {
  %p = array.rms_norm %x scale(%g : tensor<4096xELEMENT>) eps 1.000000e-06 : tensor<?x4096xELEMENT>
  func.return %p : tensor<?x4096xELEMENT>
}
func.func @gate_4112(
  %x: tensor<?x4112xELEMENT>, %b: tensor<4112xELEMENT>, %g: tensor<?x4112xELEMENT>
) -> tensor<?x4112xELEMENT> {
  %s = array.elementwise (%p = %x, %q = %b)
    : tensor<?x4112xELEMENT>, tensor<4112xELEMENT> -> tensor<?x4112xELEMENT> {
    %r = arith.addf %p, %q : ELEMENT
    array.yield %r : ELEMENT
  }
  %a = array.gelu exact %s : tensor<?x4112xELEMENT>
  %o = array.elementwise (%p = %a, %q = %g)
    : tensor<?x4112xELEMENT>, tensor<?x4112xELEMENT> -> tensor<?x4112xELEMENT> {
    %r = arith.mulf %p, %q : ELEMENT
    array.yield %r : ELEMENT
  }
  func.return %o : tensor<?x4112xELEMENT>
}
"""
WIDTHS = {"softmax": 37, "softmax_130": 130, "softmax_4096": 4096, "rms_norm_4096": 4096, "gate_4112": 4112}
EVERYTHING, NOTHING = 1, 2**62


@cache
def executables(element: str) -> dict[str, Executable]:
    return compile_all(PROGRAMS.replace("ELEMENT", element))


@pytest.fixture
def streaming(request: pytest.FixtureRequest) -> Iterator[Executable]:
    """One executable of a dtype, of whose object all results go past the caches."""
    one = executables(request.param)["softmax"]
    one.library.stream_from(EVERYTHING)
    yield one
    one.library.stream_from(NOTHING)


def inputs(name: str, rows: int, dtype: Any, columns: int | None = None) -> list[Array]:
    rng = np.random.default_rng(0)
    width = WIDTHS[name] if columns is None else columns
    shapes: dict[str, list[tuple[int, ...]]] = {
        "rms_norm_4096": [(rows, width), (width,)],
        "gate_4112": [(rows, width), (width,), (rows, width)],
    }
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes.get(name, [(rows, width)])]


def placed(shape: tuple[int, int], dtype: Any, offset: int, gap: int) -> tuple[Array, Array]:
    """An array that begins `offset` elements after a multiple of 64 bytes and has `gap` elements between its
    rows, in memory full of sevens; and that memory.
    """
    size = np.dtype(dtype).itemsize
    raw = np.zeros((shape[0] + 2) * (shape[1] + gap) * size + 64 * (offset + 2), np.uint8)
    start = -raw.ctypes.data % 64
    memory = raw[start : start + raw.nbytes // 64 * 64 - 64].view(dtype)
    memory[...] = 7
    rows = np.lib.stride_tricks.as_strided(
        memory[offset:], shape, ((shape[1] + gap) * size, size), writeable=True
    )
    return rows, memory


@pytest.mark.parametrize("element", list(DTYPES))
@pytest.mark.parametrize("name", list(WIDTHS))
def test_values(element: str, name: str) -> None:
    executable = executables(element)[name]
    arrays = inputs(name, 5, DTYPES[element])
    executable.library.stream_from(EVERYTHING)
    try:
        streamed = executable(*arrays)
    finally:
        executable.library.stream_from(NOTHING)
    stored = executable(*arrays, threads=1)
    assert isinstance(streamed, np.ndarray)
    assert isinstance(stored, np.ndarray)
    assert streamed.tobytes() == stored.tobytes()
    module = parse(PROGRAMS.replace("ELEMENT", element))
    wanted = interpret(module, arrays, entry=name, float64=True).results[0]
    assert compare(stored, wanted, BOUNDS[element]).within


@pytest.mark.parametrize("streaming", list(DTYPES), indirect=True)
def test_alignments(streaming: Executable) -> None:
    element = next(each for each in DTYPES if executables(each)["softmax"] is streaming)
    dtype = DTYPES[element]
    for name, rows in (("softmax", 19), ("softmax_130", 40), ("softmax_4096", 3), ("gate_4112", 3)):
        executable = executables(element)[name]
        arrays = inputs(name, rows, dtype)
        wanted = executable(*arrays)
        assert isinstance(wanted, np.ndarray)
        for offset in (0, 1, 3, 8, 17, 31):
            for gap in (0, 1, 6, 16, 32):
                out, memory = placed(wanted.shape, dtype, offset, gap)
                executable(*arrays, out=out, threads=2)
                assert out.tobytes() == wanted.tobytes()
                out[...] = 7
                assert (memory == 7).all()


@pytest.mark.parametrize("streaming", list(DTYPES), indirect=True)
def test_short_rows(streaming: Executable) -> None:
    element = next(each for each in DTYPES if executables(each)["softmax"] is streaming)
    for columns in (1, 2, 7, 15, 16, 17, 31, 33, 255, 257, 300):
        (x,) = inputs("softmax", 18, DTYPES[element], columns)
        wanted = streaming(x)
        assert isinstance(wanted, np.ndarray)
        for offset in (0, 1, 5):
            out, memory = placed(x.shape, DTYPES[element], offset, 3)
            streaming(x, out=out)
            assert out.tobytes() == wanted.tobytes()
            out[...] = 7
            assert (memory == 7).all()


@pytest.mark.parametrize("streaming", ["f32", "bf16"], indirect=True)
def test_strides(streaming: Executable) -> None:
    element = "f32" if executables("f32")["softmax"] is streaming else "bf16"
    for name in ("softmax_130", "softmax_4096", "gate_4112"):
        executable = executables(element)[name]
        arrays = inputs(name, 4, DTYPES[element])
        wanted = executable(*arrays)
        assert isinstance(wanted, np.ndarray)
        wide = np.zeros((8, 2 * wanted.shape[1]), wanted.dtype)
        wide[::2, ::2] = arrays[0]
        variants = [np.asfortranarray(arrays[0]), np.ascontiguousarray(arrays[0][::-1])[::-1], wide[::2, ::2]]
        outs = [np.zeros(wanted.shape[::-1], wanted.dtype).T, np.zeros_like(wanted)[::-1], wide[1::2, 1::2]]
        for x in variants:
            for out in outs:
                executable(x, *arrays[1:], out=out)
                assert out.tobytes() == wanted.tobytes()
        broadcast = np.broadcast_to(arrays[0][:1], arrays[0].shape)
        got = executable(broadcast, *arrays[1:])
        assert isinstance(got, np.ndarray)
        copied = executable(broadcast.copy(), *arrays[1:])
        assert isinstance(copied, np.ndarray)
        assert got.tobytes() == copied.tobytes()


def test_results_are_seen_by_the_next_kernel() -> None:
    text = PROGRAMS.replace("ELEMENT", "f32").partition("func.func @softmax_130")[0]
    twice = text.replace("func.return %p", "%q = array.softmax %p axis 1 : tensor<?x?xf32>\n  func.return %q")
    executable = compile_all(twice, pipeline=PIPELINES["cpu-unfused"])["softmax"]
    x = np.random.default_rng(0).standard_normal((700, 300), np.float32)
    wanted = executable(x, threads=1)
    executable.library.stream_from(EVERYTHING)
    try:
        for _ in range(5):
            assert np.array_equal(np.asarray(executable(x, threads=2)), np.asarray(wanted))
    finally:
        executable.library.stream_from(NOTHING)


def test_what_is_marked() -> None:
    module = parse(PROGRAMS.replace("ELEMENT", "f32"))
    PassPipeline(PIPELINES["cpu"]).run(module)
    for function in kernel.kernels_of(module):
        ops = [op for op in function.walk() if not kernel.in_redo(op)]
        loads = [op for op in ops if isinstance(op, kernel.LoadOp)]
        stores = [op for op in ops if isinstance(op, kernel.StoreOp)]
        if function.sym_name.data.startswith(("softmax_4096", "rms_norm_4096", "gate_4112")):
            assert all(op.in_place is not None for op in loads)
            assert [op.in_place is not None and op.stream is not None for op in stores] == [True]
            assert not any(isinstance(op, kernel.ForOp) for op in ops)


def kernel_source(name: str) -> str:
    """The emitted text of one kernel of the programs in bf16."""
    text = executables("bf16")[name].source
    return next(part for part in text.split("\n// kernel ") if part.startswith(name))


def test_rows_in_16_bits_are_not_copied_and_rounded_once() -> None:
    ordinary, _, redo = kernel_source("rms_norm_4096").partition("if (bb::any_set(")
    assert ordinary.count("_rows.load(") == 3  # x twice, and gamma
    assert redo.count("_rows.load(") == 3
    assert "bb::rounded" not in ordinary
    # The need for a redo, and one over the root of each row's mean: nothing is widened into a plane.
    assert ordinary.count("bb::store(") == 2


def test_each_operation_rounds_and_the_last_one_as_it_is_written() -> None:
    source = kernel_source("gate_4112")
    # The sum is rounded before gelu reads it, and gelu's result before it is multiplied.
    assert source.count("bb::rounded<bb::bf16>") == 2
    assert source.count("_rows.put(") == 1


def test_the_size_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAMS.replace("ELEMENT", "f32").partition("func.func @softmax_130")[0]
    monkeypatch.setenv("BB_STREAM_FROM", "1K")
    executable = compile_all(text)["softmax"]
    (x,) = inputs("softmax", 64, np.float32, 64)
    got = executable(x)
    assert isinstance(got, np.ndarray)
    executable.library.stream_from(NOTHING)
    assert got.tobytes() == np.asarray(executable(x)).tobytes()
    monkeypatch.setenv("BB_STREAM_FROM", "many")
    with pytest.raises(SettingError, match="BB_STREAM_FROM is 'many', expected a number of bytes"):
        compile_all(text)
