"""Results of the translated body of a map: plain results, and significands with their exponents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import block
from ....dialects.block import Kind
from .values import Exponents, Pair, Value, Writer, dims_of


@dataclass(frozen=True)
class _Taken:
    """An old result of a map, and the number of the new one.

    `exponent` is the number of the result that is its exponent; `outside` has exponents from outside the map,
    or is None for a plain result. `local` says of what kind the pair is.
    """

    old: SSAValue
    index: int
    exponent: int | None = None
    outside: Exponents | None = None
    local: bool = False


class Results:
    """Collects the results of a new map. Sums whose exponents are the same share one maximum."""

    def __init__(self, made_plain: Callable[[Value, Writer], SSAValue], write: Writer):
        self.made_plain = made_plain
        self.write = write
        self.yielded: list[SSAValue] = []
        self.kinds: list[Kind] = []
        self.pivots: list[int | None] = []
        self._exponents: dict[tuple[Kind, tuple[str, ...], frozenset[tuple[SSAValue, int]]], int] = {}
        self._taken: list[_Taken] = []

    def _yield(self, value: SSAValue, kind: Kind, pivot: int | None = None) -> int:
        self.yielded.append(value)
        self.kinds.append(kind)
        self.pivots.append(pivot)
        return len(self.yielded) - 1

    def take(self, value: Value, kind: Kind, old: SSAValue) -> None:
        """Yield a value of the new body in place of the one that the old map yielded for its result `old`."""
        if not isinstance(value, Pair) or kind in (Kind.Max, Kind.Min):
            plain = self.made_plain(value, self.write)
            index = self._maximum(plain) if kind is Kind.Max else self._yield(plain, kind)
            self._taken.append(_Taken(old, index))
            return
        # An exponent that is the same in every iteration stays where it is.
        inside = tuple(part for part in value.exponents if self._is_inside(part[0]))
        outside = tuple(part for part in value.exponents if part not in inside)
        exponent = self._exponent(Pair(value.significand, inside), kind) if inside else None
        pivot = exponent if kind is Kind.Sum else None
        index = self._yield(value.significand, kind, pivot)
        self._taken.append(_Taken(old, index, exponent, outside, value.local))

    def _maximum(self, value: SSAValue) -> int:
        """The number of the result that is a value's maximum: that of an equal exponent, if there is one, so
        that they cancel.
        """
        for index, (own, kind) in enumerate(zip(self.yielded, self.kinds, strict=True)):
            if own is value and kind is Kind.Max:
                return index
        return self._yield(value, Kind.Max)

    def _is_inside(self, value: SSAValue) -> bool:
        scope = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return scope is self.write.body

    def _exponent(self, value: Pair, kind: Kind) -> int:
        is_item = block.is_local(value.significand.type)
        rows = dims_of(value.significand)[:1] if is_item else ()
        key = kind, rows, frozenset(value.exponents)
        if key not in self._exponents:
            exponent = self.write.settled(value) if is_item else value.exponents[0][0]
            self._exponents[key] = (
                self._maximum(exponent) if kind is Kind.Sum else self._yield(exponent, kind)
            )
        return self._exponents[key]

    def given(self, new: block.MapOp) -> dict[SSAValue, Value]:
        """The values of the old results, computed from those of the new map."""
        found: dict[SSAValue, Value] = {}
        for taken in self._taken:
            result = new.results_[taken.index]
            result.name_hint = taken.old.name_hint
            if taken.outside is None:
                found[taken.old] = result
                continue
            own: Exponents = ()
            if taken.exponent is not None:
                top = new.results_[taken.exponent]
                is_maximum = new.result_kinds[taken.exponent] is Kind.Max
                top.name_hint = top.name_hint or ("top" if is_maximum else "exponent")
                own = ((top, 1),)
            found[taken.old] = Pair(result, (*own, *taken.outside), taken.local)
        return found
