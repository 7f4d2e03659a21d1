"""Small ONNX models, written as exporters write them: decomposed norms, shapes computed from shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


class GraphOf:
    """A graph under construction: `node` appends a node and returns the name of its first output."""

    def __init__(self, dtype: Any = np.float32, seed: int = 0):
        self.dtype = np.dtype(dtype)
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.number = 0

    @property
    def element(self) -> int:
        return helper.np_dtype_to_tensor_dtype(self.dtype)

    def input(self, name: str, dims: Sequence[int | str | None] | None, element: int | None = None) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, element or self.element, dims))
        return name

    def output(self, value: str, name: str = "result") -> None:
        self.node("Identity", value, outputs=[name])
        self.outputs.append(helper.make_tensor_value_info(name, self.element, None))

    def fresh(self, text: str) -> str:
        self.number += 1
        return f"{text}_{self.number}"

    def node(
        self, operator: str, *inputs: str, outputs: Sequence[str] = (), name: str = "", **attributes: Any
    ) -> str:
        """Append a node; attributes that are None are left out."""
        outputs = list(outputs) or [self.fresh(f"/{operator}_output")]
        given = {key: value for key, value in attributes.items() if value is not None}
        node = helper.make_node(operator, list(inputs), outputs, name or self.fresh(f"/{operator}"), **given)
        self.nodes.append(node)
        return outputs[0]

    def weight(self, name: str, array: Any) -> str:
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def random(self, name: str, *shape: int, scale: float = 1.0) -> str:
        return self.weight(name, (scale * self.rng.standard_normal(shape)).astype(self.dtype))

    def scalar(self, value: float) -> str:
        return self.weight(self.fresh("constant"), np.asarray(value, self.dtype))

    def integers(self, *values: int) -> str:
        return self.weight(self.fresh("integers"), np.asarray(values, np.int64))

    def integer(self, value: int) -> str:
        return self.weight(self.fresh("integer"), np.asarray(value, np.int64))

    def model(self, opset: int = 17, **more: Any) -> ModelProto:
        graph = helper.make_graph(self.nodes, "main", self.inputs, self.outputs, self.initializers)
        imports = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10, **more)


def layer_norm(g: GraphOf, x: str, name: str, width: int) -> str:
    """A layer norm of mean, difference, power and root."""
    scale = g.weight(f"{name}.weight", (1 + 0.1 * g.rng.standard_normal(width)).astype(g.dtype))
    shift = g.random(f"{name}.bias", width, scale=0.1)
    centred = g.node("Sub", x, g.node("ReduceMean", x, axes=[-1]))
    variance = g.node("ReduceMean", g.node("Pow", centred, g.scalar(2)), axes=[-1])
    deviation = g.node("Sqrt", g.node("Add", variance, g.scalar(1e-5)))
    return g.node("Add", g.node("Mul", g.node("Div", centred, deviation), scale), shift)


def linear(g: GraphOf, x: str, name: str, width: int, result: int) -> str:
    product = g.node("MatMul", x, g.random(f"{name}.weight", width, result, scale=width**-0.5))
    return g.node("Add", g.random(f"{name}.bias", result, scale=0.1), product)


def gelu(g: GraphOf, x: str) -> str:
    """x * 0.5 * (1 + erf(x / sqrt 2))."""
    phi = g.node("Add", g.node("Erf", g.node("Div", x, g.scalar(2**0.5))), g.scalar(1))
    return g.node("Mul", g.node("Mul", x, phi), g.scalar(0.5))


def extent(g: GraphOf, x: str, axis: int) -> str:
    """An extent as a vector of one element, by Shape, Gather and Unsqueeze."""
    return g.node("Unsqueeze", g.node("Gather", g.node("Shape", x), g.integer(axis)), g.integers(0))


def heads(g: GraphOf, x: str, count: int, size: int) -> str:
    """`[B, S, H * D]` as `[B, H, S, D]`, the shape computed from that of `x`."""
    batch, length = extent(g, x, 0), extent(g, x, 1)
    shape = g.node("Concat", batch, length, g.integers(count), g.integers(size), axis=0)
    return g.node("Transpose", g.node("Reshape", x, shape), perm=[0, 2, 1, 3])


def attention(g: GraphOf, x: str, mask: str, name: str, width: int, count: int) -> str:
    """Attention of products, a division, the mask's sum, and softmax."""
    size = width // count
    q, k, v = (heads(g, linear(g, x, f"{name}.{each}", width, width), count, size) for each in "qkv")
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.node("Add", g.node("Div", scores, g.scalar(size**0.5)), mask)
    found = g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
    turned = g.node("Transpose", found, perm=[0, 2, 1, 3])
    shape = g.node("Concat", extent(g, turned, 0), extent(g, turned, 1), g.integers(width), axis=0)
    return linear(g, g.node("Reshape", turned, shape), f"{name}.output", width, width)


def encoder_layer(g: GraphOf, x: str, mask: str, name: str, width: int, count: int, inner: int) -> str:
    x = layer_norm(
        g, g.node("Add", attention(g, x, mask, f"{name}.attention", width, count), x), f"{name}.norm1", width
    )
    hidden = linear(g, gelu(g, linear(g, x, f"{name}.up", width, inner)), f"{name}.down", inner, width)
    return layer_norm(g, g.node("Add", hidden, x), f"{name}.norm2", width)


def encoder(
    layers: int = 1,
    width: int = 32,
    count: int = 4,
    words: int = 50,
    dtype: Any = np.float32,
    opset: int = 17,
) -> ModelProto:
    """A sentence encoder of the BERT family, with symbolic batch and length, as torch.onnx writes it."""
    g = GraphOf(dtype)
    ids = g.input("input_ids", ["batch", "length"], TensorProto.INT64)
    mask = g.input("attention_mask", ["batch", "length"], TensorProto.INT64)
    table = g.random("embeddings.word.weight", words, width)
    places = g.weight("embeddings.position_ids", np.arange(64, dtype=np.int64)[None])
    length = extent(g, ids, 1)
    own = g.node("Slice", places, g.integers(0), length, g.integers(1))
    positions = g.node("Gather", g.random("embeddings.position.weight", 64, width), own)
    x = g.node("Add", g.node("Gather", table, ids), positions)
    x = layer_norm(g, x, "embeddings.norm", width)
    spread = g.node("Unsqueeze", g.node("Unsqueeze", mask, g.integers(1)), g.integers(2))
    hidden = g.node("Sub", g.scalar(1), g.node("Cast", spread, to=g.element))
    bias = g.node("Mul", hidden, g.scalar(-10000.0))
    for number in range(layers):
        x = encoder_layer(g, x, bias, f"layer.{number}", width, count, 2 * width)
    g.output(x, "last_hidden_state")
    return g.model(opset)


def encoder_inputs(batch: int = 2, length: int = 7, words: int = 50) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    mask = np.ones((batch, length), np.int64)
    mask[-1, length - 3 :] = 0
    return {"input_ids": rng.integers(0, words, (batch, length)), "attention_mask": mask}
