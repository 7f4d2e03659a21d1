"""Attributes of operations that place the tiles of a kernel in a GPU's memories, and work on its threads.

`kernel-place-cuda` writes them, and the emitter of CUDA reads them. Each operation declares the attributes
that it may have. Constraints in this module check the type and the size of one attribute; the `verify_`
functions check attributes against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrConstraint, IntConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..block.dims import require_declared
from ..diagnostics import OpError
from .accessors import tile_type
from .effects import KernelOp, writers
from .types import Space, TileType

THREADS_ATTRIBUTE = "threads"
"""Of `kernel.parallel`: number of threads of a block, which do an iteration together."""
WARPS_ATTRIBUTE = "warps"
"""Of `kernel.parallel`: number of warps among which the rows of tiles in registers are divided; for a grid of
warps, the numbers of warps along the rows and along the columns.
"""
GROUP_ATTRIBUTE = "group"
"""Of `kernel.parallel`: number of threads that hold a row of its tiles together."""
OFFSET_ATTRIBUTE = "offset"
"""First byte in shared memory. Of `kernel.tile`: of the tile. Of `kernel.store`: of the memory through which
a block in registers goes to the array. Of `kernel.sweep`: of the memory through which warps combine their
partial reductions.
"""
STAGES_ATTRIBUTE = "stages"
"""Of `kernel.for`: number of iterations whose blocks are in shared memory or in flight. Of `kernel.tile`:
number of blocks it has room for.
"""
SWIZZLED_ATTRIBUTE = "swizzled"
"""Of `kernel.tile` in shared memory: the 16-byte pieces of each row are permuted, differently from row to
row, so that fragments are read without bank conflicts. The length of a row is a power of two; elements beyond
the block are zero.
"""
ASYNC_ATTRIBUTE = "async"
"""Of `kernel.load`: the block is fetched asynchronously, ahead of the iteration that it is for."""

WARP = 32
"""Threads of a warp."""
MOST_THREADS = 1024
"""Threads of a block, at most."""
FEWEST_STAGES = 2
"""Of a loop that fetches ahead: one block is computed with while the next one is fetched."""
ACCESS_ALIGNMENT = 16
"""Bytes: the widest access to shared memory; every offset there is a multiple of it."""
SWIZZLE_ALIGNMENT = 128
"""Bytes within which a swizzle permutes; the offset of a swizzled tile is a multiple of it."""


@dataclass(frozen=True)
class NumberConstraint(AttrConstraint[IntegerAttr[IntegerType]]):
    """An attribute that is an i64 of at least `least`, at most `most`, and a multiple of `step`."""

    name: str
    least: int = 1
    most: int | None = None
    step: int = 1

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        number = attr.value.data if isa(attr, IntegerAttr[IntegerType]) and attr.type == i64 else None
        fits = (
            number is not None
            and number >= self.least
            and (self.most is None or number <= self.most)
            and number % self.step == 0
        )
        if not fits:
            raise VerifyException(f"expected `{self.name}` to be an i64 {self._range}, got {attr}")

    @property
    def _range(self) -> str:
        limits = f"of {self.least} or more" if self.most is None else f"from {self.least} to {self.most}"
        return limits if self.step == 1 else f"{limits}, a multiple of {self.step}"

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> NumberConstraint:
        return self


@dataclass(frozen=True)
class WarpsConstraint(AttrConstraint[IntegerAttr[IntegerType] | ArrayAttr[IntegerAttr[IntegerType]]]):
    """A number of warps, or warps along the rows and along the columns: positive i64."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        counts = attr.data if isa(attr, ArrayAttr[Attribute]) and len(attr) == 2 else (attr,)
        if not all(NumberConstraint(WARPS_ATTRIBUTE).verifies(count) for count in counts):
            raise VerifyException(
                f"expected `{WARPS_ATTRIBUTE}` to be a positive i64, or two, for rows and columns, got {attr}"
            )

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> WarpsConstraint:
        return self


@dataclass(frozen=True)
class FlagConstraint(AttrConstraint[UnitAttr]):
    """A unit attribute, which is present or absent and has no value."""

    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, UnitAttr):
            raise VerifyException(f"expected `{self.name}` to have no value, got {attr}")

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> FlagConstraint:
        return self


THREADS = NumberConstraint(THREADS_ATTRIBUTE, least=WARP, most=MOST_THREADS, step=WARP)
WARPS = WarpsConstraint()
GROUP = NumberConstraint(GROUP_ATTRIBUTE)
OFFSET = NumberConstraint(OFFSET_ATTRIBUTE, least=0, step=ACCESS_ALIGNMENT)
STAGES = NumberConstraint(STAGES_ATTRIBUTE, least=FEWEST_STAGES)
SWIZZLED = FlagConstraint(SWIZZLED_ATTRIBUTE)
ASYNC = FlagConstraint(ASYNC_ATTRIBUTE)

NAMES = frozenset(
    {
        *(THREADS_ATTRIBUTE, WARPS_ATTRIBUTE, GROUP_ATTRIBUTE, OFFSET_ATTRIBUTE),
        *(STAGES_ATTRIBUTE, SWIZZLED_ATTRIBUTE, ASYNC_ATTRIBUTE),
    }
)
"""Names of all attributes of a placement."""


def is_placed(parallel: Operation) -> bool:
    """True if the tiles of a parallel loop have their places on a GPU."""
    return THREADS_ATTRIBUTE in parallel.attributes


