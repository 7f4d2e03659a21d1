"""Expressions in mathematical notation: sums, quotients, powers and calls, with as few parentheses as
possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from .numbers import literal, scale

# How tightly what stands around an expression binds.
LOOSE, COMPARED, TERM, FACTOR, BASE = range(5)

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class _Node:
    """The base of all expressions; `text` adds parentheses if the surroundings bind tighter."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        return ()

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Name(_Node):
    """A name, or any text that binds like one."""

    name: str

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        return self.name


@dataclass(frozen=True)
class Load(_Node):
    """`load q[m, d]`, or `load v[n, l]ᵀ` where the item's rows run along the later axis."""

    place: str
    transposed: bool = False

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        transposition = (".T" if ascii else "ᵀ") if self.transposed else ""
        return _enclosed(f"load {self.place}{transposition}", level == BASE)


@dataclass(frozen=True)
class Call(_Node):
    """`row_scale(o, c)`"""

    function: str
    arguments: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.arguments

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        levels = [TERM if isinstance(argument, PerElement) else LOOSE for argument in self.arguments]
        texts = [argument.text(level, ascii) for argument, level in zip(self.arguments, levels, strict=True)]
        return f"{self.function}({', '.join(texts)})"


@dataclass(frozen=True)
class Spread(_Node):
    """A vector repeated along the other axis: `c·1ᵀ` if its elements belong to rows, `1·dᵀ` if to columns."""

    vector: Expr
    by_rows: bool

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.vector,)

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        if ascii:
            vector = self.vector.text(LOOSE, ascii)
            return f"outer({vector}, 1)" if self.by_rows else f"outer(1, {vector})"
        vector = self.vector.text(BASE)
        return _enclosed(f"{vector}·1ᵀ" if self.by_rows else f"1·{vector}ᵀ", level >= FACTOR)


@dataclass(frozen=True)
class Transposed(_Node):
    """`oᵀ`"""

    block: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.block,)

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        return self.block.text(BASE, ascii) + (".T" if ascii else "ᵀ")


@dataclass(frozen=True)
class PerElement(_Node):
    """`(m, n) ↦ n / 8`: an item made of indices, with its axes."""

    axes: tuple[str, ...]
    body: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.body,)

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        arrow = "->" if ascii else "↦"
        return _enclosed(f"({', '.join(self.axes)}) {arrow} {self.body.text(LOOSE, ascii)}", level > LOOSE)


@dataclass(frozen=True)
class Infix(_Node):
    """A comparison or a logical operation: `n <= m`"""

    operator: str
    lhs: Expr
    rhs: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.lhs, self.rhs

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        return _enclosed(
            f"{self.lhs.text(COMPARED, ascii)} {self.operator} {self.rhs.text(COMPARED, ascii)}",
            level > LOOSE,
        )


@dataclass(frozen=True)
class Product(_Node):
    """A rational number times powers: `x * c² / 64`; without factors just the number."""

    coefficient: Fraction
    factors: tuple[tuple[Expr, int], ...] = ()

    @property
    def parts(self) -> tuple[Expr, ...]:
        return tuple(factor for factor, _ in self.factors)

    @cached_property
    def is_negative(self) -> bool:
        return self.coefficient < 0

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        if not self.factors:
            number = literal(self.coefficient, ascii)
            loose = (self.is_negative and level > LOOSE) or ("/" in number and level >= FACTOR)
            return _enclosed(number, loose)
        above = [_power(factor, power, ascii) for factor, power in self.factors if power > 0]
        below = [_power(factor, -power, ascii) for factor, power in self.factors if power < 0]
        number_above, number_below = scale(abs(self.coefficient), ascii)
        above, below = number_above + above, number_below + below
        body = " * ".join(above) or "1"
        # A lone factor needs no parentheses of its own, where what stands around it asks for none.
        if len(above) == 1 and not below and not number_above and self.factors[0][1] == 1:
            body = self.factors[0][0].text(TERM if not self.is_negative else FACTOR, ascii)
        if below:
            body += " / " + (below[0] if len(below) == 1 else f"({' * '.join(below)})")
        single = len(above) == 1 and not below and level == FACTOR
        return _enclosed(f"-{body}" if self.is_negative else body, self._binds_too_loosely(level, single))

    def _binds_too_loosely(self, level: int, single: bool) -> bool:
        if self.is_negative:
            return level >= TERM
        return level >= FACTOR and not single


@dataclass(frozen=True)
class Sum(_Node):
    """`a - b / 2`"""

    terms: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.terms

    def text(self, level: int = LOOSE, ascii: bool = False) -> str:
        positive = next((index for index, term in enumerate(self.terms) if not _is_negative(term)), 0)
        terms = (self.terms[positive], *self.terms[:positive], *self.terms[positive + 1 :])
        text = terms[0].text(LOOSE if _is_negative(terms[0]) else TERM, ascii)
        for term in terms[1:]:
            sign, magnitude = (" - ", negated(term)) if _is_negative(term) else (" + ", term)
            text += sign + magnitude.text(FACTOR if isinstance(magnitude, Sum) else TERM, ascii)
        return _enclosed(text, level >= TERM)


Expr: TypeAlias = Name | Load | Call | Spread | Transposed | PerElement | Infix | Product | Sum


