"""C++ source text into a loaded shared object: compiled by the host compiler, kept in the user's cache.

    path = compile_shared_object(source, name="attention", native=[native_directory() / "contraction.cpp"])
    library = ctypes.CDLL(str(path))

No shell is involved, and nothing of a program but its mangled names reaches a command line.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from ..lowering.source_text import comment_text, mangle, without_locations
from .cached_compilation import (
    cached_file,
    compile_cache,
    file_digest,
    package_version,
    run_compiler,
    tree_digest,
)
from .compile_cache import CompileCache, digest_of
from .compile_errors import HostCompilerError, compilation_error
from .compile_progress import Progress, Ticker, ticking
from .cpu_identity import cpu_identity
from .host_compiler import HostCompiler, find_compiler
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
                package_version(),
                cpu_identity(),
                "\0".join(self.compiler.identity),
                "\0".join(
                    (*self.compiler.compile_flags(self.sanitize), *self.compiler.link_flags(self.sanitize))
                ),
                "\0".join(f"{name}={value}" for name, value in self.defines),
                *(tree_digest(folder) for folder in (*self.include, native_directory())),
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
    natives = digest_of(part for path in native for part in (path.name, file_digest(path)))
    # A program that moved to another line or file is the same program.
    code = without_locations(source)
    key = build.key("shared", name, code, natives, digest_of(map(file_digest, objects)))
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
            return run_compiler(command, scratch, ticker)

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
        return cached_file(
            f"{stem}-{key[:40]}", ".so", make, compile_cache(use_cache), ticker, _facts(name, build)
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
        return _native_object(source_path, build, compile_cache(use_cache), ticker)


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
        return _native_objects(sources, build, compile_cache(use_cache), ticker, headers=False)[0]


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
        status, output = run_compiler(command, scratch, ticker)
        if status != 0 or not made.exists():
            raise compilation_error(path.name, _text(path), str(path), None, output, status)
        return made

    entry = f"{stem}-{build.key('native', path.name, file_digest(path))[:40]}"
    return cached_file(entry, ".o", make, cache, ticker, _facts(path.name, build))


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
        status, output = run_compiler(command, scratch, ticker)
        if status != 0 or not made.exists():
            raise HostCompilerError(output)
        return made

    if key in _refused:
        return None
    try:
        return cached_file(f"headers-{key[:40]}", ".gch", make, cache, ticker, _facts("headers", build))
    except HostCompilerError:
        _refused.add(key)
        return None


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
        "package": package_version(),
        "compiler": build.compiler.version,
        "flags": list(build.compiler.compile_flags(build.sanitize)),
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
