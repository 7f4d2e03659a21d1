"""``bb-run``: executes the functions of a program on real arrays, and checks them against float64."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ..dialects.array import array_type
from ..dialects.diagnostics import one_sentence
from ..dialects.parsing import parse_module
from ..lowering.pipelines import PassPipeline, PipelineError
from ..lowering.pipelines.levels import functions_of, is_launcher
from ..passes.text.output import os_reason, replace_file
from ..runtime.arrays.dtypes import BFLOAT16, Array
from ..runtime.calls.compile_options import ARCHITECTURES, DEFAULT_ARCH, TIERS
from ..runtime.checking.hard import Verdict, compare_rows
from ..runtime.checking.tolerances import BOUNDS, compare, narrowest_float
from ..runtime.compilation.directory import CacheWarning
from ..runtime.compilation.errors import HostCompilerError
from ..runtime.cuda.compile import CudaCompilerError
from ..runtime.cuda.emulator import EmulationError, EmulatorBuildError
from ..runtime.cuda.ptx import PtxError
from ..runtime.errors import InputError
from ..runtime.executable.targets import INTERPRETER, TARGETS, check_target, names_of_targets
from ..runtime.host.settings import SettingError
from ..runtime.interpreter.blocks import DEFAULT_BLOCK_SIZE
from ..runtime.interpreter.functions import Run, interpret
from ..runtime.profile.report import Profile, report
from ..runtime.program.functions import public_functions, select_function
from ..runtime.program.hard_inputs import HardCase, hard_inputs
from ..runtime.program.inputs import (
    Argument,
    arguments_of,
    as_input,
    check_block_sizes,
    extents_by_name,
    random_inputs,
    result_names,
)
from ..runtime.tuning.request import checked_seconds
from .run.bench import Measurement
from .run.compiled import Compiled, check_options, resources_of, source_text
from .run.roofline import draw_roofline
from .shared.common import ArgumentParser, assignment, is_terminal, message_for, positive, print_error, sizes
from .shared.files import (
    DEFAULT_LIMIT_MIB,
    ToolError,
    read_text,
    reserve_standard_streams,
    write_stdout,
    write_text,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``bb-run`` with the given arguments (default: the process's); returns the exit status, 0 or 1."""
    reserve_standard_streams()
    sources: dict[str, str] = {}
    try:
        options = _arguments(argv)
        check_target(options.target)
        check_options(options)
        pipeline = PassPipeline(options.passes)
        name, text = read_text(options.file, options.max_input_size)
        sources[name] = text
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CacheWarning)
            status = _Session(options, pipeline, name).run(parse_module(text, name))
        for warning in caught:
            print_error(f"bb-run: warning: {warning.message}")
        return status
    except EmulationError as error:
        return _complain(f"the emulated kernel is wrong: {one_sentence(str(error))}")
    except (
        *(ToolError, PipelineError, InputError, HostCompilerError, SettingError),
        *(CudaCompilerError, EmulatorBuildError, PtxError),
    ) as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _complain("interrupted")
    except MemoryError:
        return _complain("the program needs more memory than there is")
    except RecursionError:
        return _complain("the program is nested too deeply")
    except SystemExit as stop:  # --help
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        print_error(message_for("bb-run", error, sources))
        return 1


def _complain(message: str) -> int:
    print_error(f"bb-run: error: {message}")
    return 1


@dataclass
class _Case:
    """One function and the arrays to run it on, and hard ones to run it on after that."""

    function: FuncOp
    arrays: list[Array]
    hard: list[HardCase] = field(default_factory=list[HardCase])

    @property
    def name(self) -> str:
        return self.function.sym_name.data


