"""Choice of the C++ compiler and its flags, and messages for the user when it fails."""

import os
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from bb.runtime.compilation.errors import HostCompilerError, first_error
from bb.runtime.compilation.host_compiler import HostCompiler, find_compiler, forget_compilers
from bb.runtime.compilation.shared_objects import compile_shared_object, load_shared_object
from bb.runtime.host.processor import describe_processor
from fake_compilers import ADD, REAL, calls, fake_compiler, needs_compiler

pytestmark = pytest.mark.usefixtures("cache_dir")


def refusal() -> str:
    forget_compilers()
    with pytest.raises(HostCompilerError) as error:
        find_compiler()
    assert "\n" not in str(error.value)
    return str(error.value)


@needs_compiler
def test_this_machine_has_a_compiler_and_it_is_asked_once(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    path = fake_compiler(tmp_path / "bin")
    monkeypatch.setenv("CXX", str(path))
    found = find_compiler()
    assert found.command == (str(path),)
    assert find_compiler() is found
    before = (tmp_path / "bin" / "calls").read_text()
    forget_compilers()  # as in another process
    assert find_compiler() == found
    assert (tmp_path / "bin" / "calls").read_text() == before
    # A record that does not make sense counts as none; so does that of a compiler that was replaced.
    for damage in (b"", b"[]", b'{"version": 1}', b'{"version": "1", "optional": ["-ffast-math"]}'):
        for record in (cache_dir / "compilers").iterdir():
            record.write_bytes(damage)
        forget_compilers()
        assert find_compiler() == found
    asked = len(calls(tmp_path / "bin", "version"))
    assert asked == 5
    os.utime(path, (1, 1))
    forget_compilers()
    assert find_compiler() == found
    assert len(calls(tmp_path / "bin", "version")) == asked + 1


@needs_compiler
def test_flags(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CXX", raising=False)
    compiler = find_compiler()
    flags = compiler.compile_flags()
    assert {"-std=c++20", "-O3", "-fPIC", "-ffp-contract=fast", "-fvisibility=hidden"} <= set(flags)
    assert "-ffast-math" not in flags
    assert compiler.link_flags()[0] == "-shared"
    checked = compiler.compile_flags(("address", "undefined"))
    assert {"-O1", "-g1", "-fsanitize=address,undefined", "-fno-omit-frame-pointer"} <= set(checked)
    assert "-O3" not in checked
    with pytest.raises(
        ValueError, match="there is no sanitizer 'x,-fplugin', only address, undefined, thread"
    ):
        compiler.compile_flags(("x,-fplugin",))


@needs_compiler
def test_only_flags_that_the_compiler_has_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    reject = 'case "$*" in *native*|*prefer*|*openmp*) echo "error: unknown option"; exit 1 ;; esac'
    monkeypatch.setenv("CXX", str(fake_compiler(tmp_path, reject)))
    found = find_compiler()
    assert found.optional == ("-Wl,--no-undefined",)
    assert not found.has_openmp
    assert load_shared_object(compile_shared_object(ADD, name="add")).add(2, 3) == 5


@needs_compiler
def test_another_spelling_of_a_flag_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = 'case "$*" in *-march=native*) exit 1 ;; *-mcpu=native*) : > probe.so; exit 0 ;; esac'
    monkeypatch.setenv("CXX", str(fake_compiler(tmp_path, lines)))
    assert find_compiler().optional[0] == "-mcpu=native"


@needs_compiler
def test_cxx_may_hold_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "with blanks"
    path = fake_compiler(folder)
    monkeypatch.setenv("CXX", f"{shlex.quote(str(path))} -DANSWER=42 '-DTEXT=a b'")
    assert find_compiler().command == (str(path), "-DANSWER=42", "-DTEXT=a b")
    source = 'extern "C" __attribute__((visibility("default"))) int answer() { return ANSWER; }'
    assert load_shared_object(compile_shared_object(source, name="answer")).answer() == 42


@pytest.mark.parametrize(
    ("cxx", "message"),
    [
        ("no-such-compiler -O2", "CXX is 'no-such-compiler -O2', but there is no program 'no-such-compiler'"),
        ("g++; touch pwned", "CXX is 'g++; touch pwned', but there is no program 'g++;' that can be run"),
        ("$(touch pwned)", "there is no program '$(touch' that can be run"),
        ("'g++", "CXX is ''g++', which is no command: no closing quotation"),
        ("''", "CXX is '''', but there is no program '' that can be run"),
        ("/", "CXX is '/', but there is no program '/' that can be run"),
        ("false", "CXX is 'false', which cannot be run: "),
        ("true", "CXX is 'true', which does not compile C++20: it reported success but made no object"),
        ("./text", "CXX is './text', but there is no program './text' that can be run"),
    ],
)
def test_a_cxx_that_is_no_compiler_is_refused(
    cxx: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("not a program")
    monkeypatch.setenv("CXX", cxx)
    assert message in refusal()
    assert not list(tmp_path.glob("**/*pwned*"))


def test_a_program_of_a_foreign_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = tmp_path / "g++"
    broken.write_bytes(b"\x7fELF\x00nonsense")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    assert refusal() == f"{broken} cannot be run: exec format error"


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal().startswith("no C++ compiler found: set CXX, or install g++ or clang++")
    with pytest.raises(HostCompilerError, match="no C\\+\\+ compiler found"):
        compile_shared_object(ADD, name="add")


@needs_compiler
def test_the_first_compiler_on_the_path_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CXX", raising=False)
    fake_compiler(tmp_path / "a", "echo 'this one is broken' ; exit 3", "c++")
    fake_compiler(tmp_path / "b", name="clang++")
    monkeypatch.setenv("PATH", f"{tmp_path / 'a'}:{tmp_path / 'b'}:{os.environ['PATH']}")
    fake_compiler(tmp_path / "b", name="g++")
    assert find_compiler().command == (str(tmp_path / "b" / "g++"),)
    monkeypatch.setenv("PATH", str(tmp_path / "a"))
    assert "c++ cannot be run: it ended with status 3 and printed 'this one is broken' last" in refusal()


@needs_compiler
def test_an_error_leads_to_the_users_op(cache_dir: Path):
    source = "\n".join(
        [
            "#include <cmath>",
            "// at attention.mlir:3:5",
            "static int one() { return 1; }",
            "// at attention.mlir:7:5",
            "int two() {",
            "  return missing + one();",
            "}",
        ]
    )
    with pytest.raises(HostCompilerError) as caught:
        compile_shared_object(source, name="attention")
    error = caught.value
    assert error.location == "attention.mlir:7:5"
    assert str(error).startswith(
        "attention.mlir:7:5: the C++ generated for 'attention' does not compile: attention.cpp:6:10: error: "
    )
    assert error.source_path is not None
    assert error.source_path.is_relative_to(cache_dir)
    assert str(error).endswith(f"; its source is kept in {error.source_path}")
    assert error.source_path.read_text() == source
    assert "missing" in error.output
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.location, copy.output) == (str(error), error.location, error.output)


@needs_compiler
def test_an_error_in_a_header_leads_to_the_op_that_uses_it(tmp_path: Path):
    (tmp_path / "tile.hpp").write_text(
        '#pragma once\ntemplate <int N> int tile() { static_assert(N % 4 == 0, "no"); return N; }\n'
    )
    source = (
        '#include "tile.hpp"\n// at f.mlir:1:1\nint a = tile<4>();\n// at f.mlir:2:1\nint b = tile<3>();\n'
    )
    with pytest.raises(HostCompilerError) as error:
        compile_shared_object(source, name="f", include=[tmp_path])
    assert error.value.location == "f.mlir:2:1"
    assert "tile.hpp:2" in str(error.value)


@needs_compiler
def test_what_the_linker_says_is_shown():
    source = 'extern "C" int missing(); extern "C" int f() { return missing(); }'
    with pytest.raises(HostCompilerError, match="undefined reference to `missing'"):
        compile_shared_object(source, name="f")


@needs_compiler
def test_a_compiler_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CXX", str(fake_compiler(tmp_path, "[ $kind = compile ] && kill -9 $$")))
    with pytest.raises(
        HostCompilerError, match="'add' does not compile: it was stopped by signal 9; its source"
    ):
        compile_shared_object(ADD, name="add")


FILE_LIMIT = "a file would be larger than the system allows this process to write (ulimit -f)"


@pytest.mark.parametrize(
    ("output", "status", "message"),
    [
        ("", 0, "it reported success but made no object"),
        ("", 1, "it ended with status 1"),
        ("", -11, "it was stopped by signal 11"),
        ("one\nnonsense\n\n", 2, "it ended with status 2 and printed 'nonsense' last"),
        ("g++: internal compiler error: Segmentation fault signal terminated program as\nSee <file:///x>.", 4,
         "g++: internal compiler error: Segmentation fault signal terminated program as"),
        ("g++: internal compiler error: File size limit exceeded signal terminated program as", 4,
         FILE_LIMIT),
        ("collect2: fatal error: ld terminated with signal 25 [File size limit exceeded]", 1, FILE_LIMIT),
        ("as: a.o: final close failed: File too large", 1, FILE_LIMIT),
        ("", -25, FILE_LIMIT),
        ("a.cpp:1:2: warning: x\na.cpp:2:3: error: y  z\na.cpp:4:5: error: w", 1, "a.cpp:2:3: error: y z"),
        ("g++: fatal error: Killed signal terminated program cc1plus", 1,
         "g++: fatal error: Killed signal terminated program cc1plus"),
        ("/usr/bin/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status", 1,
         "/usr/bin/ld: a.o: undefined reference to `f'"),
    ],
)  # fmt: skip
def test_the_first_error_is_shown(output: str, status: int, message: str):
    assert first_error(output, status) == message


def test_long_messages_are_cut():
    assert len(first_error("x.cpp:1:1: error: " + "y" * 10_000, 1)) == 400


HOSTILE = [
    '"; touch pwned; "',
    "$(touch pwned)",
    "`touch pwned`",
    "a\ntouch pwned",
    "*/ #error",
    "../../pwned",
    "-o/dev/full",
    "@pwned",
    "int",
    "名前",
    "\udc80\x00",
    "x" * 10_000,
    "",
]


@needs_compiler
def test_hostile_names_compile_and_do_nothing_else(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("CXX", str(fake_compiler(tmp_path / "bin")))
    fast = {name: compile_shared_object("", name=name) for name in HOSTILE}
    assert len(set(fast.values())) == len(HOSTILE)
    assert all(path.parent == cache_dir / "objects" and len(path.name) < 200 for path in fast.values())
    assert not list(work.iterdir())
    assert not list(tmp_path.glob("**/*pwned"))
    for name in HOSTILE:
        with pytest.raises(HostCompilerError) as error:
            compile_shared_object("#error no", name=name)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 1000
    assert not list(work.iterdir())


@needs_compiler
@pytest.mark.parametrize(
    ("sanitizer", "source", "report"),
    [
        ("address", "int f(int n) { int* p = new int[4]; p[n] = 1; int r = p[0]; delete[] p; return r; }",
         "heap-buffer-overflow"),
        ("undefined", "int f(int n) { return 2147483647 + n; }", "signed integer overflow"),
    ],
)  # fmt: skip
def test_sanitizer_builds_report(sanitizer: str, source: str, report: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CXX", raising=False)
    compiler = find_compiler()
    runtimes = compiler.sanitizer_runtimes((sanitizer,))
    if not runtimes:
        pytest.skip(f"the compiler has no runtime for the {sanitizer} sanitizer")
    source = f'extern "C" __attribute__((visibility("default"))) {source}'
    path = compile_shared_object(source, name="f", sanitize=(sanitizer,))
    done = subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(path)!r}).f(4)"],
        env=dict(os.environ, LD_PRELOAD=":".join(map(str, runtimes)), ASAN_OPTIONS="detect_leaks=0"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert report in done.stderr


def test_processors_are_told_apart(tmp_path: Path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nmodel name\t: One\nflags\t: fpu avx2\n\nprocessor\t: 1\nmodel name\t: Two\n"
    )
    one = describe_processor(cpuinfo)
    assert "model name: One\nflags: fpu avx2" in one
    assert "Two" not in one
    cpuinfo.write_text("processor\t: 0\nmodel name\t: One\nflags\t: fpu avx2 avx512f\n")
    assert describe_processor(cpuinfo) != one
    assert describe_processor(tmp_path / "missing")


def test_the_identity_of_a_compiler_counts_its_environment(monkeypatch: pytest.MonkeyPatch):
    compiler = HostCompiler((REAL,), "1", ())
    monkeypatch.delenv("CPATH", raising=False)
    before = compiler.identity
    monkeypatch.setenv("CPATH", "elsewhere")
    assert compiler.identity != before
