"""The backend of `torch.compile(model, backend="bb")`, which torch finds by its entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._guards import TracingContext
from torch.fx import GraphModule, Node

from ...runtime.errors import InputError
from ..functions import Library
from ..model import Model
from ..shared.errors import ModelError
from .compiled import GraphCompiler, value_of
from .recompose import recompose
from .types import as_array, as_tensor, tensor_type

OPTIONS = ("target", "fallback", "layers", "threads", "use_cache", "tune", "progress", "choose")
"""Names that `options` may have: those of `bb.from_torch` and `bb.compile`."""

LATEST: list[Model] = []
"""The models of the latest calls of torch.compile, one for each graph, for their reports."""

_MOST_KEPT = 64


def bb(
    graph: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compile a graph of torch.compile for inference; torch runs what cannot be compiled.

    `options` are those of `bb.from_torch`: `{"target": "cpu", "fallback": "error"}`. Weights are bound at the
    first call, and again when a tensor or its version changes. Raises InputError for other options, and
    ModelError for a graph that needs gradients.
    """
    if mode is not None:
        raise InputError(f"backend 'bb' has no mode {mode!r}, expected options instead")
    given = dict(options or {})
    if unknown := [name for name in given if name not in OPTIONS]:
        raise InputError(f"backend 'bb' has no option '{unknown[0]}'; there are: {', '.join(OPTIONS)}")

    def compile_inference(graph: GraphModule, inputs: Sequence[Any]) -> Any:
        return make_boxed_func(CompiledGraph(graph, given))

    return aot_autograd(fw_compiler=_refuse_training, inference_compiler=compile_inference)(
        graph, example_inputs
    )


def _refuse_training(graph: GraphModule, inputs: Sequence[Any]) -> Any:
    raise ModelError(
        "backend 'bb' is for inference: call the model under torch.no_grad() or inference_mode()"
    )


class CompiledGraph:
    """A functional graph, compiled: call it with the tensors and numbers of its placeholders."""

    def __init__(self, graph: GraphModule, options: dict[str, Any]):
        recompose(graph.graph)
        nodes = list(graph.graph.nodes)
        self._placeholders = [node for node in nodes if node.op == "placeholder"]
        target = options.setdefault("target", "cpu")
        _check_devices(self._placeholders, target)
        (output,) = (node for node in nodes if node.op == "output")
        self._outputs: list[Any] = list(cast("Sequence[Any]", output.args[0]))
        static = _static_inputs()
        weights = {
            node: node.name
            for index, node in enumerate(self._placeholders)
            if index in static and node.users and tensor_type(node.meta["val"]) is not None
        }
        self._positions = {node.name: self._placeholders.index(node) for node in weights}
        own = {name: options[name] for name in ("fallback", "layers", "threads") if name in options}
        library = Library(**{name: value for name, value in options.items() if name not in own})
        compiler = GraphCompiler(nodes, weights, library, views_by_torch=True, **own)
        wanted = [each for each in self._outputs if isinstance(each, Node)]
        compiled = compiler.compile(wanted)
        results = [weights.get(node) or value_of(node) for node in wanted]
        self.model = Model(
            compiled.steps, results, self, {}, problems=compiled.problems, seconds=compiled.seconds
        )
        LATEST[:] = [*LATEST, self.model][-_MOST_KEPT:]
        self._bound: dict[str, tuple[torch.Tensor, object]] = {}

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph; weights that have changed are bound first."""
        changed: dict[str, torch.Tensor] = {}
        for name, position in self._positions.items():
            tensor = inputs[position]
            before = self._bound.get(name)
            version = _version(tensor)
            if before is None or before[0] is not tensor or before[1] != version:
                changed[name] = tensor
                self._bound[name] = (tensor, version)
        if changed:
            self.model.bind(changed)
        return self.model(*inputs)

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the inputs of a call that are no weights."""
        return {
            value_of(node): as_array(value) if isinstance(value, torch.Tensor) else value
            for node, value in zip(self._placeholders, args, strict=True)
            if node.name not in self._positions
        }

    def results(self, arrays: Sequence[Any]) -> Any:
        """Return tensors with the strides that torch expects, and None where the graph gives none."""
        found = iter(arrays)
        return [_result(node, next(found)) if isinstance(node, Node) else node for node in self._outputs]

    def weight(self, name: str, value: Any) -> Any:
        """Return a weight as an array."""
        return as_array(value)


def _result(node: Node, value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    tensor, meta = as_tensor(value), node.meta["val"]
    strides = tuple(meta.stride())
    if all(isinstance(each, int) for each in strides) and tensor.stride() != strides:
        sized = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
        return sized.copy_(tensor)
    return tensor


def _version(tensor: torch.Tensor) -> object:
    """The number of changes of a tensor in place; tensors of inference mode count as changed at each call."""
    return object() if tensor.is_inference() else tensor._version  # pyright: ignore[reportPrivateUsage]


def _static_inputs() -> set[int]:
    """Positions of parameters and buffers among the placeholders, without those that the graph changes."""
    context = TracingContext.try_get()
    metadata: Any = None if context is None else context.fw_metadata
    if metadata is None:
        return set()
    changed = {index for index, info in enumerate(metadata.input_info) if info.mutates_data}
    return set(metadata.static_input_indices) - changed


def _check_devices(placeholders: Sequence[Node], target: str) -> None:
    on_gpu = target == "cuda"
    for node in placeholders:
        meta = node.meta.get("val")
        if isinstance(meta, torch.Tensor) and (meta.device.type == "cuda") != on_gpu:
            raise ModelError(f"'{node.name}' is on {meta.device.type}, and the target is '{target}'")
