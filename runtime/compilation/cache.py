"""Compiled objects on disk, found by the hash of everything that they depend on.

An entry is an object `NAME-KEY-SHA.so` and a manifest `NAME-KEY.json` with the SHA-256 of the object's bytes.
Both are put in place in one step each and never changed after that. A process that is killed leaves a whole
entry or none. An object whose bytes do not have the manifest's hash is compiled again, never loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from .directory import CacheDirectory, write_whole
from .locks import PATIENCE, locked, release, remove_abandoned, scratch_directory, try_lock

YOUNG = 60.0
"""Seconds during which an object that was made or requested is not evicted: time enough to load it."""


def digest_of(parts: Iterable[str | bytes]) -> str:
    """SHA-256 of a sequence of texts, in hexadecimal; other cuts of the same text have another hash."""
    total = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


@dataclass(frozen=True)
class CompileCache:
    """The compiled objects of a directory. `limit` is in bytes, `patience` in seconds for others' locks."""

    directory: CacheDirectory
    limit: int
    patience: float = PATIENCE

    def find(self, entry: str, suffix: str) -> Path | None:
        """The object of an entry, if it exists and is whole; it is not evicted for `YOUNG` seconds."""
        objects = self.directory.folder("objects")
        digest = _digest_in_manifest(objects / f"{entry}.json")
        if digest is None:
            return None
        path = _object_path(objects, entry, digest, suffix)
        # Touched before it is read: an eviction that started later leaves it alone.
        with suppress(OSError):
            os.utime(path)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        return path if hashlib.sha256(data).hexdigest() == digest else None

    def store(self, entry: str, suffix: str, made: Path, facts: Mapping[str, object]) -> Path:
        """Move a compiled file of this file system into an entry, with `facts` for people in the manifest.

        Raises OSError where that fails; the entry is then as it was.
        """
        objects = self.directory.folder("objects")
        data = made.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        path = _object_path(objects, entry, digest, suffix)
        os.replace(made, path)
        manifest = {"sha256": digest, "bytes": len(data), **facts}
        write_whole(self.directory, objects / f"{entry}.json", json.dumps(manifest, indent=1).encode())
        self.evict()
        return path

    def lock(
        self, entry: str, done: Callable[[], bool], tick: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Keep other processes from compiling the same entry, as far as the file system can."""
        return locked(self.directory.folder("locks") / f"{entry}.lock", done, tick, self.patience)

    def scratch(self) -> AbstractContextManager[Path]:
        """A private directory on the cache's file system for one compilation."""
        return scratch_directory(self.directory.folder("scratch"))

    def keep_failed(self, name: str, source: str) -> Path | None:
        """Keep a source that did not compile, longer than this process; None where it cannot be written."""
        try:
            folder = self.directory.folder("failed")
            if self.directory.private:
                folder = Path(tempfile.mkdtemp(prefix="blockbuster-failed-"))
            path = folder / f"{name}-{digest_of([source])[:16]}.cpp"
            write_whole(self.directory, path, source.encode("utf-8", "replace"))
        except OSError:
            return None
        return path

    def evict(self) -> None:
        """Remove leftovers of dead processes, and the least recently used objects as far as `limit` requires.

        Objects younger than `YOUNG` seconds stay. A loaded object may go, because its process keeps the
        pages.
        """
        with self._only_one() as alone:
            if alone:
                remove_abandoned(self.directory.folder("scratch"))
                _remove_old(self.directory.folder("locks"), 24 * 3600.0)
                self._shrink()

    @contextmanager
    def _only_one(self) -> Generator[bool]:
        path = self.directory.folder("locks") / "evict.lock"
        try:
            number = try_lock(path)
        except OSError:
            number = -1
        try:
            yield number is not None
        finally:
            if number is not None and number >= 0:
                release(path, number)

    def _shrink(self) -> None:
        files: list[tuple[float, int, str]] = []
        for folder in ("objects", "failed"):
            with suppress(OSError), os.scandir(self.directory.folder(folder)) as found:
                for file in found:
                    with suppress(OSError):
                        status = file.stat(follow_symlinks=False)
                        if file.name.endswith(".json"):
                            continue  # goes with its object
                        files.append((status.st_mtime, status.st_size, file.path))
        total = sum(size for _, size, _ in files)
        for _, size, name in sorted(files):
            if total <= self.limit:
                break
            path = Path(name)
            with suppress(OSError):
                # Checked again: another process may have requested it since.
                if time.time() - path.stat().st_mtime < YOUNG:
                    continue
                self._remove(path)
                total -= size
        self._remove_lonely_manifests()

    def _remove(self, path: Path) -> None:
        manifest = path.with_name(f"{path.stem.rpartition('-')[0]}.json")
        digest = _digest_in_manifest(manifest)
        if digest is not None and path.stem.endswith(digest[:16]):
            manifest.unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _remove_lonely_manifests(self) -> None:
        objects = self.directory.folder("objects")
        with suppress(OSError):
            names = os.listdir(objects)
            entries = {name.rpartition("-")[0] for name in names if not name.endswith(".json")}
            for name in names:
                if name.endswith(".json") and name.removesuffix(".json") not in entries:
                    with suppress(OSError):
                        if time.time() - (objects / name).stat().st_mtime >= YOUNG:
                            (objects / name).unlink()


def _object_path(objects: Path, entry: str, digest: str, suffix: str) -> Path:
    # The hash in the name: two processes that compile the same entry do not overwrite each other's object.
    return objects / f"{entry}-{digest[:16]}{suffix}"


def _digest_in_manifest(path: Path) -> str | None:
    try:
        manifest: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict):
        return None
    digest = cast(dict[str, object], manifest).get("sha256")
    if isinstance(digest, str) and re.fullmatch(r"[0-9a-f]{64}", digest):
        return digest
    return None


def _remove_old(folder: Path, age: float) -> None:
    with suppress(OSError), os.scandir(folder) as found:
        for file in found:
            with suppress(OSError):
                if time.time() - file.stat(follow_symlinks=False).st_mtime > age:
                    os.unlink(file.path)
