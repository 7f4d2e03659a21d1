"""Options of passes that are named like dims. Without numpy, because parsing a pipeline reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException

from ....dialects import block
from ....dialects.diagnostics import did_you_mean


def numbers_of(given: tuple[str, ...], what: str) -> dict[str, int]:
    """Numbers by the names of dims, from `NAME=NUMBER` as an option gives them. Raises ValueError."""
    numbers: dict[str, int] = {}
    for each in given:
        name, _, text = each.partition("=")
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
            raise ValueError(f"the {what} of dim {name} must be a positive number, got {text!r}")
        numbers[name] = int(text)
    return numbers


def require_dims(names: Iterable[str], functions: Sequence[FuncOp]) -> None:
    """Raise PassFailedException for a name that no dim of any of the functions has."""
    known: dict[str, None] = {}
    for function in functions:
        known |= dict.fromkeys(block.parse_dims(function.attributes[block.DIMS]))
    for name in names:
        if name not in known:
            otherwise = f"; the dims are {', '.join(known)}" if known else ""
            raise PassFailedException(f"no function has a dim {name}{did_you_mean(name, known, otherwise)}")
