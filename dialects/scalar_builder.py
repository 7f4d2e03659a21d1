"""Builder of the scalar regions of element-wise operations.

It imports `arith` and `math`, so passes use it and dialects do not.
"""

from typing import Literal

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType, f64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from .attributes import EXACT_ATTRIBUTE


class ScalarBuilder:
    """Appends `arith` and `math` operations and returns their results."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def insert(self, op: Operation) -> SSAValue:
        """Append `op`; returns its first result."""
        self.builder.insert(op)
        return op.results[0]

    def constant(self, value: float, type: Attribute) -> SSAValue:
        """A constant of a float, integer or index type; if rounded, it also keeps the exact value."""
        if isa(type, IntegerType | IndexType):
            return self.insert(arith.ConstantOp(IntegerAttr(int(value), type)))
        assert isinstance(type, AnyFloat)
        op = arith.ConstantOp(attribute := FloatAttr(value, type))
        if attribute.value.data != value and value == value:
            op.attributes[EXACT_ATTRIBUTE] = FloatAttr(value, f64)
        return self.insert(op)

    def convert(self, value: SSAValue, type: Attribute) -> SSAValue:
        """`value` as another float type; itself if it has that type."""
        if value.type == type:
            return value
        assert isinstance(value.type, AnyFloat)
        assert isinstance(type, AnyFloat)
        widens = type.bitwidth > value.type.bitwidth
        return self.insert(arith.ExtFOp(value, type) if widens else arith.TruncFOp(value, type))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.AddfOp(a, b))

    def subtract(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.SubfOp(a, b))

    def multiply(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.MulfOp(a, b))

    def divide(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.DivfOp(a, b))

    def maximum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.MaximumfOp(a, b))

    def negate(self, a: SSAValue) -> SSAValue:
        return self.insert(arith.NegfOp(a))

    def select(self, condition: SSAValue, when_true: SSAValue, when_false: SSAValue) -> SSAValue:
        return self.insert(arith.SelectOp(condition, when_true, when_false))

    def compare_integers(
        self, predicate: Literal["eq", "ne", "slt", "sle", "sgt", "sge"], a: SSAValue, b: SSAValue
    ) -> SSAValue:
        return self.insert(arith.CmpiOp(a, b, predicate))

    def exp(self, a: SSAValue) -> SSAValue:
        return self.insert(math.ExpOp(a))

    def rsqrt(self, a: SSAValue) -> SSAValue:
        return self.insert(math.RsqrtOp(a))

    def tanh(self, a: SSAValue) -> SSAValue:
        return self.insert(math.TanhOp(a))

    def erf(self, a: SSAValue) -> SSAValue:
        return self.insert(math.ErfOp(a))
