"""C++ source text into a loaded shared object: compiled by the host compiler, kept in the user's cache.

    path = compile_shared_object(source, name="attention", native=[native_directory() / "contraction.cpp"])
    library = ctypes.CDLL(str(path))

No shell is involved, and nothing of a program but its mangled names reaches a command line.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...lowering.emit.source_text import comment_text, mangle, without_locations
from ..host.threads import thread_count
from .cache import CompileCache, digest_of
from .cached import cached_file, compile_cache, file_digest, run_compiler
from .errors import HostCompilerError, compilation_error
from .host_compiler import HostCompiler, find_compiler
from .inputs import Build, NativeSource, include_directory, native_directory, text_of
from .precompiled_headers import HEADERS, PrecompiledHeaders
from .progress import Progress, Stopped, Ticker, ticking

__all__ = [
    "HostCompilerError",
    "compile_shared_object",
    "include_directory",
    "load_shared_object",
    "native_directory",
    "native_object",
]

_T = TypeVar("_T")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _build(
    compiler: HostCompiler | None,
    sanitize: Sequence[str],
    include: Sequence[Path] | None,
    defines: Mapping[str, int] | None,
    use_cache: bool,
) -> Build:
    for name in defines or {}:
        if _IDENTIFIER.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no name for a macro")
    folders = [include_directory()] if include is None else include
    return Build(
        compiler or find_compiler(use_cache=use_cache),
        tuple(sanitize),
        tuple(folder.absolute() for folder in folders),
        tuple(sorted((name, int(value)) for name, value in (defines or {}).items())),
    )


def compile_shared_object(
    source: str,
    *,
    name: str,
    native: Sequence[Path | NativeSource] = (),
    objects: Sequence[Path] = (),
    include: Sequence[Path] | None = None,
    defines: Mapping[str, int] | None = None,
    sanitize: Sequence[str] = (),
    compiler: HostCompiler | None = None,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Path:
    """The shared object for a C++ source, compiled now or by an earlier process.

    `name` is the program's own name, any text. `native` are C++ sources of the runtime that are compiled once
    for each machine and linked in (see `native_object`), the first time beside the source itself; `objects`
    are object files that exist already.
    `include` replaces the tile library's directory. With `use_cache=False` the object is compiled for this
    process alone and removed when it ends. `progress` is called while it takes more than a second; by default
    a terminal shows a line, a pipe does not. The file may be removed a minute later: load it at once.

    Raises HostCompilerError: no compiler, or an error in the source, which is then kept and named.
    """
    build = _build(compiler, sanitize, include, defines, use_cache)
    sources = [each if isinstance(each, NativeSource) else NativeSource(each) for each in native]
    natives = digest_of(part for each in sources for part in (each.name, file_digest(each.path)))
    # A program that moved to another line or file is the same program.
    code = without_locations(source)
    key = build.key("shared", name, code, natives, digest_of(map(file_digest, objects)))
    stem = mangle(name)

    def make(scratch: Path, ticker: Ticker, cache: CompileCache) -> Path:
        file = scratch / f"{stem}.cpp"
        file.write_text(source, encoding="utf-8", errors="replace", newline="\n")
        made, compiled = scratch / f"{stem}.so", scratch / f"{stem}.o"
        # Other builds are made seldom: to precompile for them would not pay.
        plain = include is None and not build.sanitize and not build.defines
        reads = plain and HEADERS.splitlines()[-1] in source
        headers = PrecompiledHeaders(build, cache, ticker) if reads else None
        ready = headers.find() if headers is not None else None

        def run(output: Path, *arguments: str) -> tuple[int, str]:
            command = [*build.compiler.command, *build.compile_flags, *arguments, "-o", output.name]
            status, text = run_compiler(command, scratch, ticker)
            return status if output.exists() else status or 1, text

        def compile(output: Path, *arguments: str) -> None:
            status, text = 1, ""
            if ready is not None:
                status, text = run(output, "-include", str(ready.with_suffix("")), *arguments)
            if status != 0:
                status, text = run(output, *arguments)
            if status != 0:
                kept = cache.keep_failed(stem, source)
                raise compilation_error(comment_text(name, 80), source, file.name, kept, text, status)

        def linked(natives: Sequence[Path]) -> list[str]:
            paths = (str(path.absolute()) for path in (*natives, *objects))
            return [*build.compiler.link_flags(build.sanitize), *paths]

        found = [cache.find(build.native(each).native_entry(each), ".o") for each in sources]
        known = [path for path in found if path is not None]
        if len(known) == len(found):
            with headers.built_alongside() if headers is not None and sources else nullcontext():
                compile(made, file.name, *linked(known))
            return made
        # The first time on a machine: all at once, and no headers, for which the first program would wait.
        natives = _native_objects(sources, build, cache, ticker, lambda: compile(compiled, "-c", file.name))
        status, text = run(made, compiled.name, *linked(natives))
        if status != 0:
            raise compilation_error(comment_text(name, 80), source, file.name, None, text, status)
        return made

    with ticking(f"compiling {comment_text(name, 40)}", progress) as ticker:
        return cached_file(
            f"{stem}-{key[:40]}", ".so", make, compile_cache(use_cache), ticker, build.facts(name)
        )


def native_object(
    source_path: Path,
    *,
    include: Sequence[Path] | None = None,
    defines: Mapping[str, int] | None = None,
    sanitize: Sequence[str] = (),
    compiler: HostCompiler | None = None,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Path:
    """The object file for a C++ source of the runtime, compiled once for each machine and set of flags.

    Raises HostCompilerError.
    """
    build = _build(compiler, sanitize, include, defines, use_cache)
    with ticking(f"compiling {source_path.stem}", progress) as ticker:
        return _native_object(NativeSource(source_path), build, compile_cache(use_cache), ticker)


def native_objects(
    sources: Sequence[Path],
    *,
    include: Sequence[Path] | None = None,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> list[Path]:
    """The object files of several C++ sources, as `native_object` makes them, compiled side by side.

    Raises HostCompilerError.
    """
    build = _build(None, (), include, None, use_cache)
    with ticking("compiling the runtime, once for this machine", progress) as ticker:
        return _native_objects(
            [NativeSource(path) for path in sources], build, compile_cache(use_cache), ticker
        )


def load_shared_object(path: Path) -> ctypes.CDLL:
    """Load a shared object. Raises HostCompilerError where the system's loader refuses it."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise HostCompilerError(f"the compiled object cannot be loaded: {error}") from error


