"""Arrays at which floats and integers go wrong: outliers, large and tiny numbers, NaN, hidden keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.func import FuncOp

from ...dialects.scalar import is_float
from ..arrays.dtypes import Array, to_dtype
from .inputs import Argument, arguments_of, as_input, indexed_extents, random_inputs, weight_scales

__all__ = ["HardCase", "hard_inputs"]

Rows = Callable[[np.random.Generator, Array, "_Limits"], Array]
"""Change the rows (the last axis) of an array of float64; the last argument has the limits of its type."""


@dataclass(frozen=True)
class HardCase:
    """Arrays for all arguments of a function, and what is hard about them."""

    name: str
    arrays: list[Array]


@dataclass(frozen=True)
class _Limits:
    """The largest number of a float type, its smallest normal number and its smallest number."""

    largest: float
    normal: float
    smallest: float


def hard_inputs(
    function: FuncOp,
    seed: int,
    extents: Mapping[str, int] | None = None,
    given: Mapping[str, object] | None = None,
    *,
    source: FuncOp | None = None,
) -> Iterator[HardCase]:
    """Yield the arrays of `random_inputs`, and then the same arrays made hard in one way after the other.

    Right operands of a matmul (see `random_inputs`) and indices keep their values. Among the other floats,
    vectors are parameters, such as the scale of a norm, unless there are only vectors; the rest is data.
    Arrays in `given` are never changed, and a case that would change nothing is left out. Raises InputError,
    as `random_inputs` does.
    """
    arguments = arguments_of(function)
    fixed = {name.removeprefix("%") for name in given or {}}
    ordinary = random_inputs(function, seed, extents, given, source=source)
    yield HardCase("ordinary", ordinary)
    kept = weight_scales(source or function).keys() | indexed_extents(source or function).keys()
    roles = [
        _FIXED if fixed & {argument.name, str(position)} else _role(argument, position in kept)
        for position, argument in enumerate(arguments)
    ]
    if _DATA not in roles:
        roles = [_DATA if role == _PARAMETER else role for role in roles]
    for number, (name, change) in enumerate(_CASES.items()):
        rng = np.random.default_rng([seed, 1 + number])
        arrays = change(rng, arguments, roles, ordinary)
        if any(new is not old for new, old in zip(arrays, ordinary, strict=True)):
            yield HardCase(
                name,
                [
                    as_input(arguments, argument.name, array)
                    for argument, array in zip(arguments, arrays, strict=True)
                ],
            )


# Roles of arguments

_FIXED, _DATA, _PARAMETER, _MASK, _INTEGER = "fixed", "data", "parameter", "mask", "integer"


def _role(argument: Argument, is_kept: bool) -> str:
    if is_kept:
        return _FIXED
    if not is_float(argument.element_type):
        return _MASK if argument.dtype == np.bool_ else _INTEGER
    return _DATA if len(argument.shape) > 1 else _PARAMETER


def _limits(dtype: np.dtype[np.generic]) -> _Limits:
    found = cast(Any, ml_dtypes.finfo(dtype))
    return _Limits(float(found.max), float(found.tiny), float(found.smallest_subnormal))


# Ways to change floats

_Change = Callable[[np.random.Generator, list[Argument], list[str], list[Array]], list[Array]]
"""Change arrays, given the arguments and their roles."""


def _rows(data: Rows, parameter: Rows | None = None) -> _Change:
    """Return a case that changes data and, if given, parameters."""

    def change(
        rng: np.random.Generator, arguments: list[Argument], roles: list[str], ordinary: list[Array]
    ) -> list[Array]:
        arrays: list[Array] = []
        for argument, role, array in zip(arguments, roles, ordinary, strict=True):
            way = {_DATA: data, _PARAMETER: parameter}.get(role)
            if way is None or array.size == 0 or array.ndim == 0:
                arrays.append(array)
                continue
            limits = _limits(array.dtype)
            wide = np.atleast_2d(array.astype(np.float64))
            flat = way(rng, wide.reshape(-1, wide.shape[-1]), limits)
            held = np.where(np.isfinite(flat), np.clip(flat, -limits.largest, limits.largest), flat)
            arrays.append(to_dtype(held.reshape(array.shape), argument.dtype))
        return arrays

    return change


def _outlier(size: float) -> Rows:
    def change(rng: np.random.Generator, rows: Array, limits: _Limits) -> Array:
        changed = rows.copy()
        columns = rng.integers(rows.shape[1], size=len(rows))
        changed[np.arange(len(rows)), columns] = size * rng.choice([-1.0, 1.0], len(rows))
        return changed

    return change


def _times(factor: Callable[[_Limits], float]) -> Rows:
    return lambda rng, rows, limits: rows * factor(limits)


def _largest(rng: np.random.Generator, rows: Array, limits: _Limits) -> Array:
    return limits.largest * rng.uniform(0.1, 1.0, rows.shape) * rng.choice([-1.0, 1.0], rows.shape)


def _zeros(rng: np.random.Generator, rows: Array, limits: _Limits) -> Array:
    """Rows of 0, of 0 and -0, and of denormal numbers take turns."""
    changed = np.zeros_like(rows)
    changed[1::3] = rng.choice([0.0, -0.0], changed[1::3].shape)
    changed[2::3] = limits.smallest * rng.integers(-8, 9, changed[2::3].shape)
    return changed


def _equal(rng: np.random.Generator, rows: Array, limits: _Limits) -> Array:
    return np.broadcast_to(rng.choice([-1000.0, 0.25, 1000.0], (len(rows), 1)), rows.shape)


def _not_finite(rng: np.random.Generator, rows: Array, limits: _Limits) -> Array:
    """A NaN, +inf or -inf in every third row, and ordinary numbers in the others."""
    changed = rows.copy()
    for row in range(int(rng.integers(min(3, len(rows)))), len(rows), 3):
        changed[row, rng.integers(rows.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    return changed


# Masks and integers


def _masked(
    rng: np.random.Generator, arguments: list[Argument], roles: list[str], ordinary: list[Array]
) -> list[Array]:
    """Hide some columns of every mask from all rows, and put garbage where other arrays have these columns.

    A mask of keys has its keys along the last axis; K and V have them along the axis before their last one.
    """
    arrays = list(ordinary)
    garbage: dict[int, Array] = {}
    for position, role in enumerate(roles):
        if role != _MASK or ordinary[position].ndim == 0:
            continue
        mask = ordinary[position].copy()
        extent = int(mask.shape[-1])
        if extent not in garbage:
            garbage[extent] = np.asarray(rng.random((extent,)) < 0.25)
        hidden = garbage[extent]
        mask[..., hidden] = False
        rows = mask.reshape(-1, extent)
        if len(rows) > 1:
            rows[0] = False
        arrays[position] = rows.reshape(mask.shape)
    for position, role in enumerate(roles):
        array = ordinary[position]
        if role != _DATA or array.ndim < 2 or array.shape[-2] not in garbage:
            continue
        limits = _limits(array.dtype)
        changed = array.astype(np.float64)
        hidden = garbage[array.shape[-2]]
        values = rng.choice([np.nan, np.inf, -np.inf, limits.largest], changed[..., hidden, :].shape)
        changed[..., hidden, :] = values
        arrays[position] = to_dtype(changed, array.dtype)
    return arrays


def _extremes(
    rng: np.random.Generator, arguments: list[Argument], roles: list[str], ordinary: list[Array]
) -> list[Array]:
    """Integers at and next to the ends of their type, and 0, 1 and -1."""
    arrays = list(ordinary)
    for position, role in enumerate(roles):
        if role == _INTEGER:
            array = ordinary[position]
            info = np.iinfo(array.dtype)
            chosen = np.array([info.min, info.min + 1, -1, 0, 1, 2, info.max - 1, info.max], array.dtype)
            arrays[position] = rng.choice(chosen, array.shape)
    return arrays


_CASES: Mapping[str, _Change] = {
    "outliers": _rows(_outlier(3000.0), _outlier(30.0)),
    "a mean of 1000 deviations": _rows(lambda rng, rows, limits: rows + 1000.0),
    "small": _rows(_times(lambda limits: 1e-4), _times(lambda limits: 1e-3)),
    "tiny": _rows(_times(lambda limits: limits.normal**0.8)),
    "large": _rows(_times(lambda limits: 0.25 * limits.largest**0.5)),
    "the largest": _rows(_largest),
    "zeros and denormals": _rows(_zeros),
    "equal": _rows(_equal),
    "NaN and infinities": _rows(_not_finite),
    "garbage that masks hide": _masked,
    "extreme integers": _extremes,
}
