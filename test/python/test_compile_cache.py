"""The cache of compiled objects: what it is keyed by, who may use it at once, and what it survives."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bb.runtime import file_locks, shared_objects
from bb.runtime.cache_directory import CacheDirectory, CacheWarning, cache_path, private_cache, user_cache
from bb.runtime.compile_cache import CompileCache, digest_of
from bb.runtime.compile_errors import HostCompilerError
from bb.runtime.host_compiler import HostCompiler, find_compiler
from bb.runtime.settings import SettingError
from bb.runtime.shared_objects import compile_shared_object, load_shared_object, native_object
from fake_compilers import calls, fake_compiler, needs_compiler

pytestmark = needs_compiler

ADD = 'extern "C" __attribute__((visibility("default"))) int add(int a, int b) { return a + b; }\n'
OLD = 1_000_000_000


def build(source: str = ADD, **options: Any) -> Path:
    return compile_shared_object(source, name=options.pop("name", "add"), **options)


def works(path: Path) -> bool:
    return load_shared_object(path).add(2, 3) == 5


@pytest.fixture
def compiler(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a compiler that counts its calls."""
    folder = tmp_path / "compiler"
    monkeypatch.setenv("CXX", str(fake_compiler(folder)))
    find_compiler()
    return folder


def test_an_object_is_compiled_once(compiler: Path, cache_dir: Path):
    first = build()
    assert works(first)
    assert first.parent == cache_dir / "objects"
    assert build() == first
    assert len(calls(compiler)) == 1
    assert not list((cache_dir / "scratch").iterdir())
    assert not list((cache_dir / "locks").iterdir())


def test_what_an_object_depends_on(compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    header, native = tmp_path / "include" / "bb" / "tile.hpp", tmp_path / "native"
    header.parent.mkdir(parents=True)
    native.mkdir()
    header.write_text("")
    options: dict[str, Any] = {"include": [tmp_path / "include"], "defines": {"UNIT": 1}}
    monkeypatch.setattr(shared_objects, "native_directory", lambda: native)
    seen = {build(**options)}

    def is_new(**changes: Any) -> bool:
        path = build(**{**options, **changes})
        new = path not in seen
        seen.add(path)
        return new

    assert not is_new()
    assert is_new(source=ADD + "\n")
    assert is_new(name="sum")
    assert is_new(defines={"UNIT": 2})
    assert is_new(defines={"OTHER": 1})
    assert is_new(sanitize=["undefined"])
    found = find_compiler()
    assert is_new(compiler=HostCompiler(found.command, "another version", found.optional))
    assert is_new(compiler=HostCompiler((*found.command, "-g0"), found.version, found.optional))
    assert is_new(compiler=HostCompiler(found.command, found.version, found.optional[:1]))
    header.write_text("// changed\n")
    assert is_new()
    (header.parent / "other.hpp").write_text("")
    assert is_new()
    (native / "dot.cpp").write_text("")
    assert is_new()
    monkeypatch.setattr(shared_objects, "cpu_identity", lambda: "another processor")
    assert is_new()
    monkeypatch.setattr(shared_objects, "_package_version", lambda: "another version")
    assert is_new()
    assert len(calls(compiler)) == len(seen)


def test_the_hash_sees_where_parts_end():
    assert len({digest_of(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], [])}) == 5