def _native_objects(
    sources: Sequence[NativeSource],
    build: Build,
    cache: CompileCache,
    ticker: Ticker,
    beside: Callable[[], None] | None = None,
) -> list[Path]:
    """The object files for the sources, compiled side by side with something else."""
    label, ticker.label = ticker.label, "compiling the micro-kernels, once for this machine"

    def guarded(job: Callable[[], _T]) -> _T:
        ticker.tick()
        try:
            return job()
        except BaseException:
            ticker.stop()  # the others end, and none begins
            raise

    with ThreadPoolExecutor(max(1, min(len(sources) + 1, thread_count()))) as pool:
        try:
            other = [] if beside is None else [pool.submit(guarded, beside)]
            jobs = [partial(_native_object, source, build, cache, ticker) for source in sources]
            futures = [pool.submit(guarded, job) for job in jobs]
            all_jobs: list[Future[Any]] = [*other, *futures]
            ended, _ = wait(all_jobs, return_when=FIRST_EXCEPTION)
            errors = [error for future in ended if (error := future.exception()) is not None]
            for error in sorted(errors, key=lambda error: isinstance(error, Stopped)):
                raise error
            return [future.result() for future in futures]
        except BaseException:
            ticker.stop()  # leaving the pool waits for its threads
            raise
        finally:
            ticker.label = label


def _native_object(source: NativeSource, build: Build, cache: CompileCache, ticker: Ticker) -> Path:
    build, path = build.native(source), source.path.absolute()
    stem = mangle(source.name)

    def make(scratch: Path, ticker: Ticker, cache: CompileCache) -> Path:
        made = scratch / f"{stem}.o"
        command = [*build.compiler.command, *build.compile_flags, "-c", "-o", made.name, str(path)]
        status, output = run_compiler(command, scratch, ticker)
        if status != 0 or not made.exists():
            raise compilation_error(path.name, text_of(path), str(path), None, output, status)
        return made

    return cached_file(build.native_entry(source), ".o", make, cache, ticker, build.facts(source.name))
