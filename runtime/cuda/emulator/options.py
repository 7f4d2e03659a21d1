"""Options as NVRTC takes them, for the host's compiler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_DEFINE = re.compile(r"[A-Za-z_]\w*(?:=[^\n\0]*)?", re.ASCII)
_ARCHITECTURE = re.compile(r"(?:sm|compute)_(\d{2,3})[af]?", re.ASCII)

# Options that change nothing here: code generation for a GPU, and the language that CuPy asks for.
_IGNORED = re.compile(
    r"(?:--?std=|-std=).*|--?use_fast_math|-use_fast_math|-?-?fmad=.*|-?-?ftz=.*|-?-?prec-(?:sqrt|div)=.*"
    r"|-?-?maxrregcount=\d+|-lineinfo|--generate-line-info|-G|--device-debug|--device-as-default-execution-space"
    r"|-default-device|-w|--disable-warnings|--extra-device-vectorization|--ptxas-options=.*|-Xptxas",
    re.ASCII,
)


@dataclass(frozen=True)
class CompileOptions:
    """NVRTC's options that matter on the host: macros, directories of headers, the architecture."""

    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    include: tuple[Path, ...] = ()
    architecture: int = 800

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            f"-D__CUDA_ARCH__={self.architecture}",
            *(f"-D{define}" for define in self.defines),
            *(f"-U{name}" for name in self.undefines),
            *(f"-I{path}" for path in self.include),
        )


def parse_options(options: Sequence[str]) -> CompileOptions:
    """Read options such as `-DTILE=64`, `-I/headers`, `--gpu-architecture=sm_90`.

    Options of NVRTC that make no difference on a CPU are ignored. Raises ValueError for any other.
    """
    defines: list[str] = []
    undefines: list[str] = []
    include: list[Path] = []
    architecture = 800
    rest = list(options)
    while rest:
        option = rest.pop(0)
        if option in ("-D", "-U", "-I", "--define-macro", "--undefine-macro", "--include-path"):
            if not rest:
                raise ValueError(f"option {option} needs a value")
            option = f"{'-' + option[2].upper() if option.startswith('--') else option}{rest.pop(0)}"
        for long, short in (
            ("--define-macro=", "-D"),
            ("--undefine-macro=", "-U"),
            ("--include-path=", "-I"),
        ):
            if option.startswith(long):
                option = short + option.removeprefix(long)
        if option.startswith("-D"):
            defines.append(_checked(_DEFINE, option[2:], option))
        elif option.startswith("-U"):
            undefines.append(_checked(_DEFINE, option[2:], option))
        elif option.startswith("-I"):
            # Compilations run in a directory of their own.
            include.append(Path(option[2:]).absolute())
        elif option.startswith(("-arch=", "--gpu-architecture=")):
            name = option.partition("=")[2]
            found = _ARCHITECTURE.fullmatch(name)
            if found is None:
                raise ValueError(f"option {option!r} names no architecture such as sm_90")
            architecture = 10 * int(found[1])
        elif _IGNORED.fullmatch(option) is None:
            raise ValueError(f"option {option!r} is not known to the emulator")
    return CompileOptions(tuple(defines), tuple(undefines), tuple(include), architecture)


def _checked(pattern: re.Pattern[str], value: str, option: str) -> str:
    if pattern.fullmatch(value) is None:
        raise ValueError(f"option {option!r} does not begin with the name of a macro")
    return value
