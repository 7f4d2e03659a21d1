"""``python -m bb.tools.demo``: attention as array program, as block program, fused step by step, checked; and
the paper's three examples compiled for this machine.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...lowering.frontends.mlir_text import parse
from ...lowering.pipelines import PassPipeline
from ...passes.analysis.traffic.block import ASSUMED_BLOCK_SIZE
from ...passes.analysis.traffic.report import table_text, traffic_of_module
from ...passes.fusion.trace.explain import step_line, summary
from ...passes.fusion.trace.story import Leg, Story, chapters_of, stories_of
from ...passes.text.output import ClosedPipe, detach
from .. import bb_run
from ..opt.explanation import Explanation
from ..shared.common import print_error
from . import cpu as demo_cpu

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "attention.mlir"
PASSES = "array-decompose,array-to-block"
FUSED = f"{PASSES},block-fuse"

COLOURS = {
    r"\b(array|block|func|arith|math|builtin)\.\w+": "bold blue",
    r"%\w+": "cyan",
    r"@\w+": "magenta",
    r"[!#](array|block)[.<]\w*|\b(tensor|vector|list|scalar)(?=<)": "green",
    r"//.*": "dim",
}
"""Styles of the parts of a program; Pygments knows no MLIR."""

PSEUDO_COLOURS = {
    r"\b(forall|for|in|where|view)\b": "bold blue",
    r"\b(load|store)\b": "bold magenta",
    r"\b(dot|row_sum|row_max|row_scale|row_shift|exp)(?=\()": "cyan",
}
"""Styles of the parts of pseudo-code."""


def main() -> int:
    """Show every stage on standard output; returns the exit status, 1 if the result is off."""
    if not EXAMPLE.exists():
        print_error(
            "demo: error: there is no examples/attention.mlir beside the installed package: "
            "the examples come with the repository, where 'make demo' shows this"
        )
        return 1
    # As UTF-8 whatever the locale says, like bb-opt; a stream in memory has no encoding to set.
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        reconfigure(encoding="utf-8")
    console = Console(highlight=False)
    try:
        _heading(console, "The array program", "examples/attention.mlir")
        _program(console, EXAMPLE.read_text())

        module = PassPipeline(PASSES).run(parse(EXAMPLE))
        _heading(console, "The block program", f"bb-opt examples/attention.mlir -p {PASSES}")
        console.print(
            "One nest of maps an operation; each load and store is a move between global and local memory.\n",
            soft_wrap=True,
        )
        _program(console, str(module))

        _heading(
            console, "What it moves and computes", f"bb-opt examples/attention.mlir -p {PASSES},block-traffic"
        )
        console.print(table_text(traffic_of_module(module)), markup=False, soft_wrap=True)

        fused = Explanation(PassPipeline(FUSED), programs=True)
        program = fused.run(parse(EXAMPLE))
        (story,) = stories_of(fused.records)
        _heading(
            console,
            "Fused, step by step",
            f"bb-opt examples/attention.mlir -p {FUSED} --explain --pseudo-code",
        )
        _fusion(console, story)

        _heading(console, "The fused program", f"bb-opt examples/attention.mlir -p {FUSED} --pseudo-code")
        _program(console, story.last.program, PSEUDO_COLOURS)

        _heading(console, "What is left to move", f"bb-opt examples/attention.mlir -p {FUSED},block-traffic")
        console.print(table_text(traffic_of_module(program)), markup=False, soft_wrap=True)
        _before_and_after(console, story)

        _heading(console, "A checked run", f"bb-run examples/attention.mlir -p {FUSED} --random 0 --check")
        status = bb_run.main([str(EXAMPLE), "-p", FUSED, "--random", "0", "--check"])
        console.print()
        _heading(
            console,
            "Compiled for this machine",
            "bb-run examples/attention.mlir --target cpu --random 0 --check --bench",
        )
        return demo_cpu.show(console) or status
    except BrokenPipeError:
        detach(sys.stdout)
        return ClosedPipe.STATUS


def _fusion(console: Console, story: Story) -> None:
    """The laws that fired, chapter by chapter, each with the program that it left."""
    _program(console, story.program, PSEUDO_COLOURS)
    shown = story.program
    for leg in story.legs:
        console.print(_way(leg), markup=False, soft_wrap=True)
        for chapter in chapters_of(leg.steps):
            console.print("\n".join(map(step_line, chapter)) + "\n", markup=False, soft_wrap=True)
            if chapter[-1].program != shown:
                shown = chapter[-1].program
                _program(console, shown, PSEUDO_COLOURS)
        shown = leg.program


def _way(leg: Leg) -> str:
    kept = [attempt.description for attempt in leg.attempts if attempt.kept]
    return f"To snapshot {leg.number}, " + (f"the extension: {kept[0]}\n" if kept else "by the laws alone:\n")


def _before_and_after(console: Console, story: Story) -> None:
    """Print the traffic and work of the program before and after fusion, in blocks of one size."""
    last = story.last.numbers
    assert last is not None
    lines = (
        f"with blocks of {ASSUMED_BLOCK_SIZE} elements along every dim:",
        f"  unfused  {summary(story.numbers)}",
        f"  fused    {summary(last)}\n",
    )
    console.print("\n".join(lines), markup=False, soft_wrap=True)


def _heading(console: Console, title: str, command: str) -> None:
    console.rule(f"[bold]{title}", align="left")
    console.print(f"[dim]{command}[/dim]\n", soft_wrap=True)


def _program(console: Console, text: str, colours: Mapping[str, str] = COLOURS) -> None:
    """A program, in colour on a terminal and character by character as it is anywhere else."""
    if console.is_terminal:
        coloured = Text(text.rstrip() + "\n")
        for pattern, style in colours.items():
            coloured.highlight_regex(pattern, style)
        console.print(coloured, soft_wrap=True)
    else:
        console.print(text.rstrip() + "\n", markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
