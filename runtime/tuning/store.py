"""The records of measured choices on disk: a file for each in the user's cache directory, and files to share.

A file is replaced in one step and named after the hash of its key, so processes that tune at the same time
cannot harm each other: the last one wins. A file that cannot be understood counts as missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from ...passes.text.output import os_reason, replace_file
from ..compilation.directory import CacheDirectory, user_cache, warn_unusable, write_whole
from .records import FORMAT, KEY, Record, record_of

FOLDER = "choices"
LARGEST_RECORD = 1 << 20
LARGEST_FILE = 64 << 20
SHARED = "blockbuster choices"
"""The kind of file that a file to share claims to be."""


class StoreError(Exception):
    """Records that cannot be read or written: one sentence."""


def find(key: str) -> Record | None:
    """Return the record for a key; None if there is none, or if it cannot be read."""
    directory = user_cache()
    return _read(directory.folder(FOLDER) / f"{key}.json") if directory.readable else None


def keep(record: Record) -> None:
    """Store a record, in place of an older one for its key. Warns if that fails."""
    directory = user_cache()
    problem = directory.problem
    if problem is None:
        try:
            _write(directory, record)
            return
        except OSError as error:
            problem = f"cannot be written to ({os_reason(error)})"
    warn_unusable(directory.path, problem)


def all_records() -> list[Record]:
    """All records that there are, the latest last."""
    directory = user_cache()
    if not directory.readable:
        return []
    files: Sequence[Path] = ()
    with suppress(OSError):
        files = [path for path in directory.folder(FOLDER).iterdir() if KEY.fullmatch(path.stem)]
    found = [record for path in files if (record := _read(path)) is not None]
    return sorted(found, key=lambda record: (record.at, record.key))


def clear(programs: Sequence[str] = ()) -> int:
    """Remove the records of programs of these names, or all; returns how many. Raises StoreError."""
    directory = user_cache()
    removed = 0
    if directory.readable:
        try:
            for record in all_records():
                if not programs or record.program in programs:
                    (directory.folder(FOLDER) / f"{record.key}.json").unlink(missing_ok=True)
                    removed += 1
        except OSError as error:
            raise StoreError(f"cannot remove from '{directory.path}': {os_reason(error)}") from error
    return removed


def export_file(path: str, programs: Sequence[str] = ()) -> int:
    """Write the records of programs of these names, or all, to a file; returns how many. Raises StoreError.

    The file that was there is replaced whole, and only if all could be written.
    """
    records = [record for record in all_records() if not programs or record.program in programs]
    if not records:
        raise StoreError(
            f"there is nothing to write to '{path}': no choice has been measured yet"
            + (f" for {', '.join(programs)}" if programs else "")
        )
    shared = {"file": SHARED, "format": FORMAT, "records": [record.record() for record in records]}
    try:
        replace_file(path, (json.dumps(shared, indent=1, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {os_reason(error)}") from error
    return len(records)


def import_file(path: str) -> tuple[int, int]:
    """Read the records of a file that `export_file` wrote: all, or none if one of them is invalid.

    Of two records with the same key, the later one stays. Returns the numbers of records that were added and
    of records that were older. Raises StoreError.
    """
    records = _shared(path)
    directory = user_cache()
    if directory.problem is not None:
        raise StoreError(f"the cache directory {directory.path} {directory.problem}")
    taken = 0
    try:
        for record in records:
            known = find(record.key)
            if known is None or known.at < record.at:
                _write(directory, record)
                taken += 1
    except OSError as error:
        raise StoreError(f"cannot write to '{directory.path}': {os_reason(error)}") from error
    return taken, len(records) - taken


def _shared(path: str) -> list[Record]:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise StoreError(f"cannot read '{path}': {os_reason(error)}") from error
    try:
        if len(data) > LARGEST_FILE:
            raise ValueError("it is larger than 64 MiB")
        found = _parsed(data)
        if not isinstance(found, dict):
            raise ValueError("it is not what 'bb-tune export' writes")
        table = cast("dict[str, object]", found)
        if table.get("file") != SHARED:
            raise ValueError("it is not what 'bb-tune export' writes")
        if table.get("format") != FORMAT:
            raise ValueError(f"it has format {str(table.get('format'))[:20]}, this version reads {FORMAT}")
        records = table.get("records")
        if not isinstance(records, list):
            raise ValueError("it has no list of records")
        latest = time.time() + 86400  # of another machine's clock
        taken: list[Record] = []
        for number, each in enumerate(cast("list[object]", records)):
            try:
                record = record_of(each)
                if record.at > latest:
                    raise ValueError("'at' is in the future")
            except ValueError as error:
                raise ValueError(f"record {number}: {error}") from error
            taken.append(record)
        return taken
    except ValueError as error:
        raise StoreError(f"'{path}' cannot be imported: {error}") from error


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no JSON") from error


def _read(path: Path) -> Record | None:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_RECORD + 1)
        record = record_of(_parsed(data)) if len(data) <= LARGEST_RECORD else None
    except (OSError, ValueError):
        return None
    return record if record is not None and record.key == path.stem else None


def _write(directory: CacheDirectory, record: Record) -> None:
    text = json.dumps(record.record(), indent=1, sort_keys=True)
    write_whole(directory, directory.folder(FOLDER) / f"{record.key}.json", text.encode())
