"""Run every check of the project, also after one has failed, and end with a summary: ``make test``."""

import sys

from checks import Check, run_stages

STAGES = (
    Check.ruff(),
    # Each takes one core: pyright cannot use more.
    [Check.pyright(), Check.lit("-j1", "test/filecheck")],
    [Check.pytest("-n", "2", "--dist", "worksteal")],
)

if __name__ == "__main__":
    sys.exit(run_stages(*STAGES))
