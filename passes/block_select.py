"""`block-select`: of all snapshots of a program the one that costs least on a machine, cut into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects import block
from .output import os_reason, print_text
from .programs import block_programs
from .selection import Candidate, all_candidates
from .units import counted


@dataclass(frozen=True)
class BlockSelectPass(ModulePass):
    """Fuse block programs to the snapshot that costs least on a machine: `block-select{target=cpu top=3}`.

    It does the work of `block-shapes` and `block-fuse`, by the model of `block-cost`. With `top` above 1 the
    best few are kept, each as a function of its own, the best first. `budget`: how many snapshots are looked
    at for each choice of whole dims. `report=true` shows what was found, as comments.
    """

    name = "block-select"

    target: str = "cpu"
    top: int = 1
    budget: int = 8
    report: bool = False

    def __post_init__(self) -> None:
        for option in ("top", "budget"):
            if getattr(self, option) < 1:
                raise ValueError(f"option '{option}' must be at least 1, got {getattr(self, option)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from .block_traffic import as_comments
        from .cost.machine import machine_named

        machine = machine_named(self.target)
        functions = block_programs(op)
        if not functions:
            raise PassFailedException("there is no block program to choose for; run array-to-block first")
        text = ""
        for function in functions:
            found, looked_at = all_candidates(ctx, function, machine, self.budget)
            kept = found[: self.top]
            text += _report(function.sym_name.data, machine.name, found, looked_at, len(kept))
            parent = function.parent
            assert parent is not None
            for rank, candidate in enumerate(kept):
                if self.top > 1:
                    name = f"{function.sym_name.data}_choice{rank}"
                    candidate.function.sym_name = StringAttr(name)
                parent.insert_op_before(candidate.function, function)
            function.detach()
            function.erase()
        if self.report:
            try:
                print_text(as_comments(text))
            except OSError as error:
                raise PassFailedException(f"cannot write to standard output: {os_reason(error)}") from error


def _report(name: str, machine: str, found: Sequence[Candidate], looked_at: int, kept: int) -> str:
    lines = [
        f"choice for @{name} on {machine}: {counted(len(found), 'program')}, "
        f"{counted(looked_at, 'way')} to cut them into blocks"
    ]
    for rank, candidate in enumerate(found[: max(kept, 3)]):
        dims = block.parse_dims(candidate.function.attributes[block.DIMS])
        cut = ", ".join(
            f"{dim} = {'whole' if attr.is_whole else attr.block_size}"
            for dim, attr in dims.items()
            if not attr.is_batch
        )
        mark = "kept" if rank < kept else "    "
        lines.append(f"  {mark} {candidate.seconds * 1e6:.4g} us: {counted(candidate.nests, 'nest')}, {cut}")
    return "\n".join(lines) + "\n"
