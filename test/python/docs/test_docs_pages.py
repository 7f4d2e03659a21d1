"""The pages of the documentation: their links, their index, the length of their lines and their words.

`test_docs.py` runs the snippets, `test_generated_docs.py` compares generated pages with their generators.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from bb.tools.docs.markdown import NOTICE
from paths import ROOT
from plain_words import avoided_words

INDEX = ROOT / "docs" / "README.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")),
    *sorted((ROOT / "docs").glob("**/*.md")),
]
LONGEST_LINE = 120
FOLDERS = ("start", "concepts", "reference", "targets", "internals")


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def prose(page: Path) -> str:
    """The text of a page; lines of fenced snippets are empty."""
    return without_snippets(page.read_text(encoding="utf-8"))


def without_snippets(text: str) -> str:
    fence = re.compile(r"^(?P<mark>```+).*?^(?P=mark)[ \t]*$", re.MULTILINE | re.DOTALL)
    return fence.sub(lambda match: "\n" * match[0].count("\n"), text)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    found: Counter[str] = Counter()
    names: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?)\s*$", text, re.MULTILINE):
        spoken = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", spoken.lower()).replace(" ", "-")
        names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return names


@dataclass(frozen=True)
class Link:
    line: int
    target: str
    anchor: str


def links(text: str) -> list[Link]:
    """The links of a page that lead into the repository."""
    without_code = re.sub(r"`[^`\n]*`", lambda match: "x" * len(match[0]), text)
    found: list[Link] = []
    for match in re.finditer(r"\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)", without_code):
        if "://" not in match["target"]:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Link(line, match["target"], match["anchor"] or ""))
    return found


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_lead_somewhere(page: Path):
    broken: list[str] = []
    for link in links(prose(page)):
        target = (page.parent / link.target) if link.target else page
        if not target.exists() or (link.anchor and link.anchor not in anchors(prose(target))):
            broken.append(f"{shown(page)}:{link.line}: {link.target}#{link.anchor}")
    assert broken == []


def test_index_has_one_line_for_every_page():
    listed = [(INDEX.parent / link.target).resolve() for link in links(prose(INDEX))]
    pages = [page for page in PAGES if page.is_relative_to(INDEX.parent) and page != INDEX]
    assert sorted(page for page in listed if page.is_relative_to(INDEX.parent)) == pages


def test_index_lists_the_folders_in_reading_order():
    listed = [link.target.partition("/")[0] for link in links(prose(INDEX)) if link.target[0] != "."]
    assert tuple(dict.fromkeys(listed)) == FOLDERS
    assert listed == sorted(listed, key=FOLDERS.index)


def test_index_marks_generated_pages():
    for line in INDEX.read_text(encoding="utf-8").splitlines():
        for link in links(line) if line.startswith("- ") else ():
            is_generated = (INDEX.parent / link.target).read_text(encoding="utf-8").startswith(NOTICE)
            assert ("*generated*" in line) == is_generated, line


def too_long(text: str) -> list[int]:
    """Numbers of the lines that are too long and could be broken.

    A row of a table cannot be broken. Neither can the output in a console snippet, a line of a text snippet,
    or a line that is one word.
    """
    found: list[int] = []
    language = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            language = "" if language else line.strip("`").strip() or "text"
        is_output = language == "text" or (language == "console" and not line.startswith(("$ ", "> ")))
        is_fixed = is_output or (not language and (line.startswith("|") or " " not in line.strip(" -")))
        if len(line) > LONGEST_LINE and not is_fixed:
            found.append(number)
    return found


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_lines_are_short(page: Path):
    assert [f"{shown(page)}:{line}" for line in too_long(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_words_are_plain(page: Path):
    found = [
        f"{shown(page)}:{number}: {word}"
        for number, line in enumerate(prose(page).splitlines(), 1)
        for word in avoided_words(line)
    ]
    assert found == []


# The helpers above decide what is checked, so they are tested, too.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a " * 61, [1]),
        ("| " + "a " * 61, []),
        ("- " + "a" * 130, []),
        ("```console\n$ " + "a " * 61 + "\n" + "b " * 61 + "\n```\n" + "c " * 61, [2, 5]),
        ("```mlir\n" + "a " * 61 + "\n```\n```text\n" + "b " * 61 + "\n```", [2]),
    ],
)
def test_lines_that_cannot_be_broken_may_be_long(text: str, expected: list[int]):
    assert too_long(text) == expected


def test_words_are_found_whole():
    assert avoided_words("Behind it, at hand; a new key") == ["Behind", "at hand"]


def test_anchors_are_those_of_github():
    text = "# The `-p` option, in short\n\n## A\n\n## A\n\n### [tools](tools.md): snake_case\n"
    assert anchors(text) == {"the--p-option-in-short", "a", "a-1", "tools-snake_case"}


def test_links_in_code_and_snippets_are_text():
    text = "[a](b.md#c) `[d](e.md)` [f](https://x.org/g)\n\n```text\n[h](i.md)\n```\n[j](#k)\n"
    assert links(without_snippets(text)) == [Link(1, "b.md", "c"), Link(6, "", "k")]
