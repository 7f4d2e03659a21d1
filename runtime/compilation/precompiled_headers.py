"""Precompiled headers of all kernels, for gcc and clang; they halve the time of a compilation."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread

from .cache import CompileCache
from .cached import cached_file, run_compiler
from .errors import HostCompilerError
from .inputs import Build
from .progress import Stopped, Ticker

HEADERS = "#include <bb/cpu.hpp>\n#include <bb/kernel.hpp>\n"

_tried: set[str] = set()
_lock = Lock()


class PrecompiledHeaders:
    """Precompiled headers of a build, if there are any; they only save time."""

    def __init__(self, build: Build, cache: CompileCache, ticker: Ticker):
        self.build, self.cache, self.ticker = build, cache, ticker
        self.entry = f"headers-{build.key('headers', HEADERS)[:40]}"

    def find(self) -> Path | None:
        """Return the path of the precompiled header, or None; `-include` takes it without its `.gch`."""
        return self.cache.find(self.entry, ".gch") if self.cache.directory.readable else None

    @contextmanager
    def built_alongside(self) -> Generator[None]:
        """Build missing headers while something else is compiled, for later compilations.

        After a failure this process does not try again.
        """
        name = f"{self.cache.directory.path}/{self.entry}"
        with _lock:
            wanted = name not in _tried and self.find() is None
            if wanted:
                _tried.add(name)
        if not wanted:
            yield
            return
        made = Thread(target=self._make, args=(name,))
        made.start()
        try:
            yield
        except BaseException:
            self.ticker.stop()
            raise
        finally:
            made.join()

    def _make(self, name: str) -> None:
        def make(scratch: Path, ticker: Ticker, cache: CompileCache) -> Path:
            (scratch / "headers.hpp").write_text(HEADERS)
            made = scratch / "headers.gch"
            command = [*self.build.compiler.command, *self.build.compile_flags]
            command += ["-x", "c++-header", "-o", made.name, "headers.hpp"]
            status, output = run_compiler(command, scratch, ticker)
            if status != 0 or not made.exists():
                raise HostCompilerError(output)
            return made

        with suppress(HostCompilerError, Stopped, OSError):
            cached_file(self.entry, ".gch", make, self.cache, self.ticker, self.build.facts("headers"))
            with _lock:
                _tried.discard(name)  # what is evicted later is made again
