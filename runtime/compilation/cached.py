"""Files that a compiler makes, cached: one process makes a file that several request at the same time."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from .cache import CompileCache, digest_of
from .directory import private_cache, size_limit, user_cache, warn_unusable
from .errors import HostCompilerError, reason
from .host_compiler import compiler_environment
from .progress import Ticker

_LONGEST_OUTPUT = 1_000_000

Make: TypeAlias = Callable[[Path, Ticker, CompileCache], Path]
"""Makes a file in a scratch directory; may ask the cache for other files."""


def cached_file(
    entry: str, suffix: str, make: Make, cache: CompileCache, ticker: Ticker, facts: Mapping[str, object]
) -> Path:
    """The object of an entry: found in the cache, else made and stored there, or in a private cache if need
    be.
    """
    directory = cache.directory
    if directory.readable and (found := cache.find(entry, suffix)) is not None:
        return found
    try:
        if directory.problem is None:
            return _made(entry, suffix, make, cache, ticker, facts)
        problem = directory.problem
    except OSError as error:
        # Full, or taken away meanwhile; what the compiler refuses is a HostCompilerError.
        problem = f"cannot be used ({reason(error)})"
    if directory.private:
        raise HostCompilerError(f"the temporary directory {directory.path} {problem}")
    warn_unusable(directory.path, problem)
    return cached_file(entry, suffix, make, _private(), ticker, facts)


def _made(
    entry: str, suffix: str, make: Make, cache: CompileCache, ticker: Ticker, facts: Mapping[str, object]
) -> Path:
    def is_done() -> bool:
        return cache.find(entry, suffix) is not None

    with cache.lock(entry, is_done, ticker.tick):
        if (found := cache.find(entry, suffix)) is not None:  # another process was faster
            return found
        with cache.scratch() as scratch:
            return cache.store(entry, suffix, make(scratch, ticker, cache), facts)


def compile_cache(use_cache: bool) -> CompileCache:
    """The user's cache, or one that is removed when this process ends."""
    return CompileCache(user_cache(), size_limit()) if use_cache else _private()


def _private() -> CompileCache:
    try:
        return CompileCache(private_cache(), limit=2**63)
    except OSError as error:
        raise HostCompilerError(
            f"no temporary directory can be made to compile in: {reason(error)}"
        ) from error


def run_compiler(
    command: Sequence[str], scratch: Path, ticker: Ticker, time_limit: float = math.inf
) -> tuple[int, str]:
    """Exit status and output of the compiler.

    Raises HostCompilerError where it cannot start, or does not end within `time_limit` seconds.
    """
    deadline = time.monotonic() + time_limit
    log = scratch / ".output"
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=scratch,
                env=compiler_environment(scratch),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Its own group, so that an interrupt can end the compiler and all that it started.
                start_new_session=True,
            )
        except OSError as error:
            raise HostCompilerError(f"{command[0]} cannot be run: {reason(error)}") from error
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    status = process.wait(timeout=0.25)
                    break
                ticker.tick()
                if time.monotonic() > deadline:
                    raise HostCompilerError(f"{command[0]} did not end within {time_limit:.0f} s")
        except BaseException:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    with log.open("rb") as text:
        return status, text.read(_LONGEST_OUTPUT).decode("utf-8", "replace")


def package_version() -> str:
    """The version of this package, on which everything that is compiled depends."""
    try:
        return version("bb-compiler")
    except PackageNotFoundError:
        return "0+unknown"


def tree_digest(folder: Path) -> str:
    """The hash of all files of a directory: a changed header is a changed object."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest_of(
        part for path in files for part in (path.relative_to(folder).as_posix(), path.read_bytes())
    )


def file_digest(path: Path) -> str:
    """The hash of a file. Raises HostCompilerError where it cannot be read."""
    try:
        return digest_of([path.read_bytes()])
    except OSError as error:
        raise HostCompilerError(f"{path} cannot be read: {reason(error)}") from error
