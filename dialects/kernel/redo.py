"""The redo: a second, careful computation of what a kernel has computed, for the rows that need it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..block.syntax import (
    parse_attributes,
    parse_operand_types,
    print_attributes,
    print_operands,
    print_types,
)
from .accessors import require_tile
from .effects import KernelOp
from .structure import FuncOp, ParallelOp, parse_body


@irdl_op_definition
class RedoOp(KernelOp):
    """The same work once more, with care, if an element of a tile is not 0: `kernel.redo %far :
    !kernel.tile<M x f32, scratch> { … }`.

    The tiles are vectors or scalars: an element says that the kernel's results for a row are not right. The
    body then computes all results of the current blocks again, from the arrays alone, and writes them over
    those that are there. It is the last operation of a parallel loop and seldom runs: analyses of cost and
    traffic count it as not taken.
    """

    name = "kernel.redo"
    conditions = var_operand_def()
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(self, conditions: Sequence[SSAValue], body: Region):
        super().__init__(operands=[conditions], regions=[body])

    @property
    def tiles_read(self) -> tuple[SSAValue, ...]:
        return tuple(self.conditions)

    @property
    def tiles_written(self) -> tuple[SSAValue, ...]:
        return ()

    def verify_(self) -> None:
        if not self.conditions:
            raise VerifyException("kernel.redo: expected a tile that says which rows need it")
        for value in self.conditions:
            tile = require_tile(self, value)
            if len(tile.dims) > 1:
                raise VerifyException(f"kernel.redo: expected vectors or scalars as conditions, got {tile}")
        if self.body.block.args:
            raise VerifyException("kernel.redo: the body has no arguments")
        if not isinstance(self.parent_op(), ParallelOp) or self.next_op is not None:
            raise VerifyException("kernel.redo: must be the last operation of a kernel.parallel")
        self._verify_own_tiles()

    def _verify_own_tiles(self) -> None:
        for op in self.body.walk():
            for value in op.operands:
                maker = value.owner
                if isinstance(maker, Block) and isinstance(maker.parent_op(), FuncOp):
                    continue  # an array
                if not self.is_ancestor(maker):
                    raise VerifyException(
                        "kernel.redo: the body computes all from arrays, "
                        f"but {op.name} uses a value from outside"
                    )

    @classmethod
    def parse(cls, parser: Parser) -> RedoOp:
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parse_attributes(parser)
        conditions = parse_operand_types(parser, operands)
        op = cls(conditions, parse_body(parser))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        print_types(printer, self.conditions)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


def in_redo(op: Operation) -> bool:
    """True for an operation in the body of a redo."""
    around = op.parent_op()
    while around is not None and not isinstance(around, RedoOp):
        around = around.parent_op()
    return around is not None
