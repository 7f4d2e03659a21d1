"""The node that a converter converts: its types, the function, and arrays that have its extents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import torch
from torch._ops import OpOverload
from torch.fx import Node
from xdsl.ir import Attribute

from ....dialects.array import DYNAMIC, element_type_of, shape_of
from ....dialects.builder import Array, ArrayFunction
from ...shared.elementwise import pointwise
from ...shared.errors import Unsupported
from ...shared.views import counted, expanded, filled, first_of, part, reshaped
from ..types import element_type, extents

Converter: TypeAlias = Callable[..., "Array | Sequence[Array | None]"]


@dataclass
class Symbols:
    """Arrays that have the extents which torch knows by symbols, to take them from."""

    _sources: dict[str, tuple[Array, int]] = field(default_factory=dict[str, "tuple[Array, int]"])

    def learn(self, meta: Any, array: Array) -> None:
        """Note the symbolic extents of an array."""
        if isinstance(meta, torch.Tensor):
            shape = cast("Sequence[Any]", meta.shape)
            for axis, extent in enumerate(shape):
                if not isinstance(extent, int):
                    self._sources.setdefault(_text(extent), (array, axis))

    def line(self, extent: Any) -> Array:
        """An array of one axis that has a symbolic extent; its elements mean nothing. Raises Unsupported."""
        found = self._sources.get(_text(extent))
        if found is None:
            raise Unsupported(f"no array has its extent {extent}")
        array, axis = found
        for other in range(len(shape_of(array.value))):
            if other != axis:
                array = part(array, other, 0, 1)
        return reshaped(array, [DYNAMIC])


def _text(extent: Any) -> str:
    return str(cast("Any", extent).node.expr) if isinstance(extent, torch.SymInt) else str(extent)


def same_extent(a: Any, b: Any) -> bool:
    """True if two extents of torch are known to be equal, without a guard on symbols."""
    return _text(a) == _text(b)


def metas_of(node: Node) -> list[Any]:
    """The fake tensors that torch has for all results of a node."""
    meta = node.meta.get("val")
    return list(cast("Sequence[Any]", meta)) if isinstance(meta, tuple | list) else [meta]


@dataclass(frozen=True)
class Context:
    """The node that is converted, and the function to which its operations are appended."""

    node: Node
    function: ArrayFunction
    symbols: Symbols

    @property
    def meta(self) -> Any:
        """The fake tensor that torch has for the result, or a tuple of them."""
        return self.node.meta["val"]

    @property
    def metas(self) -> list[Any]:
        """The fake tensors of all results."""
        return metas_of(self.node)

    @property
    def type(self) -> Attribute:
        """The element type of the result. Raises Unsupported."""
        return element_type(self.metas[0].dtype)

    @property
    def shape(self) -> list[int]:
        """The shape of the result."""
        return extents(self.metas[0].shape)

    @property
    def op(self) -> str:
        """The name of the operation: `add.Tensor`."""
        return op_name(self.node.target)

    def operand(self, index: int) -> Any:
        """The fake tensor of an argument, or the argument itself."""
        argument = self.node.args[index]
        return argument.meta["val"] if isinstance(argument, Node) else argument

    def filled(self, value: float) -> Array:
        """An array of the result's shape and type with one value everywhere."""
        shape = self.metas[0].shape
        if DYNAMIC not in self.shape:
            return filled(self.function, self.shape, self.type, value)
        ones = filled(self.function, [1] * len(shape), self.type, value)
        return self.broadcast(ones)

    def broadcast(self, x: Array) -> Array:
        """An array repeated to the result's shape, also along axes of unknown extent."""
        meta = self.metas[0]
        target, rank = self.shape, len(self.shape)
        own = [1] * (rank - len(shape_of(x.value))) + list(shape_of(x.value))
        x = reshaped(x, own)
        for axis, (extent, wanted) in enumerate(zip(own, target, strict=True)):
            if extent == 1 and wanted == DYNAMIC:
                line = self.symbols.line(meta.shape[axis])
                line = reshaped(line, [DYNAMIC if i == axis else 1 for i in range(rank)])
                x = self.function.elementwise(first_of, x, line)
        return expanded(x, target)

    def counted(self, extent: Any, type: Attribute, start: float = 0, step: float = 1) -> Array:
        """`start + step * i` for each i below an extent, which may be symbolic."""
        if isinstance(extent, int):
            return counted(self.function, extent, type, start, step)
        return counted(self.function, self.symbols.line(extent), type, start, step)

    def same(self, x: Array) -> Array:
        """An array, its elements converted to the result's type."""
        source = element_type_of(x.value)
        return x if source == self.type else pointwise(lambda s, a: a, (x,), source, self.type)


def op_name(target: Any) -> str:
    """`add.Tensor` for `torch.ops.aten.add.Tensor`; with its namespace for others than ATen's."""
    if isinstance(target, OpOverload):
        namespace, _, name = target.name().partition("::")
        name = name if "." in name else f"{name}.default"
        return name if namespace == "aten" else f"{namespace}.{name}"
    return str(getattr(target, "__name__", target))
