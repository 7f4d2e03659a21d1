"""Writes maps as loops, and views, stores and opaque operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import block
from .expressions import (
    ONE,
    Call,
    Expr,
    Infix,
    Name,
    PerElement,
    Product,
    Transposed,
    negated,
    product,
    total,
)
from .hints import hint_of, position
from .items import ItemWriter, dims_of
from .layout import Line, Loop
from .places import Place, Root, axes_of_view

_NEUTRAL = {block.Kind.Sum: "0", block.Kind.Max: "-inf", block.Kind.Min: "inf"}

MAKERS = (block.StoreOp, block.MapOp)
"""Operations that write their results directly where they are needed."""
_MANY = (block.MapOp, block.CustomOp)


class _Accumulator(NamedTuple):
    """A reduced result; `pivot` is the result with the maximum that a sum is relative to."""

    name: str
    kind: block.Kind
    pivot: SSAValue | None = None


@dataclass
class _Wanted:
    """The use that a map makes of a value yielded by its body."""

    accumulate: list[_Accumulator] = field(default_factory=list[_Accumulator])
    names: list[str] = field(default_factory=list[str])
    places: list[Place] = field(default_factory=list[Place])
    passed_on: list[SSAValue] = field(default_factory=list[SSAValue])
    is_exponent: bool = False

    @property
    def comes_last(self) -> bool:
        """True if it is accumulated at the end of the body: relative sums, and maxima."""
        return self.is_exponent or any(accumulator.pivot is not None for accumulator in self.accumulate)


class NestWriter(ItemWriter):
    """Writes the block operations of one function, one after the other, as statements."""

    def write(self, op: Operation) -> None:
        """Write one operation of the block dialect."""
        match op:
            case block.MapOp():
                self._map(op)
            case block.StoreOp():
                self._store(op)
            case block.PartitionOp():
                self._partition(op)
            case block.AssembleOp():
                self._assemble(op)
            case block.FirstOp():
                assert isinstance(op.list.type, block.ListType)
                dim = op.list.type.dim.data
                self.places[op.result] = self.places[op.list].at(dim, f"first {dim}")
            case block.CustomOp():
                self._custom(op)
            case _ if op.name.startswith("block.") and len(op.results) == 1:
                self._compute(op)
            case _:
                self._foreign(op)

    # Views

    def name_array(self, op: block.AssembleOp, name: str) -> None:
        """Name an assembled array; the list of its blocks is then written as parts of that array."""
        self.roots[op.result] = Root(name, axes_of_view(op))
        if isinstance(op.list.owner, MAKERS):
            self.places.setdefault(op.list, Place(self.roots[op.result]))

    def _partition(self, op: block.PartitionOp) -> None:
        array, axes = op.tensor.owner, axes_of_view(op)
        if isinstance(array, block.AssembleOp) and axes_of_view(array) == axes:
            self.places[op.result] = self.places[array.list]
            return
        root = Root(self.described(op.tensor), axes)
        self.roots.setdefault(op.tensor, root)
        self.places[op.result] = Place(root)

    def _assemble(self, op: block.AssembleOp) -> None:
        source, place = self.places[op.list], Place(self.roots[op.result])
        if source != place:
            self.statements.append(Line(f"view {place} = {source}"))

    # Maps

    def _map(self, op: block.MapOp) -> None:
        index = self.indices[op.dim_name]
        wanted: dict[SSAValue, _Wanted] = {}
        starts: dict[str, list[str]] = {}
        same: list[str] = []
        relative: dict[SSAValue, list[str]] = {}
        yielded = op.yield_op.arguments
        for number, (result, kind, value) in enumerate(
            zip(op.results_, op.result_kinds, yielded, strict=True)
        ):
            want = wanted.setdefault(value, _Wanted())
            pivot = op.result_pivots[number]
            if kind is block.Kind.Stack:
                want.places.append(self._place(result).at(op.dim_name, index))
            elif kind.reduces:
                name = self._item_name(result)
                if result not in self._folded:
                    starts.setdefault(_NEUTRAL[kind], []).append(name)
                maximum = None if pivot is None else op.results_[pivot]
                want.accumulate.append(_Accumulator(name, kind, maximum))
                if pivot is not None:
                    wanted.setdefault(yielded[pivot], _Wanted()).is_exponent = True
                    relative.setdefault(op.results_[pivot], []).append(name)
            elif block.is_local(result.type):
                want.names.append(self._item_name(result))
                same.append(want.names[-1])
            elif isinstance(value.owner, MAKERS) and value.owner.parent is op.body.block:
                want.places.append(self._place(result))
                same.append(self.places[result].root.name)
            else:
                want.passed_on.append(result)
        for start, accumulators in starts.items():
            self.statements.append(Line(f"{' = '.join(accumulators)} = {start}"))
        keyword = "for" if any(kind.reduces for kind in op.result_kinds) else "forall"
        notes = [f"{', '.join(same)}: the same for every {index}"] if same else []
        for maximum, sums in relative.items():
            notes.append(f"{', '.join(sums)}: in units of exp({self._text(self.items[maximum])})")
        loop = Loop(keyword, (f"{index} in {op.dim_name}",), [], "; ".join(notes))
        self.statements.append(loop)
        for argument, source in zip(op.body.block.args, op.inputs, strict=True):
            self.places[argument] = self.places[source].at(op.dim_name, index)
        self._statements.append(loop.body)
        self._loops.append(op.dim_name)
        self.names.enter()
        self._body(op.body.block, wanted)
        self.names.leave()
        self._loops.pop()
        self._statements.pop()
        for value, want in wanted.items():
            for result in want.passed_on:
                place = self.places[value]
                inside = place.indices.get(op.dim_name) == index
                self.places[result] = place.at(op.dim_name, f"any {op.dim_name}") if inside else place

    def _body(self, body: Block, wanted: dict[SSAValue, _Wanted]) -> None:
        for value, want in wanted.items():
            if isinstance(value.owner, Operation) and value.owner.parent is body:
                self._prepare(value, want)
        for op in body.ops:
            if isinstance(op, block.AssembleOp):
                name = self.arrays[op.result] = self.names.list(hint_of(op.list) or op.result.name_hint)
                self.name_array(op, name)
        for op in body.ops:
            if op is body.last_op:
                break
            value = op.results[0] if len(op.results) == 1 else None
            want = wanted.get(value) if value is not None else None
            if want is None or value is None or isinstance(op, _MANY) or not self._ends_in(want, value):
                self.write(op)
            elif not want.comes_last:
                (accumulator,), want.accumulate = want.accumulate, []
                self._accumulate(accumulator, self._expression(op))
            elif want.is_exponent:
                self._compute(op)
            else:
                self.items[value] = self._expression(op)
        self._rescale(body, wanted)
        for value, want in wanted.items():
            self._deliver(value, want)

    def _rescale(self, body: Block, wanted: Mapping[SSAValue, _Wanted]) -> None:
        """Write the update of maxima, and the scaling of sums relative to them and of new terms."""
        relative: dict[SSAValue, list[tuple[str, SSAValue]]] = {}
        for value, want in wanted.items():
            for accumulator in want.accumulate:
                if accumulator.pivot is not None:
                    relative.setdefault(accumulator.pivot, []).append((accumulator.name, value))
            want.accumulate = [accumulator for accumulator in want.accumulate if accumulator.pivot is None]
        last = body.last_op
        for pivot, sums in relative.items():
            assert last is not None
            exponent = last.operands[position(pivot)]
            top, added = self.items[pivot], self.items[exponent]
            accumulators = wanted[exponent].accumulate
            accumulators.remove(_Accumulator(self._text(top), block.Kind.Max))
            new = self._share(Call("max", (top, added)), f"new_{self._text(top)}")
            fade = self._share(_factor(top, new), "fade")
            unit = self._share(_factor(added, new), "unit")
            for name, value in sums:
                parts = (Name(name), fade), (self.items[value], unit)
                if dims_of(value) == dims_of(exponent):
                    self._assign(name, total(*(product(item, factor) for item, factor in parts)))
                else:
                    self._assign(name, total(*(Call("row_scale", part) for part in parts)))
            self._assign(self._text(top), new)

    def _prepare(self, value: SSAValue, want: _Wanted) -> None:
        """Let the operation that computes a value write it where it is needed, if that is one place."""
        if isinstance(value.owner, MAKERS) and want.places:
            self.places[value] = want.places.pop(0)
        elif want.names:
            self._results[value] = want.names.pop(0)
        elif isinstance(value.owner, block.MapOp) and self._ends_in(want, value):
            # A sum of sums is one sum.
            owner, accumulator = value.owner, want.accumulate[0]
            if owner.result_kinds[position(value)] is accumulator.kind and not want.comes_last:
                self._results[value] = accumulator.name
                self._folded.add(value)
                want.accumulate = []

    @staticmethod
    def _ends_in(want: _Wanted, value: SSAValue) -> bool:
        """True if a value is only accumulated."""
        return len(want.accumulate) == 1 and value.has_one_use()

    def _deliver(self, value: SSAValue, want: _Wanted) -> None:
        """Write at the end of a body what remains to be done with a yielded value."""
        for accumulator in want.accumulate:
            self._accumulate(accumulator, self.items[value])
        for name in want.names:
            self._assign(name, self.items[value])
        for place in want.places:
            self.statements.append(Line(f"view {place} = {self.places[value]}"))

    def _accumulate(self, accumulator: _Accumulator, expr: Expr) -> None:
        name, kind, _ = accumulator
        if kind is block.Kind.Sum:
            falls = isinstance(expr, Product) and expr.is_negative
            self._assign(name, negated(expr) if falls else expr, "-" if falls else "+")
        else:
            self._assign(name, Call(str(kind), (Name(name), expr)))

    # Items

    def _store(self, op: block.StoreOp) -> None:
        place, item = self._place(op.result), self.items[op.source]
        if place.transposes(op.result.type):
            item = Transposed(item)
        elif isinstance(item, PerElement) and item.axes == place.axes_with_index:
            item = item.body
        head = f"store {place} = "
        self.statements.append(Line(head + self._fitted(head, item)))

    def _custom(self, op: block.CustomOp) -> None:
        names = [self._item_name(result) for result in op.results_]
        call = Call(f"@{op.callback.root_reference.data}", tuple(self.items[value] for value in op.inputs))
        for name, result in zip(names, op.results_, strict=True):
            self.items[result] = Name(name)
        self._assign(", ".join(names), call) if names else self.statements.append(Line(self._text(call)))

    def _foreign(self, op: Operation) -> None:
        """Any other operation, by its name."""
        call = Call(op.name, tuple(Name(self.described(value)) for value in op.operands))
        names = [self._item_name(result) for result in op.results]
        self._assign(", ".join(names), call) if names else self.statements.append(Line(self._text(call)))


def _factor(exponent: Expr, top: Expr) -> Expr:
    """exp(exponent - top), and 1 where both are equal, so that no infinity is subtracted from itself."""
    return Call("where", (Infix("==", exponent, top), ONE, Call("exp", (total(exponent, negated(top)),))))
