"""How good the cost model is: its ranking, what its choice loses, and what a little tuning gains.

Every row of the table (`comparison/workloads.py`) is compiled in many ways: the default pipeline, without
fusion, the model's best of every snapshot, and snapshots cut into blocks of random sizes. All are measured in
turns.

    python bench/cost_validation.py compile --rows A,B
    python bench/cost_validation.py measure --rows A,B --json a.json
    python bench/cost_validation.py report a.json b.json --plot validation.png

Pieces of rows can be measured one after the other, and put together by `report`. `compile` fills the cache,
so that `measure` spends its time measuring.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bb
import numpy as np
from bb.dialects import block
from bb.dialects.context import make_context
from bb.lowering.choices import DEFAULT, UNFUSED, Choice, choice_of
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.passes.programs import block_programs
from bb.passes.selection import Candidate, all_candidates
from bb.runtime.constants import declare_constants
from bb.runtime.executable import Executable
from bb.runtime.interpreter import select_function
from bb.runtime.kernel_library import CompileOptions
from bb.runtime.machine_description import this_machine
from comparison.workloads import BOUNDS, ROWS, Workload

GRID = (16, 32, 64, 128, 256, 512, 1024, 4096)
"""Block sizes that are drawn, besides whole dims."""

SLOWEST = 4.0
"""Ways that take so many times as long as the best one by the model are not drawn: nobody would take them."""


@dataclass
class Point:
    """One way to compile a row, with its seconds by the model and as measured."""

    choice: Choice
    modelled: float
    measured: float | None = None

    def record(self) -> dict[str, object]:
        return {"choice": self.choice.record(), "modelled": self.modelled, "measured": self.measured}

    @staticmethod
    def of(record: Mapping[str, Any]) -> Point:
        return Point(choice_of(record["choice"]), record["modelled"], record["measured"])


def program_of(workload: Workload) -> Any:
    """The row's program, with its weights declared constant."""
    module = bb.parse(workload.program())
    declare_constants(select_function(module, None), workload.weights)
    return module


def points_of(workload: Workload, count: int, seed: int = 0) -> list[Point]:
    """The ways to compile a row that are measured: the model's best first, then default and unfused."""
    machine, ctx = this_machine(), make_context()
    module = program_of(workload)
    PassPipeline(PIPELINES["cpu"].partition(",block-shapes")[0]).run(module)
    (function,) = block_programs(module)
    found, _ = all_candidates(ctx, function, machine, 8)
    points: dict[tuple[object, ...], Point] = {}

    def add(choice: Choice, seconds: float) -> None:
        points.setdefault(choice.key(), Point(choice, seconds))

    add(chosen(found[0]), found[0].seconds)
    for name in (DEFAULT, UNFUSED):
        add(Choice(name), modelled(workload, PIPELINES["cpu" if name == DEFAULT else "cpu-unfused"]))
    snapshots = list({(each.snapshot, each.nests): each for each in found}.values())
    for each in sorted(snapshots)[:3]:
        add(chosen(each), each.seconds)
    rng = random.Random(f"{workload.name} {seed}")
    for _ in range(40 * count):
        if len(points) >= count:
            break
        each = rng.choice(found)
        sizes = drawn(each, rng)
        seconds = each.costed.seconds(as_numbers(each, sizes))
        if seconds <= SLOWEST * found[0].seconds:
            add(Choice(each.snapshot, each.whole, sizes), seconds)
    return list(points.values())


def chosen(candidate: Candidate) -> Choice:
    """A candidate as a choice."""
    return Choice(candidate.snapshot, candidate.whole, candidate.sizes)


def drawn(candidate: Candidate, rng: random.Random) -> dict[str, int | str]:
    """Block sizes of the grid for a candidate, half of the dims on average as the model would have them."""
    sizes = dict(candidate.sizes)
    for name in sizes:
        dim = candidate.costed.dims[name]
        length = candidate.costed.lengths[name]
        if name not in candidate.whole and not dim.is_whole and rng.random() < 0.5:
            smaller: list[int | str] = [size for size in GRID if size < length]
            sizes[name] = rng.choice([*smaller, length if sizes[name] != "whole" else "whole"])
    return sizes


