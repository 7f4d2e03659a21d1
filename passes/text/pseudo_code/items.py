"""Writes items as expressions and assignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from ....dialects import block
from .expressions import (
    Call,
    Expr,
    Load,
    Name,
    PerElement,
    Product,
    Spread,
    negated,
    per_element,
    power,
    product,
    replaced,
    subexpressions,
    total,
)
from .hints import hint_of
from .layout import INDENT, WIDTH, Assign, Statement
from .names import Names
from .numbers import coefficient
from .places import Place, Root, list_axes
from .scalars import region_expressions

LONGEST_PART = 56
"""Columns of an expression that may become a part of another one."""

_SYMBOLS = {"extent": "|{}|", "blocks": "#{}", "width": "w({})"}


class ItemWriter:
    """Writes items, lists and arrays as text, and operators on items as statements."""

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
        """The text so far of the innermost loop."""
        return self._statements[-1]

    def described(self, value: SSAValue) -> str:
        """The text of any known value: an item, or the place of a list or array."""
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
        """True if an item is written inside the expression that uses it, without a name."""
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
        dims = dims_of(op.result)

        def broadcast(value: SSAValue) -> Expr:
            item, own = self.items[value], dims_of(value)
            if isinstance(item, PerElement):
                return item.body
            return Spread(item, own == dims[:1]) if len(own) == 1 < len(dims) else item

        arguments = [broadcast(value) for value in op.inputs]
        indices = {dim: self.indices[dim] if dim in self._loops else dim for dim in self.indices}
        expr = region_expressions(op.body.block, arguments, indices, self._share)[0]
        pairs = zip(op.inputs, op.body.block.args, strict=True)
        given = [
            value
            for value, argument in pairs
            if argument.uses and not isinstance(self.items[value], PerElement)
        ]
        if {dim for value in given for dim in dims_of(value)}.issuperset(dims):
            return expr
        unused = next((value for value in op.inputs if value not in given and dims_of(value) == dims), None)
        if unused is not None and not isinstance(self.items[unused], PerElement):
            return Call("full_like", (self.items[unused], expr))
        return PerElement(tuple(indices[dim] for dim in dims), expr)

    def _share(self, expr: Expr, hint: str | None) -> Expr:
        name = self.names.item(hint)
        self._assign(name, expr)
        return Name(name)

    # Names, places and lines

    def _place(self, value: SSAValue) -> Place:
        """Return the place of a list or an item in global memory; of a new list if none is known yet."""
        if value not in self.places:
            hint = self.names.undotted(hint_of(value), self._loops)
            self.places[value] = Place(Root(self.names.list(hint), list_axes(value.type)))
        return self.places[value]

    def _item_name(self, value: SSAValue, hint: str | None = None) -> str:
        name = self._results.get(value) or self.names.item(hint or hint_of(value))
        self.items[value] = Name(name)
        return name

    def _hint(self, op: Operation) -> str | None:
        """Return the name of an operation's item; a loaded one is called like its array if it has no name."""
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
        """The text of an expression; parts of it become statements before if the line is too long."""
        available = WIDTH - INDENT * (len(self._statements) - 1) - len(head)
        while len(self._text(expr)) > available:
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


def dims_of(value: SSAValue) -> tuple[str, ...]:
    """The dims of an item's axes."""
    assert isinstance(value.type, block.ItemType)
    return value.type.dims


def _difference(a: Expr, b: Expr) -> Expr:
    return total(a, negated(b))


def _coefficient(op: block.LinearOp, factor: block.CoefficientAttr) -> Expr:
    quantities: Sequence[Expr] = [Name(_SYMBOLS[f.quantity].format(f.dim)) for f in factor.factors]
    value = coefficient(factor.value, block.element_type_of(op.result.type))
    return product(*quantities, Product(value))
