"""Candidates for fusing a block program and cutting it into blocks, each with its modelled cost on a machine.

For every choice of whole dims, among those short enough, the program is fused, and every snapshot gets its
best block sizes. The cost of a snapshot is that of its stabilised form, because `block-stabilize` adds work
to some snapshots and not to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from ....dialects import block
from ....dialects.attributes import SNAPSHOT
from ...analysis.programs import block_programs
from ...analysis.structural_keys import Interner, program_key
from ..fuse import BlockFusePass
from ..fuse_elementwise import BlockFuseElementwisePass
from ..stabilize import BlockStabilizePass

if TYPE_CHECKING:
    from ...analysis.cost.machine import Machine
    from ...analysis.cost.program import CostedProgram

LONGEST_WHOLE = 256
"""Elements of the longest dim that may be one block before fusion, which then goes further."""

LONGEST_ROW = 16384
"""The same for programs without contractions, whose rows are swept in place."""

MOST_CHOICES = 16
"""Choices of whole dims that are tried, those with the fewest blocked dims first."""

AS_GIVEN = -1
"""The number of the program without fusion among snapshots."""

Sizes = dict[str, "int | str"]
"""Block sizes by dim; `whole` for all of it."""


@dataclass(order=True)
class Candidate:
    """A snapshot with its block sizes, and its modelled seconds.

    `snapshot` is its number among those that `block-fuse{snapshot=all budget=…}` finds if the dims `whole`
    are one block each. `function` is that snapshot before stabilisation; `costed` is the program after it.
    """

    seconds: float
    order: int
    function: FuncOp = field(compare=False)
    costed: CostedProgram = field(compare=False)
    snapshot: int = field(compare=False)
    whole: tuple[str, ...] = field(compare=False)
    sizes: Sizes = field(compare=False)

    @property
    def nests(self) -> int:
        """Number of nests of the snapshot, each a kernel or more."""
        return sum(isinstance(op, block.MapOp) for op in self.function.body.block.ops)

    @property
    def name(self) -> str:
        """The name of the snapshot in reports."""
        return "no fusion" if self.snapshot == AS_GIVEN else f"snapshot {self.snapshot}"

    @property
    def work(self) -> tuple[float, float, float]:
        """Flops of contractions in a call, those of them that repeat others, and bytes that come from beyond
        the tiers that a worker has for itself.
        """
        plans = zip(
            self.costed.plans, self.costed.costs(as_numbers(self.costed.lengths, self.sizes)), strict=True
        )
        costs = [cost for plan, cost in plans if not plan.once]
        tiers = self.costed.model.machine.tiers
        return (
            sum(float(cost.contract_flops) for cost in costs),
            sum(float(cost.recomputed_flops) for cost in costs),
            sum(
                float(bytes)
                for cost in costs
                for tier, bytes in zip(tiers, cost.bytes, strict=True)
                if tier.shared
            ),
        )


def all_candidates(
    ctx: Context, function: FuncOp, machine: Machine, budget: int, extents: Mapping[str, int] = {}
) -> tuple[list[Candidate], int]:
    """All snapshots of a block program with their best sizes, the cheapest first, and the number of sizes
    that were considered.

    `budget` is the number of snapshots that are considered for each choice of whole dims; `extents` replace
    unknown ones.
    """
    from ...analysis.cost.choose import choose_by_model

    found: dict[tuple[object, ...], Candidate] = {}
    interner, looked_at = Interner(), 0
    for whole in _choices_of_whole(function):
        for snapshot in _snapshots(ctx, function, whole, budget):
            stable = alone(snapshot.clone())
            BlockStabilizePass().apply(ctx, stable)
            BlockFuseElementwisePass().apply(ctx, stable)
            (costed,) = block_programs(stable)
            dims, best, program = choose_by_model(costed, machine, extents)
            snapshot.attributes[block.DIMS] = block.dims_attr(dims)
            snapshot.sym_name = StringAttr(function.sym_name.data)
            looked_at += best.combinations
            candidate = Candidate(
                best.seconds, len(found), snapshot, program, _number(snapshot), whole, sizes_of(dims)
            )
            key = (program_key(snapshot, interner), str(snapshot.attributes[block.DIMS]))
            found.setdefault(key, candidate)
    return sorted(found.values()), looked_at


def as_given(ctx: Context, function: FuncOp, machine: Machine, extents: Mapping[str, int] = {}) -> Candidate:
    """A block program without fusion, at its best sizes, to compare fusion with."""
    from ...analysis.cost.choose import choose_by_model

    snapshot = function.clone()
    stable = alone(snapshot.clone())
    BlockStabilizePass().apply(ctx, stable)
    (costed,) = block_programs(stable)
    dims, best, program = choose_by_model(costed, machine, extents)
    snapshot.attributes[block.DIMS] = block.dims_attr(dims)
    return Candidate(best.seconds, 0, snapshot, program, AS_GIVEN, (), sizes_of(dims))


def sizes_of(dims: Mapping[str, block.DimAttr]) -> Sizes:
    """The block sizes that dims declare; batches have none."""
    found: Sizes = {}
    for name, dim in dims.items():
        if dim.is_whole:
            found[name] = "whole"
        elif dim.block_size is not None and not dim.is_batch:
            found[name] = dim.block_size
    return found


def as_numbers(lengths: Mapping[str, int], sizes: Mapping[str, int | str]) -> dict[str, object]:
    """Block sizes for the model, with numbers for whole dims."""
    return {name: float(lengths[name] if isinstance(size, str) else size) for name, size in sizes.items()}


def alone(function: FuncOp) -> ModuleOp:
    """A module with one function."""
    return ModuleOp([function])


def _number(snapshot: FuncOp) -> int:
    facts = cast(DictionaryAttr, snapshot.attributes[SNAPSHOT]).data
    return cast(IntegerAttr, facts["number"]).value.data


def _snapshots(ctx: Context, function: FuncOp, whole: Sequence[str], budget: int) -> list[FuncOp]:
    module = alone(function.clone())
    BlockFusePass(snapshot="all", whole=tuple(whole), budget=budget).apply(ctx, module)
    snapshots = block_programs(module)
    for snapshot in snapshots:
        snapshot.detach()
    return snapshots


def _choices_of_whole(function: FuncOp) -> Iterator[tuple[str, ...]]:
    """Sets of dims to be whole before fusion, the largest sets first. Rows stay parallel loops."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    rows = {op.dim_name for op in function.body.block.ops if isinstance(op, block.MapOp)}
    longest = LONGEST_WHOLE if any(isinstance(op, block.DotOp) for op in function.walk()) else LONGEST_ROW
    short = [
        name
        for name, dim in dims.items()
        if name not in rows
        and dim.block_size is None
        and not dim.is_batch
        and dim.static_extent is not None
        and dim.static_extent <= longest
    ]
    tried = 0
    for count in range(len(short), -1, -1):
        for chosen in combinations(short, count):
            if tried == MOST_CHOICES - 1 and count > 0:
                yield ()
                return
            tried += 1
            yield chosen
