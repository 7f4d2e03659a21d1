"""The base class of laws of fusion: documentation, sites, side conditions with reasons, and the rewrite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeGuard, TypeVar, get_args, get_origin

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from ..analysis.facts import Facts

OpT = TypeVar("OpT", bound=Operation)
SiteT = TypeVar("SiteT")


@dataclass(frozen=True)
class Check:
    """One side condition at one site: its name, whether it holds, and the reason to give if it does not."""

    condition: str
    holds: bool
    reason: str
    noteworthy: bool = True
    """True if a refusal for this reason says something about the program that is not obvious."""


class Observer(Protocol):
    """An object that is notified of the firings and refusals of laws."""

    def fired(self, law: AnyLaw, site: Operation) -> None:
        """A law is about to rewrite `site`."""

    def refused(self, law: AnyLaw, site: Operation, check: Check) -> None:
        """A law looked at `site` and declined."""

    def settle(self) -> None:
        """Everything that follows from the last firing has been applied."""


class Auditor(Observer, Protocol):
    """An observer that checks rewrites as they happen."""

    def listen(self, rewriter: PatternRewriter) -> None:
        """Patterns are about to be tried with this rewriter."""

    def completed(self, pattern: RewritePattern, site: Operation) -> None:
        """A pattern has rewritten `site`; what it replaced may still be there as dead code."""


class Phase(Enum):
    """A step of fusion. It tries its laws at an operation in the order of their ranks."""

    OWN_STEP = "a step of its own, which `fusion/normalize.py` runs by the law's name"
    FIXPOINT = "the fixpoint; any order of its laws leads to one normal form"
    LATE = "after consecutive maps are fused, as a side condition looks at what that brings together"
    EXTENSION = "one by one, each kept only if a structural law fires after it"
    CLOSING = "after the last extension"


class Topic(IntEnum):
    """The subject of a law. Documentation and reports list laws by topic, then by rank."""

    MAPS = auto()
    SCALES = auto()
    VECTORS = auto()
    REUSE = auto()
    OTHER = auto()
    EXTENSIONS = auto()
    CLOSING = auto()


class Law(RewritePattern, ABC, Generic[OpT, SiteT]):
    """A rewrite rule with its documentation.

    A law is declared as `class SplitMap(Law[block.MapOp, Site])`: it looks for sites of one type at the
    operations of one class, or of several (`Law[block.AddOp | block.SubOp, Site]`). The class attributes are
    the row of the rule in the docs, in the trace and in `bb-opt --list-rules`. `sites` finds what the law
    could rewrite at an operation, `checks` says of one such site whether each side condition holds, `rewrite`
    rewrites it.

    A law whose first type argument is no class of operations raises TypeError where it is defined.
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
    """The classes of the operations at which the law looks for sites, from its first type argument."""
    structural: ClassVar[bool] = False
    """True if the law removes a list or a map, so that an extension that leads to it is worth keeping."""
    delicate: ClassVar[bool] = False
    """True if the law can cause cancellation, and therefore fires on demand only."""
    phase: ClassVar[Phase] = Phase.FIXPOINT
    """The step of fusion that tries the law."""
    topic: ClassVar[Topic] = Topic.OTHER
    rank: ClassVar[int] = 1000
    """The place of the law in its phase and its topic: a lower rank comes first."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        operations = type_argument(cls, Law, OpT)
        if not isinstance(operations, TypeVar):
            cls.anchors = operation_classes(operations)

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

    def looks_at(self, op: Operation) -> TypeGuard[OpT]:
        """True if the law looks for sites at an operation."""
        return isinstance(op, self.anchors)

    @abstractmethod
    def sites(self, op: OpT) -> Iterable[SiteT]:
        """Return the sites at an operation that the law could rewrite."""

    def checks(self, site: SiteT) -> Iterator[Check]:
        """Return the side conditions at a site, in order; later ones may rely on earlier ones."""
        yield from ()

    @abstractmethod
    def rewrite(self, op: OpT, site: SiteT, rewriter: PatternRewriter) -> None:
        """Rewrite a site at which every side condition holds."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not self.looks_at(op):
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
        """Return the side condition for which the law declines, for each of its sites at an operation."""
        if self.looks_at(op):
            for site in self.sites(op):
                for check in self.checks(site):
                    if not check.holds:
                        if check.noteworthy:
                            yield check
                        break


AnyLaw: TypeAlias = "Law[Any, Any]"
"""A law with operations and sites of any type."""


def type_argument(cls: type, generic: type, parameter: TypeVar) -> Any:
    """Return the argument that a subclass of a generic class has for one parameter: a type, or a type
    variable.
    """
    if cls is generic:
        return parameter
    bases: Iterable[Any] = vars(cls).get("__orig_bases__", cls.__bases__)
    for base in bases:
        origin: Any = get_origin(base) or base
        if issubclass(origin, generic):
            found = type_argument(origin, generic, parameter)
            if not isinstance(found, TypeVar):
                return found
            return get_args(base)[origin.__parameters__.index(found)]
    raise TypeError(f"{cls.__name__} gives no type for {parameter}")


def operation_classes(type_: Any) -> tuple[type[Operation], ...]:
    """Return the classes of operations in a union, or the only one. Raises TypeError for any other type."""
    classes = get_args(type_) or (type_,)
    if not all(isinstance(each, type) and issubclass(each, Operation) for each in classes):
        raise TypeError(f"expected a class of operations, or a union of such classes, got {type_!r}")
    return classes


class Placer:
    """Inserts new operations before one place, on behalf of the operation that they replace."""

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
