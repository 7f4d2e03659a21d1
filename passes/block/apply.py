"""The pass ``block-apply``: chosen rewrite rules, and nothing else but dead code, to a fixpoint."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.utils.exceptions import PassFailedException

from ...dialects.diagnostics import did_you_mean
from ..fusion.cleanup import dead_code_patterns
from ..rules import ALL_RULES
from ..rules.law import Auditor, Law
from ..rules.table import Rule


@dataclass(frozen=True)
class BlockApplyPass(ModulePass):
    """Apply the named rewrite rules until none of them matches any more.

    ``rules`` are names of ``bb-opt --list-rules``, tried in this order at each operation; a law's name stands
    for all its variants. Nothing else changes, but for dead code, so that results read well: operations of
    the block dialect, and results and inputs of maps, without uses are removed. ``limit`` bounds the
    number of changes: rules that undo each other would otherwise never end.
    """

    name = "block-apply"

    rules: tuple[str, ...]
    limit: int = 100_000

    def __post_init__(self) -> None:
        if not self.rules:
            raise ValueError("option 'rules' names no rule")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        budget = _Budget(self.limit, self.rules)
        auditor = self.auditor(op)
        rules: list[RewritePattern] = [_Counted(_rule(name, auditor), budget, auditor) for name in self.rules]
        patterns = [*dead_code_patterns(), *rules]
        PatternRewriteWalker(GreedyRewritePatternApplier(patterns, dce_enabled=False)).rewrite_module(op)

    def auditor(self, module: ModuleOp) -> Auditor | None:
        """Return an observer that audits the rewrites: none, unless a subclass has one."""


def _rule(name: str, auditor: Auditor | None) -> RewritePattern:
    if name not in ALL_RULES:
        known = f"; the rules are {', '.join(sorted(ALL_RULES))}" if ALL_RULES else "; none is registered"
        raise PassFailedException(f"there is no rule named '{name}'{did_you_mean(name, ALL_RULES, known)}")
    rule = ALL_RULES[name]()
    for law in rule.laws if isinstance(rule, Rule) else [rule]:
        if isinstance(law, Law):
            law.observer = auditor
    return rule


@dataclass
class _Budget:
    left: int
    rules: tuple[str, ...]


@dataclass
class _Counted(RewritePattern):
    """A rule that counts the operations it changed and stops the pass when the budget is spent."""

    rule: RewritePattern
    budget: _Budget
    auditor: Auditor | None = None

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if self.auditor is not None:
            self.auditor.listen(rewriter)
        self.rule.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            if self.auditor is not None:
                self.auditor.completed(self.rule, op)
            self.budget.left -= 1
            if self.budget.left < 0:
                rules = ", ".join(self.budget.rules)
                raise PassFailedException(
                    f"the limit of changes was reached with the rules {rules}: do they undo each other? "
                    "Option 'limit' raises it"
                )
