"""Operators on local items.

Shapes follow from the dims; an element type other than the operands' says how sums accumulate.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FixedBitwidthType, FlatSymbolRefAttr, IndexType, SymbolRefAttr, i1
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import HasParent, Pure
from xdsl.utils.exceptions import VerifyException

from ..scalar import is_float
from .dims import expect_local, require_declared
from .structure import ElementwiseOp, require_iterated
from .syntax import (
    parse_attributes,
    parse_operand_types,
    parse_operands,
    parse_types_of,
    print_attributes,
    print_operands,
    print_types,
)
from .types import BlockType, ItemType, ScalarType, VectorType, element_type_of, item_type


def _expect_block(op: IRDLOperation, value: SSAValue) -> BlockType:
    type = expect_local(op, value)
    if not isinstance(type, BlockType):
        raise VerifyException(f"{op.name}: expected a block, got {type}")
    return type


def _expect_vector(op: IRDLOperation, value: SSAValue) -> VectorType:
    type = expect_local(op, value)
    if not isinstance(type, VectorType):
        raise VerifyException(f"{op.name}: expected a vector, got {type}")
    return type


def _bits(type: Attribute) -> int:
    assert isinstance(type, FixedBitwidthType)
    return type.bitwidth


class LocalOp(IRDLOperation):
    """An operator with one result, written `%a, %b : type, type`."""

    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, operands: Sequence[SSAValue]) -> Attribute:
        """The type of the result; any type if the operands are wrong, which the verifier reports."""
        return operands[0].type

    @classmethod
    def resolve_operands(cls, parser: Parser, unresolved: Sequence[UnresolvedOperand]) -> list[SSAValue]:
        """Parse the types of the operands; raise ParseError if the operation takes another number of them."""
        position = parser.pos
        operands = parse_operand_types(parser, unresolved)
        expected = len(cls.get_irdl_definition().operands)
        if len(operands) != expected:
            parser.raise_error(
                f"{cls.name}: expected {expected} operands, got {len(operands)}", position, parser.pos
            )
        return operands

    @classmethod
    def parse(cls, parser: Parser):
        unresolved = parse_operands(parser)
        attributes = parse_attributes(parser)
        operands = cls.resolve_operands(parser, unresolved)
        return cls.create(operands=operands, result_types=[cls.infer(operands)], attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        print_types(printer, self.operands)

    def expect_result(self, expected: Attribute) -> None:
        if self.result.type != expected:
            raise VerifyException(f"{self.name}: the result must be {expected}, got {self.result.type}")


class AccumulatingOp(LocalOp):
    """An operator that sums, written `%a, %b acc f32 : type, type`.

    `acc` is the element type of the sum and of the result.
    """

    @classmethod
    def infer_accumulated(cls, operands: Sequence[SSAValue], accumulator: Attribute) -> Attribute:
        raise NotImplementedError

    def verify_accumulator(self, element_type: Attribute) -> None:
        """Raise VerifyException unless sums of `element_type` may be kept in the accumulation type."""
        accumulator = self.accumulator
        same_kind = is_float(element_type) == is_float(accumulator)
        if accumulator != element_type and not (same_kind and _bits(accumulator) > _bits(element_type)):
            raise VerifyException(
                f"{self.name}: {element_type} accumulates in {element_type} or a wider type of its kind, "
                f"got {accumulator}"
            )

    @property
    def accumulator(self) -> Attribute:
        return element_type_of(self.result.type)

    @classmethod
    def parse(cls, parser: Parser):
        unresolved = parse_operands(parser)
        parser.parse_keyword("acc")
        accumulator = parser.parse_type()
        attributes = parse_attributes(parser)
        operands = cls.resolve_operands(parser, unresolved)
        type = cls.infer_accumulated(operands, accumulator)
        return cls.create(operands=operands, result_types=[type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        printer.print_string(f" acc {self.accumulator}")
        print_attributes(printer, self)
        print_types(printer, self.operands)


@irdl_op_definition
class DotOp(AccumulatingOp):
    """a<M,K>, b<N,K> → a·bᵀ<M,N>.

    `%s = block.dot %q, %k acc f32 : !block.block<M x D x bf16>, !block.block<N x D x bf16>`

    With `keeps %c`, an i1 block over the rows and columns of one operand, the products of its elements where
    c is 0 are left out, whatever both factors are: NaN and infinity too.
    """

    name = "block.dot"
    lhs = operand_def()
    rhs = operand_def()
    kept = opt_operand_def()

    def __init__(self, lhs: SSAValue, rhs: SSAValue, accumulator: Attribute, kept: SSAValue | None = None):
        super().__init__(
            operands=[lhs, rhs, kept], result_types=[self.infer_accumulated((lhs, rhs), accumulator)]
        )

    @property
    def masked(self) -> SSAValue | None:
        """The operand over whose elements the mask is; None without a mask."""
        if self.kept is None:
            return None
        item = self.kept.type
        return (
            self.lhs
            if isinstance(item, BlockType) and item.rows == _expect_block(self, self.lhs).rows
            else self.rhs
        )

    @classmethod
    def infer_accumulated(cls, operands: Sequence[SSAValue], accumulator: Attribute) -> Attribute:
        a, b = operands[0].type, operands[1].type
        if isinstance(a, BlockType) and isinstance(b, BlockType) and a.rows != b.rows:
            return BlockType(a.rows.data, b.rows.data, accumulator)
        return a

    def verify_(self) -> None:
        a, b = _expect_block(self, self.lhs), _expect_block(self, self.rhs)
        if a.cols != b.cols:
            raise VerifyException(
                f"block.dot: both operands must have the same columns, got {a.cols.data} and {b.cols.data}"
            )
        if a.rows == b.rows:
            raise VerifyException(
                f"block.dot: the operands' rows must be two dims, got {a.rows.data} for both"
            )
        if a.element_type != b.element_type:
            raise VerifyException(f"block.dot: element types differ, {a.element_type} and {b.element_type}")
        expect_local(self, self.result)
        self.expect_result(BlockType(a.rows.data, b.rows.data, self.accumulator))
        self.verify_accumulator(a.element_type)
        if self.kept is not None:
            self._verify_kept(self.kept, (a, b))

    def _verify_kept(self, kept: SSAValue, operands: tuple[BlockType, BlockType]) -> None:
        expected = [BlockType(item.rows.data, item.cols.data, i1) for item in operands]
        if _expect_block(self, kept) not in expected:
            raise VerifyException(
                f"block.dot: the mask must be {expected[0]} or {expected[1]}, got {kept.type}"
            )
        if not is_float(operands[0].element_type):
            raise VerifyException(
                f"block.dot: a product of {operands[0].element_type} takes no mask, expected a float type"
            )

    @classmethod
    def parse(cls, parser: Parser) -> DotOp:
        unresolved = parse_operands(parser)
        masked = parser.parse_optional_keyword("keeps") is not None
        if masked:
            unresolved.append(parser.parse_unresolved_operand())
        parser.parse_keyword("acc")
        accumulator = parser.parse_type()
        attributes = parse_attributes(parser)
        position = parser.pos
        operands = parse_operand_types(parser, unresolved)
        if len(operands) != (expected := 3 if masked else 2):
            parser.raise_error(
                f"{cls.name}: expected {expected} operands, got {len(operands)}", position, parser.pos
            )
        type = cls.infer_accumulated(operands, accumulator)
        return cls.create(operands=operands, result_types=[type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.lhs, self.rhs), printer.print_operand)
        if self.kept is not None:
            printer.print_string(" keeps ")
            printer.print_operand(self.kept)
        printer.print_string(f" acc {self.accumulator}")
        print_attributes(printer, self)
        print_types(printer, self.operands)


@irdl_op_definition
class OuterOp(LocalOp):
    """c<M>, d<N> → c·dᵀ<M,N>: `%p = block.outer %c, %d : !block.vector<M x f32>, !block.vector<N x f32>`"""

    name = "block.outer"
    lhs = operand_def()
    rhs = operand_def()

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[self.infer((lhs, rhs))])

    @classmethod
    def infer(cls, operands: Sequence[SSAValue]) -> Attribute:
        c, d = operands[0].type, operands[1].type
        if isinstance(c, VectorType) and isinstance(d, VectorType) and c.dim != d.dim:
            return BlockType(c.dim.data, d.dim.data, c.element_type)
        return c

    def verify_(self) -> None:
        c, d = _expect_vector(self, self.lhs), _expect_vector(self, self.rhs)
        if c.dim == d.dim:
            raise VerifyException(
                f"block.outer: the operands must be over two dims, got {c.dim.data} for both"
            )
        if c.element_type != d.element_type:
            raise VerifyException(f"block.outer: element types differ, {c.element_type} and {d.element_type}")
        self.expect_result(BlockType(c.dim.data, d.dim.data, c.element_type))


class SameTypeOp(LocalOp):
    """Two items of one type, element by element; written with that type once."""

    lhs = operand_def()
    rhs = operand_def()

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])

    @classmethod
    def parse(cls, parser: Parser):
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = [parser.resolve_operand(lhs, type), parser.resolve_operand(rhs, type)]
        return cls.create(operands=operands, result_types=[type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        print_types(printer, (self.lhs,))

    def verify_(self) -> None:
        a, b = expect_local(self, self.lhs), expect_local(self, self.rhs)
        if a != b:
            raise VerifyException(f"{self.name}: both operands must have one type, got {a} and {b}")
        self.expect_result(a)


@irdl_op_definition
class AddOp(SameTypeOp):
    """a + b, of one type."""

    name = "block.add"


@irdl_op_definition
class SubOp(SameTypeOp):
    """a - b, of one type."""

    name = "block.sub"


@irdl_op_definition
class MulOp(SameTypeOp):
    """The Hadamard product a ∘ b, of one type."""

    name = "block.mul"


class BlockVectorOp(LocalOp):
    """A block and a vector over its rows (or columns); the result is a block like the first."""

    block = operand_def()
    vector = operand_def()

    def __init__(self, block: SSAValue, vector: SSAValue):
        super().__init__(operands=[block, vector], result_types=[block.type])

    def verify_along(self, axis: str) -> None:
        a, c = _expect_block(self, self.block), _expect_vector(self, self.vector)
        dim = a.rows if axis == "rows" else a.cols
        if c.dim != dim:
            raise VerifyException(
                f"{self.name}: the vector must be over the block's {axis} {dim.data}, got {c.dim.data}"
            )
        if c.element_type != a.element_type:
            raise VerifyException(f"{self.name}: element types differ, {a.element_type} and {c.element_type}")
        self.expect_result(a)


class RowVectorOp(BlockVectorOp):
    def verify_(self) -> None:
        self.verify_along("rows")


class ColVectorOp(BlockVectorOp):
    def verify_(self) -> None:
        self.verify_along("columns")


@irdl_op_definition
class RowShiftOp(RowVectorOp):
    """a<M,K>, c<M> → a + c·1ᵀ"""

    name = "block.row_shift"


@irdl_op_definition
class RowScaleOp(RowVectorOp):
    """a<M,K>, c<M> → diag(c)·a"""

    name = "block.row_scale"


@irdl_op_definition
class ColShiftOp(ColVectorOp):
    """a<M,K>, d<K> → a + 1·dᵀ"""

    name = "block.col_shift"


@irdl_op_definition
class ColScaleOp(ColVectorOp):
    """a<M,K>, d<K> → a·diag(d)"""

    name = "block.col_scale"


def _without_last_axis(type: Attribute, element_type: Attribute) -> Attribute:
    if isinstance(type, BlockType | VectorType):
        return item_type(type.dims[:-1], element_type)
    return type


def _verify_row_reduction(op: LocalOp, operand: SSAValue) -> None:
    type = expect_local(op, operand)
    if isinstance(type, ScalarType):
        raise VerifyException(f"{op.name}: expected a block or a vector, got {type}")
    op.expect_result(_without_last_axis(type, expect_local(op, op.result).element_type))


@irdl_op_definition
class RowSumOp(AccumulatingOp):
    """a<M,K> → the sum of each row <M>; a vector gives a scalar.

    `%q = block.row_sum %x acc f32 : !block.block<M x K x f32>`
    """

    name = "block.row_sum"
    operand = operand_def()

    def __init__(self, operand: SSAValue, accumulator: Attribute):
        super().__init__(operands=[operand], result_types=[self.infer_accumulated((operand,), accumulator)])

    @classmethod
    def infer_accumulated(cls, operands: Sequence[SSAValue], accumulator: Attribute) -> Attribute:
        return _without_last_axis(operands[0].type, accumulator)

    def verify_(self) -> None:
        _verify_row_reduction(self, self.operand)
        self.verify_accumulator(element_type_of(self.operand.type))


class RowExtremeOp(LocalOp):
    """The extreme of each row; a vector gives a scalar."""

    operand = operand_def()

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[self.infer((operand,))])

    @classmethod
    def infer(cls, operands: Sequence[SSAValue]) -> Attribute:
        type = operands[0].type
        return _without_last_axis(type, element_type_of(type)) if isinstance(type, ItemType) else type

    def verify_(self) -> None:
        _verify_row_reduction(self, self.operand)
        if element_type_of(self.result.type) != element_type_of(self.operand.type):
            raise VerifyException(
                f"{self.name}: the result must have the operand's element type, got {self.result.type}"
            )


@irdl_op_definition
class RowMaxOp(RowExtremeOp):
    """a<M,K> → the maximum of each row <M>: `%m = block.row_max %s : !block.block<M x N x f32>`"""

    name = "block.row_max"


@irdl_op_definition
class RowMinOp(RowExtremeOp):
    """a<M,K> → the minimum of each row <M>: `%m = block.row_min %s : !block.block<M x N x f32>`"""

    name = "block.row_min"


class DimScalarOp(IRDLOperation):
    """A number about a dim, inside an element-wise region: `%i = block.index @N`."""

    dim: SymbolRefAttr = prop_def(FlatSymbolRefAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure(), HasParent(ElementwiseOp))

    def __init__(self, dim: str):
        super().__init__(properties={"dim": SymbolRefAttr(dim)}, result_types=[IndexType()])

    @property
    def dim_name(self) -> str:
        return self.dim.root_reference.data

    @classmethod
    def parse(cls, parser: Parser):
        dim = parser.parse_symbol_name()
        op = cls(dim.data)
        op.attributes.update(parse_attributes(parser))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.dim_name}")
        print_attributes(printer, self)


@irdl_op_definition
class IndexOp(DimScalarOp):
    """The index of the element along a dim, counted from the start of the array: `%i = block.index @N`."""

    name = "block.index"

    def verify_(self) -> None:
        dim = self.dim_name
        dims = require_declared(self, (dim,))
        owner = self.parent_op()
        if not dims or not isinstance(owner, ElementwiseOp):
            return
        result = owner.result.type
        if not dims[dim].is_batch and isinstance(result, ItemType) and dim not in result.dims:
            raise VerifyException(
                f"block.index: {result} has no axis over {dim}, so its elements have no index along it"
            )
        require_iterated(self, (dim,))


@irdl_op_definition
class ExtentOp(DimScalarOp):
    """The extent of a dim in elements: `%n = block.extent @K`."""

    name = "block.extent"

    def verify_(self) -> None:
        require_declared(self, (self.dim_name,))


@irdl_op_definition
class CustomOp(IRDLOperation):
    """An opaque operator on local items: `%y = block.custom @f(%a, %b) : (…) -> (…)`."""

    name = "block.custom"
    callback: SymbolRefAttr = prop_def(FlatSymbolRefAttr)
    inputs = var_operand_def()
    results_ = var_result_def()
    traits = traits_def(Pure())

    def __init__(self, callback: str, inputs: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[inputs], result_types=[result_types], properties={"callback": SymbolRefAttr(callback)}
        )

    def verify_(self) -> None:
        given = {dim for value in self.inputs for dim in expect_local(self, value).dims}
        for value in self.results_:
            require_iterated(self, tuple(dim for dim in expect_local(self, value).dims if dim not in given))

    @classmethod
    def parse(cls, parser: Parser) -> CustomOp:
        callback = parser.parse_symbol_name()
        unresolved = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        inputs = parse_types_of(parser, unresolved, parser.Delimiter.PAREN)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        op = cls(callback.data, inputs, results)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.callback.root_reference.data}(")
        printer.print_list(self.inputs, printer.print_operand)
        printer.print_string(")")
        print_attributes(printer, self)
        printer.print_string(" : (")
        printer.print_list(self.inputs.types, printer.print_attribute)
        printer.print_string(") -> (")
        printer.print_list(self.results_.types, printer.print_attribute)
        printer.print_string(")")


def scalar_block(inputs: Sequence[SSAValue]) -> Block:
    """An empty block for the region of an element-wise op over `inputs`."""
    return Block(arg_types=[element_type_of(value.type) for value in inputs])
