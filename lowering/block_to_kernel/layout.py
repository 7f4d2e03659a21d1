"""Layout of the blocks of a kernel: the axis that is contiguous.

With rows in lanes, a<M,K>·b<N,K>ᵀ is the plane [N][M] that is computed from the plane [K][M] of a, for any
layout of b, whose elements are broadcast. The result can be the left operand of the next contraction without
packing. Statistics of rows are vectors. With few rows most lanes would be empty, so the columns run along the
lanes. The right operand of a contraction must then have its rows in lanes; it may be read in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue
from xdsl.utils.str_enum import StrEnum

from ...dialects import block
from ...dialects.kernel import Lanes
from ...passes.block.shapes.roles import FEW_ROWS


class Orientation(StrEnum):
    """Axis of the tiles of a kernel that runs along the lanes; or `auto`, which decides for each kernel."""

    Auto = "auto"
    Rows = "rows"
    Cols = "cols"


def orientation_of(ops: Iterable[Operation], dims: Mapping[str, block.DimAttr]) -> Lanes:
    """The better orientation for a kernel: rows, if there are contractions of many rows."""
    for op in ops:
        for inner in op.walk():
            if isinstance(inner, block.DotOp) and isinstance(inner.result.type, block.BlockType):
                rows = dims[inner.result.type.rows.data].block_size
                if rows is None or rows > FEW_ROWS:
                    return Lanes.Rows
    return Lanes.Cols


def is_block(value: SSAValue) -> bool:
    """True if a value is a block in the local tier."""
    return isinstance(value.type, block.BlockType) and block.is_local(value.type)


@dataclass
class Layouts:
    """The lanes of every local block of a kernel. All blocks of one sweep have the same lanes."""

    orientation: Lanes
    _parents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _turned: set[SSAValue] = field(default_factory=set[SSAValue])

    @classmethod
    def of(cls, ops: Iterable[Operation], orientation: Lanes) -> Layouts:
        """Assign lanes to the blocks in some operations and in their regions."""
        layouts = cls(orientation)
        inner = [inner for op in ops for inner in op.walk()]
        for op in inner:
            layouts._tie_all(op)
        if orientation is Lanes.Cols:
            results = {layouts._find(op.result) for op in inner if isinstance(op, block.DotOp)}
            operands = {layouts._find(op.rhs) for op in inner if isinstance(op, block.DotOp)}
            layouts._turned = operands - results
        return layouts

    def __getitem__(self, value: SSAValue) -> Lanes:
        if self.orientation is Lanes.Rows or self._find(value) in self._turned:
            return Lanes.Rows
        return Lanes.Cols

    def _tie_all(self, op: Operation) -> None:
        match op:
            case block.MapOp():
                for result, yielded in zip(op.results_, op.yield_op.arguments, strict=True):
                    self._tie(result, yielded)
            case block.DotOp() | block.OuterOp() | block.LoadOp() | block.StoreOp():
                return
            case _:
                for operand in op.operands:
                    for result in op.results:
                        self._tie(operand, result)
                for one, other in zip(op.operands, op.operands[1:], strict=False):
                    self._tie(one, other)

    def _tie(self, one: SSAValue, other: SSAValue) -> None:
        if is_block(one) and is_block(other):
            self._parents[self._find(one)] = self._find(other)

    def _find(self, value: SSAValue) -> SSAValue:
        while (parent := self._parents.get(value, value)) is not value:
            value = parent
        return value