def test_native_sources_are_compiled_once_and_linked(compiler: Path, tmp_path: Path):
    native = tmp_path / "native"
    native.mkdir()
    (native / "twice.cpp").write_text("int twice(int n) { return n + n; }\n")
    (native / "thrice.cpp").write_text("int thrice(int n) { return 3 * n; }\n")
    sources = sorted(native.iterdir())
    source = 'int twice(int); int thrice(int); extern "C" __attribute__((visibility("default"))) '
    one = build(f"{source} int f(int n) {{ return twice(n) + thrice(n); }}", native=sources, name="one")
    two = build(f"{source} int f(int n) {{ return twice(thrice(n)); }}", native=sources, name="two")
    assert (load_shared_object(one).f(2), load_shared_object(two).f(2)) == (10, 12)
    assert len(calls(compiler)) == 4
    made = native_object(sources[0])
    assert made.suffix == ".o"
    assert len(calls(compiler)) == 4
    assert load_shared_object(build(ADD, objects=[made], name="three")).add(1, 1) == 2
    (native / "twice.cpp").write_text("int twice(int n) { return n; }\n")
    again = build(f"{source} int f(int n) {{ return twice(n) + thrice(n); }}", native=sources, name="one")
    assert load_shared_object(again).f(2) == 8
    with pytest.raises(HostCompilerError, match=r"missing\.cpp cannot be read: no such file"):
        build(native=[native / "missing.cpp"])
    (native / "broken.cpp").write_text("#error no\n")
    with pytest.raises(HostCompilerError, match=r"broken\.cpp"):
        native_object(native / "broken.cpp")


def test_macros_have_names():
    with pytest.raises(ValueError, match="'A;B' is no name for a macro"):
        build(defines={"A;B": 1})


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (".so", truncate),
        (".so", flip_a_bit),
        (".so", Path.unlink),
        (".so", lambda path: path.write_bytes(b"")),
        (".json", truncate),
        (".json", Path.unlink),
        (".json", lambda path: path.write_text("[]")),
        (".json", lambda path: path.write_text('{"sha256": "../../x"}')),
        (".json", lambda path: path.write_bytes(b"\xff")),
    ],
)
def test_a_damaged_entry_is_compiled_again(
    suffix: str, damage: Callable[[Path], object], compiler: Path, cache_dir: Path
):
    build()
    (path,) = (cache_dir / "objects").glob(f"*{suffix}")
    # A copy: changing the file of a loaded object would change this process.
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    damage(path)
    assert works(build())
    assert len(calls(compiler)) == 2
    assert works(build())
    assert len(calls(compiler)) == 2


def entries(cache_dir: Path) -> set[str]:
    return {path.name.partition("-")[0] for path in (cache_dir / "objects").iterdir()}


def age(path: Path, seconds_after_old: int) -> None:
    os.utime(path, (OLD + seconds_after_old, OLD + seconds_after_old))


def test_the_least_recently_used_go_first(cache_dir: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch):
    paths = {name: build(name=name) for name in ("one", "two", "three", "four")}
    loaded = load_shared_object(paths["two"])
    size = sum(path.stat().st_size for path in paths.values())
    for position, name in enumerate(("two", "one", "three", "four")):
        age(paths[name], position)
    assert build(name="two") == paths["two"]  # used again: the oldest becomes the youngest
    monkeypatch.setenv("BB_CACHE_SIZE", str(size))
    build(name="five")
    assert entries(cache_dir) == {"two", "three", "four", "five"}
    assert not list((cache_dir / "objects").glob("one-*"))
    monkeypatch.setenv("BB_CACHE_SIZE", "0")
    build(name="six")
    # What is young may be about to be loaded.
    assert entries(cache_dir) == {"two", "five", "six"}
    for path in (cache_dir / "objects").iterdir():
        age(path, 0)
    build(name="seven")
    assert entries(cache_dir) == {"seven"}
    assert loaded.add(2, 3) == 5
    assert works(build(name="two"))


