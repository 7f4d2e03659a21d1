"""``python -m bb.tools.gpu_check``: every example on the GPU at hand, checked; then times beside torch's.

Without a GPU it says so, and does nothing. With one it takes a few minutes. Checks come first: results
against float64 and against the emulator. Times are of bf16, of all rivals in turns, as events of the GPU
count them.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ..lowering.programs import parse
from ..runtime.api import random_inputs
from ..runtime.cuda_device import DeviceError, cupy_module
from ..runtime.executable import compile_all, compile_program
from ..runtime.interpreter import interpret
from ..runtime.tolerances import BOUNDS, compare

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TYPES = ("f32", "f16", "bf16")
ROUNDS, WARM_UP = 10, 3
PEAKS = {"8.0": 312e12, "9.0": 989e12, "10.0": 2250e12}
"""Flops per second of dense bf16 by compute capability, from NVIDIA's data sheets (A100, H100, B200)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Check, then time; the exit status is 1 if a result is off."""
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__)
    parser.add_argument("--seconds", type=float, default=200, help="begin nothing after so long (200)")
    parser.add_argument("--check-only", action="store_true", help="time nothing")
    options = parser.parse_args(argv)
    console = Console()
    try:
        cupy = cupy_module()
    except DeviceError as error:
        console.print(f"nothing to check: {error}", markup=False)
        return 0
    deadline = time.monotonic() + options.seconds
    wrong = check_examples(sorted(path.stem for path in EXAMPLES.glob("*.mlir")), console, deadline)
    if not options.check_only:
        console.print(timed(cupy, deadline))
    return int(bool(wrong))


def check_examples(names: Sequence[str], console: Console, deadline: float) -> list[str]:
    """Run examples in each type on the GPU; those whose results are off, or differ between two runs."""
    wrong: list[str] = []
    for name in names:
        for type in TYPES:
            if time.monotonic() > deadline:
                console.print("the time is over: the rest was not checked")
                return wrong
            wrong += [f"{name} in {type}: {text}" for text in _check(name, type)]
    console.print(*(wrong or ["all examples agree with float64 and with the emulator"]), sep="\n")
    return wrong


def _check(name: str, type: str) -> list[str]:
    module = parse((EXAMPLES / f"{name}.mlir").read_text().replace("f32", type))
    emulated = compile_all(module, target="emulator")
    found: list[str] = []
    for entry, executable in compile_all(module, target="cuda").items():
        arrays = random_inputs(module, 0, entry=entry)
        results = executable.run_on_host_arrays(arrays)
        again = executable.run_on_host_arrays(arrays)
        wanted = interpret(module, arrays, entry=entry, float64=True).results
        close = emulated[entry].run_on_host_arrays(arrays)
        for one, other, exact, near in zip(results, again, wanted, close, strict=True):
            error = compare(one, exact, BOUNDS[type])
            if not error.within:
                found.append(f"@{entry} is off by {error.relative:.1e}, bound {error.bound:.1e}")
            if not compare(one, near.astype(np.float64), BOUNDS[type]).within:
                found.append(f"@{entry} is not what the emulator gives")
            if one.tobytes() != other.tobytes():
                found.append(f"@{entry} differs between two runs: a race")
    return found


@dataclass(frozen=True)
class Case:
    """A program to time, its rival in torch, and its flops (or 0: it waits for memory)."""

    name: str
    text: str
    shapes: tuple[tuple[int, ...], ...]
    flops: float
    rival: Callable[[Any, Sequence[Any]], Any]


def attention(heads: int, length: int, width: int, *, causal: bool) -> Case:
    """Self-attention; of a causal one half of the products counts."""
    array = f"tensor<{heads}x{length}x{width}xbf16>"
    word = " causal" if causal else ""
    text = (
        f"func.func @f(%q: {array}, %k: {array}, %v: {array}) -> {array} {{\n"
        f"  %o = array.attention %q, %k, %v{word} : {array}, {array}, {array} -> {array}\n"
        f"  func.return %o : {array}\n}}\n"
    )

    def rival(torch: Any, arrays: Sequence[Any]) -> Any:
        own = [array.unsqueeze(0) for array in arrays]
        return torch.nn.functional.scaled_dot_product_attention(*own, is_causal=causal)

    flops = 4.0 * heads * length * length * width * (0.5 if causal else 1.0)
    shape = (heads, length, width)
    return Case(f"attention {heads}x{length}x{width}{word}", text, (shape,) * 3, flops, rival)


def norm_matmul(norm: str, rows: int, depth: int, columns: int) -> Case:
    """A norm, and a matrix product of what it gives."""
    x, w, o = (
        f"tensor<{rows}x{depth}xbf16>",
        f"tensor<{depth}x{columns}xbf16>",
        f"tensor<{rows}x{columns}xbf16>",
    )
    text = (
        f"func.func @f(%x: {x}, %w: {w}) -> {o} {{\n"
        f"  %y = array.{norm} %x eps 1.000000e-05 : {x}\n"
        f"  %o = array.matmul %y, %w : {x}, {w} -> {o}\n"
        f"  func.return %o : {o}\n}}\n"
    )

    def rival(torch: Any, arrays: Sequence[Any]) -> Any:
        function = torch.nn.functional
        own = function.layer_norm if norm == "layer_norm" else function.rms_norm
        return own(arrays[0], (depth,), eps=1e-5) @ arrays[1]

    shapes = ((rows, depth), (depth, columns))
    return Case(
        f"{norm} + matmul {rows}x{depth}x{columns}", text, shapes, 2.0 * rows * depth * columns, rival
    )


