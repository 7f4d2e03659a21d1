"""Blockbuster: a compiler that fuses whole-array inference programs into a few block programs.

``bb.parse`` reads a program, ``bb.PassPipeline`` changes it, ``bb.run`` executes it, ``bb.compile`` makes
something of it that can be called many times, ``bb.equivalent`` compares two; ``bb.from_torch`` compiles a
model of PyTorch; ``bb.array`` and ``bb.block``
hold the operations, ``bb.ArrayFunction`` and ``bb.BlockFunction`` build programs from Python.
Importing ``bb`` imports neither numpy nor xDSL: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dialects import array as array
    from .dialects import block as block
    from .dialects.builder import Array as Array
    from .dialects.builder import ArrayFunction as ArrayFunction
    from .dialects.builder import BlockFunction as BlockFunction
    from .dialects.builder import build as build
    from .dialects.context import make_context as make_context
    from .dialects.diagnostics import OpError as OpError
    from .dialects.verification import verify as verify
    from .frontends.model import Model as Model
    from .frontends.onnx.importer import from_onnx as from_onnx
    from .frontends.onnx.importer import import_onnx as import_onnx
    from .frontends.shared.errors import ModelError as ModelError
    from .frontends.torch.exported import import_torch as import_torch
    from .frontends.torch.model import from_torch as from_torch
    from .lowering.frontends.mlir_text import ProgramError as ProgramError
    from .lowering.frontends.mlir_text import parse as parse
    from .lowering.pipelines import PassError as PassError
    from .lowering.pipelines import PassPipeline as PassPipeline
    from .lowering.pipelines import PipelineError as PipelineError
    from .lowering.pipelines import register_pass as register_pass
    from .lowering.pipelines import register_rule as register_rule
    from .runtime.api import compile_program as compile
    from .runtime.api import hard_inputs as hard_inputs
    from .runtime.api import random_inputs as random_inputs
    from .runtime.api import run as run
    from .runtime.calls.compile_options import CudaOptions as CudaOptions
    from .runtime.checking.exact.equivalence import Verdict as Verdict
    from .runtime.checking.exact.equivalence import equivalent as equivalent
    from .runtime.compilation.errors import HostCompilerError as HostCompilerError
    from .runtime.errors import InputError as InputError
    from .runtime.errors import InterpreterError as InterpreterError
    from .runtime.executable.executable import Executable as Executable
    from .runtime.interpreter.functions import Run as Run
    from .runtime.interpreter.functions import interpret as interpret

    __version__: str

_HOMES: dict[str, str] = {
    "Array": "dialects.builder",
    "ArrayFunction": "dialects.builder",
    "BlockFunction": "dialects.builder",
    "CudaOptions": "runtime.calls.compile_options",
    "Executable": "runtime.executable.executable",
    "HostCompilerError": "runtime.compilation.errors",
    "InputError": "runtime.errors",
    "InterpreterError": "runtime.errors",
    "Model": "frontends.model",
    "ModelError": "frontends.shared.errors",
    "OpError": "dialects.diagnostics",
    "PassError": "lowering.pipelines",
    "PassPipeline": "lowering.pipelines",
    "PipelineError": "lowering.pipelines",
    "ProgramError": "lowering.frontends.mlir_text",
    "Run": "runtime.interpreter.functions",
    "Verdict": "runtime.checking.exact.equivalence",
    "build": "dialects.builder",
    "equivalent": "runtime.checking.exact.equivalence",
    "from_onnx": "frontends.onnx.importer",
    "from_torch": "frontends.torch.model",
    "hard_inputs": "runtime.api",
    "import_onnx": "frontends.onnx.importer",
    "import_torch": "frontends.torch.exported",
    "interpret": "runtime.interpreter.functions",
    "make_context": "dialects.context",
    "parse": "lowering.frontends.mlir_text",
    "random_inputs": "runtime.api",
    "register_pass": "lowering.pipelines",
    "register_rule": "lowering.pipelines",
    "run": "runtime.api",
    "verify": "dialects.verification",
}
"""Where each public name is defined; modules themselves are in `_MODULES`."""

_MODULES: dict[str, str] = {"array": "dialects.array", "block": "dialects.block"}

# Spelt out, because type checkers and star imports read it.
__all__ = [
    "Array",
    "ArrayFunction",
    "BlockFunction",
    "CudaOptions",
    "Executable",
    "HostCompilerError",
    "InputError",
    "InterpreterError",
    "Model",
    "ModelError",
    "OpError",
    "PassError",
    "PassPipeline",
    "PipelineError",
    "ProgramError",
    "Run",
    "Verdict",
    "__version__",
    "array",
    "block",
    "build",
    "compile",
    "equivalent",
    "from_onnx",
    "from_torch",
    "hard_inputs",
    "import_onnx",
    "import_torch",
    "interpret",
    "make_context",
    "parse",
    "random_inputs",
    "register_pass",
    "register_rule",
    "run",
    "verify",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value: object = import_module(f".{_MODULES[name]}", __name__)
    elif name == "compile":  # as a name inside a module it would hide Python's own
        value = import_module(".runtime.api", __name__).compile_program
    elif name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bb-compiler")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0+unknown"
