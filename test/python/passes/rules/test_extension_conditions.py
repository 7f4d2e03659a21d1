"""The laws of phase 3, and the one that comes last: each side condition, and the harm that is done without
it.

The functions are those of test/filecheck/rules, and the tests those of test_law_conditions.py. What
extensions do without a condition is seldom wrong: it is work for nothing, and `HARM` says how that shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from bb.dialects import block
from bb.dialects.verification import verify
from bb.passes.analysis.structural_keys import Interner, program_key
from bb.passes.analysis.traffic.block import contraction_flops, modelled_traffic, modelled_values
from bb.passes.fusion.explore import EXTENSIONS
from bb.passes.fusion.normalize import Normalizer
from bb.passes.rules.law import AnyLaw
from bb.passes.rules.table import later_laws
from block_evaluation import apply_once, difference, evaluate, random_arguments
from law_cases import RULES_DIR, LawCase, law_cases, operations
from law_probes import Record, failing_checks, is_broken, remove_dead_code, rewrite_without
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

LAWS = later_laws()
DECLINES = law_cases("without", LAWS)
CONDITIONS = [(law, condition) for law in LAWS for condition in law.side_conditions]


def cleaned(program: FuncOp) -> FuncOp:
    while remove_dead_code(program):
        pass
    verify(program.get_toplevel_object())
    return program


# The table


def test_rules_are_the_laws():
    assert set(LAWS) >= set(EXTENSIONS)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.title())
def test_the_documentation_of_a_law_heads_its_test(law: type[AnyLaw]):
    text = (RULES_DIR / f"{law.name}.mlir").read_text()
    assert f"// {law.before}\n//   -> {law.after}\n" in text


# Where laws fire


@pytest.mark.parametrize("case", law_cases("fires", LAWS), ids=str)
def test_values_are_kept(case: LawCase):
    original, program = case.program(), case.program()
    assert apply_once(case.law(), program)
    verify(program.get_toplevel_object())
    for seed in range(3):
        arguments = random_arguments(original, seed)
        expected, _ = evaluate(original, arguments)
        assert difference(evaluate(program, arguments)[0], expected) < 1e-12


# Where laws decline


@pytest.mark.parametrize(
    ("law", "condition"), CONDITIONS, ids=lambda x: x if isinstance(x, str) else x.title()
)
def test_every_side_condition_has_a_program_without_it(law: type[AnyLaw], condition: str):
    assert any(case.law is law and case.condition == condition for case in DECLINES)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.title())
def test_checked_conditions_are_declared_ones(law: type[AnyLaw]):
    programs = [
        case.program()
        for kind in ("fires", "without")
        for case in law_cases(kind, LAWS)
        if case.law.name == law.name
    ]
    checked = {
        check.condition
        for program in programs
        for op in operations(program, law)
        for site in law().sites(op)
        for check in law().checks(site)
    }
    assert checked == set(law.side_conditions)


@pytest.mark.parametrize("case", DECLINES, ids=str)
def test_a_law_declines_for_this_reason_alone(case: LawCase):
    record = Record()
    law, program = case.law(observer=record), case.program()
    before = str(program)
    failing = [checks for op in operations(program, case.law) for checks in failing_checks(law, op)]
    assert all(failing), "the law applies"
    decisive = [checks[0] for checks in failing if [check.condition for check in checks] == [case.condition]]
    assert decisive, "no site at which just this condition fails"
    assert not apply_once(law, program)
    assert not record.firings
    assert str(program) == before
    reported = [refused for op in program.walk() for refused in law.refusals(op)]
    for check in decisive:
        assert check.reason
        assert (check in record.refusals) == check.noteworthy
        assert (check in reported) == check.noteworthy


# What conditions avert


def maps(program: Operation) -> Iterator[block.MapOp]:
    return (op for op in program.walk() if isinstance(op, block.MapOp))


def does_nothing_but_work(case: LawCase) -> bool:
    """True if more is computed or moved, and no structural law fires for it."""
    before, program = modelled_traffic(case.program()), case.program()
    rewrite_without(case, program)
    after = modelled_traffic(cleaned(program))
    structural = Normalizer(program).run().structural
    return sum(after.values()) > sum(before.values()) and structural == 0


def computes_more(case: LawCase) -> bool:
    before, program = modelled_traffic(case.program()), case.program()
    rewrite_without(case, program)
    return modelled_traffic(cleaned(program))["flops"] > before["flops"]


def contracts_more(case: LawCase) -> bool:
    def flops(program: FuncOp) -> int:
        return contraction_flops(program).evaluate(modelled_values(block.declared_dims(program) or {}))

    program = case.program()
    rewrite_without(case, program)
    return flops(cleaned(program)) > flops(case.program())


def stores_more(case: LawCase) -> bool:
    """True if a list is stored again in every iteration, for others to read one of the copies."""
    before, program = modelled_traffic(case.program()), case.program()
    rewrite_without(case, program)
    return is_broken(case) or modelled_traffic(cleaned(program))["stores"] > before["stores"]


def leaves_the_producer(case: LawCase) -> bool:
    """True if the producer has to stay where it is too."""
    program = case.program()
    rewrite_without(case, program)
    return sum(1 for _ in maps(cleaned(program))) > sum(1 for _ in maps(case.program()))


def leaves_another_map(case: LawCase) -> bool:
    """True if there is one map more, after everything that can be fused is fused."""
    program, original = case.program(), case.program()
    rewrite_without(case, program)
    for function in (program, original):
        Normalizer(function).run()
    return sum(1 for _ in maps(program)) > sum(1 for _ in maps(original))


def repeats_two_maps(case: LawCase) -> bool:
    program = case.program()
    outside = sum(op.parent_op() is program for op in maps(program))
    rewrite_without(case, program)
    return sum(op.parent_op() is program for op in maps(cleaned(program))) == outside - 2


def is_what_the_cone_does(case: LawCase) -> bool:
    """True if the other variant does the same, so that every program would be tried twice."""
    program, other = case.program(), case.program()
    rewrite_without(case, program)
    (cone,) = (law for law in LAWS if law.variant == "cone")
    assert apply_once(cone(), other)
    intern = Interner()
    return program_key(cleaned(program), intern) == program_key(cleaned(other), intern)


def takes_it_from_others(case: LawCase) -> bool:
    """True if an item is erased that has another reader."""
    with pytest.raises(ValueError, match="still has uses"):
        rewrite_without(case, case.program())
    return True


HARM: dict[tuple[str, str], Callable[[LawCase], bool]] = {
    ("extend-map (cone)", "not-mapped"): leaves_the_producer,
    ("extend-map (cone)", "nearest"): repeats_two_maps,
    ("extend-map (cone)", "useful"): does_nothing_but_work,
    ("extend-map (cone)", "private"): stores_more,
    ("extend-map (slice)", "shared"): is_what_the_cone_does,
    ("extend-map (slice)", "useful"): does_nothing_but_work,
    ("extend-map (slice)", "cheap"): contracts_more,
    ("split-map", "stacked"): leaves_another_map,
    ("split-map", "blocked"): computes_more,
    ("split-map", "cheap"): contracts_more,
    ("fuse-elementwise", "single-use"): takes_it_from_others,
    ("fuse-elementwise", "same-axes"): computes_more,
    ("fuse-elementwise", "same-place"): computes_more,
}
"""Conditions without which values stay the same, and what gets worse instead."""


@pytest.mark.parametrize("case", DECLINES, ids=str)
def test_without_the_condition_the_law_does_harm(case: LawCase):
    harm = HARM.get((case.law.title(), case.condition), is_broken)
    assert harm(case)


def test_only_conditions_that_exist_are_excused():
    assert set(HARM) <= {(law.title(), condition) for law, condition in CONDITIONS}
