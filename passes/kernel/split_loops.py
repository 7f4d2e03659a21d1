"""`kernel-split-loops`: divides long loops among more thread blocks, and merges the parts in another kernel.

This is split-K for matrix products, and flash decoding for attention with few queries. A kernel whose
parallel loop has few iterations, and that has a `kernel.for … merge`, becomes two. The first computes the
parts, each into arrays of its own. The second merges them in order, by the region of `merge`, and does the
rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects import block, kernel
from ...dialects.block import Blocking, DimAttr
from ...dialects.kernel.effects import tiles_read, tiles_written

LEAST = 4
"""Iterations that a part has at least; with fewer, merging takes as long as it saves."""
MOST_OF_UNKNOWN = 32
"""Parts of a loop with an unknown number of iterations: each costs a little, even one without iterations."""


@dataclass(frozen=True)
class KernelSplitLoopsPass(ModulePass):
    """Compute a long loop that has a `merge` in parts, by a kernel of its own, and unite them in a second.

    Where a parallel loop has less than `tasks` iterations, the loop goes to as many parts as give so many
    thread blocks together, with 4 iterations or more each but for the last. The number of parts follows from
    extents alone, and is 32 at most where the extent of the loop's dim is unknown.
    """

    name = "kernel-split-loops"

    tasks: int = 128

    def __post_init__(self) -> None:
        if self.tasks < 1:
            raise ValueError(f"option 'tasks' must be at least 1, got {self.tasks}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        launches = [each for each in op.walk() if isinstance(each, kernel.LaunchOp)]
        names = {each.sym_name.data for each in op.walk() if isinstance(each, kernel.FuncOp | FuncOp)}
        for function in kernel.kernels_of(op):
            callers = [each for each in launches if each.kernel_name == function.sym_name.data]
            split = _split_of(function, self.tasks)
            if split is not None and len(callers) == 1:
                name = f"{function.sym_name.data}_parts"
                while name in names:
                    name += "_"
                names.add(name)
                split.apply(callers[0], name)


@dataclass
class _Split:
    function: kernel.FuncOp
    parallel: kernel.ParallelOp
    loop: kernel.ForOp
    dims: dict[str, DimAttr]
    parts: int

    @property
    def dim(self) -> str:
        return self.loop.dim_names[0]

    @property
    def number(self) -> str:
        """The dim that counts the parts."""
        return next(name for name in ("S", *(f"S{n}" for n in range(1, 99))) if name not in self.dims)

    def apply(self, launch: kernel.LaunchOp, name: str) -> None:
        """Split the kernel of a launch in two; `name` is that of the one that computes the parts."""
        carried = list(self.loop.carried)
        types = [tile.type for tile in carried]
        tile_types = [type for type in types if isinstance(type, kernel.TileType)]
        shapes = [self._shape(type) for type in tile_types]
        arrays = [
            kernel.ArrayType(shape, type.element_type) for shape, type in zip(shapes, tile_types, strict=True)
        ]
        self._parts(arrays, name)
        axes = [self._axes(type) for type in tile_types]
        results: list[Attribute] = [
            TensorType(type.element_type, shape) for shape, type in zip(shapes, tile_types, strict=True)
        ]
        own = kernel.LaunchOp(name, list(launch.inputs), axes, results)
        own.attributes.update(launch.attributes)
        own.location = launch.location
        parent = launch.parent
        assert parent is not None
        parent.insert_op_before(own, launch)
        for result, tile in zip(own.results_, carried, strict=True):
            result.name_hint = tile.name_hint
        self._unite(arrays, tile_types)
        launch.operands = [*launch.inputs, *own.results_]

    def _shape(self, type: kernel.TileType) -> list[int]:
        extents = [self.dims[name].static_extent for (name,) in self._axes(type)[1:]]
        return [self.parts, *(extent for extent in extents if extent is not None)]

    def _axes(self, type: kernel.TileType) -> list[list[str]]:
        """The dims of the axes of the array that has a tile of each part, and of each batch item."""
        batch = [name for name in self.parallel.dim_names if self.dims[name].is_batch]
        return [[self.number], *([name] for name in batch), *([name] for name in type.dims)]

    def _parts(self, arrays: list[kernel.ArrayType], name: str) -> None:
        """Write the kernel that computes the parts."""
        old = self.function.body.block
        count = len(old.args) - self.function.output_count
        body = Block(arg_types=[*(each.type for each in old.args[:count]), *arrays])
        known: dict[SSAValue, SSAValue] = dict(zip(old.args[:count], body.args, strict=False))
        for before, after in known.items():
            after.name_hint = before.name_hint
        inner = Block()
        for op in self.parallel.body.block.ops:
            if op is self.loop:
                break
            inner.add_op(op.clone(known))
        iterations = Block([op.clone(known) for op in self.loop.body.block.ops])
        end = None if self.loop.until_dim is None else (self.loop.until_dim, self.loop.until_offset)
        plain = kernel.ForOp(self.dim, Region(iterations), end, part=self.number)
        plain.location = self.loop.location
        inner.add_op(plain)
        for tile, argument in zip(self.loop.carried, body.args[count:], strict=True):
            argument.name_hint = tile.name_hint
            type = tile.type
            assert isinstance(type, kernel.TileType)
            cursor = self._cursor(argument, type)
            inner.add_op(cursor)
            store = kernel.StoreOp(cursor.result, known[tile])
            store.location = self.loop.location
            inner.add_op(store)
        parallel = kernel.ParallelOp([self.number, *self.parallel.dim_names], Region(inner))
        parallel.location = self.parallel.location
        body.add_op(parallel)
        drop_unread(parallel)
        dims = {self.number: DimAttr(self.parts, 0, Blocking.Batch), **self.dims}
        new = kernel.FuncOp(name, len(arrays), Region(body), {block.DIMS: block.dims_attr(dims)})
        new.location = self.function.location
        parent = self.function.parent
        assert parent is not None
        parent.insert_op_before(new, self.function)

    def _cursor(self, array: SSAValue, type: kernel.TileType) -> kernel.CursorOp:
        item = kernel.CursorType(type.dims, type.element_type)
        cursor = kernel.CursorOp(array, self._axes(type), item)
        cursor.location = self.loop.location
        return cursor

    def _unite(self, arrays: list[kernel.ArrayType], types: list[kernel.TileType]) -> None:
        """Let the kernel load the parts instead of computing them, and merge them."""
        merge = self.loop.merge
        assert merge is not None
        body = self.function.body.block
        count = len(body.args) - self.function.output_count
        steps = Block()
        first = self.parallel.body.block.first_op
        assert first is not None
        for number, (array, type) in enumerate(zip(arrays, types, strict=True)):
            argument = body.insert_arg(array, count + number)
            tile, other = self.loop.carried[number], merge.block.args[number]
            argument.name_hint = tile.name_hint
            received = kernel.TileOp(type)
            received.result.name_hint = other.name_hint
            self.parallel.body.block.insert_op_before(received, first)
            cursor = self._cursor(argument, type)
            steps.add_ops([cursor, kernel.LoadOp(received.result, cursor.result)])
            other.replace_all_uses_with(received.result)
        for op in list(merge.block.ops):
            op.detach()
            steps.add_op(op)
        plain = kernel.ForOp(self.number, Region(steps))
        plain.location = self.loop.location
        self.parallel.body.block.insert_op_before(plain, self.loop)
        self.loop.detach()
        self.loop.erase()
        drop_unread(self.parallel)
        dims = {self.number: DimAttr(self.parts, 0, Blocking.Batch), **self.dims}
        self.function.attributes[block.DIMS] = block.dims_attr(
            {name: dim for name, dim in dims.items() if name != self.dim}
        )


def _split_of(function: kernel.FuncOp, tasks: int) -> _Split | None:
    """Return the split of a kernel; None if it stays whole."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    parallels = list(function.body.block.ops)
    if len(parallels) != 1:
        return None
    (parallel,) = parallels
    assert isinstance(parallel, kernel.ParallelOp)
    loops = [op for op in parallel.body.block.ops if isinstance(op, kernel.ForOp)]
    if len(loops) != 1 or not _may_split(loops[0], parallel):
        return None
    (loop,) = loops
    extents = [dims[name].static_extent for tile in loop.carried for name in _dims_of(tile)]
    grid = [_trips(dims[name]) for name in parallel.dim_names]
    for name in parallel.dim_names:
        # Each block has tiles of its own, which must have a place in the arrays.
        if not dims[name].is_batch and any(name not in _dims_of(tile) for tile in loop.carried):
            return None
    dim = dims[loop.dim_names[0]]
    if None in extents or None in grid or dim.is_whole:
        return None
    wanted = -(-tasks // prod(trips for trips in grid if trips is not None))
    parts = _parts(_trips(dim), wanted)
    return None if parts < 2 else _Split(function, parallel, loop, dims, parts)


def _parts(trips: int | None, wanted: int) -> int:
    """Return the number of parts of a loop, none of them empty where the number of iterations is known."""
    if trips is None:
        return min(wanted, MOST_OF_UNKNOWN)
    parts = max(1, min(wanted, trips // LEAST))
    return -(-trips // -(-trips // parts))


def _dims_of(tile: SSAValue) -> tuple[str, ...]:
    return tuple(tile.type.dims) if isinstance(tile.type, kernel.TileType) else ()


def _tiles_of(op: Operation) -> tuple[SSAValue, ...]:
    return (*tiles_read(op), *tiles_written(op))


def _trips(dim: DimAttr) -> int | None:
    if dim.static_extent is None or dim.block_size is None:
        return None
    return -(-dim.static_extent // dim.block_size)


def _may_split(loop: kernel.ForOp, parallel: kernel.ParallelOp) -> bool:
    """True if the iterations of a loop may be divided among kernels."""
    merge = loop.merge
    if merge is None or not loop.carried:
        return False
    united = {tile for op in merge.block.walk() for tile in tiles_written(op)}
    if any(tile not in united for tile in loop.carried):
        return False
    inside = set(loop.body.block.walk())
    for op in parallel.walk():
        if isinstance(op, kernel.BufferOp):
            return False
        if isinstance(op, kernel.QuantityOp) and op.dim_name == loop.dim_names[0] and op not in inside:
            return False  # what unites the parts does not know it
        if isinstance(op, kernel.StoreOp) and op in inside:
            return False
        if op not in inside and any(loop.dim_names[0] in _dims_of(tile) for tile in _tiles_of(op)):
            return False
        if isinstance(op, kernel.CursorOp) and any(loop.dim_names[0] in axis for axis in op.axis_dims):
            pinned = (*op.first_dims, *op.here_dims)
            item = op.result.type
            assert isinstance(item, kernel.CursorType)
            if op not in inside or loop.dim_names[0] in pinned or op.packed is not None:
                return False
    return True


def drop_unread(parallel: kernel.ParallelOp) -> None:
    """Erase writes to tiles that are not read, and operations without uses."""
    while True:
        dead = [op for op in parallel.walk(reverse=True) if _is_dead(op)]
        if not dead:
            return
        for op in dead:
            op.detach()
            op.erase()


def _is_dead(op: Operation) -> bool:
    if isinstance(op, kernel.TileOp | kernel.CursorOp):
        return not op.result.uses
    if isinstance(op, kernel.StoreOp) or not (written := tiles_written(op)):
        return False
    return not any(
        tile in tiles_read(use.operation) for tile in written for use in tile.uses if use.operation is not op
    )
