"""The micro-kernels of the runtime that a source of kernels calls: `runtime/native`, in parts.

A part is compiled when a program first needs it, once for each machine.
"""

from __future__ import annotations

import re

from .builds import NativeSource, native_directory

_CALL = re.compile(r"\bbb::(contract\w*)\(")
_TYPE = re.compile(r"\b(?:float|double|bf16|f16)\b")
_PLANES = (1, 2, 3)
"""Parts of contract_float.cpp, contract_double.cpp and contract_bf16.cpp: the blocking for the caches, narrow
register tiles, and wide ones."""
_STREAMED = {"float": 1, "bf16": 2, "f16": 3, "double": 4}
"""Parts of contract_rows.cpp, contract_dot.cpp and contract_panels.cpp, by the type of what is streamed."""

_FILES = {
    "contract": ("planes",),
    "contract_packed": ("planes",),
    "contract_columns": ("contract_dot", "contract_rows", "planes"),
    "contract_panels": ("contract_panels",),
    "contract_bf16": ("contract_bf16", "planes"),
    "contract_bf16_packed": ("contract_bf16", "planes"),
    "contract_bf16_panels": ("contract_bf16_panels",),
}


def micro_kernels_of(source: str) -> list[NativeSource]:
    """The parts that a source that `emit_cpp` made may call, those that take long to compile first."""
    types = set(_TYPE.findall(source)) or set(_STREAMED)
    computed = [type for type in ("float", "double") if type in types]
    files = {file for call in _CALL.findall(source) for file in _FILES[call]}
    parts: set[tuple[str, int | None]] = set()
    for file in files:
        if file == "planes":
            parts |= {(f"contract_{type}", part) for type in computed for part in _PLANES}
        elif file == "contract_bf16":
            parts |= {(file, part) for part in _PLANES}
        elif file == "contract_bf16_panels":
            parts.add((file, None))
        else:
            parts |= {(file, _STREAMED[type]) for type in types}
    ordered = sorted(parts, key=lambda each: (each[1] == 1, each[0], each[1] or 0))
    return [NativeSource(native_directory() / f"{file}.cpp", part) for file, part in ordered]
