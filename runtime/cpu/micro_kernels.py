"""The micro-kernels of the runtime that a source of kernels calls: `runtime/cpu/native`, in parts.

A part is compiled when the first program needs it, once for each machine.
"""

from __future__ import annotations

import re

from ..compilation.host_compiler import HostCompiler, find_compiler
from ..compilation.inputs import NativeSource, native_directory
from ..host.processor import cpu_identity

_CALL = re.compile(r"\bbb::(contract\w*)\(")
_TYPE = re.compile(r"\b(?:float|double|bf16|f16)\b")
_PLANES = {"contract_float": (1, 2, 3, 4), "contract_double": (1, 2, 3), "contract_bf16": (1, 2, 3)}
"""Parts of contract_float.cpp, contract_double.cpp and contract_bf16.cpp: the blocking for the caches, narrow
register tiles, wide ones, and the blocking for a half-precision operand."""
_STREAMED = {"float": 1, "bf16": 2, "f16": 3, "double": 4}
"""Parts of contract_rows.cpp, contract_dot.cpp and contract_panels.cpp, by the type of what is streamed."""

_FILES = {
    "contract": ("planes",),
    "contract_packed": ("planes",),
    "contract_columns": ("contract_dot", "contract_rows", "planes"),
    "contract_panels": ("contract_panels",),
    "contract_bf16": ("contract_bf16",),
    "contract_bf16_packed": ("contract_bf16",),
    "contract_bf16_panels": ("contract_bf16_panels",),
}


def micro_kernels_of(source: str, compiler: HostCompiler | None = None) -> list[NativeSource]:
    """Return the parts that a source made by `emit_cpp` may call, the slowest to compile first.

    Raises HostCompilerError if there is no compiler.
    """
    if "bb::contract" not in source:
        return []
    in_pairs = _pairs_are_fast(compiler or find_compiler())
    types = set(_TYPE.findall(source)) or set(_STREAMED)
    computed = [type for type in ("float", "double") if type in types]
    files = {file for call in _CALL.findall(source) for file in _FILES[call]}
    parts: set[tuple[str, int | None]] = set()
    for file in files:
        if file == "planes":
            planes = {(f"contract_{type}", part) for type in computed for part in _PLANES[f"contract_{type}"]}
            parts |= planes if types & {"bf16", "f16"} else planes - {("contract_float", 4)}
        elif file == "contract_bf16":
            parts |= {(file, part) for part in _PLANES[file]}
            if not in_pairs:
                parts |= {("contract_float", part) for part in _PLANES["contract_float"]}
        elif file == "contract_bf16_panels":
            parts.add((file, None))
        else:
            parts |= {(file, _STREAMED[type]) for type in types}
    ordered = sorted(parts, key=lambda each: (each[1] in (1, 4), each[0], each[1] or 0))
    return [
        NativeSource(
            native_directory() / f"{file}.cpp",
            part,
            (("BB_PAIRS_ARE_FAST", 1),) if in_pairs and "bf16" in file else (),
        )
        for file, part in ordered
    ]


def _pairs_are_fast(compiler: HostCompiler) -> bool:
    """True if `runtime/cpu/native/processor.hpp` has fast products of pairs of bf16 for this processor. No
    other micro-kernel for them is then needed.
    """
    lines = cpu_identity().splitlines()
    flags = next((line for line in lines if line.startswith("flags: ")), "").split()
    is_amd = "vendor_id: AuthenticAMD" in lines
    return is_amd and "avx512_bf16" in flags and "-march=native" in compiler.optional
