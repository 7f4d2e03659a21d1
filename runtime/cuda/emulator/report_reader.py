"""The report that a launch left in shared memory, as findings and counts."""

from __future__ import annotations

import json
import signal
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from .arguments import Buffer
from .findings import Finding, FindingKind, Index, OtherAccess, SourceLocation
from .locations import locate, name_of_global, name_of_shared
from .program import Program
from .report import WIDTHS, BufferTraffic, Counters, LaunchReport, LineTraffic, SharedTraffic
from .settings import LaunchSettings

_HEADER = struct.Struct("<8s10I")  # native/report.hpp, ReportHeader
_FINISHED = 2
_STATIC_SHARED, _DYNAMIC_SHARED, _GLOBALS = -2, -3, -4
Line = Mapping[str, object]


@dataclass(frozen=True)
class Naming:
    """Names for the numbers in a report."""

    program: Program
    buffers: tuple[str, ...]
    block: tuple[int, ...]


def read_report(
    data: bytes,
    ended: int | None,
    kernel: str,
    buffers: Sequence[Buffer],
    naming: Naming,
    settings: LaunchSettings,
    shared_bytes: int,
    output: str,
) -> LaunchReport:
    """The outcome of a launch whose process ended with a status (None: it was killed)."""
    nothing: Line = {}
    magic, progress, *rest = _HEADER.unpack_from(data)
    block, thread = _index(rest[0:3]), _index(rest[3:6])
    in_thread, length = rest[6] == 1, min(rest[7], len(data) - _HEADER.size)
    sound = magic == b"bbemu01\0"
    lines = _lines(data[_HEADER.size : _HEADER.size + length]) if sound else []
    places = _places(naming.program, lines)
    findings = [_finding(line, naming, places) for line in lines if "finding" in line]
    findings += [_deadlock(line, places) for line in lines if "deadlock" in line]
    finished = sound and progress == _FINISHED and ended == 0
    if not finished:
        findings.append(_crash(ended, block, thread if in_thread else None, sound))
    traffic = {_integer(line, "buffer"): line for line in lines if "bytes_read" in line and "buffer" in line}
    return LaunchReport(
        kernel=kernel,
        findings=tuple(findings),
        finished=finished,
        counters=Counters(
            **_integers(next((line for line in lines if "counters" in line), nothing), "counters")
        ),
        buffers=tuple(_buffer(buffer, traffic.get(number, nothing)) for number, buffer in enumerate(buffers)),
        shared=_shared(lines, shared_bytes),
        output=output,
        schedule=settings.schedule,
        seed=settings.seed,
        lines=_by_line(lines, places),
    )


def _buffer(buffer: Buffer, line: Line) -> BufferTraffic:
    return BufferTraffic(
        buffer.name,
        buffer.size,
        load_widths=_whole_numbers(line.get("load_widths"), len(WIDTHS)),
        store_widths=_whole_numbers(line.get("store_widths"), len(WIDTHS)),
        **_numbers(line),
    )


def _by_line(lines: Sequence[Line], places: Mapping[int, SourceLocation | None]) -> tuple[LineTraffic, ...]:
    """Return the counts per source line, in the order of the source; all else is under no line."""
    found: dict[SourceLocation | None, dict[str, int]] = {}
    for line in lines:
        if "shared_by" in line or ("mma" in line and "site" in line):
            counts = found.setdefault(places.get(_site(line)), {})
            for key in ("mma", "requests", "passes", "ideal_passes"):
                counts[key] = counts.get(key, 0) + _integer(line, key)
    ordered = sorted(found, key=lambda place: ("", 0) if place is None else (place.file, place.line))
    return tuple(LineTraffic(place, **found[place]) for place in ordered)


def _lines(text: bytes) -> list[Line]:
    lines: list[Line] = []
    for line in text.split(b"\n"):
        try:
            value: object = json.loads(line) if line else None
        except ValueError:  # the kernel wrote over it
            continue
        if isinstance(value, dict):
            lines.append(cast(Line, value))
    return lines


def _finding(line: Line, naming: Naming, places: Mapping[int, SourceLocation | None]) -> Finding:
    try:
        kind = FindingKind(str(line["finding"]))
    except ValueError:
        kind = FindingKind.CRASH
    buffer, offset = _named_place(line, naming)
    in_thread = line.get("in_thread") == 1
    return Finding(
        kind,
        block=_index(line.get("block")),
        thread=_index(line.get("thread")) if in_thread else None,
        access=str(line.get("access", "")),
        location=places.get(_site(line)),
        buffer=buffer,
        offset=offset,
        size=_integer(line, "bytes") or None,
        other=_other(line.get("other"), naming, places),
        detail=str(line.get("text", "")),
    )


