"""Words of the code: docstrings begin with a verb or a noun, and no word stands for a plainer one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT
from plain_words import avoided_words

FOLDERS = ("dialects", "passes", "lowering", "runtime", "frontends", "tools", "bench", "examples")
SUFFIXES = (".py", ".h", ".hpp", ".cpp", ".cuh")
QUESTION = re.compile(r"(What|Whether|How|Where|Who|Whoever|Why|Which)\b")
"""A docstring that begins so is a noun clause: the reader must find its verb."""


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring: of modules, classes and functions, and after assignments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str() as text)):
                        yield statement.lineno, text.lstrip()
                    case _:
                        pass


def files(folder: str, suffixes: tuple[str, ...]) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes and path.is_file()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_begin_with_a_verb_or_a_noun(folder: str):
    questions = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in files(folder, (".py",))
        for line, text in docstrings(path.read_text(encoding="utf-8"))
        if QUESTION.match(text)
    ]
    assert questions == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_words_of_code_are_plain(folder: str):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word}"
        for path in files(folder, SUFFIXES)
        if avoided_words(text := path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1)
        for word in avoided_words(line)
    ]
    assert found == []


def test_docstrings_of_all_kinds_are_found():
    source = '''"""Module."""

SIZE = 1
"""Constant."""


class A:
    """Class."""

    x: int
    """Field."""

    def f(self):
        """Method."""
        self.y = "no docstring"
        """Attribute."""
'''
    assert sorted(docstrings(source)) == [
        (1, "Module."),
        (4, "Constant."),
        (8, "Class."),
        (11, "Field."),
        (14, "Method."),
        (16, "Attribute."),
    ]


@pytest.mark.parametrize(("text", "is_question"), [("Whether x", True), ("Whichever", False)])
def test_questions_are_found_whole(text: str, is_question: bool):
    assert (QUESTION.match(text) is not None) == is_question
