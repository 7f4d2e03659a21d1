"""Constant weights: packed once, when an executable is prepared, in the order in which kernels read them."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from bb.dialects import kernel
from bb.dialects.diagnostics import OpError
from bb.runtime.api import compile_program
from bb.runtime.arrays import limits as memory
from bb.runtime.arrays.dtypes import BFLOAT16
from bb.runtime.checking.tolerances import BOUNDS, compare
from bb.runtime.errors import InputError
from bb.runtime.executable.executable import Executable
from numpy.typing import NDArray

pytestmark = pytest.mark.long

Array = NDArray[Any]
DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f16": np.dtype(np.float16),
    "bf16": BFLOAT16,
}


def feed_forward(element: str, rows: int | str, width: int = 517, hidden: int = 311) -> str:
    """silu(rms_norm(x) w1) w2, where no extent is a multiple of anything."""

    def tensor(*shape: int | str) -> str:
        return f"tensor<{'x'.join(map(str, shape))}x{element}>"

    x, a = tensor(rows, width), tensor(rows, hidden)
    w1, w2 = tensor(width, hidden), tensor(hidden, width)
    return f"""func.func @feed_forward(%x: {x}, %w1: {w1}, %w2: {w2}) -> {x} {{
  %n = array.rms_norm %x eps 1.0e-5 : {x}
  %a = array.matmul %n, %w1 : {x}, {w1} -> {a}
  %h = array.silu %a : {a}
  %o = array.matmul %h, %w2 : {a}, {w2} -> {x}
  func.return %o : {x}
}}
"""


@cache
def compiled(element: str, rows: int | str, constants: tuple[str, ...] = ("w1", "w2")) -> Executable:
    return compile_program(feed_forward(element, rows), constants=constants)


def arrays(element: str, rows: int, seed: int = 0, width: int = 517, hidden: int = 311) -> list[Array]:
    rng = np.random.default_rng(seed)
    shapes = ((rows, width), (width, hidden), (hidden, width))
    return [(rng.standard_normal(shape) / shape[0] ** 0.5).astype(DTYPES[element]) for shape in shapes]


def exact(x: Array, w1: Array, w2: Array) -> Array:
    x, w1, w2 = (array.astype(np.float64) for array in (x, w1, w2))
    a = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) @ w1
    return a / (1 + np.exp(-a)) @ w2


def packed(executable: Executable) -> list[kernel.PackedAttr]:
    """The layouts that the launches of a program make."""
    types = (op.results_.types[0] for op in executable.function.walk() if isinstance(op, kernel.LaunchOp))
    return [type.encoding for type in types if isinstance(type.encoding, kernel.PackedAttr)]


ROWS = (1, 3, 8, 9, 100)
USUAL = {"f32": (1, 8, 100), "bf16": (3, 9, 100), "f16": (3,), "f64": (8,)}
"""Rows for each type; `make fuzz` tries all."""


@pytest.mark.parametrize(
    ("element", "rows"),
    [
        pytest.param(element, rows, marks=() if rows in USUAL[element] else pytest.mark.slow)
        for element in DTYPES
        for rows in ROWS
    ],
)
def test_packed_weights_give_what_plain_ones_give(element: str, rows: int):
    executable = compiled(element, rows)
    # What is multiplied in bf16 lies in pairs.
    assert [layout.depth.data for layout in packed(executable)] == [1 + (element == "bf16")] * 2
    x, w1, w2 = arrays(element, rows)
    prepared = executable.prepare(w1=w1, w2=w2)
    found, wanted = prepared(x), exact(x, w1, w2)
    assert compare(found, wanted, BOUNDS[element]).within
    assert np.array_equal(found, prepared(x, threads=1), equal_nan=True)
    for _ in range(2):  # not bound, they are packed in each call; later calls may go another way
        assert np.array_equal(found, executable(x, w1, w2))
    assert compare(compiled(element, rows, ())(x, w1, w2), wanted, BOUNDS[element]).within


def test_what_is_multiplied_in_bf16_is_kept_in_pairs():
    source = compiled("bf16", 100).source
    # Two products, and again for rows that are very large.
    assert source.count("bb::store_pairs<T>(") == source.count("bb::contract_bf16_packed(") == 4
    assert "bb::store_packed_pairs<T>(" in source
    assert "bb::store_pairs<T>(" in compiled("bf16", 100, ()).source
    few = compiled("bf16", 3).source
    assert few.count("bb::store_packed_pairs<T>(") == 2
    assert few.count("bb::contract_bf16_panels(") == 4
    assert "pairs" not in compiled("f16", 100).source + compiled("f16", 3).source


@pytest.mark.parametrize(
    ("old", "new"), [(" multiply bf16", ""), ("by 6 x 2", "by 6 x 4")], ids=["in f32", "by fours"]
)
@pytest.mark.parametrize("rows", [3, 100])
def test_what_has_no_form_in_pairs_is_refused(old: str, new: str, rows: int):
    text = str(compiled("bf16", rows).module).replace("by 32 x 2", "by 6 x 2")
    assert old in text
    with pytest.raises(OpError, match=r"has no form on a CPU: .*pairs"):
        _ = compile_program(text.replace(old, new), pipeline="").source


@pytest.mark.parametrize("rows", [2, 130])
def test_rows_may_be_unknown(rows: int):
    x, w1, w2 = arrays("f32", rows)
    prepared = compiled("f32", "?").prepare(w1=w1, w2=w2)
    assert compare(prepared(x), exact(x, w1, w2), BOUNDS["f32"]).within


@pytest.mark.parametrize("rows", [3, 100])
def test_an_executable_is_prepared_again_with_other_weights(rows: int):
    executable = compiled("f32", rows)
    x, w1, w2 = arrays("f32", rows)
    _, other1, other2 = arrays("f32", rows, seed=1)
    first, second = executable.prepare(w1=w1, w2=w2), executable.prepare(w1=other1, w2=other2)
    mixed = executable.prepare(w1=w1, w2=other2)
    for prepared, weights in ((first, (w1, w2)), (second, (other1, other2)), (mixed, (w1, other2))):
        assert compare(prepared(x), exact(x, *weights), BOUNDS["f32"]).within


def test_weights_of_any_strides_are_packed():
    x, w1, w2 = arrays("f32", 70)
    plain = compiled("f32", 70).prepare(w1=w1, w2=w2)(x)
    turned = compiled("f32", 70).prepare(w1=np.asfortranarray(w1), w2=w2[::-1, ::-1].copy()[::-1, ::-1])(x)
    assert np.array_equal(plain, turned)


def test_only_some_weights_may_be_bound():
    executable = compiled("f32", 5)
    x, w1, w2 = arrays("f32", 5)
    assert np.array_equal(executable.prepare(w2=w2)(x, w1), executable.prepare(w1=w1, w2=w2)(x))


def test_what_was_not_declared_constant_is_when_it_is_bound():
    executable = compiled("f32", 66, ())
    assert packed(executable) == []
    x, w1, w2 = arrays("f32", 66)
    prepared = executable.prepare(w1=w1, w2=w2)
    assert len(packed(prepared.executable)) == 2
    assert executable.prepare(w2=w2, w1=w1).executable is prepared.executable
    assert np.array_equal(prepared(x), compiled("f32", 66).prepare(w1=w1, w2=w2)(x))


def test_executables_are_pickled_without_weights():
    executable = compiled("f32", 66)
    x, w1, w2 = arrays("f32", 66)
    again = pickle.loads(pickle.dumps(executable))
    assert np.array_equal(again.prepare(w1=w1, w2=w2)(x), executable.prepare(w1=w1, w2=w2)(x))


def test_weights_that_do_not_fit_are_refused_before_they_are_packed(monkeypatch: pytest.MonkeyPatch):
    executable = compile_program(feed_forward("f32", 64, 2048, 2200), constants=["w1", "w2"])
    x, w1, w2 = arrays("f32", 64, 0, 2048, 2200)
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 20)
    with pytest.raises(InputError, match=r"needs 18.6 MiB, but only 1.0 MiB of memory are available"):
        executable.prepare(w1=w1, w2=w2)
    monkeypatch.undo()
    assert compare(executable.prepare(w1=w1, w2=w2)(x), exact(x, w1, w2), BOUNDS["f32"]).within


def test_large_arrays_are_aligned_to_pages():
    array = memory.allocate_on_large_pages("weights", [3, 1 << 20], np.dtype(np.float32))
    assert array.ctypes.data % (1 << 21) == 0
    assert not array.any()
    small = memory.allocate_on_large_pages("weights", [5], np.dtype(np.float64))
    assert small.ctypes.data % memory.ALIGNMENT == 0
    assert not small.any()
