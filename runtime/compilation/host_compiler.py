"""The C++ compiler of this machine: its command, the options it accepts, and the flags for generated
source.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from ...dialects.diagnostics import one_sentence
from ..host.processor import cpu_identity
from .directory import CacheDirectory, user_cache, write_whole
from .errors import HostCompilerError, first_error, reason

CANDIDATES = ("c++", "g++", "clang++")
"""Compilers to look for on PATH if CXX is not set."""

BASE_FLAGS = (
    "-std=c++20",
    # Never -ffast-math: NaN and infinities mean something in these programs, and sums keep their order.
    "-fno-math-errno",
    "-ffp-contract=fast",
    "-fno-trapping-math",
    "-fPIC",
    "-fvisibility=hidden",
)
OPTIONAL_FLAGS: tuple[tuple[str, ...], ...] = (
    ("-march=native", "-mcpu=native"),
    ("-mprefer-vector-width=512",),
    ("-fopenmp",),
    ("-Wl,--no-undefined",),
)
"""Flags that not every compiler has; of each group the first accepted one is used."""

SANITIZERS = ("address", "undefined", "thread")

_PROBE = """\
#ifdef _OPENMP
#include <omp.h>
#endif
#include <concepts>
template <std::integral T> static T twice(T n) { return n + n; }
extern "C" __attribute__((visibility("default"))) int bb_probe(int n) {
  int sum = 0;
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : sum)
#endif
  for (int i = 0; i < n; ++i) sum += twice(i);
  return sum;
}
"""
_PROBE_SECONDS = 120.0

# Variables by which gcc and clang find headers and libraries: other values may give another object.
_ENVIRONMENT = (
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "CCC_OVERRIDE_OPTIONS",
)


@dataclass(frozen=True)
class HostCompiler:
    """A compiler that has compiled a small program: its command, its version text, optional flags."""

    command: tuple[str, ...]
    version: str
    optional: tuple[str, ...]

    @property
    def has_openmp(self) -> bool:
        return "-fopenmp" in self.optional

    @property
    def identity(self) -> tuple[str, ...]:
        """Inputs of an object besides source and flags."""
        return (*self.command, self.version, *(f"{name}={os.environ.get(name, '')}" for name in _ENVIRONMENT))

    def compile_flags(self, sanitize: Sequence[str] = ()) -> tuple[str, ...]:
        """Flags for a source file; with `sanitize`, for a slow build that checks itself.

        Raises ValueError for a sanitizer that is not in `SANITIZERS`.
        """
        unknown = [name for name in sanitize if name not in SANITIZERS]
        if unknown:
            raise ValueError(f"there is no sanitizer {unknown[0]!r}, only {', '.join(SANITIZERS)}")
        speed: tuple[str, ...] = ("-O3",)
        if sanitize:
            speed = (
                "-O1",
                "-g1",  # lines for reports: with variables it takes a third longer to compile
                f"-fsanitize={','.join(sanitize)}",
                "-fno-sanitize-recover=all",
                "-fno-omit-frame-pointer",
            )
        compiling = (flag for flag in self.optional if not flag.startswith("-Wl,"))
        return (*BASE_FLAGS, *speed, *compiling)

    def link_flags(self, sanitize: Sequence[str] = ()) -> tuple[str, ...]:
        """Flags for making a shared object, beside those of `compile_flags`."""
        # The sanitizers' own functions are found in the process that loads the object.
        linking = () if sanitize else (flag for flag in self.optional if flag.startswith("-Wl,"))
        return ("-shared", *linking)

    def sanitizer_runtimes(self, sanitize: Sequence[str]) -> list[Path]:
        """The libraries that LD_PRELOAD must name in a process that loads a sanitized object."""
        names = {"address": ("libasan.so",), "undefined": ("libubsan.so",), "thread": ("libtsan.so",)}
        found: list[Path] = []
        for sanitizer in sanitize:
            for name in names[sanitizer]:
                status, output = _run(
                    [*self.command, f"-print-file-name={name}"], Path(tempfile.gettempdir())
                )
                path = Path(output.strip())
                if status == 0 and path.is_absolute() and path.exists():
                    found.append(path.resolve())
        return found


def find_compiler(*, use_cache: bool = True) -> HostCompiler:
    """The compiler that CXX names (arguments may follow it), else the first of `CANDIDATES` that works.

    The options that a compiler accepts are tried once and kept in the user's cache directory, as long as
    path, modification time and size of the compiler and the processor stay the same. Raises HostCompilerError
    if there is none.
    """
    return _find(os.environ.get("CXX", "").strip(), os.environ.get("PATH", os.defpath), use_cache)


def forget_compilers() -> None:
    """Forget the compilers found in this process; the next search reads the cache directory again."""
    _find.cache_clear()


@cache
def _find(cxx: str, path: str, use_cache: bool) -> HostCompiler:
    directory = user_cache() if use_cache else None
    if cxx:
        return _probed(_command_of(cxx, path), directory, f"CXX is '{cxx}', which")
    refusals: list[str] = []
    for name in CANDIDATES:
        found = shutil.which(name, path=path)
        if found is None:
            continue
        try:
            return _probed((os.path.abspath(found),), directory, f"{found}")
        except HostCompilerError as error:
            refusals.append(str(error))
    if refusals:
        raise HostCompilerError(f"no C++ compiler works here: {'; '.join(refusals)}; CXX names another one")
    raise HostCompilerError(
        "no C++ compiler found: set CXX, or install g++ or clang++ (on Debian and Ubuntu: apt install g++)"
    )


def _command_of(cxx: str, path: str) -> tuple[str, ...]:
    try:
        words = shlex.split(cxx)
    except ValueError as error:
        raise HostCompilerError(f"CXX is '{cxx}', which is no command: {str(error).lower()}") from error
    found = shutil.which(words[0], path=path) if words else None
    if found is None:
        raise HostCompilerError(
            f"CXX is '{cxx}', but there is no program '{(words or [''])[0]}' that can be run"
        )
    return (os.path.abspath(found), *words[1:])


def _probed(command: tuple[str, ...], directory: CacheDirectory | None, subject: str) -> HostCompiler:
    """The compiler for a command, from the cache or by trying it; `subject` begins error sentences."""
    digest = hashlib.sha256("\0".join(_probe_key(command)).encode("utf-8", "surrogateescape")).hexdigest()
    kept: Path | None = None
    if directory is not None and directory.readable:
        kept = directory.folder("compilers") / f"{digest}.json"
    if kept is not None and (known := _read_probe(kept, command)) is not None:
        return known
    try:
        with tempfile.TemporaryDirectory(prefix="blockbuster-probe-") as scratch:
            compiler = _probe(command, Path(scratch), subject)
    except OSError as error:
        raise HostCompilerError(f"{subject} cannot be tried: {reason(error)}") from error
    if directory is not None and directory.writable and kept is not None:
        record = {"version": compiler.version, "optional": compiler.optional}
        with suppress(OSError):  # then the next process tries the compiler again
            write_whole(directory, kept, json.dumps(record).encode())
    return compiler


def _probe_key(command: tuple[str, ...]) -> Iterable[str]:
    yield cpu_identity()
    yield from (_PROBE, *BASE_FLAGS, *(flag for group in OPTIONAL_FLAGS for flag in group))
    for word in command:
        yield word
        # Also after a launcher: in `ccache g++` the second word is the compiler.
        found = shutil.which(word)
        if found is not None:
            status = os.stat(found)
            yield f"{os.path.realpath(found)} {status.st_mtime_ns} {status.st_size}"


def _read_probe(path: Path, command: tuple[str, ...]) -> HostCompiler | None:
    """Return the result of an earlier process; None without a valid record."""
    try:
        record: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    fields = cast(dict[str, object], record)
    version, optional = fields.get("version"), fields.get("optional")
    known = {flag for group in OPTIONAL_FLAGS for flag in group}
    if not isinstance(version, str) or not isinstance(optional, list):
        return None
    flags = cast(list[object], optional)
    accepted = tuple(flag for flag in flags if isinstance(flag, str) and flag in known)
    return HostCompiler(command, version, accepted) if len(accepted) == len(flags) else None


def _probe(command: tuple[str, ...], scratch: Path, subject: str) -> HostCompiler:
    status, output = _run([*command, "--version"], scratch)
    if status != 0:
        raise HostCompilerError(f"{subject} cannot be run: {first_error(output, status)}")
    version = one_sentence(output)[:500]
    source = scratch / "probe.cpp"
    source.write_text(_PROBE)

    def accepts(flags: Iterable[str]) -> tuple[bool, str]:
        made = scratch / "probe.so"
        made.unlink(missing_ok=True)
        status, output = _run(
            [*command, *BASE_FLAGS, "-shared", *flags, "-o", made.name, source.name], scratch
        )
        return status == 0 and made.exists(), first_error(output, status)

    usable, why = accepts(())
    if not usable:
        raise HostCompilerError(f"{subject} does not compile C++20: {why}")
    return HostCompiler(command, version, _accepted(lambda flags: accepts(("-Werror", *flags))[0]))


def _accepted(accepts: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    favourites = tuple(group[0] for group in OPTIONAL_FLAGS)
    if accepts(favourites):
        return favourites
    found: list[str] = []
    for group in OPTIONAL_FLAGS:
        flag = next((flag for flag in group if accepts([*found, flag])), None)
        if flag is not None:
            found.append(flag)
    return tuple(found)


def compiler_environment(scratch: Path) -> dict[str, str]:
    """The environment for a compiler: messages in English, temporary files in the given directory."""
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "GCC_COLORS")}
    return environment | {"LC_ALL": "C", "TMPDIR": str(scratch)}


def _run(command: Sequence[str], directory: Path) -> tuple[int, str]:
    """Exit status and output of a short run. Raises HostCompilerError where it does not start, or not end."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=compiler_environment(directory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise HostCompilerError(f"{command[0]} did not answer within {_PROBE_SECONDS:.0f} s") from error
    except OSError as error:
        raise HostCompilerError(f"{command[0]} cannot be run: {reason(error)}") from error
    return done.returncode, done.stdout.decode("utf-8", "replace")
