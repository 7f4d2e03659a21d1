"""Rewrite rules by name. One law a file; ``block-apply`` and the fusion driver find them here."""

from collections.abc import Callable

from xdsl.pattern_rewriter import RewritePattern

RuleFactory = Callable[[], RewritePattern]

ALL_RULES: dict[str, RuleFactory] = {}
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
