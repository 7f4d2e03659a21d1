"""Preprocessed CUDA source: its kernels, its dynamic shared arrays, and what cannot run on a CPU.

Looking at the text after the preprocessor sees through macros and conditional sections. Of all the text only
what stands in the user's own files is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_LINE_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"', re.MULTILINE)
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    r"|\bbb_emu_global\b|\bextern\b|\bnamespace\b|\btemplate\b|\b__asm__\b|\basm\b|[A-Za-z_]\w*|[{};()<>]",
    re.ASCII,
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DYNAMIC = re.compile(
    r"\b(?:extern\b[^;{}\"]*?\bthread_local|thread_local\b[^;{}\"]*?\bextern)\b[^;{}\"]*?\[\s*\](?=\s*;)",
    re.ASCII,
)


@dataclass(frozen=True)
class Part:
    """A run of text from one file: its first line in that file, and where it lies in the whole text."""

    file: str
    line: int
    begin: int
    end: int


@dataclass(frozen=True)
class FoundKernel:
    """A function marked __global__; `reachable` if its name is its symbol: extern "C", and no template.

    `qualified` is what C++ calls it, with its namespaces.
    """

    name: str
    qualified: str
    reachable: bool
    file: str
    line: int


@dataclass(frozen=True)
class AssemblyStatement:
    """An `asm` statement: which file and line it is in."""

    file: str
    line: int


@dataclass(frozen=True)
class PreprocessedSource:
    """Contents of the user's part of a preprocessed source."""

    kernels: tuple[FoundKernel, ...]
    assembly: tuple[AssemblyStatement, ...]
    text: str
    """The text with dynamic shared arrays bound to the runtime's."""


def read_preprocessed(text: str, system: Sequence[Path]) -> PreprocessedSource:
    """Look at a preprocessed text; files under the `system` directories and absolute paths in /usr are not
    the
    user's."""
    kernels: list[FoundKernel] = []
    assembly: list[AssemblyStatement] = []
    pieces: list[str] = []
    done = 0
    scopes: list[str] = []
    for part in user_parts(text, system):
        body = text[part.begin : part.end]
        _scan(body, part, scopes, kernels, assembly)
        pieces.append(text[done : part.begin])
        pieces.append(_DYNAMIC.sub(lambda m: f'{m[0]} __asm__("bb_emu_dynamic_shared")', body))
        done = part.end
    pieces.append(text[done:])
    return PreprocessedSource(tuple(kernels), tuple(assembly), "".join(pieces))


def user_parts(text: str, system: Sequence[Path]) -> Iterator[Part]:
    """The runs of a preprocessed text that stand in the user's own files, in order."""
    folders = tuple(f"{folder}/" for folder in system)
    markers = list(_LINE_MARKER.finditer(text))
    for index, marker in enumerate(markers):
        file = re.sub(r"\\(.)", r"\1", marker[2])
        if file.startswith(("<", "/usr/", *folders)):
            continue
        end = markers[index + 1].start() if index + 1 < len(markers) else len(text)
        yield Part(file, int(marker[1]), text.find("\n", marker.end()) + 1, end)


def _scan(
    body: str,
    part: Part,
    scopes: list[str],
    kernels: list[FoundKernel],
    assembly: list[AssemblyStatement],
) -> None:
    """Follow scopes through a piece of text. `scopes` holds what each open brace is of."""
    tokens = list(_TOKEN.finditer(body))
    statement = 0  # where the declaration began, for `extern "C"` and `template` in front of it
    for index, token in enumerate(tokens):
        word = token[0]
        if word == "{":
            words = [t[0] for t in tokens[statement:index]]
            scopes.append(_scope(words))
            statement = index + 1
        elif word in ("}", ";"):
            if word == "}" and scopes:
                scopes.pop()
            statement = index + 1
        elif word in ("asm", "__asm__"):
            # A label after a declarator is no statement.
            if index == 0 or tokens[index - 1][0] in ("{", "}", ";", ")"):
                assembly.append(AssemblyStatement(part.file, part.line + body.count("\n", 0, token.start())))
        elif word == "bb_emu_global":
            found = _kernel(tokens, statement, index, scopes)
            if found is not None and all(kernel.name != found[0] for kernel in kernels):
                line = part.line + body.count("\n", 0, token.start())
                kernels.append(FoundKernel(*found, part.file, line))


_OTHER, _NAMESPACE = "{", "namespace "


def _scope(words: list[str]) -> str:
    """Return the scope that a brace after `words` opens: `"C"`, `namespace` and its name, or `_OTHER`."""
    if words[-2:] == ["extern", '"C"']:
        return '"C"'
    if "namespace" in words:
        return _NAMESPACE + "::".join(words[words.index("namespace") + 1 :])
    return _OTHER


def _kernel(
    tokens: list[re.Match[str]], statement: int, index: int, scopes: list[str]
) -> tuple[str, str, bool] | None:
    """The names of a kernel whose mark is at an index, and whether it is reachable."""
    words = [token[0] for token in tokens[statement : index + 40]]
    at = index - statement
    before = words[:at]
    depth = 0
    for place in range(at + 1, len(words) - 1):
        if words[place] == "(":
            # The name is in front of the parameters; attributes have theirs in double parentheses.
            if depth == 0 and _NAME.fullmatch(words[place - 1]) and words[place - 1] != "__attribute__":
                name = words[place - 1]
                spaces = [scope.removeprefix(_NAMESPACE) for scope in scopes if scope.startswith(_NAMESPACE)]
                linkage = '"C"' in before or '"C"' in scopes
                reachable = linkage and _OTHER not in scopes and "template" not in before
                return name, "::".join(space for space in (*spaces, name) if space), reachable
            depth += 1
        elif words[place] == ")":
            depth = max(0, depth - 1)
        elif words[place] in (";", "{", "}"):
            break
    return None
