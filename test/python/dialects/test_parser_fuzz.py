"""Mutated programs: parser, verifier and passes answer with success or a clean error, never anything else."""

import contextlib
import os
import random
import re
import signal
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from bb.dialects.context import make_context
from bb.dialects.diagnostics import Diagnostic
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.tools.bb_opt import main
from hypothesis import given
from hypothesis import strategies as st
from paths import ROOT
from xdsl.utils.exceptions import DiagnosticException, ParseError

TOKEN = re.compile(r'"[^"\n]*"|[%@^#!]?[A-Za-z0-9_.$]+|\s+|//[^\n]*|.', re.DOTALL)


def seeds() -> list[list[str]]:
    """The programs of the examples and of the filecheck tests, as tokens."""
    paths = sorted([*(ROOT / "examples").glob("*.mlir"), *(ROOT / "test" / "filecheck").rglob("*.mlir")])
    parts = [
        part for path in paths if "lit-out" not in path.parts for part in path.read_text().split("// -----")
    ]
    # Comments only slow the search down; long programs cost more than they find.
    tokens = [[token for token in TOKEN.findall(part) if not token.startswith("//")] for part in parts]
    return [part for part in tokens if 10 < len(part) < 2000]


SEEDS = seeds()
ODDITIES = ["", "-1", "9" * 30, "?", "{", "}", "loc(", "\x0c", "é"]
VOCABULARY = [*sorted({token for part in SEEDS for token in part}), *ODDITIES]


def mutate(tokens: list[str], chance: random.Random) -> str:
    tokens = list(tokens)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(6):
            case 0:
                del tokens[at]
            case 1:
                tokens[at] = chance.choice(VOCABULARY)
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens.insert(at, tokens[other])
            case 4:
                tokens[at] = tokens[at][: chance.randrange(len(tokens[at]) + 1)]
            case _:
                first, last = sorted((at, other))
                del tokens[first : min(last, first + 20)]
        if not tokens:
            return ""
    return "".join(tokens)


@pytest.mark.fuzz
@given(st.integers(0, 2**48))
def test_mutated_programs_give_clean_errors(seed: int):
    chance = random.Random(seed)
    text = mutate(chance.choice(SEEDS), chance)
    try:
        module = parse_module(text, "fuzz.mlir", make_context())
        verify(module)
    except ParseError as error:
        diagnostic = Diagnostic.of(error)
        assert diagnostic is not None
        assert diagnostic.place is not None
        assert diagnostic.render({"fuzz.mlir": text}).startswith("fuzz.mlir:")
        return
    except DiagnosticException:
        return
    # What verifies can be printed, and the printed text means the same.
    printed = str(module)
    assert str(parse_module(printed, "printed.mlir", make_context())) == printed


KINDS = [
    re.compile(pattern)
    for pattern in (
        r"%\w+",
        r"@\w+",
        r"\d+",
        r"(?:\d+x)+\w+",
        r"f16|bf16|f32|f64|i1|i32|i64",
        r"[A-Z]\w*",
        r"(?:array|block|arith|math)\.\w+",
        r"[a-z_]+",
    )
]
"""Tokens that can replace each other: names, extents, shapes, element types, dims, operations, words."""


def kind(token: str) -> int | None:
    return next((index for index, pattern in enumerate(KINDS) if pattern.fullmatch(token)), None)


def exchange(tokens: list[str], chance: random.Random) -> str:
    """The program with some tokens, or all that are equal, exchanged for others of their kind."""
    tokens = list(tokens)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        old = chance.choice(tokens)
        if kind(old) is None:
            continue
        new = chance.choice([token for token in tokens if kind(token) == kind(old)])
        everywhere = chance.random() < 0.5
        at = chance.choice([index for index, token in enumerate(tokens) if token == old])
        tokens = [
            new if index == at or (everywhere and token == old) else token
            for index, token in enumerate(tokens)
        ]
    return "".join(tokens)


def spoil(tokens: list[str], chance: random.Random) -> bytes:
    """The program with bytes changed, removed or inserted, or cut off."""
    data = bytearray("".join(tokens).encode())
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        data[at : at + chance.randrange(4)] = chance.randbytes(chance.randrange(3))
        if chance.random() < 0.2:
            del data[at:]
    return bytes(data)


class TookTooLongError(BaseException):
    """Nothing that the tool would catch."""


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


PIPELINES = (
    "",
    "canonicalize,cse,dce",
    "array-decompose,array-to-block",
    "array-decompose,array-to-block,canonicalize,cse,dce",
    "block-traffic",
)
MESSAGE = re.compile(
    r"fuzz\.mlir:\d+:\d+: (error|warning): |bb-opt: error: 'fuzz\.mlir' is no MLIR text: line \d+ "
)


@pytest.mark.fuzz
@given(st.integers(0, 2**48))
def test_mutated_files_end_in_success_or_a_message(seed: int):
    chance = random.Random(seed)
    tokens = chance.choice(SEEDS)
    match chance.randrange(6):
        case 0:
            data = spoil(tokens, chance)
        case 1:
            data = mutate(tokens, chance).encode()
        case _:
            data = exchange(tokens, chance).encode()
    errors = StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), time_limit(60):
        Path("fuzz.mlir").write_bytes(data)
        with contextlib.redirect_stderr(errors):
            status = main(["fuzz.mlir", "-p", chance.choice(PIPELINES), "-o", os.devnull])
    message = errors.getvalue()
    assert status in (0, 1)
    assert "internal error" not in message
    assert "left an invalid program" not in message
    assert status == 0 or MESSAGE.match(message), message
