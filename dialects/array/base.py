"""Base of all `array` operations: it verifies array types first, then the operation's own rules."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    I64,
    AnyTensorType,
    AnyTensorTypeConstr,
    DenseArrayBase,
    FixedBitwidthType,
    IntegerAttr,
    NoneAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..scalar import is_element_type, is_float
from .shapes import DYNAMIC, element_type_of, shape_of, shape_text

ARRAY = AnyTensorTypeConstr
LARGEST_ARRAY = 2**63 - 1
"""Bytes: offsets of elements are numbers of 64 bits."""

INTEGERS = DenseArrayBase.constr(i64)
INTEGER = IntegerAttr.constr(i64)


def integers(values: Sequence[int]) -> DenseArrayBase[I64]:
    """An `array<i64: …>` attribute."""
    return DenseArrayBase.from_list(i64, values)


class ArrayOp(IRDLOperation):
    """Base of all operations on whole arrays: pure, on ranked tensors of the supported element types."""

    traits = traits_def(Pure())

    def verify_(self) -> None:
        for number, operand in enumerate(self.operands):
            self._verify_array_type(f"operand {number}", operand.type)
        for number, result in enumerate(self.results):
            self._verify_array_type(f"result {number}", result.type)
        self.verify_array()

    def verify_array(self) -> None:
        """Check the operation's own rules; all operands and results are known to be proper arrays."""

    def error(self, message: str) -> VerifyException:
        """An exception whose message starts with the operation's name."""
        return VerifyException(f"'{self.name}' {message}")

    def _verify_array_type(self, what: str, type: Attribute) -> None:
        if not isa(type, AnyTensorType):
            raise self.error(f"{what} has type {type}, expected a ranked tensor")
        if type.encoding != NoneAttr():
            raise self.error(f"{what} has type {type}, expected a tensor without encoding")
        if not is_element_type(type.element_type):
            raise self.error(
                f"{what} has element type {type.element_type}, "
                "expected one of f16, bf16, f32, f64, i1, i32, i64"
            )
        if any(extent < 1 and extent != DYNAMIC for extent in type.get_shape()):
            raise self.error(
                f"{what} has shape {shape_text(type.get_shape())}, expected extents of at least 1"
            )

        known = [extent for extent in type.get_shape() if extent != DYNAMIC]
        assert isinstance(type.element_type, FixedBitwidthType)
        if prod(known) > LARGEST_ARRAY // max(1, type.element_type.bitwidth // 8):
            raise self.error(f"{what} has type {type}, whose elements take more than 2^63 bytes")

    def expect_shape(self, value: SSAValue, shape: Sequence[int], what: str = "result") -> None:
        """Raise unless `value` has exactly `shape`."""
        if shape_of(value) != tuple(shape):
            raise self.error(f"{what} has shape {shape_text(shape_of(value))}, expected {shape_text(shape)}")

    def expect_element_type(self, value: SSAValue, element_type: Attribute, what: str = "result") -> None:
        """Raise unless `value` has exactly this element type."""
        if element_type_of(value) != element_type:
            raise self.error(f"{what} has element type {element_type_of(value)}, expected {element_type}")

    def expect_float(self, value: SSAValue, what: str = "operand") -> None:
        """Raise unless the elements of `value` are floating point."""
        if not is_float(element_type_of(value)):
            raise self.error(
                f"{what} has element type {element_type_of(value)}, expected f16, bf16, f32 or f64"
            )
