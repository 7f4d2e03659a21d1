"""Plan of a compiled program's calls: launches of kernels, and operations on whole arrays between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ...dialects import block, kernel
from ...dialects.diagnostics import OpError
from ...lowering.emit.cpp import dims_in_order
from ..errors import InputError
from .scratch_memory import ScratchMemory

Axes = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ArrayUse:
    """Use of an array by a kernel: the dims of each axis, and those that count blocks, not elements."""

    axes: Axes
    block_counts: frozenset[str]


@dataclass(frozen=True)
class Launch:
    """One run of a kernel."""

    op: kernel.LaunchOp
    function: kernel.FuncOp
    dims: Mapping[str, block.DimAttr]
    uses: tuple[ArrayUse | None, ...]
    """For each array; None for one that the kernel never accesses."""
    results: tuple[Axes, ...]
    """The dims of the axes of each result."""
    memory: ScratchMemory
    """Memory that the kernel allocates for itself."""

    @property
    def name(self) -> str:
        return self.function.sym_name.data


@dataclass(frozen=True)
class Plan:
    """The steps of one function, in order: launches, and operations on arrays."""

    function: FuncOp
    steps: tuple[Launch | Operation, ...]
    results: tuple[SSAValue, ...]
    last_uses: Mapping[int, tuple[SSAValue, ...]] = field(default_factory=dict[int, "tuple[SSAValue, ...]"])
    """The values that no later step needs, by the number of the step."""


def plan_of(module: ModuleOp, function: FuncOp) -> Plan:
    """Return the plan of a function that `block-to-kernel` wrote. Raises OpError for an operation that no CPU
    can run.
    """
    kernels = {op.sym_name.data: op for op in kernel.kernels_of(module)}
    steps: list[Launch | Operation] = []
    results: tuple[SSAValue, ...] = ()
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            results = tuple(op.arguments)
        elif isinstance(op, kernel.LaunchOp):
            called = kernels[op.kernel_name]
            dims = dims_in_order(called)
            uses = tuple(_use_of(argument, dims) for argument in called.body.block.args)
            results_ = tuple(tuple(tuple(dim.data for dim in axis) for axis in axes) for axes in op.axes)
            steps.append(Launch(op, called, dims, uses, results_, ScratchMemory(called)))
        elif op.name.startswith(("block.", "func.")):
            raise OpError(
                op, "is no launch of a kernel and no operation on arrays; run block-to-kernel first"
            )
        else:
            steps.append(op)
    return Plan(function, tuple(steps), results, _last_uses(steps, results))


def _use_of(argument: SSAValue, dims: Mapping[str, block.DimAttr]) -> ArrayUse | None:
    for use in argument.uses:
        cursor = use.operation
        if isinstance(cursor, kernel.CursorOp):
            item = cursor.result.type
            assert isinstance(item, kernel.CursorType)
            axes = tuple(tuple(axis) for axis in cursor.axis_dims)
            counts = frozenset(
                name for axis in axes for name in axis if name not in item.dims and not dims[name].is_batch
            )
            return ArrayUse(axes, counts)
    return None


def _last_uses(
    steps: Sequence[Launch | Operation], results: Sequence[SSAValue]
) -> dict[int, tuple[SSAValue, ...]]:
    last: dict[SSAValue, int] = {}
    for number, step in enumerate(steps):
        op = step.op if isinstance(step, Launch) else step
        last.update(dict.fromkeys((*op.operands, *op.results), number))
    found: dict[int, list[SSAValue]] = {}
    for value, number in last.items():
        if value not in results:
            found.setdefault(number, []).append(value)
    return {number: tuple(values) for number, values in found.items()}


class Extents:
    """The extents of a program's dims in one call, learnt from the shapes of its arrays."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def learn(self, launch: Launch, position: int, shape: Sequence[int]) -> None:
        """Set the dims of an array's axes from its shape. Raises InputError if arrays disagree."""
        use = launch.uses[position]
        if use is None:
            return
        for extent, axis in zip(shape, use.axes, strict=True):
            names = [name for name in axis if name not in use.block_counts]
            if len(names) != len(axis):
                continue  # counts blocks: some other array has the extent
            known, unknown = 1, list[str]()
            for name in names:
                own = self._known.get(name) or launch.dims[name].static_extent
                if own is None:
                    unknown.append(name)
                else:
                    known *= own
            if len(unknown) == 1 and extent % known == 0:
                self._known[unknown[0]] = extent // known
            elif not unknown and known != extent:
                text = " * ".join(names) or "1"
                raise InputError(
                    f"the extents of two arrays disagree: {text} is {known} for one and {extent} for another"
                )

    def of(self, launch: Launch) -> list[int]:
        """Return the extents of a kernel's dims, in order. Raises InputError for one that no array gives."""
        extents: list[int] = []
        for name, dim in launch.dims.items():
            extent = dim.static_extent if dim.static_extent is not None else self._known.get(name)
            if extent is None:
                raise InputError(f"no array gives the extent of dim {name}")
            extents.append(extent)
        return extents

    def shape(self, launch: Launch, number: int, lengths: Sequence[int]) -> list[int]:
        """Return the shape of a result of a kernel, by its number, from the extents of the kernel's dims."""
        use = launch.uses[len(launch.op.inputs) + number]
        extents = dict(zip(launch.dims, lengths, strict=True))
        shape: list[int] = []
        for axis in launch.results[number]:
            product = 1
            for name in axis:
                extent, size = extents[name], launch.dims[name].block_size
                counts = use is not None and name in use.block_counts
                product *= -(-extent // size) if counts and size is not None else extent
            shape.append(product)
        return shape
