"""Phase 2 of fusion: laws to a fixpoint.

Order matters in few places. Whole dims are inlined first, because the delicate laws ask which maps there are.
Consecutive maps are fused after the other laws, because a scale or shift that could have travelled with a
list would otherwise tie its producer to a result that the consumer waits for. Scales leave products after
that, because their law asks how the other factor is computed. Siblings are fused last, when nothing else
fires anywhere, because the merged map can prevent a consecutive fusion. All other laws reach one normal form
in any order (a test shows it with random orders).

A worklist holds the operations near a change. A sweep over all operations at the end makes sure that none was
missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ...dialects.block.canonicalize import PartitionOfAssemble
from ..analysis.facts import Facts
from ..rules.cse import Cse
from ..rules.fuse_consecutive_maps import FuseConsecutiveMaps
from ..rules.fuse_sibling_maps import FuseSiblingMaps
from ..rules.inline_whole_dim import InlineWholeDim
from ..rules.interchange_maps import InterchangeMaps
from ..rules.law import AnyLaw, Auditor, Law, Observer, Phase
from ..rules.table import laws_tried_in
from .cleanup import cleanup_patterns

REACH = 4
"""Number of users between a change and a law that may look at it; the final sweep covers larger distances."""


class _Worklist:
    """Operations to look at, each once, first in, first out (or in random order)."""

    def __init__(self, random: Random | None = None) -> None:
        self._queue: deque[Operation] = deque()
        self._waiting: set[Operation] = set()
        self._random = random

    def push(self, op: Operation) -> None:
        if op not in self._waiting:
            self._waiting.add(op)
            self._queue.append(op)

    def pop(self) -> Operation | None:
        while self._queue:
            if self._random is not None:
                self._queue.rotate(self._random.randrange(len(self._queue)))
            op = self._queue.popleft()
            if op in self._waiting:
                self._waiting.discard(op)
                return op
        return None

    def drop(self, op: Operation) -> None:
        self._waiting.discard(op)


@dataclass
class FiringCounts:
    """Number of times that each law fired."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    structural: int = 0

    def count(self, law: AnyLaw) -> None:
        self.counts[law.title()] = self.counts.get(law.title(), 0) + 1
        self.structural += law.structural


class _CountingObserver:
    """Counts firings, and passes them on to another observer."""

    def __init__(self, firings: FiringCounts, *observers: Observer | None):
        self.firings = firings
        self.observers = [observer for observer in observers if observer is not None]

    def fired(self, law: AnyLaw, site: Operation) -> None:
        self.firings.count(law)
        for observer in self.observers:
            observer.fired(law, site)

    def refused(self, law: AnyLaw, site: Operation, check: object) -> None:
        """Do nothing: refusals are collected at the end, from the final program, and not at every visit."""

    def settle(self) -> None:
        for observer in self.observers:
            observer.settle()


def items_and_maps(scope: Operation) -> Iterator[Operation]:
    """The operations inside another that laws look at: all but the scalars of element-wise regions."""
    for region in scope.regions:
        for body in region.blocks:
            for op in body.ops:
                yield op
                if isinstance(op, block.MapOp):
                    yield from items_and_maps(op)


