"""Many processes and threads that compile at once, processes that are killed, and interrupts."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from bb.runtime.compilation import locks as file_locks
from bb.runtime.compilation.cache import CompileCache
from bb.runtime.compilation.directory import CacheDirectory, private_cache
from bb.runtime.compilation.host_compiler import find_compiler
from fake_compilers import ADD, age, build, calls, fake_compiler, needs_compiler, wait_until, works

pytestmark = [pytest.mark.long, needs_compiler]


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


SCRIPT = """
import sys
from bb.runtime.compilation.shared_objects import compile_shared_object, load_shared_object
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
        "from bb.runtime.compilation.shared_objects import HostCompilerError, compile_shared_object\n"
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
        "from bb.runtime.compilation.directory import private_cache\n"
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
    # The process that holds the lock is compiling; it may be any of them.
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
    from bb.runtime.compilation import progress as compile_progress

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
        # A zombie that no process waits for is dead.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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
