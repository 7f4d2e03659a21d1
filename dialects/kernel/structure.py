"""Kernels, their loops, and what launches them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_attr_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..block.dims import DIMS, parse_dims, require_declared
from ..block.syntax import parse_attributes, parse_axes, parse_types_of, print_attributes, print_axes
from ..block.types import AxesAttr, axes_attr
from . import placement
from .effects import KernelOp, NoTileEffects
from .types import ArrayType


@irdl_op_definition
class FuncOp(NoTileEffects):
    """One kernel: `kernel.func @f(%q : !kernel.array<…>) outs(%o : !kernel.array<…>) attributes {block.dims =
    {…}} { … }`.

    The arguments are the arrays that it reads, then the arrays that it writes; an array that is written
    overlaps no other. Dims are those of the `block` dialect.
    """

    name = "kernel.func"
    sym_name: StringAttr = prop_def(SymbolNameConstraint())
    outputs: IntegerAttr = prop_def(IntegerAttr)
    """Number of outputs: the kernel writes so many of its last arguments."""
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    def __init__(self, name: str, outputs: int, body: Region, attributes: dict[str, Attribute] | None = None):
        super().__init__(
            properties={"sym_name": StringAttr(name), "outputs": IntegerAttr(outputs, i64)},
            regions=[body],
            attributes=attributes or {},
        )

    @property
    def output_count(self) -> int:
        return self.outputs.value.data

    def verify_(self) -> None:
        for argument in self.body.block.args:
            if not isinstance(argument.type, ArrayType):
                raise VerifyException(f"kernel.func: expected arrays as arguments, got {argument.type}")
        if not 0 <= self.output_count <= len(self.body.block.args):
            raise VerifyException(
                f"kernel.func: {self.output_count} outputs among {len(self.body.block.args)} arguments"
            )
        if DIMS not in self.attributes:
            raise VerifyException("kernel.func: the kernel has no `block.dims`")
        for name, dim in parse_dims(self.attributes[DIMS]).items():
            if dim.block_size is None and not dim.is_whole and not dim.is_batch:
                raise VerifyException(f"kernel.func: dim {name} has no block size")
        for op in self.body.block.ops:
            if not isinstance(op, ParallelOp):
                raise VerifyException(
                    f"kernel.func: expected kernel.parallel alone in a kernel, got {op.name}"
                )
        for op in self.walk():
            if isinstance(op, KernelOp):
                placement.verify_names(op)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name = parser.parse_symbol_name().data
        inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        outputs: list[Parser.Argument] = []
        if parser.parse_optional_keyword("outs") is not None:
            outputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        attributes = (
            parse_attributes(parser) if parser.parse_optional_keyword("attributes") is not None else {}
        )
        return cls(name, len(outputs), parse_body(parser, [*inputs, *outputs]), attributes)

    def print(self, printer: Printer) -> None:
        def argument(value: SSAValue) -> None:
            printer.print_ssa_value(value)
            printer.print_string(f" : {value.type}")

        arguments = self.body.block.args
        first_output = len(arguments) - self.output_count
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        printer.print_list(arguments[:first_output], argument)
        printer.print_string(")")
        if self.output_count:
            printer.print_string(" outs(")
            printer.print_list(arguments[first_output:], argument)
            printer.print_string(")")
        printer.print_string(" attributes")
        print_attributes(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @property
    def packs(self) -> bool:
        """True if it only copies matrices into the packed layout in which another kernel reads them."""
        arguments = self.body.block.args
        results = arguments[len(arguments) - self.output_count :]
        return bool(results) and all(
            isinstance(result.type, ArrayType) and result.type.packed is not None for result in results
        )


def is_input(array: SSAValue) -> bool:
    """True if an array is an argument that its kernel does not write."""
    kernel = array.owner.parent_op() if isinstance(array.owner, Block) else None
    if not isinstance(kernel, FuncOp):
        return False
    arguments = kernel.body.block.args
    return array in arguments[: len(arguments) - kernel.output_count]


def is_output(array: SSAValue) -> bool:
    """True if an array is an argument that its kernel writes."""
    return (
        isinstance(array.owner, Block) and isinstance(array.owner.parent_op(), FuncOp) and not is_input(array)
    )


class Loop(NoTileEffects):
    """Base of the loops: a body that runs for the blocks of some dims."""

    body = region_def("single_block")

    @property
    def dim_names(self) -> tuple[str, ...]:
        raise NotImplementedError

    def verify_(self) -> None:
        dims = require_declared(self, self.dim_names)
        for dim in self.dim_names:
            if dims and enclosing_loop(self, dim) is not None:
                raise VerifyException(f"{self.name}: a loop over {dim} stands inside another loop over {dim}")
        if self.body.block.args:
            raise VerifyException(f"{self.name}: the body has no arguments")


@irdl_op_definition
class ParallelOp(Loop):
    """Iterations over the blocks of some dims in any order and at the same time: `kernel.parallel @M, @L {
    … }`.

    No iteration may read what another writes.
    """

    name = "kernel.parallel"
    dims: ArrayAttr[FlatSymbolRefAttr] = prop_def(ArrayAttr[FlatSymbolRefAttr])
    threads: IntegerAttr[IntegerType] | None = opt_attr_def(placement.THREADS)
    warps: IntegerAttr[IntegerType] | ArrayAttr[IntegerAttr[IntegerType]] | None = opt_attr_def(
        placement.WARPS
    )
    group: IntegerAttr[IntegerType] | None = opt_attr_def(placement.GROUP)
    traits = traits_def(NoTerminator())

    def __init__(self, dims: Sequence[str], body: Region):
        super().__init__(properties={"dims": ArrayAttr([SymbolRefAttr(dim) for dim in dims])}, regions=[body])

    @property
    def dim_names(self) -> tuple[str, ...]:
        return tuple(dim.root_reference.data for dim in self.dims)

    def verify_(self) -> None:
        super().verify_()
        if len(set(self.dim_names)) != len(self.dim_names):
            raise VerifyException(f"kernel.parallel: a dim occurs twice in {', '.join(self.dim_names)}")
        placement.verify_parallel(self)

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        dims: list[str] = []
        if (first := parser.parse_optional_symbol_name()) is not None:
            dims.append(first.data)
            while parser.parse_optional_punctuation(",") is not None:
                dims.append(parser.parse_symbol_name().data)
        attributes = parse_keyword_attributes(parser)
        op = cls(dims, parse_body(parser))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        if self.dim_names:
            printer.print_string(" " + ", ".join(f"@{dim}" for dim in self.dim_names))
        print_keyword_attributes(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


def parse_body(parser: Parser, arguments: Sequence[Parser.Argument] = ()) -> Region:
    """A region with one block, which may be empty."""
    region = parser.parse_region(arguments)
    if not region.blocks:
        region.add_block(Block())
    return region


def parse_keyword_attributes(parser: Parser) -> dict[str, Attribute]:
    """An optional `attributes {name = value}`."""
    return parse_attributes(parser) if parser.parse_optional_keyword("attributes") is not None else {}


def print_keyword_attributes(printer: Printer, op: Operation) -> None:
    """` attributes {name = value}`, if there are any."""
    if op.attributes:
        printer.print_string(" attributes")
        print_attributes(printer, op)


def require_axes(op: Operation, names: tuple[str, ...]) -> None:
    """Raise VerifyException unless the dims of an item's axes are declared and none is a batch dim."""
    dims = require_declared(op, names)
    for name in names:
        if name in dims and dims[name].is_batch:
            raise VerifyException(f"{op.name}: batch dim {name} can be no axis of an item")