def _enclosed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _power(base: Expr, power: int, ascii: bool) -> str:
    if power == 1:
        return base.text(FACTOR, ascii)
    return base.text(BASE, ascii) + (f"^{power}" if ascii else str(power).translate(_SUPERSCRIPTS))


def _is_negative(expr: Expr) -> bool:
    return isinstance(expr, Product) and expr.is_negative


def number(value: Fraction | int) -> Product:
    """A number."""
    return Product(Fraction(value))


ZERO, ONE = number(0), number(1)
INFINITY = Name("inf")


def _simple(product: Product) -> Expr:
    if product.coefficient == 1 and len(product.factors) == 1 and product.factors[0][1] == 1:
        return product.factors[0][0]
    return product


def power(base: Expr, exponent: int) -> Expr:
    """`base ** exponent`"""
    if isinstance(base, Product) and (base.coefficient or exponent > 0):
        factors = tuple((factor, n * exponent) for factor, n in base.factors)
        return product(Product(base.coefficient**exponent, factors))
    return product(Product(Fraction(1), ((base, exponent),)))


def product(*exprs: Expr) -> Expr:
    """The product of expressions, flat; `1 / (1 + exp(-x))` and `x * sigmoid(x)` get their names."""
    coefficient = Fraction(1)
    factors: dict[tuple[Expr, bool], int] = {}  # by what is raised, and whether it stands above the bar
    for expr in exprs:
        inner = expr if isinstance(expr, Product) else Product(Fraction(1), ((expr, 1),))
        coefficient *= inner.coefficient
        for factor, exponent in inner.factors:
            argument = _sigmoid_argument(factor) if exponent == -1 else None
            if argument is not None:
                factor, exponent = Call("sigmoid", (argument,)), 1
            key = factor, exponent > 0
            factors[key] = factors.get(key, 0) + exponent
    powers = [(factor, exponent) for (factor, _), exponent in factors.items()]
    for factor, exponent in list(powers):
        if isinstance(factor, Call) and factor.function == "sigmoid" and exponent == 1:
            (argument,) = factor.arguments
            if (argument, 1) in powers:
                powers[powers.index((argument, 1))] = Call("silu", (argument,)), 1
                powers.remove((factor, 1))
    return _simple(Product(coefficient, tuple(powers)))


def total(*exprs: Expr) -> Expr:
    """The sum of expressions, flat."""
    terms = tuple(term for expr in exprs for term in (expr.terms if isinstance(expr, Sum) else (expr,)))
    return terms[0] if len(terms) == 1 else Sum(terms)


def negated(expr: Expr) -> Expr:
    """`-expr`"""
    if isinstance(expr, Product):
        return _simple(replace(expr, coefficient=-expr.coefficient))
    return Product(Fraction(-1), ((expr, 1),))


def _sigmoid_argument(expr: Expr) -> Expr | None:
    """The `x` of `1 + exp(-x)`."""
    if not isinstance(expr, Sum) or len(expr.terms) != 2 or ONE not in expr.terms:
        return None
    other = expr.terms[1 - expr.terms.index(ONE)]
    if not isinstance(other, Call) or other.function != "exp":
        return None
    return _opposite(other.arguments[0])


def _opposite(expr: Expr) -> Expr | None:
    """The `x` for which an expression is `-x`, if its form shows that."""
    if _is_negative(expr):
        return negated(expr)
    if isinstance(expr, Call) and expr.function in ("row_scale", "col_scale"):
        block = _opposite(expr.arguments[0])
        return Call(expr.function, (block, *expr.arguments[1:])) if block is not None else None
    if isinstance(expr, Sum) and all(map(_is_negative, expr.terms)):
        return Sum(tuple(map(negated, expr.terms)))
    return None


def per_element(exprs: Sequence[Expr], combine: Callable[..., Expr]) -> Expr:
    """Combine items of the same axes; an item made of indices shows its axes only if no other item has
    them.
    """
    axes = {expr.axes for expr in exprs if isinstance(expr, PerElement)}
    combined = combine(*(expr.body if isinstance(expr, PerElement) else expr for expr in exprs))
    everywhere = all(isinstance(expr, PerElement) for expr in exprs)
    return PerElement(axes.pop(), combined) if everywhere else combined


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The proper parts of an expression, outermost first."""
    for part in expr.parts:
        yield part
        yield from subexpressions(part)


def replaced(expr: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with each part `old` replaced by `new`."""
    if expr == old:
        return new
    match expr:
        case Call():
            return replace(expr, arguments=tuple(replaced(argument, old, new) for argument in expr.arguments))
        case Spread():
            return replace(expr, vector=replaced(expr.vector, old, new))
        case Transposed():
            return replace(expr, block=replaced(expr.block, old, new))
        case PerElement():
            return replace(expr, body=replaced(expr.body, old, new))
        case Infix():
            return replace(expr, lhs=replaced(expr.lhs, old, new), rhs=replaced(expr.rhs, old, new))
        case Product():
            return replace(expr, factors=tuple((replaced(factor, old, new), n) for factor, n in expr.factors))
        case Sum():
            return replace(expr, terms=tuple(replaced(term, old, new) for term in expr.terms))
        case _:
            return expr
