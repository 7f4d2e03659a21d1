"""`kernel-pack-constants`: packs constant operands of contractions once, in the order in which they are read.

With rows in lanes, the elements of the right operand are broadcast one by one. A register tile takes `ROWS`
rows of it through all k. In a plain matrix these are many streams, or a new page for every k. With columns in
lanes its elements are vectors, and in a plain matrix every k is in another row. Packed in groups of rows,
either is one stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    ModuleOp,
    TensorType,
    UnitAttr,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects import block, kernel
from ...dialects.attributes import CONSTANT
from ...dialects.kernel.precision import has_wide_lanes

ROWS = 6
"""Rows of a register tile: as many as the targets' micro-kernels have registers for, beside the lanes."""

PAIR = 2
"""Number of products of bf16 that one instruction adds to a sum."""

PANEL = 128
"""Bytes of a group (of its f32 form, if 16-bit floats are kept): two vectors of the widest kind."""


@dataclass(frozen=True)
class KernelPackConstantsPass(ModulePass):
    """Give constant right operands of contractions the layout that they are read in.

    Kernels that run once do it. Constant are arguments with the attribute `bb.constant`, and what launches
    with `bb.once` make of them. bf16 that all contractions may multiply as it is lies in pairs along k. Other
    16-bit floats become f32 on the way with rows in lanes, and stay as they are where few rows make a
    contraction as fast as memory.
    """

    name = "kernel-pack-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {each.sym_name.data: each for each in kernel.kernels_of(op)}
        launches = [each for each in op.walk() if isinstance(each, kernel.LaunchOp)]
        for function in op.walk():
            if isinstance(function, FuncOp):
                _Packer(kernels, launches).function(function)


@dataclass
class _Packer:
    kernels: dict[str, kernel.FuncOp]
    launches: list[kernel.LaunchOp]
    packed: dict[tuple[SSAValue, kernel.ArrayType], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, kernel.ArrayType], SSAValue]
    )

    def function(self, function: FuncOp) -> None:
        if function.is_declaration:
            return
        constants = _constant_arguments(function)
        for op in list(function.body.block.ops):
            if not isinstance(op, kernel.LaunchOp):
                continue
            if kernel.ONCE in op.attributes:
                constants.update(op.results_)
            elif sum(other.kernel_name == op.kernel_name for other in self.launches) == 1:
                self._launch(op, constants)

    def _launch(self, launch: kernel.LaunchOp, constants: set[SSAValue]) -> None:
        called = self.kernels[launch.kernel_name]
        for position, value in enumerate(launch.inputs):
            argument = called.body.block.args[position]
            wanted = _layout_for(called, argument) if value in constants else None
            if wanted is None:
                continue
            key = value, wanted
            if key not in self.packed:
                self.packed[key] = self._pack(launch, called, value, argument, wanted)
            launch.operands[position] = self.packed[key]
            _retype(argument, wanted)

    def _pack(
        self,
        launch: kernel.LaunchOp,
        called: kernel.FuncOp,
        value: SSAValue,
        argument: BlockArgument[Attribute],
        wanted: kernel.ArrayType,
    ) -> SSAValue:
        """A launch, in front of another, of a kernel that packs an array."""
        name = _free_name(f"{called.sym_name.data}_pack_{argument.name_hint or argument.index}", self.kernels)
        rows, columns = _cursors(argument)[0].result.type.dims  # pyright: ignore[reportAttributeAccessIssue]
        axes = _cursors(argument)[0].axis_dims
        packing = self.kernels[name] = _packing_kernel(name, called, argument, axes, (rows, columns), wanted)
        parent = called.parent
        assert parent is not None
        parent.insert_op_before(packing, called)
        tensor = value.type
        assert isinstance(tensor, TensorType)
        extents = dict(zip((axis[0] for axis in axes), tensor.get_shape(), strict=True))
        type = TensorType(wanted.element_type, [extents[rows], extents[columns]], wanted.layout)
        op = kernel.LaunchOp(name, [value], [[[rows], [columns]]], [type])
        op.attributes[kernel.ONCE] = UnitAttr()
        op.location = launch.location
        op.results_[0].name_hint = argument.name_hint
        launch_parent = launch.parent
        assert launch_parent is not None
        launch_parent.insert_op_before(op, launch)
        return op.results_[0]


def _constant_arguments(function: FuncOp) -> set[SSAValue]:
    if function.arg_attrs is None:
        return set()
    arguments = zip(function.body.block.args, function.arg_attrs, strict=True)
    return {argument for argument, attributes in arguments if CONSTANT in attributes.data}


def _cursors(argument: SSAValue) -> list[kernel.CursorOp]:
    return [use.operation for use in argument.uses if isinstance(use.operation, kernel.CursorOp)]


