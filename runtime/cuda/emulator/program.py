"""Programs: kernels and the runtime, linked into an executable that runs one launch."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...compilation.cache import digest_of
from ...compilation.cached import cached_file, compile_cache, package_version, run_compiler, tree_digest
from ...compilation.errors import HostCompilerError, first_error
from ...compilation.host_compiler import HostCompiler, find_compiler
from ...compilation.progress import Progress, ticking
from ...host.processor import cpu_identity
from .errors import EmulatorBuildError
from .findings import SourceLocation
from .native_files import hooks_directory, runtime_objects

KERNEL_FILE = "kernel.cu"
"""The name under which compilers see a source; messages have the user's name for it."""

COMPILE_SECONDS = 300.0
"""Time limit for compiling a kernel, in seconds: a source may keep a compiler busy forever."""

_POINTER, _POINTER_TO_CONST = 1, 2


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: bytes, and whether it is a pointer (and one to const)."""

    size: int
    is_pointer: bool
    to_const: bool


@dataclass(frozen=True)
class KernelSignature:
    """A kernel of a program: its number in it, and its parameters."""

    name: str
    number: int
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Program:
    """An executable with kernels. `source_files` says what the numbers of files in explicit sites mean.

    `variables` are the symbols of its variables by their names in the source; None where they are the same.
    """

    path: Path
    kernels: Mapping[str, KernelSignature]
    source_files: tuple[str, ...]
    check: bool
    variables: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Compilation:
    """Tools for a step of a build: a scratch directory, and a function that runs the compiler in it.

    `run` takes arguments for the compiler; raises EmulatorBuildError for `subject` where it fails.
    """

    scratch: Path
    compiler: HostCompiler
    run: Callable[[Sequence[str | Path]], None]


def kernel_flags(compiler: HostCompiler, *, check: bool) -> tuple[str, ...]:
    """Flags for a kernel's C++: arithmetic as written, wrapping integers, line tables."""
    flags = [
        "-std=gnu++20",
        *("-O2", "-w", "-g1", "-gdwarf-4", "-fPIE"),
        *("-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fno-math-errno"),
        *("-fno-exceptions", "-fno-stack-protector", "-fno-optimize-sibling-calls"),
        f"-DBB_EMU_CHECK={int(check)}",
    ]
    if "clang" not in compiler.version:
        # All thread-local variables are constant-initialised: no functions are needed that make sure of it.
        flags.append("-fno-extern-tls-init")
    return tuple(flags)


def build_program(
    file_name: str,
    text: str,
    *,
    name: str,
    check: bool,
    source_files: Sequence[str] = (KERNEL_FILE,),
    extra_flags: Sequence[str] = (),
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Program:
    """Compile C++ that calls the hooks itself and exports `bb_emu_kernels`, and link it with the runtime.

    `name` is for people; `file_name` is what the text is called in errors; `extra_flags` are for the text
    alone. Raises EmulatorBuildError, HostCompilerError.
    """
    compiler = find_compiler(use_cache=use_cache)
    flags = (*kernel_flags(compiler, check=check), *extra_flags, f"-I{hooks_directory()}")

    def make_object(step: Compilation) -> Path:
        source = step.scratch / "kernel.cpp"
        source.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        step.run([*flags, "-c", source.name, "-o", "kernel.o"])
        return step.scratch / "kernel.o"

    path = link_program(
        ("hooks", text, "\0".join(flags)),
        make_object,
        name=name,
        file_names={"kernel.cpp": file_name},
        compiler=compiler,
        use_cache=use_cache,
        progress=progress,
    )
    return Program(path, read_kernels(path), tuple(source_files), check)


def link_program(
    key: Sequence[str],
    make_object: Callable[[Compilation], Path],
    *,
    name: str,
    file_names: Mapping[str, str],
    compiler: HostCompiler,
    use_cache: bool,
    progress: Progress | None,
) -> Path:
    """The executable for a kernel object: from the cache, or made. `key` is all that the object depends on.

    `file_names` gives the names that compilers see the names that users know.
    """
    stem = re.sub(r"\W+", "_", name, flags=re.ASCII)[:40] or "kernel"
    digest = digest_of(
        [
            package_version(),
            cpu_identity(),
            "\0".join(compiler.identity),
            *(tree_digest(folder) for folder in (hooks_directory(), Path(__file__).parent / "native")),
            *key,
        ]
    )
    with ticking(f"compiling {stem}", progress) as ticker:

        def make(scratch: Path, *_: object) -> Path:
            def run(arguments: Sequence[str | Path]) -> None:
                status, output = run_compiler(
                    [*compiler.command, *map(str, arguments)], scratch, ticker, COMPILE_SECONDS
                )
                if status != 0:
                    raise build_error(output, status, file_names)

            made = make_object(Compilation(scratch, compiler, run))
            executable = scratch / "program"
            objects = runtime_objects(use_cache=use_cache)
            run(["-pie", made.name, *objects, "-o", executable.name])
            return executable

        facts = {"name": name, "compiler": compiler.version}
        return cached_file(
            f"cuda_{stem}-{digest[:40]}", ".emu", make, compile_cache(use_cache), ticker, facts
        )


_ERROR_LINE = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE
)


def build_error(output: str, status: int, file_names: Mapping[str, str]) -> EmulatorBuildError:
    """The error for a compiler's output: its first error line, in the user's names of files."""
    found = _ERROR_LINE.search(output)
    if found is None:
        reason = first_error(output, status)
        return EmulatorBuildError(f"the kernels do not compile for the emulator: {reason}", output=output)
    location = SourceLocation(file_names.get(found["file"], found["file"]), int(found["line"]))
    text = found["text"]
    if location.file not in file_names.values():
        # An error inside one of our headers: the line of the user that led there.
        for known, shown in file_names.items():
            user = re.search(
                rf"^(?:In file included from )?\s*{re.escape(known)}:(\d+)", output, re.MULTILINE
            )
            if user is not None:
                location = SourceLocation(shown, int(user[1]))
                break
    return EmulatorBuildError(f"{location}: {text[:400]}", location=location, output=output)


def read_kernels(path: Path) -> dict[str, KernelSignature]:
    """The kernels that an executable says it has. Raises HostCompilerError where it cannot be run."""
    try:
        done = subprocess.run(
            [path, "--kernels"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostCompilerError(f"the emulated program {path} cannot be run: {error}") from error
    if done.returncode != 0:
        raise HostCompilerError(
            f"the emulated program {path} ended with status {done.returncode}: {done.stderr.strip()[:200]}"
        )
    kernels: dict[str, KernelSignature] = {}
    for number, line in enumerate(done.stdout.splitlines()):
        count, _, rest = line.partition(" ")
        words = rest.split(" ", 2 * int(count))
        parameters = tuple(
            Parameter(int(size), bool(int(flags) & _POINTER), bool(int(flags) & _POINTER_TO_CONST))
            for size, flags in zip(words[0:-1:2], words[1:-1:2], strict=True)
        )
        kernels[words[-1]] = KernelSignature(words[-1], number, parameters)
    return kernels
