"""Masks of every kind, fused and stabilised: what is hidden counts for nothing, -inf - (-inf) is never NaN.

A row that -inf hides everywhere is 0 in attention and softmax, and -inf in a log-softmax; a finite mask keeps
its meaning. In f32, f16 and bf16 against float64, in every snapshot's chain end, with and without padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.runtime.arrays.dtypes import BFLOAT16, to_dtype
from bb.runtime.interpreter.functions import interpret
from bb.tools.docs.hard_inputs import error
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long

Array = NDArray[Any]

H, M, N, D, L = 2, 12, 20, 16, 6
DTYPES: Mapping[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": BFLOAT16,
}
BOUNDS = {"f32": 2e-6, "f16": 2e-3, "bf16": 1e-2}
PIPELINES = {
    "first snapshot": "block-fuse{snapshot=0},block-stabilize",
    "last snapshot": "block-fuse,block-stabilize",
    "padded": "block-fuse,block-stabilize,block-mask-remainders",
}
BLOCK_SIZE = 8


@dataclass(frozen=True)
class Program:
    """A program of scores and a mask: the mask's type, how it is applied, and what a hidden row gives."""

    text: str
    boolean: bool = False
    hidden: float = 0.0


def attention(mask: str, options: str, *, heads: int = 1) -> str:
    """Attention of queries [M, D] with `%m` for a mask; `heads` query heads share one of k and v."""
    lead = f"{heads}x" if heads > 1 else ""
    one = "1x" if heads > 1 else ""
    q, k, v, o = f"{lead}{M}x{D}xT", f"{one}{N}x{D}xT", f"{one}{N}x{L}xT", f"{lead}{M}x{L}xT"
    return f"""
func.func @f(%q: tensor<{q}>, %k: tensor<{k}>, %v: tensor<{v}>, %m: tensor<{M}x{N}x{mask}>) -> tensor<{o}> {{
  %y = array.attention %q, %k, %v {options} : tensor<{q}>, tensor<{k}>, tensor<{v}> -> tensor<{o}>
  func.return %y : tensor<{o}>
}}
"""


def rows(*body: str, mask: str) -> str:
    """A program of scores [M, N], to which a mask is applied first."""
    apply = "arith.select %b, %a, %inf" if mask == "i1" else "arith.addf %a, %b"
    return f"""
func.func @f(%x: tensor<{M}x{N}xT>, %m: tensor<{M}x{N}x{mask}>) -> tensor<{M}x{N}xT> {{
  %s = array.elementwise (%a = %x, %b = %m)
      : tensor<{M}x{N}xT>, tensor<{M}x{N}x{mask}> -> tensor<{M}x{N}xT> {{
    %inf = arith.constant INFINITY : T
    %r = {apply} : T
    array.yield %r : T
  }}
  {"".join(body)}
  func.return %y : tensor<{M}x{N}xT>
}}
"""


