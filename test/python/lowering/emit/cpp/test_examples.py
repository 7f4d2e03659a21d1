"""Every example on the CPU agrees with the float64 interpreter, in every type and at odd extents."""

from __future__ import annotations

import pytest
from bb.runtime.checking.tolerances import BOUNDS
from cpu_programs import SHAPES, all_faults

pytestmark = pytest.mark.long

BLOCKS = "array-decompose,array-to-block,block-shapes"
FUSED = f"{BLOCKS},block-fuse{{extend=false}},block-stabilize"
PLACED = "kernel-hoist,kernel-fuse-sweeps"

PIPELINES = {
    "unfused": f"{BLOCKS},block-to-kernel",
    "unplaced": f"{BLOCKS},block-fuse,block-stabilize,block-to-kernel",
    "last snapshot": f"{BLOCKS},block-fuse{{snapshot=last}},block-stabilize,block-fuse-elementwise,"
    f"block-to-kernel,{PLACED}",
    "columns in lanes": f"{FUSED},block-to-kernel{{lanes=cols}},{PLACED}",
    "rows in lanes": f"{FUSED},block-to-kernel{{lanes=rows}},{PLACED}",
}


TYPES = [name for name in BOUNDS if name != "tf32"]
USUAL = {
    ("f32", "given"),
    ("f32", "primes"),
    ("bf16", "ones"),
    ("bf16", "past_block"),
    ("f16", "primes"),
    ("f64", "past_block"),
}
"""Each type and each kind of extents at least once; `make fuzz` tries all pairs."""
CASES = [
    pytest.param(dtype, shape, marks=() if (dtype, shape) in USUAL else pytest.mark.slow)
    for dtype in TYPES
    for shape in SHAPES
]


@pytest.mark.parametrize(("dtype", "shape"), CASES)
def test_types_and_extents(dtype: str, shape: str) -> None:
    assert all_faults(dtype, shape) == []


@pytest.mark.parametrize("pipeline", list(PIPELINES))
def test_other_pipelines(pipeline: str) -> None:
    assert all_faults("f32", "primes", PIPELINES[pipeline]) == []


def test_products_of_bf16_in_f32() -> None:
    assert all_faults("bf16", "primes", f"{FUSED},block-to-kernel{{multiply=f32}},{PLACED}") == []


@pytest.mark.parametrize(
    ("shape", "block_size"), [pytest.param("past_block", 16, marks=pytest.mark.slow), ("primes", 4)]
)
def test_small_blocks(shape: str, block_size: int) -> None:
    assert all_faults("f32", shape, block_size=block_size) == []
