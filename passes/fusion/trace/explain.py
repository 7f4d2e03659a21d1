"""The trace of fusion as a report for people: the original function, the steps, the refusals and their
reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent, wrap
from typing import TYPE_CHECKING

from ...text.units import change_in_units, counted, in_units
from .story import Leg, Numbers, Refusal, Step, Story, steps_of, stories_of

if TYPE_CHECKING:
    from .records import Record

WIDTH = 110
"""Columns that no line exceeds, except pseudo-code and names that are longer themselves."""

MOST_REFUSALS = 12
"""Kinds of refusals that are listed; the others are counted."""

_LABEL, _TITLE, _BYTES = 9, 27, 18
"""Columns of a step's numbers, of its law, and of the bytes that it saved."""

ACTIONS: dict[str, str] = {
    "constant-prologue": "made once, before the kernel",
    "cse": "equal values made once",
    "duplicate-mapped-scale": "scale left to the readers",
    "exp-of-shift": "shift out of exp",
    "extend-map": "repeated in every iteration",
    "extend-map/slice": "part repeated in every iteration",
    "fuse-consecutive-maps": "joins the loop before it",
    "fuse-elementwise": "one element-wise operator",
    "fuse-map-reduction": "reduced while made",
    "fuse-sibling-maps": "loops over one list merged",
    "hoist-invariant": "out of the loop",
    "inline-whole-dim": "loop over one block opened",
    "interchange-maps": "loops change places",
    "leave-sum/addition": "sum of sums taken apart",
    "leave-sum/invariant": "sum of one value is a multiple",
    "leave-sum/linear form": "terms leave the sum",
    "leave-sum/outer product": "factor leaves the sum",
    "leave-sum/product": "factors leave the sum",
    "leave-sum/scale": "scale leaves the sum",
    "leave-sum/shift": "shift leaves the sum",
    "merge-scales/by one, by zero": "empty scale dropped",
    "merge-scales/column shift outside": "column shift put outside",
    "merge-scales/row scale outside": "row scale put outside",
    "merge-scales/scales": "two scales are one",
    "merge-scales/shifts": "two shifts are one",
    "split-map": "made a second time",
    "swap-scale-dot/constant factor": "scale past a factor",
    "swap-scale-dot/left operand": "scale past dot",
    "swap-scale-dot/rounded left operand": "scale past a rounding and dot",
    "swap-scale-dot/product": "scale past mul",
    "swap-scale-dot/right operand": "scale past dot",
    "swap-scale-dot/row sum": "scale past row_sum",
    "swap-scale-dot/sum of equal scales": "scale past add",
    "swap-shift-dot/column shift": "shift past dot",
    "swap-shift-dot/constant factor": "shift past a factor",
    "swap-shift-dot/mask": "shift past a mask",
    "swap-shift-dot/row shift": "shift past dot",
    "swap-shift-dot/row sum": "shift past row_sum",
    "swap-shift-dot/row sum of a product": "shift past row_sum",
    "swap-shift-dot/scaled row shift": "shift past dot",
    "swap-shift-dot/sum": "shift past add",
    "vector-algebra/constant factors": "factor out of a product",
    "vector-algebra/element-wise": "written as exact algebra",
    "vector-algebra/flatten": "equal terms merged",
    "vector-algebra/logarithm of a product": "logarithm taken apart",
    "vector-algebra/logarithm of an exponential": "logarithm of exp dropped",
    "vector-algebra/products": "written as exact algebra",
    "vector-algebra/sums": "written as exact algebra",
    "vector-algebra/units": "form of one term dropped",
}
"""Short texts of laws, by `rule/variant` or by `rule`; for other laws their own sentence is used."""


def explain(records: Iterable[Record], *, programs: bool = False) -> str:
    """Return the records of a trace as plain text; with `programs`, also the pseudo-code after every step.

    That needs a trace that was made with `block-fuse{programs=true}`.
    """
    lines: list[str] = []
    for story in stories_of(records):
        for line in (*_story(story, programs), ""):
            if line or (lines and lines[-1]):  # never two empty lines in a row
                lines.append(line)
    return "\n".join(lines[:-1]) + "\n"


def _story(story: Story, programs: bool) -> Iterator[str]:
    yield from _wrapped(f"@{story.function}: {summary(story.numbers)}")
    shown = ""
    if programs:
        shown = story.program
        yield from _program(shown)
    for leg in story.legs:
        yield ""
        yield from _heading(leg)
        for step in leg.steps:
            yield step_line(step)
            if programs and step.program and step.program != shown:
                shown = step.program
                yield from _program(shown)
        if leg.numbers is not None:
            yield from _wrapped(f"= {summary(leg.numbers)}", "  ")
            yield from _private_lists(leg)
        if programs and leg.program != shown:
            shown = leg.program
            yield from _program(shown)
        yield from _tried(leg)
        yield from _prologue(leg)
    yield ""
    yield from _snapshots(story)
    yield from _laws(story)
    yield from _refusals(story)


