"""Phase 3 of fusion: finds snapshots beyond the first by extending maps.

An extension repeats work to save traffic. It is tried on a copy of the program, which is brought into normal
form, and kept if a structural law fired. One greedy chain leads to the most fused program. A best-first
search by modelled bytes and operations finds the snapshots between, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects import block
from ..analysis.facts import Facts
from ..analysis.structural_keys import Interner, program_key
from ..analysis.traffic.block import modelled_traffic
from ..rules.law import Auditor, Observer
from ..rules.table import extensions
from .normalize import Normalizer

EXTENSIONS = extensions()

Cost = tuple[int, int]
"""Modelled bytes moved and operations computed, by which snapshots are compared."""


@dataclass(frozen=True)
class Candidate:
    """One extension of a program: the law, the operation (counted in program order), and the number of its
    site there.
    """

    law: int
    op: int
    site: int
    dotted: bool
    depth: int
    description: str

    def order(self) -> tuple[bool, int, int, int, int]:
        """Candidates without contractions first, then innermost first."""
        return self.dotted, -self.depth, self.law, self.op, self.site


@dataclass(eq=False)
class Snapshot:
    """A complete, legal version of a function, and the extensions that led to it."""

    function: FuncOp
    cost: Cost
    candidates: tuple[Candidate, ...] = ()
    number: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """The extensions that led here, in words."""
        return tuple(candidate.description for candidate in self.candidates)


@dataclass(frozen=True)
class Attempt:
    """An extension that was tried from the snapshot at the end of a path."""

    path: tuple[Candidate, ...]
    candidate: Candidate
    snapshot: Snapshot | None = None
    """The resulting snapshot; None if no structural law fired after it."""


def _maps(function: FuncOp) -> Iterator[tuple[block.MapOp, int]]:
    def visit(op: Operation, depth: int) -> Iterator[tuple[block.MapOp, int]]:
        for region in op.regions:
            for body in region.blocks:
                for inner in body.ops:
                    if isinstance(inner, block.MapOp):
                        yield inner, depth
                        yield from visit(inner, depth + 1)

    return visit(function, 0)


def candidates(function: FuncOp) -> list[Candidate]:
    """The extensions of a program, in the order in which they are tried."""
    facts = Facts()
    laws = [law(facts) for law in EXTENSIONS]
    found: list[Candidate] = []
    for index, (op, depth) in enumerate(_maps(function)):
        for number, law in enumerate(laws):
            for position, site in enumerate(law.sites(op)):
                if all(check.holds for check in law.checks(site)):
                    found.append(
                        Candidate(
                            number, index, position, law.has_contractions(site), depth, law.describe(site)
                        )
                    )
    return sorted(found, key=Candidate.order)


def apply(
    function: FuncOp, candidate: Candidate, observer: Observer | None = None, auditor: Auditor | None = None
) -> list[Operation]:
    """Apply an extension to a program equal to the one it was found in; return the operations it changed."""
    law = EXTENSIONS[candidate.law](Facts(), observer)
    op = next(op for index, (op, _) in enumerate(_maps(function)) if index == candidate.op)
    site = next(site for index, site in enumerate(law.sites(op)) if index == candidate.site)
    if observer is not None:
        observer.fired(law, op)
    touched: list[Operation] = [op]
    rewriter = PatternRewriter(op)
    rewriter.operation_insertion_handler.append(touched.append)
    rewriter.operation_modification_handler.append(touched.append)
    if auditor is not None:
        auditor.fired(law, op)
        auditor.listen(rewriter)
    law.rewrite(op, site, rewriter)
    if auditor is not None:
        auditor.completed(law, op)
    return [inner for changed in touched if changed.parent is not None for inner in changed.walk()]


def cost_of(function: FuncOp) -> Cost:
    """Return the modelled traffic and work of a snapshot, at the declared or at assumed sizes."""
    numbers = modelled_traffic(function)
    return numbers["bytes_loaded"] + numbers["bytes_stored"], numbers["flops"]


@dataclass
class Explorer:
    """Finds the snapshots of one function from its first, which is in normal form."""

    extra: Sequence[RewritePattern] = ()
    auditor: Callable[[FuncOp], Auditor | None] = lambda _: None
    """Returns the auditor, if there is one, of a function that is about to change."""
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    _intern: Interner = field(default_factory=Interner)
    _keys: dict[Snapshot, tuple[int, ...]] = field(default_factory=dict[Snapshot, tuple[int, ...]])
    _known: dict[tuple[int, ...], Snapshot] = field(default_factory=dict[tuple[int, ...], Snapshot])
    _tried: dict[tuple[tuple[int, ...], Candidate], Snapshot | None] = field(
        default_factory=dict[tuple[tuple[int, ...], Candidate], "Snapshot | None"]
    )

    def extended(self, snapshot: Snapshot, candidate: Candidate) -> Snapshot | None:
        """Return the snapshot after an extension; None if no structural law fired after it."""
        key = self._key(snapshot), candidate
        if key not in self._tried:
            self._tried[key] = self._extend(snapshot, candidate)
        return self._tried[key]

    def _extend(self, snapshot: Snapshot, candidate: Candidate) -> Snapshot | None:
        function = snapshot.function.clone()
        auditor = self.auditor(function)
        touched = apply(function, candidate, auditor=auditor)
        firings = Normalizer(function, extra=self.extra, auditor=auditor).run(touched)
        if not firings.structural:
            self.attempts.append(Attempt(snapshot.candidates, candidate))
            return None
        # A clone: the order of uses, and so that of sites, is then the same wherever it is cloned again.
        following = Snapshot(function.clone(), cost_of(function), (*snapshot.candidates, candidate))
        known = self._known.setdefault(self._key(following), following)
        self.attempts.append(Attempt(snapshot.candidates, candidate, known))
        return known

    def _key(self, snapshot: Snapshot) -> tuple[int, ...]:
        key = self._keys.get(snapshot)
        if key is None:
            key = self._keys[snapshot] = program_key(snapshot.function, self._intern)
        return key

    def chain(self, first: Snapshot) -> list[Snapshot]:
        """The snapshots from the first to the most fused one: the first acceptable extension each time."""
        self._known[self._key(first)] = first
        snapshots = [first]
        while True:
            for candidate in candidates(snapshots[-1].function):
                following = self.extended(snapshots[-1], candidate)
                if following is not None and following not in snapshots:
                    following.number = len(snapshots)
                    snapshots.append(following)
                    break
            else:
                return snapshots

    def with_others(self, chain: Sequence[Snapshot], budget: int) -> list[Snapshot]:
        """Return the chain and other snapshots, up to `budget` in all; the search extends the snapshot with
        the least modelled traffic.
        """
        found = list(chain)
        queue: list[tuple[Cost, int, Snapshot]] = [(chain[0].cost, 0, chain[0])]
        queued = {id(chain[0])}
        while queue and len(found) < budget:
            _, _, snapshot = heappop(queue)
            for candidate in candidates(snapshot.function):
                following = self.extended(snapshot, candidate)
                if following is None or id(following) in queued:
                    continue
                queued.add(id(following))
                heappush(queue, (following.cost, len(queued), following))
                if following not in found:
                    following.number = len(found)
                    found.append(following)
                    if len(found) >= budget:
                        break
        return found
