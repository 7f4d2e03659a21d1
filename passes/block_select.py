"""`block-select`: of all snapshots of a program the one that costs least on a machine, with its block sizes.

For every choice of dims that are whole, among those short enough to be, the program is fused, and every
snapshot is cut into the blocks that suit it best. What a snapshot costs is what it costs when it is stable:
`block-stabilize` adds work to some and not to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects import block
from .block_fuse_elementwise import BlockFuseElementwisePass
from .block_stabilize import BlockStabilizePass
from .fuse import BlockFusePass
from .output import os_reason, print_text
from .programs import block_programs
from .structural_keys import Interner, program_key
from .units import counted

if TYPE_CHECKING:
    from .cost.machine import Machine

LONGEST_WHOLE = 256
"""Elements of a dim that is tried as one block before fusion, which it lets go further."""

MOST_CHOICES = 16
"""Choices of whole dims that are tried, those with the fewest blocked dims first."""


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
            found, looked_at = self._candidates(ctx, function, machine)
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

    def _candidates(self, ctx: Context, function: FuncOp, machine: Machine) -> tuple[list[_Candidate], int]:
        """All snapshots with their best sizes, the cheapest first, and how many sizes were considered."""
        from .cost.choose import choose_by_model

        found: dict[tuple[object, ...], _Candidate] = {}
        interner, looked_at = Interner(), 0
        for whole in _choices_of_whole(function):
            for snapshot in self._snapshots(ctx, function, whole):
                stable = _alone(snapshot.clone())
                BlockStabilizePass().apply(ctx, stable)
                BlockFuseElementwisePass().apply(ctx, stable)
                (costed,) = block_programs(stable)
                dims, best = choose_by_model(costed, machine)
                snapshot.attributes[block.DIMS] = block.dims_attr(dims)
                snapshot.sym_name = StringAttr(function.sym_name.data)
                looked_at += best.combinations
                candidate = _Candidate(best.seconds, len(found), snapshot, whole)
                key = (program_key(snapshot, interner), str(snapshot.attributes[block.DIMS]))
                found.setdefault(key, candidate)
        return sorted(found.values()), looked_at

    def _snapshots(self, ctx: Context, function: FuncOp, whole: tuple[str, ...]) -> list[FuncOp]:
        module = _alone(function.clone())
        BlockFusePass(snapshot="all", whole=whole, budget=self.budget).apply(ctx, module)
        snapshots = block_programs(module)
        for snapshot in snapshots:
            snapshot.detach()
        return snapshots


@dataclass(order=True)
class _Candidate:
    """A snapshot with its sizes, and the seconds it takes by the model."""

    seconds: float
    order: int
    function: FuncOp = field(compare=False)
    whole: tuple[str, ...] = field(compare=False)


def _alone(function: FuncOp) -> ModuleOp:
    """A module with one function."""
    return ModuleOp([function])


def _choices_of_whole(function: FuncOp) -> Iterator[tuple[str, ...]]:
    """Sets of dims that are whole in front of fusion, the largest sets first. Rows stay parallel loops."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    rows = {op.dim_name for op in function.body.block.ops if isinstance(op, block.MapOp)}
    short = [
        name
        for name, dim in dims.items()
        if name not in rows
        and dim.block_size is None
        and not dim.is_batch
        and dim.static_extent is not None
        and dim.static_extent <= LONGEST_WHOLE
    ]
    tried = 0
    for count in range(len(short), -1, -1):
        for chosen in combinations(short, count):
            if tried == MOST_CHOICES - 1 and count > 0:
                yield ()
                return
            tried += 1
            yield chosen


def _report(name: str, machine: str, found: Sequence[_Candidate], looked_at: int, kept: int) -> str:
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
        nests = sum(isinstance(op, block.MapOp) for op in candidate.function.body.block.ops)
        mark = "kept" if rank < kept else "    "
        lines.append(f"  {mark} {candidate.seconds * 1e6:.4g} us: {counted(nests, 'nest')}, {cut}")
    return "\n".join(lines) + "\n"
