"""Rewrite rules by name. One law a file; ``block-apply`` and the fusion driver find them here."""

from collections.abc import Callable

from xdsl.pattern_rewriter import RewritePattern

RuleFactory = Callable[[], RewritePattern]

LAW_NAMES = (
    "cse",
    "duplicate-mapped-scale",
    "exp-of-shift",
    "fuse-consecutive-maps",
    "fuse-map-reduction",
    "fuse-sibling-maps",
    "hoist-invariant",
    "inline-whole-dim",
    "interchange-maps",
    "leave-sum",
    "merge-scales",
    "swap-scale-dot",
    "swap-shift-dot",
    "vector-algebra",
)
"""The laws of phase 2; each stands in the file of its name, with all its variants."""

LATER_LAW_NAMES = ("extend-map", "fuse-elementwise", "split-map")
"""The laws of phase 3, and the one that comes last."""


def _law(name: str) -> RuleFactory:
    def make() -> RewritePattern:
        from .table import Rule

        return Rule(name)

    return make


ALL_RULES: dict[str, RuleFactory] = {name: _law(name) for name in (*LAW_NAMES, *LATER_LAW_NAMES)}
"""Every known rule; a factory takes no argument and imports its rule's module when called."""


def register_rule(name: str, factory: RuleFactory) -> RuleFactory:
    """Make a rewrite rule usable by name, as in ``block-apply{rules=<name>}``; returns the factory.

    ``factory`` is a RewritePattern class without required arguments, or a function that makes one.
    Raises ValueError when the name is taken or holds other characters than letters, digits, ``-`` and ``_``.
    """
    if name in ALL_RULES:
        raise ValueError(f"a rule named '{name}' is registered already")
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ValueError(f"rule name '{name}' may only hold letters, digits, '-' and '_'")
    ALL_RULES[name] = factory
    return factory
