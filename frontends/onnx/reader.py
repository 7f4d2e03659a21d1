"""ONNX files: read, checked, and their tensors as numpy arrays. No data leave the folder of the model.

A file can be truncated, made by a faulty exporter, or made to do harm. `read_model` reads nothing but
protobuf, and the checks here cover what the rest of the importer relies on; what they refuse is one
`ModelError`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from google.protobuf.message import DecodeError
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ..shared.errors import ModelError

FIRST_OPSET = 13
"""The first opset whose operators are imported; exporters have written later ones since 2021."""

LARGEST_FILE = 2**31 - 1
"""Bytes of a protobuf; larger models keep their weights in other files."""

TEXT = ".onnxtxt"
"""Ending of the names of files in ONNX's own text format, which is for small models and tests."""

ONNX_DOMAINS = ("", "ai.onnx")
"""The two spellings of ONNX's own domain."""

DTYPES: Mapping[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.BFLOAT16: onnx.helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16),
    TensorProto.BOOL: np.dtype(np.bool_),
    TensorProto.INT32: np.dtype(np.int32),
    TensorProto.INT64: np.dtype(np.int64),
}
"""The element types that arrays of a program can have."""


@dataclass(frozen=True)
class Declared:
    """An input or output of a graph: its dims as the file has them, and None where it does not say."""

    name: str
    dtype: int
    dims: tuple[int | str | None, ...] | None


@dataclass
class Model:
    """A model that was read: its graph, the opset of each domain, its functions, and where its data lie."""

    graph: GraphProto
    opsets: dict[str, int]
    functions: dict[tuple[str, str], FunctionProto]
    folder: Path | None
    """Folder of the file, in which external data may lie; None for a model that comes from no file."""
    name: str
    _arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict[str, Any])

    def array(self, tensor: TensorProto) -> np.ndarray[Any, Any]:
        """The elements of a tensor. Raises ModelError for one whose data are not what it declares."""
        return read_tensor(tensor, self.folder)


def read_model(source: str | os.PathLike[str] | bytes | ModelProto) -> Model:
    """Read a model from its path, its bytes, or the message itself. Raises ModelError."""
    folder = None
    name = "the model"
    if isinstance(source, ModelProto):
        proto = source
    else:
        if isinstance(source, bytes):
            data = source
        else:
            path = Path(source)
            name, folder, data = str(path), path.parent, _bytes_of(path)
        try:
            proto = _parsed(data, name.endswith(TEXT))
        except (DecodeError, UnicodeDecodeError, ValueError) as error:
            raise ModelError(f"{name} is no ONNX model, or it is truncated: {_line(error)}") from None
    if not proto.HasField("graph") or not (proto.graph.node or proto.graph.output):
        raise ModelError(f"{name} is no ONNX model, or it is truncated: it has no graph")
    texts: list[object] = [each.domain for each in (*proto.opset_import, *proto.functions)]
    if not all(isinstance(text, str) for text in texts):
        raise ModelError(f"{name} is no ONNX model: it has a name that is not UTF-8")
    opsets = {plain_domain(each.domain): each.version for each in proto.opset_import}
    newest = onnx.defs.onnx_opset_version()
    opset = opsets.get("", 0)
    if not FIRST_OPSET <= opset <= newest:
        found = f"opset {opset}" if opset else "no opset of ONNX's own operators"
        if opset or any(plain_domain(node.domain) == "" for node in proto.graph.node):
            raise ModelError(f"{name} has {found}, expected one from {FIRST_OPSET} to {newest}")
    functions = {(plain_domain(each.domain), each.name): each for each in proto.functions}
    model = Model(proto.graph, opsets, functions, folder, name)
    check_graph(proto.graph, set(), name)
    return model


def _parsed(data: bytes, is_text: bool) -> ModelProto:
    if is_text:
        try:
            return onnx.parser.parse_model(data.decode())
        except onnx.parser.ParseError as error:
            raise ValueError(str(error)) from None
    proto = ModelProto()
    proto.ParseFromString(data)
    return proto


