"""A key that a mask hides contributes nothing, whatever its key and value rows hold, on every target."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import bb
import numpy as np
import pytest
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.arrays.dtypes import BFLOAT16, to_dtype
from numpy.typing import NDArray

pytestmark = pytest.mark.long

Arrays = dict[str, NDArray[Any]]


def _attention(
    name: str, type: str, q: str, kv: str, mask: str = "", causal: bool = False, bias: str = ""
) -> str:
    """A function of an attention with the given shapes, a boolean mask, a causal one, and a bias."""
    width = kv.rsplit("x", 1)[1]
    result = f"{q.rsplit('x', 1)[0]}x{width}x{type}"
    arguments = [f"%q: tensor<{q}x{type}>", f"%k: tensor<{kv}x{type}>", f"%v: tensor<{kv}x{type}>"]
    clauses = ""
    if bias:
        arguments.append(f"%b: tensor<{bias}xf32>")
        clauses += f" bias(%b : tensor<{bias}xf32>)"
    if mask:
        arguments.append(f"%m: tensor<{mask}xi1>")
        clauses += f" mask(%m : tensor<{mask}xi1>)"
    clauses += " causal" if causal else ""
    return f"""
func.func @{name}({", ".join(arguments)}) -> tensor<{result}> {{
  %o = array.attention %q, %k, %v{clauses}
    : tensor<{q}x{type}>, tensor<{kv}x{type}>, tensor<{kv}x{type}> -> tensor<{result}>
  func.return %o : tensor<{result}>
}}
"""


def _functions(type: str) -> dict[str, str]:
    """The functions by name."""
    return {
        "same": _attention("same", type, "40x16", "100x16", mask="1x100"),
        "causal": _attention("causal", type, "70x32", "70x32", causal=True),
        "both": _attention("both", type, "40x16", "70x16", mask="40x70", causal=True, bias="1x70"),
        "grouped": _attention("grouped", type, "2x4x20x16", "2x2x20x16", causal=True),
        "decoding": _attention("decoding", type, "4x1x16", "2x90x16", mask="1x1x90"),
        "pairs": _attention("pairs", type, "40x16", "33x16", mask="40x33"),
        "rows": _attention("rows", type, "17x16", "40x16", mask="17x1"),
        "short": _attention("short", type, "13x16", "70x16", causal=True),
        "tall": _attention("tall", type, "70x16", "13x16", causal=True),
        "heads": _attention("heads", type, "2x4x20x16", "2x2x30x16", mask="2x1x1x30"),
    }


FEW = {
    ("cpu", "f16"): 1,
    ("cpu", "f64"): 1,
    ("cpu", "f32"): 5,
    ("cpu", "bf16"): 3,
    ("emulator", "f32"): 2,
    ("emulator", "bf16"): 1,
}
"""Numbers of functions to compile, the first ones, where it takes long."""


def _names(place: str, type: str) -> list[str]:
    return list(_functions(type))[: FEW.get((place, type))]


def _program(type: str, place: str = "arrays") -> str:
    functions = _functions(type)
    return "".join(functions[name] for name in _names(place, type))


@functools.cache
def _compiled(type: str, target: str) -> dict[str, Any]:
    return compile_all(_program(type, target), target=target)


@functools.cache
def _blocks(type: str, fused: bool) -> Any:
    passes = PIPELINES["cpu"].split(",block-to-kernel")[0] if fused else "array-decompose,array-to-block"
    passes = passes.replace("block-shapes,", "")
    return PassPipeline(passes).run(bb.parse(_program(type)))


def _on(place: str, type: str, name: str) -> Callable[[Arrays], NDArray[Any]]:
    """The function in one place: on a target, or on blocks of a size in the interpreter."""
    if place in ("cpu", "emulator"):
        executable = _compiled(type, place)[name]
        return lambda arrays: np.asarray(executable(*arrays.values()), np.float64)
    if place == "arrays":
        program: Any = _parsed(type)
        return lambda arrays: np.asarray(bb.run(program, arrays, entry=name), np.float64)
    kind, _, size = place.partition(" ")
    program = _blocks(type, kind == "fused")
    return lambda arrays: np.asarray(
        bb.run(program, arrays, entry=name, default_block_size=int(size)), np.float64
    )


PLACES = ("arrays", "unfused 64", "fused 16", "fused 512", "cpu", "emulator")


def _dtype(type: str) -> Any:
    return {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": BFLOAT16}[type]


@functools.cache
def _parsed(type: str) -> Any:
    return bb.parse(_program(type))


def _inputs(name: str, type: str, rng: np.random.Generator) -> Arrays:
    function = next(op for op in _parsed(type).ops if op.sym_name.data == name)
    arrays: Arrays = {}
    for argument in function.body.block.args:
        shape, key = argument.type.get_shape(), argument.name_hint
        assert key is not None
        if key == "m":
            arrays[key] = rng.random(shape) < 0.6
        elif key == "b":
            arrays[key] = rng.standard_normal(shape).astype(np.float32)
        else:
            arrays[key] = to_dtype(rng.standard_normal(shape), _dtype(type))
    return arrays


def _seen(arrays: Arrays, causal: bool) -> NDArray[np.bool_]:
    """Booleans [..., M, N]: the keys that each row sees."""
    q, k = arrays["q"].shape, arrays["k"].shape
    seen = np.ones((*q[:-1], k[-2]), np.bool_)
    if "m" in arrays:
        seen = seen & arrays["m"]
    return seen & np.tri(q[-2], k[-2], dtype=np.bool_) if causal else seen


def _is_causal(name: str) -> bool:
    return name in ("causal", "short", "tall", "both", "grouped")


GARBAGE = (np.nan, np.inf, -np.inf, 3e38, -6e4)


def _spoilt(arrays: Arrays, rows: NDArray[Any], rng: np.random.Generator, value: float | None) -> Arrays:
    """Copies with garbage, or with `value`, in some elements of the given rows of keys and values."""
    found = dict(arrays)
    for name in ("k", "v"):
        copy = arrays[name].copy()
        for row in np.argwhere(rows):
            width = copy.shape[-1]
            where = rng.random(width) < 0.5
            where[rng.integers(width)] = True
            garbage = rng.choice(GARBAGE, width) if value is None else np.full(width, value)
            mixed = np.where(where, garbage, copy[tuple(row)].astype(np.float64))
            copy[tuple(row)] = to_dtype(mixed, copy.dtype)
        found[name] = copy
    return found


def _cases() -> Iterator[tuple[str, str]]:
    for place in PLACES:
        yield place, "f32"
    yield from (("cpu", type) for type in ("bf16", "f16", "f64"))
    yield "emulator", "bf16"


def _least_seen(seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The keys [..., N] that no row sees, and the one that the fewest of the other rows see."""
    counts = seen.sum(axis=-2)
    fewest = np.where(counts == 0, seen.shape[-2], counts).min(axis=-1, keepdims=True)
    first = np.arange(seen.shape[-1]) == np.argmax(counts == fewest, axis=-1)[..., None]
    return (counts == 0) | (first & (counts == fewest) & (fewest < seen.shape[-2]))


