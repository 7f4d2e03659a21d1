"""The child process that holds NVRTC, started when it is first needed and again when it has died."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from ...compilation.progress import Ticker
from .diagnostics import CudaCompilerError

LIMIT = 120.0
"""Seconds that one compilation may take."""


class _Worker:
    def __init__(self) -> None:
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            # -P: a cupy.py in the current directory is not CuPy.
            [sys.executable, "-P", str(Path(__file__).with_name("nvrtc_worker.py"))],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.answers = self.process.stdin, self.process.stdout

    @property
    def usable(self) -> bool:
        # A fork of this process would share the pipe with its parent.
        return self.owner == os.getpid() and self.process.poll() is None

    def stop(self) -> None:
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            self.answers.close()
            with contextlib.suppress(OSError):
                self.requests.close()

    def ask(self, request: bytes, name: str, ticker: Ticker) -> bytes:
        deadline = time.monotonic() + LIMIT
        try:
            self.requests.write(request)
            self.requests.flush()
        except OSError:
            return b""
        parts: list[bytes] = []
        while not parts or not parts[-1].endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0:
                raise CudaCompilerError(f"NVRTC did not finish '{name}' within {LIMIT:.0f} seconds")
            ready, _, _ = select.select([self.answers], [], [], min(0.25, left))
            if ready:
                part = os.read(self.answers.fileno(), 1 << 20)
                if not part:
                    return b""
                parts.append(part)
            ticker.tick()
        return b"".join(parts)


_lock = threading.Lock()
_worker: _Worker | None = None


def ask_nvrtc(request: Mapping[str, object], ticker: Ticker) -> dict[str, object]:
    """The answer of `nvrtc_worker.compile_request` to a request.

    Raises CudaCompilerError where the process dies, takes longer than `LIMIT` or has no NVRTC.
    """
    global _worker
    name = str(request["name"])
    with _lock:
        if _worker is None or not _worker.usable:
            if _worker is None:
                atexit.register(stop_worker)
            try:
                _worker = _Worker()
            except OSError as error:
                raise CudaCompilerError(f"the process for NVRTC cannot be started: {error}") from error
        try:
            line = _worker.ask(json.dumps(request).encode() + b"\n", name, ticker)
        except BaseException:
            _worker.stop()
            raise
        if not line:
            status = _worker.process.wait()
            _worker.stop()
            how = f"was stopped by signal {-status}" if status < 0 else f"ended with status {status}"
            raise CudaCompilerError(f"NVRTC {how} while it compiled '{name}'")
    answer = cast(dict[str, object], json.loads(line))
    if "broken" in answer:
        raise CudaCompilerError(f"NVRTC cannot be used: {answer['broken']}")
    return answer


def stop_worker() -> None:
    """End the child process, if there is one; the next request starts another."""
    global _worker
    with _lock:
        if _worker is not None:
            _worker.stop()
            _worker = None
