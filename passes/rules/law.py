"""The form of a law of fusion: what it says, when it applies, what it does, and why it declined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from ..facts import Facts

SiteT = TypeVar("SiteT")


@dataclass(frozen=True)
class Check:
    """One side condition at one site: its name, whether it holds, and what to say where it does not."""

    condition: str
    holds: bool
    reason: str
    noteworthy: bool = True
    """Whether a refusal for this reason says something about the program, rather than the obvious."""


class Observer(Protocol):
    """Whoever wants to know what laws do."""

    def fired(self, law: AnyLaw, site: Operation) -> None:
        """A law is about to rewrite at `site`."""

    def refused(self, law: AnyLaw, site: Operation, check: Check) -> None:
        """A law looked at `site` and declined."""

    def settle(self) -> None:
        """Everything that follows from the last firing has happened."""


class Auditor(Observer, Protocol):
    """An observer that checks what patterns do while they do it."""

    def listen(self, rewriter: PatternRewriter) -> None:
        """Patterns are about to be tried with this rewriter."""

    def completed(self, pattern: RewritePattern, site: Operation) -> None:
        """A pattern has rewritten `site`; what it replaced may still be there as dead code."""


class Law(RewritePattern, ABC, Generic[SiteT]):
    """A rewrite rule with its documentation.

    The class attributes are the row of the rule in the docs, in the trace and in `bb-opt --list-rules`.
    `sites` finds what the law could rewrite at an operation, `checks` says of one such site whether each side
    condition holds, `rewrite` rewrites it.
    """

    name: ClassVar[str]
    """The rule as users know it; several variants may share it."""
    variant: ClassVar[str] = ""
    law: ClassVar[str]
    """The law in one sentence."""
    before: ClassVar[str]
    after: ClassVar[str]
    traffic: ClassVar[str]
    numerics: ClassVar[str] = "exact"
    side_conditions: ClassVar[Mapping[str, str]] = {}
    anchors: ClassVar[tuple[type[Operation], ...]]
    """The operations at which the law looks for sites."""
    structural: ClassVar[bool] = False
    """Whether the law removes a list or a map, so that an extension that leads to it is worth keeping."""
    delicate: ClassVar[bool] = False
    """Whether the law can cancel numerically and therefore fires on demand only."""
    late: ClassVar[bool] = False
    """Whether a side condition looks at what fusion brings together, so that the law must wait for it."""

    def __init__(
        self,
        facts: Facts | None = None,
        observer: Observer | None = None,
        ignored: frozenset[str] = frozenset(),
    ):
        self._facts = facts
        self.observer = observer
        self.ignored = ignored
        """Side conditions that are not checked; only tests of the conditions themselves set it."""

    @property
    def facts(self) -> Facts:
        """Facts about the program: the driver's cache, or fresh ones for a law that runs alone."""
        return self._facts if self._facts is not None else Facts()

    @classmethod
    def title(cls) -> str:
        """Name and variant."""
        return f"{cls.name} ({cls.variant})" if cls.variant else cls.name

    @abstractmethod
    def sites(self, op: Operation) -> Iterable[SiteT]:
        """What the law could rewrite at an operation."""

    def checks(self, site: SiteT) -> Iterator[Check]:
        """The side conditions at a site, in order; later ones may rely on earlier ones."""
        yield from ()

    @abstractmethod
    def rewrite(self, op: Operation, site: SiteT, rewriter: PatternRewriter) -> None:
        """Rewrite a site at which every side condition holds."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, self.anchors):
            return
        for site in self.sites(op):
            if self._applies(op, site):
                if self.observer is not None:
                    self.observer.fired(self, op)
                self.rewrite(op, site, rewriter)
                return

    def _applies(self, op: Operation, site: SiteT) -> bool:
        for check in self.checks(site):
            if not check.holds and check.condition not in self.ignored:
                if self.observer is not None and check.noteworthy:
                    self.observer.refused(self, op, check)
                return False
        return True

    def refusals(self, op: Operation) -> Iterator[Check]:
        """Why the law declines at each of its sites at an operation."""
        if isinstance(op, self.anchors):
            for site in self.sites(op):
                for check in self.checks(site):
                    if not check.holds:
                        if check.noteworthy:
                            yield check
                        break


AnyLaw: TypeAlias = "Law[Any]"
"""A law, whatever its sites are."""


class Placer:
    """Inserts new operations before one place, in the name of the operation that they replace."""

    def __init__(self, rewriter: PatternRewriter, before: Operation, like: Operation | None = None):
        self.rewriter = rewriter
        self.point = InsertPoint.before(before)
        self.location = (like or before).location

    def __call__(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Insert an operation and give its (first) result."""
        op.location = self.location
        self.rewriter.insert(op, self.point)
        if hint is not None and op.results[0].name_hint is None:
            op.results[0].name_hint = hint
        return op.results[0]
