"""docs/reference/rules.md: every law of fusion, from the metadata that the trace prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ...passes.rules.constant_prologue import ConstantPrologue
from ...passes.rules.law import AnyLaw
from ...passes.rules.shared.extension import Extension
from ...passes.rules.table import all_laws, later_laws
from .markdown import fenced, item, page, paragraph, table

INTRODUCTION = """
Every rule of `block-fuse` is a law: an equation between block programs, with the conditions under which
it holds. A law may examine a place in the program and decline to fire; the trace keeps the reason.
`bb-opt --list-rules` lists the rules. `bb-opt -p "block-apply{rules=swap-scale-dot}"` applies a single
rule. [Scripting](scripting.md) shows how to add one.
"""

LEGEND = """
*Structural* laws remove a map or a list. Fusion keeps an extension, a law that repeats work, only if a
structural law fires after it. *On demand* marks a law that costs work, or that can lose digits by
cancellation. It fires only where a computation would otherwise wait for the result of a whole loop.
"""

NOTATION = """
Notation of the equations:
"""

NOTATION_ITEMS = (
    "`dot(a, b)` is a·bᵀ.",
    "`row_scale(a, c)` is diag(c)·a, and `row_shift(a, c)` is a + c·1ᵀ. `col_scale` and `col_shift` take a "
    "vector along the other axis.",
    "`linear` is a linear form with exact coefficients.",
    "`monomial` is a product of powers.",
    "`sum { … }` is a map whose result is the sum over its iterations.",
)


def documented_laws() -> list[type[AnyLaw]]:
    """Return the laws of the page, in its order."""
    return [*all_laws(), *sorted((*later_laws(), ConstantPrologue), key=lambda law: (law.topic, law.rank))]


def text() -> str:
    """The page."""
    laws = documented_laws()
    names = list(dict.fromkeys(law.name for law in laws))
    blocks = ["# The rules of fusion", paragraph(INTRODUCTION), _overview(laws), paragraph(LEGEND)]
    blocks += [paragraph(NOTATION), "\n".join(map(item, NOTATION_ITEMS))]
    for name in names:
        blocks += _rule(name, [law for law in laws if law.name == name])
    return page(*blocks)


def _overview(laws: Iterable[type[AnyLaw]]) -> str:
    rows: list[tuple[str, str, str]] = []
    last = ""
    for law in laws:
        rule = f"[`{law.name}`](#{law.name})" if law.name != last else ""
        last = law.name
        rows.append((rule, law.variant, law.law))
    return table(("rule", "variant", "law"), rows)


def _rule(name: str, laws: list[type[AnyLaw]]) -> Iterable[str]:
    yield f"## {name}"
    files = list(dict.fromkeys(law.__module__.rpartition(".")[2] for law in laws))
    links = ", ".join(f"[passes/rules/{file}.py](../../passes/rules/{file}.py)" for file in files)
    summaries = [_summary(law) for law in laws]
    yield paragraph(" ".join([*dict.fromkeys(summaries if len(laws) > 1 else ()), f"In {links}."]))
    for law in laws:
        if len(laws) > 1:
            yield f"### {name}: {law.variant}"
        yield from _law(law)


def _summary(law: type[AnyLaw]) -> str:
    """The first sentence of the file that defines a law."""
    summary = (sys.modules[law.__module__].__doc__ or "").strip().partition("\n\n")[0]
    return " ".join(summary.split()).partition(". ")[0].rstrip(".") + "."


def _law(law: type[AnyLaw]) -> Iterable[str]:
    yield paragraph(law.law)
    yield fenced(f"   {law.before}\n=> {law.after}")
    facts = [f"Traffic: {law.traffic}.", f"Numerics: {law.numerics}."]
    if issubclass(law, Extension):
        facts.append(f"Repeated: {law.repeats}.")
    if law.structural:
        facts.append("Structural.")
    if law.delicate:
        facts.append("On demand.")
    yield "\n".join(item(fact) for fact in facts)
    if law.side_conditions:
        conditions = (f"`{name}`: {condition}." for name, condition in law.side_conditions.items())
        yield "Side conditions:"
        yield "\n".join(item(condition) for condition in conditions)
