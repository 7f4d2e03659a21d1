"""The source tier: unchanged CUDA C++ through the host's compiler."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...compilation.cached import file_digest, run_compiler, tree_digest
from ...compilation.host_compiler import HostCompiler, find_compiler
from ...compilation.progress import Progress, ticking
from .errors import EmulatorBuildError
from .findings import SourceLocation
from .kernel_names import rename_kernels
from .native_files import cuda_directory, device_directory, hooks_directory
from .options import CompileOptions
from .preprocessed import PreprocessedSource, read_preprocessed
from .program import (
    COMPILE_SECONDS,
    KERNEL_FILE,
    Compilation,
    Program,
    build_error,
    kernel_flags,
    link_program,
    read_kernels,
)

_EXPRESSION = re.compile(r"[A-Za-z_:][\w:<>,*& ()\-]*", re.ASCII)

_CHECK_FLAGS = (
    "-fsanitize=thread",
    "-fsanitize=alignment,bounds,integer-divide-by-zero",
    # A struct such as float4 is read and written whole: accesses have the width that they have on a GPU.
    "-fno-tree-sra",
    "--param=tsan-instrument-func-entry-exit=0",
    "--param=tsan-distinguish-volatile=1",
)
_CHECK_FLAGS_CLANG = (
    "-fsanitize=thread",
    "-fsanitize=alignment,bounds,integer-divide-by-zero",
    *("-mllvm", "-tsan-instrument-func-entry-exit=0"),
    *("-mllvm", "-tsan-distinguish-volatile=1"),
)


def build_source_program(
    code: str,
    options: CompileOptions,
    *,
    name_expressions: Sequence[str],
    file_name: str,
    check: bool,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Program:
    """Compile CUDA C++ for the emulator. `name_expressions` name instances of templates, as in CuPy.

    Raises EmulatorBuildError for a source that does not compile or cannot run on a CPU, ValueError for an
    expression that is none, HostCompilerError where there is no compiler.
    """
    for expression in name_expressions:
        if _EXPRESSION.fullmatch(expression) is None:
            raise ValueError(f"{expression!r} is no expression that names a kernel, such as scale<float>")
    compiler = find_compiler(use_cache=use_cache)
    flags = source_flags(compiler, options, check=check)
    file_names = {KERNEL_FILE: file_name}

    def make_object(step: Compilation) -> Path:
        (step.scratch / KERNEL_FILE).write_text(code, encoding="utf-8", errors="replace", newline="\n")
        step.run([*flags, "-x", "c++", "-E", KERNEL_FILE, "-o", "kernel.ii"])
        text = (step.scratch / "kernel.ii").read_text(encoding="utf-8", errors="replace")
        system = (hooks_directory(), cuda_directory(), device_directory())
        source = rename_kernels(read_preprocessed(text, system), system)
        _refuse_assembly(source, file_names)
        table = _table(source, name_expressions)
        (step.scratch / "kernel.ii").write_text(source.text + table, encoding="utf-8", newline="\n")
        step.run([*flags, "-x", "c++-cpp-output", "-c", "kernel.ii", "-o", "kernel.o"])
        return step.scratch / "kernel.o"

    path = link_program(
        (
            "source",
            code,
            "\0".join(flags),
            "\0".join(name_expressions),
            tree_digest(cuda_directory()),
            tree_digest(device_directory()),
            _included_digest(code, options, flags, compiler, file_names),
        ),
        make_object,
        name=Path(file_name).stem,
        file_names=file_names,
        compiler=compiler,
        use_cache=use_cache,
        progress=progress,
    )
    return Program(path, read_kernels(path), (file_name,), check)


def source_flags(compiler: HostCompiler, options: CompileOptions, *, check: bool) -> tuple[str, ...]:
    """All flags for a CUDA source."""
    checks = _CHECK_FLAGS_CLANG if "clang" in compiler.version else _CHECK_FLAGS
    return (
        *kernel_flags(compiler, check=check),
        *(checks if check else ()),
        *(f"-I{folder}" for folder in (hooks_directory(), cuda_directory())),
        *options.flags,
        f"-I{device_directory()}",
        *("-include", "bb/cuda_emulator/entries.hpp"),
    )


def _refuse_assembly(source: PreprocessedSource, file_names: dict[str, str]) -> None:
    if not source.assembly:
        return
    first = source.assembly[0]
    location = SourceLocation(file_names.get(first.file, first.file), first.line)
    raise EmulatorBuildError(
        f"{location}: inline assembly cannot run on a CPU: "
        f"use the functions of <bb/cuda/device.cuh>, or the PTX tier",
        location=location,
    )


def _table(source: PreprocessedSource, name_expressions: Sequence[str]) -> str:
    """C++ that exports the kernels, by their names and by expressions."""
    entries: list[str] = []
    for kernel in source.kernels:
        if kernel.reachable:  # with its place, for what may be wrong with it
            file = re.sub(r'(["\\])', r"\\\1", kernel.file)
            entries.append(
                f'\n# {kernel.line} "{file}"\nBbEmuEntry<&::{kernel.qualified}>::named("{kernel.name}")'
            )
    entries += [f'\n# 1 "kernels.cpp"\nBbEmuEntry<&{name}>::named("{name}")' for name in name_expressions]
    rows = ",".join(entries) or "{nullptr, nullptr, nullptr, 0}"
    return (
        f'\n# 1 "kernels.cpp"\nextern "C" const BbEmuKernel bb_emu_kernels[] = {{\n  {rows}\n}};\n'
        f'extern "C" const uint32_t bb_emu_kernel_count = {len(entries)};\n'
    )


def _included_digest(
    code: str,
    options: CompileOptions,
    flags: Sequence[str],
    compiler: HostCompiler,
    file_names: dict[str, str],
) -> str:
    """The hash of all that a source includes, where that may be files of the user: they may change."""
    if not options.include:
        return ""
    with tempfile.TemporaryDirectory(prefix="blockbuster-preprocess-") as folder, ticking("", None) as ticker:
        scratch = Path(folder)
        (scratch / KERNEL_FILE).write_text(code, encoding="utf-8", errors="replace", newline="\n")
        command = [*compiler.command, *flags, "-x", "c++", "-E", KERNEL_FILE, "-o", "kernel.ii"]
        status, output = run_compiler(command, scratch, ticker, COMPILE_SECONDS)
        if status != 0:
            raise build_error(output, status, file_names)
        return file_digest(scratch / "kernel.ii")