def summary(numbers: Numbers) -> str:
    """Return the traffic and the work of a program, in one line."""
    moved = f"{counted(numbers.loads, 'load')} and {counted(numbers.stores, 'store')}"
    private = " private to an iteration" if numbers.nests == 1 and numbers.lists else ""
    text = (
        f"{counted(numbers.nests, 'nest')}, {counted(numbers.lists, 'intermediate list')}{private}; "
        f"{moved} move {in_units(numbers.bytes, 'B')}; {in_units(numbers.flops, 'flop')}"
    )
    again = numbers.recomputed_flops
    return f"{text}, {in_units(again, 'flop')} recomputed" if again else text


def _heading(leg: Leg) -> Iterator[str]:
    """Yield the heading of a leg: how its snapshot is reached, and what was tried on the way."""
    for attempt in leg.attempts:
        if not attempt.kept:
            yield from _wrapped(f"tried, not kept: {attempt.description}: {attempt.reason}")
    kept = next((attempt for attempt in leg.attempts if attempt.kept), None)
    if kept is None:
        yield f"To snapshot {leg.number}, by the laws alone:"
    else:
        yield from _wrapped(f"To snapshot {leg.number}: {kept.description} (kept: {kept.reason})")


def _private_lists(leg: Leg) -> Iterator[str]:
    """The lists that exist only within one iteration each, if all remaining lists do."""
    if leg.lists and all(one.inside for one in leg.lists):
        places: dict[str, list[str]] = {}
        for one in leg.lists:
            place = "".join(f"[{dim}]" for dim in one.inside)
            places.setdefault(place, []).append(f"%{one.name}" if one.name else "one without a name")
        listed = "; ".join(f"{', '.join(names)} in {place}" for place, names in places.items())
        yield from _wrapped(f"lists private to an iteration: {listed}", "    ")


def _tried(leg: Leg) -> Iterator[str]:
    """Return the attempts from the snapshot at which the path ends."""
    for (description, reason), count in Counter((one.description, one.reason) for one in leg.tried).items():
        times = f" ({count} sites)" if count > 1 else ""
        yield from _wrapped(f"tried from here, not taken: {description}{times}: {reason}", "  ")


def _prologue(leg: Leg) -> Iterator[str]:
    """Return the steps by which values that depend on constants alone left the kernel."""
    if leg.prologue:
        yield ""
        yield "Last, what depends on constants alone leaves the kernel, and is made once:"
        yield from map(step_line, steps_of(leg.prologue))
        if leg.result is not None:
            once = in_units(leg.prologue_bytes, "B")
            yield from _wrapped(f"= {summary(leg.result)}; {once} once", "  ")


# Steps


def step_line(step: Step) -> str:
    """Return one line on a step: its numbers, law, action, site, and the bytes moved before and after."""
    head = f"{step.numbers:>{_LABEL - 2}}  {step.title:<{_TITLE}}"
    bytes = change_in_units(step.before.bytes, step.after.bytes, "B")
    available = WIDTH - len(head) - _BYTES - 2
    return f"{head}{_fitting(step, available):<{available}}  {bytes:>{_BYTES}}"


def action_of(step: Step) -> str:
    """Return the action of a step, in a few words."""
    found: list[str] = []
    for firing in step.firings:
        text = ACTIONS.get(f"{firing.rule}/{firing.variant}", ACTIONS.get(firing.rule))
        found.append(text or firing.variant or firing.law.rstrip("."))
    return "; ".join(dict.fromkeys(found))


def _fitting(step: Step, available: int) -> str:
    """Return the action and the sites of a step, with as many names as fit."""
    action = action_of(step)
    for names, loops in ((4, 4), (3, 3), (3, 1), (2, 2), (2, 1), (1, 1), (1, 0), (0, 1)):
        makes = _some([f"%{name}" for name in step.makes], names)
        places = _some(step.places, loops)
        text = action + (f": {makes}" if makes else "") + (f" at {places}" if places else "")
        if len(text) <= available:
            return text
    return action if len(action) <= available else action[: available - 3] + "..."


def _some(texts: Sequence[str], count: int) -> str:
    if count == 0:
        return ""
    more = f" and {len(texts) - count} more" if len(texts) > count else ""
    return ", ".join(texts[:count]) + more


# Snapshots


