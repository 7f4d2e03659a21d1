"""The block sizes that cost least by the model, found exactly.

Every legal size of every dim is considered. The time of a program is a sum over its kernels, and each kernel
depends on a few dims only. A table for each kernel has its times for all combinations of their sizes,
evaluated at once. Dims are then eliminated one after the other: the tables with that dim are added up, and
the minimum over its sizes replaces them (bucket elimination, Dechter 1999). The last number is the minimum
over all combinations of all dims. Going through the eliminated dims backwards gives the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .program import CostedProgram

LARGEST_TABLE = 1 << 20
"""Entries of a table; programs that would need larger ones get fewer legal sizes."""

LARGEST_SIZE = 16384
"""Elements of the largest block that is not the whole dim."""

CUTS = 12
"""Numbers of equal parts up to which a dim may be cut."""


@dataclass(frozen=True)
class Optimum:
    """The best sizes, their seconds by the model, and the size of the search.

    `combinations` is the number of ways to cut all dims, `evaluated` the number of times of single kernels
    that were computed to find the best of them.
    """

    sizes: Mapping[str, int]
    seconds: float
    combinations: int
    evaluated: int
    search_seconds: float


@dataclass
class _Table:
    """Times for every combination of sizes of some dims, one axis for each."""

    dims: tuple[str, ...]
    values: NDArray[np.float64]


def legal_sizes(length: int, lanes: int, step: int = 1) -> list[int]:
    """Block sizes for a dim of `length` elements, the whole dim first, then in falling order.

    They are powers of two, one and a half times those, and sizes that cut the dim into up to `CUTS` equal
    parts of whole half vectors. Only every `step`-th size is legal, and always the whole.
    """
    half = max(1, lanes // 2)
    sizes = {length}
    power = 1 if length <= half else half
    while power < length and power <= LARGEST_SIZE:
        sizes |= {power, power * 3 // 2} if power >= 2 * half else {power}
        power *= 2
    for parts in range(2, CUTS + 1):
        even = -(-length // (parts * half)) * half
        if even >= 2 * half:
            sizes.add(even)
    found = sorted(size for size in sizes if size <= length and (size <= LARGEST_SIZE or size == length))
    found.reverse()
    return [found[0], *found[1::step]]


def best_shapes(program: CostedProgram, free: Sequence[str]) -> Optimum:
    """The sizes of the dims `free` at which a program costs least. Other dims keep theirs."""
    start = perf_counter()
    plans = [plan for plan in program.plans if not plan.once]
    used = {dim for plan in plans for dim in plan.dims()}
    wanted = [dim for dim in free if dim in used]
    lanes, step = program.model.machine.lanes, 1
    while True:
        sizes = {dim: legal_sizes(program.lengths[dim], lanes, step) for dim in wanted}
        counts = {dim: len(of) for dim, of in sizes.items()}
        scopes = [tuple(dim for dim in wanted if dim in plan.dims()) for plan in plans]
        order, largest = _order(scopes, counts)
        if largest <= LARGEST_TABLE or max(counts.values(), default=1) <= 2:
            break
        step += 1
    tables = [
        _Table(scope, _times(program, index, scope, sizes))
        for (index, _), scope in zip(
            [(index, plan) for index, plan in enumerate(program.plans) if not plan.once], scopes, strict=True
        )
    ]
    evaluated = sum(table.values.size for table in tables)
    best, least = _eliminate(tables, order)
    chosen = {dim: sizes[dim][index] for dim, index in best.items()}
    for dim in free:
        chosen.setdefault(dim, legal_sizes(program.lengths[dim], lanes)[0])
    seconds = least + program.model.machine.call
    return Optimum(chosen, seconds, prod(counts.values()), evaluated, perf_counter() - start)


def _times(
    program: CostedProgram, index: int, scope: tuple[str, ...], sizes: Mapping[str, Sequence[int]]
) -> NDArray[np.float64]:
    """The seconds of a kernel for all combinations of sizes of the dims in its scope."""
    arrays: dict[str, object] = {}
    for axis, dim in enumerate(scope):
        shape = [1] * len(scope)
        shape[axis] = len(sizes[dim])
        arrays[dim] = np.asarray(sizes[dim], dtype=np.float64).reshape(shape)
    extents = program.extents(arrays)
    seconds = program.model.cost(program.plans[index], extents).seconds
    full: Any = np.broadcast_to(seconds, [len(sizes[dim]) for dim in scope])
    return np.array(full, dtype=np.float64)


def _order(scopes: Sequence[tuple[str, ...]], counts: Mapping[str, int]) -> tuple[list[str], int]:
    """Return an elimination order of the dims, by the smallest next table each time, and the size of the
    largest table.
    """
    left = [set(scope) for scope in scopes]
    largest = max((prod(counts[dim] for dim in scope) for scope in left), default=1)
    order: list[str] = []
    remaining = dict.fromkeys(dim for scope in scopes for dim in scope)

    def joined(dim: str) -> set[str]:
        return {other for scope in left if dim in scope for other in scope}

    while remaining:
        dim = min(remaining, key=lambda name: prod(counts[other] for other in joined(name)))
        union = joined(dim)
        largest = max(largest, prod(counts[other] for other in union))
        left = [scope for scope in left if dim not in scope] + [union - {dim}]
        order.append(dim)
        del remaining[dim]
    return order, largest


def _eliminate(tables: Sequence[_Table], order: Sequence[str]) -> tuple[dict[str, int], float]:
    """The index of the best size of each dim, and the least sum of all tables."""
    left = list(tables)
    steps: list[tuple[str, tuple[str, ...], NDArray[np.intp]]] = []
    for dim in order:
        having = [table for table in left if dim in table.dims]
        left = [table for table in left if dim not in table.dims]
        others = tuple(dict.fromkeys(name for table in having for name in table.dims if name != dim))
        total: Any = 0.0
        for table in having:
            total = total + _aligned(table, (*others, dim))
        best: NDArray[np.intp] = np.argmin(total, axis=-1)
        least = np.take_along_axis(total, best[..., None], axis=-1)[..., 0]
        steps.append((dim, others, best))
        left.append(_Table(others, least))
    chosen: dict[str, int] = {}
    for dim, others, best in reversed(steps):
        chosen[dim] = int(best[tuple(chosen[name] for name in others)])
    return chosen, float(sum(float(table.values) for table in left))


def _aligned(table: _Table, dims: tuple[str, ...]) -> NDArray[np.float64]:
    """A table with an axis for each of some dims, of length 1 where it does not depend on one."""
    order = [table.dims.index(dim) for dim in dims if dim in table.dims]
    shape = [table.values.shape[table.dims.index(dim)] if dim in table.dims else 1 for dim in dims]
    return table.values.transpose(order).reshape(shape)
