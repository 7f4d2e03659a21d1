"""Nodes as their converters see them: inputs, attributes, and the builder of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from onnx import NodeProto
from xdsl.ir import Attribute, SSAValue

from ...dialects.builder import ArrayFunction
from ...dialects.scalar_builder import ScalarBuilder
from ..shared.errors import Unsupported
from ..shared.scalars import Binary, Unary
from . import reader
from .building import Builder, Operand, Result, Scalars, Value
from .definitions import defaults
from .extents import Dims, as_dims
from .folding import Known, is_symbolic
from .tensors import Tensor

OF_NO_EFFECT = frozenset({"stash_type", "saturate", "round_mode", "seed", "momentum", "overload"})
"""Attributes that change no result here: statistics are kept in f32, and all modes are those of inference."""

Ternary: TypeAlias = Callable[[ScalarBuilder, SSAValue, SSAValue, SSAValue], SSAValue]

Convert: TypeAlias = "Callable[[Node], Result | Sequence[Result] | None]"
"""Gives the outputs of a node; None where the operator's own definition is to be used."""


class Node:
    """One node for its converter: inputs, attributes, and what the converters build with."""

    def __init__(
        self, builder: Builder, proto: NodeProto, inputs: Sequence[Value | None], attributes: dict[str, Any]
    ):
        self.builder = builder
        self.proto = proto
        self.inputs = inputs
        self.attributes = attributes
        self._read: set[int] = set()
        self._asked: set[str] = set()

    @property
    def function(self) -> ArrayFunction:
        return self.builder.function

    @property
    def opset(self) -> int:
        """The version of the operators of the node's domain."""
        return self.builder.model.opsets.get(reader.plain_domain(self.proto.domain), 1)

    def attribute(self, name: str, default: Any = None) -> Any:
        self._asked.add(name)
        return self.attributes.get(name, default)

    def check_all_read(self) -> None:
        """Raise Unsupported for an input or an attribute of which the converter knows nothing."""
        unknown = self.attributes.keys() - self._asked - OF_NO_EFFECT
        known = defaults(self.proto, self.builder.model) if unknown else {}
        for name in sorted(unknown):
            if self.attributes[name] != known.get(name):
                raise Unsupported(f"its attribute '{name}' is not supported")
        for position, value in enumerate(self.inputs):
            if value is not None and position not in self._read:
                raise Unsupported(f"its input {position} is not supported")

    def has(self, position: int) -> bool:
        """True if an optional input is given."""
        self._read.add(position)
        return position < len(self.inputs) and self.inputs[position] is not None

    def wants(self, position: int) -> bool:
        """True if an optional output is used."""
        return position < len(self.proto.output) and bool(self.proto.output[position])

    def value(self, position: int) -> Value:
        self._read.add(position)
        value = self.inputs[position] if position < len(self.inputs) else None
        if value is None:
            raise Unsupported(f"its input {position} is missing")
        return value

    def tensor(self, position: int) -> Tensor:
        """An input as an array of the program."""
        return self.builder.tensor(self.value(position))

    def optional(self, position: int) -> Tensor | None:
        return self.tensor(position) if self.has(position) else None

    def known(self, position: int, what: str) -> Known:
        """An input that has to be known at import. Raises Unsupported where it is not."""
        found = self.value(position).known
        if found is None:
            raise Unsupported(
                f"its {what} are computed at run time, expected known ones: fix them with values="
            )
        return found

    def numbers(self, position: int, what: str) -> list[int]:
        """Known integers, without names of extents."""
        found = self.known(position, what)
        if is_symbolic(found):
            raise Unsupported(f"its {what} {list(found.reshape(-1))} depend on unknown extents")
        return [int(each) for each in found.reshape(-1)]

    def extents(self, position: int, what: str) -> Dims:
        return as_dims(self.known(position, what))

    def axes(self, position: int = 1) -> list[int] | None:
        """The axes: an input, or an attribute in earlier opsets; None where neither is given."""
        return self.numbers(position, "axes") if self.has(position) else self.attribute("axes")

    @overload
    def pointwise(
        self, function: Unary, a: Operand, /, *, compute: Attribute, result: Attribute | None = None
    ) -> Tensor: ...
    @overload
    def pointwise(
        self,
        function: Binary,
        a: Operand,
        b: Operand,
        /,
        *,
        compute: Attribute,
        result: Attribute | None = None,
    ) -> Tensor: ...
    @overload
    def pointwise(
        self,
        function: Ternary,
        a: Operand,
        b: Operand,
        c: Operand,
        /,
        *,
        compute: Attribute,
        result: Attribute | None = None,
    ) -> Tensor: ...
    @overload
    def pointwise(
        self, function: Scalars, /, *operands: Operand, compute: Attribute, result: Attribute | None = None
    ) -> Tensor: ...
    def pointwise(
        self, function: Scalars, /, *operands: Operand, compute: Attribute, result: Attribute | None = None
    ) -> Tensor:
        """A scalar function at each element of operands that broadcast; see `Builder.pointwise`."""
        return self.builder.pointwise(function, operands, compute, result)
