"""Numbers that look random but are the same in every process."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


@lru_cache(maxsize=4096)
def number_of(text: str) -> int:
    """A number of 64 bits for a text, the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def mix(values: NDArray[np.integer[Any]], salt: int | Keys) -> Keys:
    """A random-looking number of 64 bits for each element (the finaliser of splitmix64)."""
    start = np.uint64(salt & (1 << 64) - 1) if isinstance(salt, int) else salt
    with np.errstate(over="ignore"):  # numpy warns where scalars wrap around
        z = values.astype(np.uint64) + start
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