def integer(op: Operation, name: str) -> int | None:
    """The number that an attribute holds; None if there is none."""
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None


def warp_grid(parallel: Operation) -> tuple[int, int] | None:
    """Numbers of warps among which the rows and the columns of tiles in registers are divided.

    None for a loop without such tiles.
    """
    value = parallel.attributes.get(WARPS_ATTRIBUTE)
    if isinstance(value, IntegerAttr):
        return value.value.data, 1
    if isa(value, ArrayAttr[IntegerAttr]) and len(value) == 2:
        return value.data[0].value.data, value.data[1].value.data
    return None


def warps_attr(rows: int, columns: int) -> IntegerAttr[IntegerType] | ArrayAttr[IntegerAttr[IntegerType]]:
    """The attribute for numbers of warps along rows and columns: one number if only rows are divided."""
    numbers = [IntegerAttr(each, i64) for each in (rows, columns)]
    return numbers[0] if columns == 1 else ArrayAttr(numbers)


def verify_names(op: KernelOp) -> None:
    """Raise OpError if an operation has a placement attribute that its definition does not declare."""
    declared = op.get_irdl_definition().attributes
    for name in op.attributes:
        if name in NAMES and name not in declared:
            raise OpError(op, f"takes no `{name}`")


def verify_parallel(op: Operation) -> None:
    """Raise VerifyException unless the threads of a parallel loop match its warps or groups."""
    threads, group, warps = integer(op, THREADS_ATTRIBUTE), integer(op, GROUP_ATTRIBUTE), warp_grid(op)
    if threads is None:
        if group is not None or warps is not None:
            word = GROUP_ATTRIBUTE if warps is None else WARPS_ATTRIBUTE
            raise VerifyException(f"{op.name}: has `{word}`, but no `threads`")
        return
    if group is not None and warps is not None:
        raise VerifyException(f"{op.name}: expected `warps` or `group`, got both")
    if warps is not None and prod(warps) * WARP != threads:
        raise VerifyException(
            f"{op.name}: {prod(warps)} warps have {prod(warps) * WARP} threads, but `threads` is {threads}"
        )
    if group is not None and group not in (WARP, threads):
        raise VerifyException(
            f"{op.name}: a `group` is a warp, {WARP} threads, or all {threads} of the block, got {group}"
        )


def verify_loop(op: Operation, parallel: Operation | None) -> None:
    """Raise VerifyException if a loop fetches ahead in a parallel loop that is not one of warps."""
    if STAGES_ATTRIBUTE in op.attributes and parallel is not None and warp_grid(parallel) is None:
        raise VerifyException(f"{op.name}: `stages` needs a {parallel.name} with `warps` around")


def verify_tile(op: Operation, tile: SSAValue) -> None:
    """Raise VerifyException unless a tile can be placed where its attributes say."""
    type = tile_type(tile)
    for word in (OFFSET_ATTRIBUTE, STAGES_ATTRIBUTE, SWIZZLED_ATTRIBUTE):
        if word in op.attributes and type.space.data is not Space.Shared:
            raise VerifyException(f"{op.name}: `{word}` needs a tile in shared memory, got {type}")
    if SWIZZLED_ATTRIBUTE in op.attributes:
        _verify_swizzled(op, type)
    if STAGES_ATTRIBUTE in op.attributes:
        loads = sum(ASYNC_ATTRIBUTE in writer.attributes for writer in writers(tile))
        if loads != 1:
            raise VerifyException(f"{op.name}: `stages` needs one load that is `async`, got {loads}")


def _verify_swizzled(op: Operation, type: TileType) -> None:
    if len(type.dims) != 2:
        raise VerifyException(f"{op.name}: only a block can be `swizzled`, got {type}")
    for name, dim in require_declared(op, type.dims).items():
        if name in type.dims and dim.block_size is None and dim.static_extent is None:
            raise VerifyException(f"{op.name}: `swizzled` needs blocks of known size, but {name} has none")
    offset = integer(op, OFFSET_ATTRIBUTE) or 0
    if offset % SWIZZLE_ALIGNMENT:
        raise VerifyException(
            f"{op.name}: a `swizzled` tile is aligned to {SWIZZLE_ALIGNMENT} bytes, got the offset {offset}"
        )


def verify_load(op: Operation, tile: SSAValue) -> None:
    """Raise VerifyException unless an asynchronous load fills shared memory and its tile has as many stages
    as its loop.
    """
    if ASYNC_ATTRIBUTE not in op.attributes:
        return
    type = tile_type(tile)
    if type.space.data is not Space.Shared:
        raise VerifyException(f"{op.name}: `async` needs a tile in shared memory, got {type}")
    tile_op, loop = tile.owner, op.parent_op()
    stages = integer(tile_op, STAGES_ATTRIBUTE) if isinstance(tile_op, Operation) else None
    if stages is None or loop is None:
        return
    ahead = integer(loop, STAGES_ATTRIBUTE)
    if ahead != stages:
        got = "has none" if ahead is None else f"has {ahead}"
        raise VerifyException(
            f"{op.name}: the tile has {stages} stages, but the loop around the load, {loop.name}, {got}"
        )


def verify_store(op: Operation, tile: SSAValue) -> None:
    """Raise VerifyException if a store through shared memory stores anything but a block in registers."""
    type = tile_type(tile)
    if OFFSET_ATTRIBUTE in op.attributes and (type.space.data is not Space.Register or len(type.dims) != 2):
        raise VerifyException(f"{op.name}: `offset` needs a block in registers, got {type}")
