"""The programs in examples/ for tests: loading them, resizing them, and what to run them at."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast

import numpy as np
from bb.tools.docs.small_examples import derived_dims as derived_dims
from bb.tools.docs.small_examples import free_dims
from bb.tools.docs.small_examples import resized as resized
from bb.tools.docs.small_examples import respell as respell
from numpy.typing import NDArray
from paths import ROOT

EXAMPLES_DIR = ROOT / "examples"

EXAMPLES: list[str] = sorted(path.stem for path in EXAMPLES_DIR.glob("*.mlir"))
"""Names of all examples: each is a pair of NAME.mlir and NAME.py."""


class ExampleModule(Protocol):
    """Names that examples/NAME.py defines.

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
        """Results of the reference for `arrays`, computed in float64."""
        found = self.module.REFERENCES[self.entry](*(array.astype(np.float64) for array in arrays))
        return found if isinstance(found, tuple) else (found,)


def cases() -> list[Case]:
    """Every public function of every example; `ids=str` names them."""
    return [Case(name, entry) for name in EXAMPLES for entry in load(name)[1].REFERENCES]


def assert_agree(
    actual: Sequence[NDArray[Any]], expected: Sequence[NDArray[np.float64]], bound: float
) -> None:
    """Fail unless arrays have the expected shapes and values, up to `bound` times the largest element."""
    assert len(actual) == len(expected)
    for got, wanted in zip(actual, expected, strict=True):
        assert got.shape == wanted.shape
        error, largest = np.max(np.abs(got.astype(np.float64) - wanted)), np.max(np.abs(wanted))
        assert error <= bound * largest, f"error {error:.3g} where the largest element is {largest:.3g}"
