"""Standard streams that are closed, or close while a command writes to them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "command", ["bb_opt --help", "bb_run --help", "bb_cuda_check --help", "bb_tune list", "bb_import --help"]
)
def test_every_command_is_silent_on_a_closed_pipe(command: str):
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", *f"bb.tools.{command}".split()]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full"])
def test_without_standard_error(closed: str):
    """Messages do not go to standard output, and files do not get the number of the closed stream."""
    command = f"{sys.executable} -m bb.tools.bb_opt nope.mlir {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
