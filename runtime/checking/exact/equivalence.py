"""`equivalent`: checks that two programs compute the same function, by arithmetic over finite fields.

Polynomial identity testing: both are evaluated over finite fields, on the same random inputs. Equal programs
give equal residues. In one run, different programs do so with a probability of about their degree divided by
the modulus.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ....lowering.frontends.mlir_text import parse
from ...program.functions import select_function
from .evaluate import Program, evaluate, prepare
from .extents import arguments_of_both, choose_shapes, random_input
from .field import Exhausted, Field
from .marks import UNDETERMINED
from .residues import Degree, Residues, Value, Whole, common_parts
from .tables import CHAIN, DEFAULT_DEPTH, moduli

Source: TypeAlias = ModuleOp | FuncOp | str | os.PathLike[str]

MORE_RUNS = 10
"""Number of times the inputs are drawn again because elements were undetermined."""


@dataclass(frozen=True)
class Verdict:
    """Result of a comparison of two programs: equal or not, and with what certainty.

    `equal` is None if it could not be decided. `error_probability` estimates the probability that different
    programs would have passed (0 for programs that were found different: that is certain up to the limits
    that the documentation lists). `reason` is a sentence; `runs` is the number of evaluations.
    `maximum_in_result` says that results depend on the element that a maximum or a comparison picks, so the
    programs are equal for the same choice only; `constants_rounded` that they are equal only if constants
    stand for the simplest numbers that their types round to them.
    """

    equal: bool | None
    error_probability: float
    reason: str
    runs: int
    maximum_in_result: bool = False
    constants_rounded: bool = False

    def __bool__(self) -> bool:
        return self.equal is True

    def __str__(self) -> str:
        return self.reason


def equivalent(
    a: Source,
    b: Source,
    *,
    entry: str | None = None,
    runs: int = 2,
    seed: int = 0,
    same_pivots: bool = False,
) -> Verdict:
    """Compare two programs, each a module, a function, the text of a program or the path of its file.

    `entry` names the function in programs with several. Programs of arrays and of blocks can be compared in
    any mixture; element types may differ, as roundings do not count. With `same_pivots`, maxima pick the
    same elements in both programs from the start. Raises InputError for programs whose arguments differ,
    InterpreterError for operations without an exact meaning, and what `bb.parse` raises.
    """
    if runs < 1:
        raise ValueError(f"equivalent: runs must be at least 1, got {runs}")
    programs = [prepare(_function(source, entry)) for source in (a, b)]
    comparison = _Comparison(programs, runs, seed)
    first: Verdict | None = None
    for pivots in (True,) if same_pivots else (False, True):
        for simplest in (False, True):
            if simplest and not comparison.read_rounded:
                continue
            verdict = comparison.decide(pivots, simplest)
            if verdict.equal is None and first is None:
                return verdict
            if verdict.equal:
                return _with_notes(verdict, pivots and not same_pivots, simplest)
            first = first or verdict
    assert first is not None
    return first


def _with_notes(verdict: Verdict, same_pivots: bool, simplest: bool) -> Verdict:
    reason = verdict.reason
    if simplest:
        reason += "; constants stand for the simplest numbers that their types round to them"
    if same_pivots:
        reason += "; the results depend on which elements maxima and comparisons pick"
    return replace(verdict, reason=reason, maximum_in_result=same_pivots, constants_rounded=simplest)


def _function(source: Source, entry: str | None) -> FuncOp:
    if isinstance(source, FuncOp):
        return source
    return select_function(source if isinstance(source, ModuleOp) else parse(source), entry)


class _Concluded(Exception):
    """Ends a comparison early: the programs are different (False), or it cannot be decided (None)."""

    def __init__(self, equal: bool | None, reason: str):
        super().__init__(reason)
        self.equal = equal


@dataclass
class _Evidence:
    """Evidence on one result of both programs: number of times each element was compared, and equal."""

    compared: NDArray[np.int64]
    different: NDArray[np.bool_]


class _Comparison:
    def __init__(self, programs: Sequence[Program], runs: int, seed: int):
        self.programs = programs
        self.runs = runs
        self.seed = seed
        self.pairs = arguments_of_both(programs)
        self.shapes = choose_shapes(programs, self.pairs)
        self.read_rounded = False

    def decide(self, same_pivots: bool, simplest: bool) -> Verdict:
        """The verdict, with as many moduli as exponentials need."""
        for depth in range(DEFAULT_DEPTH, len(CHAIN) + 1):
            try:
                return self._decide(same_pivots, simplest, depth)
            except Exhausted:
                continue
            except _Concluded as conclusion:
                chance = 0.0 if conclusion.equal is False else 1.0
                return Verdict(conclusion.equal, chance, str(conclusion), 1)
        reason = f"undecided: exponentials are nested more than {len(CHAIN) - 1} deep"
        return Verdict(None, 1.0, reason, 0)

    def _decide(self, same_pivots: bool, simplest: bool, depth: int) -> Verdict:
        evidence: list[_Evidence] = []
        worst, least, run = 0.0, 0, 0
        while run < self.runs or (least < self.runs and run < self.runs + MORE_RUNS):
            found, chance = self._run(run, same_pivots, simplest, depth)
            worst, run = max(worst, chance), run + 1
            evidence = _together(evidence, found) if evidence else found
            if any(result.different.any() for result in evidence):
                return Verdict(False, 0.0, _difference(evidence), run)
            least = min((int(result.compared.min(initial=run)) for result in evidence), default=run)
        if least == 0:
            return Verdict(None, 1.0, _never_compared(evidence), run)
        chance = min(1.0, worst) ** least
        return Verdict(True, chance, f"equal, with an error probability of {chance:.0e}", run)

    def _run(self, run: int, same_pivots: bool, simplest: bool, depth: int) -> tuple[list[_Evidence], float]:
        """Evaluate both programs once; also return the probability that a difference would not show."""
        words = np.random.SeedSequence([self.seed, run]).generate_state(3, np.uint64)
        salt, order, other = (int(word) for word in words)
        orders = order, order if same_pivots else other
        fields = [Field(depth, salt, place, simplest_constants=simplest) for place in orders]
        inputs = [
            random_input(fields[0], pair[0], shape, np.random.default_rng([self.seed, run, position]))
            for position, (pair, shape) in enumerate(zip(self.pairs, self.shapes, strict=True))
        ]
        evaluated = zip(self.programs, fields, strict=True)
        sides = [evaluate(program, field, inputs, 2 + run % 2) for program, field in evaluated]
        if len(sides[0]) != len(sides[1]):
            raise _Concluded(
                False, f"different: the programs have {len(sides[0])} and {len(sides[1])} results"
            )
        degree = max(field.largest_degree for field in fields)
        self.read_rounded |= any(field.read_rounded for field in fields)
        evidence: list[_Evidence] = []
        chance = 0.0
        for a, b in zip(*sides, strict=True):
            evidence.append(_compare(a, b))
            if isinstance(a, Residues) and isinstance(b, Residues):
                chance = max(chance, _chance(a, b, degree, depth))
        return evidence, chance


def _compare(a: Value, b: Value) -> _Evidence:
    if a.shape != b.shape:
        raise _Concluded(False, f"different: results have shapes {list(a.shape)} and {list(b.shape)}")
    if isinstance(a, Whole) and isinstance(b, Whole):
        known = np.ones(a.shape, np.bool_)
        for value in (a, b):
            if value.unknown is not None:
                known = known & ~value.unknown
        return _Evidence(known.astype(np.int64), known & (a.values != b.values))
    if not isinstance(a, Residues) or not isinstance(b, Residues):
        raise _Concluded(False, "different: one program has a result of integers where the other has numbers")
    compared, different = np.zeros(a.shape, np.bool_), np.zeros(a.shape, np.bool_)
    common = common_parts(a, b)
    if not common:
        raise Exhausted
    for x, y in common:
        known = (x != UNDETERMINED) & (y != UNDETERMINED)
        compared |= known
        different |= known & (x != y)
    return _Evidence(compared.astype(np.int64), different)


def _chance(a: Residues, b: Residues, degree: int, depth: int) -> float:
    """The probability that one run does not show a difference of two results."""
    present = [i for i in range(depth) if a.parts[i] is not None and b.parts[i] is not None]
    exponentials = depth - 1 - present[-1]
    smallest = moduli(depth)[min(present[0] + exponentials, depth - 1)]
    quotient = a.degree.times(Degree(b.degree.denominator, b.degree.numerator))
    return max(1, degree, quotient.numerator, quotient.denominator) / smallest


def _together(before: Sequence[_Evidence], found: Sequence[_Evidence]) -> list[_Evidence]:
    return [
        _Evidence(a.compared + b.compared, a.different | b.different)
        for a, b in zip(before, found, strict=True)
    ]


def _place(index: int, mask: NDArray[np.bool_]) -> str:
    element = [int(i) for i in np.argwhere(mask)[0]]
    return f"result {index} at {element}" if element else f"result {index}"


def _difference(evidence: Sequence[_Evidence]) -> str:
    index = next(i for i, result in enumerate(evidence) if result.different.any())
    mask = evidence[index].different
    return f"different: {_place(index, mask)} ({int(mask.sum())} of {mask.size} elements differ)"


def _never_compared(evidence: Sequence[_Evidence]) -> str:
    index = next(i for i, result in enumerate(evidence) if not result.compared.all())
    place = _place(index, result_mask) if (result_mask := evidence[index].compared == 0).any() else ""
    return f"undecided: {place} has no value in any run (0/0, or inf - inf)"