class _Session:
    """One program: its passes, its functions, its reference."""

    def __init__(self, options: argparse.Namespace, pipeline: PassPipeline, name: str):
        self.options = options
        self.name = name
        self.pipeline = pipeline
        self.blocks = sizes(options.block, "--block")
        self.extents = sizes(options.extent, "--extent")
        self.compiled: Compiled | None = None
        self.profiles: list[Profile] = []

    def run(self, module: ModuleOp) -> int:
        given = module.clone()
        is_compiled = self.options.target in TARGETS
        if self.options.source or self.options.report:
            write_stdout((source_text if self.options.source else resources_of)(given, self.options))
            return 0
        if not is_compiled:
            self.pipeline.run(module)
        if self.options.entry is not None:
            functions = [select_function(module, self.options.entry)]
        else:
            functions = public_functions(module)
        if not functions:
            raise ToolError(f"'{self.name}' has no public function to run")
        check_block_sizes(functions, self.blocks)
        cases = self._cases(functions, given)
        if self.options.check and any(is_launcher(function) for function in functions_of(given)):
            raise ToolError("--check runs the program as given on the interpreter, which runs no kernels")
        if is_compiled:
            self.compiled = Compiled(given, {case.name: case.arrays for case in cases}, self.options)
        if self.options.output is not None:
            _make_folder(self.options.output)
        failed: list[str] = []
        timed: list[Measurement | None] = [None] * len(cases)
        if self.options.bench and self.compiled is not None:
            timed[:] = self.compiled.measure([(case.name, case.arrays) for case in cases])
        for case, measurement in zip(cases, timed, strict=True):
            failed += self._execute(module, given, case, measurement)
        self._write_profiles()
        for result in failed:
            _complain(f"{result} is further from the float64 reference than its bound allows")
        return int(bool(failed))

    # Inputs

    def _cases(self, functions: Sequence[FuncOp], given: ModuleOp) -> list[_Case]:
        arguments = {function: arguments_of(function) for function in functions}
        files = self._files([argument for own in arguments.values() for argument in own])
        extents = extents_by_name(functions)
        for name in self.extents:
            if name not in extents:
                known = ", ".join(sorted(extents)) or "none"
                raise ToolError(f"--extent: no argument has the unknown extent '{name}'; there are: {known}")
        cases: list[_Case] = []
        for function, own in arguments.items():
            named = {argument.name for argument in own} & files.keys()
            arrays = {name: as_input(own, name, _load(files[name])) for name in sorted(named)}
            source = select_function(given, function.sym_name.data)
            cases.append(self._complete(function, source, own, arrays))
        return cases

    def _files(self, arguments: Sequence[Argument]) -> dict[str, str]:
        """The files of `--input` by the names of arguments. Raises ToolError for a name that none has."""
        known = list(dict.fromkeys(argument.name for argument in arguments))
        files: dict[str, str] = {}
        for name, path in self.options.input:
            if name not in known:
                raise ToolError(
                    f"--input: no argument is named '{name}'; there are: {', '.join(known) or 'none'}"
                )
            if files.setdefault(name, path) != path:
                raise ToolError(f"--input: '{name}' is given twice")
        return files

    def _complete(
        self, function: FuncOp, source: FuncOp, own: Sequence[Argument], arrays: dict[str, Array]
    ) -> _Case:
        missing = [argument.name for argument in own if argument.name not in arrays]
        seed: _Seed | None = self.options.random
        if missing and seed is None:
            raise ToolError(
                f"'{function.sym_name.data}' needs arrays for {', '.join(missing)}: give each as "
                "--input NAME=FILE.npy, or make those that are missing with --random SEED"
            )
        if seed is None or not seed.hard:
            number = 0 if seed is None else seed.number
            return _Case(function, random_inputs(function, number, self.extents, arrays, source=source))
        ordinary, *hard = hard_inputs(function, seed.number, self.extents, arrays, source=source)
        return _Case(function, ordinary.arrays, hard)

    # Execution

    def _interpret(
        self, module: ModuleOp, case: _Case, *, float64: bool, arrays: list[Array] | None = None
    ) -> Run:
        with np.errstate(all="ignore"):
            return interpret(
                module,
                case.arrays if arrays is None else arrays,
                entry=case.name,
                float64=float64,
                block_sizes=self.blocks,
                default_block_size=self.options.block_size or DEFAULT_BLOCK_SIZE,
            )

    def _run(self, module: ModuleOp, case: _Case, arrays: list[Array]) -> tuple[Run, str]:
        """Run one function; return its outcome and the name of the device."""
        if self.compiled is not None:
            return Run(self.compiled.run(case.name, arrays)), self.compiled.where
        run = self._interpret(module, case, float64=self.options.float64, arrays=arrays)
        return run, "the interpreter" + (" in float64" if self.options.float64 else "")

    def _execute(
        self, module: ModuleOp, given: ModuleOp, case: _Case, measurement: Measurement | None
    ) -> list[str]:
        """Run, report, check and save one function; the results that are outside their bound."""
        run, where = self._run(module, case, case.arrays)
        names = result_names(case.function)
        lines = [f"@{case.name} on {where}"]
        lines += [
            f"  %{name}: {_shape(array)}{type}, {_summary(array)}"
            for name, type, array in zip(names, _result_types(case.function), run.results, strict=True)
        ]
        lines += _counted(run)
        lines += [] if self.compiled is None else self.compiled.chosen(case.name)
        failed: list[str] = []
        if self.options.check:
            checked, failed = self._check(given, case, run, names)
            lines += checked
        for hard in case.hard:
            checked, outside = self._run_hard(module, given, case, hard, names)
            lines += checked
            failed += outside
        if measurement is not None:
            lines += measurement.lines()
        if self.options.profile and self.compiled is not None:
            lines += self._profile(self.compiled, case)
        write_stdout("\n".join(lines) + "\n")
        if self.options.output is not None:
            for name, array in zip(names, run.results, strict=True):
                _save(self.options.output, case.name, name, array)
        return failed

    def _run_hard(
        self, module: ModuleOp, given: ModuleOp, case: _Case, hard: HardCase, names: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Run a function on hard arrays; lines on its results, and those outside of their bounds."""
        run, _ = self._run(module, case, hard.arrays)
        if not self.options.check:
            results = [f"%{name}: {_summary(array)}" for name, array in zip(names, run.results, strict=True)]
            return [f"  {hard.name}: {'; '.join(results)}"], []
        reference = self._interpret(given, case, float64=True, arrays=hard.arrays)
        written = self._interpret(given, case, float64=self.options.float64, arrays=hard.arrays)
        bound = BOUNDS[self._precision(case)]
        lines: list[str] = []
        failed: list[str] = []
        results = zip(run.results, reference.results, written.results, strict=True)
        for name, (array, wanted, own) in zip(names, results, strict=True):
            found = compare_rows(array, wanted, own, bound)
            as_written = f", {found.written:.1e} as written" if found.verdict is not Verdict.OK else ""
            error = f"worst error of a row {found.error:.1e}{as_written}"
            lines.append(f"  check %{name}, {hard.name}: {error}: {found.verdict.value}")
            if found.verdict is Verdict.OUTSIDE:
                failed.append(f"result %{name} of @{case.name}, for the hard inputs '{hard.name}',")
        return lines, failed

    def _profile(self, compiled: Compiled, case: _Case) -> list[str]:
        profile = compiled.profile(case.name, case.arrays)
        if profile is None:
            return ["  profile: there are no kernels, all of it stays on whole arrays"]
        self.profiles.append(profile)
        return [f"  {line}" for line in report(profile, color=is_terminal()).splitlines()]

    def _write_profiles(self) -> None:
        if self.options.profile_json is not None:
            record = {"profiles": [profile.record() for profile in self.profiles]}
            write_text(self.options.profile_json, json.dumps(record, indent=2) + "\n")
        if self.options.roofline is not None:
            draw_roofline(self.profiles, self.options.roofline)

    def _precision(self, case: _Case) -> str:
        """The type whose bound holds for the results of a function."""
        return "f64" if self.options.float64 else narrowest_float(case.function, tf32=self.options.tf32)

    def _check(
        self, given: ModuleOp, case: _Case, run: Run, names: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        precision = self._precision(case)
        reference = self._interpret(given, case, float64=True)
        lines: list[str] = []
        failed: list[str] = []
        for name, array, wanted in zip(names, run.results, reference.results, strict=True):
            found = compare(array, wanted, BOUNDS[precision])
            errors = f"worst error {found.absolute:.1e} absolute, {found.relative:.1e} relative"
            allowed = f"bound {found.bound:.1e} ({precision})" if found.bound else "must be equal"
            verdict = "ok" if found.within else "OUTSIDE"
            lines.append(f"  check %{name}: {errors}, {allowed}: {verdict}")
            if not found.within:
                failed.append(f"result %{name} of @{case.name}")
        return lines, failed


def _result_types(function: FuncOp) -> list[Attribute]:
    """The element types of the results."""
    return [array_type(type).element_type for type in function.function_type.outputs]


def _shape(array: Array) -> str:
    return "".join(f"{extent}x" for extent in array.shape)


def _summary(array: Array) -> str:
    """Minimum, mean and maximum of the finite elements, and how many others there are."""
    if array.dtype == np.bool_:
        return f"{int(np.count_nonzero(array))} of {array.size} true"
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    parts: list[str] = []
    if finite.size:
        with np.errstate(over="ignore"):
            mean = finite.mean()
        parts.append(f"min {finite.min():.6g}, mean {mean:.6g}, max {finite.max():.6g}")
    for what, count in (("NaN", np.isnan(values).sum()), ("infinite", np.isinf(values).sum())):
        if count:
            parts.append(f"{int(count)} {what}")
    return ", ".join(parts)


def _counted(run: Run) -> list[str]:
    counts = run.counts
    if not any(vars(counts).values()):
        return []
    dims = ", ".join(
        f"{dim} = {run.extents[dim]}" + (f" in blocks of {size}" if size < run.extents[dim] else "")
        for dim, size in run.block_sizes.items()
    )
    return [
        f"  dims: {dims}",
        f"  {counts.loads:,} loads ({counts.bytes_loaded:,} bytes), {counts.stores:,} stores "
        f"({counts.bytes_stored:,} bytes), {counts.flops:,} flops",
    ]


# Files


def _load(path: str) -> Array:
    """The array in a .npy file. Raises ToolError."""
    try:
        with open(path, "rb") as file:
            is_npy = file.read(6) == b"\x93NUMPY"
    except OSError as error:
        raise ToolError(f"cannot read '{path}': {os_reason(error)}") from error
    if not is_npy:
        raise ToolError(f"'{path}' is no .npy file")
    try:
        # Mapped, so that a header that promises more than the file holds allocates nothing.
        return np.array(cast(Array, np.load(path, mmap_mode="r", allow_pickle=False)))
    except Exception as error:  # a broken header makes numpy raise all sorts
        raise ToolError(f"'{path}' holds no array that can be read: {one_sentence(str(error))}") from error


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise ToolError(f"cannot make the folder '{path}': {os_reason(error)}") from error


def _save(folder: str, function: str, result: str, array: Array) -> None:
    """Write FOLDER/FUNCTION.RESULT.npy in one step; bfloat16, which .npy has no name for, as float32."""
    stream = io.BytesIO()
    np.save(stream, array.astype(np.float32) if array.dtype == BFLOAT16 else array, allow_pickle=False)
    path = os.path.join(folder, f"{quote(function, safe='')}.{quote(result, safe='')}.npy")
    try:
        replace_file(path, stream.getvalue())
    except OSError as error:
        raise ToolError(f"cannot write '{path}': {os_reason(error)}") from error


# Arguments


def _seconds(text: str) -> float:
    try:
        return checked_seconds(float(text))
    except (ValueError, InputError) as error:
        raise argparse.ArgumentTypeError(f"takes seconds above 0, up to a day, not '{text}'") from error


@dataclass(frozen=True)
class _Seed:
    """The seed of random arrays, and whether hard ones follow."""

    number: int
    hard: bool


def _seed(text: str) -> _Seed:
    kind, _, number = text.rpartition(":")
    if text == "hard":
        kind, number = "hard", "0"
    if kind not in ("", "hard") or (kind == "" and ":" in text) or not number.isdecimal() or len(number) > 18:
        raise argparse.ArgumentTypeError(f"takes an integer from 0, 'hard' or 'hard:SEED', not '{text}'")
    return _Seed(int(number), kind == "hard")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="bb-run",
        description="Execute the functions of a program on arrays and show what they give.",
        epilog="Example: bb-run program.mlir -p array-decompose,array-to-block --random 0 --check",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", help="the program; - is standard input")
    targets = ", ".join(names_of_targets())
    add("--target", default=INTERPRETER, help=f"where to run: {targets} (default: %(default)s)")
    add("--entry", metavar="NAME", help="the function to run (default: every public function)")
    add(
        "-p",
        "--passes",
        metavar="PIPELINE",
        default="",
        help="passes to run first: a,b{option=1} (default on the cpu: those of bb-opt --list-pipelines)",
    )
    add(
        "--input",
        metavar="NAME=FILE.npy",
        action="append",
        default=[],
        type=assignment("FILE.npy"),
        help="the array for an argument, by name, or by position (0, 1, ...) where it has no name of its own",
    )
    add(
        "--random",
        metavar="SEED",
        type=_seed,
        help="make the arrays that --input does not give; hard or hard:SEED: run on hard numbers as well "
        "(outliers, large and tiny ones, NaN, infinities, keys that masks hide), case by case",
    )
    add(
        "--extent",
        metavar="NAME=SIZE",
        action="append",
        default=[],
        type=assignment("SIZE"),
        help="an unknown extent of random arrays: of axis 0 of argument q as q.0=33, of dim M as M=33",
    )
    add(
        "--block",
        metavar="DIM=SIZE",
        action="append",
        default=[],
        type=assignment("SIZE"),
        help="elements in a block of a dim whose block size the program leaves open",
    )
    add(
        "--block-size",
        metavar="SIZE",
        type=positive,
        help=f"elements in a block of all other such dims (default: {DEFAULT_BLOCK_SIZE})",
    )
    add("--float64", action="store_true", help="compute every float type as float64")
    add(
        "--check",
        action="store_true",
        help="compare with the program as given, before the passes, in float64; exit status 1 if it is off",
    )
    add("--source", action="store_true", help="compiled targets: print the generated source, and run nothing")
    add(
        "--report",
        action="store_true",
        help="cuda: print what the kernels take of a GPU, compiled by NVRTC without one, and run nothing",
    )
    add(
        "--tf32",
        action="store_true",
        help="cuda, emulator: multiply f32 on tensor cores, which round operands to 10 bits of fraction",
    )
    add("--arch", choices=ARCHITECTURES, help=f"cuda: what NVRTC compiles for (default: {DEFAULT_ARCH})")
    add(
        "--tier",
        choices=TIERS,
        help="emulator: run the source (default), or the PTX that NVRTC makes of it",
    )
    add(
        "--check-accesses",
        action="store_true",
        help="emulator: look at every access to memory, and report races and accesses outside of arrays",
    )
    add(
        "--bench",
        action="store_true",
        help="cpu: time the functions, and compare with what the machine can do at best",
    )
    add(
        "--profile",
        action="store_true",
        help="cpu: show where the time of the functions goes, by kernel, kind of work and statement",
    )
    add("--profile-json", metavar="FILE", help="cpu: write the profile as JSON")
    add(
        "--roofline",
        metavar="FILE",
        help="cpu: draw the profile under the machine's roof (.png, .svg or .pdf)",
    )
    add(
        "--threads", metavar="N", type=positive, help="cpu: how many threads (default: BB_NUM_THREADS or all)"
    )
    add(
        "--tune",
        metavar="SECONDS",
        type=_seconds,
        help="cpu: measure ways to fuse and cut functions for about so long each; the best is kept (bb-tune)",
    )
    add(
        "--choose",
        metavar="WHO",
        choices=("rules", "model"),
        help="cpu: what chooses how to fuse and cut: rules, or the cost model (default: measurements, rules)",
    )
    add("--no-cache", action="store_true", help="compiled targets: compile again, and keep nothing of it")
    add("--output", metavar="DIR", help="write results as DIR/FUNCTION.RESULT.npy (bfloat16 as float32)")
    add(
        "--max-input-size",
        metavar="MIB",
        type=positive,
        default=DEFAULT_LIMIT_MIB,
        help="largest program in MiB (default: %(default)s)",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
