"""Over the whole range of numbers, no law makes a program overflow, or more than doubles its error.

Each law is applied to the programs of its own test in f32 and, retyped, in f16. `REACH` lists laws that form
a product which f32 must hold, `DELICATE` those for which `block-stabilize` gives numbers a pivot afterwards.
"""

from __future__ import annotations

import re

import pytest
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.passes.rules.law import AnyLaw
from block_evaluation import apply_once
from law_cases import RULES_DIR, LawCase, law_cases
from law_magnitudes import effects
from xdsl.dialects.func import FuncOp

pytestmark = pytest.mark.long

REACH = {
    "merge-scales (row scale outside)": 0.45,
    "swap-shift-dot (row shift)": 0.45,
    "swap-shift-dot (column shift)": 0.3,
    "swap-shift-dot (scaled row shift)": 0.3,
    "swap-shift-dot (row sum)": 0.45,
    "swap-shift-dot (row sum of a product)": 0.45,
    "leave-sum (scale)": 0.9,
    "leave-sum (outer product)": 0.9,
    "leave-sum (product)": 0.9,
    "leave-sum (addition)": 0.45,
    "leave-sum (linear form)": 0.45,
    "vector-algebra (constant factors)": 0.45,
}
"""The part of the decades of a type in which the magnitudes of some laws' arguments lie."""

DELICATE = {
    "swap-shift-dot (row shift)",
    "swap-shift-dot (column shift)",
    "swap-shift-dot (scaled row shift)",
    "swap-shift-dot (row sum)",
    "swap-shift-dot (row sum of a product)",
    "swap-shift-dot (sum)",
    "merge-scales (column shift outside)",
    "leave-sum (shift)",
    "leave-sum (addition)",
    "leave-sum (linear form)",
    "vector-algebra (constant factors)",
}
"""Laws that may cancel, and therefore fire only for what waits for a reduction."""

RULES = ("merge-scales", "swap-shift-dot", "leave-sum", "duplicate-mapped-scale", "vector-algebra")


def first_cases() -> list[LawCase]:
    """The first program of each variant that fires."""
    found: dict[type[AnyLaw], LawCase] = {}
    for case in law_cases("fires"):
        if case.law.name in RULES:
            found.setdefault(case.law, case)
    return list(found.values())


def program(case: LawCase, element_type: str) -> FuncOp:
    """The function of a case with another type than f32 for all items but accumulators."""
    text = (RULES_DIR / f"{case.law.name}.mlir").read_text()
    head = [line for line in text.splitlines() if line.startswith(("!", "#"))]
    function = re.search(rf"^func\.func @{case.function}\(.*?^}}", text, re.S | re.M)
    assert function is not None
    retyped = re.sub(r"(?<!acc )\bf32\b", element_type, "\n".join([*head, function.group()]))
    module = parse_module(retyped, case.function)
    verify(module)
    (op,) = module.ops
    assert isinstance(op, FuncOp)
    return op


def takes_only_f32(case: LawCase) -> bool:
    """True if a program accumulates in f32 what it then combines with other items, or has bits of f32."""
    text = str(case.program())
    return "0xff800000" in text or ("swap-shift-dot" in case.law.name and "acc f32" in text)


@pytest.mark.parametrize("element_type", ["f32", "f16"])
@pytest.mark.parametrize("case", first_cases(), ids=str)
def test_a_law_makes_nothing_worse(case: LawCase, element_type: str):
    if element_type != "f32" and takes_only_f32(case):
        pytest.skip("the program has no f16 form")
    before, after = program(case, element_type), program(case, element_type)
    law = case.law()
    while apply_once(law, after):
        pass
    title = case.law.title()
    worse = [
        effect
        for effect in effects(before, after, REACH.get(title, 1.0), title not in DELICATE)
        if effect.is_worse()
    ]
    assert not worse


def test_only_laws_that_exist_are_excused():
    titles = {case.law.title() for case in first_cases()}
    assert REACH.keys() | DELICATE <= titles
