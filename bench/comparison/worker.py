"""The process of a contender's module: `python -m comparison.worker MODULE`.

It answers lines of JSON on standard input with lines of JSON on standard output:

    {"do": "begin"}                    import the module, and load what its library loads late
    {"do": "open", "workload": {...}, "folder": ..., "threads": ...}    a row, and the folder of its arrays
    {"do": "ready", "name": ...}       build a contender, compare its result with the reference, warm it up
    {"do": "time", "name": ..., "seconds": ...}    one call that does not count, and calls for so long
    {"do": "close"}                    forget the row
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .contenders import Case, Ready, aligned
from .workloads import DTYPES, Array, Workload

WARM_UP = 0.2
"""Seconds of calls before a contender is timed for the first time."""

_CHUNK = 2**22


def error_of(result: Array, reference: Array) -> float:
    """The largest difference, relative to the largest element of the reference; infinite where a shape is
    wrong or an element is not finite."""
    if result.shape != reference.shape:
        return float("inf")
    worst = scale = 0.0
    found, wanted = result.reshape(-1), reference.reshape(-1)
    # In parts, for arrays in float64 would take as much memory as all contenders together.
    for start in range(0, wanted.size, _CHUNK):
        part = wanted[start : start + _CHUNK]
        own = found[start : start + _CHUNK].astype(np.float64)
        if not np.isfinite(own).all():
            return float("inf")
        worst = max(worst, float(np.abs(own - part).max()))
        scale = max(scale, float(np.abs(part).max()))
    return worst / (scale or 1.0)


def save_case(folder: Path, inputs: Mapping[str, Array], reference: Array) -> None:
    """Write what processes need to know of a row's arrays. Raises OSError."""
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array.view(np.uint16) if array.itemsize == 2 else array)
    np.save(folder / "reference.npy", reference)


class Worker:
    """State of a process: its module, the current row, and the contenders that are ready for it."""

    def __init__(self, module: str):
        self.module = import_module(f"comparison.{module}")
        self.case: Case | None = None
        self.folder = Path()
        self.ready: dict[str, Ready] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "begin":
                getattr(self.module, "begin", lambda: None)()
                return {}
            case "open":
                self.folder = Path(request["folder"])
                self.case = self.load(Workload(**request["workload"]), int(request["threads"]))
                return {}
            case "ready":
                return self.build(request["name"])
            case "time":
                return {"seconds": self.time(self.ready[request["name"]], float(request["seconds"]))}
            case _:
                self.close()
                return {}

    def load(self, workload: Workload, threads: int) -> Case:
        inputs: dict[str, Array] = {}
        for name, shape in workload.shapes.items():
            inputs[name] = aligned(shape, DTYPES[workload.dtype])
            stored = np.load(self.folder / f"{name}.npy", mmap_mode="r")
            inputs[name][...] = stored.view(DTYPES[workload.dtype])
        return Case(workload, inputs, threads)

    def build(self, name: str) -> dict[str, Any]:
        assert self.case is not None
        start = time.perf_counter()
        ready = self.module.ready(name, self.case)
        result = ready.run()
        seconds = time.perf_counter() - start
        error = error_of(ready.read(result), np.load(self.folder / "reference.npy", mmap_mode="r"))
        del result
        self.ready[name] = ready
        warm = time.perf_counter()
        while time.perf_counter() - warm < WARM_UP:
            ready.run()
        return {"error": error, "build_seconds": seconds, "variant": ready.variant}

    def time(self, ready: Ready, seconds: float) -> list[float]:
        clock, run = time.perf_counter, ready.run
        run()
        times: list[float] = []
        end = clock() + seconds
        while not times or clock() < end:
            start = clock()
            run()
            times.append(clock() - start)
        return times

    def close(self) -> None:
        self.case = None
        self.ready.clear()
        getattr(self.module, "forget", lambda: None)()
        gc.collect()
        # Rows take turns with all of the memory: what the allocator keeps would add up over processes.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def main() -> None:
    # Libraries may print: the channel is a descriptor of its own, and what they print goes to the log.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker: Worker | None = None
    for line in sys.stdin:
        try:
            worker = worker or Worker(sys.argv[1])
            reply = worker.answer(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            first = next(iter(str(error).strip().splitlines()), "")
            reply = {"failed": f"{type(error).__name__}: {first}"[:300]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
