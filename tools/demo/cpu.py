"""The end of the demonstration: the paper's three examples, compiled for this machine, checked and timed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from ...lowering.pipelines import PIPELINES
from ...runtime.api import compile_program
from ...runtime.arrays.dtypes import Array
from ...runtime.checking.tolerances import BOUNDS, compare
from ...runtime.compilation.errors import HostCompilerError
from ...runtime.executable.executable import Executable
from ...runtime.host.threads import thread_count
from ...runtime.host.timing import interleaved
from ..docs.small_examples import example_module, resized


def attention(q: Array, k: Array, v: Array) -> Array:
    """softmax(q kᵀ / sqrt(D)) v of each head, in the inputs' own precision."""
    scores = q @ k.swapaxes(-1, -2) / float(q.shape[-1]) ** 0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


def layernorm_matmul(x: Array, gamma: Array, beta: Array, w: Array, bias: Array) -> Array:
    """LayerNorm and a linear layer, in the inputs' own precision."""
    centred = x - x.mean(axis=-1, keepdims=True)
    normed = centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
    return (normed * gamma + beta) @ w + bias


def rmsnorm_ffn_swiglu(x: Array, gamma: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    """RMSNorm and SwiGLU, in the inputs' own precision."""
    y = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gamma
    gate = y @ w_gate
    return (gate / (1 + np.exp(-gate)) * (y @ w_up)) @ w_down


@dataclass(frozen=True)
class Workload:
    """An example at other extents; with `heads`, so many of them along a new first axis of every array."""

    name: str
    extents: Mapping[str, int]
    numpy: Callable[..., Array]
    heads: int | None = None

    @property
    def size(self) -> str:
        """The extents for people."""
        parts = [] if self.heads is None else [f"{self.heads} heads"]
        return ", ".join([*parts, *(f"{name} = {extent}" for name, extent in self.extents.items())])

    def program(self) -> str:
        """The text of the program."""
        text, _ = resized(self.name, self.extents)
        return text if self.heads is None else text.replace("tensor<", f"tensor<{self.heads}x")

    def inputs(self) -> list[Array]:
        """Random arguments in float32, the same in every run."""
        _, extents = resized(self.name, self.extents)
        rng = np.random.default_rng(0)
        draws = [example_module(self.name).inputs(rng, extents, self.name) for _ in range(self.heads or 1)]
        if self.heads is None:
            return [np.asarray(array, np.float32) for array in draws[0]]
        return [np.stack(arrays).astype(np.float32) for arrays in zip(*draws, strict=True)]


WORKLOADS: Sequence[Workload] = (
    Workload("attention", {"M": 1024, "N": 1024, "D": 64, "L": 64}, attention, heads=8),
    Workload("layernorm_matmul", {"M": 1024, "K": 1024, "N": 1024}, layernorm_matmul),
    Workload("rmsnorm_ffn_swiglu", {"M": 512, "D": 1024, "F": 2816}, rmsnorm_ffn_swiglu),
)


def show(console: Console, workloads: Sequence[Workload] = WORKLOADS) -> int:
    """Compile, check and time the workloads; the exit status, 1 where a result is off.

    Where there is no C++ compiler, a sentence says so, and all is well.
    """
    threads = thread_count()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("program", no_wrap=True)
    for column in ("kernels", "fused", "unfused", "numpy", "error"):
        table.add_column(column, justify="right", no_wrap=True)
    failed: list[str] = []
    try:
        for workload in workloads:
            with console.status(f"compiling and running {workload.name}"):
                row, within = _row(workload, threads)
            table.add_row(*row)
            if not within:
                failed.append(workload.name)
    except HostCompilerError as error:
        console.print(f"Programs cannot be compiled for the CPU here: {error}.", markup=False, soft_wrap=True)
        return 0
    for workload in workloads:
        console.print(f"{workload.name}: {workload.size}", markup=False, soft_wrap=True)
    console.print(table)
    console.print(
        f"Medians in float32 with {threads} thread{'s' if threads > 1 else ''}; in brackets, how many times "
        "as fast the fused program is. Fused is the pipeline cpu, unfused is cpu-unfused: a kernel for every "
        f"operator. The error is relative to float64; its bound is {BOUNDS['f32']:.0e}.\n",
        markup=False,
        soft_wrap=True,
    )
    for name in failed:
        console.print(f"{name} is further from float64 than its bound allows", style="bold red")
    return int(bool(failed))


def _row(workload: Workload, threads: int) -> tuple[list[str], bool]:
    """The cells of the table, and whether the fused and the unfused program are within their bound."""
    inputs, text = workload.inputs(), workload.program()
    fused = compile_program(text)
    unfused = compile_program(text, pipeline=PIPELINES["cpu-unfused"])
    wanted = workload.numpy(*(array.astype(np.float64) for array in inputs))
    errors = [compare(_only(each(*inputs)), wanted, BOUNDS["f32"]) for each in (fused, unfused)]

    def call(executable: Executable) -> Callable[[], object]:
        out = np.empty(wanted.shape, np.float32)
        return lambda: executable(*inputs, out=out, threads=threads)

    calls = [call(fused), call(unfused), lambda: workload.numpy(*inputs)]
    times = [statistics.median(seconds) for seconds in interleaved(calls, runs=5, least=0.3)]
    own, apart, numpy = times
    row = [
        workload.name,
        f"{_kernels(fused)} / {_kernels(unfused)}",
        f"{own * 1e3:.3g} ms",
        f"{apart * 1e3:.3g} ms ({apart / own:.1f}x)",
        f"{numpy * 1e3:.3g} ms ({numpy / own:.1f}x)",
        f"{max(error.relative for error in errors):.1e}",
    ]
    return row, all(error.within for error in errors)


def _kernels(executable: Executable) -> int:
    return len(executable.library.entries)


def _only(results: Array | tuple[Array, ...]) -> Array:
    assert not isinstance(results, tuple)
    return results
