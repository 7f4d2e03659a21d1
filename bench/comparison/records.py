"""Results of a run, to JSON and back, and the figures that are derived from them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .contenders import OURS, UNFUSED

FORMAT = 1


class RecordError(Exception):
    """A file that holds no results, or results that do not go together; a sentence."""


@dataclass(frozen=True)
class Timing:
    """One contender on one row: milliseconds of a call, or why there are none."""

    median_ms: float | None = None
    fastest_ms: float | None = None
    quartiles_ms: tuple[float, float] | None = None
    calls: int = 0
    error: float | None = None
    """The largest difference from float64, relative to the largest element."""
    build_seconds: float | None = None
    variant: str = ""
    failed: str = ""

    @staticmethod
    def of(seconds: Sequence[float], error: float, build_seconds: float, variant: str) -> Timing:
        """The statistics of some calls."""
        times = sorted(1e3 * each for each in seconds)
        lower, _, upper = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
        return Timing(
            statistics.median(times), times[0], (lower, upper), len(times), error, build_seconds, variant
        )


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    name: str
    kind: str
    dtype: str
    extents: Mapping[str, int]
    causal: bool
    flops: int
    bytes: int
    floor_ms: float
    floor_by: str
    """The limit that sets the floor: `compute` or `memory`."""
    contenders: Mapping[str, Timing]
    foreign: float = 0.0
    """CPUs that other processes, or the host, used while the row was measured, on average."""

    def median(self, name: str) -> float | None:
        """The median of a contender in milliseconds; None where it has none."""
        timing = self.contenders.get(name)
        return None if timing is None else timing.median_ms

    @property
    def best_rival(self) -> str | None:
        """The rival with the smallest median; ours, fused or not, is none."""
        medians = {
            name: timing.median_ms
            for name, timing in self.contenders.items()
            if name not in (OURS, UNFUSED) and timing.median_ms is not None
        }
        return min(medians, key=lambda name: medians[name], default=None)

    @property
    def ratio(self) -> float | None:
        """Time of the best rival over ours: above 1 ours is faster."""
        rival, own = self.best_rival, self.median(OURS)
        if rival is None or own is None:
            return None
        other = self.median(rival)
        return None if other is None else other / own

    @property
    def share_of_floor(self) -> float | None:
        """The floor over our time, at most about 1."""
        own = self.median(OURS)
        return None if own is None else self.floor_ms / own


@dataclass(frozen=True)
class Record:
    """One run, or several pieces of one."""

    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    commit: str
    settings: Mapping[str, Any]
    limits: Mapping[str, float]
    """The measured limits of the machine in GFLOP/s and GB/s."""
    rows: Sequence[Row] = field(default_factory=tuple)

    def text(self) -> str:
        """The record as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def parse_record(text: str, name: str) -> Record:
    """A record from its JSON. Raises RecordError with the name of the file in it."""
    try:
        found = json.loads(text)
        if found.pop("format") != FORMAT:
            raise RecordError(f"'{name}' is of another format than {FORMAT}; measure again")
        rows = [
            Row(**{**row, "contenders": {each: _timing(one) for each, one in row["contenders"].items()}})
            for row in found.pop("rows")
        ]
        return Record(**found, rows=rows)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RecordError(f"'{name}' holds no results of bench/compare.py") from error


def _timing(fields: dict[str, Any]) -> Timing:
    quartiles = fields["quartiles_ms"]
    return Timing(**{**fields, "quartiles_ms": None if quartiles is None else (quartiles[0], quartiles[1])})


def read_record(path: Path) -> Record:
    """Read a record. Raises RecordError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise RecordError(f"cannot read '{path}': {reason}") from error
    return parse_record(text, str(path))


def merged(records: Sequence[Record], order: Iterable[str]) -> Record:
    """Pieces of one run as one, with the rows in the given order. Raises RecordError.

    They must be of one machine, one commit, the same versions and settings, and share no row.
    """
    first = records[0]
    rows: dict[str, Row] = {}
    for record in records:
        for what in ("machine", "versions", "commit", "settings"):
            if getattr(record, what) != getattr(first, what):
                raise RecordError(f"the files differ in {what}: pieces of one run are wanted")
        for row in record.rows:
            if row.name in rows:
                raise RecordError(f"the row {row.name} is in more than one of the files")
            rows[row.name] = row
    limits: dict[str, float] = {}
    for record in records:
        for name, value in record.limits.items():
            limits[name] = max(value, limits.get(name, 0.0))
    rank = {name: index for index, name in enumerate(order)}
    return Record(
        first.machine,
        first.versions,
        first.commit,
        first.settings,
        limits,
        sorted(rows.values(), key=lambda row: rank.get(row.name, len(rank))),
    )
