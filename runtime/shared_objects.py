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
from dataclasses import dataclass
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
        linked = [*_native_objects(native, build, cache, ticker), *(path.absolute() for path in objects)]
        file = scratch / f"{stem}.cpp"
        file.write_text(source, encoding="utf-8", errors="replace", newline="\n")
        made = scratch / f"{stem}.so"
        command = [
            *build.compiler.command,
            *build.compile_flags,
            *build.compiler.link_flags(build.sanitize),
            *("-o", made.name, file.name),
            *map(str, linked),
        ]
        status, output = run_compiler(command, scratch, ticker)
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
        return _native_objects(sources, build, compile_cache(use_cache), ticker)


def load_shared_object(path: Path) -> ctypes.CDLL:
    """Load a shared object. Raises HostCompilerError where the system's loader refuses it."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise HostCompilerError(f"the compiled object cannot be loaded: {error}") from error


def _native_objects(sources: Sequence[Path], build: Build, cache: CompileCache, ticker: Ticker) -> list[Path]:
    if not sources:
        return []

    def compiled(path: Path) -> Path:
        return _native_object(path, build, cache, ticker)

    label, ticker.label = ticker.label, "compiling the micro-kernels, once for this machine"
    with ThreadPoolExecutor(min(len(sources), thread_count())) as pool:
        try:
            futures = [pool.submit(compiled, path) for path in sources]
            ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()  # raises what went wrong
            return [future.result() for future in futures]
        except BaseException:
            ticker.stop()  # leaving the pool waits for its threads
            raise
        finally:
            ticker.label = label


def _native_object(path: Path, build: Build, cache: CompileCache, ticker: Ticker) -> Path:
    path = path.absolute()
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