class Normalizer:
    """Brings one function into normal form.

    `extra` are user rules, tried with the laws. `random` shuffles the laws that may be tried in any order.
    `auditor` checks every rewrite.
    """

    def __init__(
        self,
        function: FuncOp,
        observer: Observer | None = None,
        extra: Sequence[RewritePattern] = (),
        random: Random | None = None,
        limit: int = 1_000_000,
        auditor: Auditor | None = None,
    ):
        self.function = function
        self.facts = Facts()
        self.firings = FiringCounts()
        self.limit = limit
        self._worklist = _Worklist(random)
        self._maps = _Worklist()
        """Maps that may follow another; the law for them waits until nothing else fires. They are in program
        order, because it can matter whether a map is fused with the one before or the one after.
        """
        self._auditor = auditor
        counting = _CountingObserver(self.firings, observer, auditor)
        laws = [law(self.facts, counting) for law in laws_tried_in(Phase.FIXPOINT)]
        if random is not None:
            random.shuffle(laws)
        self._inline = InlineWholeDim(self.facts, counting)
        self._interchange = InterchangeMaps(self.facts, counting)
        self._same_view = PartitionOfAssemble()
        self._cse = Cse(self.facts, counting)
        self._late: list[AnyLaw] = [law(self.facts, counting) for law in laws_tried_in(Phase.LATE)]
        self._consecutive = FuseConsecutiveMaps(self.facts, counting)
        self._siblings = FuseSiblingMaps(self.facts, counting)
        for pattern in extra:
            if isinstance(pattern, Law):
                pattern.observer = counting
        self._patterns: list[tuple[RewritePattern, tuple[type[Operation], ...]]] = [
            *cleanup_patterns(),
            *((law, law.anchors) for law in laws),
            *((pattern, pattern.anchors if isinstance(pattern, Law) else (Operation,)) for pattern in extra),
        ]
        self._listener = PatternRewriterListener(
            operation_insertion_handler=[self._inserted],
            operation_removal_handler=[self._removed],
            operation_modification_handler=[self._modified],
        )
        self._rewriter: PatternRewriter | None = None
        self._by_type: dict[type[Operation], list[RewritePattern]] = {}
        self._searched_at = -1
        """The rest of `limit` when the last search for equal values found none."""

    def run(self, touched: Sequence[Operation] | None = None) -> FiringCounts:
        """Apply the laws until none fires any more.

        `touched` are the operations that changed since the function was in normal form, if it was; only these
        are looked at first.
        """
        while self._has_whole_dims() and self._try(self.function, [self._inline]):
            touched = None
        if self._interchange_maps():
            touched = None
        for op in touched or ():
            self._touch(op)
        if touched is not None:
            self._drain()
        while True:
            self._settle()
            if not self._interchange_maps() and not self._fire_late() and not self._fuse_siblings():
                return self.firings

    def _has_whole_dims(self) -> bool:
        return any(dim.is_whole for dim in (block.declared_dims(self.function) or {}).values())

    def _interchange_maps(self) -> bool:
        """Interchange maps until each list is made in the order in which it is read, if possible.

        This goes nest by nest, from the readers to the makers: if a nest reads transposed lists, that shows
        once it has been interchanged itself. Views that no longer transpose are removed at once.
        """
        fired, again = False, True
        while again:
            again = False
            for op in list(items_and_maps(self.function)):
                if isinstance(op, block.PartitionOp) and self._try(op, [self._interchange]):
                    self._try(op, [self._same_view])
                    fired = again = True
        return fired

    def _settle(self) -> None:
        """Apply all laws but late ones and the fusion of siblings, to a fixpoint."""
        while True:
            for op in items_and_maps(self.function):
                self._worklist.push(op)
                self._consider(op)
            fired = self._drain()
            if self.limit != self._searched_at:
                if self._try(self.function, [self._cse]):
                    fired = True
                else:
                    self._searched_at = self.limit
            if not fired:
                return
            self._drain()

    def _fire_late(self) -> bool:
        """Apply the late laws, one firing after the other, each with all that follows nearby."""
        fired = False
        for op in list(items_and_maps(self.function)):
            laws = [law for law in self._late if law.looks_at(op)]
            while laws and op.parent is not None and self._try(op, laws):
                fired = True
                self._drain()
        return fired

    def _fuse_siblings(self) -> bool:
        """Fuse siblings, one pair after the other, each with all that follows nearby."""
        fired = False
        for op in list(items_and_maps(self.function)):
            while isinstance(op, block.MapOp) and op.parent is not None and self._try(op, [self._siblings]):
                fired = True
                self._drain()
        return fired

    def _drain(self) -> bool:
        fired = False
        while True:
            if (op := self._worklist.pop()) is not None:
                patterns = self._patterns_for(op)
                self._consider(op)
            elif (op := self._maps.pop()) is not None:
                patterns = [self._consecutive]
            else:
                return fired
            if op.parent is not None and self._try(op, patterns):
                fired = True
                self._worklist.push(op)  # passed over if it is gone

    def _consider(self, op: Operation) -> None:
        if isinstance(op, block.MapOp) and any(isinstance(value.owner, block.MapOp) for value in op.operands):
            self._maps.push(op)

    def _patterns_for(self, op: Operation) -> list[RewritePattern]:
        kind = type(op)
        known = self._by_type.get(kind)
        if known is None:
            known = self._by_type[kind] = [
                pattern for pattern, anchors in self._patterns if issubclass(kind, anchors)
            ]
        return known

    def _try(self, op: Operation, patterns: Sequence[RewritePattern]) -> bool:
        """Apply the first pattern that matches."""
        # A function that is being tried stands in no module.
        point = InsertPoint.before(op) if op.parent is not None else InsertPoint.at_start(op.regions[0].block)
        rewriter = self._rewriter
        if rewriter is None or self._auditor is not None:
            rewriter = self._rewriter = PatternRewriter(point)
            rewriter.extend_from_listener(self._listener)
            if self._auditor is not None:
                self._auditor.listen(rewriter)
        rewriter.insertion_point, rewriter.has_done_action = point, False
        for pattern in patterns:
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                if self._auditor is not None:
                    self._auditor.completed(pattern, op)
                self.limit -= 1
                if self.limit < 0:
                    raise RuntimeError("fusion does not end: laws undo each other")
                return True
        return False

    def _inserted(self, op: Operation) -> None:
        self.facts.inserted(op)
        self._touch(op)

    def _modified(self, op: Operation) -> None:
        self.facts.changed(op)
        self._touch(op)

    def _removed(self, op: Operation) -> None:
        self.facts.changed(op)
        self._worklist.drop(op)
        self._maps.drop(op)
        for inner in op.walk():
            for operand in inner.operands:
                self._touch_maker(operand)

    def _touch_maker(self, value: SSAValue) -> None:
        maker = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        if maker is not None:
            self._worklist.push(maker)

    def _touch(self, op: Operation) -> None:
        """Look again at a changed operation, at what uses it, and at the map around it."""
        front = [op]
        for _ in range(REACH):
            for changed in front:
                self._worklist.push(changed)
            front = [use.operation for changed in front for result in changed.results for use in result.uses]
        parent = op.parent_op()
        if isinstance(parent, block.MapOp):
            self._worklist.push(parent)
