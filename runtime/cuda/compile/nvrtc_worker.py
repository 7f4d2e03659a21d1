"""The process that runs NVRTC: JSON requests on standard input, JSON answers on standard output, one a line.

It is a script of its own, started by `worker_process.py`: a source that crashes the compiler, or sends it
round for ever, takes this process with it and not the user's. It ends when its input does.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol, cast


class Nvrtc(Protocol):
    """The part of CuPy's binding of NVRTC that is used here."""

    NVRTCError: type[Exception]

    def createProgram(
        self, src: str, name: str, headers: Sequence[str], include_names: Sequence[str]
    ) -> int: ...
    def compileProgram(self, prog: int, options: Sequence[str]) -> None: ...
    def getProgramLog(self, prog: int) -> str: ...
    def getPTX(self, prog: int) -> bytes: ...
    def getCUBIN(self, prog: int) -> bytes: ...
    def addNameExpression(self, prog: int, name: str) -> None: ...
    def getLoweredName(self, prog: int, name: str) -> str: ...
    def destroyProgram(self, prog: int) -> None: ...


class CupyCuda(Protocol):
    """The part of `cupy.cuda` that is used here."""

    @property
    def nvrtc(self) -> Nvrtc: ...


class CupyCore(Protocol):
    """The part of `cupy._core.core` that is used here."""

    def assemble_cupy_compiler_options(self, options: tuple[str, ...]) -> tuple[str, ...]: ...


def _run(nvrtc: Nvrtc, request: Mapping[str, object], options: Sequence[str]) -> dict[str, object]:
    headers = cast(Mapping[str, str], request["headers"])
    program = nvrtc.createProgram(
        str(request["source"]), str(request["name"]), tuple(headers.values()), tuple(headers)
    )
    try:
        expressions = cast(Sequence[str], request["name_expressions"])
        for expression in expressions:
            nvrtc.addNameExpression(program, expression)
        refused = None
        try:
            nvrtc.compileProgram(program, tuple(options))
        except nvrtc.NVRTCError as error:
            refused = str(error)
        answer: dict[str, object] = {"log": nvrtc.getProgramLog(program).strip("\0 \n"), "refused": refused}
        if refused is None or "ptxas" in str(answer["log"]):
            answer["ptx"] = nvrtc.getPTX(program).decode("utf-8", "replace").rstrip("\0")
        if refused is None and any(option.startswith("-arch=sm_") for option in options):
            # CuPy's binding drops the last byte, without which NVIDIA's tools refuse the file.
            answer["cubin"] = base64.b64encode(nvrtc.getCUBIN(program) + b"\0").decode()
        if refused is None:
            answer["lowered"] = {name: nvrtc.getLoweredName(program, name) for name in expressions}
        return answer
    finally:
        nvrtc.destroyProgram(program)


def compile_request(request: Mapping[str, object]) -> dict[str, object]:
    """The answer: `log`, `refused` (null or NVRTC's word), `ptx`, `cubin` (base64), `lowered` names."""
    nvrtc = cast(CupyCuda, importlib.import_module("cupy.cuda")).nvrtc
    core = cast(CupyCore, importlib.import_module("cupy._core.core"))
    own = tuple(cast(Sequence[str], request["options"]))
    # What cupy.RawModule passes, in its order; its choice of architecture would ask for a device.
    options = core.assemble_cupy_compiler_options(own)
    options += (f"-arch={request['arch']}", "--device-as-default-execution-space", "-ftz=true")
    answer = _run(nvrtc, request, options)
    if answer["refused"] is not None and "ptx" in answer and "-lineinfo" not in options:
        # ptxas counts lines of PTX; line information leads from there to the source.
        answer = _run(nvrtc, request, (*options, "-lineinfo"))
    return answer


def main() -> None:
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = compile_request(cast(Mapping[str, object], json.loads(line)))
        except Exception as error:
            answer = {"broken": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
