"""Measure fusion in seconds of CPU time: one decoder layer, a decoder of 12, chains of feed-forward layers.

    python bench/fusion_speed.py [--quick] [--json FILE]

Prints a table, and fails if a target is missed by a factor of two or more (machines differ). Each time is the
smallest of a few runs; the chains say whether the cost is linear in the number of array operations.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.passes.block.fuse import BlockFusePass
from bb.passes.fusion.explore import Explorer, Snapshot, cost_of
from bb.passes.fusion.normalize import Normalizer
from layer_chains import decoder, feed_forward
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

SNAPSHOTS = 30
LAYERS = 12


@dataclass
class Row:
    """One measurement; `target` is what it should stay under, if anything."""

    what: str
    array_ops: int
    seconds: float
    target: float | None = None

    def per_op(self) -> float:
        """Milliseconds an array operation."""
        return 1e3 * self.seconds / self.array_ops


@dataclass
class Program:
    """A block program, and how many array operations it came from."""

    module: ModuleOp
    array_ops: int

    def function(self) -> FuncOp:
        """A fresh copy of the one function."""
        (function,) = self.module.ops
        assert isinstance(function, FuncOp)
        return function.clone()


def block_program(text: str) -> Program:
    arrays = PassPipeline("array-decompose").run(parse_module(text, "layers.mlir"))
    (function,) = arrays.ops
    assert isinstance(function, FuncOp)
    array_ops = sum(op.name.startswith("array.") for op in function.body.block.ops)
    return Program(PassPipeline("array-to-block").run(arrays), array_ops)


def cpu_seconds(run: Callable[[], object], repeat: int) -> float:
    """The smallest CPU time of some runs."""
    times: list[float] = []
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def fuse(program: Program, **options: object) -> Callable[[], object]:
    def run() -> None:
        BlockFusePass(**options).apply(Context(), program.module.clone())  # pyright: ignore[reportArgumentType]

    return run


def explore(program: Program) -> Callable[[], object]:
    def run() -> None:
        function, explorer = program.function(), Explorer()
        Normalizer(function).run()
        found = explorer.with_others(explorer.chain(Snapshot(function, cost_of(function))), SNAPSHOTS)
        assert len(found) == SNAPSHOTS

    return run


def measure(quick: bool) -> list[Row]:
    repeat = 1 if quick else 3
    layer = block_program(decoder(1))
    rows = [
        Row("decoder layer, to the last snapshot", layer.array_ops, cpu_seconds(fuse(layer), repeat), 1.0),
        Row(
            f"decoder layer, {SNAPSHOTS} snapshots", layer.array_ops, cpu_seconds(explore(layer), repeat), 6.0
        ),
    ]
    layers = block_program(decoder(2 if quick else LAYERS))
    seconds = cpu_seconds(fuse(layers, extend=False, snapshot=0), repeat)
    rows.append(
        Row(f"decoder of {2 if quick else LAYERS} layers, first snapshot", layers.array_ops, seconds, 10.0)
    )
    for count in (1, 2, 4) if quick else (1, 5, 11, 22, 45, 90, 182):
        chain = block_program(feed_forward(count))
        seconds = cpu_seconds(lambda chain=chain: Normalizer(chain.function()).run(), repeat)
        rows.append(Row(f"{count} feed-forward layers, first snapshot", chain.array_ops, seconds))
    return rows


def table(rows: Sequence[Row]) -> str:
    width = max(len(row.what) for row in rows)
    lines = [f"{'':{width}}  array ops   CPU s   ms an op   target"]
    for row in rows:
        line = f"{row.what:{width}}  {row.array_ops:9}  {row.seconds:6.2f}  {row.per_op():9.2f}"
        lines.append(line if row.target is None else f"{line}  {row.target:6.1f} s")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small programs, one run each, no target")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON too")
    options = parser.parse_args(arguments)
    rows = measure(options.quick)
    print(table(rows))
    if options.json is not None:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([asdict(row) for row in rows], file, indent=2)
            file.write("\n")
    late = [row.what for row in rows if row.target is not None and row.seconds > 2 * row.target]
    if options.quick:
        late = []
    for what in late:
        print(f"too slow: {what}", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
