"""Who decides how a program is fused and cut: measurements, made now or earlier, the model, or rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...lowering.choices import Choice
from ..interpreter import InputError
from .keys import key_of
from .store import find

if TYPE_CHECKING:
    from ..array_interpreter import Callback

RULES, MODEL = "rules", "model"
LONGEST = 24 * 3600.0


def checked_seconds(seconds: object) -> float:
    """The time for tuning. Raises InputError."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST:
        raise InputError(f"tune is {seconds!r}, expected seconds above 0 and at most a day")
    return float(seconds)


@dataclass(frozen=True)
class Request:
    """What a caller of `bb.compile` says about the choice."""

    entry: str | None = None
    choose: str | None = None
    tune: float | None = None
    use_cache: bool = True
    progress: bool | None = None
    callbacks: Mapping[str, Callback] | None = None


def choice_for(program: ModuleOp, request: Request) -> Choice | None:
    """How to compile a function of a program; None for the default pipeline as it is.

    Raises InputError, and where it measures what compiling raises.
    """
    if request.choose not in (None, RULES, MODEL):
        raise InputError(f"choose is {request.choose!r}, expected '{RULES}' or '{MODEL}'")
    if request.tune is not None:
        if request.choose is not None:
            raise InputError("tune measures what choose would only guess: give one of them")
        from .tune import tune

        return tune(program, request)
    if request.choose == MODEL:
        from .tune import model_choice

        return model_choice(program, request.entry)
    if request.choose == RULES or not request.use_cache:
        return None
    record = find(key_of(program, request.entry))
    return None if record is None else record.choice
