"""C++ source text into a loaded shared object: compiled by the host compiler, kept in the user's cache.

    path = compile_shared_object(source, name="attention", native=[native_directory() / "contraction.cpp"])
    library = ctypes.CDLL(str(path))

No shell is involved, and nothing of a program but its mangled names reaches a command line.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..lowering.source_text import comment_text, mangle, without_locations
from .cache_directory import private_cache, size_limit, user_cache, warn_unusable
from .compile_cache import CompileCache, digest_of
from .compile_errors import HostCompilerError, compilation_error, reason
from .compile_progress import Progress, Ticker, ticking
from .cpu_identity import cpu_identity
from .host_compiler import HostCompiler, compiler_environment, find_compiler
from .threads import thread_count

__all__ = ["HostCompilerError", "compile_shared_object", "load_shared_object", "native_object"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_INCLUDE = re.compile(r"^#include [<\"]([^>\"]+)[>\"]", re.MULTILINE)
_LONGEST_OUTPUT = 1_000_000


def include_directory() -> Path:
    """The directory of the tile library's headers, for `-I`."""
    return Path(__file__).resolve().parent / "include"


def native_directory() -> Path:
    """The directory of the C++ sources that are compiled once for each machine."""
    return Path(__file__).resolve().parent / "native"


@dataclass(frozen=True)
class Build:
    """What stays the same for all the objects of one executable.

    `defines` are macros with integer values; `sanitize` names sanitizers (see `HostCompiler.compile_flags`).
    """

    compiler: HostCompiler
    sanitize: tuple[str, ...] = ()
    include: tuple[Path, ...] = ()
    defines: tuple[tuple[str, int], ...] = ()

    @property
    def compile_flags(self) -> tuple[str, ...]:
        return (
            *self.compiler.compile_flags(self.sanitize),
            *(f"-D{name}={value}" for name, value in self.defines),
            *(f"-I{path}" for path in self.include),
        )

    def key(self, *parts: str | bytes) -> str:
        """The hash of an object: of `parts`, and of everything that all objects depend on."""
        return digest_of(
            [
                _package_version(),
                cpu_identity(),
                "\0".join(self.compiler.identity),
                "\0".join(
                    (*self.compiler.compile_flags(self.sanitize), *self.compiler.link_flags(self.sanitize))
                ),
                "\0".join(f"{name}={value}" for name, value in self.defines),
                *(_tree_digest(folder) for folder in (*self.include, native_directory())),
                *parts,
            ]
        )


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
    native: Sequence[Path] = (),
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
    for each machine and linked in (see `native_object`); `objects` are object files that exist already.
    `include` replaces the tile library's directory. With `use_cache=False` the object is compiled for this
    process alone and removed when it ends. `progress` is called while it takes more than a second; by default
    a terminal shows a line, a pipe does not. The file may be removed a minute later: load it at once.

    Raises HostCompilerError: no compiler, or an error in the source, which is then kept and named.
    """
    build = _build(compiler, sanitize, include, defines, use_cache)
    natives = digest_of(part for path in native for part in (path.name, _file_digest(path)))
    # A program that moved to another line or file is the same program.
    code = without_locations(source)
    key = build.key("shared", name, code, natives, digest_of(map(_file_digest, objects)))
    stem = mangle(name)

    def make(scratch: Path, ticker: Ticker, cache: CompileCache) -> Path:
        # Other builds are made seldom: to precompile for them would not pay.
        plain = include is None and not build.sanitize and not build.defines
        precompile = plain and _HEADERS.splitlines()[-1] in source
        compiled, headers = _native_objects(native, build, cache, ticker, headers=precompile)
        file = scratch / f"{stem}.cpp"
        file.write_text(source, encoding="utf-8", errors="replace", newline="\n")
        made = scratch / f"{stem}.so"

        def attempt(*including: str) -> tuple[int, str]:
            command = [
                *build.compiler.command,
                *build.compile_flags,
                *build.compiler.link_flags(build.sanitize),
                *including,
                *("-o", made.name, file.name),
                *(str(path.absolute()) for path in (*compiled, *objects)),
            ]
            return _run(command, scratch, ticker)

        status, output = 1, ""
        if headers is not None:
            status, output = attempt("-include", str(headers.with_suffix("")))
        if status != 0 or not made.exists():
            status, output = attempt()
        if status != 0 or not made.exists():
            kept = cache.keep_failed(stem, source)
            raise compilation_error(comment_text(name, 80), source, file.name, kept, output, status)
        return made

    with ticking(f"compiling {comment_text(name, 40)}", progress) as ticker:
        return _cached(f"{stem}-{key[:40]}", ".so", make, _cache(use_cache), ticker, _facts(name, build))


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
        return _native_object(source_path, build, _cache(use_cache), ticker)


def load_shared_object(path: Path) -> ctypes.CDLL:
    """Load a shared object. Raises HostCompilerError where the system's loader refuses it."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise HostCompilerError(f"the compiled object cannot be loaded: {error}") from error


