"""Every fenced snippet in README.md and docs/*.md runs.

- ``python``: all of a page's snippets are executed in order, in one namespace.
- ``console`` and ``sh``: lines that start with ``$ `` run in the repository's root, with the interpreter's
  own tools first on PATH; a trailing ``\\`` continues a line. Where output follows, it must match; ``...``
  stands for any text within a line or, alone on a line, for any number of lines. A command must succeed;
  one that is meant to fail says so with a last line ``[exit status N]``.
- ``mlir``: must parse and verify.
- ``text``: is left alone. No other language may be used.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from paths import ROOT

pytestmark = pytest.mark.long

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]


@dataclass(frozen=True)
class Snippet:
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def snippets(page: Path) -> list[Snippet]:
    found: list[Snippet] = []
    fence = re.compile(
        r"^(?P<mark>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=mark)[ \t]*$", re.MULTILINE | re.DOTALL
    )
    content = page.read_text()
    for match in fence.finditer(content):
        line = content.count("\n", 0, match.start()) + 2
        found.append(Snippet(page, line, match["language"].strip(), match["text"]))
    return found


ALL = [snippet for page in PAGES for snippet in snippets(page)]


def of_language(*languages: str) -> list[Snippet]:
    return [snippet for snippet in ALL if snippet.language in languages]


def test_languages_are_known():
    known = {"python", "console", "sh", "mlir", "text"}
    assert [
        f"{snippet}: {snippet.language or 'none'}" for snippet in ALL if snippet.language not in known
    ] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.name)
def test_python(page: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for snippet in snippets(page):
        if snippet.language == "python":
            # Line breaks in front make tracebacks show the page's line numbers.
            exec(compile("\n" * (snippet.line - 1) + snippet.text, str(page), "exec"), namespace)


@pytest.mark.parametrize("snippet", of_language("mlir"), ids=str)
def test_mlir(snippet: Snippet):
    name = str(snippet.page.relative_to(ROOT))
    verify(parse_module(snippet.text, name, first_line=snippet.line))


def commands(snippet: Snippet) -> list[tuple[str, str]]:
    """The commands of a console snippet, each with the output that is shown under it."""
    found: list[tuple[str, list[str]]] = []
    continued = False
    for line in snippet.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif continued:
            found[-1] = (f"{found[-1][0]}\n{line.removeprefix('> ')}", [])
        else:
            assert found, f"{snippet}: output before the first command"
            found[-1][1].append(line)
            continue
        continued = line.endswith("\\")
    return [(command, "\n".join(output)) for command, output in found]


def matches(shown: str, output: str) -> bool:
    """True if the output is what the page shows; ``...`` alone on a line stands for any lines."""
    pattern = ""
    for line in shown.strip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, output.strip("\n") + "\n") is not None


@pytest.mark.parametrize("snippet", of_language("console", "sh"), ids=str)
def test_console(snippet: Snippet):
    if snippet.text.strip().split()[1:2] == ["make"]:
        pytest.skip("make targets run the suite that this test is part of")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, shown in commands(snippet):
        status = re.search(r"\n?\[exit status (\d+)\]\s*$", shown)
        shown = shown[: status.start()] if status else shown
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=ROOT,
            env=dict(os.environ, PATH=path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == (int(status[1]) if status else 0), f"{command}\n{done.stdout}"
        if shown.strip():
            assert matches(shown, done.stdout), (
                f"{command}\nprinted\n{done.stdout}\nbut the page shows\n{shown}"
            )


# The helpers above decide whether the documentation is true, so they are tested, too.


@pytest.mark.parametrize(
    ("shown", "output", "expected"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\n\nb\n", False),
        ("a\n...\nc", "a\nb\nb\nc\n", True),
        ("a\n...\nc", "a\nc\n", True),
        ("a\n...", "b\na\n", False),
        ("took ... s", "took 1.25 s\n", True),
        ("took ... s", "took 1.25\n s\n", False),
        ("  indented", "indented", False),
        ("50 * (1 + x)", "50 * (1 + x)\n", True),
    ],
)
def test_output_matching(shown: str, output: str, expected: bool):
    assert matches(shown, output) is expected


def test_console_snippets_are_split_into_commands():
    text = "$ one \\\n    more\nout\n\n$ two\n"
    assert commands(Snippet(ROOT / "x.md", 1, "console", text)) == [
        ("one \\\n    more", "out\n"),
        ("two", ""),
    ]
