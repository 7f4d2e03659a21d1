"""Writes a block program anew, with exponentials carried as pairs of significand and exponent."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import block
from ...dialects.block import CoefficientAttr, Kind
from ..rules.items import through_cast
from .needs import escapes, is_exp, is_log, is_summed, wants_pair
from .values import Pair, UnevaluatedSum, Value, Writer, combined, exponents_of

_ONE = CoefficientAttr(1)


class Translator:
    """Translates one function. `pairs` counts the exponentials that are carried as pairs."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.known: dict[SSAValue, Value] = {}
        self.pairs = 0

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
        return self._made_plain(self.known[value], write)

    def _made_plain(self, value: Value, write: Writer) -> SSAValue:
        match value:
            case Pair():
                return write.materialized(value)
            case UnevaluatedSum():
                return write(block.LinearOp(value.terms), "sum")
            case _:
                return value

    def _significand(self, value: Value, write: Writer) -> SSAValue:
        return value.significand if isinstance(value, Pair) else self._made_plain(value, write)

    @staticmethod
    def _pair(significand: SSAValue, exponents: tuple[tuple[SSAValue, int], ...]) -> Value:
        return Pair(significand, exponents) if exponents else significand

    # Operations

    def _operation(self, op: Operation, write: Writer) -> None:
        values = [self.known[operand] for operand in op.operands]
        paired = any(not isinstance(value, SSAValue) for value in values)
        result: Value | None = None
        if isinstance(op, block.MapOp):
            self._map(op, write)
            return
        if isinstance(op, block.ElementwiseOp) and is_exp(op) and wants_pair(op):
            result = self._exp(op, write)
        elif paired:
            result = self._on_pairs(op, values, write)
        if result is None:
            result = self._copied(op, write)
        if op.results:
            hint = op.results[0].name_hint
            main = result.significand if isinstance(result, Pair) else result
            if isinstance(main, SSAValue) and hint is not None:
                main.name_hint = hint
            self.known[op.results[0]] = result

    def _copied(self, op: Operation, write: Writer) -> Value | None:
        copy = op.clone({operand: self._plain(operand, write) for operand in op.operands})
        write.body.add_op(copy)
        for before, after in zip(op.results, copy.results, strict=True):
            self.known[before] = after
        return copy.results[0] if copy.results else None

    def _exp(self, op: block.ElementwiseOp, write: Writer) -> Value:
        self.pairs += 1
        source = self.known[op.inputs[0]]
        x = self._made_plain(source, write)
        if not isinstance(x.type, block.BlockType) and not is_summed(op.result):
            # A factor of rows, exp of a statistic: the statistic is the exponent.
            if isinstance(source, UnevaluatedSum):
                return Pair(write.ones(x), tuple((term, int(c.value)) for c, term in source.terms))
            return Pair(write.ones(x), ((x, 1),))
        top = write(block.RowMaxOp(x), "top")
        shift = write.negated(write.finite(top))
        if isinstance(x.type, block.BlockType):
            shifted = write(block.RowShiftOp(x, shift), "shifted")
        else:
            shifted = write.elementwise([x, shift], x, "shifted", lambda to, args: to.add(args[0], args[1]))
        return Pair(write.exp(shifted), ((top, 1),))

    def _on_pairs(self, op: Operation, values: list[Value], write: Writer) -> Value | None:
        """The result of an operator some of whose operands are no plain values; None if it takes plain ones."""
        first = values[0]
        match op:
            case block.LoadOp() if isinstance(first, Pair):
                (exponent, _), *_ = first.exponents
                significand = write(block.LoadOp(first.significand))
                return Pair(significand, ((write(block.LoadOp(exponent), "exponent"), 1),))
            case block.StoreOp() if isinstance(first, Pair) and not escapes(op.result):
                exponent = write(block.StoreOp(write.exponent(first.exponents)), "exponent")
                return Pair(write(block.StoreOp(first.significand)), ((exponent, 1),))
            case block.RowSumOp() if isinstance(first, Pair):
                if len(first.exponents) == 1 and first.exponents[0][0].type == first.significand.type:
                    return None  # the exponent has an axis over what is summed
                return Pair(write(block.RowSumOp(first.significand, op.accumulator)), first.exponents)
            case block.DotOp() if isinstance(first, Pair):
                other = self._made_plain(values[1], write)
                return Pair(write(block.DotOp(first.significand, other, op.accumulator)), first.exponents)
            case block.OuterOp() if isinstance(first, Pair):
                other = self._made_plain(values[1], write)
                return Pair(write(block.OuterOp(first.significand, other)), first.exponents)
            case block.ColScaleOp() if isinstance(first, Pair):
                vector = self._made_plain(values[1], write)
                return Pair(write(block.ColScaleOp(first.significand, vector)), first.exponents)
            case block.RowScaleOp() | block.MulOp():
                parts = [self._significand(value, write) for value in values]
                exponents = combined(*((exponents_of(value), 1) for value in values))
                return self._pair(write(type(op)(*parts)), exponents)
            case block.MonomialOp():
                return self._monomial(op, values, write)
            case block.AddOp():
                return self._add(values[0], values[1], write)
            case block.LinearOp():
                return self._linear(op, values, write)
            case block.RowShiftOp() if isinstance(values[1], UnevaluatedSum):
                return self._shift(self._made_plain(first, write), values[1], write)
            case block.ElementwiseOp() if isinstance(first, Pair):
                return self._elementwise(op, first, write)
            case _:
                return None

    def _elementwise(self, op: block.ElementwiseOp, value: Pair, write: Writer) -> Value | None:
        if is_log(op):
            logarithm = write.log(value.significand)
            terms = [(CoefficientAttr(count), exponent) for exponent, count in value.exponents]
            return UnevaluatedSum((*terms, (_ONE, logarithm)))
        if through_cast(op.result) is not op.result:
            element_type = block.element_type_of(op.result.type)
            return Pair(write.as_type(value.significand, element_type), value.exponents)
        return None

    def _monomial(self, op: block.MonomialOp, values: list[Value], write: Writer) -> Value:
        factors: list[tuple[SSAValue, int]] = []
        parts: list[tuple[tuple[tuple[SSAValue, int], ...], int]] = []
        for value, (_, power) in zip(values, op.pairs, strict=True):
            significand = self._significand(value, write)
            if isinstance(value, Pair) and power < 0:
                significand, own = write.reciprocal_or_zero(significand), -power
            else:
                own = power
            factors.append((significand, own))
            parts.append((exponents_of(value), power))
        plain = factors[0][0] if [own for _, own in factors] == [1] else write(block.MonomialOp(factors))
        return self._pair(plain, combined(*parts))

    def _add(self, left: Value, right: Value, write: Writer) -> Value:
        a, b = self._significand(left, write), self._significand(right, write)
        if exponents_of(left) == exponents_of(right):
            return self._pair(write(self._sum_op(a, b)), exponents_of(left))
        exponents = [exponents_of(value) for value in (left, right)]
        known = [write.exponent(own) for own in exponents if own]
        tops = [write.exponent(own) if own else write.zeros(known[0]) for own in exponents]
        top = write.maximum(tops[0], tops[1])
        a, b = write.rescaled(a, tops[0], top), write.rescaled(b, tops[1], top)
        return Pair(write(self._sum_op(a, b)), ((top, 1),))

    @staticmethod
    def _sum_op(a: SSAValue, b: SSAValue) -> Operation:
        return block.AddOp(a, b) if isinstance(a.type, block.BlockType) else block.LinearOp([(_ONE, a), (_ONE, b)])

    def _linear(self, op: block.LinearOp, values: list[Value], write: Writer) -> Value:
        if any(isinstance(value, UnevaluatedSum) for value in values):
            terms: list[tuple[CoefficientAttr, SSAValue]] = []
            for coefficient, value in zip(op.coefficients, values, strict=True):
                if isinstance(value, UnevaluatedSum):
                    terms.extend((coefficient * own, term) for own, term in value.terms)
                else:
                    terms.append((coefficient, self._made_plain(value, write)))
            return UnevaluatedSum(tuple(terms))
        total: Value | None = None
        for coefficient, value in zip(op.coefficients, values, strict=True):
            significand = self._significand(value, write)
            if coefficient != _ONE:
                significand = write(block.LinearOp([(coefficient, significand)]))
            term = self._pair(significand, exponents_of(value))
            total = term if total is None else self._add(total, term, write)
        assert total is not None
        return total

    def _shift(self, item: SSAValue, shift: UnevaluatedSum, write: Writer) -> SSAValue:
        """One subtraction for each term. A term of -inf (a row that is masked everywhere) shifts by nothing."""
        for coefficient, term in shift.terms:
            vector = write.finite(term)
            if coefficient != _ONE:
                vector = write(block.LinearOp([(coefficient, vector)]))
            item = write(block.RowShiftOp(item, vector), "shifted")
        return item

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
                self.known[old] = Pair(significand, ((argument(known.exponents[0][0], "exponent"), 1),))
            else:
                assert isinstance(known, SSAValue)
                self.known[old] = argument(known, old.name_hint)
        self._body(op.body.block, inner)
        results = _Results(op, Writer(inner, op))
        for value, kind, old in zip(op.yield_op.arguments, op.result_kinds, op.results_, strict=True):
            results.take(self.known[value], kind, old, self)
        inner.add_op(block.YieldOp(*results.yielded))
        new = block.MapOp(op.dim_name, inputs, results.kinds, Region(inner), results.pivots)
        new.attributes.update(op.attributes)
        write(new)
        results.give(new, self.known)

    def made_plain(self, value: Value, write: Writer) -> SSAValue:
        """A plain value for any other."""
        return self._made_plain(value, write)


