"""Errors about models: each names the operation, the module and the line of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class Unsupported(Exception):
    """An operation that the array dialect cannot say, raised by its converter; the message is the reason."""


@dataclass(frozen=True)
class Origin:
    """The place in a model from which an operation comes; parts that are not known are empty."""

    op: str
    """The operation as its framework calls it: `aten.topk.default`, `TopK`."""
    module: str = ""
    """The path of the module or node: `layers.0.mlp`."""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        inside = f" in {self.module}" if self.module else ""
        at = f" at {self.file}:{self.line}" if self.file else ""
        return f"{self.op}{inside}{at}"


@dataclass(frozen=True)
class Problem:
    """An operation that is not imported, and the reason."""

    origin: Origin
    reason: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


class ModelError(Exception):
    """A model that cannot be imported. The message has one line for each problem, all of them at once."""

    def __init__(self, problems: Sequence[Problem] | str):
        self.problems = () if isinstance(problems, str) else tuple(problems)
        super().__init__(problems if isinstance(problems, str) else "\n".join(map(str, self.problems)))
