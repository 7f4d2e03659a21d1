"""Tasks in another process, which is started again without the task that ended it or took too long."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from .times import OURS

LONGEST = 75.0
"""Seconds after which a task counts as hanging; long, because a task may compile."""
GRACE = 10.0
"""Seconds that the last task may run on after the deadline."""
STARTS = 8
"""Largest number of starts of a process."""


def supervise(
    command: Sequence[str],
    tasks: Sequence[str],
    folder: Path,
    deadline: float,
    take: Callable[[Mapping[str, Any]], None],
    longest: float = LONGEST,
) -> list[str]:
    """Have tasks done by a worker (see `gpu_worker`) and pass on what it says; returns those that were not
    begun in time. One that ends the process, or hangs, is taken to have failed; of one that was to time our
    kernel with its rivals, the rivals have another try.
    """
    left = list(tasks)
    for _ in range(STARTS):
        if not left or time.monotonic() >= deadline:
            break
        begun, reason = _start(command, left, folder, deadline, take, longest)
        if begun is not None:
            left.remove(begun)
            take({"done": begun, "failed": reason})
            _retry(begun, left)
        elif reason:
            for task in left:
                take({"done": task, "failed": reason})
            return []
    return [task for task in left if not task.endswith("rivals")]


def _retry(task: str, left: list[str]) -> None:
    if task.startswith("time") and not task.endswith("rivals"):
        left.insert(0, f"{task} rivals")


def _start(
    command: Sequence[str],
    left: list[str],
    folder: Path,
    deadline: float,
    take: Callable[[Mapping[str, Any]], None],
    longest: float,
) -> tuple[str | None, str]:
    """One process: what it does is removed from `left`. Returns the task that it did not survive, if there is
    one, and what happened; without a task, why none can be done.
    """
    errors = folder / "errors"
    with errors.open("w") as stderr:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
        )
    assert child.stdin is not None
    assert child.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(child.stdout, lines.put), daemon=True)
    begun: str | None = None
    finished = False
    try:
        reader.start()
        with suppress(OSError):  # it has ended: what it said comes next
            request = {"tasks": left, "folder": str(folder), "seconds": deadline - time.monotonic()}
            child.stdin.write(json.dumps(request))
            child.stdin.close()
        while True:
            limit = max(0.0, min(longest, deadline + GRACE - time.monotonic()))
            try:
                line = lines.get(timeout=limit)
            except queue.Empty:
                return begun, f"it took more than {limit:.0f} s" if begun else "nothing happens"
            if line is None:
                break
            answer = cast("dict[str, Any]", json.loads(line))
            if "begin" in answer:
                begun = answer["begin"]
                continue
            if "done" in answer:
                begun, finished = None, True
                left.remove(answer["done"])
                if OURS in answer.get("refused", {}):
                    _retry(answer["done"], left)
            take(answer)
        status = child.wait()
        if begun is None and (finished or status == 0):
            return None, ""
        said = errors.read_text(errors="replace").strip().splitlines()
        return begun, f"its process ended with status {status}: {said[-1] if said else 'it says nothing'}"
    finally:
        child.kill()
        child.wait()
        reader.join(GRACE)
        child.stdout.close()


def _read(stream: IO[str], put: Callable[[str | None], object]) -> None:
    for line in stream:
        put(line)
    put(None)