class _Results:
    """Collects what the translated body of a map yields."""

    def __init__(self, op: block.MapOp, write: Writer):
        self.write = write
        self.yielded: list[SSAValue] = []
        self.kinds: list[Kind] = []
        self.pivots: list[int | None] = []
        self._exponents: dict[tuple[Kind, tuple[tuple[SSAValue, int], ...]], int] = {}
        self._plan: list[tuple[SSAValue, int, int | None]] = []

    def _yield(self, value: SSAValue, kind: Kind, pivot: int | None = None) -> int:
        self.yielded.append(value)
        self.kinds.append(kind)
        self.pivots.append(pivot)
        return len(self.yielded) - 1

    def take(self, value: Value, kind: Kind, old: SSAValue, translator: Translator) -> None:
        if not isinstance(value, Pair) or kind in (Kind.Max, Kind.Min):
            self._plan.append((old, self._yield(translator.made_plain(value, self.write), kind), None))
            return
        key = kind, tuple(sorted(value.exponents, key=lambda pair: id(pair[0])))
        if key not in self._exponents:
            exponent = value.exponents[0][0] if kind is Kind.Stack else self.write.exponent(value.exponents)
            self._exponents[key] = self._yield(exponent, Kind.Max if kind is Kind.Sum else kind)
        exponent_index = self._exponents[key]
        index = self._yield(value.significand, kind, exponent_index if kind is Kind.Sum else None)
        self._plan.append((old, index, exponent_index))

    def give(self, new: block.MapOp, known: dict[SSAValue, Value]) -> None:
        for old, index, exponent in self._plan:
            result = new.results_[index]
            result.name_hint = old.name_hint
            if exponent is None:
                known[old] = result
            else:
                top = new.results_[exponent]
                top.name_hint = "top" if new.result_kinds[exponent] is Kind.Max else "exponent"
                known[old] = Pair(result, ((top, 1),))
