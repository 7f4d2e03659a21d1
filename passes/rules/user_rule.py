"""A user's rewrite pattern as a law: the driver applies it, and the trace records it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import cast

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from ...dialects.diagnostics import did_you_mean
from . import ALL_RULES
from .law import AnyLaw, Law, Observer


class UserRule(Law[Operation, None]):
    """Wraps a registered rule; a rule that is a `Law` itself needs no wrapping."""

    law = "a rule of the user's"
    before = after = traffic = ""
    structural = True

    def __init__(self, pattern: RewritePattern, observer: Observer | None = None):
        super().__init__(None, observer)
        self.pattern = pattern

    @staticmethod
    def wrapping(name: str, pattern: RewritePattern) -> UserRule:
        """Wrap a rule under its name in a class of its own, because the name of a law belongs to its
        class.
        """
        law = cleandoc(type(pattern).__doc__ or "").partition("\n")[0] or UserRule.law
        return type("NamedUserRule", (UserRule,), {"name": name, "law": law})(pattern)

    def sites(self, op: Operation) -> Iterator[None]:
        yield from ()

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        self.pattern.match_and_rewrite(op, rewriter)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if self.observer is not None:
            self.observer.settle()
        self.rewrite(op, None, rewriter)
        if rewriter.has_done_action and self.observer is not None:
            self.observer.fired(self, op)


def user_rules(names: tuple[str, ...]) -> list[RewritePattern]:
    """The registered rules with these names. Raises PassFailedException for an unknown name."""
    patterns: list[RewritePattern] = []
    for name in names:
        if name not in ALL_RULES:
            otherwise = (
                f"; the rules are {', '.join(sorted(ALL_RULES))}" if ALL_RULES else "; none is registered"
            )
            raise PassFailedException(
                f"there is no rule named '{name}'{did_you_mean(name, ALL_RULES, otherwise)}"
            )
        pattern = ALL_RULES[name]()
        is_law = isinstance(pattern, Law)
        patterns.append(cast(RewritePattern, pattern) if is_law else UserRule.wrapping(name, pattern))
    return patterns


def laws_among(patterns: Sequence[RewritePattern]) -> list[AnyLaw]:
    """The user rules that are laws themselves, and can therefore say why they decline."""
    return [
        cast(AnyLaw, pattern)
        for pattern in patterns
        if isinstance(pattern, Law) and not isinstance(pattern, UserRule)
    ]