def enclosing_loop(op: Operation, dim: str) -> Operation | None:
    """The loop over `dim` around an operation, if there is one."""
    scope = op.parent_op()
    while scope is not None and not (isinstance(scope, Loop) and dim in scope.dim_names):
        scope = scope.parent_op()
    return scope


def enclosing_parallel(op: Operation) -> ParallelOp | None:
    """The parallel loop around an operation, if there is one."""
    scope = op.parent_op()
    while scope is not None and not isinstance(scope, ParallelOp):
        scope = scope.parent_op()
    return scope


@irdl_op_definition
class LaunchOp(NoTileEffects):
    """Runs a kernel on whole arrays, in the function that stands for the program: `%o = kernel.launch @f(%q,
    %k) [[M, L]] : (tensor<…>, tensor<…>) -> (tensor<…>)`.

    The results are new tensors. The brackets give the dims (of the kernel) of each result's axes. With
    `once`, operands and results are the same in every call.
    """

    name = "kernel.launch"
    kernel: SymbolRefAttr = prop_def(FlatSymbolRefAttr)
    axes: ArrayAttr[AxesAttr] = prop_def(ArrayAttr[AxesAttr])
    inputs = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)

    def __init__(
        self,
        kernel: str,
        inputs: Sequence[SSAValue],
        axes: Sequence[Sequence[Sequence[str]]],
        result_types: Sequence[Attribute],
    ):
        super().__init__(
            operands=[inputs],
            result_types=[result_types],
            properties={
                "kernel": SymbolRefAttr(kernel),
                "axes": ArrayAttr([axes_attr(axis) for axis in axes]),
            },
        )

    @property
    def kernel_name(self) -> str:
        return self.kernel.root_reference.data

    def called(self) -> FuncOp | None:
        """The kernel; None if the module does not have it."""
        scope = self.parent_op()
        while scope is not None:
            for region in scope.regions:
                for body in region.blocks:
                    for op in body.ops:
                        if isinstance(op, FuncOp) and op.sym_name.data == self.kernel_name:
                            return op
            scope = scope.parent_op()
        return None

    def verify_(self) -> None:
        if len(self.axes) != len(self.results_):
            raise VerifyException(
                f"kernel.launch: axes of {len(self.axes)} results are given for {len(self.results_)}"
            )
        if self.get_toplevel_object() is self:
            return
        kernel = self.called()
        if kernel is None:
            raise VerifyException(f"kernel.launch: there is no kernel @{self.kernel_name}")
        expected = [argument.type for argument in kernel.body.block.args]
        got = [ArrayType.of(value.type) for value in (*self.inputs, *self.results_)]  # pyright: ignore[reportArgumentType]
        if kernel.output_count != len(self.results_) or len(expected) != len(got):
            raise VerifyException(
                f"kernel.launch: @{self.kernel_name} reads {len(expected) - kernel.output_count} arrays and "
                f"writes {kernel.output_count}, got {len(self.inputs)} and {len(self.results_)}"
            )
        for number, (want, have) in enumerate(zip(expected, got, strict=True)):
            if want != have:
                raise VerifyException(
                    f"kernel.launch: array {number} of @{self.kernel_name} must be {want}, got {have}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        kernel = parser.parse_symbol_name().data
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_axes(parser))
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        inputs = parse_types_of(parser, operands, parser.Delimiter.PAREN)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return cls.create(
            operands=inputs,
            result_types=results,
            properties={"kernel": SymbolRefAttr(kernel), "axes": ArrayAttr(axes)},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel_name)
        printer.print_string("(")
        printer.print_list(self.inputs, printer.print_operand)
        printer.print_string(") [")
        printer.print_list(self.axes, lambda axes: print_axes(printer, axes))
        printer.print_string("]")
        print_attributes(printer, self)
        printer.print_string(" : (")
        printer.print_list(self.inputs.types, printer.print_attribute)
        printer.print_string(") -> (")
        printer.print_list(self.results_.types, printer.print_attribute)
        printer.print_string(")")


def kernels_of(module: Operation) -> list[FuncOp]:
    """The kernels of a module, in order."""
    return [op for op in module.walk() if isinstance(op, FuncOp)]


def region_of(body: Block) -> Region:
    """A region with one block."""
    return Region(body)
