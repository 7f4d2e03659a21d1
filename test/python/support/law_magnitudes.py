"""The effect of a law on range and error, measured over magnitudes.

Arguments are drawn over the whole range of their types: each of its own magnitude, all of one, reciprocals of
each other, and numbers that nearly cancel. A law makes a program worse if a finite result becomes infinite or
NaN, or if its error grows to more than about twice that of the program before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from bb.dialects import block
from bb.dialects.scalar import is_float, significand_bits
from bb.runtime.interpreter.blocks import Value
from block_evaluation import Array, as_declared, dims_of, evaluate, flat, random_arguments
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute

TRIALS = 60

_DECADES = {"f16": (-6.0, 4.5), "bf16": (-36.0, 37.5), "f32": (-36.0, 37.5), "f64": (-290.0, 290.0)}
_LARGEST = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38, "f64": 1.7e308}
_SMALLEST = {"f16": 6.2e-5, "bf16": 1.2e-38, "f32": 1.2e-38, "f64": 2.3e-308}


@dataclass(frozen=True)
class Effect:
    """The errors before and after a law, relative to the largest element; infinite where a result is none."""

    before: float
    after: float
    unit: float
    """The unit roundoff of the result."""

    def is_worse(self) -> bool:
        """True if the law overflows, or more than doubles an error that is above two units."""
        return not self.after <= 2.5 * max(self.before, 2 * self.unit)


def effects(
    before: FuncOp, after: FuncOp, reach: float = 1.0, cancel: bool = True, trials: int = TRIALS
) -> Iterator[Effect]:
    """Run two forms of a program on arguments of many magnitudes; skip results that their type cannot hold.

    `reach` is the part of the types' ranges, in decades, that magnitudes are drawn from; `cancel` says
    whether arguments may nearly cancel.
    """
    for trial in range(trials):
        arguments = _arguments(before, trial, reach, cancel)
        if arguments is None:
            continue
        with np.errstate(all="ignore"):
            exact, _ = evaluate(before, arguments)
            wanted = _results(exact)
            names = _result_types(before)
            if not _fits(wanted, names):
                continue
            found = [_results(evaluate(form, arguments, float64=False)[0]) for form in (before, after)]
        first, second = (_error(result, wanted) for result in found)
        if np.isfinite(first):
            unit = max(2.0 ** -significand_bits(type) for type in names.values())
            yield Effect(first, second, unit)


def is_ever_worse(before: FuncOp, after: FuncOp) -> bool:
    """True if a law makes a program worse for some arguments; looks for them with patience."""
    return any(effect.is_worse() for effect in effects(before, after, trials=10 * TRIALS))


def _arguments(function: FuncOp, trial: int, reach: float, cancel: bool) -> list[Value] | None:
    """Arguments for a trial, in float64, but rounded to their types; None if these cannot hold them."""
    rng = np.random.default_rng(trial)
    values = random_arguments(function, trial % 7)
    arguments = function.body.block.args
    types = [_element_type(argument.type) for argument in arguments]
    sizes = _sizes(rng, [str(type) for type in types if is_float(type)], reach, trial % (5 if cancel else 4))
    dims = dims_of(function)
    drawn: list[Value] = []
    for argument, value, type in zip(arguments, values, types, strict=True):
        if is_float(type):
            size, sign = next(sizes)
            value = _scaled(value, size, sign)
        with np.errstate(all="ignore"):
            rounded = as_declared(argument, value, dims, float64=False)
        if not all(np.isfinite(part).all() for part in flat(rounded)):
            return None
        drawn.append(as_declared(argument, rounded, dims, float64=True))
    return drawn


def _sizes(
    rng: np.random.Generator, types: Sequence[str], reach: float, pattern: int
) -> Iterator[tuple[float, int]]:
    """A size for each argument, and a sign for numbers that nearly cancel, 0 for others."""
    low = max(_DECADES[type][0] for type in types) * reach
    high = np.log10(min(_LARGEST[type] for type in types)) * reach - 0.2
    top = high if rng.random() < 0.25 else rng.uniform(low, high)
    for _ in types:
        match pattern:
            case 0:
                yield 10 ** rng.uniform(low, high), 0
            case 1:
                yield 10**top, 0
            case 2:
                yield 10.0 ** (min(abs(top), high) * rng.choice([-1, 1])), 0
            case 3:
                yield 10.0 ** rng.choice([high, 0.0, -1.0]), 0
            case _:
                yield 10 ** (top - rng.choice([0.0, 0.0, rng.uniform(0, 6)])), int(rng.choice([-1, 1]))


def _scaled(value: Value, size: float, sign: int) -> Value:
    """The value times a size; with a sign, numbers of that sign that are nearly equal.

    The numbers of a list are smaller by its length, so that its sum has the size.
    """
    if isinstance(value, list):
        return [_scaled(part, size / len(value) if sign else size, sign) for part in value]
    return size * sign * (1 + value / 512) if sign else size * value


def _element_type(type: Attribute) -> Attribute:
    while isinstance(type, block.ListType):
        type = type.element
    return block.element_type_of(type)


def _result_types(function: FuncOp) -> dict[str, Attribute]:
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    types = [_element_type(value.type) for value in end.arguments]
    return {str(type): type for type in types}


def _results(values: Sequence[Value]) -> list[Array]:
    return [part for value in values for part in flat(value)]


def _fits(wanted: Sequence[Array], names: dict[str, Attribute]) -> bool:
    size = max((np.abs(part).max() for part in wanted if part.size), default=0.0)
    largest = min(_LARGEST[name] for name in names)
    smallest = max(_SMALLEST[name] for name in names)
    return all(np.isfinite(part).all() for part in wanted) and smallest * 64 < size < largest / 1.01


def _error(found: Sequence[Array], wanted: Sequence[Array]) -> float:
    size = max(np.abs(part).max() for part in wanted if part.size)
    errors = [np.abs(a - b).max() for a, b in zip(found, wanted, strict=True) if a.size]
    worst = max(errors, default=0.0) / size
    return float(worst) if np.isfinite(worst) else np.inf
