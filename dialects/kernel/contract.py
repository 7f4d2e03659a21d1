"""The contraction of two blocks: a product of matrices, which sums over the columns of both."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, FloatTF32Type, UnitAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..block.syntax import parse_attributes, parse_operand_types, print_attributes, print_types
from .accessors import require_item, require_tile
from .effects import KernelOp
from .storage import packed_layout
from .structure import FuncOp


@irdl_op_definition
class ContractOp(KernelOp):
    """acc<M,N> = a<M,K> · b<N,K>ᵀ: `kernel.contract %acc, %a, %b : …`; with `accumulate`, acc += a·bᵀ; with
    `scale %c`, acc = diag(c)·acc + a·bᵀ.

    An operand that is a cursor is read from its array, without a tile; b may be a block of a packed array.
    With `keeps %s`, a tile of 0 and 1 over the rows and columns of one operand, the products of its elements
    where %s is 0 are left out, whatever both factors are. Only a careful run has %s: see `masked.py`.
    With `multiply bf16`, `multiply f16` or `multiply tf32` a target may round the operands to that type
    before it multiplies, as matrix units do; sums are in the accumulator's type.
    """

    name = "kernel.contract"
    accumulator = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    scale = opt_operand_def()
    kept = opt_operand_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    accumulate: UnitAttr | None = opt_prop_def(UnitAttr)
    multiply: Attribute | None = opt_prop_def(Attribute)

    def __init__(
        self,
        accumulator: SSAValue,
        lhs: SSAValue,
        rhs: SSAValue,
        *,
        accumulate: bool = False,
        scale: SSAValue | None = None,
        kept: SSAValue | None = None,
        multiply: Attribute | None = None,
    ):
        super().__init__(
            operands=[accumulator, lhs, rhs, scale, kept],
            properties={"accumulate": UnitAttr() if accumulate else None, "multiply": multiply},
        )

    @property
    def accumulates(self) -> bool:
        return self.accumulate is not None

    @property
    def masks_left(self) -> bool:
        """True if the mask is over the elements of the left operand; false for the right one."""
        assert self.kept is not None
        return require_tile(self, self.kept).dims == require_item(self, self.lhs).dims

    @property
    def tiles_read(self) -> tuple[SSAValue, ...]:
        scale = () if self.scale is None else (self.scale,)
        kept = (self.accumulator,) if self.accumulates or self.scale is not None else ()
        mask = () if self.kept is None else (self.kept,)
        return (self.lhs, self.rhs, *scale, *mask, *kept)

    @property
    def tiles_written(self) -> tuple[SSAValue, ...]:
        return (self.accumulator,)

    def verify_(self) -> None:
        acc, a, b = (
            require_tile(self, self.accumulator),
            require_item(self, self.lhs),
            require_item(self, self.rhs),
        )
        if len(acc.dims) != 2 or len(a.dims) != 2 or len(b.dims) != 2:
            raise VerifyException(f"kernel.contract: expected blocks, got {acc}, {a} and {b}")
        if a.dims[1] != b.dims[1]:
            raise VerifyException(
                f"kernel.contract: both operands must have the same columns, got {a.dims[1]} and {b.dims[1]}"
            )
        if acc.dims != (a.dims[0], b.dims[0]):
            raise VerifyException(
                f"kernel.contract: the accumulator must be over {a.dims[0]} and {b.dims[0]}, got {acc}"
            )
        if packed_layout(self.lhs) is not None:
            raise VerifyException("kernel.contract: only the right operand may be packed")
        if self.scale is not None:
            scale = require_tile(self, self.scale)
            if scale.dims != acc.dims[:1]:
                raise VerifyException(
                    f"kernel.contract: the scale must be over the rows {acc.dims[0]}, got {scale}"
                )
            if self.accumulates:
                raise VerifyException("kernel.contract: `accumulate` is said by `scale` already")
        if self.kept is not None:
            mask = require_tile(self, self.kept)
            if mask.dims not in (a.dims, b.dims):
                expected = ", or ".join(" and ".join(item.dims) for item in (a, b))
                raise VerifyException(f"kernel.contract: the mask must be over {expected}, got {mask}")
        self._verify_multiply()

    def _verify_multiply(self) -> None:
        if self.multiply is None:
            return
        if not isinstance(self.multiply, BFloat16Type | Float16Type | FloatTF32Type):
            wanted = "bf16, f16 or tf32 as the type to multiply in"
            raise VerifyException(f"kernel.contract: expected {wanted}, got {self.multiply}")
        acc, a, b = (
            require_tile(self, self.accumulator),
            require_item(self, self.lhs),
            require_item(self, self.rhs),
        )
        for item in (a, b):
            in_tf32 = isinstance(self.multiply, FloatTF32Type)
            if item.element_type not in ((f32,) if in_tf32 else (self.multiply, f32)):
                wanted = (
                    f"multiplied in {self.multiply} must be of {'f32' if in_tf32 else 'that type or of f32'}"
                )
                raise VerifyException(f"kernel.contract: operands that are {wanted}, got {item}")
        if acc.element_type != f32:
            raise VerifyException(
                f"kernel.contract: sums of products in {self.multiply} must be in f32, got {acc}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ContractOp:
        accumulate = parser.parse_optional_keyword("accumulate") is not None
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        scaled = parser.parse_optional_keyword("scale") is not None
        if scaled:
            operands.append(parser.parse_unresolved_operand())
        masked = parser.parse_optional_keyword("keeps") is not None
        if masked:
            operands.append(parser.parse_unresolved_operand())
        multiply = None
        if parser.parse_optional_keyword("multiply") is not None:
            multiply = parser.parse_type()
        attributes = parse_attributes(parser)
        position = parser.pos
        values = parse_operand_types(parser, operands)
        if len(values) != 3 + scaled + masked:
            parser.raise_error(
                f"kernel.contract: expected an accumulator and two operands, got {len(values)} tiles",
                position,
                parser.pos,
            )
        scale, kept = values[3] if scaled else None, values[-1] if masked else None
        op = cls(*values[:3], accumulate=accumulate, scale=scale, kept=kept, multiply=multiply)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" accumulate " if self.accumulates else " ")
        printer.print_list((self.accumulator, self.lhs, self.rhs), printer.print_operand)
        if self.scale is not None:
            printer.print_string(" scale ")
            printer.print_operand(self.scale)
        if self.kept is not None:
            printer.print_string(" keeps ")
            printer.print_operand(self.kept)
        if self.multiply is not None:
            printer.print_string(" multiply ")
            printer.print_attribute(self.multiply)
        print_attributes(printer, self)
        print_types(printer, self.operands)


def sweeps_only(function: FuncOp) -> bool:
    """True if a kernel contracts nothing. It then sweeps over rows, and is limited by memory rather than by
    arithmetic.
    """
    return not any(isinstance(op, ContractOp) for op in function.walk())
