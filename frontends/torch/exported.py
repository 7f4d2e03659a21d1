"""Programs of `torch.export`: made functional, with the operations kept that the array dialect has."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import Node
from xdsl.dialects.builtin import ModuleOp

from ...runtime.program.constants import declare_constants
from ..shared.errors import ModelError, Origin, Problem
from ..shared.graph import unique_names
from .graph import Argument, import_nodes, is_number
from .types import tensor_type

KEPT = frozenset(
    (
        *("linear", "matmul", "scaled_dot_product_attention", "conv1d", "conv2d", "dropout"),
        *("layer_norm", "rms_norm", "softmax", "silu", "gelu"),
    )
)
"""Operations that are not decomposed: the array dialect has them, or something nearer than their parts."""

MAIN = "main"
"""Name of the function of a whole program."""


def decompositions() -> dict[Any, Any]:
    """The table of core ATen's decompositions without the operations that are kept."""
    table = torch.export.default_decompositions()
    kept = [op for op in table if _plain_name(op) in KEPT]
    for op in kept:
        del table[op]
    return table


def _plain_name(op: Any) -> str:
    return op.name().partition("::")[2].partition(".")[0] if isinstance(op, OpOverload) else ""


def export(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], dims: Any
) -> ExportedProgram:
    """Export a module that is not training. Raises ModelError."""
    if module.training:
        raise ModelError(f"{type(module).__name__} is in training mode, expected a module after eval()")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(module, args, dict(kwargs), dynamic_shapes=dims, strict=False)
        except Exception as problem:
            text = str(problem).strip().partition("\n")[0]
            raise ModelError(f"torch.export cannot export {type(module).__name__}: {text}") from problem


@dataclass(frozen=True)
class Exported:
    """An exported program in functional form, and the tensors that it takes."""

    program: ExportedProgram

    @classmethod
    def of(cls, program: ExportedProgram) -> Exported:
        """Decompose a program. Raises ModelError for one that changes buffers or its inputs."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = cast("Any", program).run_decompositions(decompositions())
        changed = [
            Problem(Origin(spec.kind.name.lower()), f"the program changes '{spec.target}'")
            for spec in program.graph_signature.output_specs
            if spec.kind is not OutputKind.USER_OUTPUT
        ]
        if changed:
            raise ModelError(changed)
        return cls(program)

    @cached_property
    def nodes(self) -> list[Node]:
        """All nodes of the graph."""
        return list(self.program.graph_module.graph.nodes)

    @cached_property
    def weights(self) -> dict[Node, str]:
        """The model's names for placeholders that are parameters, buffers and constants."""
        kinds = {spec.arg.name: spec for spec in self.program.graph_signature.input_specs}
        return {
            node: str(kinds[node.name].target)
            for node in self.nodes
            if node.op == "placeholder" and kinds[node.name].kind is not InputKind.USER_INPUT
        }

    @cached_property
    def inputs(self) -> list[Node]:
        """The placeholders of what a caller gives, in order."""
        return [node for node in self.nodes if node.op == "placeholder" and node not in self.weights]

    @cached_property
    def outputs(self) -> list[Any]:
        """Nodes and constants that the program returns, in order."""
        (output,) = (node for node in self.nodes if node.op == "output")
        return list(cast("Sequence[Any]", output.args[0]))

    @property
    def output_nodes(self) -> list[Node]:
        """The nodes among the outputs."""
        return [output for output in self.outputs if isinstance(output, Node)]

    @cached_property
    def constant_inputs(self) -> dict[Node, Any]:
        """Inputs that are no tensors, such as None and True, with the values that they were exported with."""
        specs = [s for s in self.program.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
        return {
            node: spec.arg.value
            for node, spec in zip(self.inputs, specs, strict=True)
            if isinstance(spec.arg, ConstantArgument)
        }

    @cached_property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The smallest and largest extents of symbols that have a largest one."""
        found: dict[str, tuple[int, int]] = {}
        constraints: Mapping[Any, Any] = cast("Any", self.program).range_constraints
        for symbol, limits in constraints.items():
            if str(limits.upper).isdigit():
                found[str(symbol)] = (max(1, int(limits.lower)), int(limits.upper))
        return found

    def tensor(self, name: str) -> torch.Tensor:
        """A weight by its name; buffers that are not persistent are among the constants."""
        state = self.program.state_dict
        return state[name] if name in state else cast("torch.Tensor", self.program.constants[name])


def import_torch(program: ExportedProgram) -> ModuleOp:
    """Return an exported program as a function `main` of the array dialect.

    Its arguments are parameters, buffers and constants, declared `bb.constant`, then the inputs that the
    program reads; weights stay arguments. Operations carry the file and line of the model. int64 stays i64.

    Raises ModelError with all operations that cannot be imported, each with its module, file and line.
    """
    exported = Exported.of(program)
    read = [node for node in (*exported.weights, *exported.inputs) if node.users and not is_number(node)]
    problems = [
        Problem(Origin(f"argument {node.name}"), f"it has elements of {node.meta['val'].dtype}")
        for node in read
        if tensor_type(node.meta["val"]) is None
    ]
    if problems:
        raise ModelError(problems)
    names = unique_names([exported.weights.get(node, node.name) for node in read])
    arguments = [Argument(node, name) for node, name in zip(read, names, strict=True)]
    outputs = [node for node in exported.outputs if isinstance(node, Node) and not is_number(node)]
    imported = import_nodes(MAIN, exported.nodes, arguments, outputs)
    if imported.problems:
        raise ModelError(imported.problems)
    constants = [argument.name for argument in arguments if argument.node in exported.weights]
    declare_constants(imported.function.op, constants)
    return imported.module
