"""Plan of a compiled program's calls: launches of kernels, and operations on whole arrays between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ...dialects import block, kernel
from ...dialects.diagnostics import OpError
from ...dialects.kernel.precision import largest_extent
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
    uses: tuple[tuple[ArrayUse, ...], ...]
    """For each array, the ways in which the kernel cuts it: none if it never accesses the array, several if
    it reads the array along different dims.
    """
    results: tuple[Axes, ...]
    """The dims of the axes of each result."""
    memory: ScratchMemory
    """Memory that the kernel allocates for itself."""
    largest_extent: int
    """The largest extent for which the kernel's indices are right, unless the program gives the extent."""

    def check_extents(self, lengths: Sequence[int]) -> None:
        """Raise InputError for an extent with which the kernel's indices would exceed 32 bits."""
        if max(lengths, default=0) <= self.largest_extent:
            return
        for (name, dim), extent in zip(self.dims.items(), lengths, strict=True):
            if dim.static_extent is None and extent > self.largest_extent:
                raise InputError(
                    f"dim {name} has extent {extent}, but '{self.name}' computes with its indices "
                    f"in 32 bits, which is right up to {self.largest_extent}"
                )

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

    @property
    def launches(self) -> Iterator[Launch]:
        """The launches among the steps."""
        return (step for step in self.steps if isinstance(step, Launch))


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
            uses = tuple(_uses_of(argument, dims) for argument in called.body.block.args)
            results_ = tuple(tuple(tuple(dim.data for dim in axis) for axis in axes) for axes in op.axes)
            memory, most = ScratchMemory(called), largest_extent(called)
            steps.append(Launch(op, called, dims, uses, results_, memory, most))
        elif op.name.startswith(("block.", "func.")):
            raise OpError(
                op, "is no launch of a kernel and no operation on arrays; run block-to-kernel first"
            )
        else:
            steps.append(op)
    return Plan(function, tuple(steps), results, _last_uses(steps, results))


def _uses_of(argument: SSAValue, dims: Mapping[str, block.DimAttr]) -> tuple[ArrayUse, ...]:
    found: list[ArrayUse] = []
    for use in argument.uses:
        cursor = use.operation
        if isinstance(cursor, kernel.CursorOp):
            item = cursor.result.type
            assert isinstance(item, kernel.CursorType)
            axes = tuple(tuple(axis) for axis in cursor.axis_dims)
            counts = frozenset(
                name for axis in axes for name in axis if name not in item.dims and not dims[name].is_batch
            )
            found.append(ArrayUse(axes, counts))
    return tuple(dict.fromkeys(found))


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
