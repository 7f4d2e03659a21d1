"""Rewrite rules by name: every module of this folder is a rule, named as its file.

A new rule is a new file. `law.py` has the base class of laws, `table.py` orders the laws of all files, and
`shared/` has helpers for several of them.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from xdsl.pattern_rewriter import RewritePattern

RuleFactory = Callable[[], RewritePattern]

NO_RULES = frozenset({"constant_prologue", "law", "table", "user_rule"})
"""Modules that are no rules: the parts that rules are made of, and the law that only `block-fuse` applies."""


def _built_in(name: str) -> RuleFactory:
    """Return a factory that imports the laws of a rule when it is called."""
    return lambda: import_module(f"{__name__}.table").Rule(name)


LAW_NAMES = tuple(
    module.name.replace("_", "-")
    for module in iter_modules(__path__)
    if not module.ispkg and module.name not in NO_RULES
)
"""The rules of this folder."""

ALL_RULES: dict[str, RuleFactory] = {name: _built_in(name) for name in LAW_NAMES}
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