def _native_objects(
    sources: Sequence[Path], build: Build, cache: CompileCache, ticker: Ticker, *, headers: bool
) -> tuple[list[Path], Path | None]:
    """The object files for the sources and, where asked for and possible, the precompiled headers."""
    if not sources:
        return [], None

    def compiled(path: Path) -> Path:
        return _native_object(path, build, cache, ticker)

    label, ticker.label = ticker.label, "compiling the micro-kernels, once for this machine"
    with ThreadPoolExecutor(min(len(sources), thread_count())) as pool:
        try:
            futures = [pool.submit(compiled, path) for path in sources]
            header = pool.submit(_precompiled_headers, build, cache, ticker) if headers else None
            ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()  # raises what went wrong
            return [future.result() for future in futures], header.result() if header else None
        except BaseException:
            ticker.stop()  # leaving the pool waits for its threads
            raise
        finally:
            ticker.label = label


def _native_object(path: Path, build: Build, cache: CompileCache, ticker: Ticker) -> Path:
    path = path.absolute()
    # One object for all builds whose macros it does not know.
    text = "".join(_text(file) for file in _with_includes(path, build.include))
    build = replace(build, defines=tuple(pair for pair in build.defines if pair[0] in text))
    stem = mangle(path.stem)

    def make(scratch: Path, ticker: Ticker, cache: CompileCache) -> Path:
        made = scratch / f"{stem}.o"
        command = [*build.compiler.command, *build.compile_flags, "-c", "-o", made.name, str(path)]
        status, output = _run(command, scratch, ticker)
        if status != 0 or not made.exists():
            raise compilation_error(path.name, _text(path), str(path), None, output, status)
        return made

    entry = f"{stem}-{build.key('native', path.name, _file_digest(path))[:40]}"
    return _cached(entry, ".o", make, cache, ticker, _facts(path.name, build))


_HEADERS = "#include <bb/cpu.hpp>\n#include <bb/kernel.hpp>\n"
_refused: set[str] = set()


def _precompiled_headers(build: Build, cache: CompileCache, ticker: Ticker) -> Path | None:
    """The headers that every kernel includes, as gcc and clang read them at once: that halves a compile.

    `-include` takes the path without its `.gch`. None where the compiler does not make such a file.
    """
    key = build.key("headers", _HEADERS)

    def make(scratch: Path, ticker: Ticker, cache: CompileCache) -> Path:
        (scratch / "headers.hpp").write_text(_HEADERS)
        made = scratch / "headers.gch"
        command = [*build.compiler.command, *build.compile_flags]
        command += ["-x", "c++-header", "-o", made.name, "headers.hpp"]
        status, output = _run(command, scratch, ticker)
        if status != 0 or not made.exists():
            raise HostCompilerError(output)
        return made

    if key in _refused:
        return None
    try:
        return _cached(f"headers-{key[:40]}", ".gch", make, cache, ticker, _facts("headers", build))
    except HostCompilerError:
        _refused.add(key)
        return None


Make = Callable[[Path, Ticker, CompileCache], Path]


def _cached(
    entry: str, suffix: str, make: Make, cache: CompileCache, ticker: Ticker, facts: Mapping[str, object]
) -> Path:
    """The object of an entry: found in the cache, else made and put there or, at need, into a private one."""
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
    return _cached(entry, suffix, make, _private(), ticker, facts)


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


def _cache(use_cache: bool) -> CompileCache:
    return CompileCache(user_cache(), size_limit()) if use_cache else _private()


def _private() -> CompileCache:
    try:
        return CompileCache(private_cache(), limit=2**63)
    except OSError as error:
        raise HostCompilerError(
            f"no temporary directory can be made to compile in: {reason(error)}"
        ) from error


def _run(command: Sequence[str], scratch: Path, ticker: Ticker) -> tuple[int, str]:
    """Exit status and output of the compiler. Raises HostCompilerError where it cannot start."""
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
        except BaseException:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    with log.open("rb") as text:
        return status, text.read(_LONGEST_OUTPUT).decode("utf-8", "replace")


def _with_includes(path: Path, folders: Sequence[Path]) -> list[Path]:
    """A source file and all that it includes from its own folder and from others."""
    found = [path]
    for file in found:
        for name in _INCLUDE.findall(_text(file)):
            candidates = (folder / name for folder in (file.parent, *folders))
            found += [each for each in candidates if each.is_file() and each not in found]
    return found


def _facts(name: str, build: Build) -> dict[str, object]:
    return {
        "name": comment_text(name),
        "package": _package_version(),
        "compiler": build.compiler.version,
        "flags": list(build.compiler.compile_flags(build.sanitize)),
    }


def _package_version() -> str:
    try:
        return version("bb-compiler")
    except PackageNotFoundError:
        return "0+unknown"


def _tree_digest(folder: Path) -> str:
    """The hash of all files of a directory: a changed header is a changed object."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest_of(
        part for path in files for part in (path.relative_to(folder).as_posix(), path.read_bytes())
    )


def _file_digest(path: Path) -> str:
    try:
        return digest_of([path.read_bytes()])
    except OSError as error:
        raise HostCompilerError(f"{path} cannot be read: {reason(error)}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
