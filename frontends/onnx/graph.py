"""The walk over an ONNX graph: each node becomes known values or operations of an array function.

A `Value` is known (a numpy array, possibly with `Extent`s as elements), an array of the program, or both: a
known value becomes an array when an operation asks for it. Small known values are then constants of the
program; larger ones are weights, arguments that a call binds. A node that is not supported is recorded with
its reason, and what depends on it is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, overload

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    StringAttr,
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
from xdsl.utils.exceptions import VerifyException

import onnx
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto

from ...dialects import array
from ...dialects.array.sources import dense_splat
from ...dialects.builder import Array, ArrayFunction
from ...dialects.diagnostics import OpError
from ...dialects.scalar_builder import ScalarBuilder
from ..shared import elementwise, views
from ..shared.errors import Origin, Problem, Unsupported
from ..shared.scalars import ARITHMETIC, Binary, Unary
from ..shared.scalars import converted as converted_scalar
from . import reader
from .extents import Dims, Extent, ExtentLike, as_dims, broadcast_dims, dim, product, shape_from, tidy
from .folding import fold, is_symbolic
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

DEEPEST_CALL = 20
"""Functions of the model that call each other, at most."""

OF_NO_EFFECT = frozenset({"stash_type", "saturate", "round_mode", "seed", "momentum", "overload"})
"""Attributes that change no result here: statistics are kept in f32, and all modes are those of inference."""

RESERVED = frozenset({"out", "threads"})
"""Names of arguments that a call of an executable keeps for itself."""

Ternary: TypeAlias = Callable[[ScalarBuilder, SSAValue, SSAValue, SSAValue], SSAValue]
Scalars: TypeAlias = Callable[..., SSAValue]
"""Writes a function of any number of scalars."""

Known: TypeAlias = np.ndarray[Any, Any]
Result: TypeAlias = "Value | Tensor | Array"
Operand: TypeAlias = "Value | Tensor | float"
Convert: TypeAlias = "Callable[[Node], Result | Sequence[Result] | None]"
"""Gives the outputs of a node; None where the operator's own definition is to be used."""


class Value:
    """A value of the graph: known, an array of the program, or both."""

    def __init__(
        self,
        *,
        known: np.ndarray[Any, Any] | None = None,
        tensor: Tensor | None = None,
        name: str = "",
        computed: bool = False,
    ):
        self.known = known
        self.tensor = tensor
        self.name = name
        """How the graph calls it, for the argument that it may become."""
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


def _first(s: ScalarBuilder, a: SSAValue, *_: SSAValue) -> SSAValue:
    return a


