"""Operations that apply a region to each element of lists or of items, and reductions of lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttr, IntAttr, SymbolRefAttr
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..attributes import STABILIZED
from ..scalar import is_float, verify_scalar_region
from .dims import expect_local, require_declared, require_item
from .syntax import (
    parse_attributes,
    parse_binding,
    parse_operand_types,
    print_attributes,
    print_bindings,
    print_types,
)
from .types import ItemType, Kind, KindAttr, ListType, Tier, element_type_of, in_tier, is_local


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends the body of a map, or the region of an element-wise op."""

    name = "block.yield"

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(MapOp, ElementwiseOp), Pure()))


def result_type_of(dim: str, kind: Kind, yielded: Attribute) -> Attribute:
    """The type of a map's result, from the kind of the result and the type that the body yields."""
    return ListType(dim, yielded) if kind is Kind.Stack else yielded


def enclosing_map(op: Operation, dim: str) -> MapOp | None:
    """The map over `dim` around an operation, if there is one."""
    scope = op.parent_op()
    while scope is not None and not (isinstance(scope, MapOp) and scope.dim_name == dim):
        scope = scope.parent_op()
    return scope


def require_iterated(op: Operation, names: tuple[str, ...]) -> None:
    """Raise VerifyException unless maps around `op` iterate over all these dims, but for whole ones."""
    dims = require_declared(op, names)
    for dim in names:
        if dims and not dims[dim].is_whole and enclosing_map(op, dim) is None:
            raise VerifyException(f"{op.name}: no enclosing map iterates over {dim}")


def pivots_attr(pivots: Sequence[int | None]) -> ArrayAttr[IntAttr] | None:
    """The attribute for the pivots of a map's results; None where no result has one."""
    if all(pivot is None for pivot in pivots):
        return None
    return ArrayAttr([IntAttr(-1 if pivot is None else pivot) for pivot in pivots])


def _kind_text(kind: Kind, pivot: int | None) -> str:
    return str(kind) if pivot is None else f"{kind} rel {pivot}"


