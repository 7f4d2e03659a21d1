"""Translation of a block program into one that carries exponentials as pairs of significand and exponent."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects import block
from ....dialects.attributes import OWN_EXPONENT, POWER_OF_TWO
from ....dialects.block import CoefficientAttr
from ...analysis.facts import is_positive
from ...analysis.items import through_cast
from .needs import binary, escapes, is_bounded, is_exp, is_exp2, is_log, is_summed, own_maximum, wants_pair
from .results import Results
from .values import (
    Exponents,
    Pair,
    UnevaluatedSum,
    Value,
    Writer,
    combined,
    dims_of,
    exponents_of,
    wide,
)

_ONE = CoefficientAttr(1)
_MINUS_ONE = CoefficientAttr(-1)


class Translator:
    """Translates one function."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.known: dict[SSAValue, Value] = {}
        self._materialized: dict[tuple[Pair, Block], SSAValue] = {}

    def run(self) -> None:
        old = self.function.body.block
        new = Block(arg_types=old.arg_types)
        for before, after in zip(old.args, new.args, strict=True):
            after.name_hint, after.location = before.name_hint, before.location
            self.known[before] = after
        self._body(old, new)
        self.function.body.detach_block(old)
        self.function.body.add_block(new)
        old.erase(safe_erase=False)

    def _body(self, old: Block, new: Block) -> None:
        for op in old.ops:
            if not isinstance(op, block.YieldOp):
                self._operation(op, Writer(new, op))

    # Values

    def _plain(self, value: SSAValue, write: Writer) -> SSAValue:
        return self.made_plain(self.known[value], write)

    def made_plain(self, value: Value, write: Writer) -> SSAValue:
        """Return a plain value for a value of any kind."""
        match value:
            case Pair():
                key = value, write.body
                if key not in self._materialized:
                    self._materialized[key] = write.materialized(value)
                return self._materialized[key]
            case UnevaluatedSum():
                return write.as_type(_evaluated(value, write), value.element_type)
            case _:
                return value

    def _significand(self, value: Value, write: Writer) -> SSAValue:
        return value.significand if isinstance(value, Pair) else self.made_plain(value, write)

    # Operations

    def _operation(self, op: Operation, write: Writer) -> None:
        if isinstance(op, block.MapOp):
            self._map(op, write)
            return
        values = [self.known[operand] for operand in op.operands]
        if any(isinstance(value, Pair) and value.local for value in values):
            values = self._without_local_pairs(op, values, write)
        result: Value | None = None
        if OWN_EXPONENT in op.attributes:
            item, narrow = self._plain(op.operands[0], write), block.element_type_of(op.results[0].type)
            result = write.localized(item, narrow, op.attributes[OWN_EXPONENT] == POWER_OF_TWO)
        elif (top := own_maximum(op)) is not None:
            result = self._guarded(op, top, write)
        elif isinstance(op, block.ElementwiseOp) and is_exp(op) and wants_pair(op):
            result = self._exp(op, write)
        elif any(not isinstance(value, SSAValue) for value in values) or _divides_by_sum(op):
            result = self._on_pairs(op, values, write)
        if result is None:
            result = self._copied(op, write)
        if op.results:
            hint = op.results[0].name_hint
            main = result.significand if isinstance(result, Pair) else result
            if isinstance(main, SSAValue) and hint is not None:
                main.name_hint = hint
            assert result is not None
            self.known[op.results[0]] = result

    def _copied(self, op: Operation, write: Writer) -> Value | None:
        copy = op.clone({operand: self._plain(operand, write) for operand in op.operands})
        write.body.add_op(copy)
        for before, after in zip(op.results, copy.results, strict=True):
            self.known[before] = after
        return copy.results[0] if copy.results else None

    def _guarded(self, op: Operation, top: SSAValue, write: Writer) -> SSAValue:
        """Return a shift by an item's own maximum, which may be -inf."""
        pivot = write.finite(self._plain(top, write))
        if isinstance(op, block.BlockVectorOp):
            return write(type(op)(self._plain(op.block, write), write.negated(pivot)))
        plain = {operand: self._plain(operand, write) for operand in op.operands if operand is not top}
        return write(op.clone({**plain, top: pivot}))

    def _without_local_pairs(self, op: Operation, values: list[Value], write: Writer) -> list[Value]:
        """Return the operands of an operation; local pairs are plain values unless it carries them on."""
        match op:
            case block.LoadOp() | block.StoreOp() | block.ReduceOp():
                return values
            case block.DotOp() | block.RowScaleOp():
                return [values[0], *(self.made_plain(value, write) for value in values[1:])]
            case _:
                return [
                    self.made_plain(value, write) if isinstance(value, Pair) and value.local else value
                    for value in values
                ]

    # Exponentials

    def _exp(self, op: block.ElementwiseOp, write: Writer) -> Value:
        source = self.known[op.inputs[0]]
        if is_bounded(op.inputs[0]):
            return Pair(write(op.clone({op.inputs[0]: self.made_plain(source, write)})), ())
        if not isinstance(op.result.type, block.BlockType) and not is_summed(op.result):
            # A factor of rows, exp of a statistic: the statistic is the exponent.
            exponents = self._statistic(source, write)
            if is_exp2(op):
                exponents = tuple((write.natural(exponent), count) for exponent, count in exponents)
            return Pair(write.uniform(1.0, op.result, "one"), exponents)
        item = self.made_plain(source, write)
        top = self._row_max(item, write)
        pivot, item = write.widened(write.finite(top)), write.widened(item)
        shifted = self._shifted_down(item, pivot, write)
        base_2 = is_exp2(op)
        if base_2:
            top = write.natural(top)
            shifted = self._shifted_down(shifted, write.excess(pivot), write)
        kind = math.Exp2Op if base_2 else math.ExpOp
        significand = write.elementwise(
            [shifted], shifted.type, "exp", lambda to, args: to.insert(kind(args[0]))
        )
        return Pair(write.as_type(significand, block.element_type_of(op.result.type)), ((top, 1),))

    @staticmethod
    def _shifted_down(item: SSAValue, pivot: SSAValue, write: Writer) -> SSAValue:
        """Return an item minus one number for each of its rows."""
        if isinstance(item.type, block.BlockType):
            return write(block.RowShiftOp(item, write.negated(pivot)), "shifted")
        return write.elementwise(
            [item, pivot], item.type, "shifted", lambda to, args: to.subtract(args[0], args[1])
        )

    @staticmethod
    def _row_max(item: SSAValue, write: Writer) -> SSAValue:
        """Return the maximum of an item's rows: the existing one if there is one, so that it can cancel."""
        for use in item.uses:
            if isinstance(use.operation, block.RowMaxOp) and use.operation.parent is write.body:
                return use.operation.result
        return write(block.RowMaxOp(item), "top")

    def _statistic(self, value: Value, write: Writer) -> Exponents:
        """Return a vector as exponents: the terms of a sum with integer coefficients, or the vector
        itself.
        """
        plain = value if isinstance(value, UnevaluatedSum) else self.made_plain(value, write)
        terms: Sequence[tuple[CoefficientAttr, SSAValue]] = (
            ((_ONE, plain),) if isinstance(plain, SSAValue) else plain.terms
        )
        if isinstance(plain, SSAValue) and isinstance(plain.owner, block.LinearOp):
            terms = list(plain.owner.pairs)
        if all(not c.factors and c.value.denominator == 1 for c, _ in terms):
            return combined((tuple((term, c.value.numerator) for c, term in terms), 1))
        return ((plain if isinstance(plain, SSAValue) else _evaluated(plain, write), 1),)

    # Operators on what is no plain value

    def _on_pairs(self, op: Operation, values: list[Value], write: Writer) -> Value | None:
        """Return the result of an operator with operands that are pairs; None if it takes plain ones."""
        first = values[0]
        match op:
            case block.LoadOp() if isinstance(first, Pair):
                exponents = tuple(
                    (write(block.LoadOp(exponent), "exponent"), count) for exponent, count in first.exponents
                )
                return first.with_parts(write(block.LoadOp(first.significand)), exponents)
            case block.StoreOp() if isinstance(first, Pair) and not escapes(op.result):
                own = [write.settled(first)] if first.exponents else []
                exponents = tuple((write(block.StoreOp(exponent), "exponent"), 1) for exponent in own)
                return first.with_parts(write(block.StoreOp(first.significand)), exponents)
            case block.ReduceOp() if isinstance(first, Pair):
                return self._reduce(op, first, write)
            case block.RowSumOp() if isinstance(first, Pair):
                return self._row_sum(op, first, write)
            case block.DotOp() if isinstance(first, Pair):
                other = self.made_plain(values[1], write)
                kept = None if op.kept is None else self.made_plain(values[2], write)
                dot = block.DotOp(first.significand, other, op.accumulator, kept)
                return first.with_parts(write(dot))
            case block.OuterOp() if isinstance(first, Pair):
                other = self.made_plain(values[1], write)
                return Pair(write(block.OuterOp(first.significand, other)), first.exponents)
            case block.ColScaleOp() if isinstance(first, Pair):
                vector = self.made_plain(values[1], write)
                return Pair(write(block.ColScaleOp(first.significand, vector)), first.exponents)
            case block.RowScaleOp() if isinstance(first, Pair) and first.local:
                vector = self.made_plain(values[1], write)
                power = write.power(write.exponent(first.exponents), "power")
                power = write.as_type(power, block.element_type_of(vector.type))
                factor = write(block.MonomialOp([(vector, 1), (power, 1)]), vector.name_hint)
                return write(block.RowScaleOp(first.significand, factor))
            case block.RowScaleOp() | block.MulOp():
                parts = [self._significand(value, write) for value in values]
                exponents = combined(*((exponents_of(value), 1) for value in values))
                return Pair(write(type(op)(*parts)), exponents)
            case block.MonomialOp():
                return self._monomial(op, values, write)
            case block.AddOp():
                return self._add(values[0], values[1], write)
            case block.SubOp():
                return self._add(values[0], self._multiple(_MINUS_ONE, values[1], write), write)
            case block.LinearOp():
                return self._linear(op, values, write)
            case block.RowShiftOp() | block.ColShiftOp() if isinstance(values[1], UnevaluatedSum):
                return self._shift(op, self.made_plain(first, write), values[1], write)
            case block.ElementwiseOp():
                return self._elementwise(op, values, write)
            case _:
                return None

    def _row_sum(self, op: block.RowSumOp, value: Pair, write: Writer) -> Value:
        summed = dims_of(value.significand)[-1]
        if not any(summed in dims_of(exponent) for exponent, _ in value.exponents):
            return Pair(write(block.RowSumOp(value.significand, op.accumulator)), value.exponents)
        # A vector with an exponent for each element: all are brought to the largest.
        exponent = write.settled(value)
        top = write(block.RowMaxOp(exponent), "top")
        rescaled = write.rescaled(value.significand, exponent, top)
        return Pair(write(block.RowSumOp(rescaled, op.accumulator)), ((top, 1),))

    def _reduce(self, op: block.ReduceOp, value: Pair, write: Writer) -> Value:
        """Write a reduction as the map for which it is short."""
        inner = Block()
        loaded = Writer(inner, op)
        items: list[SSAValue] = []
        lists = [value.significand, *(exponent for exponent, _ in value.exponents)]
        for list_ in lists:
            assert isinstance(list_.type, block.ListType)
            argument = inner.insert_arg(list_.type.element, len(inner.args))
            argument.name_hint = list_.name_hint
            items.append(loaded(block.LoadOp(argument)))
        counts = [count for _, count in value.exponents]
        item = value.with_parts(items[0], tuple(zip(items[1:], counts, strict=True)))
        results = Results(self.made_plain, loaded)
        results.take(item, op.kind.data, op.result)
        inner.add_op(block.YieldOp(*results.yielded))
        new = block.MapOp(op.dim_name, lists, results.kinds, Region(inner), results.pivots)
        write(new)
        return results.given(new)[op.result]

    def _elementwise(self, op: block.ElementwiseOp, values: list[Value], write: Writer) -> Value | None:
        first = values[0]
        if isinstance(first, Pair):
            if is_log(op):
                logarithm = write.elementwise(
                    [write.widened(first.significand)],
                    block.item_type(dims_of(first.significand), wide(block.element_type_of(op.result.type))),
                    "log",
                    lambda to, args: to.insert(math.LogOp(args[0])),
                )
                terms = [(CoefficientAttr(count), exponent) for exponent, count in first.exponents]
                return UnevaluatedSum.of([*terms, (_ONE, logarithm)], block.element_type_of(op.result.type))
            if through_cast(op.result) is not op.result:
                element_type = block.element_type_of(op.result.type)
                return Pair(write.as_type(first.significand, element_type), first.exponents)
        parts = binary(op)
        if parts is None:
            return None
        scalar, left, right = parts
        match scalar:
            case arith.MulfOp():
                return self._product(op, (left, 1), (right, 1), values, write)
            case arith.DivfOp():
                return self._product(op, (left, 1), (right, -1), values, write)
            case arith.SubfOp() if isinstance(values[right], UnevaluatedSum):
                return self._difference(op, values[left], values[right], write)
            case _:
                return None

    def _product(
        self,
        op: block.ElementwiseOp,
        left: tuple[int, int],
        right: tuple[int, int],
        values: Sequence[Value],
        write: Writer,
    ) -> Value | None:
        """An item times another, or divided by it, one broadcast along the other."""
        rows = dims_of(op.result)[:1]
        exponents = combined(*((exponents_of(values[index]), power) for index, power in (left, right)))
        if any(dims_of(exponent) not in ((), rows) for exponent, _ in exponents):
            return None
        factors: list[SSAValue] = []
        multiplies = True
        for index, power in (left, right):
            factor = self._significand(values[index], write)
            divides = power < 0 and (isinstance(values[index], Pair) or is_positive(op.inputs[index]))
            factors.append(write.reciprocal_or_zero(factor) if divides else factor)
            multiplies = power > 0 or divides
        significand = write.elementwise(
            factors,
            op.result.type,
            op.result.name_hint,
            lambda to, args: to.multiply(*args) if multiplies else to.divide(*args),
        )
        return Pair(significand, exponents)

    def _difference(self, op: block.ElementwiseOp, item: Value, shift: Value, write: Writer) -> Value:
        """Return an item minus an unevaluated sum, which is broadcast along it."""
        assert isinstance(shift, UnevaluatedSum)
        result = write.widened(self.made_plain(item, write))
        wide_type = block.item_type(dims_of(op.result), block.element_type_of(result.type))
        for coefficient, term in shift.terms:
            vector = write.multiple(coefficient, write.widened(write.finite(term)))
            result = write.elementwise(
                [result, vector], wide_type, "shifted", lambda to, args: to.subtract(args[0], args[1])
            )
        return write.as_type(result, block.element_type_of(op.result.type))

    def _monomial(self, op: block.MonomialOp, values: list[Value], write: Writer) -> Value:
        factors: list[tuple[SSAValue, int]] = []
        parts: list[tuple[Exponents, int]] = []
        for value, (factor, power) in zip(values, op.pairs, strict=True):
            significand = self._significand(value, write)
            if power < 0 and (isinstance(value, Pair) or is_positive(factor)):
                significand, own = write.reciprocal_or_zero(significand), -power
            else:
                own = power
            factors.append((significand, own))
            parts.append((exponents_of(value), power))
        only = [own for _, own in factors] == [1]
        return Pair(factors[0][0] if only else write(block.MonomialOp(factors)), combined(*parts))

    def _add(self, left: Value, right: Value, write: Writer) -> Value:
        a, b = self._significand(left, write), self._significand(right, write)
        if exponents_of(left) == exponents_of(right):
            return Pair(write(_sum_op(a, b)), exponents_of(left))
        tops = [
            write.settled(value) if isinstance(value, Pair) and value.exponents else None
            for value in (left, right)
        ]
        known = next(top for top in tops if top is not None)
        of_left, of_right = (
            write.widened(write.uniform(0.0, known, "zero") if top is None else top) for top in tops
        )
        top = write.maximum(of_left, of_right)
        return Pair(
            write(_sum_op(write.rescaled(a, of_left, top), write.rescaled(b, of_right, top))), ((top, 1),)
        )

    def _multiple(self, coefficient: CoefficientAttr, value: Value, write: Writer) -> Value:
        significand = write.multiple(coefficient, self._significand(value, write))
        return Pair(significand, exponents_of(value)) if isinstance(value, Pair) else significand

    def _linear(self, op: block.LinearOp, values: list[Value], write: Writer) -> Value:
        if any(isinstance(value, UnevaluatedSum) for value in values):
            terms: list[tuple[CoefficientAttr, SSAValue]] = []
            for coefficient, value in zip(op.coefficients, values, strict=True):
                if isinstance(value, UnevaluatedSum):
                    terms.extend((coefficient * own, term) for own, term in value.terms)
                else:
                    terms.append((coefficient, self.made_plain(value, write)))
            return UnevaluatedSum.of(terms, block.element_type_of(op.result.type))
        total: Value | None = None
        for coefficient, value in zip(op.coefficients, values, strict=True):
            term = self._multiple(coefficient, value, write)
            total = term if total is None else self._add(total, term, write)
        assert total is not None
        return total

    def _shift(
        self, op: block.BlockVectorOp, item: SSAValue, shift: UnevaluatedSum, write: Writer
    ) -> SSAValue:
        """Subtract each term. A term of -inf (all of a row is masked) subtracts nothing."""
        result = write.widened(item)
        for coefficient, term in shift.terms:
            vector = write.spread(write.widened(write.finite(term)), dims_of(op.vector))
            result = write(type(op)(result, write.multiple(coefficient, vector)), "shifted")
        return write.as_type(result, block.element_type_of(item.type))

    # Maps

    def _map(self, op: block.MapOp, write: Writer) -> None:
        inner = Block()
        inputs: list[SSAValue] = []

        def argument(value: SSAValue, hint: str | None) -> SSAValue:
            assert isinstance(value.type, block.ListType)
            inputs.append(value)
            new = inner.insert_arg(value.type.element, len(inner.args))
            new.name_hint = hint
            return new

        for old, value in zip(op.body.block.args, op.inputs, strict=True):
            known = self.known[value]
            if isinstance(known, Pair):
                significand = argument(known.significand, old.name_hint)
                exponents = tuple(
                    (argument(exponent, "exponent"), count) for exponent, count in known.exponents
                )
                self.known[old] = Pair(significand, exponents)
            else:
                assert isinstance(known, SSAValue)
                self.known[old] = argument(known, old.name_hint)
        self._body(op.body.block, inner)
        results = Results(self.made_plain, Writer(inner, op))
        for value, kind, old in zip(op.yield_op.arguments, op.result_kinds, op.results_, strict=True):
            results.take(self.known[value], kind, old)
        inner.add_op(block.YieldOp(*results.yielded))
        new = block.MapOp(op.dim_name, inputs, results.kinds, Region(inner), results.pivots)
        new.attributes.update(op.attributes)
        write(new)
        self.known.update(results.given(new))


def _divides_by_sum(op: Operation) -> bool:
    """True if an operator divides by a sum of exponentials, which is positive in exact arithmetic.

    It is 0 if all of them are masked. The quotient is then defined as 0.
    """
    if isinstance(op, block.MonomialOp):
        return any(power < 0 and is_positive(factor) for factor, power in op.pairs)
    parts = binary(op)
    if parts is None or not isinstance(parts[0], arith.DivfOp):
        return False
    return is_positive(op.operands[parts[2]])


def _evaluated(value: UnevaluatedSum, write: Writer) -> SSAValue:
    if len(value.terms) == 1 and value.terms[0][0] == _ONE:
        return value.terms[0][1]
    return write.total(value.terms, max((dims_of(term) for _, term in value.terms), key=len), "sum")


def _sum_op(a: SSAValue, b: SSAValue) -> Operation:
    return (
        block.AddOp(a, b) if isinstance(a.type, block.BlockType) else block.LinearOp([(_ONE, a), (_ONE, b)])
    )