def as_numbers(candidate: Candidate, sizes: Mapping[str, int | str]) -> dict[str, float]:
    """Block sizes for the model."""
    lengths = candidate.costed.lengths
    return {name: float(lengths[name] if isinstance(size, str) else size) for name, size in sizes.items()}


def modelled(workload: Workload, pipeline: str) -> float:
    """Seconds by the model of what a pipeline makes of a row."""
    from bb.passes.cost.program import CostedProgram

    module = program_of(workload)
    PassPipeline(pipeline.partition(",block-to-kernel")[0].removesuffix(",block-distribute")).run(module)
    (function,) = block_programs(module)
    dims = block.parse_dims(function.attributes[block.DIMS])
    assert all(dim.block_size or dim.is_whole or dim.is_batch for dim in dims.values())
    return CostedProgram.of(function, this_machine()).seconds()


def compiled(workload: Workload, point: Point) -> Executable:
    """The row compiled in one of the ways."""
    return Executable(program_of(workload), CompileOptions(choice=point.choice))


def measure(workload: Workload, points: Sequence[Point], rounds: int, threads: int) -> None:
    """Measure the points in turns, and check each against float64."""
    inputs = workload.inputs()
    reference = workload.reference(inputs)
    weights = {name: inputs[name] for name in workload.weights}
    shapes = workload.program_shapes
    arrays = [inputs[name].reshape(shapes[name]) for name in inputs if name not in weights]
    ready: list[Any] = []
    for point in points:
        executable = compiled(workload, point)
        run = executable.prepare(threads=threads, **weights) if weights else executable
        out = run(*arrays, threads=threads)
        error = np.abs(np.asarray(out, np.float64).reshape(reference.shape) - reference).max()
        if error > BOUNDS[workload.dtype] * np.abs(reference).max():
            print(f"{workload.name}: {point.choice} is off by {error:.1e}", file=sys.stderr)
        ready.append((run, out))
    seconds: list[list[float]] = [[] for _ in points]
    for number in range(rounds):
        order = [(index + number * 5) % len(points) for index in range(len(points))]
        for index in order:
            run, out = ready[index]
            run(*arrays, out=out, threads=threads)
            spent, calls = 0.0, 0
            while calls < 2 or (spent < 0.01 and calls < 50):
                start = time.perf_counter()
                run(*arrays, out=out, threads=threads)
                seconds[index].append(time.perf_counter() - start)
                spent += seconds[index][-1]
                calls += 1
    for point, own in zip(points, seconds, strict=True):
        point.measured = statistics.median(own)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's correlation of ranks; ties share their mean rank."""

    def ranks(values: Sequence[float]) -> Any:
        array = np.asarray(values)
        return np.asarray([(array < value).sum() + (array == value).sum() / 2 for value in array])

    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("compile", "measure", "report"))
    parser.add_argument("files", nargs="*", type=Path, help="for report: what measure wrote")
    parser.add_argument("--rows", default="f32")
    parser.add_argument("--points", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(argv)
    wanted = options.rows.split(",")
    rows = [row for row in ROWS.values() if any(_matches(row, name) for name in wanted)]
    if options.what == "report":
        raise NotImplementedError
    found: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        start = time.perf_counter()
        points = points_of(row, options.points)
        if options.what == "compile":
            for point in points:
                compiled(row, point)
        else:
            measure(row, points, options.rounds, options.threads or 2)
            found[row.name] = [point.record() for point in points]
            best = min(point.measured or 0 for point in points)
            rank = spearman([p.modelled for p in points], [p.measured or 0 for p in points])
            print(f"  spearman {rank:.2f} untuned +{(points[0].measured or 0) / best - 1:.1%}", flush=True)
        print(f"{row.name}: {len(points)} ways in {time.perf_counter() - start:.1f} s", flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))
    return 0


def _matches(row: Workload, name: str) -> bool:
    return (
        row.name == name
        or row.dtype == name
        or (row.dtype == "f32" and row.name.startswith(name) and len(name) == 1)
    )


if __name__ == "__main__":
    sys.exit(main())
