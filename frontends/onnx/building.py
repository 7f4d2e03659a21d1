"""Values of an ONNX graph, and the array function that they become.

A `Value` is known (a numpy array, possibly with `Extent`s as elements), an array of the program, or both: a
known value becomes an array when an operation asks for it. Small known values are then constants of the
program; larger ones are weights, arguments that a call binds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ...dialects import array
from ...dialects.array.sources import dense_splat
from ...dialects.builder import Array, ArrayFunction
from ...dialects.scalar_builder import ScalarBuilder
from ..shared import elementwise, views
from ..shared.errors import Unsupported
from ..shared.scalars import ARITHMETIC
from ..shared.scalars import converted as converted_scalar
from . import reader
from .extents import Dims, Extent, ExtentLike, broadcast_dims, dim, shape_from, tidy
from .folding import Known, is_symbolic
from .tensors import Tensor, part, with_axes

ELEMENTS: Mapping[np.dtype[Any], Attribute] = {
    reader.DTYPES[TensorProto.FLOAT]: f32,
    reader.DTYPES[TensorProto.DOUBLE]: f64,
    reader.DTYPES[TensorProto.FLOAT16]: f16,
    reader.DTYPES[TensorProto.BFLOAT16]: bf16,
    reader.DTYPES[TensorProto.BOOL]: i1,
    reader.DTYPES[TensorProto.INT32]: i32,
    reader.DTYPES[TensorProto.INT64]: i64,
}
DTYPE_OF: Mapping[Attribute, np.dtype[Any]] = {type: dtype for dtype, type in ELEMENTS.items()}

MOST_CONSTANT_ELEMENTS = 16
"""Known integers and truth values beyond this many are weights; of floats more than one are."""

RESERVED = frozenset({"out", "threads"})
"""Names of arguments that a call of an executable keeps for itself."""

Scalars: TypeAlias = Callable[..., SSAValue]
"""Writes a function of any number of scalars."""

Result: TypeAlias = "Value | Tensor | Array"
Operand: TypeAlias = "Value | Tensor | float"


class Value:
    """A value of the graph: known, an array of the program, or both."""

    def __init__(
        self,
        *,
        known: Known | None = None,
        tensor: Tensor | None = None,
        name: str = "",
        computed: bool = False,
    ):
        self.known = known
        self.tensor = tensor
        self.name = name
        """The name in the graph, for the argument that it may become."""
        self.computed = computed
        """True for the result of known arithmetic, which is no weight of the file."""

    @property
    def dims(self) -> Dims:
        if self.tensor is not None:
            return self.tensor.dims
        assert self.known is not None
        return self.known.shape

    @property
    def type(self) -> Attribute:
        """The type of the elements. Raises Unsupported for one that arrays do not have."""
        if self.tensor is not None:
            return self.tensor.type
        assert self.known is not None
        return i64 if self.known.dtype == object else element_type(self.known.dtype)

    @property
    def number(self) -> int | float | None:
        """The only element, if it is known."""
        if self.known is None or self.known.size != 1 or is_symbolic(self.known):
            return None
        return self.known.reshape(-1)[0].item()


FAILED = Value()
"""The results of a node that was recorded as a problem, or that depends on one."""


def element_type(dtype: np.dtype[Any]) -> Attribute:
    """The element type of arrays of a dtype. Raises Unsupported."""
    if (found := ELEMENTS.get(dtype)) is None:
        raise Unsupported(f"it has elements of {dtype}, which arrays cannot have")
    return found


@dataclass(frozen=True)
class Input:
    """An input of the model: its argument of the program, its dtype and dims."""

    name: str
    argument: str
    """The name of the argument; empty for an array without elements, which the program does not need."""
    dtype: np.dtype[Any]
    dims: Dims


class Builder:
    """An array function under construction, with the weights that are its last arguments."""

    def __init__(self, model: reader.Model, name: str = "main"):
        self.model = model
        self.function = ArrayFunction(name, {})
        self.weights: dict[str, Known] = {}
        self.weight_names: dict[str, str] = {}
        """The model's names of the weights, by the names of their arguments."""
        self._names: set[str] = set(RESERVED)
        self._sources: dict[Extent, tuple[Tensor, int]] = {}
        self._counted: dict[Extent, Tensor] = {}

    def argument(self, name: str, type: Attribute) -> Array:
        """A new last argument of the function."""
        label = self._argument_name(name)
        value = self.function.body.insert_arg(type, len(self.function.body.args))
        value.name_hint = label
        return Array(self.function, value)

    def _argument_name(self, name: str) -> str:
        label = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "value"
        label = re.sub(r"_+([0-9]+)$", r"\1", label)  # xDSL removes such an ending
        label = f"v{label}" if label[0].isdigit() else label
        fresh, number = label, 1
        while fresh in self._names:
            number += 1
            fresh = f"{label}_v{number}"
        self._names.add(fresh)
        return fresh

    def input(self, name: str, dtype: np.dtype[Any], dims: Dims) -> tuple[Input, Value]:
        """An input of the model as an argument."""
        value = self.argument(name, TensorType(element_type(dtype), shape_from(dims)))
        tensor = self.noted(Tensor.of(value, dims))
        label = value.value.name_hint
        assert label is not None
        return Input(name, label, dtype, dims), Value(tensor=tensor, name=name)

    def noted(self, tensor: Tensor) -> Tensor:
        """The tensor, remembered as the first one with its named extents."""
        for axis, extent in enumerate(tensor.dims):
            if isinstance(extent, Extent):
                self._sources.setdefault(extent, (tensor, axis))
        return tensor

    def tensor(self, value: Value) -> Tensor:
        """A value as an array of the program: a constant or a weight, if it is known."""
        if value.tensor is None:
            known = value.known
            assert known is not None
            if 0 in known.shape:
                raise Unsupported(f"its input '{value.name}' of shape {list(known.shape)} has no elements")
            if is_symbolic(known):
                value.tensor = self._symbolic(known)
            else:
                value.tensor = Tensor.of(self._constant(value, tidy(known)), known.shape)
        return value.tensor

    def _constant(self, value: Value, known: Known) -> Array:
        type = TensorType(element_type(known.dtype), list(known.shape))
        first: Any = known.item(0)
        if known.size == 1 or (value.computed and bool((known == first).all())):
            return self.function.apply(array.ConstantOp(dense_splat(type, first)))
        if known.dtype.kind not in "ib" or known.size > MOST_CONSTANT_ELEMENTS:
            argument = self.argument(value.name, type)
            label = argument.value.name_hint
            assert label is not None
            self.weights[label] = known
            self.weight_names[label] = value.name
            return argument
        values = [int(each) for each in known.reshape(-1)]
        from_list: Any = DenseIntOrFPElementsAttr.from_list
        return self.function.apply(array.ConstantOp(from_list(type, values)))

    def _symbolic(self, known: Known) -> Tensor:
        parts = [self.extent(each) for each in known.reshape(-1)]
        if not known.shape:
            return parts[0]
        vectors = [views.with_axis(each.array, 0) for each in parts]
        whole = views.reshaped(views.concatenated(vectors, 0), known.shape)
        return Tensor.of(whole, known.shape)

    def extent(self, extent: ExtentLike) -> Tensor:
        """An extent as an array of rank 0 with an element of type i64."""
        if not isinstance(extent, Extent):
            return Tensor.of(self.function.constant(extent, TensorType(i64, [])), ())
        if extent in self._sources:
            tensor, axis = self._sources[extent]
            return Tensor.of(self.function.apply(array.ExtentOp(tensor.array.value, axis, i64)), ())
        names = {name: self.extent(dim(name)) for name in extent.dims}
        if extent == dim(extent.dims[0]):
            raise Unsupported(f"no array has the extent '{extent}'")

        def polynomial(s: Any, *elements: Any) -> Any:
            values = dict(zip(names, elements, strict=True))
            total = s.constant(0, i64)
            for monomial, factor in extent.terms.items():
                term = s.constant(factor, i64)
                for name in monomial:
                    term = s.insert(ARITHMETIC["mul"].of(i64)(term, values[name]))
                total = s.insert(ARITHMETIC["add"].of(i64)(total, term))
            return total

        return self.pointwise(polynomial, list(names.values()), i64)

    def counted(self, extent: ExtentLike) -> Tensor:
        """The numbers 0, 1, ... below an extent, as a vector of type i64."""
        if not isinstance(extent, Extent):
            return Tensor.of(views.counted(self.function, extent, i64), (extent,))
        if extent not in self._counted:
            self._counted[extent] = self._count(extent)
        return self._counted[extent]

    def _count(self, extent: Extent) -> Tensor:
        if extent in self._sources:
            tensor, axis = self._sources[extent]
            like = tensor.array.value
            type = TensorType(i64, shape_from(tensor.dims))
            found = self.function.apply(array.IotaOp(axis, type, like=like))
            for other in range(tensor.rank):
                if other != axis:
                    found = views.part(found, other, 0, 1)
            return Tensor.of(views.reshaped(found, shape_from((extent,))), (extent,))
        fewer = -extent.terms.get((), 0)
        if fewer > 0:  # the last ones of those without the subtraction, moved to the front
            longer = part(self.counted(extent + fewer), 0, fewer, -1)
            return self.pointwise(_sum, [longer, float(-fewer)], i64)
        parts: list[Tensor] = []
        start: ExtentLike = 0
        for names, factor in extent.terms.items():
            if factor < 0 or (names and (factor, len(names)) != (1, 1)):
                raise Unsupported(f"no array has the extent '{extent}'")
            own = dim(names[0]) if names else factor
            counted = self.counted(own)
            parts.append(self.pointwise(_sum, [counted, self.extent(start)], i64))
            start = start + own
        if len(parts) == 1:
            raise Unsupported(f"no array has the extent '{extent}'")
        return Tensor.of(views.concatenated([each.array for each in parts], 0), (extent,))

    def expanded(self, x: Tensor, dims: Sequence[ExtentLike]) -> Tensor:
        """Repeated to the shape to which its own and `dims` broadcast, as ONNX's Expand."""
        wanted = broadcast_dims(x.dims, dims)
        if wanted == x.dims:
            return x
        missing: list[Tensor] = []
        for position, extent in enumerate(wanted):
            own = position - len(wanted) + x.rank
            if isinstance(extent, Extent) and (own < 0 or x.dims[own] == 1):
                rest = [axis for axis in range(len(wanted)) if axis != position]
                missing.append(with_axes(self.counted(extent), rest))
        if not missing:
            return Tensor.of(views.expanded(x.array, shape_from(wanted)), wanted)
        spread = self.function.elementwise(_first, x.array, *(each.array for each in missing))
        found = Tensor.of(spread, broadcast_dims(x.dims, *(each.dims for each in missing)))
        if found.dims == wanted:
            return found
        return Tensor.of(views.expanded(found.array, shape_from(wanted)), wanted)

    def pointwise(
        self,
        function: Scalars,
        operands: Sequence[Operand],
        compute: Attribute,
        result: Attribute | None = None,
    ) -> Tensor:
        """`function(scalars, *elements)` at each element; known numbers stand inside of the region.

        Operands are converted to the type `compute`, and the result to `result` (default: as it comes).
        """
        values = [each for each in operands if isinstance(each, Value | Tensor)]
        dims = broadcast_dims(*(each.dims for each in values))
        others = [len(each.dims) for each in values if isinstance(each, Tensor) or each.number is None]
        rank = max(others, default=-1)
        given: list[Array | float] = []
        for each in operands:
            if isinstance(each, Value):
                number = each.number
                if number is not None and len(each.dims) <= rank:
                    given.append(number)
                    continue
                each = self.tensor(each)
            given.append(each.array if isinstance(each, Tensor) else each)

        def region(s: ScalarBuilder, *elements: SSAValue) -> SSAValue:
            rest = iter(elements)
            scalars = [
                converted_scalar(s, next(rest), compute) if isinstance(x, Array) else s.constant(x, compute)
                for x in given
            ]
            found = function(s, *scalars)
            return found if result is None else converted_scalar(s, found, result)

        arrays = [x for x in given if isinstance(x, Array)]
        return Tensor.of(self.function.elementwise(region, *arrays), dims)

    def select(self, condition: Value, a: Value, b: Value) -> Tensor:
        """Elements of `a` where the condition holds, else of `b`; all broadcast."""
        dims = broadcast_dims(condition.dims, a.dims, b.dims)
        rank = max(len(each.dims) for each in (condition, a, b) if each.number is None or each is condition)

        def operand(each: Value) -> Array | float:
            number = each.number
            return self.tensor(each).array if number is None or len(each.dims) > rank else number

        holds = self.tensor(condition).array
        return Tensor.of(elementwise.where(holds, operand(a), operand(b), a.type), dims)

    def value(self, result: Result) -> Value:
        """A value of the graph of the result of a converter."""
        if isinstance(result, Value):
            return result
        if isinstance(result, Array):
            if None in result.shape:
                raise Unsupported("its result has an unknown extent")
            result = Tensor.of(result, tuple(extent or 0 for extent in result.shape))
        return Value(tensor=self.noted(result))


def _first(s: ScalarBuilder, a: SSAValue, *_: SSAValue) -> SSAValue:
    return a


def _sum(s: ScalarBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return s.insert(ARITHMETIC["add"].of(i64)(a, b))
