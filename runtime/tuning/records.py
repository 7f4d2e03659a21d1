"""Records of what was measured, as JSON has them: one for each program on each machine."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ...dialects.diagnostics import did_you_mean
from ...lowering.pipelines.choices import Choice, choice_of

FORMAT = 1
"""Version of the format; it changes if older records or choices would be misread."""

KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LONGEST_TEXT = 200
_TEXTS = ("key", "program", "arguments", "machine", "version")


@dataclass(frozen=True)
class Record:
    """A choice, and how it was found.

    `key` is the hash of what it holds for: the text of the program with its shapes and types, the machine,
    its threads, and our version. `program`, `arguments`, `machine` and `version` say that to people.
    `seconds` is what a call of the choice takes, `default_seconds` and `unfused_seconds` that of the
    default pipeline and of the program without fusion; None where that was not measured. `measured` is how
    many ways were compared, `at` when, in seconds since 1970.
    """

    key: str
    program: str
    arguments: str
    machine: str
    version: str
    threads: int
    choice: Choice
    seconds: float
    default_seconds: float | None
    unfused_seconds: float | None
    measured: int
    at: float

    def record(self) -> dict[str, object]:
        """As JSON has it."""
        return {**vars(self), "choice": self.choice.record()}


def record_of(given: object) -> Record:
    """A record from what JSON holds. Raises ValueError that says what is wrong."""
    if not isinstance(given, dict):
        raise ValueError("a record must be an object with keys")
    table = cast("dict[str, object]", given)
    wanted = list(Record.__dataclass_fields__)
    for key in table:
        if key not in wanted:
            raise ValueError(f"a record has no key {key[:40]!r}{did_you_mean(key, wanted)}")
    for key in wanted:
        if key not in table:
            raise ValueError(f"a record has no '{key}'")
    for name in _TEXTS:
        value = table[name]
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
            raise ValueError(f"'{name}' must be a text of one line")
    key = cast(str, table["key"])
    if KEY.fullmatch(key) is None:
        raise ValueError(f"'key' must be 64 hexadecimal digits, got {key[:80]!r}")
    return Record(
        key,
        cast(str, table["program"]),
        cast(str, table["arguments"]),
        cast(str, table["machine"]),
        cast(str, table["version"]),
        _count(table, "threads"),
        choice_of(table["choice"]),
        _number(table, "seconds"),
        None if table["default_seconds"] is None else _number(table, "default_seconds"),
        None if table["unfused_seconds"] is None else _number(table, "unfused_seconds"),
        _count(table, "measured"),
        _number(table, "at"),
    )


def _number(table: Mapping[str, object], name: str) -> float:
    value = table[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        raise ValueError(f"'{name}' must be a number above 0, got {str(value)[:40]}")
    assert math.isfinite(value)
    return float(value)


def _count(table: Mapping[str, object], name: str) -> int:
    value = table[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 31:
        raise ValueError(f"'{name}' must be a whole number above 0, got {str(value)[:40]}")
    return value
