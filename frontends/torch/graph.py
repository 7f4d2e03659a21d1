"""Nodes of a torch.fx graph in ATen operations become a function of the array dialect."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.fx import Node
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute

from ...dialects.attributes import DIM_NAMES
from ...dialects.builder import Array, ArrayFunction, build
from ..shared.errors import Origin, Problem, Unsupported
from ..shared.graph import GraphBuilder
from .aten import CONVERTERS, Context, Symbols
from .aten.context import metas_of, op_name
from .types import ELEMENT_TYPES, tensor_type

_TORCH = os.path.dirname(torch.__file__) + os.sep


def origin_of(node: Node) -> Origin:
    """The operation, module and line of the model that a node comes from.

    The line is that of the innermost frame outside of torch: a user does not look inside of `nn.Linear`.
    """
    frames = re.findall(r'File "([^"]+)", line (\d+)', str(node.meta.get("stack_trace") or ""))
    own = [frame for frame in frames if not frame[0].startswith(_TORCH)] or frames
    file, line = own[-1] if own else ("", "0")
    paths = module_paths(node)
    name = op_name(node.target)
    return Origin(name if "::" in name else f"aten.{name}", paths[-1][0] if paths else "", file, int(line))


def module_paths(node: Node) -> list[tuple[str, str]]:
    """Path and class of the modules around a node, from the outermost one: `layers.0.mlp`, `Mlp`."""
    stack: Mapping[str, tuple[str, Any]] = node.meta.get("nn_module_stack") or {}
    found: list[tuple[str, str]] = []
    for path, kind in stack.values():
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
        found.append((_plain_path(path), name.rpartition(".")[2]))
    return found


def _plain_path(path: str) -> str:
    """`layers.0` for torch.compile's `L['self'].layers[0]` and for export's `layers.0`."""
    path = re.sub(r"^L\['\w+'\]\.?", "", path)
    path = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", path)
    return re.sub(r"\b_modules\.|_orig_mod\.", "", path).strip(".")


def is_number(node: Node) -> bool:
    """True for a node that gives an extent, or arithmetic of extents, and not a tensor."""
    numbers = int | float | bool | torch.SymInt | torch.SymFloat | torch.SymBool
    return isinstance(node.meta.get("val"), numbers)


def is_assertion(node: Node) -> bool:
    """True for a node without a result, as export's checks of shapes are."""
    return node.meta.get("val") is None and not node.users


@dataclass(frozen=True)
class Argument:
    """An argument of a function: the node whose value it takes, and its name in the program."""

    node: Node
    name: str


@dataclass(frozen=True)
class Imported:
    """A function made of nodes; with problems, it is not complete and must not run."""

    function: ArrayFunction
    problems: Sequence[Problem]
    failed: Collection[Node]
    """The nodes that could not be imported."""

    @property
    def module(self) -> ModuleOp:
        """The function in a module, verified."""
        return build(self.function)


def import_nodes(
    name: str, nodes: Sequence[Node], arguments: Sequence[Argument], outputs: Sequence[Node]
) -> Imported:
    """Import the calls among nodes as one function of the arguments; it returns the outputs.

    All nodes are tried, also after one that fails, as one does that reads a tensor which is no argument.
    """
    types = {argument.name: _type_of(argument.node) for argument in arguments}
    function = ArrayFunction(name, types)
    builder = _Nodes(GraphBuilder(function), Symbols(), {}, set())
    for argument, array in zip(arguments, function.arguments, strict=True):
        builder.define(argument.node, [array])
    _name_dims(function, [argument.node.meta["val"] for argument in arguments])
    for node in nodes:
        if node.op == "call_function" and not is_number(node) and not is_assertion(node):
            builder.visit(node)
    results = [builder.values[output] for output in outputs]
    function.returns(*[result for each in results for result in each if result is not None])
    return Imported(function, builder.graph.problems, builder.failed)


@dataclass
class _Nodes:
    """The values of nodes so far."""

    graph: GraphBuilder
    symbols: Symbols
    values: dict[Node, Sequence[Array | None]]
    failed: set[Node]

    def define(self, node: Node, arrays: Sequence[Array | None]) -> None:
        self.values[node] = arrays
        for meta, array in zip(metas_of(node), arrays, strict=True):
            if array is not None:
                self.symbols.learn(meta, array)

    def visit(self, node: Node) -> None:
        """Convert a node, or note why it cannot be."""
        if op_name(node.target) == "getitem":
            source, index = cast("tuple[Node, int]", node.args)
            self.define(node, [self.values[source][index]])
            if source in self.failed:
                self.failed.add(node)
            return
        expected = [tensor_type(meta) for meta in metas_of(node)]
        before = len(self.graph.problems)
        self.define(node, self._convert(node, expected))
        if len(self.graph.problems) > before:
            self.failed.add(node)

    def _convert(
        self, node: Node, expected: Sequence[TensorType[Attribute] | None]
    ) -> Sequence[Array | None]:
        origin, name = origin_of(node), op_name(node.target)
        converter = CONVERTERS.get(name)
        if converter is None:
            return self.graph.missing(origin, "there is no such operation in the array dialect", expected)
        for meta in metas_of(node):
            if isinstance(meta, torch.Tensor) and meta.dtype not in ELEMENT_TYPES:
                reason = f"it gives elements of {str(meta.dtype).removeprefix('torch.')}"
                return self.graph.missing(origin, reason, expected)
        context = Context(node, self.graph.function, self.symbols)
        return self.graph.convert(
            origin,
            expected,
            lambda: converter(
                context,
                *[self._argument(value) for value in node.args],
                **{key: self._argument(value) for key, value in node.kwargs.items() if key not in _IGNORED},
            ),
            name.partition(".")[0],
        )

    def _argument(self, value: Any) -> Any:
        """An array for a node with a tensor, a number for one with an extent, other things as they are."""
        if isinstance(value, Node):
            if is_number(value):
                return value.meta["val"]
            (array,) = self.values.get(value, (None,))
            if array is None:
                dtype = str(getattr(value.meta.get("val"), "dtype", "unknown")).removeprefix("torch.")
                raise Unsupported(f"its operand {value} has elements of {dtype}")
            return array
        if isinstance(value, list | tuple):
            return [self._argument(each) for each in cast("Sequence[Any]", value)]
        return value


_IGNORED = frozenset(("layout", "device", "pin_memory", "memory_format", "non_blocking"))
"""Keywords that say where elements lie, and not what they are."""


def _type_of(node: Node) -> TensorType[Attribute]:
    found = tensor_type(node.meta["val"])
    assert found is not None, f"{node} is no tensor of the dialect's types"
    return found


def _name_dims(function: ArrayFunction, metas: Sequence[Any]) -> None:
    """Give axes of equal symbolic extents the same name, which is torch's symbol."""
    attributes: list[DictionaryAttr] = []
    fixed = 0
    for meta in metas:
        names: list[str] = []
        for extent in meta.shape:
            fixed += 1
            plain = not isinstance(extent, int) and re.fullmatch(r"[A-Za-z_]\w*", str(extent))
            names.append(str(extent) if plain else f"d{fixed}")
        symbolic = any(not isinstance(extent, int) for extent in meta.shape)
        own = {DIM_NAMES: ArrayAttr([StringAttr(each) for each in names])} if symbolic else {}
        attributes.append(DictionaryAttr(own))
    if any(each.data for each in attributes):
        function.op.arg_attrs = ArrayAttr(attributes)
