"""The trace of fusion: every law that fired and every one that declined, with the reason, as plain records.

Records are dictionaries that go into a file as JSON lines:

- `program`: the program at the start;
- `fired`: a law at a site, with the traffic and the work of the program before and after it (and after the
  simplifications that follow);
- `extension`: an extension that was tried, whether the path continues with it, and
  why; those after the last snapshot say why there is no further one, or which others were found;
- `snapshot`: a complete version of the program, with the lists that remain: their names, and the dims of the
  maps around each, within whose iterations it exists;
- `refused`: a site of a snapshot at which a law declined, and the reason;
- `result`: the program that the pass returns, after computations on constants alone have left the kernel. The
  numbers are those of the kernel; `prologue_bytes` is the traffic of its once-only prologue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from ....dialects import block
from ....dialects.attributes import PROLOGUE
from ....dialects.diagnostics import location_of
from ...analysis.facts import Facts
from ...analysis.traffic.block import Traffic, contraction_flops, modelled_values, traffic_of_function
from ...rules.law import AnyLaw, Check
from ...text.output import replace_file
from ...text.pseudo_code import pseudo_code
from ..cleanup import dead_code_patterns

Record = dict[str, object]


def measure(function: FuncOp) -> dict[str, int]:
    """Return the traffic and the work of a program, at the declared or assumed sizes, and the numbers of its
    nests and lists.
    """
    kernel, prologue = Traffic(), Traffic()
    for op, traffic in traffic_of_function(function):
        if PROLOGUE in op.attributes:
            prologue += traffic
        else:
            kernel += traffic
    values = modelled_values(block.declared_dims(function) or {})
    numbers, once = kernel.evaluate(values), prologue.evaluate(values)
    nests = [op for op in function.body.block.ops if isinstance(op, block.MapOp)]
    return {
        "nests": sum(PROLOGUE not in op.attributes for op in nests),
        "lists": len(intermediate_lists(function)),
        "loads": numbers["loads"],
        "stores": numbers["stores"],
        "bytes": numbers["bytes_loaded"] + numbers["bytes_stored"],
        "flops": numbers["flops"],
        "contraction_flops": contraction_flops(function).evaluate(values),
        "prologue_bytes": once["bytes_loaded"] + once["bytes_stored"],
    }


def intermediate_lists(function: FuncOp) -> list[SSAValue]:
    """Return the lists that a map stacks and that some operation of the function reads again, also as an
    array.

    A list of a once-only prologue is a constant and not among them.
    """
    found: list[SSAValue] = []
    for op in function.walk():
        if isinstance(op, block.MapOp) and PROLOGUE not in op.attributes:
            for result, kind in zip(op.results_, op.result_kinds, strict=True):
                if kind is block.Kind.Stack and any(_reads(use.operation, op) for use in result.uses):
                    found.append(result)
    return found


def _reads(user: Operation, maker: Operation) -> bool:
    if isinstance(user, block.AssembleOp):
        return any(isinstance(use.operation, block.PartitionOp) for use in user.result.uses)
    return isinstance(user, block.MapOp | block.ReduceOp | block.LoadOp) or (
        user.parent is not maker.parent and not isinstance(user, block.YieldOp)
    )


def dims_around(op: Operation) -> list[str]:
    """The dims of the maps around an operation, outermost first."""
    dims: list[str] = []
    scope = op.parent_op()
    while scope is not None:
        if isinstance(scope, block.MapOp):
            dims.insert(0, scope.dim_name)
        scope = scope.parent_op()
    return dims


def _remaining(function: FuncOp) -> list[Record]:
    """Intermediate lists, each with the dims of the maps within whose iterations it exists."""
    return [
        {"name": _name_of(value), "inside": dims_around(value.owner)}
        for value in intermediate_lists(function)
        if isinstance(value.owner, Operation)
    ]


def _name_of(value: SSAValue) -> str:
    """The name of a list, or else a name for its contents."""
    while value.name_hint is None:
        match value.owner:
            case block.MapOp():
                value = value.owner.yield_op.arguments[value.owner.results.index(value)]  # pyright: ignore[reportArgumentType]
            case block.StoreOp():
                value = value.owner.source
            case block.RowScaleOp() | block.ColScaleOp() | block.RowShiftOp() | block.ColShiftOp():
                value = value.owner.block
            case _:
                break
    return value.name_hint or ""


def site_of(op: Operation) -> Record:
    """Return the site of an operation: its name, its result, the dims of the maps around it, and its source
    location.
    """
    site: Record = {"op": op.name, "inside": dims_around(op)}
    if isinstance(op, block.MapOp):
        site["dim"] = op.dim_name
    names = [result.name_hint for result in op.results if result.name_hint]
    if names:
        site["makes"] = names
    location = location_of(op)
    if location is not None:
        site["location"] = str(location)
    return site


@dataclass
class Tracer:
    """Observes the laws on one function and keeps records. An `Observer`."""

    function: FuncOp
    programs: bool = False
    """True if the pseudo-code of the program is kept after every firing."""
    records: list[Record] = field(default_factory=list[Record])
    _step: int = 0
    _pending: Record | None = None
    _source_contractions: int = 0
    _now: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self._now = measure(self.function)
        self._source_contractions = self._now["contraction_flops"]
        self._record("program", numbers=self._numbers(self._now), program=pseudo_code(self.function))

    def _record(self, event: str, **content: object) -> Record:
        record: Record = {"event": event, "function": self.function.sym_name.data, **content}
        self.records.append(record)
        return record

    def _numbers(self, measured: Mapping[str, int]) -> Record:
        numbers: Record = dict(measured)
        numbers["recomputed_flops"] = max(0, measured["contraction_flops"] - self._source_contractions)
        return numbers

    def fired(self, law: AnyLaw, site: Operation) -> None:
        self.settle()
        self._step += 1
        self._pending = self._record(
            "fired",
            step=self._step,
            rule=law.name,
            variant=law.variant,
            law=law.law,
            structural=law.structural,
            site=site_of(site),
            before=self._numbers(self._now),
        )

    def refused(self, law: AnyLaw, site: Operation, check: Check) -> None:
        """Do nothing: refusals are collected from the snapshots."""

    def settle(self) -> None:
        """Complete the record of the last firing with the state that followed from it."""
        if self._pending is not None:
            function = _without_dead_code(self.function)
            self._now = measure(function)
            self._pending["after"] = self._numbers(self._now)
            if self.programs:
                self._pending["program"] = pseudo_code(function)
            self._pending = None

    def extension(self, description: str, kept: bool, reason: str) -> None:
        """Record an extension that was tried."""
        self._record("extension", description=description, kept=kept, reason=reason)

    def snapshot(self, number: int, path: Iterable[str], laws: Iterable[Callable[[Facts], AnyLaw]]) -> None:
        """Record the function as a snapshot, and the reasons why laws that look at it decline."""
        self.settle()
        self._record(
            "snapshot",
            number=number,
            path=list(path),
            numbers=self._numbers(self._now),
            lists=_remaining(self.function),
            program=pseudo_code(self.function),
        )
        facts, seen = Facts(), set[str]()
        for make in laws:
            law = make(facts)
            for op in self.function.walk():
                for check in law.refusals(op):
                    content: Record = {
                        "snapshot": number,
                        "rule": law.name,
                        "variant": law.variant,
                        "site": site_of(op),
                        "condition": check.condition,
                        "reason": check.reason,
                    }
                    text = json.dumps(content, sort_keys=True)
                    if text not in seen:
                        seen.add(text)
                        self._record("refused", **content)

    def result(self, number: int) -> None:
        """Record the function as the result of the pass, for a snapshot."""
        self.settle()
        self._now = measure(self.function)
        numbers = self._numbers(self._now)
        self._record("result", number=number, numbers=numbers, program=pseudo_code(self.function))


def _without_dead_code(function: FuncOp) -> FuncOp:
    """A copy without unread operations: the driver may not have removed them yet."""
    copy = function.clone()
    patterns = GreedyRewritePatternApplier([*dead_code_patterns()], dce_enabled=False)
    PatternRewriteWalker(patterns).rewrite_region(copy.body)
    return copy


def write_trace(records: Iterable[Record], path: str) -> None:
    """Write records as JSON lines, all or nothing. Raises OSError."""
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    replace_file(path, lines.encode())
