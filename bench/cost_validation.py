"""Measure the cost model: its ranking, the loss of its choice, and the gain of a little tuning.

Every row of the table (`comparison/workloads.py`) is compiled in many ways: the model's best, the default
pipeline, without fusion, the model's best of other snapshots, and snapshots cut into blocks of random sizes.
All are measured in turns, and checked against float64.

    python bench/cost_validation.py compile --rows A,B
    python bench/cost_validation.py measure --rows A,B --json a.json
    python bench/cost_validation.py measure --rows C3 --tune 10 --json b.json
    python bench/cost_validation.py report a.json b.json --plot validation.png

Rows can be measured in pieces, which `report` puts together. `compile` fills the cache, so that `measure`
spends its time measuring. With `--tune` a row is also tuned for so many seconds, without an earlier choice,
and what that chooses is measured beside the others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bb
import numpy as np
from bb.lowering.pipelines.choices import DEFAULT, UNFUSED, Choice, choice_of
from bb.passes.block.select.candidates import as_numbers
from bb.runtime.calls.compile_options import CompileOptions
from bb.runtime.compilation.directory import DIRECTORY_VARIABLE, user_cache
from bb.runtime.executable.executable import Executable
from bb.runtime.machine.description import this_machine
from bb.runtime.program.constants import declare_constants
from bb.runtime.program.functions import select_function
from bb.runtime.tuning.candidates import CandidatePipelines, candidate_pipelines, modelled
from bb.runtime.tuning.choosing import choice_for
from bb.runtime.tuning.request import Request
from comparison.workloads import BOUNDS, ROWS, Workload
from validation_report import report

GRID = (16, 32, 64, 128, 256, 512, 1024, 4096)
"""Block sizes that are drawn, besides whole dims."""

SLOWEST = 4.0
"""Pipelines that take so many times as long as the best one by the model are not drawn."""

SNAPSHOTS = 4
"""Other snapshots of which the model's best is measured."""

TURN = 0.01
"""Seconds of a turn: one call that does not count, then calls for so long, at least two."""


@dataclass
class Point:
    """One way to compile a row, with its seconds by the model and as measured.

    `role` is `untuned` for the model's choice (where it is not the default), `tuned` for that of a measured
    search, `default`, `unfused`, or empty.
    """

    role: str
    choice: Choice
    modelled: float
    measured: float | None = None

    def record(self) -> dict[str, object]:
        """Return the point as JSON holds it."""
        return {**vars(self), "choice": self.choice.record()}

    @staticmethod
    def of(record: Mapping[str, Any]) -> Point:
        """Return the point of a record that JSON holds."""
        return Point(record["role"], choice_of(record["choice"]), record["modelled"], record["measured"])


def program_of(workload: Workload) -> Any:
    """The row's program, with its weights declared constant."""
    module = bb.parse(workload.program())
    declare_constants(select_function(module, None), workload.weights)
    return module


def points_of(workload: Workload, count: int) -> list[Point]:
    """The ways to compile a row that are measured, the same in every run on a machine."""
    candidates = candidate_pipelines(program_of(workload), this_machine())
    assert candidates is not None
    assert candidates.unfused is not None
    points: dict[tuple[object, ...], Point] = {}

    def add(role: str, choice: Choice, seconds: float) -> None:
        points.setdefault(choice.key(), Point(role, choice, seconds))

    add(DEFAULT, candidates.default.choice, candidates.default.seconds)
    best = candidates.best[0]
    add("" if candidates.choice is None else "untuned", best.choice, best.seconds)
    add(UNFUSED, candidates.unfused.choice, candidates.unfused.seconds)
    for each in candidates.leading[1:SNAPSHOTS]:
        add("", each.choice, each.seconds)
    rng = random.Random(workload.name)
    for _ in range(40 * count):
        if len(points) >= count:
            break
        choice, seconds = drawn(candidates, rng)
        if seconds <= SLOWEST * best.seconds:
            add("", choice, seconds)
    return list(points.values())


def drawn(candidates: CandidatePipelines, rng: random.Random) -> tuple[Choice, float]:
    """A snapshot with sizes of the grid, half of the dims on average as the model would have them."""
    candidate = rng.choice(candidates.candidates)
    costed, sizes = candidate.costed, dict(candidate.sizes)
    for name, size in sizes.items():
        length = costed.lengths[name]
        if name not in candidate.whole and not costed.dims[name].is_whole and rng.random() < 0.5:
            smaller: list[int | str] = [each for each in GRID if each < length]
            sizes[name] = rng.choice([*smaller, "whole" if size == "whole" else length])
    choice = Choice(candidate.snapshot, candidate.whole, sizes)
    return choice, costed.seconds(as_numbers(costed.lengths, sizes))


def compiled(workload: Workload, choice: Choice) -> Executable:
    """The row compiled in one of the ways."""
    return Executable(program_of(workload), CompileOptions(choice=choice))


