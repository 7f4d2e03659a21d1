"""Barriers between operations that the threads of a block do together, from the places that these read and
write.

A barrier is needed before an operation that reads places that other threads wrote since the last barrier, or
writes places that they read or wrote. In a loop, the operations of the iteration before count as well. Places
in shared memory are byte ranges, because tiles that are not alive at the same time may share them.
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
        """Add the places of another path through the code; return True if any of them is new."""
        news = not (other.reads <= self.reads and other.writes <= self.writes)
        self.reads |= other.reads
        self.writes |= other.writes
        return news


Accesses = Callable[[Operation], tuple[set[Place], set[Place]]]
"""The places that an operation reads and those that it writes, if other threads may access them."""


def barriers_of(ops: Iterable[Operation], accesses: Accesses) -> set[Operation]:
    """Return the operations that need a barrier before them.

    A loop whose blocks are fetched ahead begins each iteration with a barrier of its own. The accesses of the
    loop operation itself are the fetches before its first iteration.
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
    # An iteration also meets the accesses of the one before, and a new barrier changes which are pending:
    # repeat until neither a place nor a barrier is new.
    while True:
        state = _Pending() if STAGES_ATTRIBUTE in op.attributes else before.copy()
        known = len(found)
        _walk(body, state, accesses, found)
        if not before.join(state) and len(found) == known:
            break
    pending.join(before)


def _meet(one: set[Place], other: set[Place]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in one for b in other)
