"""Arrays for the arguments of a function: their names, their extents, and random values for those not
given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.utils.hints import isa

from ...dialects import block
from ...dialects.array import (
    DYNAMIC,
    BroadcastOp,
    GatherElementsOp,
    GatherOp,
    MatmulOp,
    ReshapeOp,
    TransposeOp,
    shape_of,
    shape_text,
)
from ...dialects.attributes import DIM_NAMES
from ...dialects.diagnostics import did_you_mean
from ...dialects.scalar import is_float
from ...passes.analysis.extents import equal_extents, given_extents
from ..arrays.dtypes import BFLOAT16, Array, numpy_dtype, to_dtype
from ..errors import InputError


@dataclass(frozen=True)
class Argument:
    """One argument of a function: its name, its shape with `DYNAMIC` for `?`, and the dims of its axes.

    The dims are those that `bb.dims` or a `block.partition` names: none if nothing does, several if an axis
    is a product.
    """

    function: str
    name: str
    shape: tuple[int, ...]
    element_type: Attribute
    dims: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        number = self.name.isdecimal()
        return f"argument {self.name if number else f'%{self.name}'} of '{self.function}'"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The dtype of the argument in the program's own types."""
        return numpy_dtype(self.element_type)


def value_names(values: Sequence[SSAValue]) -> list[str]:
    """A name for each value: its own, or its position where it has none or shares it with another."""
    hints = [value.name_hint for value in values]
    return [
        hint if hint is not None and hints.count(hint) == 1 else str(position)
        for position, hint in enumerate(hints)
    ]


def result_names(function: FuncOp) -> list[str]:
    """A name for each result: that of the value that is returned, or its position (see `value_names`)."""
    last = function.body.block.last_op
    return value_names(last.operands) if last is not None else []


def arguments_of(function: FuncOp) -> list[Argument]:
    """The arguments of a function. Raises InputError where one is no array."""
    own = function.sym_name.data
    found: list[Argument] = []
    values = function.body.block.args
    for position, (name, value) in enumerate(zip(value_names(values), values, strict=True)):
        if not isa(value.type, TensorType[Attribute]):
            raise InputError(f"argument {name} of '{own}' has type {value.type}, only arrays can be given")
        shape = value.type.get_shape()
        dims = _dims(function, position, len(shape))
        found.append(Argument(own, name, shape, value.type.element_type, dims))
    return found


def _dims(function: FuncOp, position: int, rank: int) -> tuple[tuple[str, ...], ...]:
    if function.arg_attrs is not None:
        wanted = function.arg_attrs.data[position].data.get(DIM_NAMES)
        if isa(wanted, ArrayAttr[StringAttr]) and len(wanted) == rank:
            return tuple(tuple(part.strip() for part in name.data.split("*")) for name in wanted)
    for use in function.body.block.args[position].uses:
        if isinstance(use.operation, block.PartitionOp):
            return tuple(tuple(dim.data for dim in axis) for axis in use.operation.axes)
    return ((),) * rank


def extents_by_name(functions: Sequence[FuncOp]) -> set[str]:
    """The names by which unknown extents of the arguments can be given: `q.0`, and dims such as `M`."""
    names: set[str] = set()
    for function in functions:
        for argument in arguments_of(function):
            for axis, extent in enumerate(argument.shape):
                if extent == DYNAMIC:
                    names |= {f"{argument.name}.{axis}", *argument.dims[axis]}
    return names


