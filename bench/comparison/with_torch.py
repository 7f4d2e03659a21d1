"""PyTorch: its operators as they are, compiled by Inductor in two ways, and flex_attention.

Weights are parameters that Inductor freezes, so that it packs them; matrices lie as `torch.nn.Linear` has
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from .contenders import Case, Ready
from .workloads import LAYER_NORM_EPS, RMS_NORM_EPS, Array, visible

Tensor = torch.Tensor


def ready(name: str, case: Case) -> Ready:
    """Build a row for one of PyTorch's contenders."""
    torch.set_num_threads(case.threads)
    match name:
        case "torch-naive":
            module: Callable[..., Tensor] = _NaiveAttention(case)
        case "torch-flex":
            module = _compiled(_flex(case), {})
        case "torch-compile":
            module = _compiled(_module(case), {})
        case "torch-max":
            module = _compiled(_module(case), {"max_autotune": True, "cpp_wrapper": True})
        case _:
            module = _module(case)
    attention = case.workload.kind == "attention"
    # Attention takes a batch of 1.
    activations = [_tensor(array[None] if attention else array) for array in case.activations.values()]

    def run() -> Tensor:
        with torch.inference_mode():
            return module(*activations)

    shape = case.workload.result_shape
    return Ready(run, lambda result: _array(result).reshape(shape))


def begin() -> None:
    """Load Inductor, which takes many times as long as to compile a row."""
    _compiled(lambda x: x + 1, {})(torch.zeros(16))
    forget()


def forget() -> None:
    """Drop what was compiled: a new row has new shapes and code."""
    torch.compiler.reset()


def _compiled(module: Callable[..., Tensor], options: Mapping[str, Any]) -> Callable[..., Tensor]:
    import torch._inductor.config as inductor

    inductor.freezing = True  # weights are constants: pack them
    return torch.compile(module, dynamic=False, options=dict(options))


def _tensor(array: Array) -> Tensor:
    if array.dtype == np.float32:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)


def _array(tensor: object) -> Array:
    assert isinstance(tensor, Tensor)
    return tensor.detach().float().numpy()


def _module(case: Case) -> torch.nn.Module:
    kinds: dict[str, Callable[[Case], torch.nn.Module]] = {
        "attention": _Attention,
        "layernorm_matmul": _LayerNormMatmul,
        "swiglu": _Swiglu,
        "softmax": _Softmax,
        "rms_norm": _RmsNorm,
        "gelu_gate": _GeluGate,
    }
    return kinds[case.workload.kind](case).eval()


class _Weighted(torch.nn.Module):
    """A module with the weights of a row as parameters; matrices are transposed."""

    def __init__(self, case: Case):
        super().__init__()
        for name, array in case.weights.items():
            tensor = _tensor(array)
            laid_out = tensor.T.contiguous() if tensor.dim() == 2 else tensor
            self.register_parameter(name, torch.nn.Parameter(laid_out, requires_grad=False))


class _Attention(torch.nn.Module):
    def __init__(self, case: Case):
        super().__init__()
        extents = case.workload.extents
        self.scale = extents["D"] ** -0.5
        # The flag aligns to the upper left, which is the same where there are as many queries as keys.
        self.causal = case.workload.causal and extents["M"] == extents["N"]
        mask = torch.from_numpy(visible(extents["M"], extents["N"])) if case.workload.causal else None
        self.register_buffer("mask", mask)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        mask = None if self.causal else self.mask
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)


class _NaiveAttention(_Attention):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1) * self.scale
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, float("-inf"))
        return torch.softmax(scores, -1) @ v


def _flex(case: Case) -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    queries, keys = case.workload.extents["M"], case.workload.extents["N"]
    mask = None
    if case.workload.causal:

        def seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return key <= query + (keys - queries)

        mask = create_block_mask(seen, None, None, queries, keys, device="cpu")
    return lambda q, k, v: flex_attention(q, k, v, block_mask=mask)


class _LayerNormMatmul(_Weighted):
    def forward(self, x: Tensor) -> Tensor:
        normed = F.layer_norm(x, (x.shape[-1],), self.gamma, self.beta, LAYER_NORM_EPS)
        return F.linear(normed, self.w, self.bias)


class _Swiglu(_Weighted):
    def forward(self, x: Tensor) -> Tensor:
        y = F.rms_norm(x, (x.shape[-1],), self.gamma, RMS_NORM_EPS)
        return F.linear(F.silu(F.linear(y, self.w_gate)) * F.linear(y, self.w_up), self.w_down)


class _Softmax(_Weighted):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, -1)


class _RmsNorm(_Weighted):
    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.gamma, RMS_NORM_EPS)


class _GeluGate(_Weighted):
    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        return F.gelu(x + self.bias) * gate
