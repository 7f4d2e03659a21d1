"""Faults planted in block programs: each mutant differs from its program in one place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from bb.dialects import block
from bb.dialects.attributes import EXACT_ATTRIBUTE
from bb.dialects.block import CoefficientAttr, Kind, KindAttr
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntAttr, IntegerAttr, f64, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

Fault = tuple[str, Callable[[], None]]
"""A fault: its description, and the function that plants it."""


@dataclass(frozen=True)
class Mutant:
    """A function with one fault, and what the fault is."""

    fault: str
    function: FuncOp


def mutants(
    function: FuncOp, count: int, random: Random, kinds: Collection[str] | None = None
) -> list[Mutant]:
    """`count` mutants of a function, spread evenly over the kinds of faults that it can have (or `kinds`)."""
    by_kind: dict[str, list[tuple[int, int]]] = {}
    for index, op in enumerate(function.walk()):
        for number, (label, _) in enumerate(faults(op)):
            if kinds is None or label in kinds:
                by_kind.setdefault(label, []).append((index, number))
    order = sorted(by_kind)
    random.shuffle(order)
    for label in order:
        random.shuffle(by_kind[label])
    found: list[Mutant] = []
    while len(found) < count and any(by_kind.values()):
        for label in order:
            places = by_kind[label]
            if places and len(found) < count:
                index, number = places.pop()
                copy = function.clone()
                op = next(op for position, op in enumerate(copy.walk()) if position == index)
                list(faults(op))[number][1]()
                found.append(Mutant(label, copy))
    return found


def faults(op: Operation) -> Iterator[Fault]:
    """The faults that can be planted at an operation."""
    match op:
        case block.BlockVectorOp():
            name = op.name.partition(".")[2]
            yield f"{name} dropped", lambda: op.result.replace_all_uses_with(op.block)
            other = {
                block.RowScaleOp: block.ColScaleOp,
                block.ColScaleOp: block.RowScaleOp,
                block.RowShiftOp: block.ColShiftOp,
                block.ColShiftOp: block.RowShiftOp,
            }[type(op)]
            if _is_square(op.block):
                yield f"{name} on the wrong side", lambda: _with_even_blocks(op, lambda: _replace(op, other))
            swapped = {
                block.RowScaleOp: block.RowShiftOp,
                block.RowShiftOp: block.RowScaleOp,
                block.ColScaleOp: block.ColShiftOp,
                block.ColShiftOp: block.ColScaleOp,
            }[type(op)]
            yield "scale and shift confused", lambda: _replace(op, swapped)
        case block.RowSumOp():
            yield "row_sum is row_max", lambda: _replace(op, block.RowMaxOp)
        case block.RowMaxOp():
            yield "row_max is row_sum", lambda: _replace(op, block.RowSumOp)
        case block.LinearOp():
            yield from _linear_faults(op)
        case block.MonomialOp():
            yield from _monomial_faults(op)
        case block.AddOp() | block.SubOp():
            yield "term dropped", lambda: op.result.replace_all_uses_with(op.lhs)
            yield "term dropped", lambda: op.result.replace_all_uses_with(op.rhs)
            yield "sign", lambda: _replace(op, block.SubOp if isinstance(op, block.AddOp) else block.AddOp)
        case block.MulOp():
            yield "factor dropped", lambda: op.result.replace_all_uses_with(op.lhs)
            yield "product is a sum", lambda: _replace(op, block.AddOp)
        case block.OuterOp():
            if _is_square(op.result):
                yield "outer transposed", lambda: _with_even_blocks(op, lambda: _swap(op))
        case block.DotOp():
            if _is_square(op.result):
                yield "dot transposed", lambda: _with_even_blocks(op, lambda: _swap(op))
            yield from _wrong_operands(op, "wrong dot operand")
        case block.MapOp():
            yield from _map_faults(op)
        case block.IndexOp():
            dims = [dim for dim in _result_dims(op) if dim != op.dim_name]
            if dims:
                yield "causal mask transposed", lambda: _swap_indices(op)
        case arith.ConstantOp():
            yield from _constant_faults(op)
        case arith.AddfOp() | arith.SubfOp():
            other = arith.SubfOp if isinstance(op, arith.AddfOp) else arith.AddfOp
            yield "scalar sign", lambda: _replace(op, other)
            yield "scalar term dropped", lambda: op.result.replace_all_uses_with(op.lhs)
        case arith.MulfOp() | arith.DivfOp():
            yield "scalar product is a sum", lambda: _replace(op, arith.AddfOp)
        case math.RsqrtOp() | math.SqrtOp():
            other = math.SqrtOp if isinstance(op, math.RsqrtOp) else math.RsqrtOp
            yield "another function", lambda: _replace(op, other)
        case math.ErfOp() | math.TanhOp():
            other = math.TanhOp if isinstance(op, math.ErfOp) else math.ErfOp
            yield "another function", lambda: _replace(op, other)
        case math.ExpOp():
            yield "another function", lambda: _replace(op, math.Exp2Op)
        case arith.CmpiOp():
            yield (
                "mask off by one",
                lambda: _set_predicate(op, {2: 3, 3: 2, 4: 5, 5: 4}[op.predicate.value.data]),
            )
        case _:
            pass


def _linear_faults(op: block.LinearOp) -> Iterator[Fault]:
    for index in range(len(op.terms)):
        yield "coefficient off by 1e-5", lambda i=index: _scale(op, i, Fraction(100001, 100000))
        yield "coefficient's sign", lambda i=index: _scale(op, i, Fraction(-1))
        if len(op.terms) > 1:
            yield "linear term dropped", lambda i=index: _scale(op, i, Fraction(0))
        if op.coefficients.data[index].factors:
            yield "extent missing", lambda i=index: _without_quantities(op, i)


def _scale(op: block.LinearOp, index: int, factor: Fraction) -> None:
    changed = list(op.coefficients.data)
    changed[index] = CoefficientAttr(changed[index].value * factor, changed[index].factors)
    op.coefficients = ArrayAttr(changed)


def _without_quantities(op: block.LinearOp, index: int) -> None:
    changed = list(op.coefficients.data)
    changed[index] = CoefficientAttr(changed[index].value)
    op.coefficients = ArrayAttr(changed)


def _monomial_faults(op: block.MonomialOp) -> Iterator[Fault]:
    for index, (_, exponent) in enumerate(op.pairs):
        for label, wrong in (("exponent", exponent + 1), ("reciprocal", -exponent)):
            if wrong:
                yield f"wrong {label}", lambda i=index, e=wrong: _set_exponent(op, i, e)


def _set_exponent(op: block.MonomialOp, index: int, exponent: int) -> None:
    changed = list(op.exponents.data)
    changed[index] = IntAttr(exponent)
    op.exponents = ArrayAttr(changed)


def _map_faults(op: block.MapOp) -> Iterator[Fault]:
    for index, kind in enumerate(op.result_kinds):
        if kind is Kind.Sum and op.result_pivots[index] is None:
            yield "sum is any", lambda i=index: _set_kind(op, i, Kind.Any)
            yield "sum is max", lambda i=index: _set_kind(op, i, Kind.Max)
    for index, value in enumerate(op.inputs):
        for wrong in op.inputs:
            if wrong is not value and wrong.type == value.type:
                yield "wrong list", lambda i=index, v=wrong: _set_operand(op, i, v)


def _set_kind(op: block.MapOp, index: int, kind: Kind) -> None:
    changed = list(op.kinds.data)
    changed[index] = KindAttr(kind)
    op.kinds = ArrayAttr(changed)


def _constant_faults(op: arith.ConstantOp) -> Iterator[Fault]:
    value = op.value
    if isinstance(value, FloatAttr) and abs(value.value.data) < float("inf"):
        exact = op.attributes.get(EXACT_ATTRIBUTE, value)
        assert isinstance(exact, FloatAttr)
        number = exact.value.data
        label = "epsilon" if 0 < abs(number) < 1e-3 else "constant"
        factor = 10 if label == "epsilon" else 1.0001
        yield f"{label} changed", lambda: _set_constant(op, number * factor if number else 1e-4)


def _set_constant(op: arith.ConstantOp, number: float) -> None:
    assert isinstance(op.value, FloatAttr)
    op.properties["value"] = FloatAttr(number, op.value.type)
    op.attributes[EXACT_ATTRIBUTE] = FloatAttr(number, f64)


def _set_predicate(op: arith.CmpiOp, number: int) -> None:
    op.properties["predicate"] = IntegerAttr(number, i64)


def _set_operand(op: Operation, index: int, value: SSAValue) -> None:
    op.operands[index] = value


def _wrong_operands(op: Operation, label: str) -> Iterator[Fault]:
    """Values computed before in the same body that have the type of an operand."""
    body = op.parent
    assert isinstance(body, Block)
    earlier: list[SSAValue] = []
    for other in body.ops:
        if other is op:
            break
        earlier.extend(other.results)
    for index, operand in enumerate(op.operands):
        for value in earlier:
            if value is not operand and value.type == operand.type:
                yield label, lambda i=index, v=value: _set_operand(op, i, v)


def _swap(op: Operation) -> None:
    op.operands = (op.operands[1], op.operands[0])


def _swap_indices(op: block.IndexOp) -> None:
    """Exchange the indices along the two dims of a block."""
    body = op.parent
    assert body is not None
    rows, columns = _result_dims(op)
    other = {rows: columns, columns: rows}
    for index in [inner for inner in body.ops if isinstance(inner, block.IndexOp)]:
        _replace_with(index, block.IndexOp(other[index.dim_name]))


def _result_dims(op: block.IndexOp) -> tuple[str, ...]:
    owner = op.parent_op()
    assert isinstance(owner, block.ElementwiseOp)
    type = owner.result.type
    return type.dims if isinstance(type, block.BlockType) else ()


def _with_even_blocks(op: Operation, change: Callable[[], None]) -> None:
    """Change an operator on a square block that stays as large when rows and columns are confused."""
    function = op.parent_op()
    while not isinstance(function, FuncOp):
        assert function is not None
        function = function.parent_op()
    dims = block.parse_dims(function.attributes[block.DIMS])
    for name, dim in dims.items():
        extent = dim.static_extent
        if extent is not None and not dim.is_batch:
            dims[name] = dim.with_block_size(
                next(size for size in (extent // 2, extent) if extent % size == 0)
            )
    function.attributes[block.DIMS] = block.dims_attr(dims)
    change()


def _is_square(value: SSAValue) -> bool:
    """True if a block's rows and columns have one extent."""
    owner = value.owner
    dims = block.declared_dims(owner if isinstance(owner, Operation) else owner.parent_op() or _no_op())
    if not isinstance(value.type, block.BlockType) or dims is None:
        return False
    rows, columns = (dims[dim].static_extent for dim in value.type.dims)
    return rows is not None and rows == columns


def _no_op() -> Operation:
    raise AssertionError("a block of a function has a parent")


def _replace(op: Operation, kind: type[Operation]) -> None:
    _replace_with(op, kind.create(operands=op.operands, result_types=[value.type for value in op.results]))


def _replace_with(op: Operation, new: Operation) -> None:
    body = op.parent
    assert body is not None
    body.insert_op_before(new, op)
    for before, after in zip(op.results, new.results, strict=True):
        before.replace_all_uses_with(after)
    op.detach()
    op.erase()
