"""Plan of a kernel as records, ready to be written: every name is claimed, every decision is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from ....dialects import block
from ..source_text import mangle
from .geometry import Dim, Size, Window
from .layouts import Layout
from .loops import Bounds
from .scope import Form, Scope
from .staging import Barrier, Fetch, Ring


@dataclass(frozen=True)
class CudaKernel:
    """A function of CUDA source, with all that the host needs for a launch."""

    entry: str
    threads: int
    shared_bytes: int
    """Bytes of dynamic shared memory."""
    grid: tuple[str, ...]
    """The dims whose blocks are the iterations; the grid has one dimension, their product."""
    dims: Mapping[str, block.DimAttr]
    scratch: tuple[Size, ...]
    """Sizes of a block's own global memory; if there is any, each block runs several iterations."""
    layouts: tuple[Layout, ...]
    """The layout of each array in memory, which decides the strides that are arguments."""

    def tasks(self, extents: Mapping[str, int]) -> int:
        """Number of iterations."""
        return prod(_trips(self.dims[name], extents[name]) for name in self.grid)

    def scratch_bytes(self, extents: Mapping[str, int]) -> int:
        """Bytes of global memory of a block's own."""
        return sum(size.bytes(self.dims, extents) for size in self.scratch)

    @property
    def dynamic_extents(self) -> tuple[str, ...]:
        """The dims whose extents are arguments, in order."""
        return tuple(name for name, dim in self.dims.items() if dim.static_extent is None)


def _trips(dim: block.DimAttr, extent: int) -> int:
    if dim.is_whole:
        return 1
    return extent if dim.block_size is None else -(-extent // dim.block_size)


def entry_name(kernel_name: str, part: int = 0) -> str:
    """The name with C linkage of a kernel's function; several parallel loops have numbers of their own."""
    return f"bbk_{mangle(kernel_name)}" + (f"_part{part}" if part else "")


@dataclass(frozen=True, kw_only=True)
class View:
    """The declaration of a cursor's current block."""

    window: Window
    place: str
    """The comment that names the operation's place in the program; so in the other records."""


@dataclass(frozen=True, kw_only=True)
class Copying:
    """An asynchronous copy to shared memory."""

    fetch: Fetch
    place: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """An operation on tiles, in one form.

    Its writer reads `subject`: the operation, or a record if something had to be planned.
    """

    op: Operation
    form: Form
    subject: object
    place: str


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop over blocks. With a ring, blocks of later iterations are fetched during the computation with
    one.
    """

    dim: Dim
    bounds: Bounds
    ring: Ring | None
    stays_rolled: bool
    """True if the compiler must not unroll it: its addresses would not fit into registers."""
    body: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class RowPartLoop:
    """A loop whose iterations bring parts of the current row, several of them at a time."""

    dim: Dim
    body: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class RowLoop:
    """The loop of a group of threads over its rows of a block."""

    group: int
    step: int
    """Number of groups."""
    width: str
    """Expression of the rows of the block."""
    body: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class NanCheck:
    """A look for NaN in a sum that masks may have spoilt."""

    tile: SSAValue
    form: Form


Step = View | Copying | Statement | NanCheck | Barrier | Loop | RowPartLoop | RowLoop


@dataclass(frozen=True, kw_only=True)
class KernelPlan:
    """One parallel loop of a kernel, planned."""

    name: str
    launch: CudaKernel
    longest_last: frozenset[str]
    """Dims whose last blocks take longest: those start first, so that no thread block runs alone at the
    end.
    """
    resident: int
    """Blocks that a multiprocessor should hold at least; ptxas limits registers by it."""
    parameters: tuple[str, ...]
    scope: Scope
    steps: tuple[Step, ...]
    uses_lanes: bool
    """True if statements refer to the thread's warp and lane."""
    may_repeat: bool = False
    """True if contractions have masks, so that the body may run a second time, carefully."""
