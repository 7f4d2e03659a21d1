"""`bb.import_onnx` and `bb.from_onnx`: an ONNX model as a program, and as a model that can be called."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute

from ...dialects.attributes import CONSTANT, DIM_NAMES
from ...dialects.builder import build
from ...dialects.diagnostics import did_you_mean
from ..functions import Library
from ..model import Layer, Model
from ..shared.errors import ModelError, Origin, Problem, Unsupported
from . import reader
from .boundary import NamedArrays, Output
from .building import FAILED, Input, Value
from .extents import Dims, Extent, ExtentLike, dim
from .graph import Importer
from .operators.table import TABLE

if TYPE_CHECKING:
    from ...runtime.api import CompileArguments

Source: TypeAlias = "str | os.PathLike[str] | bytes | ModelProto"
"""A model: its path, its bytes, or the message of protobuf."""

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Imported:
    """A program with what belongs to it."""

    module: ModuleOp
    inputs: Sequence[Input]
    outputs: Sequence[Output]
    weights: Mapping[str, Array]
    """The arrays for the program's other arguments, in order; views of the file where it holds them."""
    weight_names: Mapping[str, str]
    """The model's names of the weights, by argument."""


def import_onnx(
    source: Source,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, object] | None = None,
) -> ModuleOp:
    """Read an ONNX model as a program of the array dialect; `bb.import_onnx`.

    `source` is a path, the bytes of a file, or an `onnx.ModelProto`; opsets from 13 on. External data are
    read from the folder of the file alone. The program has one function, `main`: its arguments are the inputs
    of the model, and then its weights, which are declared `bb.constant`. `dims` gives numbers to named dims
    (`dim_param`); the others become `?`. `values` gives inputs that are the same in every call, such as the
    bounds of a slice: they are no arguments, and arithmetic on them is done now.

    Raises ModelError: for a file that is no model or is truncated, and with a line for each node that is not
    supported.
    """
    return imported(source, dims, values).module


def from_onnx(
    source: Source,
    dims: Mapping[str, int | Sequence[int]] | None = None,
    values: Mapping[str, object] | None = None,
    **options: Unpack[CompileArguments],
) -> Model:
    """Compile an ONNX model and bind its weights; `bb.from_onnx`.

    The result takes numpy arrays, as a dict by the names of the model's inputs, by keyword, or in order, and
    returns a dict by the names of its outputs. `source`, `dims` and `values` are those of `bb.import_onnx`; a
    dim may also have a range, `{"batch": (1, 8)}`, as in `bb.compile`, which takes the `options`.

    Raises ModelError, and what `bb.compile` raises.
    """
    start = time.perf_counter()
    given = dims or {}
    fixed = {name: extent for name, extent in given.items() if isinstance(extent, int)}
    ranges: Any = {name: extent for name, extent in given.items() if not isinstance(extent, int)}
    found = imported(source, fixed, values, ranges)
    seconds = {"import": time.perf_counter() - start}
    start = time.perf_counter()
    library = Library(dims=ranges or None, **options)
    function = library.function(found.module, list(found.weights))
    seconds["compile"] = time.perf_counter() - start
    takes = [each.argument for each in found.inputs if each.argument]
    gives = [f"result {number}" for number in range(len(found.outputs))]
    layer = Layer(function.name, function, dict(found.weight_names), takes, gives)
    weights = {found.weight_names[argument]: array for argument, array in found.weights.items()}
    boundary = NamedArrays(found.inputs, found.outputs, weights)
    return Model([layer], gives, boundary, weights, seconds=seconds)