@irdl_op_definition
class MapOp(IRDLOperation, HasCanonicalizationPatternsInterface):
    """Applies its body to each element of its lists, which all run over one dim; other values are captured
    freely.

    `%o, %c = block.map @N (%k = %K, %v = %V) -> (sum, sum) : !block.list<N, …>, !block.list<N, …>
     { … block.yield %p, %q : … }`

    A result of kind `stack` is the list of what the iterations yield (items in global, or lists); `sum`,
    `max` and `min` reduce local items; `any` is the value of any iteration, which must be the same in all.

    `-> (max, sum rel 0)`: a sum relative to result 0, a maximum over its rows. Each iteration yields a
    significand s and an exponent e, which stand for s·exp(e); the results are t = max e and Σ s·exp(e - t).
    Combining is associative: (s, e), (s', e') -> (s·f(e) + s'·f(e'), t = max(e, e')) with f(e) = exp(e - t),
    and 1 where e = t (so that -inf - -inf never arises). The online softmax is this reduction in a loop.
    """

    name = "block.map"
    dim: SymbolRefAttr = prop_def(FlatSymbolRefAttr)
    kinds: ArrayAttr[KindAttr] = prop_def(ArrayAttr[KindAttr])
    pivots: ArrayAttr[IntAttr] | None = opt_prop_def(ArrayAttr[IntAttr])
    inputs = var_operand_def()
    results_ = var_result_def()
    body = region_def("single_block")
    traits = traits_def(Pure())

    def __init__(
        self,
        dim: str,
        inputs: Sequence[SSAValue],
        kinds: Sequence[Kind],
        body: Region,
        pivots: Sequence[int | None] = (),
    ):
        """Make a map from a body that ends in a `block.yield`, from which the types of the results follow.

        `pivots` gives, for each result, the `max` result that a sum is relative to, or None.
        """
        last = body.block.last_op
        assert isinstance(last, YieldOp)
        types = [result_type_of(dim, kind, v.type) for kind, v in zip(kinds, last.arguments, strict=True)]
        super().__init__(
            operands=[inputs],
            result_types=[types],
            properties={
                "dim": SymbolRefAttr(dim),
                "kinds": ArrayAttr([KindAttr(kind) for kind in kinds]),
                "pivots": pivots_attr(pivots),
            },
            regions=[body],
        )

    @property
    def dim_name(self) -> str:
        return self.dim.root_reference.data

    @property
    def result_kinds(self) -> tuple[Kind, ...]:
        return tuple(kind.data for kind in self.kinds)

    @property
    def result_pivots(self) -> tuple[int | None, ...]:
        """For each result, the number of the `max` result that it is relative to; None for plain results."""
        if self.pivots is None:
            return (None,) * len(self.kinds)
        return tuple(None if pivot.data < 0 else pivot.data for pivot in self.pivots)

    def with_pivots(self, results: Iterable[int]) -> list[int]:
        """The given results, in order, together with the maxima that sums among them are relative to: a sum
        keeps its maximum.
        """
        kept, pivots = set(results), self.result_pivots
        kept |= {pivot for index in kept if (pivot := pivots[index]) is not None}
        return sorted(kept)

    def pivots_among(self, kept: Sequence[int]) -> list[int | None]:
        """The pivots of a map that has only the results `kept`, as returned by `with_pivots`."""
        pivots = self.result_pivots
        return [None if (pivot := pivots[index]) is None else kept.index(pivot) for index in kept]

    @property
    def yield_op(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        dim, block = self.dim_name, self.body.block
        require_declared(self, (dim,))
        if enclosing_map(self, dim) is not None:
            raise VerifyException(f"block.map: a map over {dim} stands inside another map over {dim}")
        if len(block.args) != len(self.inputs):
            raise VerifyException(
                f"block.map @{dim}: {len(self.inputs)} lists are mapped, "
                f"the body has {len(block.args)} arguments"
            )
        for value, argument in zip(self.inputs, block.args, strict=True):
            if not isinstance(value.type, ListType) or value.type.dim.data != dim:
                raise VerifyException(f"block.map @{dim}: expected a list over {dim}, got {value.type}")
            if argument.type != value.type.element:
                raise VerifyException(
                    f"block.map @{dim}: the body's argument must be {value.type.element}, "
                    f"an element of its list, got {argument.type}"
                )
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException(f"block.map @{dim}: the body must end in block.yield")
        if not len(last.arguments) == len(self.kinds) == len(self.results_):
            raise VerifyException(
                f"block.map @{dim}: {len(last.arguments)} values are yielded for {len(self.kinds)} kinds "
                f"and {len(self.results_)} results"
            )
        for yielded, kind, result in zip(last.arguments, self.result_kinds, self.results_, strict=True):
            self._verify_result(yielded.type, kind, result.type)
        if self.pivots is not None:
            self._verify_pivots()

    def _verify_pivots(self) -> None:
        dim, pivots = self.dim_name, self.result_pivots
        if len(pivots) != len(self.kinds):
            raise VerifyException(f"block.map @{dim}: {len(pivots)} pivots for {len(self.kinds)} results")
        for kind, pivot, result in zip(self.result_kinds, pivots, self.results_, strict=True):
            if pivot is None:
                continue
            if kind is not Kind.Sum:
                raise VerifyException(
                    f"block.map @{dim}: only a sum can be relative to a maximum, got {kind}"
                )
            if not pivot < len(self.kinds) or self.result_kinds[pivot] is not Kind.Max:
                raise VerifyException(
                    f"block.map @{dim}: result {pivot}, which a sum is relative to, is no max"
                )
            own, other = result.type, self.results_[pivot].type
            if not isinstance(own, ItemType) or not isinstance(other, ItemType) or own.dims[:1] != other.dims:
                raise VerifyException(
                    f"block.map @{dim}: a sum of {own} cannot be relative to {other}: "
                    "the maximum must be over its rows"
                )
            if not is_float(own.element_type) or not is_float(other.element_type):
                raise VerifyException(
                    f"block.map @{dim}: a sum of {own} cannot be relative to {other}: both must be floats"
                )

    def _verify_result(self, yielded: Attribute, kind: Kind, result: Attribute) -> None:
        dim = self.dim_name
        if kind is Kind.Stack and is_local(yielded):
            raise VerifyException(
                f"block.map @{dim}: a stacked result must be stored first, got the local {yielded}"
            )
        if kind is Kind.Stack and not isinstance(yielded, ItemType | ListType):
            raise VerifyException(
                f"block.map @{dim}: a stacked result is an item in the global tier or a list, got {yielded}"
            )
        if kind.reduces and not is_local(yielded):
            raise VerifyException(
                f"block.map @{dim}: a result of kind {kind} is an item in the local tier, got {yielded}"
            )
        if kind.reduces and isinstance(yielded, ItemType) and dim in yielded.dims:
            raise VerifyException(
                f"block.map @{dim}: a result of kind {kind} cannot have an axis over {dim}, got {yielded}"
            )
        if kind is Kind.Any and not isinstance(yielded, ItemType | ListType):
            raise VerifyException(
                f"block.map @{dim}: a result of kind any is an item or a list, got {yielded}"
            )
        if kind is Kind.Any and isinstance(yielded, ItemType | ListType) and dim in yielded.dims:
            raise VerifyException(
                f"block.map @{dim}: a result of kind any is the same in every iteration and cannot be "
                f"over {dim}, got {yielded}"
            )
        expected = result_type_of(dim, kind, yielded)
        if result != expected:
            raise VerifyException(
                f"block.map @{dim}: a result of kind {kind} must be {expected}, got {result}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> MapOp:
        dim = parser.parse_symbol_name().data

        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_binding(parser))
        parser.parse_punctuation("->")

        def result_kind() -> tuple[Kind, int | None]:
            kind = parser.parse_str_enum(Kind)
            if parser.parse_optional_keyword("rel") is None:
                return kind, None
            return kind, parser.parse_integer(allow_boolean=False, allow_negative=False)

        parsed = parser.parse_comma_separated_list(parser.Delimiter.PAREN, result_kind)
        kinds, pivots = [kind for kind, _ in parsed], [pivot for _, pivot in parsed]
        position = parser.pos
        operands = [operand for _, operand in bindings]
        inputs = parse_operand_types(parser, operands) if bindings else []
        for value in inputs:
            if not isinstance(value.type, ListType):
                parser.raise_error(
                    f"block.map @{dim}: expected a list over {dim}, got {value.type}", position, parser.pos
                )
        attributes = (
            parse_attributes(parser) if parser.parse_optional_keyword("attributes") is not None else {}
        )
        arguments = [
            argument.resolve(value.type.element)
            for (argument, _), value in zip(bindings, inputs, strict=True)
            if isinstance(value.type, ListType)
        ]
        position = parser.pos
        body = parser.parse_region(arguments)
        last = body.blocks[0].last_op if len(body.blocks) == 1 else None
        if not isinstance(last, YieldOp) or len(last.arguments) != len(kinds):
            parser.raise_error(
                f"block.map @{dim}: the body must end in a block.yield of {len(kinds)} values",
                position,
                parser.pos,
            )
        op = cls(dim, inputs, kinds, body, pivots)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.dim_name} ")
        print_bindings(printer, self.body.block.args, self.inputs)
        printer.print_string(f" -> ({', '.join(map(_kind_text, self.result_kinds, self.result_pivots))})")
        if self.inputs:
            print_types(printer, self.inputs)
        if self.attributes:
            printer.print_string(" attributes")
            print_attributes(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import DropDuplicateMapInputs, DropUnusedMapInputs, DropUnusedMapResults

        return DropUnusedMapResults(), DropUnusedMapInputs(), DropDuplicateMapInputs()


@irdl_op_definition
class ElementwiseOp(IRDLOperation):
    """A function of scalars applied to each element; operands with fewer axes are broadcast along the others.

    `%y = block.elementwise (%a = %x, %b = %c) : !block.block<M x N x f32>, !block.vector<M x f32>
     -> !block.block<M x N x f32> { … }`

    The region holds `arith` and `math` on scalars; `block.index @N` in it is the element's global index along
    N.
    """

    name = "block.elementwise"
    inputs = var_operand_def()
    result = result_def()
    body = region_def("single_block")
    traits = traits_def(Pure())

    def __init__(self, inputs: Sequence[SSAValue], body: Region, result_type: ItemType):
        super().__init__(operands=[inputs], result_types=[result_type], regions=[body])

    @property
    def yield_op(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        result = expect_local(self, self.result)
        for value in self.inputs:
            operand = expect_local(self, value)
            if tuple(dim for dim in result.dims if dim in operand.dims) != operand.dims:
                raise VerifyException(f"{self.name}: {operand} cannot be broadcast to {result}")
        given = {dim for value in self.inputs if isinstance(value.type, ItemType) for dim in value.type.dims}
        require_iterated(self, tuple(dim for dim in result.dims if dim not in given))
        element_types = [element_type_of(value.type) for value in self.inputs]
        verify_scalar_region(
            self, self.body, element_types, YieldOp, (result.element_type,), allow_index_ops=True
        )

    @classmethod
    def parse(cls, parser: Parser) -> ElementwiseOp:
        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_binding(parser))
        inputs: list[SSAValue] = []
        position = parser.pos
        if bindings:
            inputs = parse_operand_types(parser, [operand for _, operand in bindings])
        parser.parse_punctuation("->")
        result_type = parser.parse_type()
        for type in (*(value.type for value in inputs), result_type):
            if not isinstance(type, ItemType):
                parser.raise_error(f"block.elementwise: expected an item, got {type}", position, parser.pos)
        attributes = (
            parse_attributes(parser) if parser.parse_optional_keyword("attributes") is not None else {}
        )
        arguments = [
            argument.resolve(element_type_of(value.type))
            for (argument, _), value in zip(bindings, inputs, strict=True)
        ]
        body = parser.parse_region(arguments)
        return cls.create(operands=inputs, result_types=[result_type], regions=[body], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_bindings(printer, self.body.block.args, self.inputs)
        if self.inputs:
            print_types(printer, self.inputs)
        printer.print_string(f" -> {self.result.type}")
        if self.attributes:
            printer.print_string(" attributes")
            print_attributes(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _parse_list_of_items(parser: Parser, op_name: str) -> tuple[SSAValue, dict[str, Attribute]]:
    """The operand of an operation on a list of items, and its attributes: `%S {…} : !block.list<…>`."""
    operand = parser.parse_unresolved_operand()
    attributes = parse_attributes(parser)
    parser.parse_punctuation(":")
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, ListType) or not isinstance(type.element, ItemType):
        parser.raise_error(f"{op_name}: expected a list of items, got {type}", position, parser.pos)
    return parser.resolve_operand(operand, type), attributes


@irdl_op_definition
class FirstOp(IRDLOperation):
    """The first item of a list, in global memory: `%x0 = block.first %X : !block.list<K, block<M x K x
    f32>>`.

    Nothing moves until the item is loaded. Stabilisation takes a statistic of the first block as the pivot of
    all blocks.
    """

    name = "block.first"
    list = operand_def(ListType)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, list: SSAValue):
        assert isinstance(list.type, ListType)
        super().__init__(operands=[list], result_types=[list.type.element])

    def verify_(self) -> None:
        assert isinstance(self.list.type, ListType)
        element = self.list.type.element
        if not isinstance(element, ItemType):
            raise VerifyException(f"block.first: expected a list of items, got {self.list.type}")
        if self.result.type != element:
            raise VerifyException(f"block.first: the result must be {element}, got {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> FirstOp:
        items, attributes = _parse_list_of_items(parser, cls.name)
        op = cls(items)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.list)
        print_attributes(printer, self)
        print_types(printer, (self.list,))


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Reduces the items of a list: `%s = block.reduce sum %S : !block.list<K, block<M x N x f32>>`.

    It is short for a map that loads every item and reduces it. It reads the whole list once; `block-traffic`
    counts that.
    """

    name = "block.reduce"
    kind: KindAttr = prop_def(KindAttr)
    list = operand_def(ListType)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, kind: Kind, list: SSAValue):
        assert isinstance(list.type, ListType)
        assert isinstance(list.type.element, ItemType)
        super().__init__(
            operands=[list],
            result_types=[in_tier(list.type.element, Tier.Local)],
            properties={"kind": KindAttr(kind)},
        )

    @property
    def dim_name(self) -> str:
        assert isinstance(self.list.type, ListType)
        return self.list.type.dim.data

    def verify_(self) -> None:
        assert isinstance(self.list.type, ListType)
        element, kind = self.list.type.element, self.kind.data
        if not kind.reduces:
            raise VerifyException(f"block.reduce: the kind must be sum, max or min, got {kind}")
        if not isinstance(element, ItemType):
            raise VerifyException(f"block.reduce: expected a list of items, got {self.list.type}")
        require_declared(self, (self.dim_name,))
        require_item(self, element)
        if self.dim_name in element.dims:
            raise VerifyException(
                f"block.reduce: the items cannot have an axis over the reduced {self.dim_name}, got {element}"
            )
        if self.result.type != in_tier(element, Tier.Local):
            raise VerifyException(
                f"block.reduce: the result must be {in_tier(element, Tier.Local)}, got {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        kind = parser.parse_str_enum(Kind)
        items, attributes = _parse_list_of_items(parser, cls.name)
        op = cls(kind, items)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_operand(self.list)
        print_attributes(printer, self)
        print_types(printer, (self.list,))


def is_stabilized(function: Operation) -> bool:
    """True if `block-stabilize` changed a function, or if it has other sums that are relative to maxima."""
    return STABILIZED in function.attributes or any(
        isinstance(op, MapOp) and op.pivots is not None for op in function.walk()
    )
