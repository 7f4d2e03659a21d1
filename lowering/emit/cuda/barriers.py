"""Barriers: where the threads of a block must wait for each other, from what operations read and write.

A barrier stands before an operation that reads what others wrote since the last barrier, or writes what
others read or wrote. In a loop, the operations of the iteration before count as well. Places in shared memory
are byte ranges, for tiles that are not alive at the same time may share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.ir import Operation

from ....dialects import kernel
from ....dialects.kernel.placement import STAGES_ATTRIBUTE

Place = tuple[object, int, int]
"""A memory, and the first byte and the byte after the last one of it."""


@dataclass
class _Pending:
    """Places read and written since the last barrier."""

    reads: set[Place] = field(default_factory=set[Place])
    writes: set[Place] = field(default_factory=set[Place])

    def copy(self) -> _Pending:
        return _Pending(set(self.reads), set(self.writes))

    def join(self, other: _Pending) -> bool:
        """Add the places of another path through the code; True if any of them is new."""
        news = not (other.reads <= self.reads and other.writes <= self.writes)
        self.reads |= other.reads
        self.writes |= other.writes
        return news


Accesses = Callable[[Operation], tuple[set[Place], set[Place]]]
"""The places that an operation reads and those that it writes, as far as other threads may see them."""


def barriers_of(ops: Iterable[Operation], accesses: Accesses) -> set[Operation]:
    """The operations that a barrier stands before.

    A loop whose blocks are fetched ahead begins each iteration with a barrier of its own. What such a loop
    itself accesses is what it fetches before the first one.
    """
    found: set[Operation] = set()
    _walk(list(ops), _Pending(), accesses, found)
    return found


def _walk(ops: list[Operation], pending: _Pending, accesses: Accesses, found: set[Operation]) -> None:
    for op in ops:
        reads, writes = accesses(op)
        if (
            op in found
            or _meet(reads, pending.writes)
            or _meet(writes, pending.writes)
            or _meet(writes, pending.reads)
        ):
            found.add(op)
            pending.reads.clear()
            pending.writes.clear()
        pending.reads |= reads
        pending.writes |= writes
        if isinstance(op, kernel.ForOp):
            _loop(op, pending, accesses, found)


def _loop(op: kernel.ForOp, pending: _Pending, accesses: Accesses, found: set[Operation]) -> None:
    body = list(op.body.block.ops)
    before = pending.copy()
    while True:
        state = _Pending() if STAGES_ATTRIBUTE in op.attributes else before.copy()
        known = len(found)
        _walk(body, state, accesses, found)
        if not before.join(state) and len(found) == known:
            break
    pending.join(before)


def _meet(one: set[Place], other: set[Place]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in one for b in other)
