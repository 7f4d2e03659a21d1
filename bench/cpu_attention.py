"""Fused attention on the CPU against the rivals that are installed, in one run: medians of interleaved calls.

    python bench/cpu_attention.py [--heads 16] [--queries 1024] [--keys 1024] [--width 64] [--threads 2]

Every result is compared with float64 before anything is timed. Rivals: PyTorch's and OpenVINO's own attention
(the extra `bench`); what is not installed is left out. Only ratios mean much on a shared machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import bb
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Contender = Callable[[], Array]

BOUND = 1e-5
"""Largest error of a result, relative to the largest element, that counts as right."""


def program(q: tuple[int, ...], k: tuple[int, ...]) -> str:
    """The text of an attention over heads; keys and values have one shape."""
    types = ["x".join(map(str, shape)) for shape in (q, k, k)]
    tensors = ", ".join(f"tensor<{type}xf32>" for type in types)
    arguments = ", ".join(f"%{name}: tensor<{type}xf32>" for name, type in zip("qkv", types, strict=True))
    return f"""func.func @attention({arguments}) -> tensor<{types[0]}xf32> {{
  %out = array.attention %q, %k, %v : {tensors} -> tensor<{types[0]}xf32>
  func.return %out : tensor<{types[0]}xf32>
}}
"""


def ours(arrays: list[Array], threads: int) -> Contender:
    executable = bb.compile(program(arrays[0].shape, arrays[1].shape))
    return lambda: executable(*arrays, threads=threads)


def with_torch(arrays: list[Array], threads: int) -> Contender:
    import torch

    torch.set_num_threads(threads)
    q, k, v = (torch.from_numpy(array)[None] for array in arrays)
    attention = torch.nn.functional.scaled_dot_product_attention
    return lambda: attention(q, k, v)[0].numpy()


def with_openvino(arrays: list[Array], threads: int) -> Contender:
    import openvino
    from openvino import opset13

    inputs = [array[None] for array in arrays]
    parameters = [opset13.parameter(array.shape, openvino.Type.f32) for array in inputs]
    model = openvino.Model([opset13.scaled_dot_product_attention(*parameters, causal=False)], parameters)
    hints = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = openvino.Core().compile_model(model, "CPU", hints).create_infer_request()
    return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)[0][0]


CONTENDERS = {"ours": ours, "torch": with_torch, "openvino": with_openvino}


def exact(q: Array, k: Array, v: Array) -> Array:
    """Attention in float64."""
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def measure(contenders: dict[str, Contender], rounds: int) -> dict[str, float]:
    """The median time of a call of each in seconds. They take turns, with a call before each timed one."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        order = list(contenders) if number % 2 else list(reversed(contenders))
        for name in order:
            contenders[name]()
            start = time.perf_counter()
            contenders[name]()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(own) for name, own in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("heads", 16), ("queries", 1024), ("keys", 1024), ("width", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    lengths = (options.queries, options.keys, options.keys)
    arrays = [
        rng.standard_normal((options.heads, length, options.width), dtype=np.float32) for length in lengths
    ]
    wanted = exact(*arrays)
    contenders: dict[str, Contender] = {}
    for name, make in CONTENDERS.items():
        try:
            contenders[name] = make(arrays, options.threads)
        except ImportError:
            print(f"{name}: not installed")
            continue
        error = float(np.abs(contenders[name]() - wanted).max() / np.abs(wanted).max())
        assert error <= BOUND, f"{name} is off by {error:.1e}"
        print(f"{name}: error {error:.1e} against float64")
    times = measure(contenders, options.rounds)
    for name, seconds in times.items():
        print(f"{name}: {1e3 * seconds:.2f} ms, ours takes {times['ours'] / seconds:.2f} of it")


if __name__ == "__main__":
    main()
