"""``bb-tune``: shows, shares and removes the measured choices of how to compile programs."""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
import warnings
from collections.abc import Sequence

from ..dialects.diagnostics import did_you_mean
from ..runtime.compilation.directory import CacheWarning
from ..runtime.host.settings import SettingError
from ..runtime.host.timing import duration
from ..runtime.tuning.records import Record
from ..runtime.tuning.store import StoreError, all_records, clear, export_file, import_file
from .shared.common import ArgumentParser, is_terminal, message_for, print_error
from .shared.files import ToolError, reserve_standard_streams, write_stdout

_NAMES = "the functions whose choices are meant (default: all)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``bb-tune`` with the given arguments (default: the process's); returns the exit status, 0 or 1."""
    reserve_standard_streams()
    try:
        options = _arguments(argv)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CacheWarning)
            write_stdout(_run(options))
        for warning in caught:
            print_error(f"bb-tune: warning: {warning.message}")
        return 0
    except (ToolError, StoreError, SettingError) as error:
        print_error(f"bb-tune: error: {error}")
        return 1
    except KeyboardInterrupt:
        print_error("bb-tune: error: interrupted")
        return 1
    except SystemExit as stop:  # --help
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        print_error(message_for("bb-tune", error, {}))
        return 1


def _run(options: argparse.Namespace) -> str:
    known = list(dict.fromkeys(record.program for record in all_records()))
    for name in getattr(options, "function", []):
        if name not in known:
            listed = f"; there are those of {', '.join(known)}" if known else ""
            raise ToolError(f"there is no choice for a function '{name}'{did_you_mean(name, known, listed)}")
    match options.command:
        case "list":
            return _listed([each for each in all_records() if _is_meant(each, options)], options.json)
        case "clear":
            if not options.function and not options.all:
                raise ToolError("clear takes the names of functions, or --all")
            if options.function and options.all:
                raise ToolError("clear takes names of functions or --all, not both")
            return f"{_counted(clear(options.function))} removed\n"
        case "export":
            return f"{_counted(export_file(options.file, options.function))} written to {options.file}\n"
        case _:
            taken, older = import_file(options.file)
            rest = f"; {_counted(older)} not, for what is here is as new" if older else ""
            return f"{_counted(taken)} taken from {options.file}{rest}\n"


def _is_meant(record: Record, options: argparse.Namespace) -> bool:
    return not options.function or record.program in options.function


def _counted(count: int) -> str:
    return f"{count} choice{'' if count == 1 else 's'}"


def _listed(records: Sequence[Record], as_json: bool) -> str:
    if as_json:
        return json.dumps([record.record() for record in records], indent=1, sort_keys=True) + "\n"
    if not records:
        return (
            "no choice has been measured yet: 'bb-run --target cpu --tune 20' and bb.compile(…, tune=20) do\n"
        )
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in (
        "function",
        "arguments",
        "threads",
        "choice",
        "time",
        "default",
        "unfused",
        "ways",
        "measured",
    ):
        table.add_column(title)
    for each in records:
        table.add_row(
            each.program,
            each.arguments,
            str(each.threads),
            str(each.choice),
            duration(each.seconds),
            "-" if each.default_seconds is None else duration(each.default_seconds),
            "-" if each.unfused_seconds is None else duration(each.unfused_seconds),
            str(each.measured),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(each.at)) + f" on {each.machine}",
        )
    stream = io.StringIO()
    width = None if is_terminal() else 10_000
    console = Console(
        file=stream, width=width, color_system=None, force_terminal=False, highlight=False, markup=False
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines() if line.strip()) + "\n"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="bb-tune",
        description="Show, share and remove what was measured to be the best way to compile programs.",
        epilog="Example: bb-tune export choices.json, then on such a machine bb-tune import choices.json",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shown = commands.add_parser("list", help="what there is", allow_abbrev=False)
    shown.add_argument("function", nargs="*", help=_NAMES)
    shown.add_argument("--json", action="store_true", help="as JSON")
    removed = commands.add_parser("clear", help="remove choices", allow_abbrev=False)
    removed.add_argument("function", nargs="*", help="the functions whose choices are meant")
    removed.add_argument("--all", action="store_true", help="all there are")
    written = commands.add_parser("export", help="write choices to a file to share", allow_abbrev=False)
    written.add_argument("file", metavar="FILE", help="the file, which is replaced whole")
    written.add_argument("function", nargs="*", help=_NAMES)
    read = commands.add_parser("import", help="take the choices of a file", allow_abbrev=False)
    read.add_argument("file", metavar="FILE", help="what 'bb-tune export' wrote")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
