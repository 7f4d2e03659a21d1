"""`block-select`: picks the snapshot of a program that costs least on a machine, and its block sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import block
from ...analysis.programs import block_programs
from ...text.output import os_reason, print_text
from ...text.units import counted, in_units, time_in_units
from .candidates import Candidate, all_candidates, as_given


@dataclass(frozen=True)
class BlockSelectPass(ModulePass):
    """Fuse block programs to the snapshot that costs least on a machine: `block-select{target=cpu top=3}`.

    It does the work of `block-shapes` and `block-fuse`, by the model of `block-cost`. With `top` above 1 the
    best few are kept, each as a function of its own, the best first. Fusion that does not pay is declined.
    `budget`: how many snapshots are looked at for each choice of whole dims. `report=true` shows what was
    found and declined, with numbers, as comments.
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
        from ...analysis.cost.machine import machine_named
        from ...analysis.traffic.report import as_comments

        machine = machine_named(self.target)
        functions = block_programs(op)
        if not functions:
            raise PassFailedException("there is no block program to choose for; run array-to-block first")
        text = ""
        for function in functions:
            found, looked_at = all_candidates(ctx, function, machine, self.budget)
            plain = as_given(ctx, function, machine)
            kept = sorted([*found, plain], key=lambda each: each.seconds)[: self.top]
            text += _report(function.sym_name.data, machine.name, found, plain, looked_at, kept)
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


def _report(
    name: str,
    machine: str,
    found: Sequence[Candidate],
    plain: Candidate,
    looked_at: int,
    kept: Sequence[Candidate],
) -> str:
    lines = [
        f"choice for @{name} on {machine}: {counted(len(found), 'program')}, "
        f"{counted(looked_at, 'way')} to cut them into blocks"
    ]
    firsts: dict[int, Candidate] = {}
    for each in (*kept, *found):
        firsts.setdefault(each.snapshot, each)
    shown = sorted({id(each): each for each in (*kept, *firsts.values(), plain)}.values())
    for each in shown:
        mark = "kept" if any(each is one for one in kept) else "    "
        flops, again, bytes = each.work
        work = [
            f"{in_units(round(flops), 'flop')}"
            + (f" ({in_units(round(again), 'flop')} again)" if again else "")
        ]
        work = work if flops else []
        work.append(f"{in_units(round(bytes), 'B')} from beyond a worker's caches")
        cut = ", ".join(
            f"{dim} = {'whole' if attr.is_whole else attr.block_size}"
            for dim, attr in block.parse_dims(each.function.attributes[block.DIMS]).items()
            if not attr.is_batch
        )
        lines.append(
            f"  {mark} {time_in_units(each.seconds)}: {counted(each.nests, 'nest')}, {cut}; {each.name}: "
            + ", ".join(work)
        )
    best, most = kept[0], max(found, key=lambda each: (each.snapshot, -each.seconds))
    most = firsts.get(most.snapshot, most)
    if best is plain:
        lines.append(f"  fusion is declined: {_against(found[0], plain)}")
    elif most.snapshot != best.snapshot:
        lines.append(f"  further fusion, to {most.name}, is declined: {_against(most, best)}")
    return "\n".join(lines) + "\n"


def _against(declined: Candidate, best: Candidate) -> str:
    """Return the cost and the work of a program, compared with a better one."""
    (flops, _, bytes), (own_flops, _, own_bytes) = declined.work, best.work
    more = [
        f"{in_units(round(one - other), unit)} more {what}"
        for one, other, unit, what in (
            (flops, own_flops, "flop", "to compute"),
            (bytes, own_bytes, "B", "to move"),
        )
        if round(one - other) > 0
    ]
    why = f", with {' and '.join(more)}" if more else ""
    return f"{time_in_units(declined.seconds)}{why}, where {best.name} takes {time_in_units(best.seconds)}"