def _bytes_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ModelError(f"{path} has more than {LARGEST_FILE} bytes, the most of an ONNX file")
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None


def plain_domain(domain: str) -> str:
    """A domain in one spelling: "" for ONNX's own."""
    return "" if domain in ONNX_DOMAINS else domain


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def described(node: NodeProto) -> str:
    """`MatMul '/encoder/layer.0/MatMul'`; a node without a name goes by its first output."""
    domain = "" if node.domain in ONNX_DOMAINS else f"{node.domain}."
    label = node.name or next((name for name in node.output if name), "")
    return f"{domain}{node.op_type} '{label}'" if label else f"{domain}{node.op_type}"


def check_graph(graph: GraphProto | FunctionProto, outer: set[str], where: str) -> None:
    """Check that each value is defined once, and before it is used. Raises ModelError."""
    known = set(outer)
    if not all(isinstance(text, str) for text in _texts(graph)):
        raise ModelError(f"{where} is no ONNX model: it has a name that is not UTF-8")
    if isinstance(graph, GraphProto):
        known |= {each.name for each in graph.input} | {each.name for each in graph.initializer}
        if graph.sparse_initializer:
            raise ModelError(f"{where} has sparse weights, expected dense ones")
        outputs = [each.name for each in graph.output]
    else:
        known |= set(graph.input)
        outputs = []  # a function leaves out outputs that its call does not use
    for node in graph.node:
        for name in node.input:
            if name and name not in known:
                raise ModelError(f"{where}: {described(node)} uses '{name}', which nothing before it defines")
        for name in node.output:
            if name and name in known:
                raise ModelError(f"{where}: {described(node)} defines '{name}', which is defined already")
            known.add(name)
    for name in outputs:
        if name not in known:
            raise ModelError(f"{where}: nothing defines the output '{name}'")


def _texts(graph: GraphProto | FunctionProto) -> Iterator[object]:
    """All names in a graph; protobuf gives bytes for one that is not UTF-8."""
    yield graph.name
    if isinstance(graph, GraphProto):
        for each in (*graph.input, *graph.output, *graph.initializer):
            yield each.name
            if isinstance(each, TensorProto):
                for entry in each.external_data:
                    yield from (entry.key, entry.value)
            else:
                yield from (dim.dim_param for dim in each.type.tensor_type.shape.dim)
    else:
        yield from (*graph.input, *graph.output, *graph.attribute)
    for node in graph.node:
        yield from (node.op_type, node.domain, node.name, *node.input, *node.output)
        for each in node.attribute:
            yield from (each.name, each.ref_attr_name)


def declared(graph: GraphProto, kind: str) -> list[Declared]:
    """The inputs or outputs (`kind`) of a graph. Raises ModelError for one that is no tensor."""
    found: list[Declared] = []
    for each in graph.input if kind == "input" else graph.output:
        if not each.type.HasField("tensor_type"):
            other = each.type.WhichOneof("value") or "no type"
            raise ModelError(f"{kind} '{each.name}' is of {other.replace('_', ' ')}, expected a tensor")
        tensor = each.type.tensor_type
        dims: tuple[int | str | None, ...] | None = None
        if tensor.HasField("shape"):
            dims = tuple(_dim(dim, f"{kind} '{each.name}'") for dim in tensor.shape.dim)
        found.append(Declared(each.name, tensor.elem_type, dims))
    return found


def _dim(dim: Any, where: str) -> int | str | None:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        if not 0 <= dim.dim_value < 2**31:
            raise ModelError(f"{where} has the extent {dim.dim_value}, expected one from 0 to {2**31 - 1}")
        return int(dim.dim_value)
    return (str(dim.dim_param) or None) if kind == "dim_param" else None


