"""The process that has the GPU, for `bb.tools.gpu_check`: a kernel that hangs or destroys the context takes
this process with it, and not the table.

One JSON object on standard input says what to do, one a line on standard output what came of it.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...dialects.diagnostics import one_sentence
from ...runtime.api import compile_all
from ...runtime.checking.tolerances import BOUNDS, compare
from ...runtime.cuda.device import DeviceLibrary, cupy_module
from ...runtime.executable.executable import Executable
from .cases import cases
from .times import time_case

BROKEN = 3
"""The exit status after an error that no later launch survives."""

Emit = Callable[[Mapping[str, object]], None]


def main() -> int:
    """Do the tasks that standard input lists; return the exit status."""
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def emit(answer: Mapping[str, object]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    request = cast("dict[str, Any]", json.load(sys.stdin))
    deadline = time.monotonic() + float(request["seconds"])
    return work(request["tasks"], Path(request["folder"]), deadline, emit)


def work(tasks: Sequence[str], folder: Path, deadline: float, emit: Emit) -> int:
    """Do tasks in order until the time is over: `check NAME TYPE`, `time NUMBER`, or `time NUMBER rivals`.

    Before each `{"begin": task}` is emitted, after it `{"done": task, ...}`: with `wrong`, sentences about a
    check, and `unseen`, why it was not compared with the emulator; or with what `time_case` gives; or with
    `failed`, a sentence. Returns an exit status.
    """
    cupy = cupy_module()
    torch, without = _torch()
    emit({"device": _describe(cupy, torch, without)})
    known = cases()
    checks = _Checks([task for task in tasks if task.startswith("check")], folder)
    for task in tasks:
        if time.monotonic() > deadline:
            break
        emit({"begin": task})
        word, *operands = task.split()
        try:
            if word == "check":
                answer: Mapping[str, object] = checks.check(task)
            else:
                answer = time_case(known[int(operands[0])], cupy, torch, own="rivals" not in operands)
        except Exception as error:  # of the runtime, CuPy's, torch's: the next task may fare better
            answer = {"failed": one_sentence(f"{type(error).__name__}: {error}")}
        emit({"done": task, **answer})
        try:
            cupy.cuda.Device().synchronize()
        except Exception:  # it is the context that is broken: another process gets a new one
            return BROKEN
    return 0


class _Checks:
    """Checks examples on the GPU against the results that `gpu_expected` stored in a folder."""

    def __init__(self, tasks: Sequence[str], folder: Path):
        self._folder = folder
        self._compiled: dict[str, Any] = {}
        # NVRTC gives up Python's lock: one compilation for each processor.
        pool = ThreadPoolExecutor(os.cpu_count())
        for task in tasks:
            self._compiled[task] = pool.submit(self._executables, task)
        pool.shutdown(wait=False)

    def _read(self, task: str) -> dict[str, Any]:
        _, name, type = task.split()
        # Written by this tool, into a folder of its own, minutes ago.
        return cast("dict[str, Any]", pickle.loads((self._folder / f"{name}-{type}.pickle").read_bytes()))

    def _executables(self, task: str) -> dict[str, Executable]:
        executables = compile_all(self._read(task)["kernels"], target="cuda")
        for executable in executables.values():
            if isinstance(executable.library, DeviceLibrary):
                executable.library.load()
        return executables

    def check(self, task: str) -> dict[str, object]:
        """Return the faults of the results as sentences, and the reason if the emulator was not compared."""
        expected = self._read(task)
        type = task.split()[2]
        found: list[str] = []
        unseen = ""
        for entry, executable in cast("dict[str, Executable]", self._compiled[task].result()).items():
            wanted = expected["entries"][entry]
            results = executable.run_on_host_arrays(wanted["arrays"])
            again = executable.run_on_host_arrays(wanted["arrays"])
            for number, (one, other, exact) in enumerate(zip(results, again, wanted["exact"], strict=True)):
                error = compare(one, exact, BOUNDS[type])
                if not error.within:
                    found.append(f"@{entry} is off by {error.relative:.1e}, bound {error.bound:.1e}")
                if one.tobytes() != other.tobytes():
                    found.append(f"@{entry} differs between two runs: a race")
                if isinstance(wanted["emulated"], str):
                    unseen = wanted["emulated"]
                elif not compare(one, wanted["emulated"][number].astype(np.float64), BOUNDS[type]).within:
                    found.append(f"@{entry} is not what the emulator gives")
        return {"wrong": found, "unseen": unseen}


def _torch() -> tuple[Any, str]:
    """Return torch, or None and the reason why it cannot be used."""
    try:
        torch = importlib.import_module("torch")
        if not torch.cuda.is_available():
            return None, "torch sees no GPU"
    except Exception as error:  # whatever its libraries raise
        return None, one_sentence(f"torch cannot be imported: {error}")
    return torch, ""


def _describe(cupy: Any, torch: Any, without: str) -> dict[str, object]:
    """Return the properties of the device and the versions of libraries, as far as they report them."""
    device = cupy.cuda.Device()
    capability = str(device.compute_capability)
    attributes = device.attributes
    found: dict[str, object] = {
        "capability": f"{capability[:-1]}.{capability[-1]}",
        "multiprocessors": int(attributes["MultiProcessorCount"]),
        "bandwidth": 250.0 * attributes.get("MemoryClockRate", 0) * attributes.get("GlobalMemoryBusWidth", 0),
        "without": without,
    }
    with suppress(Exception):
        runtime = cupy.cuda.runtime
        found["name"] = runtime.getDeviceProperties(int(device.id))["name"].decode()
        found["driver"], found["runtime"] = runtime.driverGetVersion(), runtime.runtimeGetVersion()
        found["cupy"] = str(cupy.__version__)
    if torch is not None:
        with suppress(Exception):
            found["torch"] = str(torch.__version__)
            found["cudnn"] = torch.backends.cudnn.version()
    return found


if __name__ == "__main__":
    sys.exit(main())
