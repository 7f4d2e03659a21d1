"""Every example compiled for the CPU agrees with the float64 interpreter, in every type and at odd extents."""

from __future__ import annotations

import pytest
from bb.runtime.tolerances import BOUNDS
from cpu_programs import SHAPES, all_faults

ALL = "array-decompose,array-to-block"
LAST = "block-to-kernel,kernel-hoist,kernel-fuse-sweeps"

PIPELINES = {
    "unfused": f"{ALL},block-shapes,block-to-kernel",
    "unplaced": f"{ALL},block-shapes,block-fuse,block-stabilize,block-to-kernel",
    "last snapshot": f"{ALL},block-shapes,block-fuse{{snapshot=last}},block-stabilize,block-fuse-elementwise,{LAST}",
    "columns in lanes": f"{ALL},block-shapes,block-fuse{{extend=false}},block-stabilize,block-to-kernel{{lanes=cols}},"
    "kernel-hoist,kernel-fuse-sweeps",
    "rows in lanes": f"{ALL},block-shapes,block-fuse{{extend=false}},block-stabilize,block-to-kernel{{lanes=rows}},"
    "kernel-hoist,kernel-fuse-sweeps",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_types_and_extents(dtype: str, shape: str) -> None:
    assert all_faults(dtype, shape) == []


@pytest.mark.parametrize("pipeline", list(PIPELINES))
def test_other_pipelines(pipeline: str) -> None:
    assert all_faults("f32", "primes", PIPELINES[pipeline]) == []


@pytest.mark.parametrize(("shape", "block_size"), [("past_block", 16), ("primes", 4)])
def test_small_blocks(shape: str, block_size: int) -> None:
    assert all_faults("f32", shape, block_size=block_size) == []
