"""Identifiers of the CUDA emitter's own text, which names of a program must not take."""

from __future__ import annotations

from ..names import Names

OWN = (
    "bb_shared",
    "scratch",
    "own_scratch",
    "scratch_bytes",
    "task",
    "tasks",
    "rest",
    "i",
    "j",
    "h",
    "e",
    "row",
    "col",
    "lane",
    "warp",
    "total",
    "c",
    "s",
    "a",
    "b",
    "edge",
    "inside",
    "to",
    "from",
    "Row",
    "k",
    "stage",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "THREADS",
    "WARPS",
    "ROWS",
    "STAGES",
    "row0",
    "col0",
    "min",
    "max",
    "half",
    "float2",
    "uint4",
    "dim3",
    "size_t",
    "careful",
    "again",
)


def cuda_names() -> Names:
    """Return the names of one kernel."""
    return Names(OWN)
