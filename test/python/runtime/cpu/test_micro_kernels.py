"""Parts of the runtime's micro-kernels that the source of a program's kernels needs."""

import re
from pathlib import Path

import pytest
from bb.runtime.compilation.host_compiler import HostCompiler
from bb.runtime.compilation.inputs import native_directory
from bb.runtime.cpu import micro_kernels
from bb.runtime.cpu.micro_kernels import micro_kernels_of

COMPILER = HostCompiler(("c++",), "some version", ("-march=native",))
AMD = "x86_64\nvendor_id: AuthenticAMD\nflags: fma avx512_bf16"


@pytest.mark.parametrize(
    ("source", "processor", "parts"),
    [
        ("using T = float; bb::exp(x);", AMD, set()),
        (
            "using T = float; bb::contract(c);",
            AMD,
            {"contract_float_1", "contract_float_2", "contract_float_3"},
        ),
        (
            "const bb::bf16* b; float* c; bb::contract_panels(c);",
            AMD,
            {"contract_panels_1", "contract_panels_2"},
        ),
        (
            "float bb::bf16 bb::contract_bf16(c);",
            AMD,
            {"contract_bf16_1", "contract_bf16_2", "contract_bf16_3"},
        ),
        ("double* c; bb::contract_packed(c);", AMD, {f"contract_double_{n}" for n in (1, 2, 3)}),
    ],
)
def test_a_source_asks_for_what_it_calls(
    source: str, processor: str, parts: set[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(micro_kernels, "cpu_identity", lambda: processor)
    assert {each.name for each in micro_kernels_of(source, COMPILER)} == parts


def test_where_pairs_may_be_slow_there_is_the_other_way(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        micro_kernels, "cpu_identity", lambda: "x86_64\nvendor_id: GenuineIntel\nflags: avx512_bf16"
    )
    found = micro_kernels_of("float bb::bf16 bb::contract_bf16(c);", COMPILER)
    assert {f"contract_float_{part}" for part in (1, 2, 3, 4)} < {each.name for each in found}
    assert not any(each.defines for each in found)


def test_sources_have_the_parts_that_are_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(micro_kernels, "cpu_identity", lambda: "another")
    calls = " ".join(f"bb::{name}(" for name in micro_kernels._FILES)
    found = micro_kernels_of(f"float double bf16 f16 {calls}", COMPILER)
    assert {each.path.name for each in found} == {path.name for path in native_directory().glob("*.cpp")}
    for file in {each.path for each in found if each.part is not None}:
        parts = {each.part for each in found if each.path == file}
        assert parts == {int(number) for number in re.findall(r"BB_HAS_PART\((\d)\)", with_headers(file))}


def with_headers(source: Path) -> str:
    """The text of a native source and of the headers beside it that it names."""
    text = source.read_text()
    names = re.findall(r'#include "(\w+\.hpp)"', text)
    return text + "".join((source.parent / name).read_text() for name in names)
