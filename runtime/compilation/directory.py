"""Directory for compiled code: the user's cache directory, or a private one for one process."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from ..host.settings import byte_count, setting
from .errors import reason

DIRECTORY_VARIABLE = "BB_CACHE_DIR"
SIZE_VARIABLE = "BB_CACHE_SIZE"
DEFAULT_SIZE = 2**30
"""Bytes that the cache may hold where BB_CACHE_SIZE does not say otherwise."""

FOLDERS = ("objects", "locks", "scratch", "compilers", "failed", "limits", "choices")


class CacheWarning(UserWarning):
    """Compiled code cannot be kept for the next process; one line."""


@dataclass(frozen=True)
class CacheDirectory:
    """A directory for compiled code.

    `readable`: its contents may be loaded; `problem`: the reason why nothing can be stored in it; `private`:
    it belongs to this process alone.
    """

    path: Path
    readable: bool = True
    problem: str | None = None
    private: bool = False

    @property
    def writable(self) -> bool:
        return self.problem is None

    def folder(self, name: str) -> Path:
        """One of `FOLDERS`; it exists where the directory is writable."""
        return self.path / name


def cache_path() -> tuple[Path, bool]:
    """The path of the user's cache directory, and whether BB_CACHE_DIR names it."""
    chosen = setting(DIRECTORY_VARIABLE)
    if chosen is not None:
        return Path(os.path.abspath(os.path.expanduser(chosen))), True
    return Path(platformdirs.user_cache_dir("blockbuster", appauthor=False)), False


def size_limit() -> int:
    """Bytes that the cache may hold. Raises SettingError where BB_CACHE_SIZE is no size."""
    return byte_count(SIZE_VARIABLE, DEFAULT_SIZE)


_warned: set[Path] = set()


def user_cache() -> CacheDirectory:
    """The user's cache directory, made if need be."""
    path, chosen = cache_path()
    problem, readable = _problem(path, chosen)
    return CacheDirectory(path, readable, problem)


def warn_unusable(path: Path, reason: str) -> None:
    """Warn once for each path that code cannot be kept there, with the reason."""
    if path not in _warned:
        _warned.add(path)
        warnings.warn(
            f"the cache directory {path} {reason}: compiled code lasts only as long as this process; "
            f"{DIRECTORY_VARIABLE} names another directory",
            CacheWarning,
            stacklevel=2,
        )


def forget_warnings() -> None:
    """Warn again about paths that were warned about; for tests."""
    _warned.clear()


def _problem(path: Path, chosen: bool) -> tuple[str | None, bool]:
    """Return why a directory is not writable (None if it is), and True if its contents may be loaded."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return f"cannot be made ({reason(error)})", False
    try:
        status = path.stat()
    except OSError as error:
        return f"cannot be read ({reason(error)})", False
    # A user who can write here decides which code this process runs.
    if status.st_mode & stat.S_IWOTH:
        return "can be written to by every user", False
    if not chosen and status.st_uid not in (0, os.geteuid()):
        return "belongs to another user", False
    try:
        for name in FOLDERS:
            (path / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        return f"cannot be written to ({reason(error)})", True
    blocked = [name for name in FOLDERS if not os.access(path / name, os.W_OK | os.X_OK)]
    return ("cannot be written to" if blocked else None), True


_private_lock = threading.Lock()
_private: dict[int, Path] = {}


def private_cache() -> CacheDirectory:
    """A directory of this process alone, removed when it ends. Raises OSError where none can be made."""
    with _private_lock:
        own = os.getpid()
        if own not in _private:  # a forked child must not use, and remove, what belongs to its parent
            made = Path(tempfile.mkdtemp(prefix="blockbuster-"))
            for name in FOLDERS:
                (made / name).mkdir(mode=0o700)
            _private[own] = made
            atexit.register(_remove_private, own)
        return CacheDirectory(_private[own], private=True)


def _remove_private(owner: int) -> None:
    if os.getpid() == owner and owner in _private:
        shutil.rmtree(_private.pop(owner), ignore_errors=True)


def write_whole(directory: CacheDirectory, path: Path, data: bytes) -> None:
    """Replace a file of the directory in one step: readers see the old content or the new. Raises OSError."""
    number, temporary = tempfile.mkstemp(dir=directory.folder("scratch"), suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