def tuned(workload: Workload, seconds: float) -> Choice:
    """Return the choice of a search of so many seconds that knows of no earlier one.

    Of what was compiled before, the search has the objects of the runtime and nothing else.
    """
    known = user_cache().path
    before = os.environ.get(DIRECTORY_VARIABLE)

    def left_out(folder: str, names: list[str]) -> list[str]:
        other = Path(folder) != known and Path(folder).name not in ("objects", "compilers", "limits")
        return [name for name in names if other or name.startswith("program-")]

    with tempfile.TemporaryDirectory(dir=known.parent) as folder:
        shutil.copytree(known, folder, dirs_exist_ok=True, ignore=left_out, copy_function=os.link)
        os.environ[DIRECTORY_VARIABLE] = folder
        try:
            choice = choice_for(program_of(workload), Request(tune=seconds))
        finally:
            del os.environ[DIRECTORY_VARIABLE]
            if before is not None:
                os.environ[DIRECTORY_VARIABLE] = before
    return Choice() if choice is None else choice


def measure(workload: Workload, points: Sequence[Point], rounds: int, threads: int) -> None:
    """Measure the points in turns, those with the same kernels as one."""
    inputs = workload.inputs()
    reference = workload.reference(inputs)
    weights = {name: inputs[name] for name in workload.weights}
    shapes = workload.program_shapes
    arrays = [inputs[name].reshape(shapes[name]) for name in inputs if name not in weights]
    ready: dict[object, tuple[Any, Any, list[Point], list[float]]] = {}
    for point in points:
        executable = compiled(workload, point.choice)
        path = executable.library.path
        if path in ready:
            ready[path][2].append(point)
            continue
        run = executable.prepare(threads=threads, **weights) if weights else executable
        out = run(*arrays, threads=threads)
        error = np.abs(np.asarray(out, np.float64).reshape(reference.shape) - reference).max()
        if error > BOUNDS[workload.dtype] * np.abs(reference).max():
            raise SystemExit(f"{workload.name}: {point.choice} is off by {error:.1e}")
        ready[path] = run, out, [point], []
    each = list(ready.values())
    for number in range(rounds):
        shift = number * 5 % len(each)
        for run, out, _, seconds in (*each[shift:], *each[:shift]):
            run(*arrays, out=out, threads=threads)
            start, calls = time.perf_counter(), 0
            while calls < 2 or time.perf_counter() - start < TURN:
                before = time.perf_counter()
                run(*arrays, out=out, threads=threads)
                seconds.append(time.perf_counter() - before)
                calls += 1
    for _, _, same, seconds in each:
        for point in same:
            point.measured = statistics.median(seconds)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("compile", "measure", "report"))
    parser.add_argument("files", nargs="*", type=Path, help="for report: what measure wrote")
    parser.add_argument("--rows", default="f32", help="names, first letters, or types")
    parser.add_argument("--points", type=int, default=12, help="ways to compile a row (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tune", type=float, help="also tune each row, for so many seconds")
    parser.add_argument("--json", type=Path, help="where measure writes, after each row")
    parser.add_argument("--plot", type=Path, help="for report: a picture")
    parser.add_argument("--remodel", action="store_true", help="for report: ask the model again")
    options = parser.parse_args(argv)
    if options.what == "report":
        found: dict[str, list[Point]] = {}
        for file in options.files:
            for name, records in json.loads(file.read_text()).items():
                found[name] = [Point.of(record) for record in records]
        if options.remodel:
            for name, points in found.items():
                program = program_of(ROWS[name])
                for point in points:
                    point.modelled = modelled(program, point.choice, this_machine())
        print(report(found, options.plot))
        return 0
    measured: dict[str, list[dict[str, object]]] = {}
    for row in chosen_rows(options.rows):
        start = time.perf_counter()
        points = points_of(row, options.points)
        if options.what == "compile":
            for point in points:
                compiled(row, point.choice)
        else:
            if options.tune:
                choice = tuned(row, options.tune)
                points.append(Point("tuned", choice, modelled(program_of(row), choice, this_machine())))
            measure(row, points, options.rounds, options.threads)
            measured[row.name] = [point.record() for point in points]
            if options.json:
                options.json.write_text(json.dumps(measured, indent=1))
        print(f"{row.name}: {len(points)} ways in {time.perf_counter() - start:.1f} s", flush=True)
    return 0


def chosen_rows(text: str) -> list[Workload]:
    """The rows of names (`A1`), first letters (`A`) or types (`f32`)."""
    wanted = text.split(",")
    return [
        row
        for row in ROWS.values()
        if row.name in wanted or row.dtype in wanted or (row.dtype == "f32" and row.name[0] in wanted)
    ]


if __name__ == "__main__":
    sys.exit(main())
