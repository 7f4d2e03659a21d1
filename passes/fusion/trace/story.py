"""The records of a trace in reading order: stories of functions, legs from snapshot to snapshot, steps.

A step is a run of firings of one law. A chapter is a group of steps with one purpose, and the bookkeeping
after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .records import Record

STRUCTURAL = ("fuse-consecutive-maps", "fuse-map-reduction", "fuse-sibling-maps", "inline-whole-dim")
"""Laws that merge loops; their steps make one chapter."""

BOOKKEEPING = ("vector-algebra", "cse")
"""Laws that tidy up after others; their steps belong to the chapter before."""


@dataclass(frozen=True)
class Numbers:
    """The traffic and the work of a program."""

    nests: int
    lists: int
    loads: int
    stores: int
    bytes: int
    flops: int
    recomputed_flops: int

    @classmethod
    def of(cls, content: object) -> Numbers:
        """The numbers in a record. Raises KeyError where one is missing."""
        numbers = cast("Mapping[str, int]", content)
        return cls(**{name: numbers[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Site:
    """The site of a law: the dims of the loops, the result of the operation, and its line in the source."""

    loops: tuple[str, ...]
    makes: tuple[str, ...]
    line: str = ""

    @classmethod
    def of(cls, content: object) -> Site:
        """The site in a record."""
        site = cast("Mapping[str, object]", content)
        dim = cast("str | None", site.get("dim"))
        inside = cast("Sequence[str]", site["inside"])
        location = str(site.get("location", "")).removeprefix("loc(").removesuffix(")").split(":")
        return cls(
            (*inside, dim) if dim else tuple(inside),
            tuple(dict.fromkeys(cast("Sequence[str]", site.get("makes", ())))),
            location[-2] if len(location) > 2 else "",
        )

    @property
    def place(self) -> str:
        """`[M][N]`; nothing at the top."""
        return "".join(f"[{dim}]" for dim in self.loops)


@dataclass(frozen=True)
class Firing:
    """A law that fired."""

    number: int
    rule: str
    variant: str
    law: str
    site: Site
    before: Numbers
    after: Numbers
    program: str

    @classmethod
    def of(cls, record: Record) -> Firing:
        """The firing in a record of one."""
        return cls(
            cast("int", record["step"]),
            str(record["rule"]),
            str(record["variant"]),
            str(record["law"]),
            Site.of(record["site"]),
            Numbers.of(record["before"]),
            Numbers.of(record["after"]),
            str(record.get("program", "")),
        )


@dataclass(frozen=True)
class Step:
    """Consecutive firings of one law."""

    firings: tuple[Firing, ...]

    @property
    def rule(self) -> str:
        return self.firings[0].rule

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(firing.variant for firing in self.firings))

    @property
    def numbers(self) -> str:
        """`2-3`."""
        first, last = self.firings[0].number, self.firings[-1].number
        return str(first) if first == last else f"{first}-{last}"

    @property
    def title(self) -> str:
        """`fuse-consecutive-maps x2`."""
        return self.rule if len(self.firings) == 1 else f"{self.rule} x{len(self.firings)}"

    @property
    def before(self) -> Numbers:
        return self.firings[0].before

    @property
    def after(self) -> Numbers:
        return self.firings[-1].after

    @property
    def program(self) -> str:
        """The pseudo-code of the program after the step, where the trace has it."""
        return self.firings[-1].program

    @property
    def makes(self) -> list[str]:
        """Return the results at the sites; of a list and its elements (`Exp`, `Exp_m`) only the list."""
        names = list(dict.fromkeys(name for firing in self.firings for name in firing.site.makes))
        return [name for name in names if not any(name.startswith(f"{other}_") for other in names)]

    @property
    def places(self) -> list[str]:
        return list(dict.fromkeys(firing.site.place for firing in self.firings if firing.site.loops))


@dataclass(frozen=True)
class Attempt:
    """An extension that was tried."""

    description: str
    kept: bool
    reason: str


@dataclass(frozen=True)
class Refusal:
    """A law that declined at a site of a snapshot."""

    rule: str
    variant: str
    reason: str
    site: Site


@dataclass(frozen=True)
class Remaining:
    """A list that a snapshot stores and loads again, and the dims within whose iterations it exists."""

    name: str
    inside: tuple[str, ...]


@dataclass
class Leg:
    """The path from one snapshot (at first the program) to the next."""

    attempts: list[Attempt] = field(default_factory=list[Attempt])
    firings: list[Firing] = field(default_factory=list[Firing])
    number: int = 0
    path: tuple[str, ...] = ()
    numbers: Numbers | None = None
    """The traffic and the work of the snapshot; None where the trace ends before it."""
    program: str = ""
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    lists: tuple[Remaining, ...] = ()
    """The intermediate lists of the snapshot."""
    tried: list[Attempt] = field(default_factory=list[Attempt])
    """Extensions that were tried from the snapshot, if the path ends there."""
    prologue: list[Firing] = field(default_factory=list[Firing])
    """The steps by which constants left the kernel, if the path ends there."""
    result: Numbers | None = None
    """The traffic and the work of the kernel without the prologue."""
    prologue_bytes: int = 0
    """The bytes that the prologue moves once."""

    @property
    def steps(self) -> list[Step]:
        return steps_of(self.firings)


@dataclass
class Story:
    """All that a trace records about one function."""

    function: str
    numbers: Numbers
    program: str
    legs: list[Leg] = field(default_factory=list[Leg])

    @property
    def last(self) -> Leg:
        return self.legs[-1]


def read_trace(text: str) -> list[Record]:
    """The records in the text of a trace file, JSON lines."""
    return [cast("Record", json.loads(line)) for line in text.splitlines()]


def steps_of(firings: Iterable[Firing]) -> list[Step]:
    """Runs of firings of one law."""
    steps: list[list[Firing]] = []
    for firing in firings:
        if steps and steps[-1][-1].rule == firing.rule:
            steps[-1].append(firing)
        else:
            steps.append([firing])
    return [Step(tuple(run)) for run in steps]


def chapters_of(steps: Iterable[Step]) -> list[list[Step]]:
    """Return chapters of steps: merges of loops, or one law, each with the bookkeeping after it."""
    chapters: list[list[Step]] = []
    kind = ""
    for step in steps:
        own = "loops" if step.rule in STRUCTURAL else step.rule
        if chapters and (own == kind or step.rule in BOOKKEEPING):
            chapters[-1].append(step)
        else:
            chapters.append([step])
            kind = own
    return chapters


def stories_of(records: Iterable[Record]) -> list[Story]:
    """Return the stories in a trace, in order. A leg that several snapshots share occurs once."""
    stories: list[Story] = []
    story: Story | None = None
    leg = done = last_leg = Leg()
    for record in records:
        event = record["event"]
        if event == "program":
            story = _story_for(record, stories)
            leg = Leg()
        elif event == "fired":
            leg.firings.append(Firing.of(record))
        elif event == "extension":
            description, reason = str(record["description"]), str(record["reason"])
            leg.attempts.append(Attempt(description, bool(record["kept"]), reason))
        elif event == "snapshot" and story is not None:
            leg.number = cast("int", record["number"])
            leg.path = tuple(cast("Sequence[str]", record["path"]))
            leg.numbers = Numbers.of(record["numbers"])
            leg.program = str(record.get("program", ""))
            leg.lists = tuple(_remaining(record.get("lists", ())))
            known = [other for other in story.legs if (other.number, other.path) == (leg.number, leg.path)]
            if not known:
                story.legs.append(leg)
            last_leg = known[0] if known else leg
            leg, done = Leg(), leg
        elif event == "refused":
            rule, variant, reason = (str(record[key]) for key in ("rule", "variant", "reason"))
            done.refusals.append(Refusal(rule, variant, reason, Site.of(record["site"])))
        elif event == "result":
            last_leg.tried, last_leg.prologue = leg.attempts, leg.firings
            last_leg.result = Numbers.of(record["numbers"])
            last_leg.prologue_bytes = cast("Mapping[str, int]", record["numbers"]).get("prologue_bytes", 0)
            leg = Leg()
    if story is not None and leg.firings:
        story.legs.append(leg)
    return stories


def _remaining(content: object) -> Iterator[Remaining]:
    for one in cast("Sequence[Mapping[str, object]]", content):
        yield Remaining(str(one["name"]), tuple(cast("Sequence[str]", one["inside"])))


def _story_for(record: Record, stories: list[Story]) -> Story:
    """Return the story that a record of a program begins, or continues if the program starts again."""
    name, program = str(record["function"]), str(record.get("program", ""))
    if not stories or (stories[-1].function, stories[-1].program) != (name, program):
        stories.append(Story(name, Numbers.of(record["numbers"]), program))
    return stories[-1]
