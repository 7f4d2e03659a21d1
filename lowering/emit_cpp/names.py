"""Names in generated source: those of the program where they can be had, each for one thing."""

from __future__ import annotations

from collections.abc import Iterable

from ..source_text import LONGEST_NAME, mangle

OWN = (
    "T",
    "V",
    "I",
    "Int",
    "arrays",
    "extents",
    "threads",
    "work",
    "task",
    "rest",
    "memory",
    "room",
    "kept",
    "shared",
    "lists",
    "common",
    "piece",
    "parts",
    "part",
    "found",
    "end",
    "status",
    "o",
    "l",
    "n",
    "acc",
    "other",
)
"""What the emitter itself calls things."""


class Names:
    """Gives out identifiers, none of them twice."""

    def __init__(self, own: Iterable[str] = OWN) -> None:
        """`own` is what the emitter itself calls things."""
        self._taken: set[str] = set(own)

    def claim(self, wanted: str | None, *suffixes: str) -> str:
        """An identifier like `wanted`, such that it is free, and also with any of `suffixes` behind it."""
        base = mangle(wanted or "t")[: LONGEST_NAME - 16]
        if any(mangle(base + suffix) != base + suffix for suffix in ("", *suffixes)):
            base = f"v{base}"  # what would be a macro with a suffix, such as M_PI
        name, number = base, 2
        while any(each in self._taken for each in (name, *(name + suffix for suffix in suffixes))):
            name, number = f"{base}{number}", number + 1
        self._taken.update((name, *(name + suffix for suffix in suffixes)))
        return name