def ffn(rows: int, width: int, hidden: int, *, down: bool) -> Case:
    """RMSNorm and SwiGLU, with or without the matrix product behind it."""
    x, up, back = f"{rows}x{width}xbf16", f"{width}x{hidden}xbf16", f"{hidden}x{width}xbf16"
    mid = f"{rows}x{hidden}xbf16"
    arguments = f"%x: tensor<{x}>, %g: tensor<{up}>, %u: tensor<{up}>" + (
        f", %d: tensor<{back}>" if down else ""
    )
    last = f"  %o = array.matmul %h, %d : tensor<{mid}>, tensor<{back}> -> tensor<{x}>\n" if down else ""
    result, out = ("%o", x) if down else ("%h", mid)
    text = (
        f"func.func @f({arguments}) -> tensor<{out}> {{\n"
        f"  %y = array.rms_norm %x eps 1.000000e-06 : tensor<{x}>\n"
        f"  %a = array.matmul %y, %g : tensor<{x}>, tensor<{up}> -> tensor<{mid}>\n"
        f"  %b = array.matmul %y, %u : tensor<{x}>, tensor<{up}> -> tensor<{mid}>\n"
        f"  %s = array.silu %a : tensor<{mid}>\n"
        f"  %h = array.elementwise (%c = %s, %e = %b) : tensor<{mid}>, tensor<{mid}> -> tensor<{mid}> {{\n"
        f"    %p = arith.mulf %c, %e : bf16\n    array.yield %p : bf16\n  }}\n"
        f"{last}  func.return {result} : tensor<{out}>\n}}\n"
    )

    def rival(torch: Any, arrays: Sequence[Any]) -> Any:
        function = torch.nn.functional
        y = function.rms_norm(arrays[0], (width,), eps=1e-6)
        h = function.silu(y @ arrays[1]) * (y @ arrays[2])
        return h @ arrays[3] if down else h

    shapes = ((rows, width), (width, hidden), (width, hidden), *([(hidden, width)] if down else []))
    flops = (6.0 if down else 4.0) * rows * width * hidden
    what = "ffn" if down else "gate/up"
    return Case(f"rms_norm + {what} {rows}x{width}x{hidden}", text, shapes, flops, rival)


CASES = [
    *(
        attention(16, length, width, causal=causal)
        for length in (2048, 8192, 16384)
        for width in (64, 128)
        for causal in (False, True)
    ),
    norm_matmul("layer_norm", 4096, 1024, 1024),
    norm_matmul("rms_norm", 16, 4096, 6144),
    norm_matmul("layer_norm", 65536, 128, 16),
    norm_matmul("layer_norm", 200000, 128, 16),
    ffn(512, 1024, 3072, down=False),
    ffn(4096, 1024, 4096, down=True),
]


def timed(cupy: Any, deadline: float) -> Table:
    """A table of times; torch's columns are empty where there is no torch."""
    torch: Any = None
    with suppress(ImportError):
        torch = importlib.import_module("torch")
    capability = str(cupy.cuda.Device().compute_capability)
    peak = PEAKS.get(f"{capability[:-1]}.{capability[-1]}")
    table = Table(title="Times of bf16", title_justify="left")
    for column in ("program", "ours, ms", "TFLOP/s", "of peak", "torch, ms", "torch.compile, ms"):
        table.add_column(column, justify="left" if column == "program" else "right")
    for case in CASES:
        if time.monotonic() > deadline:
            table.add_row(case.name, "not timed: the time is over")
            continue
        ours, *others = _times(cupy, torch, case)
        rate = case.flops / ours
        share = f"{100 * rate / peak:.0f}%" if peak else ""
        shown = [f"{1e3 * seconds:.3f}" for seconds in others]
        table.add_row(case.name, f"{1e3 * ours:.3f}", f"{rate / 1e12:.1f}", share, *shown)
    return table


def _times(cupy: Any, torch: Any, case: Case) -> list[float]:
    """Seconds of a call, the median of rounds in which all rivals have a turn."""
    executable = compile_program(case.text, target="cuda")
    rng = np.random.default_rng(0)
    scale = [1.0 if number == 0 else shape[0] ** -0.5 for number, shape in enumerate(case.shapes)]
    host = [
        (factor * rng.standard_normal(shape, np.float32)).astype(np.float32)
        for factor, shape in zip(scale, case.shapes, strict=True)
    ]
    calls: list[Callable[[], object]] = []
    if torch is None:
        from ..runtime.scalar_semantics import BFLOAT16

        arrays = [executable.memory.from_host(array.astype(BFLOAT16)) for array in host]
        calls.append(lambda: executable(*arrays))
    else:
        tensors = [torch.from_numpy(array).cuda().to(torch.bfloat16) for array in host]

        def rival(*given: Any) -> Any:
            return case.rival(torch, given)

        compiled = torch.compile(rival)
        calls += [
            lambda: executable(*tensors),
            lambda: case.rival(torch, tensors),
            lambda: compiled(*tensors),
        ]
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(WARM_UP + ROUNDS):
        for number, call in enumerate(calls):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            cupy.cuda.Device().synchronize()
            start.record()
            call()
            end.record()
            end.synchronize()
            if turn >= WARM_UP:
                seconds[number].append(1e-3 * float(cupy.cuda.get_elapsed_time(start, end)))
    return [statistics.median(each) for each in seconds]


if __name__ == "__main__":
    sys.exit(main())
