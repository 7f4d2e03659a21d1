"""``bb-cuda-check``: runs a CUDA kernel on the CPU and reports races, bad accesses and wrong results."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from ..dialects.diagnostics import one_sentence
from ..runtime.compilation.errors import HostCompilerError
from ..runtime.cuda.compile import CudaCompilerError, KernelResources, compile_cuda, kernel_resources
from ..runtime.cuda.compile.resources import resource_table
from ..runtime.cuda.emulator import WIDTHS, EmulatedModule, EmulatorBuildError, Finding, LaunchReport
from ..runtime.cuda.emulator.base_module import KernelModule, ModuleOptions
from ..runtime.cuda.emulator.native_files import device_directory
from ..runtime.cuda.ptx import PtxError, PtxModule
from ..runtime.host.settings import SettingError
from .cuda_check.arguments import Array, KernelArgument, kernel_arguments, load_array
from .cuda_check.findings import as_json, distinct, print_finding
from .shared.common import ArgumentParser, message_for, positive, print_error
from .shared.files import ToolError, read_text, reserve_standard_streams, write_stdout

_ARCHITECTURES = "sm_80,sm_90,sm_100"


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``bb-cuda-check``: 0 without a finding, 1 with one or wrong results, 2 for what cannot be run."""
    reserve_standard_streams()
    try:
        return _Check(_arguments(argv)).run()
    except (
        ToolError,
        EmulatorBuildError,
        CudaCompilerError,
        PtxError,
        HostCompilerError,
        SettingError,
    ) as error:
        return _complain(one_sentence(str(error)))
    except (ValueError, TypeError) as error:
        # What the emulator says about a launch that no device would take.
        if os.environ.get("BB_DEBUG"):
            raise
        return _complain(one_sentence(str(error)))
    except KeyboardInterrupt:
        return _complain("interrupted")
    except MemoryError:
        return _complain("the launch needs more memory than there is")
    except SystemExit as stop:  # --help
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        print_error(message_for("bb-cuda-check", error, {}))
        return 2


def _complain(message: str) -> int:
    print_error(f"bb-cuda-check: error: {message}")
    return 2


def _extents(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"takes one to three positive integers such as 4,2, not '{text}'")
    return tuple(int(part) for part in parts)