@pytest.mark.parametrize(("place", "type"), list(_cases()))
def test_hidden_rows_change_no_bit(place: str, type: str):
    for number, name in enumerate(_names(place, type)):
        rng = np.random.default_rng(number)
        arrays = _inputs(name, type, rng)
        seen = _seen(arrays, _is_causal(name))
        heads = arrays["k"].shape[:-2]
        groups = seen.reshape(*heads, -1, seen.shape[-1]) if heads else seen
        hidden = _least_seen(groups)
        run = _on(place, type, name)
        with np.errstate(all="ignore"):
            expected = run(_spoilt(arrays, hidden, np.random.default_rng(7), 0.0))
            found = run(_spoilt(arrays, hidden, np.random.default_rng(7), None))
        meets = np.repeat(hidden, seen.shape[-3] // heads[-1], axis=-2) if heads else hidden
        clean = ~(seen & meets[..., None, :]).any(axis=-1)
        assert clean.any(), name
        np.testing.assert_array_equal(found[clean], expected[clean], err_msg=f"{name} of {type} on {place}")
        assert np.isfinite(found[clean]).all(), name


@pytest.mark.parametrize("place", PLACES)
def test_what_is_seen_is_as_in_float64(place: str):
    """A row is NaN or infinite where, and only where, float64 says so."""
    for number, name in enumerate(_names(place, "f32")):
        rng = np.random.default_rng(100 + number)
        arrays = _inputs(name, "f32", rng)
        v = arrays["v"].copy()
        spoilt = rng.random(v.shape) < 0.02
        v[spoilt] = rng.choice([np.nan, np.inf, -np.inf], spoilt.sum())
        arrays["v"] = v
        with np.errstate(all="ignore"):
            expected = np.asarray(bb.run(_parsed("f32"), arrays, entry=name, float64=True))
            found = _on(place, "f32", name)(arrays)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"{name} on {place}")
