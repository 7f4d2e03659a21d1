"""Identifiers in generated source: names of the program, if they are free."""

from __future__ import annotations

from collections.abc import Iterable

from .source_text import LONGEST_NAME, mangle


class Names:
    """Identifiers of one kernel: each is given out once."""

    def __init__(self, own: Iterable[str]) -> None:
        """Start with the identifiers of the emitter's own text taken."""
        self._taken: set[str] = set(own)

    def claim(self, wanted: str | None, *suffixes: str) -> str:
        """An identifier like `wanted`, free by itself and with each of `suffixes` appended."""
        base = mangle(wanted or "t")[: LONGEST_NAME - 16]
        if any(mangle(base + suffix) != base + suffix for suffix in ("", *suffixes)):
            base = f"v{base}"  # what would be a macro with a suffix, such as M_PI
        name, number = base, 2
        while any(each in self._taken for each in (name, *(name + suffix for suffix in suffixes))):
            name, number = f"{base}{number}", number + 1
        self._taken.update((name, *(name + suffix for suffix in suffixes)))
        return name
