"""Audit of rewrites as they happen: the value that a pattern replaces is compared with its replacement.

A wrong rewrite can cancel out in a program's results. So an operator and its replacement are both evaluated
while both still exist, on the part of the program that they depend on. Arguments of the function, and
elements of lists that maps run over, hold random numbers. A rewrite of whole maps has no such pair; after it
the whole function is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects import block
from ...dialects.scalar import is_float
from ...passes.fusion.cleanup import cleanup_patterns
from ...passes.fusion.normalize import items_and_maps
from ...passes.rules.inline_whole_dim import InlineWholeDim
from ...passes.rules.law import AnyLaw, Check, Law
from ...passes.rules.table import Rule
from ..arrays.dtypes import Array, numpy_dtype
from ..interpreter.arrays import Callback, evaluate_array_op
from ..interpreter.blocks import BlockInterpreter, Dims, Value
from .differences import ChangedValue, Difference, difference

TOLERANCE = 1e-9
"""Largest relative error of a replacement, in float64."""

SCALES = (1.0, 0.1, 0.01)
"""Sizes of the random numbers, tried in turn until nothing overflows, as exponentials without their maximum
may.
"""

FLOOR = 1e-3
"""Values smaller than this are compared absolutely."""

_UNCHECKED = (InlineWholeDim, *(type(pattern) for pattern, _ in cleanup_patterns()))
"""Laws after which the results are not compared. Inlining of whole dims goes map by map, and a program is
only complete again after the last one.
"""


@dataclass(frozen=True)
class Settings:
    """Settings for evaluating a function: arrays for its arguments, block sizes, and opaque functions."""

    inputs: Sequence[Array]
    sizes: Mapping[str, int]
    callbacks: Mapping[str, Callback]
    seed: int = 0


class Evaluation:
    """Values of one function, evaluated on demand, in one iteration of the enclosing maps."""

    def __init__(self, function: FuncOp, settings: Settings, scale: float, *, last: bool = False):
        self.function = function
        self.settings = settings
        self.scale = scale
        self.last = last
        attribute = function.attributes.get(block.DIMS)
        self.dims = Dims(block.parse_dims(attribute) if attribute is not None else {}, settings.sizes)
        self.interpreter = BlockInterpreter(self.dims, float64=True, callbacks=settings.callbacks)
        self.values: dict[SSAValue, Value] = {}
        self._rng = np.random.default_rng(settings.seed)
        for argument, array in zip(function.body.block.args, settings.inputs, strict=True):
            self.values[argument] = array * scale if array.dtype.kind == "f" else array
        for op in function.body.block.ops:
            if isinstance(op, block.PartitionOp) and isinstance(
                array := self.values.get(op.tensor), np.ndarray
            ):
                self.dims.bind(op, array.shape)

    def results(self) -> list[Value]:
        """The results of the function."""
        for op in self.function.body.block.ops:
            if isinstance(op, ReturnOp):
                return [self.values[value] for value in op.arguments]
            self._evaluate(op)
        return []

    def _place_at(self, body: Block | None) -> None:
        """Choose the first iteration of the maps around a body, or the last."""
        self.dims.offsets.clear()
        scope = None if body is None else body.parent_op()
        while isinstance(scope, block.MapOp):
            self.dims.offsets[scope.dim_name] = self._offset(scope.dim_name)
            scope = scope.parent_op()

    def of(self, value: SSAValue) -> Value:
        """Return a value, and evaluate all that it depends on; elements of lists of maps around it are
        random.
        """
        waiting = [value]
        while waiting:
            current = waiting[-1]
            if current in self.values:
                waiting.pop()
            elif isinstance(current, BlockArgument):
                self._place_at(current.block)
                self.values[current] = self._random(current.type, {})
            else:
                op = current.owner
                assert isinstance(op, Operation)
                missing = [need for need in _needs(op) if need not in self.values]
                if missing:
                    waiting += missing
                else:
                    self._evaluate(op)
        return self.values[value]

    def _evaluate(self, op: Operation) -> None:
        self._place_at(op.parent)
        if op.name.startswith("block."):
            self.interpreter.evaluate(op, self.values)
            return
        operands: list[Array] = []
        for operand in op.operands:
            array = self.values[operand]
            assert not isinstance(array, list)
            operands.append(array)
        results = evaluate_array_op(op, operands, float64=True, callbacks=self.settings.callbacks)
        self.values.update(zip(op.results, results, strict=True))

    def _offset(self, dim: str) -> int:
        trips = self.dims.trips(dim, self.function)
        return (trips - 1) * self.dims.size(dim, self.function) if self.last else 0

    def _random(self, type: Attribute, trips: Mapping[str, int]) -> Value:
        if isinstance(type, block.ListType):
            dim, element = type.dim.data, type.element
            count = self.dims.trips(dim, self.function)
            return [self._random(element, {**trips, dim: trip}) for trip in range(count)]
        assert isinstance(type, block.ItemType)
        shape: list[int] = []
        for dim in type.dims:
            size, extent = self.dims.size(dim, self.function), self.dims.extent(dim, self.function)
            offset = trips[dim] * size if dim in trips else self.dims.offsets.get(dim, 0)
            shape.append(min(size, extent - offset))
        if not is_float(type.element_type):
            low, high = (0, 2) if str(type.element_type) == "i1" else (-4, 5)
            return self._rng.integers(low, high, shape).astype(numpy_dtype(type.element_type))
        size = self._rng.uniform(0.25, 1.5, shape) * self.scale
        return size if self.last else size * self._rng.choice([-1.0, 1.0], shape)


def _needs(op: Operation) -> Iterator[SSAValue]:
    """Yield the values that an operation reads: its operands, and outer values that its regions read."""
    yield from op.operands
    if isinstance(op, block.MapOp):
        for inner in items_and_maps(op):
            for operand in inner.operands:
                owner = operand.owner
                holder = owner if isinstance(owner, Operation) else owner.parent_op()
                if not _is_inside(holder, op):
                    yield operand


def _is_inside(op: Operation | None, scope: Operation) -> bool:
    first = op
    while op is not None and op is not scope:
        op = op.parent_op()
    # A map's own results are not inside it, its arguments are: their holder is the map itself.
    return op is scope and first is not None


@dataclass
class Reference:
    """Results of a function before any rewrite, at each scale."""

    function: FuncOp
    settings: Settings
    _known: dict[float, list[Value]] = field(default_factory=dict[float, "list[Value]"])

    def results(self, scale: float) -> list[Value]:
        if scale not in self._known:
            self._known[scale] = Evaluation(self.function, self.settings, scale).results()
        return self._known[scale]


@dataclass
class Audit:
    """Checks every rewrite of one function against `reference`, and each replaced value. An `Auditor`.

    Raises ChangedValue, naming the pattern, at the first rewrite that changes a value.
    """

    function: FuncOp
    reference: Reference
    checked: int = 0
    """Number of replaced values that were compared."""
    _operands: dict[Operation, tuple[SSAValue, ...]] | None = None
    _fault: tuple[Operation, str, Difference] | None = None
    _compared: int = 0
    _structural: bool = False
    _listening: bool = False
    _unchecked: bool = False

    def fired(self, law: AnyLaw, site: Operation) -> None:
        self._unchecked = isinstance(law, _UNCHECKED)
        self._operands = {op: tuple(op.operands) for op in items_and_maps(self.function)}

    def refused(self, law: AnyLaw, site: Operation, check: Check) -> None:
        """Do nothing: nothing was rewritten."""

    def settle(self) -> None:
        """Do nothing: consequences of a rewrite are checked as they happen."""

    @property
    def is_listening(self) -> bool:
        """True while a pattern is tried."""
        return self._listening

    def listen(self, rewriter: PatternRewriter) -> None:
        self._listening, self._unchecked = True, False
        self._operands, self._fault, self._compared, self._structural = None, None, 0, False
        rewriter.operation_replacement_handler.append(self._replaced)

    def _replaced(self, op: Operation, values: Sequence[SSAValue | None]) -> None:
        if not op.results or isinstance(op, block.MapOp):
            self._structural = True
        elif not isinstance(op, block.LoadOp) and op.parent is not None:
            for old, new in zip(op.results, values, strict=True):
                if new is not None:
                    self._compare(op, old, new)

    def completed(self, pattern: RewritePattern, site: Operation) -> None:
        self._listening = False
        if self._operands is not None:
            self._compare_operands(self._operands)
        if self._fault is not None:
            op, made, found = self._fault
            raise ChangedValue(
                op, f"{_title(pattern)} at '{op.name}' replaces {made} by something else: {found}"
            )
        if (self._structural or not self._compared) and not isinstance(pattern, _UNCHECKED):
            found = self._of_results()
            if found is not None:
                where = site if site.parent is not None else self.function
                raise ChangedValue(
                    where, f"{_title(pattern)} changes what @{self.function.sym_name.data} gives: {found}"
                )
        self._operands = None

    def _compare_operands(self, before: Mapping[Operation, tuple[SSAValue, ...]]) -> None:
        """Compare the operands of operations with their operands before, if both still exist."""
        seen: set[tuple[SSAValue, SSAValue]] = set()
        for op, operands in before.items():
            # What a map yields may change together with what is made of it.
            if op.parent is None or isinstance(op, block.YieldOp) or len(operands) != len(op.operands):
                continue
            for old, new in zip(operands, op.operands, strict=True):
                if old is new or (old, new) in seen or not self._is_in_function(old) or old.type != new.type:
                    continue
                seen.add((old, new))
                if not isinstance(old.owner, block.LoadOp | Block):
                    self._compare(op, old, new)

    def _is_in_function(self, value: SSAValue) -> bool:
        owner = value.owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        while op is not None:
            if op is self.function:
                return True
            op = op.parent_op()
        return False

    def _compare(self, site: Operation, old: SSAValue, new: SSAValue) -> None:
        if old is new or self._unchecked or self._fault is not None:
            return
        self._compared += 1
        self.checked += 1
        for last in (False, True):
            found = self._first_difference(old, new, last)
            if found is not None:
                maker = old.owner
                made = f"%{old.name_hint}" if old.name_hint else f"the result of '{maker.name}'"  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
                self._fault = site, made, found
                return

    def _first_difference(self, old: SSAValue, new: SSAValue, last: bool) -> Difference | None:
        for scale in SCALES:
            evaluation = Evaluation(self.function, self.reference.settings, scale, last=last)
            wanted, got = evaluation.of(old), evaluation.of(new)
            found, ordinary = difference(got, wanted, TOLERANCE, FLOOR, strict=scale == SCALES[-1])
            if found is not None or ordinary:
                return found
        return None

    def _of_results(self) -> Difference | None:
        for scale in SCALES:
            got = Evaluation(self.function, self.reference.settings, scale).results()
            outcomes = [
                difference(a, b, TOLERANCE, FLOOR, strict=scale == SCALES[-1])
                for a, b in zip(got, self.reference.results(scale), strict=True)
            ]
            found = next((found for found, _ in outcomes if found is not None), None)
            if found is not None or all(ordinary for _, ordinary in outcomes):
                return found
        return None


def _title(pattern: RewritePattern) -> str:
    if isinstance(pattern, Rule):
        return f"rule {pattern.laws[0].name}"
    return f"rule {pattern.title()}" if isinstance(pattern, Law) else f"pattern {type(pattern).__name__}"
