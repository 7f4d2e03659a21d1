"""Arguments and results of exported programs: torch's trees of tensors, checked against what was exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node
from torch.utils import _pytree as pytree

from ...runtime.errors import InputError
from .compiled import value_of
from .exported import Exported
from .types import as_array, as_tensor


class TorchBoundary:
    """Takes and gives what the exported program takes and gives."""

    def __init__(self, exported: Exported):
        spec = exported.program.call_spec
        self._in_spec: Any = spec.in_spec
        self._out_spec: Any = spec.out_spec
        self._inputs = exported.inputs
        self._constants = exported.constant_inputs
        self._outputs = exported.outputs
        self._weights = exported.weights
        self._tensors = {name: exported.tensor(name) for name in exported.weights.values()}
        self._ranges = exported.ranges
        self.results_taken = [
            self._weights.get(output) or value_of(output) for output in exported.output_nodes
        ]
        """Names of the values that the model has to give as results."""

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the tensors of a call as arrays, by the names of values. Raises InputError."""
        leaves, spec = pytree.tree_flatten((args, self._ordered(kwargs)))
        if spec != self._in_spec:
            raise InputError(f"the model takes {self._signature()}, got {_counted(args, kwargs)}")
        values: dict[str, Any] = {}
        extents: dict[str, int] = {}
        for node, leaf in zip(self._inputs, leaves, strict=True):
            if node in self._constants:
                if leaf != self._constants[node]:
                    raise InputError(
                        f"argument '{node.name}' is {leaf!r}, expected {self._constants[node]!r}, "
                        "with which the model was exported"
                    )
                continue
            self._check(node, leaf, extents)
            values[value_of(node)] = as_array(leaf) if isinstance(leaf, torch.Tensor) else leaf
        return values

    def _ordered(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Keywords in the order of the export."""
        expected: list[str] = self._in_spec.children()[1].context or []
        return {name: kwargs[name] for name in (*expected, *kwargs) if name in kwargs}

    def _check(self, node: Node, leaf: Any, extents: dict[str, int]) -> None:
        meta = node.meta["val"]
        if not isinstance(meta, torch.Tensor):
            return
        if not isinstance(leaf, torch.Tensor):
            raise InputError(
                f"argument '{node.name}' is of type {type(leaf).__name__}, expected {_shown(meta)}"
            )
        fits = leaf.dtype == meta.dtype and len(leaf.shape) == len(meta.shape)
        if not fits or not all(map(self._fits, meta.shape, leaf.shape, [extents] * len(leaf.shape))):
            raise InputError(
                f"argument '{node.name}' is {_shown(leaf)}, expected {self._expected(meta, extents)}"
            )

    def _fits(self, expected: Any, found: int, extents: dict[str, int]) -> bool:
        if isinstance(expected, int):
            return expected == found
        name = str(expected)
        low, high = self._ranges.get(name, (0, found))
        return low <= found <= high and extents.setdefault(name, found) == found

    def _expected(self, meta: torch.Tensor, extents: Mapping[str, int]) -> str:
        text = _shown(meta)
        for name, (low, high) in self._ranges.items():
            if name in text:
                text += f" with {name} from {low} to {high}"
        known = [f"{name} = {extent}" for name, extent in extents.items() if name in text]
        return f"{text}, where {' and '.join(known)}" if known else text

    def _signature(self) -> str:
        inputs = [f"{n.name}: {_shown(n.meta['val'])}" for n in self._inputs if n not in self._constants]
        return f"({', '.join(inputs)})"

    def results(self, arrays: Sequence[Any]) -> Any:
        """Return results as the original does: tensors in its tree of lists, tuples and dicts."""
        found = iter(arrays)
        leaves = [_result(next(found)) if isinstance(each, Node) else each for each in self._outputs]
        return pytree.tree_unflatten(leaves, self._out_spec)

    def weight(self, name: str, value: Any) -> Any:
        """Return a weight as an array. Raises InputError for another shape or dtype."""
        expected = self._tensors[name]
        same = isinstance(value, torch.Tensor) and (value.shape, value.dtype) == (
            expected.shape,
            expected.dtype,
        )
        if not same:
            raise InputError(f"weight '{name}' is {_shown(value)}, expected {_shown(expected)}")
        return as_array(value)


def _result(value: Any) -> Any:
    return value if isinstance(value, int | float) else as_tensor(value)


def _shown(value: Any) -> str:
    """`float32[2, 7]` for a tensor, the type's name for anything else."""
    if not isinstance(value, torch.Tensor):
        return f"of type {type(value).__name__}"
    return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"


def _counted(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    given = [_shown(each) for each in args] + [f"{name}: {_shown(each)}" for name, each in kwargs.items()]
    return f"({', '.join(given)})"
