"""CUDA C++ source into PTX and a cubin, with NVRTC and the options of `cupy.RawModule`, without a device.

    binary = compile_cuda(source, "sm_90", name="attention.cu")
    binary.ptx, binary.cubin

CuPy's own binding does the work, in a child process; neither CuPy nor NVRTC is imported into this one.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

from ....lowering.emit.source_text import comment_text, mangle
from ...compilation.cache import CompileCache, digest_of
from ...compilation.cached import cached_file, compile_cache, package_version
from ...compilation.progress import Progress, Ticker, ticking
from .diagnostics import CudaCompilerError, CudaDiagnostic, compile_error, parse_log
from .worker_process import ask_nvrtc

_DISTRIBUTIONS = (
    *("cupy", "cupy-cuda12x", "cupy-cuda13x"),
    *(f"nvidia-cuda-{part}{suffix}" for part in ("nvrtc", "runtime", "cccl") for suffix in ("", "-cu12")),
)
_ARCH = re.compile(r"(?:sm|compute)_[1-9]\d{1,2}[af]?")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
_INSTALL = "pip install 'bb-compiler[cuda-check]' installs both"


@dataclass(frozen=True)
class CudaBinary:
    """NVRTC's output for a source and one architecture.

    `name` is the file's name in messages, `arch` as given; `cubin` is None for a `compute_` architecture,
    which ends at PTX. `log` is all that NVRTC and ptxas (with `-v`) printed. `lowered_names` are the names in
    PTX of the name expressions that were asked for.
    """

    name: str
    arch: str
    ptx: str
    cubin: bytes | None
    log: str
    lowered_names: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def warnings(self) -> tuple[CudaDiagnostic, ...]:
        return tuple(entry for entry in parse_log(self.log, self.name, self.ptx))


def cuda_compiler_problem() -> str | None:
    """Return the reason why CUDA cannot be compiled here; None if CuPy and NVRTC are installed."""
    if importlib.util.find_spec("cupy") is None:
        return f"compiling CUDA needs CuPy and NVRTC, and CuPy is not installed: {_INSTALL}"
    return None


def compile_cuda(
    source: str,
    arch: str,
    *,
    name: str = "kernel.cu",
    headers: Mapping[str, str] | None = None,
    include: Sequence[Path] = (),
    defines: Mapping[str, str | int] | None = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    line_info: bool = False,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> CudaBinary:
    """Compile a CUDA C++ source, or find what an earlier process made of the same source.

    `arch` is `sm_80`, `sm_90a` and so on for PTX and a cubin, or `compute_80` for PTX alone. `name` is the
    file that errors name. `headers` are texts for `#include` by name, `include` are directories, `defines`
    are macros. `name_expressions` name instances of templates, as in CuPy. `line_info` puts `.loc` lines into
    the PTX. `options` are added to CuPy's own. The result of the same source may differ from run to run where
    it is not found in the cache: NVRTC is not reproducible.

    Raises CudaCompilerError: the source's first error with its place, or why nothing can be compiled.
    """
    if (problem := cuda_compiler_problem()) is not None:
        raise CudaCompilerError(problem)
    if _ARCH.fullmatch(arch) is None:
        raise CudaCompilerError(f"'{arch}' names no architecture; sm_80, sm_90, sm_90a and sm_100 are some")
    if "\0" in source:
        line = source.count("\n", 0, source.index("\0")) + 1
        place = CudaDiagnostic("the source holds a NUL byte", name, line)
        raise CudaCompilerError(str(place), diagnostics=[place])
    shown = re.sub(r'["\\\x00-\x1f\x7f]', "_", name) or "kernel.cu"
    known = dict(headers or {})
    request = {
        "source": source.encode("utf-8", "replace").decode(),
        "name": shown,
        "arch": arch,
        "headers": known,
        "options": _options(include, defines or {}, options, line_info),
        "name_expressions": list(name_expressions),
    }

    def make(scratch: Path, ticker: Ticker, cache: CompileCache) -> Path:
        answer = ask_nvrtc(request, ticker)
        log, ptx = str(answer["log"]), str(answer.get("ptx", ""))
        if answer["refused"] is not None:
            raise compile_error(log, shown, arch, str(answer["refused"]), ptx)
        cubin, lowered = cast(str | None, answer.get("cubin")), json.dumps(answer["lowered"])
        return _pack(scratch / "binary.zip", {"log": log, "ptx": ptx, "names": lowered}, cubin)

    included = _included(source, known, [path.absolute() for path in include])
    key = digest_of(
        [
            *(package_version(), _toolchain()),
            *(source, shown, arch),
            *cast(list[str], request["options"]),
            *("names", *name_expressions),
            *(part for pair in sorted(known.items()) for part in pair),
            *(included or ()),
        ]
    )
    entry = f"{mangle(Path(shown).stem)}-{arch}-{key[:40]}"
    facts = {"name": comment_text(name), "package": package_version(), "architecture": arch}
    with ticking(f"compiling {comment_text(name, 40)} for {arch}", progress) as ticker:
        # What a macro includes cannot be seen from here, so it could change unseen.
        cache = compile_cache(use_cache and included is not None)
        return _unpack(cached_file(entry, ".nvrtc", make, cache, ticker, facts), shown, arch)


def _options(
    include: Sequence[Path], defines: Mapping[str, str | int], options: Sequence[str], line_info: bool
) -> list[str]:
    for name in defines:
        if _IDENTIFIER.fullmatch(name) is None:
            raise CudaCompilerError(f"{name!r} is no name for a macro")
    for option in options:
        if not option.startswith("-"):
            raise CudaCompilerError(f"'{option}' is no option of NVRTC")
    return [
        *(f"-I{path.absolute()}" for path in include),
        *(f"-D{name}={value}" for name, value in sorted(defines.items())),
        "--ptxas-options=-v",
        *(["-lineinfo"] if line_info else []),
        *options,
    ]


def _included(source: str, headers: Mapping[str, str], include: Sequence[Path]) -> list[str] | None:
    """Path and content of all files that a source can include from `include`; None where a macro names one.

    What is not found there belongs to the toolkit, which the key of an entry holds by its versions.
    """
    found: dict[str, str] = {}

    def visit(text: str, folders: Sequence[Path]) -> bool:
        for operand in _INCLUDE.findall(text):
            match = re.match(r'"([^"\n]+)"|<([^>\n]+)>', operand)
            if match is None:
                return False
            wanted = match[1] or match[2]
            if wanted in headers:
                continue
            for path in (folder / wanted for folder in folders):
                if not path.is_file():
                    continue
                if str(path) not in found:
                    found[str(path)] = content = path.read_text(encoding="utf-8", errors="surrogateescape")
                    if not visit(content, [path.parent, *include]):
                        return False
                break
        return True

    try:
        whole = all(visit(text, include) for text in (source, *headers.values()))
    except OSError:
        return None
    return [part for pair in sorted(found.items()) for part in pair] if whole else None


def _toolchain() -> str:
    """Return what affects the result of a compilation: versions, and the toolkit that CuPy finds."""
    return "\n".join(
        [
            *_versions(_DISTRIBUTIONS),
            *(f"{name}={os.environ.get(name, '')}" for name in ("CUDA_PATH", "CUDA_HOME")),
            os.path.realpath(shutil.which("nvcc") or ""),
        ]
    )


def _versions(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _pack(path: Path, texts: Mapping[str, str], cubin: str | None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
        if cubin is not None:
            archive.writestr("cubin", base64.b64decode(cubin))
    return path


def _unpack(path: Path, name: str, arch: str) -> CudaBinary:
    with zipfile.ZipFile(path) as archive:
        cubin = archive.read("cubin") if "cubin" in archive.namelist() else None
        log, ptx, names = (archive.read(member).decode() for member in ("log", "ptx", "names"))
        return CudaBinary(name, arch, ptx, cubin, log, cast(dict[str, str], json.loads(names)))
