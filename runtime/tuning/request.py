"""Requests of callers of `bb.compile` for a choice: measured, by the cost model, or by rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InputError
from ..interpreter.arrays import Callback

RULES, MODEL = "rules", "model"
LONGEST = 24 * 3600.0


def checked_seconds(seconds: object) -> float:
    """Return the time for tuning. Raises InputError."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST:
        raise InputError(f"tune is {seconds!r}, expected seconds above 0 and at most a day")
    return float(seconds)


@dataclass(frozen=True)
class Request:
    """Options of `bb.compile` that decide how a program is fused and cut."""

    entry: str | None = None
    choose: str | None = None
    tune: float | None = None
    use_cache: bool = True
    progress: bool | None = None
    callbacks: Mapping[str, Callback] | None = None
