"""The CPU target against its rivals: every row of the table, checked against float64 and timed in turns.

    python bench/compare.py                                     all rows, all rivals that are installed
    python bench/compare.py --rows A1,B2 --rivals torch-eager,onnxruntime
    python bench/compare.py --rows D --json d.json              the rows whose names start with D, in float32
    python bench/compare.py --table a.json b.json --json all.json    pieces of a run as one

Rows are A1 to D3, with a `c` for causal attention and `.bf16` for bfloat16; bench/README.md lists them.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from bb.dialects.diagnostics import did_you_mean
from bb.passes.text.output import os_reason
from bb.runtime.compilation.directory import user_cache
from bb.runtime.compilation.errors import HostCompilerError
from bb.runtime.host.settings import SettingError
from bb.runtime.host.threads import thread_count
from bb.tools.shared.common import ArgumentParser, positive
from bb.tools.shared.files import ToolError, write_text
from comparison.contenders import CONTENDERS, OURS, RIVALS, UNFUSED
from comparison.floors import Limits
from comparison.machine import commit, machine, versions
from comparison.measure import Measurer, Settings
from comparison.records import Record, RecordError, Row, merged, read_record
from comparison.tables import show
from comparison.workloads import BF16_ROWS, F32_ROWS, ROWS, Workload, tiny
from rich.console import Console


def parser() -> ArgumentParser:
    """The options."""
    made = ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rows", metavar="A1,B2", help="rows by name or first letters; also f32, bf16 and all")
    made.add_argument("--rivals", metavar="NAMES", help=f"some of {', '.join(RIVALS)}; or none")
    made.add_argument("--rounds", type=positive, default=7, help="turns of each contender (default: 7)")
    made.add_argument("--turn", type=_seconds, default=0.1, metavar="SECONDS", help="length of a turn (0.1)")
    made.add_argument("--threads", type=positive, help="default: all CPUs that the process may use")
    made.add_argument("--json", metavar="FILE", help="write every figure")
    made.add_argument("--plot", metavar="FILE.png", help="draw the ratios (needs matplotlib)")
    made.add_argument(
        "--table", nargs="+", metavar="FILE", help="measure nothing: the table of these results"
    )
    made.add_argument("--prepare", action="store_true", help="compile and check everything, and time nothing")
    made.add_argument("--tiny", action="store_true", help="small extents, to try the harness")
    return made


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 60:
        raise argparse.ArgumentTypeError(f"takes 0 to 60 seconds, not '{text}'")
    return value


def chosen_rows(text: str | None) -> list[Workload]:
    """The rows that `--rows` names, in the order of the table. Raises ToolError.

    `D` stands for the rows in float32 that start so, and `D.bf16` for those in bfloat16.
    """
    if text is None:
        return list(ROWS.values())
    groups: dict[str, Sequence[Workload]] = {"all": list(ROWS.values()), "f32": F32_ROWS, "bf16": BF16_ROWS}
    wanted: set[str] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        letter, dot, dtype = part.partition(".")
        rows = BF16_ROWS if dot and dtype == "bf16" else F32_ROWS
        if part in ROWS:
            wanted.add(part)
        elif part in groups:
            wanted |= {row.name for row in groups[part]}
        elif len(letter) == 1 and dtype in ("", "bf16") and any(row.name[0] == letter for row in rows):
            wanted |= {row.name for row in rows if row.name[0] == letter}
        else:
            known = f"; there are: {', '.join(ROWS)}"
            raise ToolError(f"there is no row '{part}'{did_you_mean(part, ROWS, known)}")
    if not wanted:
        raise ToolError("--rows names no row")
    return [row for row in ROWS.values() if row.name in wanted]


def chosen_contenders(text: str | None) -> list[str]:
    """Ours and the rivals that `--rivals` names, or all that are installed. Raises ToolError."""
    if text is None:
        return [name for name, contender in CONTENDERS.items() if contender.installed]
    named = [part.strip() for part in text.split(",") if part.strip()]
    for name in named:
        if name in (OURS, UNFUSED, "none"):
            continue
        if name not in RIVALS:
            known = f"; there are: {', '.join(RIVALS)}"
            raise ToolError(f"there is no rival '{name}'{did_you_mean(name, RIVALS, known)}")
        if not CONTENDERS[name].installed:
            raise ToolError(
                f"the rival '{name}' needs the package {CONTENDERS[name].package}, which is not installed: "
                "pip install '.[bench]'"
            )
    return [name for name in CONTENDERS if name in (OURS, UNFUSED) or name in named]


def measure(options: argparse.Namespace) -> tuple[Record, bool]:
    """Measure what the options say; the record, and whether all of ours was right. Raises ToolError."""
    rows, names = chosen_rows(options.rows), chosen_contenders(options.rivals)
    if options.tiny:
        rows = [tiny(row) for row in rows]
    settings = Settings(thread_count(options.threads), options.rounds, options.turn)
    floors = Limits(settings.threads)
    cache = user_cache()
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / "bench" if cache is None else cache.folder("bench")
    measurer = Measurer(names, settings, floors, folder, _tell)
    shown = asdict(settings) | ({"tiny": True} if options.tiny else {})
    record = Record(machine(), versions(names), commit(), shown, {}, ())
    found: list[Row] = []
    try:
        measurer.begin(rows)
        for row in rows:
            found.append(measurer.row(row, timed=not options.prepare))
            record = replace(record, limits=floors.figures(), rows=tuple(found))
            if options.json:  # after every row, for a run may be interrupted
                write_text(options.json, record.text())
    finally:
        measurer.close()
    ours = [row.contenders[name] for row in found for name in (OURS, UNFUSED) if name in row.contenders]
    return record, not any(timing.failed for timing in ours)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit status: 1 where something of ours is wrong or cannot be done."""
    # So that processes that are stopped are ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        options = parser().parse_args(arguments)
        if options.table:
            record, right = merged([read_record(Path(name)) for name in options.table], ROWS), True
        else:
            record, right = measure(options)
        if not options.prepare:
            show(record, Console())
        if options.json and options.table:
            write_text(options.json, record.text())
        if options.plot:
            from comparison.plot import draw

            draw(record, options.plot)
        return 0 if right else 1
    except (ToolError, RecordError, HostCompilerError, SettingError) as error:
        _tell(f"compare: error: {error}")
    except OSError as error:
        _tell(f"compare: error: {os_reason(error)}")
    except KeyboardInterrupt:
        _tell("compare: interrupted")
    return 1


if __name__ == "__main__":
    sys.exit(main())
