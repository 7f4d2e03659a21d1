"""Errors that callers of programs see."""

from __future__ import annotations

from xdsl.ir import Operation

from ..dialects.diagnostics import OpError


class InputError(Exception):
    """The arrays or names that a caller gave do not fit the program; the message is a sentence."""


class InterpreterError(OpError):
    """A program cannot be evaluated on the given arrays; `op` is the operation at fault."""

    def __init__(self, message: str, op: Operation):
        super().__init__(op, message)
        self.op = op
