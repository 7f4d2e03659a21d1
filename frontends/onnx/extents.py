"""Extents as a model names them: polynomials in its dims, such as `seq` and `past + seq`.

ONNX computes shapes with operations on tensors. A known value of such arithmetic is a numpy array, of dtype
object where its elements are not all numbers; `Extent` is what else may stand in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...dialects.array import DYNAMIC
from ..shared.errors import Unsupported

Monomial: TypeAlias = tuple[str, ...]
"""Sorted names, one for each factor; () for the constant term."""


class Extent:
    """A polynomial with integer coefficients in dims whose extents are at least 1.

    It is made by arithmetic on `dim(name)`; a polynomial without dims becomes a plain int (see `simple`).
    Comparisons say what holds for all extents, and raise Unsupported where that is open.
    """

    def __init__(self, terms: Mapping[Monomial, int]):
        self.terms = {names: factor for names, factor in sorted(terms.items()) if factor}

    def __repr__(self) -> str:
        text = ""
        for names, factor in reversed(self.terms.items()):
            size = "*".join([str(abs(factor))] * (abs(factor) != 1 or not names) + list(names))
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {size}" if text else f"{'-' if factor < 0 else ''}{size}"
        return text or "0"

    def __hash__(self) -> int:
        return hash(tuple(self.terms.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extent) and self.terms == other.terms

    def __bool__(self) -> bool:
        if self > 0:
            return True
        raise Unsupported(f"whether the extent {self} is 0 is known only at run time")

    def __add__(self, other: Any) -> ExtentLike:
        terms = dict(self.terms)
        for names, factor in _terms(other).items():
            terms[names] = terms.get(names, 0) + factor
        return simple(Extent(terms))

    def __mul__(self, other: Any) -> ExtentLike:
        terms: dict[Monomial, int] = {}
        for a, x in self.terms.items():
            for b, y in _terms(other).items():
                names = tuple(sorted((*a, *b)))
                terms[names] = terms.get(names, 0) + x * y
        return simple(Extent(terms))

    def __neg__(self) -> ExtentLike:
        return self * -1

    def __sub__(self, other: Any) -> ExtentLike:
        return self + Extent(_terms(other)) * -1

    def __rsub__(self, other: Any) -> ExtentLike:
        return Extent(_terms(other)) - self

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> ExtentLike:
        return divided(self, other)

    def __rfloordiv__(self, other: Any) -> ExtentLike:
        return divided(other, self)

    def __mod__(self, other: Any) -> ExtentLike:
        divided(self, other)
        return 0

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, strict=False, sign=-1)

    def __le__(self, other: Any) -> bool:
        return self._compared(other, strict=True, sign=-1)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, strict=False, sign=1)

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, strict=True, sign=1)

    def _compared(self, other: Any, *, strict: bool, sign: int) -> bool:
        """True where sign * (self - other) is positive for all extents, or is 0 and `strict`."""
        difference = (self - other) * sign
        if not isinstance(difference, Extent):
            return difference >= 0 if strict else difference > 0
        least, most = difference.least(), (difference * -1)
        least_negated = most.least() if isinstance(most, Extent) else None
        if least is not None and (least > 0 or (strict and least == 0)):
            return True
        if least_negated is not None and (least_negated > 0 or (not strict and least_negated == 0)):
            return False
        raise Unsupported(f"how {self} compares to {other} is known only at run time")

    def least(self) -> int | None:
        """The least value, with all dims 1; None where the extents have no least one."""
        grows = all(factor > 0 for names, factor in self.terms.items() if names)
        return sum(self.terms.values()) if grows else None

    @property
    def dims(self) -> tuple[str, ...]:
        """The names in the polynomial, sorted."""
        return tuple(sorted({name for names in self.terms for name in names}))


ExtentLike: TypeAlias = int | Extent
Dims: TypeAlias = tuple[ExtentLike, ...]


def dim(name: str) -> Extent:
    """The extent of a named dim."""
    return Extent({(name,): 1})


def simple(extent: Extent) -> ExtentLike:
    """An int, if no dim is in the polynomial."""
    return extent.terms.get((), 0) if set(extent.terms) <= {()} else extent


def _terms(value: Any) -> Mapping[Monomial, int]:
    return value.terms if isinstance(value, Extent) else {(): int(value)}


def divided(whole: ExtentLike, part: ExtentLike) -> ExtentLike:
    """The quotient of a division without remainder. Raises Unsupported for any other."""
    if not isinstance(whole, Extent) and not isinstance(part, Extent):
        if part and whole % part == 0:
            return whole // part
        raise Unsupported(f"{part} does not divide {whole}")
    if whole == part:
        return 1
    divisor = _terms(part)
    if len(divisor) == 1:
        ((names, factor),) = divisor.items()
        quotient: dict[Monomial, int] = {}
        for own, number in _terms(whole).items():
            rest = list(own)
            for name in names:
                if name not in rest:
                    break
                rest.remove(name)
            else:
                if number % factor == 0:
                    quotient[tuple(rest)] = number // factor
                    continue
            break
        else:
            return simple(Extent(quotient))
    raise Unsupported(f"the quotient of the extents {whole} and {part} is known only at run time")


def product(extents: Iterable[ExtentLike]) -> ExtentLike:
    """The number of elements of an array of these extents."""
    result: ExtentLike = 1
    for extent in extents:
        result = result * extent
    return result


def shape_from(dims: Sequence[ExtentLike]) -> tuple[int, ...]:
    """The shape of the array type, with `DYNAMIC` for an extent that is no number."""
    return tuple(DYNAMIC if isinstance(each, Extent) else int(each) for each in dims)


def tidy(values: Any) -> np.ndarray[Any, Any]:
    """An array of int64 where all elements of an object array are numbers; other arrays as they are."""
    array = np.asarray(values)
    if array.dtype == object and not any(isinstance(each, Extent) for each in array.flat):
        booleans = array.size > 0 and all(isinstance(each, bool | np.bool_) for each in array.flat)
        return array.astype(np.bool_ if booleans else np.int64)
    return array


def as_dims(values: np.ndarray[Any, Any]) -> Dims:
    """The elements of a known vector as extents."""
    return tuple(each if isinstance(each, Extent) else int(each) for each in values.reshape(-1))


def broadcast_dims(*shapes: Sequence[ExtentLike]) -> Dims:
    """The dims to which all shapes broadcast as numpy does it. Raises Unsupported if there are none.

    Named extents never broadcast: one that meets a number, or another name, is assumed to equal it.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[ExtentLike] = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            known = result[axis]
            if extent == 1 or extent == known:
                continue
            if known == 1 or (isinstance(known, Extent) and not isinstance(extent, Extent)):
                result[axis] = extent
            elif not isinstance(extent, Extent) and not isinstance(known, Extent):
                listed = " and ".join(str(list(each)) for each in shapes)
                raise Unsupported(f"shapes {listed} do not broadcast together")
    return tuple(result)
