"""Values that depend on declared constants alone are computed once, in a prologue of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ...dialects.attributes import CONSTANT, PROLOGUE
from ...dialects.block import Kind
from ..analysis.facts import Facts
from .law import Check, Law, Observer, Phase, Placer, Topic
from .shared.extension import part_for, slice_of
from .shared.map_editing import add_input


@dataclass
class Constants:
    """The values of a function that depend on its constant arguments alone."""

    _known: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])

    def __call__(self, value: SSAValue) -> bool:
        pending = [value]
        while pending:
            current = pending[-1]
            sources = self._sources(current) if current not in self._known else ()
            if all(self._known.get(source, True) for source in sources):
                missing = [source for source in sources if source not in self._known]
                if missing:
                    pending.append(missing[0])
                    continue
                self._known.setdefault(current, bool(sources))
            else:
                self._known[current] = False
            pending.pop()
        return self._known[value]

    def _sources(self, value: SSAValue) -> Sequence[SSAValue]:
        """The values that must all be constant for this one to be; none if it is no constant.

        An argument is its own source: the entry of `_known` says whether it is declared.
        """
        owner = value.owner
        if isinstance(owner, Block):
            assert isinstance(value, BlockArgument)
            user = owner.parent_op()
            if isinstance(user, FuncOp):
                self._known[value] = _is_declared(user, value.index)
                return (value,)
            return (user.inputs[value.index],) if isinstance(user, block.MapOp) else ()
        if isinstance(owner, block.MapOp):
            return (owner.yield_op.arguments[owner.results.index(value)],)  # pyright: ignore[reportArgumentType]
        return owner.operands if owner.name.startswith(("block.", "array.")) else ()

    def leaves(self, value: SSAValue) -> bool:
        """True if an operation that depends on other values uses a value."""
        for use in value.uses:
            user = use.operation
            if isinstance(user, block.YieldOp):
                maker = user.parent_op()
                if not isinstance(maker, block.MapOp) or not self(maker.results[use.index]):
                    return True
            elif isinstance(user, block.MapOp):
                if not self(user.body.block.args[use.index]):
                    return True
            elif not user.results or not all(self(result) for result in user.results):
                return True
        return False


def _is_declared(function: FuncOp, index: int) -> bool:
    if function.arg_attrs is None:
        return False
    return CONSTANT in function.arg_attrs.data[index].data


@dataclass
class _Slice:
    """The operations that a value is computed from inside its nest, and the maps whose elements they read."""

    function: FuncOp
    ops: dict[Operation, set[SSAValue]] = field(default_factory=dict[Operation, "set[SSAValue]"])
    loops: dict[block.MapOp, set[int]] = field(default_factory=dict[block.MapOp, "set[int]"])

    def need(self, value: SSAValue) -> None:
        """Add a value and all that it depends on, except operations at the top of the function."""
        pending = [value]
        while pending:
            pending.extend(self._add(pending.pop()))

    def _add(self, value: SSAValue) -> Iterable[SSAValue]:
        """Add one value. Returns the values that it depends on, none if it was there already."""
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op()
            if isinstance(loop, block.MapOp) and isinstance(value, BlockArgument):
                arguments = self.loops.setdefault(loop, set())
                if value.index not in arguments:
                    arguments.add(value.index)
                    return (loop.inputs[value.index],)
            return ()
        if owner.parent is self.function.body.block:
            return ()
        wanted = self.ops.setdefault(owner, set())
        if value in wanted:
            return ()
        wanted.add(value)
        return part_for(owner, value).outside if isinstance(owner, block.MapOp) else owner.operands

    def nest(self) -> list[block.MapOp]:
        """The loops, outermost first."""
        return sorted(self.loops, key=_depth)

    def at(self, level: int, nest: Sequence[block.MapOp]) -> list[Operation]:
        """The operations that stand inside exactly the first `level` loops, in order."""
        found = [op for op in self.ops if sum(_stands_in(op, loop) for loop in nest) == level]
        if not found:
            return found
        order = {op: index for index, op in enumerate(_top(found[0], self.function).walk())}
        return sorted(found, key=lambda op: order[op])


def _depth(op: Operation) -> int:
    depth, scope = 0, op.parent_op()
    while scope is not None:
        depth, scope = depth + 1, scope.parent_op()
    return depth


def _stands_in(op: Operation, loop: Operation) -> bool:
    scope = op.parent_op()
    while scope is not None:
        if scope is loop:
            return True
        scope = scope.parent_op()
    return False


Maker = block.LocalOp | block.ElementwiseOp | block.LinearOp | block.MonomialOp | block.MapOp
"""The operations whose results a prologue can make."""


@dataclass(frozen=True)
class _Constant:
    value: SSAValue
    is_constant: bool
    leaves: bool


class ConstantPrologue(Law[Maker, _Constant]):
    """f(w) inside a nest, w a declared constant → a nest of its own that makes the list of f(w), and loads of
    its items.
    """

    name = "constant-prologue"
    phase = Phase.CLOSING
    topic = Topic.CLOSING
    rank = 10
    law = "What depends on declared constants alone is made once, as a list that the kernel loads."
    before = "map M { map N { dot(x, col_scale(load(w), g)) } }"
    after = "wg = map N { store(col_scale(load(w), g)) } (once); map M { map N (wg) { dot(x, load(wg)) } }"
    traffic = "the prologue is paid once, not in every call; in the kernel, a load of what was computed"
    side_conditions = {
        "constant": "the item is computed from declared constants alone (`bb.constant` on the argument)",
        "used": "something that is no constant reads the item, so that no larger constant contains it",
    }

    def __init__(
        self,
        facts: Facts | None = None,
        observer: Observer | None = None,
        ignored: frozenset[str] = frozenset(),
    ):
        super().__init__(facts, observer, ignored)
        self._constants: dict[FuncOp, Constants] = {}

    def sites(self, op: Maker) -> Iterator[_Constant]:
        function = _function(op)
        if function is None or op.parent is function.body.block or function.arg_attrs is None:
            return
        # Rewrites replace values by equal ones: what is constant stays constant.
        constants = self._constants.setdefault(function, Constants())
        for result in op.results:
            if block.is_local(result.type) and result.uses:
                constant = constants(result)
                yield _Constant(result, constant, constant and constants.leaves(result))

    def checks(self, site: _Constant) -> Iterator[Check]:
        yield Check(
            "constant", site.is_constant, "the item depends on more than declared constants", noteworthy=False
        )
        yield Check("used", site.leaves, "only other constants are made of the item", noteworthy=False)

    def rewrite(self, op: Maker, site: _Constant, rewriter: PatternRewriter) -> None:
        function = _function(op)
        assert function is not None
        part = _Slice(function)
        part.need(site.value)
        nest = part.nest()
        top = _top(op, function)
        made = self._make(part, nest, 0, site.value, {}, Placer(rewriter, top, op))
        if isinstance(made.owner, block.MapOp):
            made.owner.attributes[PROLOGUE] = UnitAttr()
        made.name_hint = site.value.name_hint
        for loop in nest:
            _, made = add_input(loop, made, rewriter)
        place = Placer(rewriter, op)
        replacement = place(block.LoadOp(made), site.value.name_hint)
        rewriter.replace_all_uses_with(site.value, replacement)

    def _make(
        self,
        part: _Slice,
        nest: Sequence[block.MapOp],
        level: int,
        value: SSAValue,
        known: dict[SSAValue, SSAValue],
        place: Placer,
    ) -> SSAValue:
        """Write the slice inside the first `level` loops; return the stored item or their list."""
        for op in part.at(level, nest):
            for wanted in part.ops[op]:
                assert isinstance(wanted, OpResult)
                if isinstance(op, block.MapOp):
                    whole = slice_of(op, wanted)
                    clone = whole.clone(known)
                    whole.erase()
                    known[wanted] = clone.results[0]
                else:
                    clone = op.clone(known)
                place(clone)
        if level == len(nest):
            return place(block.StoreOp(known[value]))
        loop = nest[level]
        indices = sorted(part.loops[loop])
        body = Block(arg_types=[loop.body.block.args[index].type for index in indices])
        inner = dict(known)
        for index, argument in zip(indices, body.args, strict=True):
            argument.name_hint = loop.body.block.args[index].name_hint
            inner[loop.body.block.args[index]] = argument
        end = block.YieldOp()
        body.add_op(end)
        inside = Placer(place.rewriter, end, None)
        inside.location = place.location
        inside.point = InsertPoint.before(end)
        item = self._make(part, nest, level + 1, value, inner, inside)
        end.operands = [item]
        inputs = [known.get(loop.inputs[index], loop.inputs[index]) for index in indices]
        return place(block.MapOp(loop.dim_name, inputs, [Kind.Stack], Region(body)))


def _function(op: Operation) -> FuncOp | None:
    scope = op.parent_op()
    while scope is not None and not isinstance(scope, FuncOp):
        scope = scope.parent_op()
    return scope


def _top(op: Operation, function: FuncOp) -> Operation:
    while op.parent is not function.body.block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


LAWS = (ConstantPrologue,)
