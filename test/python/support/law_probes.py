"""Checking one application of a law on every item of a program.

Comparing results alone misses errors that cancel. A probe, an opaque operation without users, follows each
operation that makes an item, and sees what takes the place of that item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from bb.dialects import block
from bb.dialects.verification import verify
from bb.passes.fusion.cleanup import dead_code_patterns
from bb.passes.rules.law import AnyLaw, Check
from bb.runtime.errors import InterpreterError
from bb.runtime.interpreter.blocks import Value
from block_evaluation import Array, difference, evaluate, random_arguments
from law_cases import LawCase, operations
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import DiagnosticException, VerifyException

TOLERANCE = 1e-9
PROBE = "probe"
REORDERING = "interchange-maps"
"""The law that computes the same items in another order."""

Evaluation = Callable[[FuncOp, "Probes"], Sequence[Value]]
"""Gives the results of a function, with the probes that it calls."""


class Probes:
    """Record the items of a program each time that they are computed."""

    def __init__(self) -> None:
        self.seen: dict[int, list[Array]] = {}

    def __call__(self, item: Array, number: int) -> Array:
        self.seen.setdefault(number, []).append(np.array(item))
        return item


def copy_of(function: FuncOp) -> FuncOp:
    """A copy in a module of its own."""
    copy = function.clone()
    ModuleOp([copy])
    return copy


def with_probes(function: FuncOp) -> FuncOp:
    """A copy of a function in which an opaque operation without users follows each maker of a local item."""
    copy = copy_of(function)
    made = [
        (op, result)
        for op in copy.walk()
        for result in op.results
        if block.is_local(result.type) and not isinstance(op, block.LoadOp)
    ]
    for number, (op, item) in enumerate(made):
        probe = block.CustomOp(PROBE, [item], [item.type])
        probe.attributes["number"] = IntegerAttr(number, i64)
        assert op.parent is not None
        op.parent.insert_op_after(probe, op)
    return copy


def observations(function: FuncOp, evaluation: Evaluation) -> dict[int, Sequence[Value]]:
    """Items that each probe saw, and the results under -1."""
    probes = Probes()
    results = evaluation(function, probes)
    return {**probes.seen, -1: results}


def applicable(law: AnyLaw, function: FuncOp) -> Iterator[tuple[int, int]]:
    """The sites at which a law applies: the number of the operation, and of the site there."""
    for position, op in enumerate(function.walk()):
        if isinstance(op, law.anchors):
            for index, site in enumerate(law.sites(op)):
                if all(check.holds for check in law.checks(site)):
                    yield position, index


def in_any_order(items: Sequence[Value]) -> list[list[float]]:
    """The elements of items, the items sorted."""
    return sorted(np.asarray(item, np.float64).ravel().tolist() for item in items)


def apply_at(law: AnyLaw, function: FuncOp, position: int, index: int) -> None:
    op = list(function.walk())[position]
    site = list(law.sites(op))[index]
    law.rewrite(op, site, PatternRewriter(op))


def assert_applications_keep_items(
    laws: Sequence[type[AnyLaw]], function: FuncOp, evaluation: Evaluation
) -> int:
    """Fail unless each law, at each place, changes no item and leaves a valid program; gives their number."""
    count = 0
    probed = with_probes(function)
    expected = observations(probed, evaluation)
    for law_class in laws:
        law = law_class()
        for position, index in list(applicable(law, probed)):
            count += 1
            copy = copy_of(probed)
            apply_at(law, copy, position, index)
            verify(copy.get_toplevel_object())
            actual = observations(copy, evaluation)
            assert actual.keys() == expected.keys(), law.title()
            for number, wanted in expected.items():
                if law.name == REORDERING and number >= 0:
                    assert in_any_order(actual[number]) == in_any_order(wanted), law.title()
                else:
                    assert difference(actual[number], wanted) <= TOLERANCE, law.title()
    return count


class Record:
    """An observer that remembers what it heard."""

    def __init__(self) -> None:
        self.firings: list[Operation] = []
        self.refusals: list[Check] = []

    def fired(self, law: AnyLaw, site: Operation) -> None:
        self.firings.append(site)

    def refused(self, law: AnyLaw, site: Operation, check: Check) -> None:
        self.refusals.append(check)

    def settle(self) -> None:
        pass


def failing_checks(law: AnyLaw, op: Operation) -> list[list[Check]]:
    """For each site of a law at an operation, the side conditions that do not hold."""
    return [[check for check in law.checks(site) if not check.holds] for site in law.sites(op)]


def rewrite_without(case: LawCase, program: FuncOp) -> AnyLaw:
    """Let the law that ignores the condition rewrite a site at which nothing else fails; the law."""
    strict, law = case.law(), case.law(ignored=frozenset({case.condition}))
    for op in operations(program, case.law):
        for site in strict.sites(op):
            if [check.condition for check in strict.checks(site) if not check.holds] == [case.condition]:
                law.match_and_rewrite(op, PatternRewriter(op))
                return law
    raise AssertionError("no site at which just this condition fails")


def is_broken(case: LawCase) -> bool:
    """True if the case is invalid, or has other results, after the law that ignores the condition."""
    original, program = case.program(), case.program()
    try:
        rewrite_without(case, program)
        verify(program.get_toplevel_object())
        for seed in range(5):
            arguments = random_arguments(original, seed)
            expected, _ = evaluate(original, arguments)
            if difference(evaluate(program, arguments)[0], expected) > 1e-9:
                return True
    except (DiagnosticException, VerifyException, InterpreterError, AssertionError, IndexError):
        return True
    return False


def remove_dead_code(program: FuncOp) -> bool:
    """Remove something that is dead; whether there was anything."""
    for op, pattern in product(list(program.walk()), dead_code_patterns()):
        rewriter = PatternRewriter(op)
        pattern.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            return True
    return False
