"""``python -m bb.tools.gpu_check``: check every example on the current GPU, then time it against torch.

Without a GPU it says so, and does nothing. With one it takes less than four minutes: what does not fit is
left out, and told. Checks come first: results against float64 and against the emulator, and of two runs
against each other. Times are of bf16, of all rivals in turns, as events of the GPU count them. Kernels run in
a process of their own: one that hangs or crashes costs its own row of the table.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from ...runtime.cuda.device import DeviceError, cupy_module
from .cases import RIVALS, cases
from .expected import EXAMPLES, expect_all, processors
from .supervisor import supervise
from .times import OURS
from .worker import work

TYPES = ("f32", "f16", "bf16")
CHECKS = 0.45
"""Share of the time limit that checks may take."""
FURTHEST = 0.05
"""Largest allowed difference from torch, relative to the largest element: both round to bf16 in between."""
PEAKS = {"8.0": 312e12, "9.0": 989e12, "10.0": 2250e12}
"""Flops per second of dense bf16 by compute capability, from NVIDIA's data sheets (A100, H100, B200)."""


@dataclass
class Report:
    """Results so far; written to a file after each step if one is given."""

    file: Path | None
    device: dict[str, Any] = field(default_factory=dict[str, Any])
    checks: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])
    """Faults by example and type."""
    rows: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    """Rows of the table by the name of the case."""
    left_out: list[str] = field(default_factory=list[str])
    unseen: str = ""
    """Reason for not comparing results with the emulator; empty if they were compared."""

    @property
    def wrong(self) -> list[str]:
        found = [f"{name}: {text}" for name, texts in self.checks.items() for text in texts]
        for name, row in self.rows.items():
            if "failed" in row:
                found.append(f"{name}: {row['failed']}")
            elif OURS in row["refused"]:
                found.append(f"{name}: {row['refused'][OURS]}")
            elif (row["difference"] or 0.0) > FURTHEST:
                found.append(f"{name}: the result is off torch's by {row['difference']:.1e}")
        return found

    def take(self, answer: Mapping[str, Any]) -> None:
        """Record a worker's answer about a task, or about its device."""
        if "device" in answer:
            self.device = answer["device"]
        elif answer["done"].startswith("check"):
            _, name, type = answer["done"].split()
            self.checks[f"{name} in {type}"] = answer.get("wrong", [answer.get("failed")])
            self.unseen = answer.get("unseen") or self.unseen
        else:
            name = cases()[int(answer["done"].split()[1])].name
            self.rows[name] = _joined(self.rows.get(name), answer)
        self.write()

    def write(self) -> None:
        if self.file is None:
            return
        own = {
            "device": self.device,
            "checks": self.checks,
            "rows": [{"case": name, **row} for name, row in self.rows.items()],
            "left_out": self.left_out,
            "unseen": self.unseen,
            "wrong": self.wrong,
        }
        self.file.write_text(json.dumps(own, indent=1) + "\n")


def _joined(before: dict[str, Any] | None, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row, with the rivals' times from a second process if our own kernel ended the first."""
    row = {key: value for key, value in answer.items() if key not in ("done", "case")}
    if before is None:
        return row
    if "failed" in row:
        return before
    reason = before.get("failed") or before["refused"].get(OURS, "")
    return {**row, "refused": {**row["refused"], OURS: reason}}


def main(argv: Sequence[str] | None = None) -> int:
    """Check, then time; the exit status is 1 if a result is off."""
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__)
    parser.add_argument("--seconds", type=float, default=220, help="begin nothing after so long (220)")
    parser.add_argument("--check-only", action="store_true", help="time nothing")
    parser.add_argument("--time-only", action="store_true", help="check no examples")
    parser.add_argument("--only", metavar="REGEX", default="", help="the examples and programs to take")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures there, too")
    parser.add_argument("--one-process", action="store_true", help="start no other process, for a debugger")
    options = parser.parse_args(argv)
    console = Console()
    try:
        wanted = re.compile(options.only)
    except re.error as error:
        parser.error(f"--only: {error}")
    try:
        cupy_module()
    except DeviceError as error:
        console.print(f"nothing to check: {error}", markup=False)
        return 0
    report = Report(options.json)
    try:
        report.write()
    except OSError as error:
        parser.error(f"--json: {error}")
    begun = time.monotonic()
    deadline = begun + options.seconds
    try:
        with tempfile.TemporaryDirectory() as folder:
            _run(report, Path(folder), wanted, options, begun, deadline)
    except KeyboardInterrupt:
        report.left_out.append("what was to come when it was interrupted")
    _print(report, console, time.monotonic() - begun)
    report.write()
    return int(bool(report.wrong))


