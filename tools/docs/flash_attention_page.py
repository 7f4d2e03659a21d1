"""docs/concepts/flash-attention.md: attention becomes Flash Attention, as a real run traces it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lowering.frontends.mlir_text import parse
from ...lowering.pipelines import PassPipeline
from ...passes.analysis.traffic.block import ASSUMED_BLOCK_SIZE
from ...passes.fusion.trace.story import STRUCTURAL, Leg, Numbers, Step, Story, chapters_of, stories_of
from ...passes.text.units import change_in_units, counted, in_units
from ..opt.explanation import Explanation
from .markdown import fenced, item, page, paragraph
from .programs import EXAMPLES, TO_BLOCKS, compiled, functions_of, moved_arrays

EXAMPLE = "attention"
PASSES = f"{TO_BLOCKS},block-fuse"

INTRODUCTION = f"""
`block-fuse` has no pattern for attention and none for a softmax. It applies laws of algebra. This page comes
from a run of `bb-opt examples/{EXAMPLE}.mlir -p {PASSES} --explain --pseudo-code`. It shows the laws that
fired, in order, and the program after each group of steps. [The table of rules](../reference/rules.md) lists
every law.
"""

START = """
`array-decompose` expands attention into its numerically safe form: scores, scaling, the maximum of each
row, a shift by it, the exponential, the sum of each row, the division, and the product with v.
`array-to-block` turns each of them into a nest of loops. Each nest stores its result to global memory, and
the next one loads it again.
"""

TITLES = {
    "cse": "Equal values are computed once",
    "duplicate-mapped-scale": "The scale moves to the readers of a list",
    "exp-of-shift": "The shift leaves the exponential",
    "extend-map": "A loop is repeated",
    "hoist-invariant": "Invariant operators leave the loop",
    "leave-sum": "Invariant factors leave the sum",
    "loops": "Loops merge",
    "merge-scales": "Two scales become one",
    "split-map": "A list is computed a second time",
    "swap-scale-dot/left operand": "A scale passes the contraction",
    "swap-scale-dot/row sum": "A scale passes the row sum",
    "swap-shift-dot": "A shift passes the contraction",
    "vector-algebra": "Factors are collected",
}
"""Headings by law, or by law and variant; others are the law's name."""

PROSE = {
    "duplicate-mapped-scale": """
One vector scales a whole list, and the vector is known only when a loop has ended. This law gives the
unscaled list to its readers, and each reader scales the elements itself. The loop that makes the list then
no longer needs the vector.
""",
    "exp-of-shift": """
This is the decisive step. The exponential of a row shifted by c is the exponential of the row, scaled by
exp(c). The exponentials then no longer wait for the maximum, which is known only after a whole loop over the
columns. By itself this is unsafe, because the exponential of a large score overflows. A later pass makes it
safe again.
""",
    "extend-map": """
No law applies any more. Yet one loop could still merge with another if it were inside the loop that needs
its whole result. An extension puts it there. Its work is repeated in every iteration: this costs operations
and saves a list. Fusion keeps the extension only if a structural law fires after it.
""",
    "hoist-invariant": """
The merged loops contain operators that compute the same value in every iteration. These are evaluated once,
before the loop.
""",
    "leave-sum": """
A factor that is the same in every iteration leaves the sum: the loop computes a plain sum, and the factor is
applied to the result.
""",
    "loops": """
A map that reads the list of another map does its work in the same iteration, and a list is reduced while it
is computed. Values that went through global memory stay in local memory.
""",
    "merge-scales": "Two scales along the same axis become one: the vectors are multiplied, not the blocks.",
    "swap-scale-dot/left operand": """
A scale of the rows of the left operand scales the rows of the product. The contraction takes its operand
unscaled, and the scale moves to the result.
""",
    "swap-scale-dot/row sum": """
The sum of a scaled row is the scaled sum. The row sum takes the unscaled block, and the scale moves to the
result.
""",
    "vector-algebra": "Products of vectors become products of powers, which combine equal factors.",
}
"""The meaning of a law's steps, in words that hold wherever it fires."""


MAXIMUM_GONE = """
The maximum has disappeared. It was the same factor in numerator and denominator, the factors cancelled, and
no operation reads it any more.
"""

END_FORM = """
One nest remains. It loads only `q`, `k` and `v` and stores only `out`. For each block of rows it traverses
the columns once. It accumulates the row sums of the exponentials and their product with v in the same loop,
and divides at the end. That is the loop of Flash Attention.

Flash Attention also subtracts a running maximum, because the exponential of a large score overflows without
it. Fusion has removed the maximum because it cancels. The pass `block-stabilize`, which runs after fusion,
represents exponentials so that they [cannot overflow](numerics.md#what-is-carried).
"""


def traced(passes: str = PASSES) -> Story:
    """The story of the example under some passes."""
    run = Explanation(PassPipeline(passes), programs=True)
    run.run(parse(EXAMPLES / f"{EXAMPLE}.mlir"))
    (story,) = stories_of(run.records)
    return story


