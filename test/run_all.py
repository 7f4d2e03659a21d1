"""Runs every check of the project, also after one has failed, and ends with a summary: ``make test``."""

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

CHECKS: list[tuple[str, list[str]]] = [
    ("ruff check", [f"{BIN}/ruff", "check", "."]),
    ("ruff format", [f"{BIN}/ruff", "format", "--check", "."]),
    ("pyright", [f"{BIN}/pyright", "--pythonpath", sys.executable]),
    ("lit", [f"{BIN}/lit", "--order=smart", "-v", "--succinct", "test/filecheck"]),
    ("pytest", [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]),
]

_SUMMARY = re.compile(
    r"^\s*((?:Passed|Failed|Unsupported|Timed Out|Unresolved|Expectedly Failed)\s*:\s*\d+.*"  # lit
    r"|(?:\d+ (?:passed|failed|errors?|skipped|xfailed|warnings?),? ?)+ in .*"  # pytest
    r"|\d+ errors, .*)$"  # pyright
)


def run(name: str, command: list[str]) -> tuple[bool, str]:
    """Run one check, passing its output on; whether it succeeded, and its own summary in one line."""
    print(f"==== {name}", flush=True)
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    summary: list[str] = []
    for line in process.stdout:
        print(line, end="", flush=True)
        if found := _SUMMARY.match(line.rstrip()):
            summary.append(re.sub(r"\s+", " ", found[1].strip("= ")))
    succeeded = process.wait() == 0
    if name == "lit" and not any(line.startswith("Passed") for line in summary):
        return False, "no test ran"
    return succeeded, ", ".join(summary)


def main() -> int:
    results: list[tuple[str, bool, float, str]] = []
    for name, command in CHECKS:
        start = time.monotonic()
        succeeded, summary = run(name, command)
        results.append((name, succeeded, time.monotonic() - start, summary))
    print("\n==== summary")
    for name, succeeded, seconds, summary in results:
        print(f"{'ok' if succeeded else 'FAILED':<7} {name:<12} {seconds:6.1f} s  {summary}".rstrip())
    return 0 if all(succeeded for _, succeeded, _, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