def type_name(dtype: int) -> str:
    """`float16` for a number of `TensorProto.DataType`."""
    try:
        return TensorProto.DataType.Name(dtype).lower()  # pyright: ignore[reportArgumentType]
    except ValueError:
        return f"number {dtype}"


def read_tensor(tensor: TensorProto, folder: Path | None) -> np.ndarray[Any, Any]:
    """The elements of a tensor; those of another file are mapped into memory. Raises ModelError."""
    what = f"tensor '{tensor.name}'"
    dtype = DTYPES.get(tensor.data_type)
    if dtype is None:
        known = ", ".join(type_name(each) for each in DTYPES)
        raise ModelError(f"{what} has elements of {type_name(tensor.data_type)}, expected one of {known}")
    shape = tuple(tensor.dims)
    if any(not 0 <= extent < 2**40 for extent in shape):
        raise ModelError(f"{what} has shape {list(shape)}, expected extents of at least 0")
    count = 1
    for extent in shape:
        count *= extent
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external(tensor, dtype, shape, count, folder)
    if tensor.HasField("raw_data"):
        size = len(tensor.raw_data)
        if size != count * dtype.itemsize:
            raise ModelError(
                f"{what} of shape {list(shape)} has {size} bytes, expected {count * dtype.itemsize}"
            )
        return (
            np.frombuffer(tensor.raw_data, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)
        )
    try:
        found = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(f"{what} of shape {list(shape)} cannot be read: {_line(error)}") from None
    return found


def _external(
    tensor: TensorProto, dtype: np.dtype[Any], shape: Sequence[int], count: int, folder: Path | None
) -> np.ndarray[Any, Any]:
    """Data of a file in the folder of the model, never of one outside: by `..`, by a link or by its root."""
    what = f"tensor '{tensor.name}'"
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise ModelError(f"{what} has its data in '{location}', but the model has no folder: give its path")
    path = _inside(folder, location)
    if path is None:
        raise ModelError(f"{what} has its data in '{location}', expected a file in the folder of the model")
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries.get("length", str(count * dtype.itemsize)))
    except ValueError:
        raise ModelError(f"{what} has an offset or a length that is no number") from None
    if length != count * dtype.itemsize or offset < 0:
        raise ModelError(
            f"{what} of shape {list(shape)} has {length} bytes from {offset} on, "
            f"expected {count * dtype.itemsize} bytes"
        )
    try:
        size = path.stat().st_size
        if offset + length > size:
            raise ModelError(f"{what} ends at byte {offset + length} of '{location}', which has {size} bytes")
        if count == 0:
            return np.zeros(shape, dtype)
        return np.memmap(path, dtype, "r", offset, tuple(shape))
    except OSError as error:
        raise ModelError(f"{what}: '{location}' cannot be read: {error.strerror}") from None


def _inside(folder: Path, location: str) -> Path | None:
    """The path of a file in the folder; None for anything else."""
    if not location or "\0" in location or Path(location).is_absolute():
        return None
    root = folder.resolve()
    path = (root / location).resolve()
    return path if path.is_relative_to(root) and path.is_file() else None


def attribute(value: AttributeProto, model: Model) -> Any:
    """An attribute as Python has it: numbers, text, lists, an array for a tensor, the message of a graph."""
    match value.type:
        case AttributeProto.TENSOR:
            return model.array(value.t)
        case AttributeProto.STRING:
            return value.s.decode("utf-8", "replace")
        case AttributeProto.STRINGS:
            return [each.decode("utf-8", "replace") for each in value.strings]
        case AttributeProto.INTS:
            return [int(each) for each in value.ints]
        case AttributeProto.FLOATS:
            return [float(each) for each in value.floats]
        case AttributeProto.INT:
            return int(value.i)
        case AttributeProto.FLOAT:
            return float(value.f)
        case AttributeProto.GRAPH:
            return value.g
        case _:
            raise ModelError(f"attribute '{value.name}' is of a kind that no supported operator has")
