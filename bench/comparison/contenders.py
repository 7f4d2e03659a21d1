"""The contenders: ours and its rivals, by name, and the preparation of one of them for a row.

A contender is a module of this package with a function `ready(name, case)`. Contenders of one module share a
process, its threads and its inputs. What a module imports beyond numpy is imported inside, by that process
alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from .workloads import Array, Workload

OURS = "ours"
UNFUSED = "ours-unfused"


@dataclass(frozen=True)
class Case:
    """A row and its inputs, for one process."""

    workload: Workload
    inputs: Mapping[str, Array]
    threads: int

    @property
    def activations(self) -> dict[str, Array]:
        """The inputs that are new in every call."""
        return {name: array for name, array in self.inputs.items() if name not in self.workload.weights}

    @property
    def weights(self) -> dict[str, Array]:
        """The inputs that are the same in every call, and may be packed beforehand."""
        return {name: array for name, array in self.inputs.items() if name in self.workload.weights}


@dataclass(frozen=True)
class Ready:
    """A contender that has been built for a row: `run` is timed, `read` makes an array of what it gave."""

    run: Callable[[], object]
    read: Callable[[object], Array]
    variant: str = ""
    """The fastest of several ways to write the row; empty where there is one way."""


@dataclass(frozen=True)
class Contender:
    """One column of the table."""

    name: str
    module: str
    package: str
    """The import name of the package that has to be installed."""
    about: str
    dtypes: tuple[str, ...] = ("f32",)
    kinds: tuple[str, ...] | None = None
    """The kinds of rows that it takes part in; None: all."""

    def takes(self, workload: Workload) -> bool:
        return workload.dtype in self.dtypes and (self.kinds is None or workload.kind in self.kinds)

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


_BOTH = ("f32", "bf16")
_NOT_ATTENTION = ("layernorm_matmul", "swiglu", "softmax", "rms_norm", "gelu_gate")

CONTENDERS: dict[str, Contender] = {
    contender.name: contender
    for contender in (
        Contender(OURS, "ours", "bb", "the pipeline cpu, weights bound by prepare", _BOTH),
        Contender(UNFUSED, "ours", "bb", "the pipeline cpu-unfused: a kernel for every operator", _BOTH),
        Contender("torch-eager", "with_torch", "torch", "PyTorch's operators, its fused attention", _BOTH),
        Contender("torch-naive", "with_torch", "torch", "attention as three operators", kinds=("attention",)),
        Contender("torch-compile", "with_torch", "torch", "Inductor with frozen weights", _BOTH),
        Contender(
            "torch-max",
            "with_torch",
            "torch",
            "Inductor with max_autotune and cpp_wrapper",
            _BOTH,
            _NOT_ATTENTION,
        ),
        Contender("torch-flex", "with_torch", "torch", "flex_attention, compiled", _BOTH, ("attention",)),
        Contender("onnxruntime", "with_onnxruntime", "onnxruntime", "the fastest of several graphs"),
        Contender("openvino", "with_openvino", "openvino", "the fastest of several graphs", _BOTH),
        Contender("jax", "with_jax", "jax", "XLA", _BOTH),
        Contender("numpy", "with_numpy", "numpy", "numpy with its OpenBLAS, in float32"),
    )
}

RIVALS = tuple(name for name, contender in CONTENDERS.items() if contender.module != "ours")


def aligned(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """An array that starts at a page, not initialised."""
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.empty(size + 4096, np.uint8)
    start = -memory.ctypes.data % 4096
    return memory[start : start + size].view(dtype).reshape(shape)


def fastest(variants: Iterable[tuple[str, Callable[[], Ready]]]) -> Ready:
    """The fastest of several ways to write a row. Raises what the first one raised if none can be built."""
    best: tuple[float, Ready] | None = None
    failure: Exception | None = None
    for label, build in variants:
        try:
            ready = build()
            seconds = _timed(ready.run)
            if best is None or seconds < 2 * best[0]:
                seconds = min(_timed(ready.run) for _ in range(5))
        except Exception as error:
            failure = failure or error
            print(f"variant {label}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        if best is None or seconds < best[0]:
            best = seconds, Ready(ready.run, ready.read, label)
    if best is None:
        raise failure or ValueError("there is no variant to try")
    return best[1]


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