def _named_place(line: Line, naming: Naming) -> tuple[str | None, int | None]:
    number, offset = _integer(line, "buffer"), _integer(line, "offset")
    if 0 <= number < len(naming.buffers):
        return naming.buffers[number], offset
    if number == _DYNAMIC_SHARED:
        return "dynamic shared memory", offset
    if number == _STATIC_SHARED:
        found = name_of_shared(naming.program, offset)
        return (f"shared {found[0]}", found[1]) if found else ("shared memory", offset)
    if number == _GLOBALS:
        found = name_of_global(naming.program, offset)
        return (f"variable {found[0]}", found[1]) if found else ("the module's variables", offset)
    return None, None


def _other(value: object, naming: Naming, places: Mapping[int, SourceLocation | None]) -> OtherAccess | None:
    if not isinstance(value, dict):
        return None
    other = cast(Line, value)
    x, y = (naming.block[0], naming.block[1]) if len(naming.block) == 3 else (1, 1)
    thread = _integer(other, "thread")
    return OtherAccess(
        block=_index(other.get("block")),
        thread=(thread % x, thread // x % y, thread // x // y),
        access=str(other.get("access", "access")),
        location=places.get(_site(other)),
    )


def _deadlock(line: Line, places: Mapping[int, SourceLocation | None]) -> Finding:
    waiting: list[str] = []
    first: SourceLocation | None = None
    for group in _groups(line):
        place = places.get(_site(group))
        first = first or place
        at = "" if place is None else f" at {place}"
        count, low, high = (_integer(group, key) for key in ("count", "first", "last"))
        subject = f"thread {low} waits" if count == 1 else f"{count} threads ({low} to {high}) wait"
        waiting.append(f"{subject} for {group.get('what', 'something')}{at}")
    exited = _integer(line, "exited")
    if exited:
        waiting.append(f"{exited} have exited")
    return Finding(
        FindingKind.DEADLOCK, block=_index(line.get("block")), location=first, detail=", ".join(waiting)
    )


def _crash(ended: int | None, block: Index, thread: Index | None, sound: bool) -> Finding:
    if ended is None:
        return Finding(FindingKind.TIME_LIMIT, block=block, thread=thread, detail="the process did not end")
    how = f"status {ended}"
    if ended < 0:
        try:
            how = signal.Signals(-ended).name
        except ValueError:
            how = f"signal {-ended}"
    overwritten = "" if sound else "; it has written over the emulator's memory"
    return Finding(
        FindingKind.CRASH, block=block, thread=thread, detail=f"the process ended with {how}{overwritten}"
    )


def _groups(line: Line) -> list[Line]:
    value = line.get("deadlock")
    entries = cast(list[object], value) if isinstance(value, list) else []
    return [cast(Line, entry) for entry in entries if isinstance(entry, dict)]


def _places(program: Program, lines: Sequence[Line]) -> dict[int, SourceLocation | None]:
    sites: set[int] = set()
    base = 0
    for line in lines:
        base = base or int(str(line.get("base", "0")), 16)
        for part in (line, line.get("other"), *_groups(line)):
            if isinstance(part, dict):
                sites.add(_site(cast(Line, part)))
    return locate(program, sites - {0}, base)


def _site(line: Line) -> int:
    try:
        return int(str(line.get("site", "0")), 16)
    except ValueError:
        return 0


def _integer(line: Line, key: str) -> int:
    value = line.get(key, 0)
    return value if isinstance(value, int) else 0


def _integers(line: Line, key: str) -> dict[str, int]:
    value = line.get(key)
    return _numbers(cast(Line, value)) if isinstance(value, dict) else {}


def _numbers(line: Line) -> dict[str, int]:
    return {key: value for key, value in line.items() if isinstance(value, int) and key != "buffer"}


def _shared(lines: Sequence[Line], shared_bytes: int) -> SharedTraffic:
    nothing: Line = {}
    line = next((line for line in lines if "shared" in line), nothing)
    return SharedTraffic(
        static_bytes=_integer(line, "static_shared"), dynamic_bytes=shared_bytes, **_integers(line, "shared")
    )


def _index(value: object) -> Index:
    x, y, z = _whole_numbers(value, 3)
    return x, y, z


def _whole_numbers(value: object, count: int) -> tuple[int, ...]:
    """Return `count` numbers; zeros if the kernel overwrote them."""
    numbers = cast(Sequence[object], value) if isinstance(value, list | tuple) else ()
    whole = tuple(number if isinstance(number, int) else 0 for number in numbers)
    return whole if len(whole) == count else (0,) * count
