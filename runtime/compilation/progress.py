"""One line on the terminal while a compilation takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

Progress: TypeAlias = Callable[[str], None]
"""Called with `compiling attention … 3 s` about every second, and with an empty text at the end."""

FIRST_SECONDS = 1.0


def terminal_line(text: str) -> None:
    """Show a text in place of the last one on standard error; an empty text clears the line."""
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()


class Stopped(Exception):
    """Raised by `Ticker.tick` once the ticker's work was cancelled."""


class Ticker:
    """Reports the seconds since it was made, at most once a second; usable from several threads.

    `label` names the current work, and may change.
    """

    def __init__(self, label: str, progress: Progress | None):
        if progress is None and sys.stderr is not None and sys.stderr.isatty():
            progress = terminal_line
        self.label = label
        self._progress = progress
        self._start = time.monotonic()
        self._next = self._start + FIRST_SECONDS
        self._lock = threading.Lock()
        self._shown = False
        self._stopped = False

    def stop(self) -> None:
        """Make every further `tick`, on whatever thread, raise Stopped."""
        self._stopped = True

    def tick(self) -> None:
        """Report if it is time; call it several times a second while waiting. Raises Stopped, and what the
        callback raises.
        """
        if self._stopped:
            raise Stopped
        now = time.monotonic()
        if self._progress is None or now < self._next:
            return
        with self._lock:
            if now >= self._next:
                self._next = now + 1.0
                self._shown = True
                self._progress(f"{self.label} … {now - self._start:.0f} s")

    def finish(self) -> None:
        with self._lock:
            if self._progress is not None and self._shown:
                self._progress("")
                self._shown = False


@contextmanager
def ticking(label: str, progress: Progress | None) -> Generator[Ticker]:
    """A ticker whose line is cleared at the end."""
    ticker = Ticker(label, progress)
    try:
        yield ticker
    finally:
        ticker.finish()
