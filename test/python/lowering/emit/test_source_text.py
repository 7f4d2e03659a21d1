"""Hostile names and texts: what reaches generated source is an identifier, or stays inside its comment."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bb.lowering.emit.source_text import comment_text, is_reserved, location_comment, location_of_line, mangle
from hypothesis import example, given
from hypothesis import strategies as st

HOSTILE = [
    "",
    "0",
    "int",
    "co_await",
    "and",
    "__builtin_trap",
    "_x",
    "a__b",
    "EOF",
    "BLOCK_M",
    '"; system("rm -rf ~"); //',
    "a\nb",
    "x\\",
    "x\\  ",
    "x??/",
    "*/ int main() {} /*",
    "/*",
    "$(touch pwned)",
    "`id`",
    "a;b|c&d>e<f",
    "-o/etc/passwd",
    "@response",
    "../../etc/passwd",
    "é",
    "名前",
    "\u202etxt.exe",
    "\u2028",
    "\x00",
    "\x1b[2J",
    "\r",
    "\udc80",
    "%s%n",
    "#include </etc/passwd>",
    "x" * 10_000,
    "*/" * 5_000,
    "\\" * 10_000,
    "/" * 300,
    "*/" * 100,
    "x_0123456789abcdef",
]
TEXTS = st.one_of(
    st.text(),
    st.text("*/\\?'\"\n ab_", max_size=300),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True),
)


def hostile_examples(test):
    for text in HOSTILE:
        test = example(text)(test)
    return test


@hostile_examples
@given(TEXTS)
def test_mangled_names_are_bounded_identifiers(name: str):
    mangled = mangle(name)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", mangled, re.ASCII)
    assert len(mangled) <= 64
    assert not is_reserved(mangled)


@given(TEXTS, TEXTS)
def test_equal_names_only_for_equal_texts(one: str, other: str):
    assert (mangle(one) == mangle(other)) == (one == other)
    # No text is the mangled name of another one.
    if mangle(one) != one:
        assert mangle(mangle(one)) != mangle(one)


def test_all_hostile_names_differ():
    assert len({mangle(name) for name in HOSTILE}) == len(HOSTILE)
    assert mangle("x" * 10_000) != mangle("x" * 9_999)


@pytest.mark.parametrize("name", ["q", "M", "gamma", "W_q", "row_max_2", "x1", "softmax", "x" * 64])
def test_ordinary_names_stay(name: str):
    assert mangle(name) == name


def test_changed_names_can_be_recognised():
    assert re.fullmatch(r"hidden_size_[0-9a-f]{16}", mangle("hidden size"))
    assert re.fullmatch(r"v0_[0-9a-f]{16}", mangle("0"))


@hostile_examples
@given(TEXTS)
def test_comments_stay_on_their_line(text: str):
    shown = comment_text(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1
    assert "*/" not in shown
    assert "/*" not in shown
    assert len(shown) <= 310
    assert not shown.rstrip().endswith(("\\", "??/", "*", "/"))
    shown.encode()


def test_comments_show_ordinary_texts_as_they_are():
    assert comment_text("attention.mlir:3:5") == "attention.mlir:3:5"
    assert comment_text("naïve 名前") == "naïve 名前"
    assert comment_text("a" * 30, longest=10) == "aaaaaaaaa…"


def test_lines_lead_to_the_nearest_location_above():
    source = "\n".join(
        [
            "#include <cmath>",
            location_comment("a.mlir:3:5"),
            "  one();",
            f"  {location_comment('a.mlir:4:5')}",
            "  two();  // at noon",
            "  three();",
        ]
    )
    found = [location_of_line(source, line) for line in range(9)]
    assert found == [None, None, *["a.mlir:3:5"] * 2, *["a.mlir:4:5"] * 5]


def test_locations_are_texts_from_outside():
    source = f"{location_comment('x.mlir' + chr(10) + '#error')}\nint x;\n"
    assert source.count("\n") == 2
    assert location_of_line(source, 2) == "x.mlir\\n#error"


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_a_compiler_takes_all_of_it(tmp_path: Path):
    lines = ["#include <cmath>", "#include <climits>", "#include <cstdio>", "namespace program {"]
    for text in HOSTILE:
        lines += [f"// {comment_text(text)}", f"int {mangle(text)} = 1;  /* {comment_text(text)} */"]
    lines += ["}", f"static_assert({len(lines) + 2} == __LINE__);"]
    (tmp_path / "names.cpp").write_text("\n".join(lines))
    command = [
        "c++",
        "-std=c++20",
        "-trigraphs",
        "-Wall",
        "-Wno-trigraphs",
        "-Werror",
        "-fsyntax-only",
        "names.cpp",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
