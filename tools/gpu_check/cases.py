"""The programs that `bb.tools.gpu_check` times, in bf16, and what torch has for each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

Call = Callable[[], Any]
Make = Callable[[Any, Sequence[Any]], Call]
"""Builds a rival's call from the torch module and the arguments as tensors; raises what torch raises."""

RIVALS = ("unfused", "flash", "cudnn", "compile")
"""Products by cuBLAS between single kernels; two backends of SDPA; `torch.compile`."""


@dataclass(frozen=True)
class Case:
    """A program to time: `f`, on arrays of these shapes, with its flops, its bytes of memory, and its rivals.

    The bytes are those of the arguments and of the result, once each.
    """

    name: str
    text: str
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    flops: float
    rivals: Mapping[str, Make]

    @property
    def bytes(self) -> float:
        return 2.0 * sum(map(prod, (*self.shapes, self.result)))


def attention(heads: int, length: int, width: int, *, causal: bool) -> Case:
    """Self-attention; with a causal mask, half of the products count."""
    array = f"tensor<{heads}x{length}x{width}xbf16>"
    word = " causal" if causal else ""
    text = (
        f"func.func @f(%q: {array}, %k: {array}, %v: {array}) -> {array} {{\n"
        f"  %o = array.attention %q, %k, %v{word} : {array}, {array}, {array} -> {array}\n"
        f"  func.return %o : {array}\n}}\n"
    )

    def unfused(torch: Any, arrays: Sequence[Any]) -> Call:
        q, k, v = arrays
        bias = torch.zeros((length, length), dtype=q.dtype, device=q.device)
        if causal:
            above = torch.ones((length, length), dtype=torch.bool, device=q.device).triu(1)
            bias = bias.masked_fill(above, float("-inf"))

        def call() -> Any:
            scores = q @ k.transpose(1, 2) * width**-0.5
            return torch.softmax(scores + bias if causal else scores, dim=-1) @ v

        return call

    def sdpa(backend: str) -> Make:
        def make(torch: Any, arrays: Sequence[Any]) -> Call:
            choice = importlib.import_module("torch.nn.attention")
            wanted = [getattr(choice.SDPBackend, backend)]
            own = [array.unsqueeze(0) for array in arrays]

            def call() -> Any:
                with choice.sdpa_kernel(wanted):
                    return torch.nn.functional.scaled_dot_product_attention(*own, is_causal=causal)[0]

            return call

        return make

    flops = 4.0 * heads * length * length * width * (0.5 if causal else 1.0)
    shape = (heads, length, width)
    rivals = {"unfused": unfused, "flash": sdpa("FLASH_ATTENTION"), "cudnn": sdpa("CUDNN_ATTENTION")}
    return Case(f"attention {heads}x{length}x{width}{word}", text, (shape,) * 3, shape, flops, rivals)


def norm_matmul(norm: str, rows: int, depth: int, columns: int) -> Case:
    """A norm, and a matrix product of its result."""
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

    def rival(torch: Any, x: Any, w: Any) -> Any:
        function = torch.nn.functional
        own = function.layer_norm if norm == "layer_norm" else function.rms_norm
        return torch.matmul(own(x, (depth,), eps=1e-5), w)

    shapes, result = ((rows, depth), (depth, columns)), (rows, columns)
    flops = 2.0 * rows * depth * columns
    return Case(f"{norm} + matmul {rows}x{depth}x{columns}", text, shapes, result, flops, _eager(rival))


def ffn(rows: int, width: int, hidden: int, *, down: bool) -> Case:
    """RMSNorm and SwiGLU, with or without the matrix product after it."""
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

    def rival(torch: Any, x: Any, gate: Any, up: Any, *back: Any) -> Any:
        function = torch.nn.functional
        y = function.rms_norm(x, (width,), eps=1e-6)
        h = function.silu(torch.matmul(y, gate)) * torch.matmul(y, up)
        return torch.matmul(h, back[0]) if down else h

    shapes = ((rows, width), (width, hidden), (width, hidden), *([(hidden, width)] if down else []))
    flops = (6.0 if down else 4.0) * rows * width * hidden
    what = "ffn" if down else "gate/up"
    shape = (rows, width if down else hidden)
    return Case(f"rms_norm + {what} {rows}x{width}x{hidden}", text, shapes, shape, flops, _eager(rival))


def _eager(rival: Callable[..., Any]) -> dict[str, Make]:
    """Return the calls of a function of torch: eager and compiled."""

    def unfused(torch: Any, arrays: Sequence[Any]) -> Call:
        return lambda: rival(torch, *arrays)

    def compiled(torch: Any, arrays: Sequence[Any]) -> Call:
        def function(*given: Any) -> Any:
            return rival(torch, *given)

        # Extents are those of the case, as ours are; nothing is left from the case before.
        importlib.import_module("torch._dynamo").reset()
        own = torch.compile(function, dynamic=False)
        return lambda: own(*arrays)

    return {"unfused": unfused, "compile": compiled}


def cases() -> list[Case]:
    """All, the most telling of each kind first: the time may not do for the rest.

    Attention has 16384 rows in all and 2048 features, as in the measurements of FlashAttention.
    """

    def tokens(length: int, width: int, causal: bool) -> Case:
        return attention(2048 // width * (16384 // length), length, width, causal=causal)

    lengths = (4096, 16384, 2048, 8192)
    return [
        *(tokens(4096, width, causal) for width in (128, 64) for causal in (False, True)),
        norm_matmul("rms_norm", 16, 4096, 6144),
        norm_matmul("layer_norm", 4096, 1024, 1024),
        ffn(512, 1024, 3072, down=False),
        ffn(4096, 1024, 4096, down=True),
        norm_matmul("layer_norm", 65536, 128, 16),
        norm_matmul("layer_norm", 200000, 128, 16),
        *(
            tokens(length, width, causal)
            for length in lengths[1:]
            for width in (128, 64)
            for causal in (False, True)
        ),
    ]
