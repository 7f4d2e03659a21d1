"""The way between a caller's numpy arrays and the arguments of an imported ONNX model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...dialects.diagnostics import did_you_mean
from ...runtime.errors import InputError
from .building import Input
from .extents import Extent


@dataclass(frozen=True)
class Output:
    """An output of the model."""

    name: str


class NamedArrays:
    """Takes a dict of arrays by the inputs' names, or keywords, or arrays in order; returns a dict."""

    def __init__(
        self, inputs: Sequence[Input], outputs: Sequence[Output], weights: Mapping[str, np.ndarray[Any, Any]]
    ):
        self._inputs = inputs
        self._outputs = outputs
        self._weights = {name: (array.shape, array.dtype) for name, array in weights.items()}

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arrays by the names of the program's arguments. Raises InputError."""
        given: dict[str, Any] = {}
        if len(args) == 1 and isinstance(args[0], Mapping):
            given.update(cast("Mapping[str, Any]", args[0]))
        elif len(args) > len(self._inputs):
            raise InputError(
                f"the model takes {len(self._inputs)} arrays ({self._listed()}), got {len(args)}"
            )
        else:
            given.update({each.name: value for each, value in zip(self._inputs, args, strict=False)})
        by_argument = {each.argument: each.name for each in self._inputs}
        for name, value in kwargs.items():
            name = by_argument.get(name, name)
            if name in given:
                raise InputError(f"input '{name}' is given twice")
            given[name] = value
        names = [each.name for each in self._inputs]
        for name in given:
            if name not in names:
                meant = did_you_mean(name, names)
                raise InputError(
                    f"the model has no input '{name}'{meant} Its inputs: {self._listed()}"
                    if meant
                    else f"the model has no input '{name}'; its inputs: {self._listed()}"
                )
        missing = [each for each in names if each not in given]
        if missing:
            raise InputError(f"the model needs arrays for {', '.join(missing)}; its inputs: {self._listed()}")
        extents: dict[str, int] = {}
        checked = {each.argument: _checked(each, given[each.name], extents) for each in self._inputs}
        checked.pop("", None)
        return checked

    def _listed(self) -> str:
        return ", ".join(f"{each.name} {_shape(each)} {each.dtype}" for each in self._inputs) or "none"

    def results(self, arrays: Sequence[Any]) -> Any:
        """Return the results by the names of the outputs."""
        return {each.name: array for each, array in zip(self._outputs, arrays, strict=True)}

    def weight(self, name: str, value: Any) -> Any:
        """Return a weight as the program takes it. Raises InputError for another shape or dtype."""
        shape, dtype = self._weights[name]
        array = np.asarray(value)
        if array.shape != shape or array.dtype != dtype:
            raise InputError(
                f"weight '{name}' has shape {list(array.shape)} and dtype {array.dtype}, "
                f"expected {list(shape)} and {dtype}"
            )
        return array


def _shape(each: Input) -> str:
    return f"[{', '.join(map(str, each.dims))}]"


def _checked(each: Input, value: Any, extents: dict[str, int]) -> Any:
    """An array for an input. Python's numbers and lists are converted, and dtypes that lose nothing."""
    array = np.asarray(value)
    loose = not hasattr(value, "dtype")
    if not np.can_cast(array.dtype, each.dtype, "same_kind" if loose else "safe"):
        raise InputError(f"input '{each.name}' has dtype {array.dtype}, expected {each.dtype}")
    if array.ndim != len(each.dims):
        raise InputError(f"input '{each.name}' has shape {list(array.shape)}, expected {_shape(each)}")
    for axis, (extent, own) in enumerate(zip(each.dims, array.shape, strict=True)):
        wanted = extent if not isinstance(extent, Extent) else extents.setdefault(str(extent), own)
        if own != wanted:
            at = f", where {extent} is {wanted}" if isinstance(extent, Extent) else ""
            raise InputError(
                f"input '{each.name}' has shape {list(array.shape)}, expected {_shape(each)}{at}: axis {axis}"
            )
    return array.astype(each.dtype, copy=False)
