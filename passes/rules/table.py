"""All laws, in the order in which fusion tries them and in the order of the documentation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from . import LAW_NAMES
from .law import AnyLaw, Phase
from .shared.extension import Extension

FIXPOINT_PHASES = (Phase.OWN_STEP, Phase.FIXPOINT, Phase.LATE)


def laws_of(name: str) -> Sequence[type[AnyLaw]]:
    """Return the variants of a rule of this folder, in the order in which they are tried.

    Raises ValueError for a module that has a law of another name.
    """
    module = import_module(f".{name.replace('-', '_')}", __package__)
    laws: Sequence[type[AnyLaw]] = module.LAWS
    for law in laws:
        if law.name != name:
            raise ValueError(f"{module.__name__} holds the law '{law.name}', which belongs in another file")
    return laws


@cache
def _laws() -> Sequence[type[AnyLaw]]:
    """Return all laws of this folder, those of a lower rank first, and of one rank by their names."""
    return sorted((law for name in sorted(LAW_NAMES) for law in laws_of(name)), key=lambda law: law.rank)


def _as_documented(laws: list[type[AnyLaw]]) -> list[type[AnyLaw]]:
    return sorted(laws, key=lambda law: law.topic)


def laws_tried_in(phase: Phase) -> list[type[AnyLaw]]:
    """Return the laws of one phase, in the order in which it tries them."""
    return [law for law in _laws() if law.phase is phase]


def extensions() -> tuple[type[Extension[Any]], ...]:
    """Return the laws that extend maps, in the order in which they are tried."""
    return tuple(law for law in laws_tried_in(Phase.EXTENSION) if issubclass(law, Extension))


def all_laws() -> list[type[AnyLaw]]:
    """Return the laws of phase 2, in the order of the documentation."""
    return _as_documented([law for law in _laws() if law.phase in FIXPOINT_PHASES])


def later_laws() -> list[type[AnyLaw]]:
    """Return the extensions of phase 3, and the laws that close fusion, in the documentation's order."""
    return _as_documented([law for law in _laws() if law.phase not in FIXPOINT_PHASES])


class Rule(RewritePattern):
    """All variants of one law, under the name that users know; at an operation the first that applies
    fires.
    """

    def __init__(self, name: str):
        self.laws = [law() for law in laws_of(name)]

    @property
    def summary(self) -> str:
        """The law in one sentence; for a law with variants, their common idea."""
        if len(self.laws) == 1:
            return self.laws[0].law
        doc = sys.modules[type(self.laws[0]).__module__].__doc__ or ""
        return doc.partition("\n")[0]

    @property
    def variants(self) -> dict[str, str]:
        """Each variant, where there are several, with its law in one sentence."""
        return {law.variant: law.law for law in self.laws} if len(self.laws) > 1 else {}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for law in self.laws:
            law.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return
