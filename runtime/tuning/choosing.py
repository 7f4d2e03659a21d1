"""Choice of how a program is fused and cut: by measurements, made now or earlier, the model, or rules."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...lowering.pipelines.choices import Choice
from ..errors import InputError
from .keys import key_of
from .request import MODEL, RULES, Request
from .store import find


def choice_for(program: ModuleOp, request: Request) -> Choice | None:
    """Return how to compile a function of a program; None for the default pipeline as it is.

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
