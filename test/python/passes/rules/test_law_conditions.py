"""Each side condition of each law: a program in which it alone fails, and the harm that is done without it.

This is the mutation check of the laws. For every key of `side_conditions` there must be a function
`@<variant>_without_<condition>` in test/filecheck/rules in which the law declines for that reason alone.
And the law that ignores the condition (`ignored`) must rewrite that function, and thereby break it. A law
that does not check a condition any more rewrites the function too, so that the first of the two tests
fails: nothing is left for a script that takes conditions out of the sources.

Broken means invalid, a crash, or other results in float64. The conditions in `HARM` are about profit or about
rounding; what they avert is asserted there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import pytest
from bb.dialects import block
from bb.dialects.attributes import OWN_EXPONENT, PROLOGUE
from bb.dialects.verification import verify
from bb.passes import rules
from bb.passes.rules import ALL_RULES, LAW_NAMES
from bb.passes.rules.law import AnyLaw, Law, Phase
from bb.passes.rules.table import all_laws, later_laws, laws_tried_in
from bb.runtime.interpreter.blocks import Value
from block_evaluation import apply_once, difference, evaluate, random_arguments
from law_cases import RULES_DIR, LawCase, law_cases, operations
from law_magnitudes import is_ever_worse
from law_probes import Record, failing_checks, is_broken, remove_dead_code, rewrite_without
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

DECLINES = law_cases("without")
CONDITIONS = [(law, condition) for law in all_laws() for condition in law.side_conditions]


# The table of laws


def test_rules_are_the_laws():
    assert set(LAW_NAMES) == {law.name for law in (*all_laws(), *later_laws())}
    assert set(LAW_NAMES) <= set(ALL_RULES)


def test_laws_are_tried_by_rank():
    """New laws may come between; that those of today change places would change programs."""
    expected = (
        "vector-algebra",
        "swap-scale-dot",
        "swap-shift-dot",
        "exp-of-shift",
        "merge-scales",
        "fuse-map-reduction",
        "leave-sum",
        "duplicate-mapped-scale",
        "hoist-invariant",
    )
    tried = dict.fromkeys(law.name for law in laws_tried_in(Phase.FIXPOINT))
    assert tuple(name for name in tried if name in expected) == expected
    assert [law.title() for law in laws_tried_in(Phase.LATE)] == ["swap-scale-dot (product)"]
    assert [law.title() for law in laws_tried_in(Phase.EXTENSION)] == [
        "extend-map (cone)",
        "extend-map (slice)",
        "split-map",
    ]


def test_a_law_looks_at_the_operations_that_its_type_names():
    class OneOperation(Law[block.DotOp, None]): ...

    class SomeOperations(Law[block.AddOp | block.SubOp, None]): ...

    OpT = TypeVar("OpT", bound=Operation)

    class OpenLaw(Law[OpT, OpT], Generic[OpT]): ...

    class Closed(OpenLaw[block.MulOp]): ...

    class Inherited(Closed): ...

    assert OneOperation.anchors == (block.DotOp,)
    assert SomeOperations.anchors == (block.AddOp, block.SubOp)
    assert not hasattr(OpenLaw, "anchors")
    assert Closed.anchors == Inherited.anchors == (block.MulOp,)


def test_a_law_of_no_operations_is_refused():
    with pytest.raises(TypeError, match="expected a class of operations"):

        class Wrong(Law[int, None]): ...  # pyright: ignore[reportInvalidTypeArguments]


@pytest.mark.parametrize("law", [*all_laws(), *later_laws()], ids=lambda law: law.title())
def test_a_law_stands_in_the_file_of_its_name(law: type[AnyLaw]):
    assert law.__module__ == f"{rules.__name__}.{law.name.replace('-', '_')}"


@pytest.mark.parametrize("law", all_laws(), ids=lambda law: law.title())
def test_the_documentation_of_a_law_heads_its_test(law: type[AnyLaw]):
    text = (RULES_DIR / f"{law.name}.mlir").read_text()
    assert f"// {law.before}\n//   -> {law.after}\n" in text


def test_titles_are_unique():
    titles = [law.title() for law in all_laws()]
    assert len(set(titles)) == len(titles)


# Where laws decline


@pytest.mark.parametrize(
    ("law", "condition"), CONDITIONS, ids=lambda x: x if isinstance(x, str) else x.title()
)
def test_every_side_condition_has_a_program_without_it(law: type[AnyLaw], condition: str):
    assert any(case.law is law and case.condition == condition for case in DECLINES)


@pytest.mark.parametrize("law", all_laws(), ids=lambda law: law.title())
def test_checked_conditions_are_declared_ones(law: type[AnyLaw]):
    checked = {
        check.condition
        for kind in ("fires", "without", "not")
        for case in law_cases(kind)
        if case.law.name == law.name
        for op in operations(case.program(), law)
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
    assert all(check.reason for check in decisive)
    assert not apply_once(law, program)
    assert not record.firings
    assert str(program) == before
    for check in decisive:
        reported = [refused for op in program.walk() for refused in law.refusals(op)]
        assert (check in record.refusals) == check.noteworthy
        assert (check in reported) == check.noteworthy


@pytest.mark.parametrize("case", law_cases("not"), ids=str)
def test_a_law_does_not_look_at_what_it_is_not_for(case: LawCase):
    law, program = case.law(), case.program()
    assert not apply_once(law, program)
    assert not [check for op in program.walk() for check in law.refusals(op)]


# What conditions avert


def single_precision_error(program: FuncOp, arguments: list[Value]) -> float:
    """Error of results in float32 against those in float64."""
    exact, _ = evaluate(program, arguments)
    return difference(evaluate(program, arguments, float64=False)[0], exact)


def loses_precision(case: LawCase, magnitudes: tuple[float, float]) -> bool:
    """True if the law makes float32 results useless where blocks and vectors have these magnitudes."""
    program = case.program()
    rng = np.random.default_rng(0)
    arguments = random_arguments(program)
    for index, argument in enumerate(program.body.block.args):
        if argument.name_hint in ("x", "y", "c"):
            size = magnitudes[argument.name_hint == "c"]
            noise = rng.uniform(-1, 1, np.shape(arguments[index]))
            arguments[index] = (size * (1 + noise / max(abs(size), 2.0))).astype(np.float32)
    accurate = single_precision_error(program, arguments)
    law = rewrite_without(case, program)
    while apply_once(law, program):
        pass
    verify(program.get_toplevel_object())
    return accurate < 1e-5 and not single_precision_error(program, arguments) < 1e-3


def cancels(case: LawCase) -> bool:
    """True if the law is inaccurate where the shift takes a large offset away."""
    return loses_precision(case, (1e6, -1e6))


def overflows(case: LawCase) -> bool:
    """True if the law gives infinities for small results."""
    return loses_precision(case, (300.0, -300.0))


def is_worse(case: LawCase) -> bool:
    """True if the law overflows, or is less accurate, for arguments of some magnitude."""
    program = case.program()
    law = rewrite_without(case, program)
    while apply_once(law, program):
        pass
    verify(program.get_toplevel_object())
    return is_ever_worse(case.program(), program)


def loses_nan(case: LawCase) -> bool:
    """True if the law breaks the program, or gives numbers where the first argument is NaN."""
    if is_broken(case):
        return True
    program = case.program()
    arguments = random_arguments(program)
    arguments[0] = np.full(np.shape(arguments[0]), np.nan)
    rewrite_without(case, program)
    return difference(evaluate(program, arguments)[0], evaluate(case.program(), arguments)[0]) > 0


def rounds_otherwise(case: LawCase) -> bool:
    """True if the law gives other results in the types of the program."""
    program = case.program()
    arguments = random_arguments(program)
    before = evaluate(program, arguments, float64=False)[0]
    law = rewrite_without(case, program)
    while apply_once(law, program):
        pass
    return difference(evaluate(program, arguments, float64=False)[0], before) > 0


def leaves_range(items: float, vectors: float) -> Callable[[LawCase], bool]:
    """True for laws that spoil results in the types of the program at these magnitudes of arguments."""

    def spoils(case: LawCase) -> bool:
        program = case.program()
        arguments: list[Value] = [
            np.full_like(value, items if argument.name_hint in ("x", "y") else vectors)
            for argument, value in zip(program.body.block.args, random_arguments(program), strict=True)
        ]
        exact = [np.asarray(result, dtype=np.float64) for result in evaluate(program, arguments)[0]]

        def error() -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                found = evaluate(program, arguments, float64=False)[0]
                pairs = zip(found, exact, strict=True)
                return max(float(np.max(np.abs(np.asarray(got) / wanted - 1))) for got, wanted in pairs)

        before = error()
        law = rewrite_without(case, program)
        while apply_once(law, program):
            pass
        return before < 1e-2 and not error() < 1e-1

    return spoils


def overflows_apart(case: LawCase) -> bool:
    """True if the sum of the items alone overflows f16, which sums of items and vector do not."""
    program = case.program()
    items, vector = random_arguments(program)
    assert isinstance(items, list)
    # Blocks have three elements, so that three times the vector cancels an item.
    arguments: list[Value] = [[np.full_like(item, 3e4) for item in items], np.full_like(vector, -1e4)]
    with np.errstate(over="ignore", invalid="ignore"):
        before = evaluate(program, arguments, float64=False)[0]
        law = rewrite_without(case, program)
        while apply_once(law, program):
            pass
        after = evaluate(program, arguments, float64=False)[0]
    return bool(np.isfinite(before[0]).all()) and not np.isfinite(after[0]).all()


def counted(case: LawCase, count: Callable[[FuncOp], int]) -> bool:
    """True if there is more of something after the law that ignores the condition."""
    program = case.program()
    before = count(program)
    rewrite_without(case, program)
    while remove_dead_code(program):
        pass
    verify(program.get_toplevel_object())
    return count(program) > before


def needs_more_accumulators(case: LawCase) -> bool:
    def accumulators(program: FuncOp) -> int:
        return sum(
            kind.reduces for op in program.walk() if isinstance(op, block.MapOp) for kind in op.result_kinds
        )

    return counted(case, accumulators)


def stores_more(case: LawCase) -> bool:
    return counted(case, lambda program: sum(isinstance(op, block.StoreOp) for op in program.walk()))


def needs_exponents(case: LawCase) -> bool:
    return counted(case, lambda program: sum(OWN_EXPONENT in op.attributes for op in program.walk()))


def never_ends(case: LawCase) -> bool:
    program = case.program()
    law = rewrite_without(case, program)
    return all(apply_once(law, program) for _ in range(20))


def is_all_prologue(case: LawCase) -> bool:
    """True if work of the kernel becomes part of its once-only prologue."""
    program = case.program()
    rewrite_without(case, program)
    verify(program.get_toplevel_object())
    return all(PROLOGUE in op.attributes for op in program.walk() if isinstance(op, block.MapOp))


HARM: dict[tuple[str, str], Callable[[LawCase], bool]] = {
    ("exp-of-shift", "demand"): overflows,
    ("swap-shift-dot (row shift)", "demand"): cancels,
    ("swap-shift-dot (scaled row shift)", "demand"): cancels,
    ("swap-shift-dot (row sum)", "demand"): cancels,
    ("swap-scale-dot (left operand)", "exact-below"): rounds_otherwise,
    ("swap-scale-dot (right operand)", "exact-below"): rounds_otherwise,
    ("swap-scale-dot (rounded left operand)", "demand"): needs_exponents,
    ("swap-scale-dot (rounded left operand)", "no-exponential"): needs_exponents,
    ("swap-scale-dot (row sum)", "range"): leaves_range(3e4, 1e-3),
    ("swap-scale-dot (product)", "once"): is_worse,
    ("swap-scale-dot (product)", "demand"): is_worse,
    ("swap-scale-dot (product)", "range"): is_worse,
    ("swap-scale-dot (constant factor)", "shrinks"): leaves_range(1e38, 1e-2),
    ("swap-scale-dot (constant factor)", "range"): leaves_range(2.0**-22, 1e4),
    ("swap-scale-dot (sum of equal scales)", "range"): leaves_range(4e4, 1e-2),
    ("swap-shift-dot (row sum of a product)", "demand"): is_worse,
    ("swap-shift-dot (row shift)", "exact-below"): is_worse,
    ("swap-shift-dot (column shift)", "demand"): cancels,
    ("swap-shift-dot (scaled row shift)", "exact-below"): is_worse,
    ("swap-shift-dot (scaled row shift)", "range"): is_worse,
    ("swap-shift-dot (row sum of a product)", "wide"): is_worse,
    ("swap-shift-dot (row sum of a product)", "pivot"): is_worse,
    ("swap-shift-dot (sum)", "demand"): is_worse,
    ("swap-shift-dot (constant factor)", "power"): is_worse,
    ("merge-scales (scales)", "cancels"): is_worse,
    ("merge-scales (shifts)", "cancels"): is_worse,
    ("merge-scales (row scale outside)", "demand"): is_worse,
    ("merge-scales (row scale outside)", "range"): is_worse,
    ("merge-scales (column shift outside)", "demand"): is_worse,
    ("leave-sum (scale)", "wide"): is_worse,
    ("leave-sum (outer product)", "wide"): is_worse,
    ("leave-sum (shift)", "demand"): is_worse,
    ("leave-sum (addition)", "demand"): is_worse,
    ("leave-sum (product)", "wide"): is_worse,
    ("leave-sum (product)", "plain"): is_worse,
    ("leave-sum (linear form)", "wide"): overflows_apart,
    ("leave-sum (linear form)", "growth"): is_worse,
    ("vector-algebra (flatten)", "witness"): loses_nan,
    ("vector-algebra (constant factors)", "square"): is_worse,
    ("leave-sum (addition)", "worthwhile"): needs_more_accumulators,
    ("leave-sum (product)", "invariant"): never_ends,
    ("duplicate-mapped-scale", "mapped"): stores_more,
    ("fuse-consecutive-maps", "once"): is_all_prologue,
    ("fuse-sibling-maps", "once"): is_all_prologue,
    ("interchange-maps", "one-order"): never_ends,
}
"""Conditions without which values stay the same, and what gets worse instead."""


@pytest.mark.parametrize("case", DECLINES, ids=str)
def test_without_the_condition_the_law_does_harm(case: LawCase):
    harm = HARM.get((case.law.title(), case.condition), is_broken)
    assert harm(case)


def test_only_conditions_that_exist_are_excused():
    assert set(HARM) <= {(law.title(), condition) for law, condition in CONDITIONS}
