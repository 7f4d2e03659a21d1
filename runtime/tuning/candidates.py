"""Candidate pipelines: they fuse and cut a program in different ways, the most promising first by the cost
model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.block import is_stabilized
from ...dialects.context import make_context
from ...lowering.pipelines import PassPipeline, split_after
from ...lowering.pipelines.choices import BUDGET, DEFAULT, UNFUSED, Choice
from ...lowering.pipelines.levels import TO_BLOCKS, is_block_program, remaining_passes
from ...passes.analysis.cost.machine import Machine
from ...passes.analysis.cost.program import CostedProgram
from ...passes.analysis.cost.shapes import legal_sizes
from ...passes.analysis.programs import block_programs
from ...passes.block.select.candidates import Candidate, Sizes, all_candidates, as_numbers

DISTRIBUTE, TO_KERNELS = "block-distribute", "block-to-kernel"

PROMISING = 1.5
"""Snapshots come last whose best sizes take more than so many times the modelled time of the best one."""

CLEARLY = 0.9
"""The model's choice must take less than this part of the time of the default pipeline."""


@dataclass(frozen=True)
class CandidatePipeline:
    """One way to compile a program, and the modelled seconds of a call."""

    choice: Choice
    seconds: float


@dataclass(frozen=True)
class CandidatePipelines:
    """Pipelines for one program: the fixed ones, and every snapshot at its best sizes, cheapest first."""

    default: CandidatePipeline
    unfused: CandidatePipeline | None
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> tuple[CandidatePipeline, ...]:
        """The candidates as pipelines."""
        return tuple(CandidatePipeline(choice_from(each), each.seconds) for each in self.candidates)

    @property
    def leading(self) -> tuple[CandidatePipeline, ...]:
        """The best candidate of each snapshot, the cheapest first."""
        firsts: dict[tuple[object, ...], Candidate] = {}
        for each in self.candidates:
            firsts.setdefault((each.snapshot, each.nests), each)
        return tuple(CandidatePipeline(choice_from(each), each.seconds) for each in firsts.values())

    @property
    def choice(self) -> Choice | None:
        """The choice that costs least; None for the default pipeline, unless one is clearly better."""
        others = [*self.best[:1], *([] if self.unfused is None else [self.unfused])]
        best = min(others, key=lambda pipeline: pipeline.seconds, default=self.default)
        return best.choice if best.seconds < CLEARLY * self.default.seconds else None

    def in_order(self) -> Iterator[CandidatePipeline]:
        """Yield all pipelines worth measuring, each once.

        The order is: the default, the pipeline without fusion, the best candidate, the best candidate of
        every other snapshot that may be as fast, then neighbours of those, by modelled time.
        """
        seen: set[tuple[object, ...]] = set()
        firsts: dict[tuple[object, ...], Candidate] = {}
        for each in self.candidates:
            if each.seconds <= PROMISING * self.candidates[0].seconds:
                firsts.setdefault((each.snapshot, each.nests), each)
        leading = [CandidatePipeline(choice_from(each), each.seconds) for each in firsts.values()]
        near = sorted(
            (pipeline for each in list(firsts.values())[:4] for pipeline in neighbours(each)),
            key=lambda pipeline: pipeline.seconds,
        )
        for pipeline in (self.default, self.unfused, *leading[:4], *near, *self.best):
            if pipeline is not None and pipeline.choice.key() not in seen:
                seen.add(pipeline.choice.key())
                yield pipeline


def choice_from(candidate: Candidate) -> Choice:
    """Return a candidate as a choice."""
    return Choice(candidate.snapshot, candidate.whole, candidate.sizes)


def neighbours(candidate: Candidate) -> list[CandidatePipeline]:
    """Return a candidate with another size of one dim: legal sizes from about half of it to twice it."""
    found: list[CandidatePipeline] = []
    costed = candidate.costed
    for name, size in candidate.sizes.items():
        length = costed.lengths[name]
        if name in candidate.whole or length == 1:
            continue
        legal = legal_sizes(length, costed.model.machine.lanes)
        current = length if isinstance(size, str) else size
        for factor in (0.5, 0.75, 1.5, 2.0):
            wanted = min(legal, key=lambda one: abs(one - factor * current))
            if wanted != current:
                sizes: Sizes = {**candidate.sizes, name: wanted}
                seconds = costed.seconds(as_numbers(costed.lengths, sizes))
                found.append(CandidatePipeline(Choice(candidate.snapshot, candidate.whole, sizes), seconds))
    return found


def can_choose(program: ModuleOp) -> bool:
    """True if a program has not been fused and cut yet."""
    if any(step.name == TO_BLOCKS for step in remaining_passes(program, Choice().passes())):
        return True
    blocks = block_programs(program)
    return bool(blocks) and not any(map(is_stabilized, blocks))


def candidate_pipelines(program: ModuleOp, machine: Machine) -> CandidatePipelines | None:
    """Return the pipelines for a program with one function, of arrays or of blocks, with modelled times.

    None if no part of it becomes blocks. Raises what the passes raise.
    """
    blocks = program.clone()
    on_arrays = not any(map(is_block_program, block_programs(program)))
    if on_arrays:
        before, _ = split_after(Choice().passes(), TO_BLOCKS)
        PassPipeline(before).run(blocks)
    functions = [each for each in block_programs(blocks) if is_block_program(each)]
    if len(functions) != 1:
        return None
    found, _ = all_candidates(make_context(), functions[0], machine, BUDGET)

    def fixed(choice: Choice) -> CandidatePipeline:
        return CandidatePipeline(choice, modelled(program, choice, machine))

    unfused = fixed(Choice(UNFUSED)) if on_arrays else None
    return CandidatePipelines(fixed(Choice(DEFAULT)), unfused, tuple(found))


def modelled(program: ModuleOp, choice: Choice, machine: Machine) -> float:
    """Return the modelled seconds of a call of a program with one function, compiled by a choice."""
    module = program.clone()
    passes: list[ModulePass] = []
    for step in remaining_passes(program, choice.passes()):
        if step.name in (DISTRIBUTE, TO_KERNELS):
            break
        passes.append(step)
    PassPipeline(passes).run(module)
    (function,) = (each for each in block_programs(module) if is_block_program(each))
    return CostedProgram.of(function, machine).seconds()
