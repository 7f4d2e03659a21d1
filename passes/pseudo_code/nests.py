"""Writes maps as loops, items as expressions, and lists as places in global memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import block
from .expressions import (
    Call,
    Expr,
    Load,
    Name,
    PerElement,
    Product,
    Spread,
    Transposed,
    negated,
    per_element,
    power,
    product,
    replaced,
    subexpressions,
    total,
)
from .hints import hint_of, position
from .layout import INDENT, WIDTH, Assign, Line, Loop, Statement
from .names import Names
from .numbers import coefficient
from .places import Place, Root, axes_of_view, list_axes
from .scalars import region_expressions

LONGEST_PART = 56
"""Columns of an expression that may become a part of another one."""

_NEUTRAL = {block.Kind.Sum: "0", block.Kind.Max: "-inf", block.Kind.Min: "inf"}
_SYMBOLS = {"extent": "|{}|", "blocks": "#{}", "width": "w({})"}

MAKERS = (block.StoreOp, block.MapOp)
"""Operations that put their results where they are wanted."""
_MANY = (block.MapOp, block.CustomOp)


@dataclass
class _Wanted:
    """What a map does with a value that its body yields."""

    accumulate: list[tuple[str, block.Kind]] = field(default_factory=list[tuple[str, block.Kind]])
    names: list[str] = field(default_factory=list[str])
    places: list[Place] = field(default_factory=list[Place])
    passed_on: list[SSAValue] = field(default_factory=list[SSAValue])


class NestWriter:
    """Writes the block operations of one function, one after the other, as statements."""

    def __init__(self, names: Names, indices: Mapping[str, str], ascii: bool):
        self.names = names
        self.indices = indices
        self.ascii = ascii
        self.items: dict[SSAValue, Expr] = {}
        self.places: dict[SSAValue, Place] = {}
        self.arrays: dict[SSAValue, str] = {}
        self.roots: dict[SSAValue, Root] = {}
        self._results: dict[SSAValue, str] = {}
        self._folded: set[SSAValue] = set()
        self._loops: list[str] = []
        self._statements: list[list[Statement]] = [[]]
        self._hints: dict[Expr, str | None] = {}

    @property
    def statements(self) -> list[Statement]:
        """What is written so far, in the innermost loop."""
        return self._statements[-1]

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
            case block.CustomOp():
                self._custom(op)
            case _ if op.name.startswith("block.") and len(op.results) == 1:
                self._compute(op)
            case _:
                self._foreign(op)

    # Views

    def house(self, op: block.AssembleOp, name: str) -> None:
        """Give an array that is assembled its name, and the list that is made for it its place there."""
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
        for result, kind, value in zip(op.results_, op.result_kinds, op.yield_op.arguments, strict=True):
            want = wanted.setdefault(value, _Wanted())
            if kind is block.Kind.Stack:
                want.places.append(self._place(result).at(op.dim_name, index))
            elif kind.reduces:
                name = self._item_name(result)
                if result not in self._folded:
                    starts.setdefault(_NEUTRAL[kind], []).append(name)
                want.accumulate.append((name, kind))
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
        note = f"{', '.join(same)}: the same for every {index}" if same else ""
        loop = Loop(keyword, (f"{index} in {op.dim_name}",), [], note)
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
                self.house(op, name)
        for op in body.ops:
            if op is body.last_op:
                break
            value = op.results[0] if len(op.results) == 1 else None
            want = wanted.get(value) if value is not None else None
            if want is None or value is None or isinstance(op, _MANY) or not self._ends_in(want, value):
                self.write(op)
            else:
                (name, kind), want.accumulate = want.accumulate[0], []
                self._accumulate(name, kind, self._expression(op))
        for value, want in wanted.items():
            self._deliver(value, want)

    def _prepare(self, value: SSAValue, want: _Wanted) -> None:
        """Let what makes a value put it where it is wanted, where that is one place."""
        if isinstance(value.owner, MAKERS) and want.places:
            self.places[value] = want.places.pop(0)
        elif want.names:
            self._results[value] = want.names.pop(0)
        elif isinstance(value.owner, block.MapOp) and self._ends_in(want, value):
            # A sum of sums is one sum.
            owner, (name, kind) = value.owner, want.accumulate[0]
            if owner.result_kinds[position(value)] is kind:
                self._results[value] = name
                self._folded.add(value)
                want.accumulate = []

    @staticmethod
    def _ends_in(want: _Wanted, value: SSAValue) -> bool:
        """Whether a value is accumulated and nothing else."""
        return len(want.accumulate) == 1 and value.has_one_use()

    def _deliver(self, value: SSAValue, want: _Wanted) -> None:
        """Write at the end of a body what is still to be done with a yielded value."""
        for name, kind in want.accumulate:
            self._accumulate(name, kind, self.items[value])
        for name in want.names:
            self._assign(name, self.items[value])
        for place in want.places:
            self.statements.append(Line(f"view {place} = {self.places[value]}"))

    def _accumulate(self, name: str, kind: block.Kind, expr: Expr) -> None:
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

    def described(self, value: SSAValue) -> str:
        """Any value that is known: an item, or where something lies."""
        if value in self.items:
            return self._text(self.items[value])
        if value in self.arrays:
            return self.arrays[value]
        place = self.places.get(value)
        return str(place) if place is not None else value.name_hint or "?"

    def _compute(self, op: Operation) -> None:
        expr, (result,) = self._expression(op), op.results
        if result not in self._results and self._is_part(op, expr):
            self.items[result] = expr
            self._hints[expr] = self._hint(op)
            return
        name = self._item_name(result, self._hint(op))
        self._assign(name, expr)

    def _is_part(self, op: Operation, expr: Expr) -> bool:
        """Whether an item is written where it is used, without a name."""
        (result,) = op.results
        use = result.get_user_of_unique_use()
        if use is None or use.parent is not op.parent or not use.name.startswith("block."):
            return False
        if isinstance(use, block.StoreOp):
            return True
        if isinstance(op, block.DotOp | block.ReduceOp):
            return False
        if isinstance(use, block.DotOp | block.CustomOp | block.YieldOp):
            return False
        if isinstance(use, block.ElementwiseOp):
            argument = use.body.block.args[list(use.inputs).index(result)]
            if argument.has_more_than_one_use():
                return False
        return len(self._text(expr)) <= LONGEST_PART

    def _expression(self, op: Operation) -> Expr:
        items = self.items
        match op:
            case block.LoadOp():
                place = self.places[op.source]
                return Load(str(place), place.transposes(op.result.type))
            case block.AddOp():
                return per_element((items[op.lhs], items[op.rhs]), total)
            case block.SubOp():
                return per_element((items[op.lhs], items[op.rhs]), _difference)
            case block.MulOp():
                return per_element((items[op.lhs], items[op.rhs]), product)
            case block.LinearOp():
                factors = [_coefficient(op, factor) for factor in op.coefficients]
                return per_element(
                    [items[term] for term in op.terms], lambda *terms: total(*map(product, factors, terms))
                )
            case block.MonomialOp():
                exponents = [exponent.data for exponent in op.exponents]
                return per_element(
                    [items[factor] for factor in op.factors],
                    lambda *factors: product(*map(power, factors, exponents)),
                )
            case block.ReduceOp():
                index = self.indices[op.dim_name]
                index = f"{index}_" if op.dim_name in self._loops else index
                element = self.places[op.list].at(op.dim_name, index)
                return Name(f"{op.kind.data} over {index} in {op.dim_name} of load {element}")
            case block.ElementwiseOp():
                return self._elementwise(op)
            case _:
                return Call(op.name.removeprefix("block."), tuple(items[value] for value in op.operands))

    def _elementwise(self, op: block.ElementwiseOp) -> Expr:
        dims = _dims(op.result)

        def broadcast(value: SSAValue) -> Expr:
            item, own = self.items[value], _dims(value)
            if isinstance(item, PerElement):
                return item.body
            return Spread(item, own == dims[:1]) if len(own) == 1 < len(dims) else item

        arguments = [broadcast(value) for value in op.inputs]
        indices = {dim: self.indices[dim] if dim in self._loops else dim for dim in self.indices}
        expr = region_expressions(op.body.block, arguments, indices, self._share)[0]
        from_items = [value for value in op.inputs if not isinstance(self.items[value], PerElement)]
        known = {dim for value in from_items for dim in _dims(value)}
        return expr if known.issuperset(dims) else PerElement(tuple(indices[dim] for dim in dims), expr)

    def _share(self, expr: Expr, hint: str | None) -> Expr:
        name = self.names.item(hint)
        self._assign(name, expr)
        return Name(name)

    # Names, places and lines

    def _place(self, value: SSAValue) -> Place:
        """Where a list or an item in global memory lies; a new list where that is not known yet."""
        if value not in self.places:
            hint = self.names.undotted(hint_of(value), self._loops)
            self.places[value] = Place(Root(self.names.list(hint), list_axes(value.type)))
        return self.places[value]

    def _item_name(self, value: SSAValue, hint: str | None = None) -> str:
        name = self._results.get(value) or self.names.item(hint or hint_of(value))
        self.items[value] = Name(name)
        return name

    def _hint(self, op: Operation) -> str | None:
        """What to call an operation's item; one that is loaded is called like its array if it has no name."""
        (result,) = op.results
        if isinstance(op, block.LoadOp):
            root = self.places[op.source].root.name
            if result.name_hint in (None, op.source.name_hint, root.rstrip("0123456789")):
                return root
        return self.names.undotted(hint_of(result), self._loops)

    def _text(self, expr: Expr) -> str:
        return expr.text(ascii=self.ascii)

    def _assign(self, target: str, expr: Expr, sign: str = "") -> None:
        value = self._fitted(f"{target} {sign}= ", expr)
        self.statements.append(Assign(target, value, sign))

    def _fitted(self, head: str, expr: Expr) -> str:
        """The text of an expression; where the line gets too long, parts of it become statements before."""
        room = WIDTH - INDENT * (len(self._statements) - 1) - len(head)
        while len(self._text(expr)) > room:
            parts = [part for part in subexpressions(expr) if len(self._text(part)) > 12 and part.parts]
            if not parts:
                break
            # A part that has a name of its own, else one of about half the length.
            half = len(self._text(expr)) / 2
            part = min(
                parts, key=lambda part: (self._hints.get(part) is None, abs(len(self._text(part)) - half))
            )
            expr = replaced(expr, part, self._share(part, self._hints.get(part)))
        return self._text(expr)


def _dims(value: SSAValue) -> tuple[str, ...]:
    assert isinstance(value.type, block.ItemType)
    return value.type.dims


def _difference(a: Expr, b: Expr) -> Expr:
    return total(a, negated(b))


def _coefficient(op: block.LinearOp, factor: block.CoefficientAttr) -> Expr:
    quantities: Sequence[Expr] = [Name(_SYMBOLS[f.quantity].format(f.dim)) for f in factor.factors]
    value = coefficient(factor.value, block.element_type_of(op.result.type))
    return product(*quantities, Product(value))