def test_kept_sources_are_evicted_too(cache_dir: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(HostCompilerError) as error:
        build("#error no")
    kept = error.value.source_path
    assert kept is not None
    age(kept, 0)
    monkeypatch.setenv("BB_CACHE_SIZE", "1")
    build()
    assert not kept.exists()


def test_a_size_that_is_none_is_refused(cache_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BB_CACHE_SIZE", "large")
    with pytest.raises(SettingError, match="BB_CACHE_SIZE is 'large'"):
        build()


def test_directories_of_dead_processes_are_removed(cache_dir: Path, compiler: Path):
    build()
    scratch = cache_dir / "scratch"
    dead = scratch / "dead"
    dead.mkdir()
    (dead / ".owner").touch()
    (dead / "half.so").write_bytes(b"x")
    (scratch / "new").mkdir()  # its maker has not locked it yet
    (scratch / "half.part").touch()
    (scratch / "old.part").touch()
    age(scratch / "old.part", 0)
    with file_locks.scratch_directory(scratch) as alive:
        build(name="other")
        assert {path.name for path in scratch.iterdir()} == {alive.name, "new", "half.part"}
    assert not alive.exists()


def test_a_directory_that_cannot_be_made(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BB_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(CacheWarning) as caught:
        path = build()
    assert works(path)
    (warning,) = caught
    assert "\n" not in str(warning.message)
    assert "file/cache cannot be made (not a directory): compiled code lasts only" in str(warning.message)
    assert not path.is_relative_to(tmp_path)
    # Once is enough, and this process compiles it once.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build() == path


def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by permissions: the superuser may write anyway.
    allowed = os.access

    def access(path: Any, mode: int, **rest: Any) -> bool:
        return not mode & os.W_OK and allowed(path, mode, **rest)

    monkeypatch.setattr(os, "access", access)


def test_a_read_only_directory_is_read(cache_dir: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch):
    path = build()
    read_only(monkeypatch)
    assert build() == path
    with pytest.warns(CacheWarning, match="cannot be written to: compiled code lasts only as long"):
        other = build(name="other")
    assert works(other)
    assert not other.is_relative_to(cache_dir)
    with pytest.raises(HostCompilerError) as error:
        build("#error no")
    kept = error.value.source_path
    assert kept is not None
    assert not kept.is_relative_to(cache_dir)
    kept.unlink()
    kept.parent.rmdir()


def test_a_directory_that_everybody_writes_to_is_not_trusted(cache_dir: Path, compiler: Path):
    path = build()
    cache_dir.chmod(0o777)
    with pytest.warns(CacheWarning, match="can be written to by every user: compiled"):
        other = build()
    assert other != path
    assert len(calls(compiler)) == 2


def test_a_new_directory_is_the_users_alone(cache_dir: Path, compiler: Path):
    build()
    assert cache_dir.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in cache_dir.iterdir()} == {0o700}


def test_the_default_directory_is_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BB_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    path, chosen = cache_path()
    assert not chosen
    assert path.is_relative_to(tmp_path)
    assert path.name == "blockbuster"
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    tmp_path.chmod(0o755)
    if os.getuid() != 0:
        assert user_cache().problem == "belongs to another user"


def test_a_full_disk(cache_dir: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch):
    store = CompileCache.store

    def full(self: CompileCache, *arguments: Any) -> Path:
        if not self.directory.private:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return store(self, *arguments)

    monkeypatch.setattr(CompileCache, "store", full)
    with pytest.warns(CacheWarning, match=r"cannot be used \(no space left on device\)"):
        assert works(build())

    def broken(self: CompileCache, *arguments: Any) -> Path:
        raise OSError(errno.EIO, "Bad disk")

    monkeypatch.setattr(CompileCache, "store", broken)
    with pytest.raises(HostCompilerError, match=r"the temporary directory .* cannot be used \(bad disk\)"):
        build(name="other", use_cache=False)


SCRIPT = """
import sys
from bb.runtime.shared_objects import compile_shared_object, load_shared_object
path = compile_shared_object(sys.stdin.read(), name="add", use_cache=sys.argv[1] == "cached")
assert load_shared_object(path).add(2, 3) == 5
print(path)
"""


def start(argument: str = "cached", source: str = ADD) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(source)
    process.stdin.close()
    process.stdin = None
    return process


def finish(process: "subprocess.Popen[str]") -> Path:
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")  # no progress line in a pipe either
    return Path(output.strip())


def test_without_the_cache(cache_dir: Path, compiler: Path):
    path = build()
    other = build(use_cache=False)
    assert works(other)
    assert not other.is_relative_to(cache_dir)
    assert other.is_relative_to(private_cache().path)
    before = sorted(cache_dir.rglob("*"))
    gone = finish(start("private"))
    assert gone not in (path, other)
    assert not gone.exists()
    assert not gone.parents[1].exists()
    assert sorted(cache_dir.rglob("*")) == before


def test_a_source_that_failed_outlives_the_process(cache_dir: Path, compiler: Path, tmp_path: Path):
    code = (
        "from bb.runtime.shared_objects import HostCompilerError, compile_shared_object\n"
        "try:\n"
        "    compile_shared_object('#error no', name='f', use_cache=False)\n"
        "except HostCompilerError as error:\n"
        "    print(error.source_path)\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = dict(os.environ, TMPDIR=str(temporary))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    kept = Path(done.stdout.strip())
    assert kept.read_text() == "#error no"
    assert list(temporary.iterdir()) == [kept.parent]
    assert not list((cache_dir / "failed").iterdir())


def test_a_forked_child_leaves_its_parents_directory_alone(cache_dir: Path, compiler: Path):
    path = build(use_cache=False)
    code = (
        "import os, sys\n"
        "from bb.runtime.cache_directory import private_cache\n"
        "mine = private_cache().path\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    assert private_cache().path != mine\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert mine.is_dir()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.exists()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_eight_processes_compile_once_though_one_is_killed(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "compiler"
    # The first compilation gets stuck half way, with a part of its output written.
    stuck = f'if [ $kind = compile ] && mkdir "{folder}/first" 2>/dev/null; then\n'
    stuck += '  for word in "$@"; do case "$word" in *.so) echo half > "$word" ;; esac; done\n'
    stuck += f'  while [ ! -e "{folder}/go" ]; do sleep 0.05; done\n  exit 1\nfi'
    monkeypatch.setenv("CXX", str(fake_compiler(folder, stuck)))
    find_compiler()
    victim = start()
    wait_until(lambda: len(calls(folder)) == 1)
    others = [start() for _ in range(7)]
    time.sleep(0.5)
    assert len(calls(folder)) == 1  # they wait for the first
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    paths = {finish(process) for process in others}
    (folder / "go").touch()
    assert len(paths) == 1
    assert works(paths.pop())
    assert len(calls(folder)) == 2
    check_whole(cache_dir)
    assert len(list((cache_dir / "objects").iterdir())) == 2
    build(name="next")
    assert not list((cache_dir / "scratch").iterdir())
    assert not list((cache_dir / "locks").iterdir())


def check_whole(cache_dir: Path) -> None:
    """Every object of the cache has the hash that its manifest gives."""
    cache = CompileCache(CacheDirectory(cache_dir), 2**30)
    objects = [path for path in (cache_dir / "objects").iterdir() if path.suffix != ".json"]
    for path in objects:
        assert cache.find(path.stem.rpartition("-")[0], path.suffix) == path


SLOW = f"""#include <algorithm>
#include <map>
#include <string>
{ADD}
std::map<std::string, std::string> words;
extern "C" __attribute__((visibility("default"))) int count(const char* text) {{
  words[text] += text;
  return words.size();
}}
"""


def test_processes_of_the_real_compiler_one_killed_half_way(cache_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CXX", raising=False)
    find_compiler()
    processes = [start(source=SLOW) for _ in range(8)]
    compiling = cache_dir / "scratch"
    wait_until(lambda: any(compiling.glob("*/*.cpp")))
    time.sleep(0.3)
    # Whoever holds the lock is compiling; it may as well be any of them.
    holder = next((process for process in processes if compiles(process)), processes[0])
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    paths = {finish(process) for process in processes if process is not holder}
    assert len(paths) == 1
    assert works(paths.pop())
    check_whole(cache_dir)


def compiles(process: "subprocess.Popen[str]") -> bool:
    psutil = pytest.importorskip("psutil")
    return process.poll() is None and bool(psutil.Process(process.pid).children())


def test_threads_of_one_process_compile_once(cache_dir: Path, compiler: Path):
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(build())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(calls(compiler)) == 1


def test_file_systems_without_locks(cache_dir: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch):
    def no_locks(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert works(build())
    assert works(build())
    assert len(calls(compiler)) == 1
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(build(name="many"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(map(works, found))
    check_whole(cache_dir)
    scratch = cache_dir / "scratch" / "dead"
    scratch.mkdir()
    (scratch / ".owner").touch()
    file_locks.remove_abandoned(scratch.parent)
    assert scratch.exists()  # only its age can tell
    age(scratch, 0)
    file_locks.remove_abandoned(scratch.parent)
    assert not scratch.exists()


def test_patience_with_a_lock_ends(cache_dir: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch):
    build()
    cache = CompileCache(CacheDirectory(cache_dir), 2**30, patience=0.1)
    ticks: list[None] = []
    with (
        cache.lock("entry", lambda: False, lambda: None),
        cache.lock("entry", lambda: False, lambda: ticks.append(None)),
    ):
        assert ticks
    with cache.lock("entry", lambda: False, lambda: None), cache.lock("entry", lambda: True, pytest.fail):
        pass
    assert not list((cache_dir / "locks").iterdir())


def test_progress(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any):
    slow = fake_compiler(tmp_path / "slow", "[ $kind = compile ] && sleep 1.5")
    monkeypatch.setenv("CXX", str(slow))
    find_compiler()
    shown: list[str] = []
    build(name="attention\n\x1b[2J", progress=shown.append)
    assert shown == ["compiling attention\\n\\x1b[2J … 1 s", ""]
    build(name="attention\n\x1b[2J", progress=shown.append)
    assert len(shown) == 2
    assert capfd.readouterr() == ("", "")


def test_a_terminal_shows_a_line_and_clears_it(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    from bb.runtime import compile_progress

    monkeypatch.setattr(compile_progress, "FIRST_SECONDS", 0.0)
    with compile_progress.ticking("compiling f", None) as ticker:
        ticker.tick()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with compile_progress.ticking("compiling f", None) as ticker:
        ticker.tick()
        ticker.tick()
    assert capsys.readouterr().err == "\r\x1b[Kcompiling f … 0 s\r\x1b[K"


def test_an_interrupt_ends_the_compiler(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "stuck"
    stuck = f'if [ $kind = compile ]; then sleep 60 & echo $! > "{folder}/child"; wait; fi'
    monkeypatch.setenv("CXX", str(fake_compiler(folder, stuck)))
    find_compiler()

    def interrupt(text: str) -> None:
        if text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(progress=interrupt)
    child = int((folder / "child").read_text())
    wait_until(lambda: not is_running(child))
    assert not list((cache_dir / "scratch").iterdir())
    assert not list((cache_dir / "locks").iterdir())


def is_running(pid: int) -> bool:
    try:
        # A zombie that nobody waits for is dead.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_object_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "x.so").write_bytes(b"nothing")
    with pytest.raises(HostCompilerError, match=r"the compiled object cannot be loaded: .*x\.so"):
        load_shared_object(tmp_path / "x.so")


def test_an_interrupt_ends_the_compilers_of_native_sources(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "stuck"
    stuck = f'if [ $kind = compile ]; then sleep 60 & echo $! >> "{folder}/children"; wait; fi'
    monkeypatch.setenv("CXX", str(fake_compiler(folder, stuck)))
    monkeypatch.setenv("BB_NUM_THREADS", "2")
    find_compiler()
    sources = [tmp_path / "one.cpp", tmp_path / "two.cpp"]
    for source in sources:
        source.touch()
    shown: list[str] = []

    def interrupt(text: str) -> None:
        shown.append(text)
        if text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(native=sources, progress=interrupt)
    assert shown == ["compiling the micro-kernels, once for this machine … 1 s", ""]
    children = [int(line) for line in (folder / "children").read_text().split()]
    assert len(children) == 2
    wait_until(lambda: not any(map(is_running, children)))
    assert not list((cache_dir / "scratch").iterdir())