def imported(
    source: Source,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, object] | None = None,
    ranges: Sequence[str] | Mapping[str, object] = (),
) -> Imported:
    """The program of a model, its inputs, outputs and weights. Raises ModelError."""
    model = reader.read_model(source)
    importer = Importer(model, TABLE)
    fixed, known = dims or {}, dict(values or {})
    weights = {each.name for each in model.graph.initializer}
    inputs: list[Input] = []
    scope: dict[str, Value | None] = {}
    names: set[str] = set()
    for each in reader.declared(model.graph, "input"):
        if each.name in weights:  # older exporters list weights as inputs with defaults
            continue
        own = _dims(each, fixed, names)
        if each.name in known:
            scope[each.name] = _given(each, own, known.pop(each.name))
            continue
        try:
            dtype = reader.DTYPES.get(each.dtype)
            if dtype is None:
                raise Unsupported(
                    f"it has elements of {reader.type_name(each.dtype)}, which arrays cannot have"
                )
            if 0 in own:
                if any(isinstance(extent, Extent) for extent in own):
                    raise Unsupported(f"its shape {list(own)} has no elements: fix its dims with dims=")
                scope[each.name] = Value(
                    known=np.zeros([int(extent) for extent in own if isinstance(extent, int)], dtype),
                    name=each.name,
                    computed=True,
                )
                inputs.append(Input(each.name, "", dtype, own))
                continue
            taken, scope[each.name] = importer.input(each.name, dtype, own)
            inputs.append(taken)
        except Unsupported as problem:
            importer.problems.append(Problem(Origin("input", each.name), str(problem)))
            scope[each.name] = FAILED
    for name in known:
        raise ModelError(f"{model.name} has no input '{name}'{did_you_mean(name, scope)}")
    for name in (*fixed, *ranges):
        if name not in names:
            listed = ", ".join(sorted(names)) or "none"
            raise ModelError(f"{model.name} has no dim '{name}'; its dims are: {listed}")
    return _finished(model, importer, inputs, scope)


def _finished(
    model: reader.Model, importer: Importer, inputs: list[Input], scope: dict[str, Value | None]
) -> Imported:
    importer.walk(model.graph, scope, {})
    results: list[Any] = []
    outputs: list[Output] = []
    for each in model.graph.output:
        value = scope[each.name]
        if value is None or value is FAILED:
            continue
        try:
            tensor = importer.tensor(value)
        except Unsupported as problem:
            importer.problems.append(Problem(Origin("output", each.name), str(problem)))
            continue
        results.append(tensor.array)
        outputs.append(Output(each.name))
    if importer.problems:
        raise ModelError(importer.problems)
    importer.function.returns(*results)
    _declare(importer, inputs)
    arguments = importer.weight_names
    return Imported(build(importer.function), inputs, outputs, importer.weights, arguments)


def _dims(each: reader.Declared, fixed: Mapping[str, int], names: set[str]) -> Dims:
    """The dims of an input: numbers, and a name of its own for an extent without one."""
    if each.dims is None:
        raise ModelError(f"input '{each.name}' has no shape, expected at least its rank")
    found: list[ExtentLike] = []
    for axis, extent in enumerate(each.dims):
        if isinstance(extent, int):
            found.append(extent)
            continue
        name = f"{each.name}_{axis}" if extent is None else extent
        names.add(name)
        if name in fixed:
            if fixed[name] < 0:
                raise ModelError(f"dim '{name}' is {fixed[name]}, expected at least 0")
            found.append(int(fixed[name]))
        else:
            found.append(dim(name))
    return tuple(found)


def _given(each: reader.Declared, dims: Dims, value: object) -> Value:
    """An input with a known value."""
    array = np.asarray(value)
    dtype = reader.DTYPES.get(each.dtype)
    if dtype is None:
        raise ModelError(
            f"input '{each.name}' has elements of {reader.type_name(each.dtype)}, expected numbers"
        )
    fits = len(dims) == array.ndim and all(
        isinstance(extent, Extent) or extent == own for extent, own in zip(dims, array.shape, strict=True)
    )
    if not fits or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ModelError(
            f"the value of input '{each.name}' has shape {list(array.shape)} and dtype {array.dtype}, "
            f"expected shape {list(dims)} and dtype {dtype}"
        )
    return Value(known=array.astype(dtype), name=each.name)


def _declare(importer: Importer, inputs: Sequence[Input]) -> None:
    """Declare the weights constant, and name the unknown extents of the inputs."""
    attributes: list[DictionaryAttr] = []
    by_argument = {each.argument: each for each in inputs}
    for value in importer.function.body.args:
        own: dict[str, Attribute] = {}
        taken = by_argument.get(value.name_hint or "")
        if taken is None:
            own[CONSTANT] = UnitAttr()
        elif any(isinstance(extent, Extent) for extent in taken.dims):
            own[DIM_NAMES] = ArrayAttr(StringAttr(_dim_name(extent)) for extent in taken.dims)
        attributes.append(DictionaryAttr(own))
    importer.function.op.arg_attrs = ArrayAttr(attributes)


def _dim_name(extent: ExtentLike) -> str:
    """The name of a dim; none for a number, and for what is no name."""
    if not isinstance(extent, Extent) or len(extent.dims) != 1:
        return ""
    return extent.dims[0]