def random_inputs(
    function: FuncOp,
    seed: int,
    extents: Mapping[str, int] | None = None,
    given: Mapping[str, object] | None = None,
    *,
    source: FuncOp | None = None,
) -> list[Array]:
    """Arrays for the arguments of a function: those `given` by name, random ones for the others.

    Floats are normal with standard deviation 1, or as weights are initialised, 1 / sqrt(K), where the
    argument is the right operand of a matmul over K in `source` (the function before passes changed it; by
    default the function itself). Integers are from -8 to 8, or valid indices where `source` looks elements up
    by them; booleans are true three times in four. Argument number `i` comes from
    `numpy.random.default_rng([seed, i])`, whatever the others are. `extents` gives unknown extents, as
    `{"q.0": 33}` or by dim, as `{"M": 33}`; the extents of given arrays count for the dims that they name.
    An axis that the program ties to a known one has its extent. Raises InputError.
    """
    arguments = arguments_of(function)
    arrays = {name: as_input(arguments, name, value) for name, value in (given or {}).items()}
    arrays = {_find(arguments, name).name: array for name, array in arrays.items()}
    known = dict(extents or {})
    for argument in arguments:
        shape = arrays[argument.name].shape if argument.name in arrays else argument.shape
        for axis, (dims, extent) in enumerate(zip(argument.dims, shape, strict=True)):
            extent = known.get(f"{argument.name}.{axis}", extent)
            if len(dims) == 1 and extent != DYNAMIC:
                known.setdefault(dims[0], extent)
    tied = _tied_extents(source or function, arguments, arrays, known)
    scales = weight_scales(source or function)
    indexed = indexed_extents(source or function)
    for position, argument in enumerate(arguments):
        if argument.name not in arrays:
            rng = np.random.default_rng([seed, position])
            own = {axis: extent for (number, axis), extent in tied.items() if number == position}
            shape = tuple(_extent(argument, axis, known, own) for axis in range(len(argument.shape)))
            arrays[argument.name] = _random(
                argument, rng, shape, scales.get(position, 1.0), indexed.get(position)
            )
    return [arrays[argument.name] for argument in arguments]


def _tied_extents(
    function: FuncOp,
    arguments: Sequence[Argument],
    arrays: Mapping[str, Array],
    known: Mapping[str, int],
) -> dict[tuple[int, int], int]:
    """Return extents of axes `(number of the argument, axis)`: those known, and those tied to them."""
    places: dict[tuple[int, int], int] = {}
    for number, argument in enumerate(arguments):
        shape = arrays[argument.name].shape if argument.name in arrays else argument.shape
        for axis, (dims, extent) in enumerate(zip(argument.dims, shape, strict=True)):
            by_dim = known.get(dims[0], DYNAMIC) if len(dims) == 1 else DYNAMIC
            extent = extent if extent != DYNAMIC else known.get(f"{argument.name}.{axis}", by_dim)
            if extent != DYNAMIC:
                places[number, axis] = extent
    return given_extents(equal_extents(function), function.body.block.args, places)


def weight_scales(function: FuncOp) -> dict[int, float]:
    """Standard deviations, by position, of the arguments that a matmul has on its right."""
    scales: dict[int, float] = {}
    for op in function.body.ops:
        if not isinstance(op, MatmulOp):
            continue
        contracted = shape_of(op.b)[-1 if op.transpose_b is not None else -2]
        value = _viewed(op.b)
        if isinstance(value, BlockArgument) and contracted != DYNAMIC:
            scales[value.index] = contracted**-0.5
    return scales


def indexed_extents(function: FuncOp) -> dict[int, int]:
    """The least extent of an axis, by position, into which an argument holds indices."""
    extents: dict[int, int] = {}
    for op in function.body.ops:
        if isinstance(op, GatherOp | GatherElementsOp):
            value, extent = _viewed(op.indices), shape_of(op.operands[0])[op.axis.value.data]
            if isinstance(value, BlockArgument):
                # An unknown extent is at least 1.
                extents[value.index] = max(1, min(extents.get(value.index, extent), extent))
    return extents


def _viewed(value: SSAValue) -> SSAValue:
    """The array of which a value is a view that keeps all elements."""
    while isinstance(value.owner, TransposeOp | ReshapeOp | BroadcastOp):
        value = value.owner.input
    return value


def _random(
    argument: Argument, rng: np.random.Generator, shape: tuple[int, ...], scale: float, indexed: int | None
) -> Array:
    dtype = argument.dtype
    try:
        if is_float(argument.element_type):
            return to_dtype(np.asarray(scale * rng.standard_normal(shape)), dtype)
        if dtype == np.bool_:
            return np.asarray(rng.random(shape) < 0.75)
        low, high = (-8, 9) if indexed is None else (0, indexed)
        return np.asarray(rng.integers(low, high, shape, dtype=dtype))
    except (MemoryError, ValueError) as error:  # numpy calls an impossible extent a ValueError
        raise InputError(f"{argument} is too large for the memory: shape {list(shape)}") from error


