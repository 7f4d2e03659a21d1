"""The walk over an ONNX graph: each node becomes known values or operations of an array function.

A node that is not supported is recorded with its reason, and what depends on it is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import FunctionProto, GraphProto, NodeProto, TypeProto
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.utils.exceptions import VerifyException

from ...dialects.builder import Array
from ...dialects.diagnostics import OpError
from ..shared.errors import Origin, Problem, Unsupported
from . import reader
from .building import DTYPE_OF, FAILED, Builder, Value
from .definitions import defaults, definition, with_attributes
from .extents import Extent, product, tidy
from .folding import Known, fold
from .nodes import Convert, Node
from .tensors import Tensor

DEEPEST_CALL = 20
"""Functions of the model that call each other, at most."""


MALFORMED = (KeyError, IndexError, TypeError, ValueError, OverflowError, ZeroDivisionError, AttributeError)
"""Errors of converters about nodes that no exporter writes, such as attributes of other types."""


class Importer(Builder):
    """Converts nodes with a table of converters, by domain and operator, and collects problems."""

    def __init__(self, model: reader.Model, table: Mapping[tuple[str, str], Convert]):
        super().__init__(model)
        self.table = table
        self.problems: list[Problem] = []
        self._steps = 0
        self._depth = 0

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
        results: Sequence[Value] = []
        if not any(name and values[name] is FAILED for name in node.input):
            try:
                results = self._results(node, values, outer)
                if len(results) < sum(map(bool, node.output)):
                    raise Unsupported("it has more outputs than are supported")
            except (Unsupported, VerifyException, OpError) as problem:
                self.problems.append(Problem(_origin(node), " ".join(str(problem).split())))
            except MALFORMED as problem:
                reason = f"its inputs and attributes do not fit ({type(problem).__name__}: {problem})"
                self.problems.append(Problem(_origin(node), " ".join(reason.split())))
        results = [*results, *[FAILED] * (len(node.output) - len(results))]
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
        types = [_type_proto(each) for each in inputs]
        body = definition(with_attributes(node, attributes), self.model, types)
        if body is None:
            raise Unsupported("the operator is not supported")
        return self._call(body, inputs, {**defaults(node, self.model), **attributes}, len(node.output))

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


def _constant(attributes: Mapping[str, Any]) -> Known:
    """The value of a Constant node."""
    for name, dtype in (("value", None), ("value_float", np.float32), ("value_floats", np.float32)):
        if name in attributes:
            return np.asarray(attributes[name], dtype)
    for name in ("value_int", "value_ints"):
        if name in attributes:
            return np.asarray(attributes[name], np.int64)
    raise Unsupported("its value is neither a tensor nor numbers")


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
