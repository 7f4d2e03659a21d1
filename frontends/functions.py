"""Functions of models, compiled: programs with equal texts share one executable."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import SSAValue

from ..dialects.attributes import CONSTANT
from ..runtime.api import CompileArguments, compile_program
from ..runtime.program.constants import declare_constants
from ..runtime.program.functions import select_function

if TYPE_CHECKING:
    from ..runtime.executable.executable import Executable
    from ..runtime.executable.ranges import RangedExecutable, Ranges


@dataclass
class Function:
    """A compiled function of a model; layers that are alike share it, each with its own weights."""

    name: str
    program: ModuleOp
    """The function in the array dialect, as it was imported."""
    executable: Executable | RangedExecutable
    weights: tuple[str, ...]
    """Names of the arguments that are bound before calls."""
    inputs: tuple[str, ...]
    """Names of the other arguments, in order."""
    seconds: float
    """Time that the compilation took."""

    @property
    def kernels(self) -> int:
        """Kernels that a call launches, those left out that run once, when weights are bound."""
        executable = self._first
        function = executable.function
        attributes = function.arg_attrs or [DictionaryAttr({})] * len(function.body.block.args)
        arguments = zip(function.body.block.args, attributes, strict=True)
        constant: set[SSAValue] = {argument for argument, own in arguments if CONSTANT in own.data}
        launches = 0
        for op in function.body.block.ops:
            if op.operands and all(value in constant for value in op.operands):
                constant.update(op.results)
            else:
                launches += op.name == "kernel.launch"
        return launches

    @property
    def traffic(self) -> object:
        """The bytes that a call moves, as `Executable.traffic` has them."""
        return self._first.traffic

    @property
    def _first(self) -> Executable:
        from ..runtime.executable.ranges import RangedExecutable

        executable = self.executable
        return executable.parts[0].executable if isinstance(executable, RangedExecutable) else executable


class Library:
    """Compiles the functions of one model with the same options, each distinct program once."""

    def __init__(self, *, dims: Ranges | None = None, **options: Unpack[CompileArguments]):
        """`options` and `dims` are those of `bb.compile`; a function takes the dims that it has."""
        self._dims = dims
        self._options = options
        self._functions: dict[tuple[str, tuple[str, ...]], Function] = {}

    @property
    def functions(self) -> tuple[Function, ...]:
        """All distinct functions, in the order in which they were compiled."""
        return tuple(self._functions.values())

    def function(self, program: ModuleOp, weights: Sequence[str]) -> Function:
        """Compile the only function of a program, or return the one that has the same text.

        `weights` names its arguments that are bound before calls. Raises what `bb.compile` raises.
        """
        key = (str(program), tuple(weights))
        if key not in self._functions:
            self._functions[key] = self._compiled(program, tuple(weights))
        return self._functions[key]

    def _compiled(self, program: ModuleOp, weights: tuple[str, ...]) -> Function:
        start = time.perf_counter()
        declare_constants(select_function(program, None), weights)
        executable = self._executable(program)
        name = select_function(program, None).sym_name.data
        inputs = tuple(each for each in executable.argument_names if each not in weights)
        return Function(name, program, executable, weights, inputs, time.perf_counter() - start)

    def _executable(self, program: ModuleOp) -> Executable | RangedExecutable:
        from ..runtime.executable.ranges import all_axes

        if self._dims:
            known = all_axes(program, select_function(program, None).sym_name.data)
            dims = {name: ranges for name, ranges in self._dims.items() if name in known}
            if dims:
                return compile_program(program, dims=dims, **self._options)
        return compile_program(program, **self._options)