def _extent(argument: Argument, axis: int, known: Mapping[str, int], tied: Mapping[int, int]) -> int:
    extent = argument.shape[axis]
    if extent != DYNAMIC:
        return extent
    own = f"{argument.name}.{axis}"
    if own in known:
        return known[own]
    dims = argument.dims[axis]
    if dims and all(dim in known for dim in dims):
        return int(np.prod([known[dim] for dim in dims], dtype=np.int64))
    if axis in tied:
        return tied[axis]
    names = [own, *(dim for dim in dims if dim not in known)]
    raise InputError(f"axis {axis} of {argument} has an unknown extent; give it as {' or as '.join(names)}")


def ordered_inputs(
    function: FuncOp, inputs: Sequence[object] | Mapping[str, object], *, float64: bool = False
) -> list[Array]:
    """The arrays for a function's arguments, given in order or by name, converted to the arguments' dtypes.

    With `float64`, floats become float64. Raises InputError for a missing, unknown or unfit one.
    """
    if isinstance(inputs, np.ndarray):
        raise InputError("the inputs are one array, expected a sequence of arrays or a mapping from names")
    arguments = arguments_of(function)
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(arguments):
            names = ", ".join(argument.name for argument in arguments) or "none"
            raise InputError(
                f"'{function.sym_name.data}' takes {len(arguments)} arrays ({names}), got {len(inputs)}"
            )
        inputs = {argument.name: array for argument, array in zip(arguments, inputs, strict=True)}
    arrays = {
        _find(arguments, name).name: as_input(arguments, name, value, float64=float64)
        for name, value in inputs.items()
    }
    missing = [argument.name for argument in arguments if argument.name not in arrays]
    if missing:
        raise InputError(f"'{function.sym_name.data}' needs arrays for {', '.join(missing)}")
    return [arrays[argument.name] for argument in arguments]


def _find(arguments: Sequence[Argument], name: str) -> Argument:
    for position, argument in enumerate(arguments):
        if name.removeprefix("%") in (argument.name, str(position)):
            return argument
    names = [argument.name for argument in arguments]
    hint = did_you_mean(
        name, names, f"; the arguments are {', '.join(names)}" if names else "; it takes none"
    )
    where = f" of '{arguments[0].function}'" if arguments else ""
    raise InputError(f"there is no argument '{name}'{where}{hint}")


def as_input(arguments: Sequence[Argument], name: str, value: object, *, float64: bool = False) -> Array:
    """An array for the named argument, in its dtype (with `float64`, float64 for floats).

    Two-byte elements without a dtype, which is how numpy saves bfloat16, count as bfloat16. Raises
    InputError where shape or kind of number do not fit.
    """
    argument = _find(arguments, name)
    array = np.asarray(value)
    if len(array.shape) != len(argument.shape) or any(
        wanted not in (DYNAMIC, extent) for wanted, extent in zip(argument.shape, array.shape, strict=True)
    ):
        raise InputError(f"{argument} has shape {list(array.shape)}, expected {shape_text(argument.shape)}")
    if array.dtype == np.dtype("V2") and argument.dtype == BFLOAT16:
        array = array.view(BFLOAT16)
    integral = array.dtype.kind in "biu"
    if not (integral or array.dtype.kind == "f" or array.dtype == BFLOAT16):
        raise InputError(f"{argument} has dtype {array.dtype}, expected numbers")
    if is_float(argument.element_type):
        return to_dtype(array, numpy_dtype(argument.element_type, float64))
    if not integral:
        raise InputError(f"{argument} has dtype {array.dtype}, expected {argument.dtype}")
    converted = array.astype(argument.dtype)
    if not np.array_equal(converted, array):
        raise InputError(f"{argument} has values that {argument.dtype} cannot hold")
    return converted


def check_block_sizes(functions: Sequence[FuncOp], sizes: Mapping[str, int]) -> None:
    """Raise InputError unless each dim is declared by one of the functions, with its block size open."""
    declared: dict[str, list[block.DimAttr]] = {}
    for function in functions:
        for name, dim in (block.declared_dims(function) or {}).items():
            declared.setdefault(name, []).append(dim)
    for name, size in sizes.items():
        if name not in declared:
            known = f"the dims are {', '.join(declared)}" if declared else "no block program declares any"
            raise InputError(f"there is no dim '{name}' to cut into blocks; {known}")
        if size < 1:
            raise InputError(f"the block size of dim '{name}' is {size}, expected at least 1")
        if all(dim.block_size is not None or dim.is_whole for dim in declared[name]):
            raise InputError(f"the block size of dim '{name}' is fixed by the program: {declared[name][0]}")
