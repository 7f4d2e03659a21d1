"""The operator tests of the onnx package (`make onnx-suite`): a table, and exit status 1 if one fails.

Programs run in the interpreter. `--target cpu` compiles them, which takes long: `--every N` takes every N-th.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "python" / "support"))

from onnx_suite import Outcome, cases, check, foldable, table


def main() -> int:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="interpreter", help="interpreter (default), cpu or emulator")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run every N-th test")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="run the tests with this text in their names"
    )
    parser.add_argument("--reasons", action="store_true", help="list why tests are not supported")
    options = parser.parse_args()
    chosen = [case for case in cases() if options.only in case.name][:: options.every]
    outcomes = [(case, check(case, target=options.target)) for case in chosen]
    folded = [(case, check(case, fold=True)) for case in chosen if foldable(case)]
    print(f"{'operator':40} passed  unsupported  failed")
    for name, passed, unsupported, failed in table(outcomes):
        print(f"{name:40} {passed:6}  {unsupported:11}  {failed:6}")
    print(_row("all", Counter(outcome.kind for _, outcome in outcomes)))
    print(_row("with known inputs, when imported", Counter(outcome.kind for _, outcome in folded)))
    failures = [
        (case.name, outcome.detail) for case, outcome in [*outcomes, *folded] if outcome.kind == "failed"
    ]
    for name, detail in failures:
        print(f"failed: {name}: {detail}")
    if options.reasons:
        print(*_reasons(outcome for _, outcome in outcomes), sep="\n")
    return 1 if failures else 0


def _row(name: str, counts: Counter[str]) -> str:
    return f"{name:40} {counts['passed']:6}  {counts['unsupported']:11}  {counts['failed']:6}"


def _reasons(outcomes: object) -> list[str]:
    found: Counter[str] = Counter()
    assert hasattr(outcomes, "__iter__")
    for outcome in outcomes:
        assert isinstance(outcome, Outcome)
        if outcome.kind == "unsupported":
            found.update({line.partition(": ")[2] or line for line in outcome.detail.splitlines()})
    return [f"{count:5} {reason}" for reason, count in found.most_common()]


if __name__ == "__main__":
    sys.exit(main())
