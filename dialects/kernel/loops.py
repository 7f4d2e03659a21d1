"""The sequential loop, and the region that merges its parts if its iterations are divided among workers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttr, IntegerAttr, IntegerType, SymbolRefAttr, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_attr_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..block.dims import require_declared
from ..block.syntax import parse_binding, parse_operand_types, print_bindings, print_types
from . import placement
from .parts import verify_merge
from .structure import (
    Loop,
    enclosing_loop,
    enclosing_parallel,
    parse_body,
    parse_keyword_attributes,
    print_keyword_attributes,
)


@irdl_op_definition
class ForOp(Loop):
    """Iterations over the blocks of a dim, one after the other: `kernel.for @N { … }`.

    Outside of the loop the current block of the dim is the first one.

    `kernel.for @N until @M` ends after the last element of M's current block, both counted from 0: a causal
    mask hides all later elements of N. The last block of N is cut there. `until @M + 184` ends 184 elements
    later.

    `kernel.for @N part @S` runs one part of the iterations. A part has consecutive iterations; all parts have
    the same number, but the last ones may have fewer or none. The loop over S around it counts the parts.

    `kernel.for @N { … } merge (%b = %a) : !kernel.tile<…> { … }` allows to divide the iterations into parts
    of consecutive ones that run at the same time. Each part has its own copy of every tile. A copy starts
    with what the tile holds before the loop, which must be neutral. The region merges parts: %a is the tile
    of all parts merged so far (at first of the first part), %b the same tile of the next part, and the region
    leaves the result in %a. `merge` names every tile that an iteration passes on to the next one, or to
    operations after the loop. A named tile that the region does not change keeps its value from the first
    part. `merge ()` says that nothing is passed on.
    """

    name = "kernel.for"
    dim: SymbolRefAttr = prop_def(FlatSymbolRefAttr)
    part: SymbolRefAttr | None = opt_prop_def(FlatSymbolRefAttr)
    until: SymbolRefAttr | None = opt_prop_def(FlatSymbolRefAttr)
    offset: IntegerAttr | None = opt_prop_def(IntegerAttr)
    stages: IntegerAttr[IntegerType] | None = opt_attr_def(placement.STAGES)
    carried = var_operand_def()
    """The tiles that `merge` unites."""
    body = region_def("single_block")
    merge = opt_region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(
        self,
        dim: str,
        body: Region,
        until: tuple[str, int] | None = None,
        carried: Sequence[SSAValue] = (),
        merge: Region | None = None,
        part: str | None = None,
    ):
        """`until` is a dim M and an offset in elements: the loop ends that far after M's current block.
        `part` is the dim that counts the parts; the loop does one of them.
        """
        end, offset = (None, 0) if until is None else until
        super().__init__(
            operands=[carried],
            properties={
                "dim": SymbolRefAttr(dim),
                "part": None if part is None else SymbolRefAttr(part),
                "until": None if end is None else SymbolRefAttr(end),
                "offset": IntegerAttr(offset, i64) if offset else None,
            },
            regions=[body, merge],
        )

    @property
    def part_dim(self) -> str | None:
        return None if self.part is None else self.part.root_reference.data

    @property
    def until_dim(self) -> str | None:
        return None if self.until is None else self.until.root_reference.data

    @property
    def until_offset(self) -> int:
        """Number of elements after the current block of `until_dim` at which the loop ends."""
        return 0 if self.offset is None else self.offset.value.data

    @property
    def dim_names(self) -> tuple[str, ...]:
        return (self.dim.root_reference.data,)

    def verify_(self) -> None:
        super().verify_()
        self._verify_until()
        self._verify_part()
        placement.verify_loop(self, enclosing_parallel(self))
        if self.merge is not None:
            verify_merge(self, self.dim_names[0], self.carried, self.body.block, self.merge.block)
        elif self.carried:
            raise VerifyException("kernel.for: there is no `merge` for the tiles that are named")

    def _verify_until(self) -> None:
        if self.until_offset < 0:
            raise VerifyException(f"kernel.for: the offset is {self.until_offset}, expected 0 or more")
        if (until := self.until_dim) is None:
            if self.offset is not None:
                raise VerifyException("kernel.for: has an offset without `until`")
            return
        dims = require_declared(self, (until,))
        if until == self.dim_names[0]:
            raise VerifyException(f"kernel.for: the loop over {until} cannot end at its own block")
        if dims and not dims[until].is_whole and enclosing_loop(self, until) is None:
            raise VerifyException(f"kernel.for: no enclosing loop iterates over {until}")

    def _verify_part(self) -> None:
        if (part := self.part_dim) is None:
            return
        dims = require_declared(self, (part,))
        if dims and not dims[part].is_batch:
            raise VerifyException(f"kernel.for: parts are counted by a batch dim, which {part} is not")
        if enclosing_loop(self, part) is None:
            raise VerifyException(f"kernel.for: no enclosing loop iterates over {part}")
        if self.merge is not None:
            raise VerifyException(
                "kernel.for: a part of a loop has no `merge`: another loop unites the parts"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        dim = parser.parse_symbol_name().data
        part = until = None
        if parser.parse_optional_keyword("part") is not None:
            part = parser.parse_symbol_name().data
        if parser.parse_optional_keyword("until") is not None:
            offset = 0
            end = parser.parse_symbol_name().data
            if parser.parse_optional_punctuation("+") is not None:
                offset = parser.parse_integer(allow_boolean=False, allow_negative=False)
            until = (end, offset)
        attributes = parse_keyword_attributes(parser)
        body = parse_body(parser)
        carried, merge = _parse_merge(parser)
        op = cls(dim, body, until, carried, merge, part)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.dim_names[0]}")
        if self.part_dim is not None:
            printer.print_string(f" part @{self.part_dim}")
        if self.until_dim is not None:
            printer.print_string(f" until @{self.until_dim}")
            if self.until_offset:
                printer.print_string(f" + {self.until_offset}")
        print_keyword_attributes(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)
        if self.merge is None:
            return
        printer.print_string(" merge ")
        print_bindings(printer, self.merge.block.args, self.carried)
        if self.carried:
            print_types(printer, self.carried)
        printer.print_string(" ")
        printer.print_region(self.merge, print_entry_block_args=False, print_empty_block=False)


def _parse_merge(parser: Parser) -> tuple[list[SSAValue], Region | None]:
    if parser.parse_optional_keyword("merge") is None:
        return [], None
    bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_binding(parser))
    carried: list[SSAValue] = []
    if bindings:
        carried = parse_operand_types(parser, [operand for _, operand in bindings])
    arguments = [argument.resolve(value.type) for (argument, _), value in zip(bindings, carried, strict=True)]
    region = parser.parse_region(arguments)
    if not region.blocks:
        region.add_block(Block())
    return carried, region
