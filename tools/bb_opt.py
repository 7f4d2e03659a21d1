"""``bb-opt``: reads a program as MLIR text, runs passes over it and prints the result."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException

from ..dialects.context import make_context
from ..dialects.diagnostics import Diagnostic, OpWarning, one_sentence
from ..dialects.parsing import parse_module
from ..lowering.pipelines import (
    ALL_PASSES,
    PIPELINES,
    Callback,
    PassPipeline,
    PipelineError,
    describe_pass,
    describe_pipeline,
    named_pipeline,
    split_after,
)
from ..passes.analysis.cost.machine import Machine, register_machine
from ..passes.rules import ALL_RULES
from .opt.expected_diagnostics import check_expectations
from .shared.common import ArgumentParser, print_error
from .shared.files import (
    DEFAULT_LIMIT_MIB,
    Chunk,
    ToolError,
    read_text,
    reserve_standard_streams,
    split_chunks,
    write_stdout,
    write_text,
)

if TYPE_CHECKING:
    from .opt.equivalence_check import EquivalenceCheck
    from .opt.explanation import Explanation

OUTPUT_LANGUAGES: dict[str, str] = {
    "mlir": "the program as MLIR text",
    "cpp": "its kernels as C++",
    "cuda": "its kernels as CUDA C++",
}
"""Output formats for ``-t``."""

SCRIPT_MODULE = "bb_loaded_script"
"""Prefix of the module names under which ``--load`` runs scripts."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``bb-opt`` with the given arguments (default: the process's); returns the exit status, 0 or 1."""
    reserve_standard_streams()
    with _registries_restored():
        try:
            register_machine("cpu", _this_machine)
            return _run(_arguments(argv))
        except (ToolError, PipelineError) as error:
            return _complain(str(error))
        except KeyboardInterrupt:
            return _complain("interrupted")
        except SystemExit as stop:  # --help, --version
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception as error:
            return _complain(_internal_error(error))


def _run(options: argparse.Namespace) -> int:
    if options.version:
        return _print(_version())
    for script in options.load:
        _load(script)
    if options.list_passes:
        return _print(_table([(name, describe_pass(name)) for name in sorted(ALL_PASSES)]))
    if options.list_rules:
        return _print(_table([row for name in sorted(ALL_RULES) for row in _describe_rule(name)]))
    if options.list_pipelines:
        rows = [(name, f"{describe_pipeline(name)}\n{text}") for name, text in PIPELINES.items()]
        return _print(_table([row for name, lines in rows for row in _rows(name, lines)]))
    if options.target not in OUTPUT_LANGUAGES:
        known = ", ".join(OUTPUT_LANGUAGES)
        raise ToolError(f"target '{options.target}' is not available in this version; targets: {known}")
    if options.target != "mlir" and (options.pseudo_code or options.explain):
        other = "--pseudo-code" if options.pseudo_code else "--explain"
        raise ToolError(f"-t {options.target} and {other} are two forms of output; ask for one")
    pipeline = _pipeline(options)
    if options.verify_seed is not None and not options.verify_each:
        raise ToolError("--verify-seed belongs to --verify-each, which is not given")
    if options.print_between_passes:
        pipeline.callback = _printer_between(options)
    if options.verify_each:
        from ..runtime.checking.verify_each import verified

        pipeline = verified(pipeline, options.verify_seed or 0, pipeline.callback)
    explanation = None
    if options.explain:
        from .opt.explanation import Explanation

        pipeline = explanation = Explanation(pipeline, programs=options.pseudo_code)
    check = None
    if options.verify_equivalence is not None:
        from .opt.equivalence_check import EquivalenceCheck

        check = EquivalenceCheck(options.verify_equivalence, options.max_input_size, print_error)
    name, text = read_text(options.input, options.max_input_size)
    return _Session(options, pipeline, name, text, explanation, check).run()


def _this_machine() -> Machine:
    """Return the target `cpu` of the cost model, measured on first use."""
    from ..runtime.machine.description import this_machine

    return this_machine()


