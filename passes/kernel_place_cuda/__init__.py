"""`kernel-place-cuda`: where each tile of a kernel lives on a GPU, and who computes what.

The operations stay those of the `kernel` dialect; what a GPU needs is said in them: the memory spaces of
tiles, offsets in shared memory, loads of what contractions read, threads of a block.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects import kernel
from .general import place_generally
from .options import SHARED_MEMORY, THREADS, is_placed

__all__ = ["KernelPlaceCudaPass", "is_placed"]


@dataclass(frozen=True)
class KernelPlaceCudaPass(ModulePass):
    """Place the tiles of each kernel in the memories of a GPU, and say how many threads a block has.

    A kernel in which tiles have been placed already stays as it is. `shared-memory` is how many bytes of
    shared memory a block may take: tiles that do not fit lie in global memory. `threads` is the number of
    threads of a block, a multiple of 32.
    """

    name = "kernel-place-cuda"

    shared_memory: int = SHARED_MEMORY
    threads: int = THREADS

    def __post_init__(self) -> None:
        if not 0 <= self.shared_memory <= 232448:
            raise ValueError(
                f"option 'shared-memory' must be a number of bytes up to 232448, got {self.shared_memory}"
            )
        if self.threads % 32 or not 32 <= self.threads <= 1024:
            raise ValueError(f"option 'threads' must be a multiple of 32 up to 1024, got {self.threads}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in kernel.kernels_of(op):
            for parallel in function.body.block.ops:
                assert isinstance(parallel, kernel.ParallelOp)
                if not is_placed(parallel):
                    place_generally(function, parallel, self.shared_memory, self.threads)
