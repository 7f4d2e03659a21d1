"""Comparison of results at hard inputs with float64, and with the program as it is written.

At hard inputs a program may be inaccurate as it is written: x + 1e8 - 1e8 in f32 has no digit of x left, and
a product of two large numbers overflows although float64 holds it. No compiler is to blame for that. A result
is therefore compared row by row with the reference in float64, rounded to the result's type. Where it is
further away than the bound for its type, the same program, without any pass and computed in its own types,
says how much is allowed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np

from ..arrays.dtypes import Array, to_dtype

ALLOWED_RATIO = 2.0
"""Largest error outside the bound, as a multiple of the error of the program as it is written."""


class Verdict(enum.Enum):
    """Outcome of a comparison, from best to worst."""

    OK = "ok"
    AS_WRITTEN = "as written"
    OUTSIDE = "OUTSIDE"


@dataclass(frozen=True)
class HardComparison:
    """The worst error of a result, relative to the largest element of its row, and the verdict on all rows.

    `written` is the error, at the same row, of the program as it is written.
    """

    error: float
    written: float
    bound: float
    verdict: Verdict


def compare_rows(result: Array, reference: Array, written: Array, bound: float) -> HardComparison:
    """Compare a result with the reference in float64, and with the program as written in its own types.

    A row (along the last axis) is `ok` if its error is at most `bound` and its NaN and infinities are those
    of the reference, rounded to the type of the result; `as written` if its error is at most `ALLOWED_RATIO`
    times the largest of `written` and each further NaN or infinity is one of `written`; else `OUTSIDE`.
    Errors are relative to the row's largest element, or to the smallest normal number if that is larger.
    Integers and booleans must be equal to `written` or to the reference. All arrays have one shape.
    """
    if result.dtype.kind in "biu":
        return _compare_integers(result, reference, written)
    with np.errstate(all="ignore"):
        rounded = to_dtype(reference, result.dtype)
        found, wanted, own = (_rows(array) for array in (result, rounded, written))
        scale = np.maximum(_largest(wanted), float(cast(Any, ml_dtypes.finfo(result.dtype)).tiny))
        errors, shapes = _errors(found, wanted, scale)
        own_errors, own_shapes = _errors(own, wanted, scale)
        allowed_error = max(bound, ALLOWED_RATIO * float(own_errors.max(initial=0.0)))
    as_own = np.all(_alike(found, wanted) | _alike(found, own), axis=1)
    verdicts: list[tuple[Verdict, float, float]] = []
    for same, allowed, error, own_same, own_error in zip(
        shapes, as_own, errors, own_shapes, own_errors, strict=True
    ):
        if same and error <= bound:
            verdict = Verdict.OK
        elif (same or allowed) and error <= allowed_error:
            verdict = Verdict.AS_WRITTEN
        else:
            verdict = Verdict.OUTSIDE
        verdicts.append((verdict, float(error) if same else np.inf, float(own_error) if own_same else np.inf))
    order = list(Verdict)
    worst = max(verdicts, key=lambda each: (order.index(each[0]), each[1]), default=(Verdict.OK, 0.0, 0.0))
    return HardComparison(worst[1], worst[2], bound, worst[0])


def _alike(found: Array, other: Array) -> Array:
    """True for each element that is a number in both arrays, or the same infinity, or NaN in both."""
    numbers = np.isfinite(found) & np.isfinite(other)
    return np.asarray(numbers | (found == other) | (np.isnan(found) & np.isnan(other)))


def _compare_integers(result: Array, reference: Array, written: Array) -> HardComparison:
    if np.array_equal(result, reference):
        return HardComparison(0.0, 0.0, 0.0, Verdict.OK)
    same = bool(np.all((result == written) | (result == reference)))
    different = float(np.abs(result.astype(np.float64) - reference.astype(np.float64)).max(initial=0.0))
    return HardComparison(different, different, 0.0, Verdict.AS_WRITTEN if same else Verdict.OUTSIDE)


def _rows(array: Array) -> Array:
    wide = np.atleast_1d(array.astype(np.float64))
    return wide.reshape(-1, wide.shape[-1])


def _largest(rows: Array) -> Array:
    return np.max(np.abs(rows), axis=1, initial=0.0, where=np.isfinite(rows))


def _errors(found: Array, wanted: Array, scale: Array) -> tuple[Array, Array]:
    """Return each row's error where both are finite, and whether NaN and infinities are the same."""
    ordinary = np.isfinite(found) & np.isfinite(wanted)
    errors = np.max(np.abs(found - wanted), axis=1, initial=0.0, where=ordinary) / scale
    return errors, np.all(_alike(found, wanted), axis=1)
