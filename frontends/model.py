"""Models as they come from other frameworks: compiled functions with their weights, one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from ..runtime.errors import InputError
from .functions import Function
from .report import Report, Row
from .shared.errors import Problem


class Step(Protocol):
    """A part of a model: it takes some named values and gives others."""

    @property
    def takes(self) -> Sequence[str]:
        """Names of the values that it needs; weights are values, too."""
        ...

    @property
    def gives(self) -> Sequence[str]:
        """Names of the values that it computes."""
        ...

    def __call__(self, *values: Any) -> Sequence[Any]:
        """Compute the values `gives` from the values `takes`."""
        ...


@dataclass
class Layer:
    """A call of a compiled function with some weights; the step of what is compiled."""

    name: str
    """The path of the layer in the model, or the function's name."""
    function: Function
    weights: Mapping[str, str]
    """Names of the model's weights by the function's arguments."""
    takes: Sequence[str]
    """The values for the other arguments, in order."""
    gives: Sequence[str]
    threads: int | None = None
    _bound: Callable[..., Any] | None = field(default=None, repr=False)

    def bind(self, weights: Mapping[str, Any]) -> None:
        """Bind weights, by the model's names for them. Raises InputError."""
        given = {argument: weights[name] for argument, name in self.weights.items()}
        executable = self.function.executable
        self._bound = executable.prepare(threads=self.threads, **given) if given else executable

    def __call__(self, *values: Any) -> Sequence[Any]:
        """Run the function. Raises InputError if weights are missing."""
        if self._bound is None:
            raise InputError(f"the weights of '{self.name}' are not bound: call the model's method 'bind'")
        found = self._bound(*values, threads=self.threads)
        return cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)


@dataclass(frozen=True)
class HostStep:
    """Operations that are not compiled: a function of the framework that computes them."""

    run: Callable[..., Sequence[Any]] = field(repr=False)
    takes: Sequence[str]
    gives: Sequence[str]

    def __call__(self, *values: Any) -> Sequence[Any]:
        """Compute the values."""
        return self.run(*values)


class Boundary(Protocol):
    """The way between a caller's arrays and those of the target."""

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arrays of a call by the names of values. Raises InputError for others than expected."""
        ...

    def results(self, arrays: Sequence[Any]) -> Any:
        """Return what the model returns, made of the arrays of its results."""
        ...

    def weight(self, name: str, value: Any) -> Any:
        """Return a weight as an array of the target. Raises InputError for another shape or dtype."""
        ...


class Model:
    """A compiled model: call it as the original, with the same arrays.

    Repeated layers are one function. Weights are bound when the model is made; `bind` replaces them.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        results: Sequence[str],
        boundary: Boundary,
        weights: Mapping[str, Any],
        *,
        problems: Sequence[Problem] = (),
        seconds: Mapping[str, float] | None = None,
    ):
        """`results` names the values that are returned; a value of None is no array and is passed on.

        `weights` are arrays of the target by name; with some missing, `bind` has to give them before a call.
        """
        self.steps = tuple(steps)
        self.problems = tuple(problems)
        """Operations that run in the model's own framework."""
        self._results = tuple(results)
        self._boundary = boundary
        self._weights: dict[str, Any] = {}
        self._seconds = dict(seconds or {})
        self._last_uses = _last_uses(self.steps, self._results)
        self._set_weights(weights)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The calls of compiled functions, in the order in which they run."""
        return tuple(step for step in self.steps if isinstance(step, Layer))

    @property
    def functions(self) -> tuple[Function, ...]:
        """The distinct compiled functions, in the order of their first calls."""
        return tuple({id(layer.function): layer.function for layer in self.layers}.values())

    @property
    def kernels(self) -> int:
        """Number of kernels that one call launches."""
        return sum(layer.function.kernels for layer in self.layers)

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of all weights: parameters, buffers and constants of the original."""
        used = [name for layer in self.layers for name in layer.weights.values()]
        return tuple(dict.fromkeys((*used, *self._weights)))

    @property
    def report(self) -> Report:
        """Functions with their layers and kernels, and every operation that is not compiled."""
        rows = [
            Row(
                function.name,
                tuple(layer.name for layer in self.layers if layer.function is function),
                function.kernels,
                function.seconds,
            )
            for function in self.functions
        ]
        # Tied weights are one array.
        distinct = {_address(array): array for array in self._weights.values()}
        total = sum(int(getattr(array, "nbytes", 0)) for array in distinct.values())
        return Report(rows, self.problems, total, self._seconds)

    def bind(self, state: Mapping[str, Any]) -> None:
        """Replace weights, by the names that the original has for them (`state_dict`); others stay.

        Raises InputError for a name that the model does not have, and for another shape or dtype.
        """
        known = self.weights
        for name in state:
            if name not in known:
                raise InputError(f"the model has no weight '{name}'; it has {_listed(known)}")
        self._set_weights({name: self._boundary.weight(name, value) for name, value in state.items()})

    def _set_weights(self, arrays: Mapping[str, Any]) -> None:
        start = time.perf_counter()
        self._weights.update(arrays)
        for layer in self.layers:
            names = set(layer.weights.values())
            if (not names or names & arrays.keys()) and names <= self._weights.keys():
                layer.bind(self._weights)
        self._seconds["bind"] = time.perf_counter() - start

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model on the arrays that the original takes. Raises InputError for others."""
        values = dict(self._boundary.arguments(args, kwargs))
        weights = self._weights
        for step, done in zip(self.steps, self._last_uses, strict=True):
            given = [values[name] if name in values else weights[name] for name in step.takes]
            values.update(zip(step.gives, step(*given), strict=True))
            del given
            for name in done:  # intermediate arrays are given back as soon as they have been read
                values.pop(name, None)
        return self._boundary.results(
            [values[name] if name in values else weights[name] for name in self._results]
        )


def _last_uses(steps: Sequence[Step], results: Sequence[str]) -> list[list[str]]:
    """The values, for each step, that no later step and no result needs."""
    needed = set(results)
    found: list[list[str]] = []
    for step in reversed(steps):
        touched = dict.fromkeys((*step.takes, *step.gives))
        found.append([name for name in touched if name not in needed])
        needed.update(step.takes)
    return found[::-1]


def _address(array: Any) -> int:
    """The address of an array's memory, of numpy's arrays and of tensors."""
    interface = getattr(array, "__array_interface__", None)
    if interface is not None:
        return interface["data"][0]
    return array.data_ptr() if hasattr(array, "data_ptr") else id(array)


def _listed(names: Sequence[str], most: int = 8) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