def _sum(s: ScalarBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return s.insert(ARITHMETIC["add"].of(i64)(a, b))


FAILED = Value()
"""What a node computes that was recorded as a problem, or that depends on one."""


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


class Node:
    """One node for its converter: inputs, attributes, and what the converters build with."""

    def __init__(
        self, importer: Importer, proto: NodeProto, inputs: Sequence[Value | None], attributes: dict[str, Any]
    ):
        self.importer = importer
        self.proto = proto
        self.inputs = inputs
        self.attributes = attributes
        self._read: set[int] = set()
        self._asked: set[str] = set()

    @property
    def function(self) -> ArrayFunction:
        return self.importer.function

    @property
    def opset(self) -> int:
        """The version of the operators of the node's domain."""
        return self.importer.opsets.get(reader.plain_domain(self.proto.domain), 1)

    def attribute(self, name: str, default: Any = None) -> Any:
        self._asked.add(name)
        return self.attributes.get(name, default)

    def check_all_read(self) -> None:
        """Raise Unsupported for an input or an attribute of which the converter knows nothing."""
        unknown = self.attributes.keys() - self._asked - OF_NO_EFFECT
        defaults = self.importer.defaults(self.proto) if unknown else {}
        for name in sorted(unknown):
            if self.attributes[name] != defaults.get(name):
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
        return self.importer.tensor(self.value(position))

    def optional(self, position: int) -> Tensor | None:
        return self.tensor(position) if self.has(position) else None

    def known(self, position: int, what: str) -> np.ndarray[Any, Any]:
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
        """A scalar function at each element of operands that broadcast; see `Importer.pointwise`."""
        return self.importer.pointwise(function, operands, compute, result)


class Importer:
    """An array function under construction, and what is known of the graph's values."""

    def __init__(self, model: reader.Model, table: Mapping[tuple[str, str], Convert], name: str = "main"):
        self.model = model
        self.table = table
        self.opsets = model.opsets
        self.function = ArrayFunction(name, {})
        self.weights: dict[str, np.ndarray[Any, Any]] = {}
        self.weight_names: dict[str, str] = {}
        """The model's names of the weights, by the names of their arguments."""
        self.problems: list[Problem] = []
        self._names: set[str] = set(RESERVED)
        self._sources: dict[Extent, tuple[Tensor, int]] = {}
        self._counted: dict[Extent, Tensor] = {}
        self._steps = 0
        self._depth = 0

    # Values

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

    def _constant(self, value: Value, known: np.ndarray[Any, Any]) -> Array:
        type = TensorType(element_type(known.dtype), list(known.shape))
        flat = known.reshape(-1)
        first: Any = flat[0].item()
        if known.size == 1 or (value.computed and bool((flat == flat[0]).all())):
            return self.function.apply(array.ConstantOp(dense_splat(type, first)))
        if known.dtype.kind not in "ib" or known.size > MOST_CONSTANT_ELEMENTS:
            argument = self.argument(value.name, type)
            label = argument.value.name_hint
            assert label is not None
            self.weights[label] = known
            self.weight_names[label] = value.name
            return argument
        values = [int(each) for each in flat]
        dense: Any = DenseIntOrFPElementsAttr.from_list(type, values)  # pyright: ignore
        return self.function.apply(array.ConstantOp(dense))

    def _symbolic(self, known: np.ndarray[Any, Any]) -> Tensor:
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
        """What a converter gives as a value of the graph."""
        if isinstance(result, Value):
            return result
        if isinstance(result, Array):
            if None in result.shape:
                raise Unsupported("its result has an unknown extent")
            result = Tensor.of(result, tuple(extent or 0 for extent in result.shape))
        return Value(tensor=self.noted(result))

    # Nodes

    def walk(
        self,
        graph: GraphProto | FunctionProto,
        values: dict[str, Value | None],
        attributes: Mapping[str, Any],
    ) -> None:
        """Convert the nodes of a graph in order. A value is None where it is left out, or `FAILED`.

        `attributes` are those of the node that calls a function, to which its nodes refer.
        """
        if isinstance(graph, GraphProto):
            for tensor in graph.initializer:
                if tensor.name not in values:
                    values[tensor.name] = Value(known=self.model.array(tensor), name=tensor.name)
        for node in graph.node:
            self._convert(node, values, attributes)

    def _convert(self, node: NodeProto, values: dict[str, Value | None], outer: Mapping[str, Any]) -> None:
        self._steps += 1
        last = self.function.body.last_op
        results: Sequence[Value] = [FAILED] * len(node.output)
        if not any(name and values[name] is FAILED for name in node.input):
            try:
                results = self._results(node, values, outer)
                if len(results) < sum(map(bool, node.output)):
                    raise Unsupported("it has more outputs than are supported")
            except (Unsupported, VerifyException, OpError) as problem:
                reason = " ".join(str(problem).split())
                self.problems.append(Problem(_origin(node), reason))
                results = [FAILED] * len(node.output)
        for name, result in zip(node.output, results, strict=False):
            if name:
                values[name] = result
                result.name = result.name or name
        added = self.function.body.first_op if last is None else last.next_op
        here = FileLineColLoc(StringAttr(self.model.name), IntAttr(self._steps), IntAttr(1))
        while added is not None:
            added.location = here
            added = added.next_op

    def _results(
        self, node: NodeProto, values: dict[str, Value | None], outer: Mapping[str, Any]
    ) -> list[Value]:
        attributes: dict[str, Any] = {}
        for each in node.attribute:
            if each.ref_attr_name:
                if each.ref_attr_name in outer:
                    attributes[each.name] = outer[each.ref_attr_name]
            else:
                attributes[each.name] = reader.attribute(each, self.model)
        inputs = [values[name] if name else None for name in node.input]
        domain = reader.plain_domain(node.domain)
        if domain == "" and node.op_type == "Constant":
            return [Value(known=_constant(attributes))]
        if domain == "" and node.op_type == "If":
            return self._branch(node, inputs[0], attributes, values)
        if domain == "" and node.op_type == "Shape" and inputs[0] is not None:
            dims = np.empty(len(inputs[0].dims), dtype=object)
            dims[:] = inputs[0].dims
            chosen = dims[slice(attributes.get("start", 0), attributes.get("end"))]
            return [Value(known=tidy(chosen), computed=True)]
        if domain == "" and node.op_type == "Size" and inputs[0] is not None:
            count = np.empty((), dtype=object)
            count[()] = product(inputs[0].dims)
            return [Value(known=tidy(count), computed=True)]
        if domain == "" and node.op_type == "Identity" and inputs[0] is not None:
            return [inputs[0]]
        operator = node.op_type
        if domain == "" and operator == "CastLike" and inputs[0] is not None and inputs[1] is not None:
            operator, attributes = (
                "Cast",
                {"to": onnx.helper.np_dtype_to_tensor_dtype(DTYPE_OF[inputs[1].type])},
            )
            inputs = inputs[:1]
        if domain == "" and all(each is None or each.known is not None for each in inputs):
            known = [None if each is None else each.known for each in inputs]
            folded = fold(operator, known, {**attributes, "outputs": len(node.output)})
            if folded is not None:
                return [Value(known=each, computed=True) for each in folded]
        if (convert := self.table.get((domain, operator))) is not None:
            own = Node(self, node, inputs, attributes)
            found = convert(own)
            if found is not None:
                own.check_all_read()
                several = [found] if isinstance(found, Value | Tensor | Array) else found
                return [self.value(each) for each in several]
        body = self._body(_with_attributes(node, attributes), inputs)
        if body is None:
            raise Unsupported("the operator is not supported")
        return self._call(body, inputs, {**self.defaults(node), **attributes}, len(node.output))

    def defaults(self, node: NodeProto) -> dict[str, Any]:
        """The attributes that an operator of ONNX has where a node does not give them."""
        try:
            schema = onnx.defs.get_schema(node.op_type, self.opsets.get("", 1), node.domain)
        except onnx.defs.SchemaError:
            return {}
        found = ((name, each.default_value) for name, each in schema.attributes.items())
        return {name: reader.attribute(value, self.model) for name, value in found if value.name}

    def _branch(
        self,
        node: NodeProto,
        condition: Value | None,
        attributes: Mapping[str, Any],
        values: dict[str, Value | None],
    ) -> list[Value]:
        """The results of the branch that a known condition takes."""
        if condition is None or condition.number is None:
            raise Unsupported("its condition is computed at run time, expected one known at import")
        graph = attributes["then_branch" if condition.number else "else_branch"]
        reader.check_graph(graph, set(values), f"a branch of {reader.described(node)}")
        inner = dict(values)
        self.walk(graph, inner, {})
        return [inner[each.name] or FAILED for each in graph.output]

    def _body(self, node: NodeProto, inputs: Sequence[Value | None]) -> FunctionProto | None:
        """The function that defines a node: one of the model, or that of ONNX's own standard."""
        domain = reader.plain_domain(node.domain)
        own = self.model.functions.get((domain, node.op_type))
        if own is not None or domain != "":
            return own
        try:
            schema: Any = onnx.defs.get_schema(node.op_type, self.opsets[""], "")
        except onnx.defs.SchemaError:
            return None
        if schema.has_function:
            return schema.function_body
        if not schema.has_context_dependent_function:
            return None
        types = [_type_proto(each) for each in inputs]
        version: int | None = max(
            (each for each in schema.context_dependent_function_opset_versions if each <= self.opsets[""]),
            default=None,
        )
        if version is None:
            return None
        text = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [each.SerializeToString() for each in types]
        )
        body = FunctionProto()
        body.ParseFromString(text)
        return body

    def _call(
        self,
        body: FunctionProto,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Any],
        count: int,
    ) -> list[Value]:
        """The results of a function: its nodes converted where it is called."""
        if self._depth == DEEPEST_CALL:
            raise Unsupported(f"functions call each other more than {DEEPEST_CALL} deep")
        reader.check_graph(body, set(), f"function '{body.name}'")
        given = {each.name: reader.attribute(each, self.model) for each in body.attribute_proto}
        padded = [*inputs, *[None] * len(body.input)]
        values: dict[str, Value | None] = dict(zip(body.input, padded, strict=False))
        self._depth += 1
        outer, self.problems = self.problems, []
        try:
            self.walk(body, values, {**given, **attributes})
            if self.problems:
                raise Unsupported("inside of its function, " + "; ".join(map(str, self.problems)))
        finally:
            self._depth -= 1
            self.problems = outer
        return [values.get(name) or FAILED for name in list(body.output)[:count]]