def _run(
    report: Report,
    folder: Path,
    wanted: re.Pattern[str],
    options: argparse.Namespace,
    begun: float,
    deadline: float,
) -> None:
    """Run the checks and times that fit before the deadline."""
    checked = begun + (1.0 if options.check_only else CHECKS) * (deadline - begun)
    names = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
    pairs = [(name, type) for type in reversed(TYPES) for name in names if wanted.search(name)]
    checks: list[str] = []
    if not options.time_only and pairs:
        count = 0 if options.one_process else processors()
        # Half of the time of checks: the kernels must be compiled for the GPU, and run.
        half = time.monotonic() + 0.5 * (checked - time.monotonic())
        checks, failed = expect_all(pairs, folder, half, count)
        for task, reason in failed.items():
            report.take({"done": task, "failed": f"without a GPU: {reason}"})
        for name, type in pairs:
            if f"check {name} {type}" not in (*checks, *failed):
                report.left_out.append(f"check of {name} in {type}")
    times = [f"time {number}" for number, case in enumerate(cases()) if wanted.search(case.name)]
    for tasks, until in ((checks, checked), ([] if options.check_only else times, deadline)):
        if not tasks:
            continue
        if options.one_process:
            left = list(tasks)

            def take(answer: Mapping[str, Any], left: list[str] = left) -> None:
                if answer.get("done") in left:
                    left.remove(answer["done"])
                if "begin" not in answer:
                    report.take(answer)

            work(tasks, folder, until, take)
        else:
            command = [sys.executable, "-m", f"{__package__}.worker"]
            left = supervise(command, tasks, folder, until, report.take)
        report.left_out += [_named(task) for task in left]


def _named(task: str) -> str:
    word, *operands = task.split()
    if word == "check":
        return f"check of {' in '.join(operands)}"
    return f"times of {cases()[int(operands[0])].name}"


def _print(report: Report, console: Console, seconds: float) -> None:
    device = report.device
    console.print(
        f"{device.get('name', 'a GPU')}, compute capability {device.get('capability', 'unknown')}, "
        f"{seconds:.0f} s",
        markup=False,
    )
    good = sum(not texts for texts in report.checks.values())
    judges = "float64" if report.unseen else "float64 and with the emulator"
    console.print(f"{good} of {len(report.checks)} examples agree with {judges}")
    if report.unseen:
        console.print(f"not compared with the emulator: {report.unseen}", markup=False)
    if report.rows:
        console.print(table(report))
    for text in report.wrong:
        console.print(f"wrong: {text}", markup=False)
    if device.get("without"):
        console.print(f"without rivals: {device['without']}", markup=False)
    reasons: dict[str, str] = {}
    for name, row in report.rows.items():
        for rival, reason in row.get("refused", {}).items():
            if rival != OURS:
                reasons.setdefault(f"{rival}: {reason}", name)
    for reason, name in reasons.items():
        console.print(f"- {reason} ({name})", markup=False)
    for name, row in report.rows.items():
        for rival in row.get("exposed", ()):
            console.print(f"{name}: the time of {rival} has Python's in it", markup=False)
    for text in report.left_out:
        console.print(f"left out: {text}", markup=False)


def table(report: Report) -> Table:
    """Medians in milliseconds. The share is of the peak that is nearer: of products in bf16, or of memory."""
    peak = PEAKS.get(str(report.device.get("capability")))
    bandwidth = float(report.device.get("bandwidth") or 0) or None
    found = Table(title="Times of bf16, in ms", title_justify="left")
    for column in ("program", OURS, "TFLOP/s", "GB/s", "of peak", *RIVALS, "best / ours", "launch, µs"):
        found.add_column(column, justify="left" if column == "program" else "right")
    for name, row in report.rows.items():
        if "failed" in row:
            found.add_row(name, "failed")
            continue
        times = cast("dict[str, float]", row["milliseconds"])
        own = times.get(OURS)
        cells = ["-"] * 4
        if own is not None:
            flops, bytes = row["flops"] / (1e-3 * own), row["bytes"] / (1e-3 * own)
            shares = [
                (rate / limit, word)
                for rate, limit, word in ((flops, peak, "flops"), (bytes, bandwidth, "memory"))
                if limit is not None
            ]
            share = f"{100 * max(shares)[0]:.0f}% {max(shares)[1]}" if shares else "-"
            cells = [f"{own:.4f}", f"{flops / 1e12:.1f}", f"{bytes / 1e9:.0f}", share]
        others = [times[rival] for rival in RIVALS if rival in times]
        ratio = f"{min(others) / own:.2f}" if others and own else "-"
        launch = row["launch_microseconds"].get(OURS)
        found.add_row(
            name,
            *cells,
            *(f"{times[rival]:.4f}" if rival in times else "-" for rival in RIVALS),
            ratio,
            "-" if launch is None else f"{launch:.0f}",
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
