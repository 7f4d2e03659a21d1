"""Advisory locks between processes, and directories that show whether their process is alive.

The kernel releases a lock when its holder ends, however it ends. Some file systems have no locks: nothing
here is needed for correct results, locks only save work that would be done twice.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 600.0
"""Seconds after which another process's lock is ignored."""

_ABANDONED = 24 * 3600.0
"""Age in seconds at which a directory counts as abandoned where there are no locks to tell."""

_OWNER = ".owner"


def try_lock(path: Path) -> int | None:
    """A file descriptor that holds the lock of a file, made if need be; None where another has it.

    Raises OSError where the file system has no locks, or the file cannot be made.
    """
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A file that was removed in the meantime locks no process out.
        if os.fstat(number).st_nlink > 0:
            return number
    except BlockingIOError:
        pass
    except BaseException:
        os.close(number)
        raise
    os.close(number)
    return None


def release(path: Path, number: int) -> None:
    """Give a lock back; its file goes first, so that lock files do not pile up."""
    with suppress(OSError):
        path.unlink()
    # Explicitly, because a process forked meanwhile has a copy of the descriptor.
    with suppress(OSError):
        fcntl.flock(number, fcntl.LOCK_UN)
    os.close(number)


@contextmanager
def locked(
    path: Path, done: Callable[[], bool], tick: Callable[[], None], patience: float
) -> Generator[None]:
    """Hold the lock of a file, once it is free or `done()`, or after `patience` seconds without it.

    `tick` is called while waiting.
    """
    number: int | None = None
    deadline = time.monotonic() + patience
    pause = 0.01
    try:
        while (number := try_lock(path)) is None and not done() and time.monotonic() < deadline:
            tick()
            time.sleep(pause)
            pause = min(0.1, 1.5 * pause)
    except OSError:
        number = None  # no locks here: two processes may do the same work
    try:
        yield
    finally:
        if number is not None:
            release(path, number)


@contextmanager
def scratch_directory(parent: Path) -> Generator[Path]:
    """A new directory under `parent`, removed at the end; `remove_abandoned` does it if the process dies."""
    while True:
        made = Path(tempfile.mkdtemp(dir=parent))
        try:
            number = try_lock(made / _OWNER)
        except FileNotFoundError:
            continue  # taken for abandoned before it was locked
        except OSError:
            number = -1
        if number is not None:
            break
    try:
        yield made
    finally:
        if number >= 0:
            os.close(number)
        shutil.rmtree(made, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove what dead processes left under `parent`: scratch directories and half-written files."""
    for entry in _entries(parent):
        with suppress(OSError):
            age = time.time() - entry.stat(follow_symlinks=False).st_mtime
            if not entry.is_dir(follow_symlinks=False):
                if age > 3600:
                    os.unlink(entry.path)
                continue
            owner = Path(entry.path) / _OWNER
            if not owner.exists() and age < 60:
                continue  # about to be locked by its maker
            try:
                number = try_lock(owner)
            except OSError:
                number = -1 if age > _ABANDONED else None
            if number is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                if number >= 0:
                    os.close(number)


def _entries(parent: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(parent) as found:
            return list(found)
    except OSError:
        return []
