"""Names for indices, items and lists: those of the program, unless they collide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

_WORDS = ("forall", "for", "in", "over", "of", "any", "load", "store", "view", "inf", "nan", "true", "false")
_FUNCTIONS = ("and", "or", "not", "sum", "max", "min", "exp", "dot", "outer", "where", "sigmoid", "silu")
_KEYWORDS = frozenset(_WORDS + _FUNCTIONS)
SYNONYMS = {"sum": "total", "max": "top", "min": "low", "exp": "e"}
"""Items that are called like the function that computes them."""


def index_names(dims: Iterable[str], arrays: Iterable[str]) -> dict[str, str]:
    """The index of each dim: its letter in lower case, doubled where an array has that name."""
    taken = {*arrays, *dims} | _KEYWORDS
    found: dict[str, str] = {}
    for dim in dims:
        lower = dim.lower()
        candidates = [lower, lower * 2 if len(lower) == 1 else f"{lower}_", f"i_{dim}"]
        name = next((name for name in candidates if name not in taken), None) or _numbered(lower, taken)
        found[dim] = name
        taken.add(name)
    return found


def _numbered(base: str, taken: Iterable[str]) -> str:
    """`base2`, `base3`, …: the first that is free."""
    joint = "_" if base[-1:].isdigit() else ""
    return next(name for number in count(2) if (name := f"{base}{joint}{number}") not in taken)


class Names:
    """Names in nested scopes: a visible name is not given again.

    An item may have the name of a list or an array, because those have brackets.
    """

    def __init__(self, reserved: Iterable[str], functions: Iterable[str]):
        self.indices = frozenset(reserved)
        self.reserved = frozenset(functions) | _KEYWORDS | self.indices
        self._items: list[set[str]] = [set()]
        self._lists: list[set[str]] = [set()]

    def enter(self) -> None:
        """Open a scope: names given in it are forgotten at its end."""
        self._items.append(set())
        self._lists.append(set())

    def leave(self) -> None:
        """Close the innermost scope."""
        self._items.pop()
        self._lists.pop()

    def item(self, hint: str | None) -> str:
        """A name for an item in local memory."""
        base = _plain(hint, "t")
        return self._fresh(SYNONYMS.get(base, base), self._items, self.reserved)

    def list(self, hint: str | None) -> str:
        """A name for a list, with a capital."""
        base = _plain(hint, "t")
        return self._fresh(base[:1].upper() + base[1:], self._lists, self.reserved)

    def array(self, hint: str | None, *, bare: bool = False) -> str:
        """A name for an array: its own, unless it stands without brackets and is that of a function."""
        base = hint or "y"
        if bare:
            return self._fresh(SYNONYMS.get(base, base), self._lists, self.reserved)
        return self._fresh(base, self._lists, frozenset())

    def _fresh(self, base: str, scopes: Sequence[set[str]], reserved: frozenset[str]) -> str:
        if base in reserved:
            base = base * 2 if len(base) == 1 else f"{base}_"
        taken = reserved.union(*scopes)
        name = base if base not in taken else _numbered(base, taken)
        scopes[-1].add(name)
        return name

    def undotted(self, hint: str | None, loops: Sequence[str]) -> str | None:
        """A hint without the indices of the loops around: `Scores_mn` is `Scores`."""
        if hint is None:
            return None
        base, mark, suffix = hint.rpartition("_")
        rest = suffix
        for loop in loops:
            rest = rest.replace(loop.lower(), "", 1)
        return base if mark and base and not rest else hint


def _plain(hint: str | None, default: str) -> str:
    return hint[:1].lower() + hint[1:] if hint else default
