"""The programs in examples/ for tests: loading them, resizing them, and what to run them at."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

EXAMPLES_DIR = Path(__file__).resolve().parents[2] / "examples"

EXAMPLES: list[str] = sorted(path.stem for path in EXAMPLES_DIR.glob("*.mlir"))
"""Names of all examples: each is a pair of NAME.mlir and NAME.py."""


class ExampleModule(Protocol):
    """What examples/NAME.py defines.

    It may also define DERIVED, the extents that are products of two others or of one and a number, and
    FIXED, the extents that constants in the text depend on.
    """

    DIMS: dict[str, int]
    DYNAMIC: tuple[str, ...]
    REFERENCES: dict[str, Callable[..., NDArray[np.float64] | tuple[NDArray[np.float64], ...]]]

    def inputs(
        self, rng: np.random.Generator, dims: Mapping[str, int] = ..., entry: str = ...
    ) -> list[NDArray[np.float64]]: ...


@cache
def load(name: str) -> tuple[str, ExampleModule]:
    """The text of examples/NAME.mlir and the module examples/NAME.py."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES_DIR / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return (EXAMPLES_DIR / f"{name}.mlir").read_text(), cast(ExampleModule, module)


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


def resized(name: str, new: Mapping[str, int], element_type: str = "f32") -> tuple[str, dict[str, int]]:
    """The text of example `name` at other extents, and all its extents then, derived ones included.

    `new` names extents that are neither derived nor fixed.
    """
    text, module = load(name)
    dims = dict(module.DIMS) | dict(new)
    for derived, factors in derived_dims(name).items():
        left, right = (dims[factor] if isinstance(factor, str) else factor for factor in factors)
        dims[derived] = left * right
    return respell(text, module.DIMS, dims, element_type), dims


def derived_dims(name: str) -> dict[str, tuple[str | int, str | int]]:
    """The extents of an example that follow from others: {name: (factor, factor)}, in order."""
    return getattr(load(name)[1], "DERIVED", {})


def free_dims(name: str) -> list[str]:
    """The extents of an example that can be changed at will."""
    module = load(name)[1]
    held: Iterable[str] = {*derived_dims(name), *getattr(module, "FIXED", ())}
    return [dim for dim in module.DIMS if dim not in held]


_PRIMES = (13, 29, 7, 11, 5, 3, 17, 19)


def odd_sizes(name: str) -> dict[str, dict[str, int]]:
    """Extents to try an example at: all 1, primes, and one more than a block of 64 (rows) or 32 (others)."""
    module, free = load(name)[1], free_dims(name)

    def past_block(dim: str) -> int:
        if dim in module.DYNAMIC:
            return 65
        return 33 if module.DIMS[dim] > 16 else 2

    return {
        "ones": dict.fromkeys(free, 1),
        "primes": dict(zip(free, _PRIMES, strict=False)),
        "past_block": {dim: past_block(dim) for dim in free},
    }


@dataclass(frozen=True)
class Case:
    """One public function of one example."""

    name: str
    entry: str

    def __str__(self) -> str:
        return self.name if self.name == self.entry else f"{self.name}-{self.entry}"

    @property
    def text(self) -> str:
        return load(self.name)[0]

    @property
    def module(self) -> ExampleModule:
        return load(self.name)[1]

    def inputs(self, dims: Mapping[str, int] | None = None, seed: int = 0) -> list[NDArray[np.float64]]:
        """Arguments drawn with `seed`, at the example's extents or at `dims`."""
        extents = self.module.DIMS if dims is None else dims
        return self.module.inputs(np.random.default_rng(seed), extents, self.entry)

    def expected(self, arrays: Iterable[NDArray[Any]]) -> tuple[NDArray[np.float64], ...]:
        """What the reference gives for `arrays`, computed in float64."""
        found = self.module.REFERENCES[self.entry](*(array.astype(np.float64) for array in arrays))
        return found if isinstance(found, tuple) else (found,)


def cases() -> list[Case]:
    """Every public function of every example; `ids=str` names them."""
    return [Case(name, entry) for name in EXAMPLES for entry in load(name)[1].REFERENCES]
