"""OpenVINO: one stream, tuned for latency, results written to an array that exists.

The precision is that of the row: left to itself OpenVINO may choose bfloat16 for float32 graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset15 as ops

from .contenders import Case, Ready, aligned, fastest
from .workloads import DTYPES, LAYER_NORM_EPS, RMS_NORM_EPS, Array, visible

Node = Any


def ready(name: str, case: Case) -> Ready:
    """The fastest way to write a row; attention has several."""
    variants = ("heads", "batch", "matmul") if case.workload.kind == "attention" else ("graph",)
    return fastest(
        (variant, lambda variant=variant: _Graph(case, variant).compiled()) for variant in variants
    )


class _Graph:
    """A row as a graph of OpenVINO's operators."""

    def __init__(self, case: Case, variant: str):
        self.case, self.variant = case, variant
        self.is_bfloat16 = case.workload.dtype == "bf16"
        self.type = ov.Type.bf16 if self.is_bfloat16 else ov.Type.f32
        self.activations = {name: self.shown(array) for name, array in case.activations.items()}
        self.parameters = {
            name: ops.parameter(array.shape, self.type) for name, array in self.activations.items()
        }
        self.weights = {name: ov.op.Constant(self.tensor(array)) for name, array in case.weights.items()}
        self.axis = ov.op.Constant(ov.Type.i32, ov.Shape([1]), [-1])

    def shown(self, array: Array) -> Array:
        """Attention takes (batch, heads, rows, width); which of the two the heads are is a variant."""
        return {"heads": array[None], "batch": array[:, None]}.get(self.variant, array)

    def tensor(self, array: Array) -> ov.Tensor:
        if self.is_bfloat16:
            return ov.Tensor(array.view(np.uint16), array.shape, self.type)
        return ov.Tensor(array, shared_memory=True)

    def number(self, value: float) -> Node:
        return ov.op.Constant(self.type, ov.Shape([]), [value])

    def product(self, a: Node, b: Node, transposed: bool = False) -> Node:
        return ops.matmul(a, b, False, transposed)

    def rms_norm(self, x: Node) -> Node:
        squares = ops.reduce_mean(ops.power(x, self.number(2.0)), self.axis, True)
        scale = ops.divide(self.number(1.0), ops.sqrt(ops.add(squares, self.number(RMS_NORM_EPS))))
        return ops.multiply(ops.multiply(x, scale), self.weights["gamma"])

    def attention(self) -> Node:
        q, k, v = self.parameters.values()
        extents, causal = self.case.workload.extents, self.case.workload.causal
        seen = visible(extents["M"], extents["N"])
        if self.variant == "matmul":
            scores = ops.multiply(self.product(q, k, True), self.number(extents["D"] ** -0.5))
            if causal:
                mask = np.where(seen, 0, -1e30).astype(np.float32)[None]
                scores = ops.add(scores, ops.convert(ops.constant(mask), self.type))
            return self.product(ops.softmax(scores, -1), v)
        # The flag aligns to the upper left, which is the same where there are as many queries as keys.
        flag = causal and extents["M"] == extents["N"]
        mask = [ops.constant(seen[None, None])] if causal and not flag else []
        return ops.scaled_dot_product_attention(q, k, v, *mask, causal=flag)

    def layernorm_matmul(self) -> Node:
        w = self.weights
        normed = ops.mvn(self.parameters["x"], self.axis, True, LAYER_NORM_EPS, "inside_sqrt")
        scaled = ops.add(ops.multiply(normed, w["gamma"]), w["beta"])
        return ops.add(self.product(scaled, w["w"]), w["bias"])

    def swiglu(self) -> Node:
        w, y = self.weights, self.rms_norm(self.parameters["x"])
        opened = ops.swish(self.product(y, w["w_gate"]), self.number(1.0))
        return self.product(ops.multiply(opened, self.product(y, w["w_up"])), w["w_down"])

    def result(self) -> Node:
        kinds: dict[str, Callable[[], Node]] = {
            "attention": self.attention,
            "layernorm_matmul": self.layernorm_matmul,
            "swiglu": self.swiglu,
            "softmax": lambda: ops.softmax(self.parameters["x"], -1),
            "rms_norm": lambda: self.rms_norm(self.parameters["x"]),
            "gelu_gate": lambda: ops.multiply(
                ops.gelu(ops.add(self.parameters["x"], self.weights["bias"]), "erf"), self.parameters["gate"]
            ),
        }
        return kinds[self.case.workload.kind]()

    def compiled(self) -> Ready:
        hints = {
            "INFERENCE_NUM_THREADS": self.case.threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": self.case.workload.dtype,
        }
        model = ov.Model([self.result()], list(self.parameters.values()), "row")
        request = ov.Core().compile_model(model, "CPU", hints).create_infer_request()
        for index, array in enumerate(self.activations.values()):
            request.set_input_tensor(index, self.tensor(array))
        out = aligned(self.case.workload.result_shape, DTYPES[self.case.workload.dtype])
        request.set_output_tensor(0, self.tensor(self.shown(out)))

        def run() -> None:
            request.start_async()
            request.wait()

        return Ready(run, lambda _: out)