def _snapshots(story: Story) -> Iterator[str]:
    yield "Snapshots"
    yield _row("", ("nests", "lists", "loads", "stores", "moved", "flops", "recomputed"), "reached by")
    yield _row("-", _cells(story.numbers), "(as given)")
    numbers_of = {leg.path: leg.number for leg in story.legs}
    for leg in story.legs:
        if leg.numbers is not None:
            before = numbers_of.get(leg.path[:-1])
            how = "the laws alone" if not leg.path else leg.path[-1]
            if leg.path and before != leg.number - 1:
                how = f"from {before}: {how}"
            yield _row(str(leg.number), _cells(leg.numbers), how)


def _cells(numbers: Numbers) -> tuple[str, ...]:
    counts = (numbers.nests, numbers.lists, numbers.loads, numbers.stores)
    units = (
        in_units(numbers.bytes, "B"),
        in_units(numbers.flops, ""),
        in_units(numbers.recomputed_flops, ""),
    )
    return (*(f"{count:,}" for count in counts), *units)


def _row(number: str, cells: Sequence[str], how: str) -> str:
    widths = (5, 5, 7, 6, 8, 7, 10)
    columns = (f"{cell.strip():>{width}}" for cell, width in zip(cells, widths, strict=True))
    return _clipped("  ".join([f"{number:>4}", *columns, how]))


# Laws and refusals


def _laws(story: Story) -> Iterator[str]:
    counts: dict[tuple[str, str, str], int] = {}
    for leg in story.legs:
        for firing in (*leg.firings, *leg.prologue):
            key = firing.rule, firing.variant, firing.law
            counts[key] = counts.get(key, 0) + 1
    if counts:
        yield ""
        yield "Laws that fired"
    for (rule, variant, law), count in sorted(counts.items()):
        yield from _wrapped(f"{_title(rule, variant)} x{count}: {law}", "  ")


def _refusals(story: Story) -> Iterator[str]:
    """Return the refusals, grouped by law and reason: first those at the last snapshot."""
    groups: dict[tuple[str, str, str], list[tuple[int, Refusal]]] = {}
    for leg in story.legs:
        for refusal in leg.refusals:
            key = refusal.rule, refusal.variant, refusal.reason
            groups.setdefault(key, []).append((leg.number, refusal))
    if not groups:
        return
    last = story.last.number

    def interest(item: tuple[tuple[str, str, str], list[tuple[int, Refusal]]]) -> tuple[bool, int, int]:
        (rule, _, _), found = item
        return all(number != last for number, _ in found), _rank(rule), -len(found)

    ordered = sorted(groups.items(), key=interest)
    yield ""
    yield "Refused"
    for (rule, variant, reason), found in ordered[:MOST_REFUSALS]:
        yield from _wrapped(f"{_title(rule, variant)}: {reason}", "  ")
        yield from _wrapped(_where(found, last), "      ")
    if len(ordered) > MOST_REFUSALS:
        yield f"  and {len(ordered) - MOST_REFUSALS} more reasons, which block-fuse{{trace=FILE}} writes down"


def _rank(rule: str) -> int:
    """Rank of a law: laws that merge loops first, then extensions, then those that lead to either."""
    if rule.startswith("fuse-"):
        return 0
    return {"split-map": 1, "extend-map": 1, "duplicate-mapped-scale": 2}.get(rule, 3)


def _where(found: Sequence[tuple[int, Refusal]], last: int) -> str:
    numbers = sorted({number for number, _ in found})
    here = [refusal for number, refusal in found if number == numbers[-1]]
    sites: list[str] = []
    for refusal in here:
        makes = ", ".join(f"%{name}" for name in refusal.site.makes)
        line = f" (line {refusal.site.line})" if refusal.site.line else ""
        sites.append(f"{makes or 'a value'} at {refusal.site.place or 'the top'}{line}")
    text = _some(list(dict.fromkeys(sites)), 3)
    if numbers == [last]:
        return f"{text}, in the last snapshot"
    run = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
    listed = f"{numbers[0]}-{numbers[-1]}" if run else ", ".join(map(str, numbers))
    several = "snapshot" if len(numbers) == 1 else "snapshots"
    return f"{text}, in {several} {listed}" + ("" if last in numbers else ", overcome later")


# Text


def _title(rule: str, variant: str) -> str:
    return f"{rule} ({variant})" if variant else rule


def _wrapped(text: str, margin: str = "") -> list[str]:
    return wrap(text, WIDTH, initial_indent=margin, subsequent_indent=margin + "    ", break_on_hyphens=False)


def _clipped(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."


def _program(text: str) -> Iterator[str]:
    yield ""
    yield from indent(text.rstrip("\n"), "      ").splitlines()
    yield ""