def _pipeline(options: argparse.Namespace) -> PassPipeline:
    """The passes of -p or --pipeline, or the part of them that --start-after and --stop-after ask for."""
    if options.pipeline is not None and options.passes:
        raise ToolError("-p and --pipeline both say which passes to run; give one")
    text = options.passes if options.pipeline is None else named_pipeline(options.pipeline)
    passes = PassPipeline(text).passes
    if options.start_after is not None:
        passes = split_after(passes, options.start_after)[1]
    if options.stop_after is not None:
        passes = split_after(passes, options.stop_after)[0]
    return PassPipeline(passes)


class _Session:
    """One input file on its way through the pipeline, chunk by chunk."""

    def __init__(
        self,
        options: argparse.Namespace,
        pipeline: PassPipeline,
        name: str,
        text: str,
        explanation: Explanation | None = None,
        check: EquivalenceCheck | None = None,
    ):
        self.options = options
        self.pipeline = pipeline
        self.explanation = explanation
        self.check = check
        self.name = name
        self.text = text
        self.outputs: list[str] = []

    def run(self) -> int:
        failed = False
        chunks = split_chunks(self.text) if self.options.split_input_file else [Chunk(self.text, 1)]
        for chunk in chunks:
            output, diagnostics = self._process(chunk)
            failed |= self._report(chunk, diagnostics)
            if output is not None:
                self._emit(output)
        if self.options.output is not None and not failed:
            write_text(self.options.output, "".join(self.outputs))
        return int(failed)

    def _process(self, chunk: Chunk) -> tuple[str | None, list[Diagnostic]]:
        """The printed result (None after an error) and the errors and warnings of one chunk."""
        context = make_context(allow_unregistered=self.options.allow_unregistered_dialect)
        output: str | None = None
        failure: list[Diagnostic] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", OpWarning)
            try:
                module = parse_module(chunk.text, self.name, context, first_line=chunk.first_line)
                self.pipeline.run(module, context)
                output = self._output(module, context)
                if self.check is not None:
                    failure += self.check.compare(module)
            except RecursionError:
                failure.append(Diagnostic("error", "the program is nested too deeply"))
            except MemoryError:
                failure.append(Diagnostic("error", "the program needs more memory than there is"))
            except Exception as error:
                failure.append(Diagnostic.of(error) or Diagnostic("error", _internal_error(error)))
        return output, [*(_warning(entry.message) for entry in caught), *failure]

    def _output(self, module: ModuleOp, context: Context) -> str:
        if self.explanation is not None:
            return self.explanation.text()
        if self.options.target == "mlir":
            return _printed(module, context, self.options)
        return _as_cpp(module) if self.options.target == "cpp" else _as_cuda(module)

    def _report(self, chunk: Chunk, diagnostics: list[Diagnostic]) -> bool:
        """Print errors and warnings; return True if the chunk counts as failed."""
        if self.options.verify_diagnostics:
            diagnostics = check_expectations(chunk.text, self.name, chunk.first_line, diagnostics)
        for diagnostic in diagnostics:
            head = f"{self.name}: " if diagnostic.place is None else ""
            print_error(head + diagnostic.render({self.name: self.text}))
        return any(diagnostic.severity == "error" for diagnostic in diagnostics)

    def _emit(self, output: str) -> None:
        if self.outputs:
            output = "// -----\n" + output
        self.outputs.append(output)
        if self.options.output is None:
            _print(output, end="")


def _printer_between(options: argparse.Namespace) -> Callback:
    """Return a callback that prints the program between passes, on standard error."""

    def show(before: ModulePass | None, module: ModuleOp, after: ModulePass | None) -> None:
        if before is not None and after is not None:
            head = f"// IR after '{before.name}', before '{after.name}':"
            print_error(f"{head}\n{_printed(module, make_context(), options)}")

    return show


def _printed(module: ModuleOp, context: Context, options: argparse.Namespace) -> str:
    if options.pseudo_code:
        return _as_pseudo_code(module)
    stream = StringIO()
    printer = Printer(
        stream=stream,
        print_generic_format=options.print_op_generic,
        print_debuginfo=options.print_debuginfo,
    )
    printer.print_op(module)
    printer.print_metadata(context.loaded_dialects)
    return stream.getvalue() + "\n"