def _constant(attributes: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """The value of a Constant node."""
    for name, dtype in (("value", None), ("value_float", np.float32), ("value_floats", np.float32)):
        if name in attributes:
            return np.asarray(attributes[name], dtype)
    for name in ("value_int", "value_ints"):
        if name in attributes:
            return np.asarray(attributes[name], np.int64)
    raise Unsupported("its value is neither a tensor nor numbers")


def _with_attributes(node: NodeProto, attributes: Mapping[str, Any]) -> NodeProto:
    """A node without references to the attributes of the function in which it stands."""
    if not any(each.ref_attr_name for each in node.attribute):
        return node
    resolved = NodeProto()
    resolved.CopyFrom(node)
    del resolved.attribute[:]
    for name, value in attributes.items():
        if isinstance(value, np.ndarray):
            value = onnx.numpy_helper.from_array(cast("Known", value))
        resolved.attribute.append(onnx.helper.make_attribute(name, value))
    return resolved


def _origin(node: NodeProto) -> Origin:
    domain = reader.plain_domain(node.domain)
    label = node.name or next((name for name in node.output if name), "")
    return Origin(f"{domain}.{node.op_type}" if domain else node.op_type, label)


def _type_proto(value: Value | None) -> TypeProto:
    """The type of a value as ONNX writes it; that of an input that is left out is empty."""
    proto = TypeProto()
    if value is not None:
        proto.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(DTYPE_OF[value.type])
        for extent in value.dims:
            one = proto.tensor_type.shape.dim.add()
            if isinstance(extent, Extent):
                one.dim_param = str(extent)
            else:
                one.dim_value = extent
        if not value.dims:
            proto.tensor_type.shape.SetInParent()
    return proto
