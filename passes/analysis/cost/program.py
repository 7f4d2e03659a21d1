"""The kernels of a block program with its extents, ready for the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from ....dialects import block
from ..ranges import largest_extents
from ..traffic.block import ASSUMED_BLOCK_SIZE, ASSUMED_EXTENT
from .machine import Machine
from .model import CostModel, Extent, KernelCost
from .plan import KernelPlan, plan_function


@dataclass(frozen=True)
class CostedProgram:
    """A block program on a machine: its kernels, the dims as it declares them, and their extents.

    A dim of unknown extent has the extent that is given, else the largest of its range, else an assumed one.
    """

    name: str
    dims: Mapping[str, block.DimAttr]
    lengths: Mapping[str, int]
    plans: tuple[KernelPlan, ...]
    model: CostModel

    @classmethod
    def of(cls, function: FuncOp, machine: Machine, given: Mapping[str, int] = {}) -> CostedProgram:
        """The program of a function. `given` are extents of dims; they replace unknown and known ones."""
        dims = block.parse_dims(function.attributes[block.DIMS])
        likely = largest_extents(function, dims)
        lengths = {name: given.get(name) or likely[name].static_extent or ASSUMED_EXTENT for name in dims}
        plans = tuple(plan_function(function))
        return cls(function.sym_name.data, dims, lengths, plans, CostModel(machine, plans))

    def size(self, name: str) -> int:
        """The block size of a dim: as declared, else an assumed one."""
        dim, length = self.dims[name], self.lengths[name]
        if dim.is_batch:
            return 1
        if dim.is_whole:
            return length
        return min(dim.block_size or ASSUMED_BLOCK_SIZE, length)

    def extents(self, sizes: Mapping[str, object] = {}) -> dict[str, Extent]:
        """The dims for the model, with some block sizes other than they are now: numbers, or arrays."""
        return {
            name: Extent(self.lengths[name], sizes.get(name, float(self.size(name))), dim.is_batch)
            for name, dim in self.dims.items()
        }

    def costs(self, sizes: Mapping[str, object] = {}) -> list[KernelCost]:
        """The cost of each kernel, in order."""
        extents = self.extents(sizes)
        return [self.model.cost(plan, extents) for plan in self.plans]

    def seconds(self, sizes: Mapping[str, object] = {}) -> float:
        """Seconds of a call, without what runs only once."""
        costs = zip(self.plans, self.costs(sizes), strict=True)
        return float(self.model.call_seconds(cost for plan, cost in costs if not plan.once))
