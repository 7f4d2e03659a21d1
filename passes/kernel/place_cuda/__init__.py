"""`kernel-place-cuda`: places each tile of a kernel in a memory of the GPU, and divides the work among
threads.

The operations stay those of the `kernel` dialect. The pass adds what a GPU needs: the memory spaces of tiles,
offsets in shared memory, loads of the operands of contractions, and the number of threads of a block.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....dialects import block, kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel.placement import is_placed
from .choice import place_by_any_warps
from .general import place_generally
from .options import SHARED_MEMORY, THREADS
from .whole_rows import place_whole_rows

FORMS = ("auto", "general")


@dataclass(frozen=True)
class KernelPlaceCudaPass(ModulePass):
    """Place the tiles of each kernel in the memories of a GPU, and say how many threads a block has.

    A kernel in which tiles have been placed already stays as it is. `shared-memory` is how many bytes of
    shared memory a block may take: tiles that do not fit lie in global memory. Contractions of f16 and bf16
    are done by tensor cores where warps can keep their rows in registers; `form=general` does without.
    `threads` is the number of threads of a block in that form, a multiple of 32.
    """

    name = "kernel-place-cuda"

    shared_memory: int = SHARED_MEMORY
    threads: int = THREADS
    form: str = "auto"

    def __post_init__(self) -> None:
        if not 0 <= self.shared_memory <= 232448:
            raise ValueError(
                f"option 'shared-memory' must be a number of bytes up to 232448, got {self.shared_memory}"
            )
        if self.threads % 32 or not 32 <= self.threads <= 1024:
            raise ValueError(f"option 'threads' must be a multiple of 32 up to 1024, got {self.threads}")
        if self.form not in FORMS:
            raise ValueError(f"option 'form' must be {' or '.join(FORMS)}, got {self.form!r}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in kernel.kernels_of(op):
            for parallel in list(function.body.block.ops):
                assert isinstance(parallel, kernel.ParallelOp)
                if is_placed(parallel):
                    continue
                if isinstance(last := parallel.body.block.last_op, kernel.RedoOp):
                    raise OpError(last, "has no form on a GPU: leave out the pass kernel-speculate")
                if self.form != "auto" or not self._by_warps(function, parallel):
                    place_generally(function, parallel, self.shared_memory, self.threads)

    def _by_warps(self, function: kernel.FuncOp, parallel: kernel.ParallelOp) -> bool:
        """Place a kernel on warps by the first form that fits; return False if none does."""
        dims = block.parse_dims(function.attributes[block.DIMS])
        return place_whole_rows(parallel, dims) or place_by_any_warps(function, parallel, self.shared_memory)
