"""Definitions of operators: functions of the model, and those that ONNX's standard gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import FunctionProto, NodeProto, TypeProto

from .folding import Known
from .reader import Model, attribute, plain_domain


def defaults(node: NodeProto, model: Model) -> dict[str, Any]:
    """The attributes that an operator of ONNX has where a node does not give them."""
    try:
        schema = onnx.defs.get_schema(node.op_type, model.opsets.get("", 1), node.domain)
    except onnx.defs.SchemaError:
        return {}
    found = ((name, each.default_value) for name, each in schema.attributes.items())
    return {name: attribute(value, model) for name, value in found if value.name}


def definition(node: NodeProto, model: Model, types: Sequence[TypeProto]) -> FunctionProto | None:
    """The function that defines a node on inputs of these types; None if there is none."""
    domain = plain_domain(node.domain)
    own = model.functions.get((domain, node.op_type))
    if own is not None or domain != "":
        return own
    opset = model.opsets[""]
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, opset, "")
    except onnx.defs.SchemaError:
        return None
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    versions: list[int] = schema.context_dependent_function_opset_versions
    version = max((each for each in versions if each <= opset), default=None)
    if version is None:
        return None
    text = schema.get_context_dependent_function_with_opset_version(
        version, node.SerializeToString(), [each.SerializeToString() for each in types]
    )
    body = FunctionProto()
    body.ParseFromString(text)
    return body


def with_attributes(node: NodeProto, attributes: Mapping[str, Any]) -> NodeProto:
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
