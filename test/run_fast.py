"""Run the checks that answer in under two minutes on two cores: ``make test-fast``.

Lint, types and the filecheck tests in full, and the Python tests of the modules that are not marked ``long``.
"""

import sys

from checks import Check, run_stages

CHECKS = [
    *Check.ruff(),
    Check.pyright(),
    Check.lit("-j1", "test/filecheck"),
    Check.pytest("-n", "2", "--dist", "worksteal", "-m", "not long and not slow and not emulator_full"),
]

if __name__ == "__main__":
    sys.exit(run_stages(CHECKS))
