"""Lifetimes of the tiles of a kernel, and offsets in shared memory at which no two live tiles overlap."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import kernel

Key = TypeVar("Key", bound=Hashable)
Lifetime = tuple[int, int]
"""First and last operation, by their numbers in the order of the text."""


def lifetimes(body: Block) -> dict[SSAValue, Lifetime]:
    """Return, for each tile and buffer in use, the first and the last operation between which its contents
    matter.

    If an iteration of a loop passes a value on to the next one, or to operations outside, the tile lives
    through all of the loop.
    """
    order = list(body.walk())
    number = {op: place for place, op in enumerate(order)}
    accesses: dict[SSAValue, list[Operation]] = {}
    for op in order:
        for value in (*kernel.tiles_read(op), *kernel.tiles_written(op)):
            accesses.setdefault(memory_of(value), []).append(op)
    found: dict[SSAValue, Lifetime] = {}
    for value, ops in accesses.items():
        low, high = number[ops[0]], number[ops[-1]]
        for loop in dict.fromkeys(loop for op in ops for loop in _loops_around(op)):
            inside = [op for op in ops if loop in _loops_around(op)]
            if len(inside) != len(ops) or not _overwrites(inside[0], value):
                last = max(number[op] for op in loop.walk())
                low, high = min(low, number[loop]), max(high, last)
        found[value] = low, high
    return found


def memory_of(value: SSAValue) -> SSAValue:
    """The tile, or the array that a cursor looks into."""
    return value.owner.array if isinstance(value.owner, kernel.CursorOp) else value


def _loops_around(op: Operation) -> list[kernel.ForOp]:
    found: list[kernel.ForOp] = []
    scope = op.parent_op()
    while scope is not None and not isinstance(scope, kernel.ParallelOp):
        if isinstance(scope, kernel.ForOp):
            found.append(scope)
        scope = scope.parent_op()
    return found


def _overwrites(op: Operation, tile: SSAValue) -> bool:
    """True if an operation writes all of a tile, and reads nothing of it."""
    return tile in kernel.tiles_written(op) and tile not in kernel.tiles_read(op)


def arrange(
    sizes: Mapping[Key, int], lives: Mapping[Key, Lifetime], alignment: int
) -> tuple[dict[Key, int], int]:
    """Return an offset for each tile, and the bytes of all of them; the largest tiles are placed first."""
    placed: dict[Key, int] = {}
    for tile in sorted(sizes, key=lambda each: -sizes[each]):
        low, high = lives[tile]
        others = sorted(
            (placed[other], placed[other] + sizes[other])
            for other in placed
            if lives[other][0] <= high and low <= lives[other][1]
        )
        placed[tile] = _first_gap(others, sizes[tile], alignment)
    total = max((placed[tile] + sizes[tile] for tile in placed), default=0)
    return placed, -(-total // alignment) * alignment


def _first_gap(taken: Sequence[tuple[int, int]], size: int, alignment: int) -> int:
    place = 0
    for begin, end in taken:
        if begin - place >= size:
            break
        place = max(place, -(-end // alignment) * alignment)
    return place
