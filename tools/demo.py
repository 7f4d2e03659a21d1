"""``python -m bb.tools.demo``: attention as array program, as block program, its traffic, a checked run."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..lowering.pipelines import PassPipeline
from ..lowering.programs import parse
from ..passes.block_traffic import table_text
from ..passes.traffic_report import traffic_of_module
from . import bb_run
from .common import print_error

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "attention.mlir"
PASSES = "array-decompose,array-to-block"

COLOURS = {
    r"\b(array|block|func|arith|math|builtin)\.\w+": "bold blue",
    r"%\w+": "cyan",
    r"@\w+": "magenta",
    r"[!#](array|block)[.<]\w*|\b(tensor|vector|list|scalar)(?=<)": "green",
    r"//.*": "dim",
}
"""Styles of the parts of a program; Pygments knows no MLIR."""


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

        _heading(console, "A checked run", f"bb-run examples/attention.mlir -p {PASSES} --random 0 --check")
    except BrokenPipeError:
        sys.stdout = None  # nobody reads on; Python would complain once more at exit
        return 1
    return bb_run.main([str(EXAMPLE), "-p", PASSES, "--random", "0", "--check"])


def _heading(console: Console, title: str, command: str) -> None:
    console.rule(f"[bold]{title}", align="left")
    console.print(f"[dim]{command}[/dim]\n", soft_wrap=True)


def _program(console: Console, text: str) -> None:
    """A program, in colour on a terminal and character by character as it is anywhere else."""
    if console.is_terminal:
        coloured = Text(text.rstrip() + "\n")
        for pattern, style in COLOURS.items():
            coloured.highlight_regex(pattern, style)
        console.print(coloured, soft_wrap=True)
    else:
        console.print(text.rstrip() + "\n", markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