def _size(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"takes a number of bytes, not '{text}'")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86400:
        raise argparse.ArgumentTypeError(f"takes a positive number, not '{text}'")
    return value


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="bb-cuda-check",
        description="Run a CUDA kernel on the CPU and report races, bad accesses and wrong results.",
        epilog="Exit status: 0 without a finding, 1 with one or wrong results, 2 for what cannot be run.",
    )
    add = parser.add_argument
    add("file", help="a file of CUDA C++ (- reads standard input)")
    add("--kernel", metavar="NAME", help='the kernel: extern "C", or an expression such as scale<float>')
    add("--grid", type=_extents, default=(1,), metavar="X,Y,Z", help="blocks of the grid (default: 1)")
    add("--block", type=_extents, default=(128,), metavar="X,Y,Z", help="threads of a block (default: 128)")
    add("--shared", type=_size, default=0, metavar="BYTES", help="dynamic shared memory of a block")
    add(
        "--arg",
        action="append",
        default=[],
        metavar="[NAME=]FORM",
        help="the next argument: in:FILE.npy, out:f32:2x64 (undefined at entry), zeros:f32:64, "
        "random:f32:64, i32:5, null; with @64x64/128: a tensor map of boxes that are swizzled by 128 bytes",
    )
    add(
        "--expect",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="compare the next output (or the argument NAME) with a .npy file",
    )
    add("--tolerance", type=_seconds, default=1e-4, metavar="T", help="of --expect, as |x - y| <= T + T |y|")
    add(
        "--schedule",
        choices=("fifo", "lifo", "pct"),
        help="the order of threads (default: fifo; pct: random)",
    )
    add("--seeds", type=positive, metavar="N", help="run N random schedules (default: 1)")
    add("--fast", action="store_true", help="look at results and crashes only, not at every access")
    add("--ptx", metavar="ARCH", help="run the PTX that NVRTC makes for an architecture such as sm_90")
    add(
        "--report",
        nargs="?",
        const=_ARCHITECTURES,
        metavar="ARCHS",
        help=f"registers, spills, shared memory, occupancy and instructions (default: {_ARCHITECTURES})",
    )
    add("--profile", action="store_true", help="bytes and sectors of each buffer, bank conflicts")
    add("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]", help="define a macro")
    add("-I", dest="include", action="append", default=[], metavar="DIR", help="look for headers there, too")
    add(
        "--time-limit", type=_seconds, default=60.0, metavar="S", help="CPU seconds of a launch (default: 60)"
    )
    add("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(argv)
    if options.seeds is not None and options.schedule not in (None, "pct"):
        raise ToolError(f"--seeds is for the schedule pct, not {options.schedule}")
    return options


class _Check:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.file_name, self.source = read_text(options.file)
        self.arguments = kernel_arguments(options.arg)
        self.schedule: str = options.schedule or ("pct" if options.seeds else "fifo")
        self.console = Console(highlight=False, soft_wrap=True)
        folder = Path.cwd() if options.file == "-" else Path(options.file).absolute().parent
        self.include = [*(Path(path) for path in options.include), folder]

    def run(self) -> int:
        resources = self._resources() if self.options.report is not None else []
        reports = self._launches()
        findings = distinct(finding for report in reports for finding in report.findings)
        wrong = self._compare() if all(report.finished for report in reports) else []
        if self.options.json:
            self._print_json(reports, findings, wrong, resources)
        else:
            self._print(reports, findings, wrong, resources)
        return int(bool(findings or wrong) or not all(report.ok for report in reports))

    # Running

    def _launches(self) -> list[LaunchReport]:
        module = self._module()
        name: str = self.options.kernel or self._only_kernel(list(module.compile().kernels))
        kernel = module.get_function(name)
        kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, self.options.shared)
        given = [None if each.array is None else each.array.copy() for each in self.arguments]
        reports: list[LaunchReport] = []
        for seed in range(self.options.seeds or 1):
            for argument, values in zip(self.arguments, given, strict=True):
                if argument.array is not None and values is not None:
                    np.copyto(argument.array, values)
            reports.append(
                kernel.launch(
                    self.options.grid,
                    self.options.block,
                    [argument.value for argument in self.arguments],
                    self.options.shared,
                    schedule=self.schedule,
                    seed=seed,
                    profile=self.options.profile,
                    names=[argument.name for argument in self.arguments],
                    undefined=[index for index, each in enumerate(self.arguments) if each.undefined],
                    time_limit=self.options.time_limit,
                )
            )
            if not reports[-1].ok:
                break  # what one schedule finds need not be found again
        return reports

    def _flags(self) -> list[str]:
        return [*(f"-D{text}" for text in self.options.define), *(f"-I{path}" for path in self.include)]

    def _module(self) -> KernelModule:
        kernel: str | None = self.options.kernel
        given: ModuleOptions = {
            "options": self._flags(),
            "name_expressions": () if kernel is None or kernel.isidentifier() else (kernel,),
            "check": not self.options.fast,
            "file_name": self.file_name,
        }
        if self.options.ptx is not None:
            return PtxModule(self.source, arch=self.options.ptx, **given)
        return EmulatedModule(self.source, **given)

    def _only_kernel(self, names: list[str]) -> str:
        if len(names) != 1:
            found = ", ".join(f"'{name}'" for name in names) or 'no kernel that is extern "C"'
            raise ToolError(f"{self.file_name} has {found}: name one with --kernel")
        return names[0]

    def _resources(self) -> list[KernelResources]:
        threads = math.prod(self.options.block)
        defines = dict(text.partition("=")[::2] for text in self.options.define)
        found: list[KernelResources] = []
        for arch in self.options.report.split(","):
            binary = compile_cuda(
                self.source,
                arch,
                name=self.file_name,
                include=[*self.include, device_directory()],
                defines={name: value or "1" for name, value in defines.items()},
                name_expressions=[] if (self.options.kernel or "k").isidentifier() else [self.options.kernel],
            )
            kernel: str | None = self.options.kernel
            wanted = None if kernel is None else binary.lowered_names.get(kernel, kernel)
            rows = kernel_resources(binary, threads=threads, dynamic_shared=self.options.shared)
            found += [row for row in rows if wanted is None or row.kernel == wanted]
        return found

    def _compare(self) -> list[str]:
        outputs = iter([each for each in self.arguments if each.undefined])
        wrong: list[str] = []
        for text in self.options.expect:
            name, equals, path = text.partition("=")
            named = [each for each in self.arguments if equals and each.name == name]
            argument = named[0] if named else next(outputs, None)
            if argument is None or argument.array is None:
                raise ToolError(f"--expect {text}: there is no such output")
            problem = self._difference(argument, load_array(path if named else text))
            if problem is not None:
                wrong.append(problem)
        return wrong

    def _difference(self, argument: KernelArgument, expected: Array) -> str | None:
        array = argument.array
        assert array is not None
        if array.size != expected.size:
            raise ToolError(f"'{argument.name}' has {array.size} values, the expected file {expected.size}")
        wide, right = array.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
        bound = self.options.tolerance
        bad = ~np.isclose(wide, right, rtol=bound, atol=bound, equal_nan=True)
        if not bad.any():
            return None
        place = int(bad.argmax())
        first = ", ".join(str(int(index)) for index in np.unravel_index(place, array.shape))
        got, wanted = float(wide[place]), float(right[place])
        return (
            f"{int(bad.sum())} of {bad.size} values of '{argument.name}' differ: "
            f"the first, [{first}], is {got:.7g} and should be {wanted:.7g}"
        )

    # Printing

    def _summary(self, reports: Sequence[LaunchReport], count: int) -> str:
        tier = "source tier" if self.options.ptx is None else f"PTX of {self.options.ptx}"
        mode = "fast mode" if self.options.fast else "check mode"
        runs = f"{self.schedule} schedule" + (f", {len(reports)} runs" if len(reports) > 1 else "")
        found = "no finding" if count == 0 else f"{count} finding{'s' * (count > 1)}"
        return f"{found} in kernel '{reports[0].kernel}' ({tier}, {mode}, {runs}, emulated)"

    def _print(
        self,
        reports: Sequence[LaunchReport],
        findings: Sequence[Finding],
        wrong: Sequence[str],
        resources: Sequence[KernelResources],
    ) -> None:
        lines = self.source.splitlines()
        with self.console.capture() as captured:
            if reports[-1].output:
                self.console.print(reports[-1].output, markup=False, end="")
            for finding in findings:
                print_finding(self.console, finding, self.file_name, lines)
            for text in wrong:
                self.console.print(f"[bold red]wrong result:[/] {text}")
            if resources:
                self.console.print(resource_table(resources))
            if self.options.profile:
                self.console.print(_traffic(reports[-1]))
                if conflicts := _conflicts(reports[-1]):
                    self.console.print("\n".join(conflicts), markup=False)
            self.console.print(self._summary(reports, len(findings) + len(wrong)), markup=False)
        write_stdout(captured.get())

    def _print_json(
        self,
        reports: Sequence[LaunchReport],
        findings: Sequence[Finding],
        wrong: Sequence[str],
        resources: Sequence[KernelResources],
    ) -> None:
        last = as_json(reports[-1], findings)
        last["runs"] = len(reports)
        last["wrong_results"] = list(wrong)
        last["resources"] = [row.as_json() for row in resources]
        write_stdout(json.dumps(last, indent=1) + "\n")


