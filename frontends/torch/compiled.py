"""Graphs of torch as steps of a model: each part imported and compiled, or left to torch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ...dialects.diagnostics import OpError, one_sentence
from ...lowering.pipelines import PassError
from ..functions import Library
from ..model import HostStep, Layer, Step
from ..shared.errors import ModelError, Problem
from ..shared.graph import unique_names, value_name
from .aten import VIEWS
from .aten.context import op_name
from .graph import Argument, import_nodes, is_number, origin_of
from .parts import Part, names_of_weights, split
from .types import as_array, as_tensor, tensor_type

Fallback: TypeAlias = Literal["torch", "error"]


def value_of(node: Node) -> str:
    """The name of a node's value in a model; weights go by the names that the original has for them."""
    return f"%{node.name}"


@dataclass(frozen=True)
class Steps:
    """The steps of a graph, and the operations that are not compiled."""

    steps: Sequence[Step]
    problems: Sequence[Problem]
    seconds: Mapping[str, float]


@dataclass
class GraphCompiler:
    """Compiles the parts of one graph."""

    nodes: Sequence[Node]
    weights: Mapping[Node, str]
    """The model's names for placeholders that are bound before calls."""
    library: Library
    fallback: Fallback = "torch"
    layers: bool = True
    threads: int | None = None
    views_by_torch: bool = False
    """True to leave parts that only move elements to torch, which needs no copy for most of them."""

    def compile(self, outputs: Iterable[Node]) -> Steps:
        """Compile what can be imported. Torch runs the rest; with fallback "error" there is a ModelError."""
        start = time.perf_counter()
        given = list(outputs)
        probed = self._probe()
        if probed.problems and self.fallback == "error":
            raise ModelError(probed.problems)
        parts = split(self.nodes, probed.failed, given, layers=self.layers)
        importing = time.perf_counter() - start
        problems = list(probed.problems)
        steps = [self._step(number, part, problems) for number, part in enumerate(parts)]
        seconds = {"import": importing, "compile": time.perf_counter() - start - importing}
        return Steps(steps, problems, seconds)

    def _probe(self) -> Any:
        """Import the whole graph, to see which nodes can be imported."""
        typed = [node for node in self.nodes if node.op == "placeholder" and tensor_type(node.meta["val"])]
        names = unique_names([node.name for node in typed])
        arguments = [Argument(node, name) for node, name in zip(typed, names, strict=True)]
        return import_nodes("probe", self.nodes, arguments, [])

    def _step(self, number: int, part: Part, problems: list[Problem]) -> Step:
        if not part.compiled or (self.views_by_torch and all(map(only_moves, part.nodes))):
            return host_step(part, self.weights)
        try:
            return self._layer(number, part)
        except (OpError, PassError) as problem:
            found = Problem(origin_of(part.nodes[0]), f"it is not compiled: {one_sentence(str(problem))}")
            if self.fallback == "error":
                raise ModelError([found]) from problem
            problems.append(found)
            return host_step(part, self.weights)

    def _layer(self, number: int, part: Part) -> Layer:
        weights = names_of_weights(part, self.weights)
        texts = [weights.get(node, "x") for node in part.inputs]
        names = dict(zip(part.inputs, unique_names(texts), strict=True))
        arguments = [Argument(node, name) for node, name in names.items()]
        name = value_name(part.kind) if part.kind else f"part{number}"
        imported = import_nodes(name, part.nodes, arguments, part.outputs)
        if imported.problems:
            raise ModelError(imported.problems)
        function = self.library.function(imported.module, [names[node] for node in weights])
        return Layer(
            part.layer or name,
            function,
            {names[node]: self.weights[node] for node in weights},
            [value_of(node) for node in part.inputs if node not in weights],
            [value_of(node) for node in part.outputs],
            self.threads,
        )


def only_moves(node: Node) -> bool:
    """True for a node that computes nothing."""
    return (name := op_name(node.target)) in VIEWS or name in ("clone.default", "alias.default", "getitem")


def host_step(part: Part, weights: Mapping[Node, str]) -> HostStep:
    """A step in which torch runs the nodes of a part."""

    def run(*values: Any) -> list[Any]:
        known: dict[Node, Any] = {
            node: value if isinstance(value, int | float) else as_tensor(value)
            for node, value in zip(part.inputs, values, strict=True)
        }
        with torch.no_grad():
            for node in part.nodes:
                args, kwargs = map_arg((node.args, node.kwargs), known.__getitem__)
                known[node] = node.target(*args, **kwargs)  # pyright: ignore
        return [known[node] if is_number(node) else as_array(known[node]) for node in part.outputs]

    takes = [weights.get(node) or value_of(node) for node in part.inputs]
    return HostStep(run, takes, [value_of(node) for node in part.outputs])
