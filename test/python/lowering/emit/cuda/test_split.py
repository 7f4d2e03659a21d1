"""Long loops in parts on a GPU (`kernel-split-loops`): right results, which no schedule changes."""

from __future__ import annotations

import bb
import numpy as np
import pytest
from bb.runtime.calls.compile_options import CudaOptions
from cuda_evidence import complaints, run

pytestmark = pytest.mark.long


def decode(heads: int, queries: int, keys: int, width: int, type: str, *, causal: bool = False) -> str:
    q, k = (f"tensor<{heads}x{rows}x{width}x{type}>" for rows in (queries, keys))
    return f"""
func.func @decode(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
  %out = array.attention %q, %k, %v{" causal" if causal else ""} : {q}, {k}, {k} -> {q}
  func.return %out : {q}
}}"""


def product(rows: int, depth: int, columns: int, type: str) -> str:
    x, w, y = (f"tensor<{a}x{b}x{type}>" for a, b in ((rows, depth), (depth, columns), (rows, columns)))
    return f"""
func.func @product(%x: {x}, %w: {w}) -> {y} {{
  %y = array.matmul %x, %w : {x}, {w} -> {y}
  func.return %y : {y}
}}"""


def test_attention_of_one_query_goes_to_many_blocks():
    outcome = run(decode(2, 1, 1024, 32, "bf16"), "bf16")
    assert outcome.within, outcome.error
    assert [report.kernel for report in outcome.reports] == ["bbk_decode_kernel1_parts", "bbk_decode_kernel1"]
    assert outcome.mma > 0
    assert outcome.conflicts <= 1.1
    # The keys and the values are read once, whatever the number of parts.
    parts = outcome.reports[0]
    for name in ("k", "v"):
        assert parts.buffer(name).bytes_read == 2 * 1024 * 32 * 2
    arrays = bb.random_inputs(bb.parse(decode(2, 1, 1024, 32, "bf16")), 0)
    results = [
        bb.compile(
            decode(2, 1, 1024, 32, "bf16"), target="emulator", cuda=CudaOptions(check=True, seed=seed)
        )(*arrays)
        for seed in (1, 2)
    ]
    assert np.array_equal(*results)


def test_a_length_that_only_calls_know():
    """As the keys of a cache that grows: some parts are empty, or have a last block that is not full."""
    text = decode(2, 1, 999, 32, "f16").replace("999", "?")
    function = bb.compile(text, target="emulator", cuda=CudaOptions(check=True))
    assert "constexpr int S = 32;" in function.library.source
    random = np.random.default_rng(0)
    for length in (1, 64, 65, 2081):
        q, k, v = (random.standard_normal((2, n, 32)).astype(np.float16) for n in (1, length, length))
        scores = q.astype(float) @ k.astype(float).swapaxes(1, 2) / 32**0.5
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        wanted = weights / weights.sum(axis=2, keepdims=True) @ v.astype(float)
        assert np.abs(function(q, k, v) - wanted).max() < 2e-3
        parts, _ = function.library.reports
        for name in ("k", "v"):
            assert parts.buffer(name).bytes_read == 2 * length * 32 * 2


@pytest.mark.emulator_full
@pytest.mark.parametrize("tier", ["source", "ptx"])
@pytest.mark.parametrize(
    ("text", "type"),
    [
        (decode(2, 1, 2048, 64, "bf16"), "bf16"),
        (decode(1, 3, 1024, 32, "f16"), "f16"),
        (decode(1, 1, 512, 16, "f32"), "f32"),
        (product(8, 4096, 32, "bf16"), "bf16"),
        (product(3, 1024, 40, "f32"), "f32"),
        (decode(1, 1, 1061, 24, "f32"), "f32"),
        (decode(2, 5, 1061, 64, "bf16", causal=True), "bf16"),
        (product(3, 1000, 40, "f16"), "f16"),
    ],
)
def test_loops_in_parts(text: str, type: str, tier: str):
    outcome = run(text, type, tier=tier)
    assert len(outcome.reports) == 2
    assert complaints(outcome, type, tier) == []
