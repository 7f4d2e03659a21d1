"""A lit format that runs ``bb-opt``, ``bb-run``, ``bb-import``, ``filecheck``, ``not`` in forked workers.

Starting an interpreter that imports xDSL takes ten times as long as a small test. Here the imports
happen once, in the lit process, and each test runs in a fork of it. RUN lines with other commands
or with shell syntax beyond pipes, ``&&`` and simple redirections go through lit's own shell.
"""

from __future__ import annotations

import difflib
import importlib
import io
import os
import re
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import lit.formats
import lit.Test
import lit.TestRunner

PRELOADED = [
    "bb.tools.bb_opt",
    "bb.dialects.array",
    "bb.dialects.block",
    "filecheck.main",
    "xdsl.dialects.arith",
    "xdsl.dialects.func",
    "xdsl.dialects.math",
    "xdsl.dialects.tensor",
    "xdsl.dialects.test",
    "xdsl.irdl.dominance",
]

CRASHED = 134
"""Exit status of a tool that raised an exception: not even ``not`` turns it into success."""


def _bb_opt(argv: list[str]) -> int:
    from bb.tools.bb_opt import main

    return main(argv)


def _bb_run(argv: list[str]) -> int:
    from bb.tools.bb_run import main

    return main(argv)


def _bb_import(argv: list[str]) -> int:
    from bb.tools.bb_import import main

    return main(argv)


def _filecheck(argv: list[str]) -> int:
    from filecheck.main import main

    main(["filecheck", *argv])
    return 0


TOOLS: dict[str, Callable[[list[str]], int]] = {
    "bb-opt": _bb_opt,
    "bb-run": _bb_run,
    "bb-import": _bb_import,
    "filecheck": _filecheck,
}


@dataclass
class Command:
    """One command of a pipeline: ``not`` inverts its status, the streams may be redirected."""

    argv: list[str] = field(default_factory=list)
    inverted: bool = False
    input: str | None = None
    output: str | None = None
    errors: str | None = None
    errors_to_output: bool = False


def parse_line(line: str) -> list[list[Command]] | None:
    """The pipelines that a RUN line joins by ``&&``; None if it is more than this module understands."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    if any(char in line for char in "$`*") or any(word in ("||", ";", "(", ")", "&") for word in words):
        return None
    pipelines = [[Command()]]
    while words:
        word = words.pop(0)
        command = pipelines[-1][-1]
        if word == "&&":
            pipelines.append([Command()])
        elif word == "|":
            pipelines[-1].append(Command())
        elif word == "2" and words[:1] == [">&"]:
            if words[1:2] != ["1"]:
                return None
            command.errors_to_output, words = True, words[2:]
        elif word == "2" and words[:1] == [">"] and len(words) > 1:
            command.errors, words = words[1], words[2:]
        elif word == ">" and words:
            command.output = words.pop(0)
        elif word == "<" and words:
            command.input = words.pop(0)
        elif set(word) <= set("|&;<>()"):
            return None
        elif word == "not" and not command.argv:
            command.inverted = not command.inverted
        else:
            command.argv.append(word)
    commands = [command for pipeline in pipelines for command in pipeline]
    return pipelines if all(command.argv[:1] and command.argv[0] in TOOLS for command in commands) else None


def run_command(command: Command, data: bytes) -> tuple[int, bytes, str]:
    """Run a tool in this process; returns its status, standard output and standard error."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    errors = output
    if not command.errors_to_output:
        errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    source = data if command.input is None else Path(command.input).read_bytes()
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(source), encoding="utf-8"), output, errors
    try:
        status = TOOLS[command.argv[0]](command.argv[1:])
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        status = CRASHED
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
    if command.inverted and status < 128:
        status = int(status == 0)
    printed = output.buffer.getvalue()
    complaints = b"" if command.errors_to_output else errors.buffer.getvalue()
    if command.output is not None:
        Path(command.output).write_bytes(printed)
        printed = b""
    if command.errors is not None:
        Path(command.errors).write_bytes(complaints)
        complaints = b""
    return status, printed, complaints.decode(errors="replace")


