"""Parameters of a kernel's function: arrays, the strides and extents of a call, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects import kernel
from ....dialects.diagnostics import OpError
from ..names import Names
from .geometry import Array, Dim, product_text
from .layouts import Layout
from .scalars import storage_type


@dataclass(frozen=True)
class Arguments:
    """The parameters of a function, and the arrays among them."""

    parameters: tuple[str, ...]
    arrays: Mapping[SSAValue, Array]


def plan_arguments(
    function: kernel.FuncOp, dims: Mapping[str, Dim], names: Names, layouts: Sequence[Layout]
) -> Arguments:
    """Name the arrays of a kernel. Raises OpError for a packed one.

    Without `layouts` all arrays lie in row-major order.
    """
    arguments = function.body.block.args
    first_output = len(arguments) - function.output_count
    pointers: list[str] = []
    passed: list[str] = []
    arrays: dict[SSAValue, Array] = {}
    for number, argument in enumerate(arguments):
        type = argument.type
        assert isinstance(type, kernel.ArrayType)
        if type.packed is not None:
            raise OpError(function, "reads or writes a packed array, which has no form on a GPU")
        rank = len(type.extents)
        suffixes = [f"_s{axis}" for axis in range(rank)]
        name = names.claim(argument.name_hint or "array", *suffixes)
        const = "const " if number < first_output else ""
        pointers.append(f"{const}{storage_type(type.element_type)}* __restrict__ {name}")
        layout = layouts[number] if layouts else Layout.Dense
        if layout is Layout.Dense:
            strides = _dense_strides(argument, type, dims)
        else:
            strides = [f"{name}{suffix}" for suffix in suffixes[: layout.strides_passed(rank)]]
            passed += [f"long long {stride}" for stride in strides]
            strides += ["1"] * (rank - len(strides))
        arrays[argument] = Array(name, tuple(strides), layout is Layout.Rows)
    extents = [f"int {dim.extent}" for dim in dims.values() if not dim.is_static]
    return Arguments((*pointers, *passed, *extents), arrays)


def _dense_strides(argument: SSAValue, type: kernel.ArrayType, dims: Mapping[str, Dim]) -> list[str]:
    """Expressions of the strides of an array in row-major order."""
    cursors = (use.operation for use in argument.uses if isinstance(use.operation, kernel.CursorOp))
    cursor = next(cursors, None)
    lengths: list[list[str]] = []
    for axis, extent in enumerate(type.extents):
        if extent is not None:
            lengths.append([str(extent)])
        elif cursor is None:
            lengths.append(["0"])
        else:
            item = cursor.result.type
            assert isinstance(item, kernel.CursorType)
            axis_dims = [(name, dims[name]) for name in cursor.axis_dims[axis]]
            lengths.append([dim.extent if name in item.dims else dim.trips for name, dim in axis_dims])
    return [product_text(lengths[axis + 1 :]) for axis in range(len(lengths))]
