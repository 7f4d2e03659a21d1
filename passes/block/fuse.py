"""`block-fuse`: applies the laws of fusion and returns the requested snapshot.

Phase 2 (`passes/fusion/normalize.py`) brings the program into normal form: the first snapshot. Phase 3
(`passes/fusion/explore.py`) extends maps to reach others. `passes/fusion/termination.py` has the termination
measure, which `block-fuse{check=true}` asserts at every firing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from ...dialects import block
from ...dialects.attributes import SNAPSHOT
from ...dialects.block import is_stabilized
from ...dialects.diagnostics import OpError, did_you_mean
from ..analysis.facts import Facts
from ..analysis.programs import block_programs
from ..fusion.cleanup import cleanup_patterns
from ..fusion.explore import EXTENSIONS, Candidate, Explorer, Snapshot, apply, cost_of
from ..fusion.normalize import Normalizer
from ..fusion.termination import MeasureCheck
from ..rules.constant_prologue import ConstantPrologue
from ..rules.law import AnyLaw, Auditor, Observer
from ..rules.table import all_laws
from ..rules.user_rule import laws_among, user_rules
from ..text.output import os_reason

if TYPE_CHECKING:
    from ..fusion.trace.records import Record, Tracer

WORDS = ("last", "best-traffic", "same-work", "all")
"""Values of the option `snapshot` beside numbers."""
MORE_WORK = 1.05
"""Factor by which the flops of a snapshot may exceed those of the first and still count as the same work."""
LARGEST_COUNT = 2**63 - 1
"""Largest number of bytes or flops that a snapshot records."""


@dataclass(frozen=True)
class BlockFusePass(ModulePass):
    """Fuse the maps of block programs by the laws of fusion.

    `snapshot`: `last` (the most fused), `best-traffic` (the fewest modelled bytes), `same-work` (the most
    fused that computes at most a twentieth more than the first), a number (0 is the first), or `all` (each as
    a function of its own). `whole`: dims that are to be one block. `extend=false`
    stops at the first snapshot. `budget`: how many snapshots the search may find. `trace`: a file for the
    trace, as JSON lines; `programs=true` puts the pseudo-code of the program after every step into it.
    `rules`: user rules to try with the laws. `check=true` asserts the termination measure.
    """

    name = "block-fuse"

    snapshot: str | int = "last"
    extend: bool = True
    whole: tuple[str, ...] = ()
    budget: int = 30
    trace: str | None = None
    programs: bool = False
    rules: tuple[str, ...] = ()
    check: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.snapshot, str) and self.snapshot not in WORDS:
            raise ValueError(
                f"option 'snapshot' must be {', '.join(WORDS)} or a number, got {self.snapshot!r}"
            )
        if isinstance(self.snapshot, int) and self.snapshot < 0:
            raise ValueError(f"option 'snapshot' must not be negative, got {self.snapshot}")
        if self.budget < 1:
            raise ValueError(f"option 'budget' must be at least 1, got {self.budget}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = block_programs(op)
        if not functions:
            raise PassFailedException("there is no block program to fuse; run array-to-block first")
        for function in functions:
            if is_stabilized(function):
                name = function.sym_name.data
                raise OpError(
                    function, f"@{name} is stabilised already; block-fuse goes before block-stabilize"
                )
        self._declare_whole(functions)
        records: list[Record] = []
        for function in functions:
            self._fuse(function, records)
        if self.trace is not None:
            from ..fusion.trace.records import write_trace

            try:
                write_trace(records, self.trace)
            except OSError as error:
                raise PassFailedException(
                    f"cannot write the trace to {self.trace}: {os_reason(error)}"
                ) from error

    def _declare_whole(self, functions: Sequence[FuncOp]) -> None:
        known: dict[str, None] = {}
        for function in functions:
            dims = block.parse_dims(function.attributes[block.DIMS])
            known |= dict.fromkeys(dims)
            for name in self.whole:
                if name in dims and dims[name].is_batch:
                    raise OpError(
                        function, f"batch dim {name} cannot be whole: its items have no axis over it"
                    )
            declared = {
                name: block.DimAttr(dim.extent.data, 0, block.Blocking.Whole) if name in self.whole else dim
                for name, dim in dims.items()
            }
            function.attributes[block.DIMS] = block.dims_attr(declared)
        for name in self.whole:
            if name not in known:
                otherwise = f"; the dims are {', '.join(known)}"
                raise PassFailedException(
                    f"no function has a dim {name}{did_you_mean(name, known, otherwise)}"
                )

    def auditor(self, function: FuncOp) -> Auditor | None:
        """Return an observer that audits a function's rewrites: none, unless a subclass has one."""

    def _user_rules(self) -> list[RewritePattern]:
        return user_rules(self.rules)

    def _fuse(self, function: FuncOp, records: list[Record]) -> None:
        source = function.clone() if self.trace is not None else None
        extra = self._user_rules()
        first = self._normal_form(function, extra)
        explorer = Explorer(extra, self.auditor)
        snapshots = self._snapshots(first, explorer)
        chosen = self._choose(function, snapshots)
        if source is not None:
            numbers = {snapshot.candidates: snapshot.number for snapshot in snapshots}
            for snapshot in chosen:
                records.extend(self._retrace(source.clone(), snapshot, numbers, explorer, extra))
        parent = function.parent
        assert parent is not None
        if self.snapshot == "all":
            for snapshot in chosen:
                parent.insert_op_before(
                    _named(snapshot, f"{function.sym_name.data}_snapshot{snapshot.number}"), function
                )
        else:
            parent.insert_op_before(_named(chosen[0], function.sym_name.data), function)
        function.detach()
        function.erase()

    def _normal_form(self, function: FuncOp, extra: Sequence[RewritePattern]) -> Snapshot:
        copy = function.clone()
        observer: Observer | None = MeasureCheck(copy) if self.check else None
        Normalizer(copy, observer, extra, auditor=self.auditor(copy)).run()
        return Snapshot(copy.clone(), cost_of(copy))

    def _snapshots(self, first: Snapshot, explorer: Explorer) -> list[Snapshot]:
        if not self.extend:
            return [first]
        chain = explorer.chain(first)
        return chain if self.snapshot in ("last", "same-work") else explorer.with_others(chain, self.budget)

    def _choose(self, function: FuncOp, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
        match self.snapshot:
            case "all":
                return list(snapshots)
            case "last":
                return [snapshots[-1]]
            case "same-work":
                most = MORE_WORK * snapshots[0].cost[1]
                return [next(each for each in reversed(snapshots) if each.cost[1] <= most)]
            case "best-traffic":
                return [min(snapshots, key=lambda snapshot: snapshot.cost)]
            case _:
                if self.snapshot >= len(snapshots):  # pyright: ignore[reportOperatorIssue]
                    last = len(snapshots) - 1
                    found = f"{last + 1} were found (0 to {last})" if last else "snapshot 0 was found"
                    raise OpError(function, f"there is no snapshot {self.snapshot}, only {found}")
                return [snapshots[self.snapshot]]  # pyright: ignore[reportArgumentType, reportCallIssue]

    def _retrace(
        self,
        function: FuncOp,
        snapshot: Snapshot,
        numbers: Mapping[tuple[Candidate, ...], int],
        explorer: Explorer,
        extra: Sequence[RewritePattern],
    ) -> list[Record]:
        """Apply the extensions that led to a snapshot once more, and record them."""
        from ..fusion.trace.records import Tracer

        tracer = Tracer(function, self.programs)
        laws = [*_laws_to_explain(), *map(_as_it_is, laws_among(extra))]
        Normalizer(function, tracer, extra).run()
        tracer.snapshot(0, (), laws)
        for length, candidate in enumerate(snapshot.candidates, start=1):
            self._record_attempts(snapshot.candidates[: length - 1], candidate, explorer, tracer)
            tracer.extension(candidate.description, True, "a structural law fired after it")
            # Sites are found through uses, whose order only a fresh clone has in common with the explorer's.
            function = tracer.function = function.clone()
            touched = apply(function, candidate, tracer)
            Normalizer(function, tracer, extra).run(touched)
            tracer.snapshot(numbers[snapshot.candidates[:length]], snapshot.path[:length], laws)
        self._record_attempts(snapshot.candidates, None, explorer, tracer)
        extract_constants(function, tracer)
        tracer.result(snapshot.number)
        return tracer.records

    def _record_attempts(
        self, path: tuple[Candidate, ...], taken: Candidate | None, explorer: Explorer, tracer: Tracer
    ) -> None:
        """Record the extensions that were tried from the snapshot at the end of a path, without the one that
        was taken.
        """
        for attempt in explorer.attempts:
            if attempt.path == path and attempt.candidate != taken:
                outcome = "no structural law fired after it: it would repeat work for nothing"
                if attempt.snapshot is not None:
                    outcome = f"it leads to snapshot {attempt.snapshot.number}"
                tracer.extension(attempt.candidate.description, False, outcome)


def _laws_to_explain() -> list[Callable[[Facts], AnyLaw]]:
    return [*all_laws(), *EXTENSIONS]


def _as_it_is(law: AnyLaw) -> Callable[[Facts], AnyLaw]:
    """A user's law, which was made already."""
    return lambda _: law


def extract_constants(function: FuncOp, observer: Observer | None = None) -> None:
    """Move computations on declared constants alone into a prologue. This runs last, because fusion would
    undo it.
    """
    patterns = [ConstantPrologue(observer=observer), *(pattern for pattern, _ in cleanup_patterns())]
    PatternRewriteWalker(GreedyRewritePatternApplier(patterns, dce_enabled=False)).rewrite_region(
        function.body
    )


def _named(snapshot: Snapshot, name: str) -> FuncOp:
    function = snapshot.function.clone()
    extract_constants(function)
    function.sym_name = StringAttr(name)
    # The costs of arrays that no machine holds may exceed the attribute.
    bytes, flops = (min(count, LARGEST_COUNT) for count in snapshot.cost)
    function.attributes[SNAPSHOT] = DictionaryAttr(
        {
            "number": IntegerAttr(snapshot.number, i64),
            "path": ArrayAttr([StringAttr(step) for step in snapshot.path]),
            "bytes": IntegerAttr(bytes, i64),
            "flops": IntegerAttr(flops, i64),
        }
    )
    return function
