"""Traffic and work of a block program, as functions of its dims.

Every `block.load` moves one item from global to local memory in each iteration of the maps around it, every
`block.store` one back. A `block.reduce` loads its whole list. Over all iterations of a map over one of its
dims, an item's elements add up to exactly the dim's extent, ragged last blocks included. A map over another
dim repeats them once for each block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from ....dialects import block
from ....dialects.array.core import bit_width
from .symbolic import ZERO, Polynomial, Symbol

_FREE = frozenset(
    {
        "arith.constant",
        *("arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", "arith.fptosi"),
        *("arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci"),
        *("block.index", "block.extent"),
    }
)
"""Scalar operations that do not count as arithmetic."""


def scalar_flops(op: block.ElementwiseOp) -> int:
    """Arithmetic operations an element of an element-wise op; constants, casts and indices are free."""
    return sum(1 for inner in op.body.block.ops if inner.results and inner.name not in _FREE)


def algebra_flops(op: block.LinearOp | block.MonomialOp) -> int:
    """Arithmetic operations an element of a linear form (a multiply-add a term) or of a product of powers."""
    if isinstance(op, block.LinearOp):
        return 2 * len(op.terms) - 1
    return sum(abs(exponent) + (exponent < 0) for _, exponent in op.pairs) - 1 or 1


def item_bytes(element_type: Attribute) -> int:
    """Bytes an element takes in memory; an i1 takes one."""
    return max(1, bit_width(element_type) // 8)


@dataclass(frozen=True)
class Traffic:
    """Items moved, bytes moved, and floating-point operations (a multiply-add counts as two)."""

    loads: Polynomial = ZERO
    stores: Polynomial = ZERO
    bytes_loaded: Polynomial = ZERO
    bytes_stored: Polynomial = ZERO
    flops: Polynomial = ZERO

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def evaluate(self, values: Mapping[Symbol, int]) -> dict[str, int]:
        """The numbers. Raises KeyError where a symbol has none."""
        return {f.name: getattr(self, f.name).evaluate(values) for f in fields(self)}

    def expressions(self) -> dict[str, str]:
        return {f.name: str(getattr(self, f.name)) for f in fields(self)}


class _Meter:
    def __init__(self, dims: Mapping[str, block.DimAttr], values: Mapping[Symbol, int] | None = None):
        self.dims = dims
        self.values = values
        """Numbers that replace the symbols at once, which is cheaper if only numbers are needed."""

    def symbol(self, dim: str, blocks: bool = False, first: bool = False) -> Polynomial:
        symbol = Symbol(dim, blocks, first)
        return Polynomial.symbol(symbol) if self.values is None else Polynomial.constant(self.values[symbol])

    def blocks(self, dim: str) -> Polynomial:
        declared = self.dims[dim]
        if declared.is_whole:
            return Polynomial.constant(1)
        return self.symbol(dim, blocks=not declared.is_batch)

    def trips(self, loops: tuple[str, ...]) -> Polynomial:
        total = Polynomial.constant(1)
        for dim in loops:
            total *= self.blocks(dim)
        return total

    def along(self, dim: str, loops: tuple[str, ...]) -> Polynomial:
        """Elements along one axis, over all iterations of a map over its dim; outside one, of the first
        block.
        """
        return self.symbol(dim, first=dim not in loops and not self.dims[dim].is_whole)

    def elements(self, item: block.ItemType, loops: tuple[str, ...]) -> Polynomial:
        """Elements of an item, summed over all iterations of the maps over `loops`."""
        total = Polynomial.constant(1)
        for dim in item.dims:
            total *= self.along(dim, loops)
        return total * self.trips(tuple(dim for dim in loops if dim not in item.dims))

    def moved(self, item: Attribute, loops: tuple[str, ...]) -> tuple[Polynomial, Polynomial]:
        assert isinstance(item, block.ItemType)
        return self.trips(loops), self.elements(item, loops) * item_bytes(item.element_type)

    def of(self, op: Operation, loops: tuple[str, ...]) -> Traffic:
        """Traffic of one operation, with all that it contains, inside maps over `loops`."""
        match op:
            case block.MapOp():
                return self.of_map(op, (*loops, op.dim_name))
            case block.LoadOp():
                loads, bytes = self.moved(op.source.type, loops)
                return Traffic(loads=loads, bytes_loaded=bytes)
            case block.StoreOp():
                stores, bytes = self.moved(op.result.type, loops)
                return Traffic(stores=stores, bytes_stored=bytes)
            case block.ReduceOp():
                inside = (*loops, op.dim_name)
                assert isinstance(op.result.type, block.ItemType)
                loads, bytes = self.moved(op.result.type, inside)
                return Traffic(loads=loads, bytes_loaded=bytes, flops=self.elements(op.result.type, inside))
            case block.DotOp():
                assert isinstance(op.lhs.type, block.BlockType)
                assert isinstance(op.rhs.type, block.BlockType)
                a, b = op.lhs.type.dims, op.rhs.type.dims
                product = self.along(a[0], loops) * self.along(b[0], loops) * self.along(a[1], loops)
                outside = tuple(dim for dim in loops if dim not in (*a, *b))
                return Traffic(flops=product * self.trips(outside) * 2)
            case block.ElementwiseOp():
                assert isinstance(op.result.type, block.ItemType)
                return Traffic(flops=self.elements(op.result.type, loops) * scalar_flops(op))
            case block.RowSumOp() | block.RowMaxOp() | block.RowMinOp():
                assert isinstance(op.operand.type, block.ItemType)
                return Traffic(flops=self.elements(op.operand.type, loops))
            case block.LinearOp() | block.MonomialOp():
                assert isinstance(op.result.type, block.ItemType)
                return Traffic(flops=self.elements(op.result.type, loops) * algebra_flops(op))
            case block.LocalOp():
                assert isinstance(op.result.type, block.ItemType)
                return Traffic(flops=self.elements(op.result.type, loops))
            case _:
                return Traffic()

    def of_map(self, op: block.MapOp, loops: tuple[str, ...]) -> Traffic:
        total = Traffic()
        for inner in op.body.block.ops:
            total += self.of(inner, loops)
        for value, kind in zip(op.yield_op.arguments, op.result_kinds, strict=True):
            if kind.reduces and isinstance(value.type, block.ItemType):
                total += Traffic(flops=self.elements(value.type, loops))
        return total


def traffic_of(op: Operation, dims: Mapping[str, block.DimAttr]) -> Traffic:
    """Traffic of an operation at the top level of a function."""
    return _Meter(dims).of(op, ())


def traffic_in_loops(op: Operation, loops: tuple[str, ...], dims: Mapping[str, block.DimAttr]) -> Traffic:
    """Traffic of an operation inside of maps over these dims."""
    return _Meter(dims).of(op, loops)


def traffic_of_function(function: FuncOp) -> list[tuple[Operation, Traffic]]:
    """The traffic of each operation at the top of a block program that has any, in order."""
    dims = block.declared_dims(function) or {}
    rows = [(op, traffic_of(op, dims)) for op in function.body.block.ops]
    return [(op, traffic) for op, traffic in rows if traffic != Traffic()]


def modelled_traffic(function: FuncOp) -> dict[str, int]:
    """Return what a block program moves and computes, at the declared or at assumed sizes."""
    dims = block.declared_dims(function) or {}
    values = modelled_values(dims)
    meter, total = _Meter(dims, values), Traffic()
    for op in function.body.block.ops:
        total += meter.of(op, ())
    return total.evaluate(values)


def known_values(dims: Mapping[str, block.DimAttr]) -> dict[Symbol, int]:
    """The extents and block counts that a program's dims declare."""
    values: dict[Symbol, int] = {}
    for name, dim in dims.items():
        extent, size = dim.static_extent, dim.block_size
        if extent is not None:
            values[Symbol(name)] = extent
            if size is not None:
                values[Symbol(name, blocks=True)] = -(-extent // size)
                values[Symbol(name, first=True)] = min(extent, size)
    return values


def values_for(extents: Mapping[str, int], sizes: Mapping[str, int]) -> dict[Symbol, int]:
    """Numbers for all symbols, from extents and block sizes."""
    values = {Symbol(name): extent for name, extent in extents.items()}
    for name, size in sizes.items():
        values[Symbol(name, blocks=True)] = -(-extents[name] // size)
        values[Symbol(name, first=True)] = min(extents[name], size)
    return values


ASSUMED_BLOCK_SIZE = 64
"""Elements a block where a program leaves its block sizes open and snapshots are to be compared."""

ASSUMED_EXTENT = 1024
"""Elements along a dim of unknown extent, for the same purpose."""


def modelled_values(dims: Mapping[str, block.DimAttr]) -> dict[Symbol, int]:
    """Numbers for all symbols of a program, assumed where it declares none."""
    extents = {name: dim.static_extent or ASSUMED_EXTENT for name, dim in dims.items()}
    sizes = {
        name: extents[name] if dim.is_whole else dim.block_size or ASSUMED_BLOCK_SIZE
        for name, dim in dims.items()
    }
    return values_for(extents, sizes)


def contraction_flops(function: FuncOp) -> Polynomial:
    """Operations of all contractions. Those beyond the number of the unfused program are recomputation."""
    meter = _Meter(block.declared_dims(function) or {})

    def visit(body: Block, loops: tuple[str, ...]) -> Polynomial:
        total = Polynomial({})
        for op in body.ops:
            if isinstance(op, block.MapOp):
                total += visit(op.body.block, (*loops, op.dim_name))
            elif isinstance(op, block.DotOp):
                total += meter.of(op, loops).flops
        return total

    return visit(function.body.block, ())
