"""Estimate of the number of operations of a kernel, as a C++ expression of the extents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from xdsl.ir import Operation

from ....dialects import kernel
from .windows import DimNames

FLOPS = 2
"""Of a contraction, for each pair of elements."""
SWEEP = 8
"""Operations of a sweep, for each element."""


class Work:
    """A sum of products of extents: how often how many elements are computed."""

    def __init__(self, dims: Mapping[str, DimNames]):
        self._dims = dims
        self._terms: dict[tuple[int, tuple[str, ...], tuple[str, ...]], None] = {}

    def add(self, ops: Iterable[Operation], around: Sequence[str] = ()) -> None:
        """Add what some operations do in all iterations of the loops over the dims `around`."""
        for op in ops:
            match op:
                case kernel.ForOp():
                    self.add(op.body.block.ops, (*around, *op.dim_names))
                case kernel.ContractOp():
                    dims = (*kernel.tile_type(op.accumulator).dims, kernel.dims_of(op.lhs)[1])
                    self._add(FLOPS, dims, around)
                case kernel.SweepOp() if op.careful is None:
                    self._add(SWEEP, op.dims, around)
                case _:
                    pass

    def _add(self, factor: int, dims: Sequence[str], around: Sequence[str]) -> None:
        self._terms[factor, tuple(dims), tuple(dim for dim in around if dim not in dims)] = None

    def __str__(self) -> str:
        terms = dict.fromkeys(
            f"{factor} * {' * '.join(self._factors(dims, around)) or '1'}"
            for factor, dims, around in self._terms
        )
        return " + ".join(terms) or "0"

    def _factors(self, dims: Sequence[str], around: Sequence[str]) -> list[str]:
        return [*(self._dims[dim].extent for dim in dims), *(self._dims[dim].trips for dim in around)]

    @property
    def number(self) -> int | None:
        """The value, if all its extents are known; else None."""
        total = 0
        for factor, dims, around in self._terms:
            factors = [
                *(self._dims[dim].declared.static_extent for dim in dims),
                *(static_trips(self._dims[dim]) for dim in around),
            ]
            known = [each for each in factors if each is not None]
            if len(known) != len(factors):
                return None
            total += factor * prod(known)
        return total


def static_trips(dim: DimNames) -> int | None:
    """Number of iterations of a loop over a dim, if the program gives it; else None."""
    extent, size = dim.declared.static_extent, dim.declared.block_size
    if dim.declared.is_whole:
        return 1
    return None if extent is None else extent if size is None else -(-extent // size)
