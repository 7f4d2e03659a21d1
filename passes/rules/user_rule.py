"""A user's rewrite pattern among the laws: it fires in the driver and shows up in the trace."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from ...dialects.diagnostics import did_you_mean
from . import ALL_RULES
from .law import Law, Observer


class UserRule(Law[None]):
    """Wraps a registered rule; a rule that is a `Law` itself needs no wrapping."""

    law = "a rule of the user's"
    before = after = traffic = ""
    anchors = (Operation,)
    structural = True

    def __init__(self, name: str, pattern: RewritePattern, observer: Observer | None = None):
        super().__init__(None, observer)
        self.name = name  # pyright: ignore[reportAttributeAccessIssue]
        self.law = cleandoc(type(pattern).__doc__ or "").partition("\n")[0] or UserRule.law  # pyright: ignore[reportAttributeAccessIssue]
        self.pattern = pattern

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
            otherwise = f"; the rules are {', '.join(sorted(ALL_RULES))}" if ALL_RULES else "; none is registered"
            raise PassFailedException(f"there is no rule named '{name}'{did_you_mean(name, ALL_RULES, otherwise)}")
        pattern = ALL_RULES[name]()
        patterns.append(pattern if isinstance(pattern, Law) else UserRule(name, pattern))
    return patterns
