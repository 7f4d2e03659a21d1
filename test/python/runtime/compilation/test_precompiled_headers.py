"""The tile library's headers are precompiled once for a machine, and no kernel depends on it."""

import os
from pathlib import Path

import pytest
from bb.runtime.compilation.cache import CompileCache
from bb.runtime.compilation.directory import user_cache
from bb.runtime.compilation.shared_objects import HostCompilerError, compile_shared_object, load_shared_object
from fake_compilers import OLD, calls, fake_compiler, needs_compiler

pytestmark = [pytest.mark.long, needs_compiler]
SOURCE = """#include <bb/kernel.hpp>
extern "C" BB_EXPORT int add(int a, int b) { return (int)bb::round_up(a + b, 1); }
"""


def build(native: Path, source: str = SOURCE, name: str = "add") -> int:
    return load_shared_object(compile_shared_object(source, name=name, native=[native])).add(2, 3)


@pytest.fixture
def native(tmp_path: Path) -> Path:
    path = tmp_path / "native.cpp"
    path.write_text("int unused_by_kernels() { return 0; }\n")
    return path


@pytest.fixture
def quick(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a compiler whose precompiled headers take no time, and are of no use to it."""
    script = 'case "$*" in *c++-header*) echo unusable > headers.gch; exit 0 ;; esac'
    monkeypatch.setenv("CXX", str(fake_compiler(tmp_path / "bin", script)))
    return tmp_path / "bin"


def headers(folder: Path) -> list[str]:
    return [call for call in calls(folder) if "c++-header" in call]


def test_headers_are_made_beside_the_second_program(native: Path, compiler: Path):
    assert build(native) == 5
    assert headers(compiler) == []
    assert build(native, SOURCE + "// another\n") == 5
    assert build(native, SOURCE + "// a third\n") == 5
    assert len(headers(compiler)) == 1
    kernels = [call for call in calls(compiler) if "add.cpp" in call]
    assert ["-include" in call for call in kernels] == [False, False, True]


def test_errors_are_those_of_the_source(native: Path, quick: Path):
    for number in range(3):
        with pytest.raises(HostCompilerError, match=r"add.cpp:3:13: error: 'no_such_name'"):
            build(native, SOURCE + f"int wrong = no_such_name; // {number}\n")


def test_headers_that_the_compiler_does_not_take_again_are_left_out(native: Path, quick: Path):
    for number in range(3):
        assert build(native, SOURCE + f"// {number}\n") == 5
    included = ["-include" in call for call in calls(quick) if "add.cpp" in call]
    assert included == [False, False, True, False]


def test_a_compiler_without_precompiled_headers_is_asked_once(
    native: Path, tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    refusal = 'case "$*" in *c++-header*) echo "no such language" >&2; exit 1 ;; esac'
    monkeypatch.setenv("CXX", str(fake_compiler(tmp_path / "bin", refusal)))
    for number in range(3):
        assert build(native, SOURCE + f"// {number}\n") == 5
    assert len(headers(tmp_path / "bin")) == 1
    assert not any("-include" in call for call in calls(tmp_path / "bin"))


def test_damaged_and_evicted_headers_are_made_again(native: Path, quick: Path, cache_dir: Path):
    def made() -> list[Path]:
        return list((cache_dir / "objects").glob("headers-*.gch"))

    def again(number: int) -> None:
        assert build(native, SOURCE + f"// {number}\n") == 5

    again(0)
    again(1)
    made()[0].write_text("damaged")
    again(2)
    assert len(headers(quick)) == 2
    os.utime(made()[0], (OLD, OLD))
    CompileCache(user_cache(), limit=0).evict()
    assert not made()
    again(3)
    again(4)
    assert len(headers(quick)) == 3
