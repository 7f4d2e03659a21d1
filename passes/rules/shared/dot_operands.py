"""A contraction seen from one of its operands, so that a law is written once for the left and the right
one.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from ....dialects import block
from ....dialects.attributes import OWN_EXPONENT
from ..law import Placer
from .items import cast


@dataclass(frozen=True)
class DotOperand:
    """The left or the right operand of a contraction. `dot(a, b)` is a·bᵀ, so rows mean the same for both."""

    dot: block.DotOp
    left: bool

    @property
    def value(self) -> SSAValue:
        """The operand."""
        return self.dot.lhs if self.left else self.dot.rhs

    @property
    def other(self) -> SSAValue:
        """The operand that it is contracted with."""
        return self.dot.rhs if self.left else self.dot.lhs

    def in_order(self, own: SSAValue, other: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Return a value for this operand and one for the other one, the left one first."""
        return (own, other) if self.left else (other, own)

    def contract(self, place: Placer, own: SSAValue, other: SSAValue | None = None) -> SSAValue:
        """Contract another item in place of the operand, in its element type; with `other` if it is given."""
        own = cast(place, own, block.element_type_of(self.value.type))
        operands = self.in_order(own, self.other if other is None else other)
        dot = block.DotOp(*operands, self.dot.accumulator, self.dot.kept)
        return place(dot, self.dot.result.name_hint)

    def contract_carried(self, place: Placer, own: SSAValue) -> SSAValue:
        """Contract another item in place of the operand, rounded with an exponent of its own for each row.

        The item has another element type than the operand.
        """
        rounded = cast(place, own, block.element_type_of(self.value.type))
        assert isinstance(rounded.owner, block.ElementwiseOp)
        rounded.owner.attributes[OWN_EXPONENT] = UnitAttr()
        return self.contract(place, rounded)


def operands_of(dot: block.DotOp) -> tuple[DotOperand, ...]:
    """Return the left and the right operand of a contraction without a mask; with one, no shift leaves it."""
    return () if dot.kept is not None else (DotOperand(dot, True), DotOperand(dot, False))
