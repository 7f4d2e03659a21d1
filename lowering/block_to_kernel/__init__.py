"""`block-to-kernel`: block programs become kernels, and functions that launch them on whole arrays."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.kernel import kernels_of
from ...passes.analysis.programs import block_programs
from .host import lower_function
from .layout import Orientation
from .placement import LOCAL_MEMORY, place_lists
from .products import Products


@dataclass(frozen=True)
class BlockToKernelPass(ModulePass):
    """Turn each nest of a block program into a kernel, and the program into a function that launches them.

    Every dim needs a block size (`block-shapes` chooses them). `lanes` says which axis of the tiles runs
    along the lanes of vectors: `rows` (chained contractions need no packing between them), `cols` (few rows,
    or no contractions), or `auto` for the better one, kernel by kernel. `multiply` says in which type
    contractions may multiply: `operands` (f16 and bf16 in the operands' type, to which the program rounds
    them anyway), `f32` (never in 16 bits) or `tf32` (as `operands`, and those of f32 in tf32, for targets
    with units for it). `local-memory` is how many bytes the tiles and the private lists
    of a worker may take in its caches; larger lists go to global memory.
    """

    name = "block-to-kernel"

    lanes: str = "auto"
    multiply: str = "operands"
    local_memory: int = LOCAL_MEMORY

    def __post_init__(self) -> None:
        if self.lanes not in tuple(Orientation):
            raise ValueError(f"option 'lanes' must be auto, rows or cols, got {self.lanes!r}")
        if self.multiply not in tuple(Products):
            raise ValueError(f"option 'multiply' must be operands, f32 or tf32, got {self.multiply!r}")
        if self.local_memory < 0:
            raise ValueError(f"option 'local-memory' must be a number of bytes, got {self.local_memory}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        given = set(kernels_of(op))
        for function in block_programs(op):
            lower_function(function, Orientation(self.lanes), Products(self.multiply))
        for function in kernels_of(op):
            if function not in given:
                place_lists(function, self.local_memory)
