"""Walks along the flow of data. Chains of operations grow with programs, so that no walk recurses along
them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def dependencies_first(value: T, sources: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yield what a value depends on, each once and after its own sources; last the value itself.

    `sources` gives the direct dependencies of a value, without those that are known already.
    """
    pending, seen = [(value, iter(sources(value)))], {value}
    while pending:
        current, rest = pending[-1]
        following = next((source for source in rest if source not in seen), None)
        if following is None:
            pending.pop()
            yield current
        else:
            seen.add(following)
            pending.append((following, iter(sources(following))))


def reachable(value: T, following: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yield a value and all that follows from it, each once and before what follows from it, in the order of
    a search in depth. What follows is asked for when the next value is.
    """
    pending, seen = [value], set[T]()
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            yield current
            pending.extend(reversed(list(following(current))))
