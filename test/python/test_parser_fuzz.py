"""Mutated programs: the parser and the verifier answer with success or a clean error, never anything else."""

import random
import re
from pathlib import Path

import pytest
from bb.dialects.context import make_context
from bb.dialects.diagnostics import Diagnostic
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import DiagnosticException, ParseError

ROOT = Path(__file__).resolve().parents[2]
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