SOFTMAX = f"%y = array.softmax %s axis 1 : tensor<{M}x{N}xT>"
LOG_SOFTMAX = f"""
  %wide = array.elementwise (%a = %s) : tensor<{M}x{N}xT> -> tensor<{M}x{N}xf32> {{
    %w = arith.extf %a : T to f32
    array.yield %w : f32
  }}
  %top = array.reduce max %wide axes [1] keepdims : tensor<{M}x{N}xf32> -> tensor<{M}x1xf32>
  %shifted = array.elementwise (%a = %wide, %b = %top)
      : tensor<{M}x{N}xf32>, tensor<{M}x1xf32> -> tensor<{M}x{N}xf32> {{
    %d = arith.subf %a, %b : f32
    array.yield %d : f32
  }}
  %exp = array.elementwise (%a = %shifted) : tensor<{M}x{N}xf32> -> tensor<{M}x{N}xf32> {{
    %e = math.exp %a : f32
    array.yield %e : f32
  }}
  %sum = array.reduce sum %exp axes [1] keepdims : tensor<{M}x{N}xf32> -> tensor<{M}x1xf32>
  %log = array.elementwise (%a = %shifted, %b = %sum)
      : tensor<{M}x{N}xf32>, tensor<{M}x1xf32> -> tensor<{M}x{N}xf32> {{
    %l = math.log %b : f32
    %d = arith.subf %a, %l : f32
    array.yield %d : f32
  }}
  %y = array.elementwise (%a = %log) : tensor<{M}x{N}xf32> -> tensor<{M}x{N}xT> {{
    %r = arith.truncf %a : f32 to T
    array.yield %r : T
  }}
"""
LOG_SOFTMAX_F32 = LOG_SOFTMAX[LOG_SOFTMAX.index("%top") : LOG_SOFTMAX.index("  %y =")]
LOG_SOFTMAX_F32 = LOG_SOFTMAX_F32.replace("%wide", "%s").replace("%log", "%y")
MASK, BIAS = f"mask(%m : tensor<{M}x{N}xi1>)", f"bias(%m : tensor<{M}x{N}xT>)"
PROGRAMS = {
    "attention, additive": Program(attention("T", BIAS)),
    "attention, boolean": Program(attention("i1", MASK), boolean=True),
    "attention, causal and additive": Program(attention("T", f"{BIAS} causal")),
    "attention, causal and boolean": Program(attention("i1", f"{MASK} causal"), boolean=True),
    "grouped attention, boolean": Program(attention("i1", MASK, heads=H), boolean=True),
    "softmax, additive": Program(rows(SOFTMAX, mask="T")),
    "softmax, boolean": Program(rows(SOFTMAX, mask="i1"), boolean=True),
    "log-softmax, additive": Program(rows(LOG_SOFTMAX, mask="T"), hidden=-np.inf),
    "log-softmax, boolean": Program(rows(LOG_SOFTMAX, mask="i1"), boolean=True, hidden=-np.inf),
}
INFINITIES = {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80"}


@cache
def source(name: str, element_type: str) -> ModuleOp:
    text = PROGRAMS[name].text.replace("INFINITY", INFINITIES[element_type])
    if element_type == "f32":
        text = text.replace(LOG_SOFTMAX, LOG_SOFTMAX_F32)
    text = text.replace("xT>", f"x{element_type}>").replace(" T\n", f" {element_type}\n")
    return parse_module(text.replace(" T to ", f" {element_type} to "), "test.mlir")


@cache
def program(name: str, element_type: str, passes: str) -> ModuleOp:
    module = source(name, element_type).clone()
    PassPipeline(f"array-decompose,array-to-block,{passes}").run(module)
    verify(module)
    return module


def kept(kind: str) -> NDArray[np.bool_]:
    """Return the keys that each row sees, as a boolean for each row and key."""
    keep = np.random.default_rng(1).random((M, N)) < 0.6
    match kind:
        case "some keys":
            keep[:, 0] = True
        case "hidden rows":
            keep[:, 0] = True
            keep[::3] = False
        case "hidden columns":
            keep[:] = True
            keep[:, :13] = False  # a whole block of them, the first one
        case "first key only":
            keep[:] = False
            keep[:, 0] = True
        case _:
            keep[:] = False
    return keep


KINDS = ("some keys", "hidden rows", "hidden columns", "first key only", "everything hidden")


def operands(name: str, element_type: str, mask: Array) -> list[Array]:
    rng = np.random.default_rng(0)
    quarters = [
        rng.integers(-8, 8, shape) / 4
        for shape in ([(M, N)] if "softmax" in name else [(M, D), (N, D), (N, L)])
    ]
    if "grouped" in name:
        quarters = [np.stack([quarters[0], -quarters[0]]), quarters[1][None], quarters[2][None]]
    return [*(to_dtype(x, DTYPES[element_type]) for x in quarters), mask]


def softmax(scores: Array) -> Array:
    """In float64; 0 in rows of nothing but -inf."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.nan_to_num(weights / weights.sum(axis=-1, keepdims=True))


def expected(name: str, arrays: Sequence[Array], bias: Array) -> Array:
    """By numpy, with a mask as something to be added."""
    if "softmax" in name:
        scores = arrays[0].astype(np.float64) + bias
        if "log" not in name:
            return softmax(scores)
        with np.errstate(invalid="ignore", divide="ignore"):
            shifted = scores - scores.max(axis=-1, keepdims=True)
            logarithms = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        return np.where(np.isnan(logarithms), -np.inf, logarithms)
    q, k, v = (array.astype(np.float64) for array in arrays[:3])
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(D) + bias
    if "causal" in name:
        scores = np.where(np.arange(N) <= np.arange(M)[:, None], scores, -np.inf)
    return softmax(scores) @ v


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_hidden_counts_for_nothing(name: str, element_type: str, pipeline: str):
    boolean = PROGRAMS[name].boolean
    module = program(name, element_type, PIPELINES[pipeline])
    for kind in KINDS:
        keep = kept(kind)
        bias = np.where(keep, 0.0, -np.inf)
        arrays = operands(name, element_type, keep if boolean else to_dtype(bias, DTYPES[element_type]))
        run = interpret(module, arrays, default_block_size=BLOCK_SIZE, padded=pipeline == "padded")
        wanted = expected(name, arrays, bias)
        assert error(run.results[0], wanted) <= BOUNDS[element_type], kind
        hidden = ~keep.any(axis=1)
        rows = run.results[0][..., hidden, :].astype(np.float64)
        assert np.array_equal(rows, np.full_like(rows, PROGRAMS[name].hidden)), kind


@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if not program.boolean])
def test_finite_masks_keep_their_meaning(name: str, element_type: str):
    """A row that is masked everywhere by one number is what it is without the mask."""
    number = -30000.0 if element_type == "f16" else -1e9
    module = program(name, element_type, PIPELINES["last snapshot"])
    for kind in ("some keys", "everything hidden"):
        bias = to_dtype(np.where(kept(kind), 0.0, number), DTYPES[element_type])
        arrays = operands(name, element_type, bias)
        arrays[0] = np.zeros_like(arrays[0])  # scores of 0, so that adding the mask is exact
        got = interpret(module, arrays, default_block_size=BLOCK_SIZE).results[0]
        assert error(got, expected(name, arrays, bias.astype(np.float64))) <= BOUNDS[element_type], kind
