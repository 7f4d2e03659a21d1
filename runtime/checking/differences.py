"""The first element in which two values differ, for reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation

from ...dialects.diagnostics import OpError
from ..arrays.dtypes import Array
from ..interpreter.blocks import Value


class ChangedValue(OpError):
    """A pass or rule changed what a program computes; the message, one sentence, names it."""

    def __init__(self, op: Operation, message: str):
        super().__init__(op, message)
        self.message = message


@dataclass(frozen=True)
class Difference:
    """An element that has changed: its place, its value, and the value before."""

    index: tuple[int, ...]
    got: object
    wanted: object

    def __str__(self) -> str:
        where = f"element [{', '.join(map(str, self.index))}]" if self.index else "the value"
        return f"{where} was {self.wanted} and is {self.got}"


def difference(
    got: Value, wanted: Value, tolerance: float, floor: float = 0.0, *, strict: bool = True
) -> tuple[Difference | None, bool]:
    """Return the first difference of two values, and whether every element of both is finite.

    Errors are relative to the largest element of the item, or to `floor` if that is greater. NaN equals NaN.
    Unless `strict`, an element that is finite in only one of the two is no difference.
    """
    if isinstance(wanted, list) or isinstance(got, list):
        if not isinstance(wanted, list) or not isinstance(got, list) or len(got) != len(wanted):
            return Difference((), _shape(got), _shape(wanted)), True
        ordinary = True
        for position, (a, b) in enumerate(zip(got, wanted, strict=True)):
            found, finite = difference(a, b, tolerance, floor, strict=strict)
            if found is not None:
                return Difference((position, *found.index), found.got, found.wanted), True
            ordinary &= finite
        return None, ordinary
    return _of_arrays(got, wanted, tolerance, floor, strict)


def _shape(value: Value) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else f"an array of shape {list(value.shape)}"


def _of_arrays(
    got: Array, wanted: Array, tolerance: float, floor: float, strict: bool
) -> tuple[Difference | None, bool]:
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return Difference((), _shape(got), _shape(wanted)), True
    if wanted.dtype.kind in "biu" and got.dtype.kind in "biu":
        wrong = np.asarray(got != wanted)
        return _first(wrong, got, wanted), True
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    scale = max(floor, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
    with np.errstate(invalid="ignore", over="ignore"):
        wrong = finite & (np.abs(a - b) > tolerance * scale)
    if strict:
        wrong |= ~finite & ~((a == b) | (np.isnan(a) & np.isnan(b)))
    return _first(wrong, got, wanted), bool(finite.all())


def _first(wrong: Array, got: Array, wanted: Array) -> Difference | None:
    if not wrong.any():
        return None
    index = tuple(int(axis[0]) for axis in np.nonzero(wrong)) if wrong.ndim else ()
    return Difference(index, got[index].item(), wanted[index].item())
