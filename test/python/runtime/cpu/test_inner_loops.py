"""Machine code of the inner loops of runtime/cpu/native: none touches the stack on any processor family.

Compiled to assembly for each family on any x86-64 machine; nothing of it runs.
"""

import functools
import platform
import re
import subprocess
from dataclasses import dataclass

import pytest
from tile_library_builds import FLAGS, NATIVE, require

pytestmark = pytest.mark.long

ZEN_4 = "-march=znver3 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512bf16"
"""Flags that GCC before version 13, which has no name for a Zen 4, takes for it with `-march=native`."""
FAMILIES = ("znver4", "sapphirerapids", "skylake-avx512", "haswell")
WITH_AVX512 = FAMILIES[:3]
WITH_BF16_PRODUCTS = FAMILIES[:2]

TILE_SOURCE = """#include "contract_tiles.hpp"
namespace bb::native {
BB_DEFINE_NARROW(float)
BB_DEFINE_WIDE(float)
BB_DEFINE_NARROW(double)
BB_DEFINE_WIDE(double)
}
"""


@dataclass(frozen=True)
class Loops:
    """Loops over k, one in each instance of a function template: rows * vectors sums are in registers."""

    template: str
    """Mangled; the last two arguments are the rows and the vectors."""
    product: str
    """The instruction that adds a product to a sum."""
    steps: int
    """Steps over k in one round of the loop."""

    def found(self, assembly: str) -> dict[tuple[str, ...], list[str]]:
        """The instructions of each instance's loop: its shortest one with the products of `steps` steps."""
        pattern = re.compile(rf"_Z\w*{self.template}[\w.]*:")
        found: dict[tuple[str, ...], list[str]] = {}
        for function in re.split(r"\.cfi_endproc", assembly):
            name = pattern.search(function)
            if name is None:
                continue
            rows, vectors = map(int, name.groups()[-2:])
            products = self.steps * rows * vectors
            body = function[name.end() :]
            if "movq\t%rsp, %rbp" in body:  # rbp is the frame pointer, not a number
                body = body.replace("%rbp", "%rsp")
            loops = [loop for loop in _loops(body) if _count(loop, self.product) == products]
            if loops:
                found[name.groups()] = min(loops, key=len)
        return found

    def touching_the_stack(self, assembly: str) -> list[tuple[str, ...]]:
        return [instance for instance, loop in self.found(assembly).items() if _count(loop, "%rsp")]


def _loops(function: str) -> list[list[str]]:
    """The lines of a function from each label to each later jump to it."""
    lines = [line for line in function.splitlines() if re.match(r"\t[a-z]|\.L\w+:", line)]
    labels = {line.rstrip(":"): number for number, line in enumerate(lines) if line.startswith(".L")}
    loops: list[list[str]] = []
    for number, line in enumerate(lines):
        jump = re.match(r"\tj\w+\t(\.L\w+)", line)
        if jump and labels[jump[1]] < number:
            loops.append(lines[labels[jump[1]] : number + 1])
    return loops


def _count(lines: list[str], pattern: str) -> int:
    return sum(re.search(pattern, line) is not None for line in lines)


def assembly(source: str, family: str, *flags: str) -> str:
    """The assembly text that g++ makes of a source for a family; runs the compiler."""
    command = ["g++", *FLAGS, *_target(family), *flags, "-O3", "-mprefer-vector-width=512", "-S", "-x", "c++"]
    command += [f"-I{NATIVE}", "-", "-o", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return done.stdout


@functools.cache
def _target(family: str) -> list[str]:
    require("native")
    if platform.machine() != "x86_64":
        pytest.skip("needs a compiler for x86-64")
    command = ["g++", f"-march={family}", "-E", "-x", "c++", "-"]
    known = subprocess.run(command, input="", capture_output=True, text=True, check=False).returncode == 0
    return [f"-march={family}"] if known or family != "znver4" else ZEN_4.split()


@pytest.mark.parametrize("family", FAMILIES)
def test_register_tiles(family: str):
    text = assembly(TILE_SOURCE, family)
    loops = Loops(r"8multiplyI([fd])Li(\d+)ELi(\d+)E", "vfmadd", 4)
    tiles = 14 + 10 + 7 + 6 if family in WITH_AVX512 else 12 + 6
    assert len(loops.found(text)) == 2 * tiles
    assert loops.touching_the_stack(text) == []


@pytest.mark.parametrize("family", WITH_BF16_PRODUCTS)
@pytest.mark.parametrize(("part", "tiles"), [(2, 14 + 10), (3, 7 + 6)])
def test_register_tiles_of_bf16(family: str, part: int, tiles: int):
    text = assembly('#include "contract_bf16.cpp"\n', family, f"-DBB_PART={part}")
    loops = Loops(r"14multiply_pairsILi(\d+)ELi(\d+)E", "vdpbf16ps", 4)
    assert len(loops.found(text)) == tiles
    assert loops.touching_the_stack(text) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_panels(family: str):
    text = assembly('#include "contract_panels.cpp"\n', family, "-DBB_PART=1")
    loops = Loops(r"5panelILi(\d+)ELi(\d+)E", "vfmadd", 1)
    assert len(loops.found(text)) == (2 * 8 if family in WITH_AVX512 else 2 * 6 + 2)
    assert loops.touching_the_stack(text) == []


# Not for 16 registers: 5 rows of 2 vectors take all of them, and a mask is a constant on the stack.
@pytest.mark.parametrize("family", WITH_AVX512)
def test_panels_of_bf16(family: str):
    text = assembly('#include "contract_bf16_panels.cpp"\n', family)
    ways = [Loops(r"7InFloat5panelILi(\d+)ELi(\d+)E", "vfmadd", 2)]
    if family in WITH_BF16_PRODUCTS:
        ways.append(Loops(r"6InBf165panelILi(\d+)ELi(\d+)E", "vdpbf16ps", 1))
    for loops in ways:
        assert len(loops.found(text)) == 2 * 8
        assert loops.touching_the_stack(text) == []


@pytest.mark.parametrize(
    ("setup", "load", "touches"),
    [
        ("", "movq\t%rax, %rcx", False),
        ("", "movq\t-8(%rsp), %rcx", True),
        ("", "movq\t-8(%rbp), %rcx", False),
        ("\tmovq\t%rsp, %rbp\n", "vmovaps\t-64(%rbp), %zmm1", True),
    ],
)
def test_an_access_to_the_stack_is_found(setup: str, load: str, touches: bool):
    loop = f".L2:\n\t{load}\n\tvfmadd231ps\t%zmm0, %zmm1, %zmm2\n\tjne\t.L2\n"
    text = f"_Z5panelILi1ELi1EEvv:\n{setup}{loop}\tret\n\t.cfi_endproc\n"
    loops = Loops(r"5panelILi(\d+)ELi(\d+)E", "vfmadd", 1)
    assert set(loops.found(text)) == {("1", "1")}
    assert loops.touching_the_stack(text) == ([("1", "1")] if touches else [])
