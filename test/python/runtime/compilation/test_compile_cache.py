"""The cache of compiled objects: what it is keyed by, who may use it at once, and what it survives."""

import errno
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bb.runtime.compilation import inputs as builds
from bb.runtime.compilation.cache import CompileCache, digest_of
from bb.runtime.compilation.directory import CacheWarning, cache_path, user_cache
from bb.runtime.compilation.errors import HostCompilerError
from bb.runtime.compilation.host_compiler import HostCompiler, find_compiler
from bb.runtime.compilation.shared_objects import load_shared_object, native_object
from bb.runtime.host.settings import SettingError
from fake_compilers import ADD, age, build, calls, needs_compiler, works

pytestmark = needs_compiler


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
    monkeypatch.setattr(builds, "native_directory", lambda: native)
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
    monkeypatch.setattr(builds, "cpu_identity", lambda: "another processor")
    assert is_new()
    monkeypatch.setattr(builds, "package_version", lambda: "another version")
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
    # Both, the first source beside them, its object, and the second source at one go.
    assert len(calls(compiler)) == 5
    made = native_object(sources[0])
    assert made.suffix == ".o"
    assert len(calls(compiler)) == 5
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


def test_an_object_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "x.so").write_bytes(b"nothing")
    with pytest.raises(HostCompilerError, match=r"the compiled object cannot be loaded: .*x\.so"):
        load_shared_object(tmp_path / "x.so")
