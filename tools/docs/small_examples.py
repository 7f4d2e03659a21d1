"""The examples at other extents and in other types, with their inputs."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .programs import EXAMPLES

Array = NDArray[Any]

LARGEST_EXTENT = 20
HEAD_WIDTH = 16
"""A power of 4, so that dividing logits by its root is exact."""


class ExampleModule(Protocol):
    """The names of examples/NAME.py that this module uses."""

    DIMS: dict[str, int]
    REFERENCES: dict[str, Callable[..., Any]]

    def inputs(
        self, rng: np.random.Generator, dims: Mapping[str, int] = ..., entry: str = ...
    ) -> list[Array]: ...


@cache
def example_module(name: str) -> ExampleModule:
    """examples/NAME.py."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(ExampleModule, module)


_TENSOR = re.compile(r"\btensor<((?:(?:\d+|\?)x)*)(\w+)>")
_SLICE = re.compile(r"(\boffsets \[)([^]]*)(\] sizes \[)([^]]*)(\])")
_FLOAT = re.compile(r"(?<!\bacc )(?<![%\w])f32\b")


def respell(
    text: str, dims: Mapping[str, int], new: Mapping[str, int | str], element_type: str = "f32"
) -> str:
    """The program `text` with the extents named in `new` replaced and f32 turned into `element_type`.

    `dims` are the extents in the text, distinct numbers. They are replaced in tensor types and in the
    offsets and sizes of slices; "?" makes an extent unknown (the size of a slice becomes -1). `acc f32`
    stays as it is.
    """
    extents = {str(dims[name]): str(extent) for name, extent in new.items()}

    def tensor(match: re.Match[str]) -> str:
        shape = "".join(f"{extents.get(extent, extent)}x" for extent in match[1].split("x")[:-1])
        return f"tensor<{shape}{element_type if match[2] == 'f32' else match[2]}>"

    def numbers(numbers: str, unknown: str) -> str:
        replaced = (extents.get(number.strip(), number.strip()) for number in numbers.split(","))
        return ", ".join(unknown if number == "?" else number for number in replaced)

    def slice_(match: re.Match[str]) -> str:
        offsets = numbers(match[2], "?")
        assert "?" not in offsets, "an unknown extent cannot be a slice's offset"
        return f"{match[1]}{offsets}{match[3]}{numbers(match[4], '-1')}{match[5]}"

    return _FLOAT.sub(element_type, _SLICE.sub(slice_, _TENSOR.sub(tensor, text)))


def derived_dims(name: str) -> dict[str, tuple[str | int, str | int]]:
    """The extents of an example that follow from others: {name: (factor, factor)}, in order."""
    return getattr(example_module(name), "DERIVED", {})


def free_dims(name: str) -> list[str]:
    """The extents of an example that can be changed at will."""
    module = example_module(name)
    held = {*derived_dims(name), *getattr(module, "FIXED", ())}
    return [dim for dim in module.DIMS if dim not in held]


def resized(name: str, new: Mapping[str, int], element_type: str = "f32") -> tuple[str, dict[str, int]]:
    """The text of example `name` at other extents, and all its extents then, derived ones included.

    `new` names extents that are neither derived nor fixed.
    """
    dims = dict(example_module(name).DIMS)
    extents = dims | dict(new)
    for derived, factors in derived_dims(name).items():
        left, right = (extents[factor] if isinstance(factor, str) else factor for factor in factors)
        extents[derived] = left * right
    text = (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")
    return respell(text, dims, extents, element_type), extents


def small_dims(name: str) -> dict[str, int]:
    """Small extents for an example: a few blocks of 8, ragged; heads get a width with an exact root."""
    dims = example_module(name).DIMS
    found = {dim: min(dims[dim], LARGEST_EXTENT if dims[dim] > 8 else 2) for dim in free_dims(name)}
    if "attention" in name and "D" in found:
        found["D"] = HEAD_WIDTH
    return found