def text() -> str:
    """The page."""
    story = traced()
    blocks = [
        "# How Flash Attention is rediscovered",
        paragraph(INTRODUCTION),
        "## The program",
        paragraph(START),
    ]
    blocks += [fenced(story.program), paragraph(f"It has {_amounts(story.numbers)}.")]
    shown, number = story.program, 0
    for leg in story.legs:
        for chapter in chapters_of(leg.steps):
            number += 1
            program = chapter[-1].program
            blocks += _chapter(number, chapter, leg)
            blocks += _vanished(shown, program)
            if program != shown:
                blocks.append(fenced(program))
            shown = program
        blocks += _snapshot(leg, shown)
        shown = leg.program
    blocks += _end(story)
    return page(*blocks)


def _chapter(number: int, steps: Sequence[Step], leg: Leg) -> Iterator[str]:
    key = "loops" if steps[0].rule in STRUCTURAL else steps[0].rule
    variants = [f"{key}/{variant}" for variant in steps[0].variants]
    title = next((TITLES[name] for name in (*variants, key) if name in TITLES), steps[0].rule)
    yield f"## {number}. {title}"
    for attempt in leg.attempts:
        if attempt.kept and steps[0] is leg.steps[0]:
            yield paragraph(f"The extension: {attempt.description}.")
    prose = [PROSE[name] for name in (*variants, key) if name in PROSE]
    if prose:
        yield paragraph(" ".join(" ".join(prose).split()))
    yield "\n".join(item(text) for text in _fired(steps))
    yield paragraph(_difference(steps[0].before, steps[-1].after))


def _fired(steps: Sequence[Step]) -> Iterator[str]:
    """One item a law: its number of firings and its statement."""
    laws: dict[tuple[str, str, str], int] = {}
    for step in steps:
        for firing in step.firings:
            key = firing.rule, firing.variant, firing.law
            laws[key] = laws.get(key, 0) + 1
    for (rule, variant, law), count in laws.items():
        name = f"`{rule}` ({variant})" if variant else f"`{rule}`"
        yield f"{name}{f', {count} times' if count > 1 else ''}: {law}"


def _difference(before: Numbers, after: Numbers) -> str:
    nests = _changed(before.nests, after.nests, "nest")
    lists = _changed(before.lists, after.lists, "intermediate list")
    bytes = change_in_units(before.bytes, after.bytes, "B").replace("->", "→")
    moved = f"moved: {bytes}" if "→" in bytes else f"moved, as before: {bytes}"
    return f"{nests}; {lists}; {moved}."


def _changed(before: int, after: int, noun: str) -> str:
    text = counted(after, noun)
    return text if before == after else f"{before} → {text}"


def _vanished(before: str, after: str) -> Iterator[str]:
    """Say so where a step made the row maximum, or the division of a whole block, disappear."""
    if "row_max" in before and "row_max" not in after:
        yield paragraph(MAXIMUM_GONE)


def _snapshot(leg: Leg, shown: str) -> Iterator[str]:
    assert leg.numbers is not None
    yield f"## Snapshot {leg.number}"
    how = "No law fires any more" if not leg.path else "Again no law fires any more"
    again = leg.numbers.recomputed_flops
    cost = f", {in_units(again, 'flop')} of them recomputed" if again else ", none of them recomputed"
    yield paragraph(f"{how}. The program has {_amounts(leg.numbers)}{cost}.")
    if leg.program != shown:
        yield from _vanished(shown, leg.program)
        yield fenced(leg.program)


def _amounts(numbers: Numbers) -> str:
    moved = f"{counted(numbers.loads, 'load')} and {counted(numbers.stores, 'store')}"
    return (
        f"{counted(numbers.nests, 'nest')} and {counted(numbers.lists, 'intermediate list')}, moves "
        f"{in_units(numbers.bytes, 'B')} in {moved}, and takes {in_units(numbers.flops, 'flop')}"
    )


def _end(story: Story) -> Iterator[str]:
    (function,) = functions_of(compiled(EXAMPLE, PASSES))
    moved = moved_arrays(function)
    if (set(moved.loaded), moved.stored, moved.lists) != ({"q", "k", "v"}, ("out",), ()):
        raise ValueError(f"fused attention moves other arrays than its arguments and its result: {moved}")
    last = story.last.numbers
    assert last is not None
    yield "## What this is"
    yield from map(paragraph, END_FORM.split("\n\n"))
    before, after = in_units(story.numbers.bytes, "B"), in_units(last.bytes, "B")
    again = in_units(last.recomputed_flops, "flop")
    yield paragraph(
        f"From the original program to the last snapshot, the bytes moved fall from {before} to {after}, "
        f"with blocks of {ASSUMED_BLOCK_SIZE} elements along every dim; {again} are recomputed, "
        "because the scores are computed again for each block of columns of v."
    )
    whole = traced(f"{TO_BLOCKS},block-fuse{{whole=L}}")
    end = whole.last.numbers
    assert end is not None
    again = in_units(end.recomputed_flops, "flop") if end.recomputed_flops else "nothing"
    yield paragraph(
        "This cost disappears where all columns of v are in one block, as in handwritten kernels. "
        f"With `block-fuse{{whole=L}}` there is {counted(len(whole.legs), 'snapshot')}, which moves "
        f"{in_units(end.bytes, 'B')} and recomputes {again}:"
    )
    yield fenced(whole.last.program)
