"""Generated code under AddressSanitizer and UndefinedBehaviorSanitizer finds nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from bb.runtime.compilation.host_compiler import find_compiler
from paths import HELPERS

pytestmark = pytest.mark.long

RUNS = [
    pytest.param("bf16", "ones", 0, "by-size", marks=pytest.mark.slow),
    ("f32", "primes", 4, "shared-out"),
]


@pytest.mark.parametrize(("dtype", "shape", "block_size", "loops"), RUNS)
def test_examples(dtype: str, shape: str, block_size: int, loops: str) -> None:
    runtimes = find_compiler().sanitizer_runtimes(("address", "undefined"))
    if len(runtimes) != 2:
        pytest.skip("the compiler has no sanitizers")
    environment = os.environ | {
        "LD_PRELOAD": ":".join(map(str, runtimes)),
        # Python itself keeps memory until it ends.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONPATH": str(HELPERS),
        "PYTHONMALLOC": "malloc",  # so that arrays, too, lie between guarded zones
    }
    command = [sys.executable, str(HELPERS / "cpu_sanitized.py"), dtype, shape, str(block_size), loops]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.endswith("programs are clean\n")