_WORST = 5
"""Lines of the source that are shown with their bank conflicts."""


def _conflicts(report: LaunchReport) -> list[str]:
    """The lines of the source whose accesses to shared memory lose most passes to bank conflicts."""
    worst = sorted(
        (line for line in report.lines if line.passes > line.ideal_passes and line.location is not None),
        key=lambda line: line.ideal_passes - line.passes,
    )
    return [
        f"{line.location}: bank conflicts x{line.conflict_factor:.2f}, "
        f"{line.passes:,} passes of shared memory for {line.ideal_passes:,}"
        for line in worst[:_WORST]
    ]


def _widths(widths: Sequence[int]) -> str:
    """The widths of accesses, the widest first: `16 B, 2 B 3%`."""
    total = sum(widths)
    shares = [(width, count) for width, count in zip(WIDTHS, widths, strict=True) if count][::-1]
    return ", ".join(
        f"{width} B" + (f" {100 * count / total:.0f}%" if len(shares) > 1 else "") for width, count in shares
    )


def _traffic(report: LaunchReport) -> Table:
    table = Table(title="Traffic", title_justify="left")
    headings = ("bytes read", "bytes written", "accesses", "load sectors/request", "store sectors/request")
    for heading in ("buffer", *headings):
        table.add_column(heading, justify="left" if heading == "buffer" else "right")

    def ratio(sectors: int, requests: int) -> str:
        return f"{sectors / requests:.2f}" if requests else "-"

    for each in report.buffers:
        loads = ratio(each.load_sectors, each.load_requests)
        stores = ratio(each.store_sectors, each.store_requests)
        widths = _widths([a + b for a, b in zip(each.load_widths, each.store_widths, strict=True)])
        table.add_row(each.name, f"{each.bytes_read:,}", f"{each.bytes_written:,}", widths, loads, stores)
    shared = report.shared
    conflicts = f"bank conflicts x{shared.conflict_factor:.2f}"
    table.add_row("shared memory", f"{shared.bytes_read:,}", f"{shared.bytes_written:,}", "", conflicts, "")
    return table


if __name__ == "__main__":
    sys.exit(main())
