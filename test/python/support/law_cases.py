"""The functions of test/filecheck/rules/*.mlir as cases for tests of the laws.

The file of a law is named as the law, a function by what it shows, with the variant's name in front (the
law's, where it has no variants):

- `@row_sum`, `@row_sum_of_ragged_blocks`: the variant fires;
- `@row_sum_without_demand`, `@row_sum_without_demand_…`: the side condition `demand`, and no other, fails;
- `@row_sum_not_integers`: the variant does not even look at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from bb.dialects.parsing import parse_module
from bb.passes.rules.law import AnyLaw
from bb.passes.rules.table import all_laws
from paths import FILECHECK
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

RULES_DIR = FILECHECK / "rules"


def slug(text: str) -> str:
    """A name as it stands in the name of a function."""
    return re.sub(r"\W+", "_", text)


def law_slug(law: type[AnyLaw]) -> str:
    """Prefix of the functions that show a law."""
    return slug(law.variant or law.name)


@dataclass(frozen=True)
class LawCase:
    """One function that shows a law.

    `kind` is "fires", "without" where the law declines for lack of `condition`, and "not" where it does not
    even look.
    """

    law: type[AnyLaw]
    function: str
    kind: str
    condition: str = ""

    def __str__(self) -> str:
        return f"{self.law.name}-{self.function}"

    def program(self) -> FuncOp:
        """A fresh copy of the function, in a module of its own."""
        module = load(self.law.name).clone()
        for op in list(module.ops):
            if isinstance(op, FuncOp) and op.sym_name.data != self.function:
                op.detach()
        (function,) = module.ops
        assert isinstance(function, FuncOp)
        return function


@cache
def load(rule: str) -> ModuleOp:
    """The module of the cases of one rule."""
    path = RULES_DIR / f"{rule}.mlir"
    return parse_module(path.read_text(), str(path))


def _case(law_classes: list[type[AnyLaw]], name: str) -> LawCase:
    found = [law for law in law_classes if f"{name}_".startswith(f"{law_slug(law)}_")]
    assert found, f"@{name} shows none of the variants of {law_classes[0].name}"
    law = max(found, key=lambda law: len(law_slug(law)))
    rest = name.removeprefix(law_slug(law))
    if rest.startswith("_without_"):
        condition = rest.removeprefix("_without_")
        keys = [key for key in law.side_conditions if f"{condition}_".startswith(f"{slug(key)}_")]
        assert len(keys) == 1, f"@{name} names no side condition of {law.title()}"
        return LawCase(law, name, "without", keys[0])
    return LawCase(law, name, "not" if rest.startswith("_not_") else "fires")


def law_cases(kind: str, laws: Sequence[type[AnyLaw]] | None = None) -> list[LawCase]:
    """All cases of one kind, in the order of the files; of the laws of phase 2, if no others are given."""
    chosen = all_laws() if laws is None else laws
    rules = dict.fromkeys(law.name for law in chosen)
    cases: list[LawCase] = []
    for rule in rules:
        if not (RULES_DIR / f"{rule}.mlir").exists():
            continue  # a test of its own says so
        variants = [law for law in chosen if law.name == rule]
        names = [op.sym_name.data for op in load(rule).ops if isinstance(op, FuncOp)]
        cases += [case for name in names if (case := _case(variants, name)).kind == kind]
    return cases


def operations(program: Operation, law: type[AnyLaw]) -> Iterator[Operation]:
    """The operations at which a law looks."""
    return (op for op in program.walk() if isinstance(op, law.anchors))