def _layout_for(called: kernel.FuncOp, argument: BlockArgument[Attribute]) -> kernel.ArrayType | None:
    """The type of an array of a kernel once it is packed; None if that is impossible, or no gain."""
    type, cursors = argument.type, _cursors(argument)
    assert isinstance(type, kernel.ArrayType)
    plain = len(type.extents) == 2 and type.packed is None
    if not plain or not cursors or len(cursors) != len(list(argument.uses)):
        return None
    first = cursors[0]
    item = first.result.type
    assert isinstance(item, kernel.CursorType)
    if not all(_is_block_of_matrix(cursor) for cursor in cursors):
        return None
    if any((cursor.result.type, cursor.axis_dims) != (item, first.axis_dims) for cursor in cursors):
        return None
    lanes = {lane for cursor in cursors for lane in _lanes_of_readers(cursor)}
    dims = block.parse_dims(called.attributes[block.DIMS])
    rows, columns = (_block_size(dims[name]) for name in item.dims)
    element = item.element_type
    if None in lanes or len(lanes) != 1 or rows is None or columns is None:
        return None
    if not isinstance(element, Float64Type | Float32Type | BFloat16Type | Float16Type):
        return None
    in_bf16 = isinstance(element, BFloat16Type) and all(_multiplies_in_bf16(cursor) for cursor in cursors)
    if has_wide_lanes(called) and not isinstance(element, Float64Type):
        return None  # such contractions convert their operands first
    if kernel.Lanes.Rows in lanes:
        group = ROWS
        element = element if in_bf16 or isinstance(element, Float64Type) else f32
    else:
        group = PANEL // (8 if isinstance(element, Float64Type) else 4)
    depth = PAIR if in_bf16 else 1
    if rows < group:
        return None
    extents = dict(zip((axis[0] for axis in first.axis_dims), type.shape, strict=True))
    layout = kernel.PackedAttr(rows, columns, group, depth)
    return kernel.ArrayType([extents[name].data for name in item.dims], element, layout)


def _multiplies_in_bf16(cursor: kernel.CursorOp) -> bool:
    """True if all contractions that take the block may multiply in bf16."""
    users = [use.operation for use in cursor.result.uses]
    return all(isinstance(op, kernel.ContractOp) and isinstance(op.multiply, BFloat16Type) for op in users)


def _is_block_of_matrix(cursor: kernel.CursorOp) -> bool:
    """True if a cursor goes through all blocks of a matrix, plain or transposed."""
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    axes = sorted([dim] for dim in item.dims)
    return not cursor.first_dims and not cursor.here_dims and sorted(cursor.axis_dims) == axes


def _lanes_of_readers(cursor: kernel.CursorOp) -> set[kernel.Lanes | None]:
    """Return the lanes of contractions that have a cursor on the right; None for other users."""
    found: set[kernel.Lanes | None] = set()
    for use in cursor.result.uses:
        user = use.operation
        if (
            not isinstance(user, kernel.ContractOp)
            or user.lhs is cursor.result
            or user.attributes
            or user.kept
        ):
            found.add(None)
            continue
        assert isinstance(user.accumulator.type, kernel.TileType)
        found.add(kernel.Lanes.Rows if user.accumulator.type.rows_in_lanes else kernel.Lanes.Cols)
    return found


def _block_size(dim: block.DimAttr) -> int | None:
    return dim.static_extent if dim.is_whole else dim.block_size


def _retype(argument: BlockArgument[Attribute], type: kernel.ArrayType) -> None:
    """Let an array of a kernel, and all cursors on it, have another type."""
    cursors = _cursors(argument)
    array = Rewriter.replace_value_with_new_type(argument, type)
    for cursor in cursors:
        item = cursor.result.type
        assert isinstance(item, kernel.CursorType)
        new = kernel.CursorOp(
            array, [[dim] for dim in item.dims], kernel.CursorType(item.dims, type.element_type)
        )
        new.location, new.result.name_hint = cursor.location, cursor.result.name_hint
        parent = cursor.parent
        assert parent is not None
        parent.insert_op_before(new, cursor)
        cursor.result.replace_all_uses_with(new.result)
        cursor.detach()
        cursor.erase()


def _packing_kernel(
    name: str,
    called: kernel.FuncOp,
    argument: BlockArgument[Attribute],
    axes: list[list[str]],
    item: tuple[str, str],
    wanted: kernel.ArrayType,
) -> kernel.FuncOp:
    given = argument.type
    assert isinstance(given, kernel.ArrayType)
    declared = block.parse_dims(called.attributes[block.DIMS])
    dims = {dim: declared[dim] for dim in declared if dim in item}
    entry = Block(arg_types=[given, wanted])
    source, target = entry.args
    source.name_hint, target.name_hint = argument.name_hint, "packed"
    body = Block()
    tile = kernel.TileOp(kernel.TileType(item, given.element_type, kernel.Lanes.Rows))
    read = kernel.CursorOp(source, axes, kernel.CursorType(item, given.element_type))
    write = kernel.CursorOp(target, [[dim] for dim in item], kernel.CursorType(item, wanted.element_type))
    body.add_ops(
        [
            tile,
            read,
            kernel.LoadOp(tile.result, read.result),
            write,
            kernel.StoreOp(write.result, tile.result),
        ]
    )
    loops = [dim for dim in item if not dims[dim].is_whole]
    entry.add_op(kernel.ParallelOp(loops, Region(body)))
    return kernel.FuncOp(name, 1, Region(entry), {block.DIMS: block.dims_attr(dims)})


def _free_name(name: str, taken: dict[str, kernel.FuncOp]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