def _as_pseudo_code(module: ModuleOp) -> str:
    """Return each function as pseudo-code, and other operations as MLIR text."""
    from xdsl.dialects.func import FuncOp

    from ..passes.text.pseudo_code import pseudo_code

    return "\n".join(pseudo_code(op) if isinstance(op, FuncOp) else f"{op}\n" for op in module.ops)


def _as_cpp(module: ModuleOp) -> str:
    """The kernels of a program as C++. Raises DiagnosticException where there are none."""
    from ..dialects import kernel
    from ..lowering.emit.cpp import emit_cpp

    kernels = kernel.kernels_of(module)
    if not kernels:
        raise DiagnosticException(
            "the program has no kernels to print as C++; block-to-kernel, or --pipeline cpu, makes them"
        )
    return emit_cpp(kernels)


def _as_cuda(module: ModuleOp) -> str:
    """The kernels of a program as CUDA C++, their tiles placed. Raises DiagnosticException without any."""
    from ..dialects import kernel
    from ..lowering.emit.cuda import emit_cuda
    from ..passes.kernel.place_cuda import KernelPlaceCudaPass

    if not kernel.kernels_of(module):
        raise DiagnosticException(
            "the program has no kernels to print as CUDA C++; block-to-kernel, or --pipeline cuda, makes them"
        )
    PassPipeline([KernelPlaceCudaPass()]).run(module)
    return emit_cuda(kernel.kernels_of(module)).text


def _warning(message: Warning | str) -> Diagnostic:
    found = Diagnostic.of(message) if isinstance(message, Warning) else None
    return found or Diagnostic("warning", one_sentence(str(message)))


# Passes and rules from scripts


@contextmanager
def _registries_restored() -> Generator[None]:
    """Undo the registrations of ``--load`` at the end, for callers that use ``main`` more than once."""
    passes, rules = dict(ALL_PASSES), dict(ALL_RULES)
    try:
        yield
    finally:
        for registry, before in ((ALL_PASSES, passes), (ALL_RULES, rules)):
            for name in set(registry) - set(before):
                del registry[name]


