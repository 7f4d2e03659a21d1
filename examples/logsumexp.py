"""Log-sum-exp of each row: out = max(x) + log(sum(exp(x - max(x))))."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 130, "N": 90}
DYNAMIC = ("M", "N")


def reference(x: Array) -> Array:
    return np.logaddexp.reduce(x, axis=-1)


REFERENCES: dict[str, Callable[..., Array]] = {"logsumexp": reference}


def inputs(rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "logsumexp") -> list[Array]:
    return [2 * rng.standard_normal((dims["M"], dims["N"]))]
