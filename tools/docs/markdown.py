"""The little Markdown that generated pages need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

NOTICE = "<!-- Made by `make docs` from the code; edits here are lost. -->"
"""The first line of a generated page."""


def paragraph(text: str) -> str:
    """Text in lines of at most 120 columns."""
    return "\n".join(wrap(text.strip(), 120, break_long_words=False, break_on_hyphens=False))


def item(text: str) -> str:
    """An item of a list."""
    lines = wrap(text, 118, break_long_words=False, break_on_hyphens=False)
    return "- " + "\n  ".join(lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table; its last `numbers` columns are aligned to the right."""
    marks = ["---"] * (len(head) - numbers) + ["--:"] * numbers
    lines = [head, marks, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def fenced(text: str) -> str:
    """A block of text that stays as it is."""
    return "```text\n" + text.strip("\n") + "\n```"


def page(*blocks: str) -> str:
    """A page of blocks with an empty line between them."""
    return "\n\n".join([NOTICE, *(block.strip("\n") for block in blocks)]) + "\n"
