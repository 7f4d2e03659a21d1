"""Identifiers of the C++ emitter's own text, which names of a program must not take."""

from __future__ import annotations

from ..names import Names

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
    "careful",
    "again",
)
"""Identifiers of the emitter's own text."""


def cpp_names() -> Names:
    """Return the names of one kernel."""
    return Names(OWN)
