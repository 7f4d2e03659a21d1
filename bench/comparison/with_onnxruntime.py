"""ONNX Runtime: weights as initialisers, which it packs; inputs and the result bound to arrays that exist."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from .contenders import Case, Ready, aligned, fastest
from .workloads import DTYPES, LAYER_NORM_EPS, RMS_NORM_EPS, Array, visible

LARGE = 2**20
"""Initialisers of more bytes are passed beside the model, which may have at most 2 GiB."""


def ready(name: str, case: Case) -> Ready:
    """The fastest way to write a row; attention has several."""
    variants = ("mha", "attention", "matmul") if case.workload.kind == "attention" else ("graph",)
    return fastest(
        (variant, lambda variant=variant: _Graph(case, variant).compiled()) for variant in variants
    )


class _Graph:
    """A row as nodes of ONNX and of ONNX Runtime's own domain."""

    def __init__(self, case: Case, variant: str):
        self.case, self.variant = case, variant
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = dict(case.weights)
        self._names = count()

    def node(
        self, kind: str, *inputs: str, out: str | None = None, domain: str = "", **attributes: Any
    ) -> str:
        name = out or f"value{next(self._names)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def shown(self, array: Array) -> Array:
        """Attention takes a batch of 1, but for the operator that has heads in the last axis."""
        return array[None] if self.case.workload.kind == "attention" and self.variant != "mha" else array

    def attention(self) -> None:
        extents, causal = self.case.workload.extents, self.case.workload.causal
        # The flag aligns to the upper left, which is the same where there are as many queries as keys.
        flag = causal and extents["M"] == extents["N"]
        masked = causal and (not flag or self.variant == "matmul")
        if masked:
            seen = visible(extents["M"], extents["N"])
            least = np.finfo(np.float32).min
            self.constants["mask"] = np.where(seen, 0, least).astype(np.float32)[None, None]
        mask = ["mask"] if masked else []
        match self.variant:
            case "mha":
                extra = ["", "", *mask] if mask else []
                names = ["q", "k", "v", *extra]
                settings = {"domain": "com.microsoft", "num_heads": 1, "unidirectional": int(flag)}
                self.node("MultiHeadAttention", *names, out="out", **settings)
            case "attention":
                self.node("Attention", "q", "k", "v", *mask, out="out", is_causal=int(flag))
            case _:
                self.constants["scale"] = np.asarray(extents["D"] ** -0.5, np.float32)
                turned = self.node("Transpose", "k", perm=[0, 1, 3, 2])
                scores = self.node("Mul", self.node("MatMul", "q", turned), "scale")
                scores = self.node("Add", scores, "mask") if masked else scores
                self.node("MatMul", self.node("Softmax", scores, axis=-1), "v", out="out")

    def layernorm_matmul(self) -> None:
        normed = self.node("LayerNormalization", "x", "gamma", "beta", epsilon=LAYER_NORM_EPS)
        self.node("Add", self.node("MatMul", normed, "w"), "bias", out="out")

    def rms_norm(self, out: str | None = None) -> str:
        return self.node("SimplifiedLayerNormalization", "x", "gamma", out=out, epsilon=RMS_NORM_EPS, axis=-1)

    def swiglu(self) -> None:
        y = self.rms_norm()
        gate = self.node("MatMul", y, "w_gate")
        opened = self.node("Mul", gate, self.node("Sigmoid", gate))
        hidden = self.node("Mul", opened, self.node("MatMul", y, "w_up"))
        self.node("MatMul", hidden, "w_down", out="out")

    def build(self) -> None:
        kinds: dict[str, Callable[[], object]] = {
            "attention": self.attention,
            "layernorm_matmul": self.layernorm_matmul,
            "swiglu": self.swiglu,
            "softmax": lambda: self.node("Softmax", "x", out="out", axis=-1),
            "rms_norm": lambda: self.rms_norm("out"),
            "gelu_gate": lambda: self.node(
                "Mul", self.node("Gelu", self.node("Add", "x", "bias")), "gate", out="out"
            ),
        }
        kinds[self.case.workload.kind]()

    def model(self, result: Array) -> onnx.ModelProto:
        def value(name: str, array: Array) -> Any:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shown(array).shape)

        self.build()
        small = [
            numpy_helper.from_array(array, name)
            for name, array in self.constants.items()
            if array.nbytes <= LARGE
        ]
        graph = helper.make_graph(
            self.nodes,
            "row",
            [value(name, array) for name, array in self.case.activations.items()],
            [value("out", result)],
            small,
        )
        for name, array in self.large().items():
            tensor = TensorProto(
                name=name, data_type=TensorProto.FLOAT, dims=array.shape, data_location=TensorProto.EXTERNAL
            )
            for key, text in (("location", name), ("offset", "0"), ("length", str(array.nbytes))):
                tensor.external_data.add(key=key, value=text)
            graph.initializer.append(tensor)
        opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=11)

    def large(self) -> dict[str, Array]:
        return {name: array for name, array in self.constants.items() if array.nbytes > LARGE}

    def compiled(self) -> Ready:
        out = aligned(self.case.workload.result_shape, DTYPES["f32"])
        model = self.model(out)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.case.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(a) for name, a in self.large().items()}
        if values:
            options.add_external_initializers(list(values), list(values.values()))
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        binding = session.io_binding()
        for name, array in self.case.activations.items():
            value = onnxruntime.OrtValue.ortvalue_from_numpy(self.shown(array))
            binding.bind_ortvalue_input(name, value)
        result = onnxruntime.OrtValue.ortvalue_from_numpy(self.shown(out))
        binding.bind_ortvalue_output("out", result)

        def run() -> None:
            session.run_with_iobinding(binding)

        def read(_: object) -> Array:
            assert values.keys() == self.large().keys()  # the session reads them where they are
            return result.numpy().reshape(out.shape)

        return Ready(run, read)
