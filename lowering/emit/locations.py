"""Comments in generated source that lead from statements back to their places in the program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from ...dialects import kernel
from ...dialects.diagnostics import location_of
from .source_text import location_comment


def place_comment(op: Operation) -> str:
    """Return the comment that names an operation's place; empty for a loop, and without a known place."""
    where = location_of(op)
    if where is None or isinstance(op, kernel.ForOp):
        return ""
    return location_comment(f"{where.filename.data}:{where.line.data}:{where.column.data}")


@dataclass
class PlaceComments:
    """The place comments of one body: consecutive statements of the same place share one."""

    last: str = ""

    def before(self, comment: str) -> list[str]:
        """Return the lines in front of a statement with this place comment."""
        if not comment or comment == self.last:
            return []
        self.last = comment
        return [comment]
