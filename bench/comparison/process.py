"""The other side of `worker`: a process that is stopped whenever it is not asked for anything."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parents[1]


class ContenderDied(Exception):
    """A process that ended, or gave no answer in time; a sentence."""


def environment(threads: int, caches: Path) -> dict[str, str]:
    """Environment of a contender's process: the number of threads, an allocator that keeps large blocks.

    With glibc's defaults a fresh result is mapped and unmapped page by page in every call, which takes longer
    than many rows and would count against libraries that allocate results.
    """
    found = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BB_NUM_THREADS"):
        found[name] = str(threads)
    found |= {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "MALLOC_TRIM_THRESHOLD_": str(2**36),
        "MALLOC_MMAP_THRESHOLD_": str(2**34),
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "OPENVINO_TELEMETRY_DISABLE": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(BENCH), os.environ.get("PYTHONPATH", "")])),
    }
    return found


class Process:
    """A process for the contenders of one module."""

    def __init__(self, module: str, threads: int, caches: Path, log: Path):
        self.module, self.log = module, log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "comparison.worker", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                env=environment(threads, caches),
                start_new_session=True,
            )
        atexit.register(self.end)  # a stopped process would outlive an interrupted run
        self.alive = True

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Let the process run until it has answered. Raises ContenderDied."""
        self.start(request)
        return self.finish(timeout)

    def start(self, request: dict[str, Any]) -> None:
        """Let the process run on a request; `finish` takes the answer."""
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        with suppress(BrokenPipeError, ValueError):  # it has ended, which `finish` finds
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def finish(self, timeout: float) -> dict[str, Any]:
        """Wait for the answer, and stop the process. Raises ContenderDied."""
        assert self._process.stdout is not None
        try:
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                self.end()
                raise ContenderDied(f"no answer within {timeout:g} s")
            line = self._process.stdout.readline()
        except ValueError:  # it has been ended before
            line = ""
        if not line:
            self.end()
            raise ContenderDied(f"its process ended with status {self._process.returncode}")
        self._signal(signal.SIGSTOP)
        return json.loads(line)

    def end(self) -> None:
        """End the process and whatever it started."""
        self.alive = False
        self._signal(signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        atexit.unregister(self.end)

    def cpu_seconds(self) -> float:
        """The processor time that the process has used, where the system tells."""
        return _cpu_seconds(f"/proc/{self._process.pid}/stat")

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def busy_seconds() -> float:
    """The processor time that all processes of the machine have used, or that its host took away, where the
    system tells; else 0."""
    try:
        fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()
        # user, nice, system; then idle and iowait, which are none; then interrupts and what was stolen.
        return (sum(map(int, fields[1:4])) + sum(map(int, fields[6:9]))) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def _cpu_seconds(path: str) -> float:
    try:
        text = Path(path).read_text(encoding="utf-8")
        fields = text.rpartition(")")[2].split()  # the name before may hold anything
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
