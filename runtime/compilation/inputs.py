"""Common settings of the objects of one executable, and the C++ sources of the runtime."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ...lowering.emit.source_text import comment_text, mangle
from ..host.processor import cpu_identity
from .cache import digest_of
from .cached import file_digest, package_version, tree_digest
from .host_compiler import HostCompiler

_INCLUDE = re.compile(r"^#include [<\"]([^>\"]+)[>\"]", re.MULTILINE)


def include_directory() -> Path:
    """The directory of the tile library's headers, for `-I`."""
    return Path(__file__).resolve().parents[1] / "include"


def native_directory() -> Path:
    """The directory of the C++ sources that are compiled once for each machine."""
    return Path(__file__).resolve().parents[1] / "cpu" / "native"


@dataclass(frozen=True)
class NativeSource:
    """A C++ source of the runtime, or one of its parts (`runtime/cpu/native/parts.hpp`)."""

    path: Path
    part: int | None = None
    defines: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """Name of the source, for people and file names."""
        return self.path.stem if self.part is None else f"{self.path.stem}_{self.part}"


@dataclass(frozen=True)
class Build:
    """Settings shared by all objects of one executable.

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
                *self._trees,
                *parts,
            ]
        )

    def facts(self, name: str) -> dict[str, object]:
        """Return the facts about an object for its manifest, for people."""
        return {
            "name": comment_text(name),
            "package": package_version(),
            "compiler": self.compiler.version,
            "flags": list(self.compiler.compile_flags(self.sanitize)),
        }

    def native_entry(self, source: NativeSource) -> str:
        """The name of a source's entry in the cache. Raises HostCompilerError where it cannot be read."""
        return f"{mangle(source.name)}-{self.key('native', source.name, file_digest(source.path))[:40]}"

    def native(self, source: NativeSource) -> Build:
        """Return the build of a source of the runtime, with those macros alone that the source uses."""
        text = "".join(text_of(file) for file in _with_includes(source.path.absolute(), self.include))
        known = tuple(pair for pair in self.defines if pair[0] in text)
        part = () if source.part is None else (("BB_PART", source.part),)
        return replace(self, defines=(*known, *source.defines, *part))

    @cached_property
    def _trees(self) -> tuple[str, ...]:
        return tuple(tree_digest(folder) for folder in (*self.include, native_directory()))


def _with_includes(path: Path, folders: Sequence[Path]) -> list[Path]:
    """A source file and all that it includes from its own folder and from others."""
    found = [path]
    for file in found:
        for name in _INCLUDE.findall(text_of(file)):
            candidates = (folder / name for folder in (file.parent, *folders))
            found += [each for each in candidates if each.is_file() and each not in found]
    return found


def text_of(path: Path) -> str:
    """A file's text; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
