"""Expected results of examples for `bb.tools.gpu_check`, without a GPU: in float64, and on the emulator."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ...dialects.diagnostics import one_sentence
from ...lowering.frontends.mlir_text import parse
from ...runtime.api import compile_all, random_inputs
from ...runtime.arrays.dtypes import Array
from ...runtime.compilation.host_compiler import HostCompilerError
from ...runtime.cuda.emulator import EmulatorBuildError
from ...runtime.executable.executable import Executable
from ...runtime.interpreter.functions import interpret

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def expected(name: str, type: str, folder: Path) -> str:
    """Leave arrays and results of an example, in an element type, in a folder; return the name of its task.

    The file has the program as kernels, and for each function `arrays`, `exact` and `emulated` results; for
    the latter a sentence where there is no emulator, which wants a C++ compiler.
    """
    module = parse((EXAMPLES / f"{name}.mlir").read_text().replace("f32", type))
    entries: dict[str, Any] = {}
    lowered = ""
    for entry, executable in compile_all(module, target="emulator").items():
        arrays = random_inputs(module, 0, entry=entry)
        entries[entry] = {
            "arrays": arrays,
            "exact": list(interpret(module, arrays, entry=entry, float64=True).results),
            "emulated": _emulated(executable, arrays),
        }
        lowered = str(executable.module)
    with (folder / f"{name}-{type}.pickle").open("wb") as file:
        pickle.dump({"kernels": lowered, "entries": entries}, file)
    return f"check {name} {type}"


def _emulated(executable: Executable, arrays: list[Array]) -> list[Array] | str:
    try:
        return executable.run_on_host_arrays(arrays)
    except (HostCompilerError, EmulatorBuildError) as error:
        return one_sentence(str(error))


def expect_all(
    pairs: Sequence[tuple[str, str]], folder: Path, deadline: float, processes: int
) -> tuple[list[str], dict[str, str]]:
    """The tasks that are ready before the time is over, in the order of `pairs`, names before types; and why
    others are not. With 0 processes all is done in this one.
    """
    ready: set[str] = set()
    failed: dict[str, str] = {}
    order = [f"check {name} {type}" for name, type in pairs]
    if processes == 0:
        for name, type in pairs:
            if time.monotonic() < deadline:
                _collect(f"check {name} {type}", lambda: expected(name, type, folder), ready, failed)  # noqa: B023
        return [task for task in order if task in ready], failed
    pool: Executor = ProcessPoolExecutor(min(processes, len(pairs)), mp_context=get_context("spawn"))
    waiting = {pool.submit(expected, name, type, folder): f"check {name} {type}" for name, type in pairs}
    try:
        for future in as_completed(waiting, timeout=max(0.0, deadline - time.monotonic())):
            _collect(waiting[future], future.result, ready, failed)
    except TimeoutError:
        pass  # the rest is left out
    pool.shutdown(wait=False, cancel_futures=True)
    return [task for task in order if task in ready], failed


def _collect(task: str, result: Any, ready: set[str], failed: dict[str, str]) -> None:
    try:
        ready.add(result())
    except Exception as error:  # of the compiler, the emulator, or a process that is gone
        failed[task] = one_sentence(f"{type(error).__name__}: {error}")


def processors() -> int:
    """Number of processes that may run at a time."""
    return len(os.sched_getaffinity(0))
