"""Checks of the project as commands, run in stages, with a summary at the end."""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

_SUMMARY = re.compile(
    r"^\s*((?:Passed|Failed|Unsupported|Timed Out|Unresolved|Expectedly Failed)\s*:\s*\d+.*"  # lit
    r"|(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|warnings?),? ?)+ in .*"  # pytest
    r"|\d+ errors, .*)$"  # pyright
)


@dataclass(frozen=True)
class Check:
    """A command that fails with an exit status other than 0."""

    name: str
    command: tuple[str, ...]

    @classmethod
    def ruff(cls) -> list["Check"]:
        return [
            cls("ruff check", (f"{BIN}/ruff", "check", ".")),
            cls("ruff format", (f"{BIN}/ruff", "format", "--check", ".")),
        ]

    @classmethod
    def pyright(cls) -> "Check":
        return cls("pyright", (f"{BIN}/pyright", "--pythonpath", sys.executable))

    @classmethod
    def lit(cls, *arguments: str) -> "Check":
        return cls("lit", (f"{BIN}/lit", "--order=smart", "-v", "--succinct", *arguments))

    @classmethod
    def pytest(cls, *arguments: str) -> "Check":
        return cls("pytest", (sys.executable, "-m", "pytest", "-q", *arguments))


@dataclass(frozen=True)
class Result:
    """The outcome of a check: its duration in seconds, and its own summary in one line."""

    name: str
    succeeded: bool
    seconds: float
    summary: str


def run_stages(*stages: Sequence[Check]) -> int:
    """Run stages one after the other, also after a check has failed; returns an exit status.

    The checks of a stage run at the same time. A check that is alone in its stage prints as it goes, others
    when they have ended.
    """
    results: list[Result] = []
    for checks in stages:
        if len(checks) == 1:
            print(f"==== {checks[0].name}", flush=True)
            results.append(_run(checks[0], show=True)[0])
            continue
        with ThreadPoolExecutor(len(checks)) as pool:
            for result, output in pool.map(lambda check: _run(check, show=False), checks):
                print(f"==== {result.name}\n{output}", end="", flush=True)
                results.append(result)
    return _report(results)


def _run(check: Check, *, show: bool) -> tuple[Result, str]:
    """Run one check; `show` passes its output on as it comes. Returns the output, too."""
    start = time.monotonic()
    summary: list[str] = []
    output: list[str] = []
    with subprocess.Popen(
        check.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            if show:
                print(line, end="", flush=True)
            if found := _SUMMARY.match(line.rstrip()):
                summary.append(re.sub(r"\s+", " ", found[1].strip("= ")))
    succeeded = process.returncode == 0
    if check.name == "lit" and not any(line.startswith("Passed") for line in summary):
        succeeded, summary = False, ["no test ran"]
    seconds = time.monotonic() - start
    return Result(check.name, succeeded, seconds, ", ".join(summary)), "".join(output)


def _report(results: Sequence[Result]) -> int:
    print("\n==== summary")
    for result in results:
        outcome = "ok" if result.succeeded else "FAILED"
        print(f"{outcome:<7} {result.name:<12} {result.seconds:6.1f} s  {result.summary}".rstrip())
    return 0 if all(result.succeeded for result in results) else 1
