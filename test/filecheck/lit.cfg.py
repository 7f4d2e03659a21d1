"""lit's configuration for the filecheck tests: run ``lit test/filecheck``.

``--param processes=1`` runs every command as a process of its own instead of inside forked workers.
"""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)

from forking_format import ForkingShTest  # noqa: E402

config.name = "bb"
config.test_format = ForkingShTest(own_processes=bool(int(lit_config.params.get("processes", 0))))
config.suffixes = [".mlir"]
config.excludes = ["lit-out"]
config.test_source_root = here
config.test_exec_root = os.path.join(here, "lit-out")
config.maxIndividualTestTime = 60
# The tools of the interpreter that runs lit, whatever PATH says.
config.environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
# Compiled code is shared by the tests, and apart from the user's.
config.environment["BB_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
# A program must survive printing and parsing in both forms.
config.substitutions += [
    (
        "BB_ROUNDTRIP",
        "bb-opt %s --split-input-file --print-op-generic | bb-opt --split-input-file"
        " | bb-opt --split-input-file | filecheck %s",
    )
]
