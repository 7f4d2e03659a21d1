"""Run every check of the project, also after one has failed, and end with a summary: ``make test``."""

import sys

from checks import Check, run_in_turn

CHECKS = [
    *Check.ruff(),
    Check.pyright(),
    Check.lit("test/filecheck"),
    Check.pytest("-n", "2", "--dist", "worksteal"),
]

if __name__ == "__main__":
    sys.exit(run_in_turn(CHECKS))