def _load(path: str) -> None:
    """Run a user's script, which registers passes and rules. Raises ToolError naming the failing line."""
    import importlib.util
    import traceback

    _, source = read_text(path)
    stem = "".join(char if char.isalnum() else "_" for char in os.path.basename(path))
    spec = importlib.util.spec_from_loader(f"{SCRIPT_MODULE}_{stem}", loader=None, origin=path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = path
    # dataclasses and get_type_hints look classes' modules up here
    sys.modules[spec.name] = module
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SyntaxError as error:
        raise ToolError(f"cannot load '{path}': line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        _debug_traceback()
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path
        ]
        where = f"line {lines[-1]}: " if lines else ""
        kind = "the script called exit" if isinstance(error, SystemExit) else type(error).__name__
        raise ToolError(f"cannot load '{path}': {where}{kind}: {one_sentence(str(error))}") from error


def _describe_rule(name: str) -> list[tuple[str, str]]:
    """The rows of one rule in the table: its name, and the variants of a law, each with one line."""
    from ..passes.rules.table import Rule

    factory: Callable[[], object] = ALL_RULES[name]
    rule = factory if isinstance(factory, type) else factory()
    if isinstance(rule, Rule):
        return [(name, rule.summary), *((f"  {variant}", law) for variant, law in rule.variants.items())]
    doc = (rule if isinstance(rule, type) else type(rule)).__doc__ or ""
    return [(name, doc.strip().partition("\n")[0])]


# Standard streams and failures


def _print(text: str, end: str = "\n") -> int:
    """Write to standard output at once; returns exit status 0."""
    write_stdout(text + end)
    return 0


def _complain(message: str) -> int:
    print_error(f"bb-opt: error: {message}")
    return 1


def _internal_error(error: Exception) -> str:
    """One sentence for an exception that no user should ever see."""
    _debug_traceback()
    stage = next(
        (f" {note}" for note in getattr(error, "__notes__", ()) if note.startswith("while running")), ""
    )
    culprit = "of the loaded script" if _in_script(error) else "of bb-opt"
    hint = "" if os.environ.get("BB_DEBUG") else "; BB_DEBUG=1 shows the traceback"
    message = one_sentence(f"{type(error).__name__}: {error}")
    return f"internal error{stage}: {message} (this is a bug {culprit}{hint})"


def _in_script(error: BaseException) -> bool:
    trace, last = error.__traceback__, ""
    while trace is not None:
        last = str(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return last.startswith(SCRIPT_MODULE)


def _debug_traceback() -> None:
    if os.environ.get("BB_DEBUG"):
        import traceback

        traceback.print_exc()


# Arguments


def _mebibytes(text: str) -> int:
    if not text.isdecimal() or len(text) > 18 or int(text) == 0:
        raise argparse.ArgumentTypeError(f"takes a positive number of MiB, not '{text}'")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"takes a number that is not negative, not '{text}'")
    return int(text)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="bb-opt",
        description="Read a program as MLIR text, run passes over it and print the result.",
        epilog="Example: bb-opt program.mlir -p array-decompose,array-to-block,cse",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="input file; - (the default) is standard input")
    add("-p", "--passes", metavar="PIPELINE", default="", help="passes to run: a,b{option=1 other=x,y}")
    add(
        "-o", "--output", metavar="FILE", help="write here instead of standard output, only if nothing failed"
    )
    add("--pipeline", metavar="NAME", help="the passes of a default pipeline, such as cpu")
    add("--stop-after", metavar="PASS", help="run the passes up to this one")
    add("--start-after", metavar="PASS", help="run the passes after this one")
    add("-t", "--target", default="mlir", help="what to write: mlir (default), or the kernels as cpp or cuda")
    add(
        "--load",
        metavar="SCRIPT",
        action="append",
        default=[],
        help="run a script that registers passes or rules",
    )
    add(
        "--split-input-file",
        action="store_true",
        help="treat parts between lines '// -----' as separate programs",
    )
    add(
        "--verify-diagnostics",
        action="store_true",
        help="check the errors against 'expected-error {{text}}' comments",
    )
    add(
        "--print-between-passes",
        action="store_true",
        help="show the program between passes, on standard error",
    )
    add(
        "--verify-each",
        action="store_true",
        help="interpret the program before and after every pass, check every rewrite, and stop at the first "
        "that changes a value",
    )
    add(
        "--verify-seed",
        metavar="N",
        type=_seed,
        help="of the random arrays of --verify-each; default: 0",
    )
    add("--pseudo-code", action="store_true", help="print functions as pseudo-code, for people")
    add(
        "--explain",
        action="store_true",
        help="print what block-fuse did, step by step, instead of the program; with --pseudo-code: and what "
        "the program was after each step",
    )
    add(
        "--verify-equivalence",
        metavar="FILE",
        help="after the passes, compare the functions with another program's, exactly; fail unless equal",
    )
    add("--print-op-generic", action="store_true", help="print operations in MLIR's generic form")
    add("--print-debuginfo", action="store_true", help="print source locations")
    add("--allow-unregistered-dialect", action="store_true", help="accept unknown operations in generic form")
    add(
        "--max-input-size",
        metavar="MIB",
        type=_mebibytes,
        default=DEFAULT_LIMIT_MIB,
        help="default: %(default)s",
    )
    add("--list-passes", action="store_true", help="name the passes, with one line each")
    add("--list-pipelines", action="store_true", help="name the default pipelines, with their passes")
    add("--list-rules", action="store_true", help="name the rewrite rules of block-apply, with one line each")
    add("--version", action="store_true", help="print the version")
    return parser.parse_args(argv)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        own = version("bb-compiler")
    except PackageNotFoundError:  # run from a checkout
        own = "(not installed)"
    return f"bb-opt {own} (xDSL {version('xdsl')})"


def _rows(name: str, lines: str) -> list[tuple[str, str]]:
    """A row for each line, of which the first has the name."""
    first, *others = lines.split("\n")
    return [(name, first), *(("", line) for line in others)]


def _table(rows: Sequence[tuple[str, str]]) -> str:
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}  {text}".rstrip() for name, text in rows) or "(none)"


if __name__ == "__main__":
    sys.exit(main())