def run_lines(lines: Sequence[str], plans: Sequence[list[list[Command]]]) -> tuple[bool, str]:
    """Run the lines up to the first that fails: whether all passed, and the log of the failing line."""
    for line, pipelines in zip(lines, plans, strict=True):
        for pipeline in pipelines:
            data, worst, log = b"", 0, f"$ {line}\n"
            for command in pipeline:
                status, data, complaints = run_command(command, data)
                worst = worst or status  # like lit's shell, with pipefail
                log += complaints
            if worst:
                return False, f"{log}{data.decode(errors='replace')}\nexit status {worst}\n"
    return True, ""


_COMMENT_WORD = re.compile(r"^\s*//\s*([A-Z][A-Z0-9_]*(?:-[A-Z0-9_]+)*)(\{LITERAL\})?\s*(:)?")
_SUFFIXES = ["", "-NEXT", "-SAME", "-DAG", "-NOT", "-LABEL", "-EMPTY", "-COUNT"]


def misspelt_directives(text: str) -> list[str]:
    """Complaints about comments that look like check directives and are none: filecheck ignores those."""
    prefixes = {"CHECK"}
    for names in re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", text):
        prefixes |= set(names.split(","))
    directives = [prefix + suffix for prefix in prefixes for suffix in _SUFFIXES]
    complaints: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _COMMENT_WORD.match(line)
        if found is None:
            continue
        word, colon = re.sub(r"(?<=-COUNT)-\d+$", "", found[1]), found[3]
        if word in directives and colon:
            continue
        means_one = word in directives or any(word.startswith(f"{prefix}-") for prefix in prefixes)
        if means_one or difflib.get_close_matches(word, directives, n=1, cutoff=0.8):
            complaints.append(f"line {number}: '{line.strip()}' is no check directive")
    return complaints


class ForkingShTest(lit.formats.ShTest):
    """lit's ShTest, with forks of this process in place of new interpreters where that is possible."""

    def __init__(self, own_processes: bool = False):
        super().__init__()
        self.own_processes = own_processes
        if not own_processes:
            for module in PRELOADED:
                importlib.import_module(module)

    def execute(self, test: lit.Test.Test, litConfig: object) -> lit.Test.Result:
        text = Path(test.getSourcePath()).read_text(errors="replace")
        if complaints := misspelt_directives(text):
            return lit.Test.Result(lit.Test.FAIL, "\n".join(complaints))
        if self.own_processes or litConfig.noExecute or test.config.unsupported:
            return super().execute(test, litConfig)
        script = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result):
            return script
        folder, base = lit.TestRunner.getTempPaths(test)
        substitutions = lit.TestRunner.getDefaultSubstitutions(test, folder, base)
        features = dict.fromkeys(test.config.available_features, True)
        lines = lit.TestRunner.applySubstitutions(
            script, substitutions, features, recursion_limit=test.config.recursiveExpansionLimit
        )
        # lit puts "%dbg(RUN: at line 1) " before each command.
        lines = [re.sub(r"^%dbg\([^)]*\)\s*", "", line) for line in lines]
        plans = [parse_line(line) for line in lines]
        if any(plan is None for plan in plans):
            # A second execution would add the parsed requirements to the test again; they are sets of words.
            return super().execute(test, litConfig)
        os.makedirs(folder, exist_ok=True)
        run_in = os.path.dirname(test.getExecPath())
        return _result(*_forked(lines, plans, run_in, test.config.maxIndividualTestTime))


def _forked(
    lines: list[str], plans: list[list[list[Command]]], folder: str, seconds: float
) -> tuple[int, str]:
    """Run the lines in a fork of this process: its wait status and its log."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        passed, log = False, ""
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(seconds))
            os.chdir(folder)
            passed, log = run_lines(lines, plans)
        except BaseException:
            log = traceback.format_exc()
        with os.fdopen(writing, "w", errors="replace") as pipe:
            pipe.write(log)
        os._exit(0 if passed else 1)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        log = pipe.read()
    return os.waitpid(child, 0)[1], log


def _result(status: int, log: str) -> lit.Test.Result:
    if os.WIFSIGNALED(status):
        killer = signal.Signals(os.WTERMSIG(status))
        code = lit.Test.TIMEOUT if killer is signal.SIGALRM else lit.Test.FAIL
        return lit.Test.Result(code, f"{log}\nkilled by {killer.name}")
    return lit.Test.Result(lit.Test.PASS if status == 0 else lit.Test.FAIL, log)
