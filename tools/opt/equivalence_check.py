"""`bb-opt --verify-equivalence`: compares the functions of two programs exactly."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...dialects.attributes import SNAPSHOT
from ...dialects.diagnostics import Diagnostic, did_you_mean, one_sentence
from ...lowering.frontends.mlir_text import ProgramError, parse_text
from ...runtime.checking.exact import equivalent
from ...runtime.errors import InputError
from ...runtime.interpreter.functions import InterpreterError
from ...runtime.program.functions import public_functions
from ..shared.files import ToolError, read_text


class EquivalenceCheck:
    """Compares programs with the one in a file.

    Raises ToolError where the file cannot be read. `tell` is called with a line for each pair of functions
    that are equal.
    """

    def __init__(self, path: str, max_size: int, tell: Callable[[str], object]):
        self.path, text = read_text(path, max_size)
        self.tell = tell
        try:
            self.other = parse_text(text, self.path)
        except ProgramError as error:
            raise ToolError(f"cannot compare with '{self.path}': {error}") from error

    def compare(self, module: ModuleOp) -> list[Diagnostic]:
        """An error for each function that is not equal to its counterpart, or has none."""
        others = {function.sym_name.data: function for function in public_functions(self.other)}
        functions = public_functions(module)
        found: list[Diagnostic] = []
        compared: set[str] = set()
        for function in functions:
            name = function.sym_name.data
            counterpart = _counterpart(function, others, alone=len(functions) == 1)
            if counterpart is None:
                known = f"; it has {', '.join(others) or 'none'}"
                message = f"'{self.path}' has no function '{name}' to compare with"
                found.append(Diagnostic("error", message + did_you_mean(name, others, known)))
                continue
            compared.add(counterpart.sym_name.data)
            problem = self._compare(function, counterpart)
            if problem is not None:
                found.append(Diagnostic("error", problem))
        for name in others:
            if name not in compared:
                found.append(Diagnostic("error", f"function '{name}' of '{self.path}' has no counterpart"))
        return found

    def _compare(self, function: FuncOp, counterpart: FuncOp) -> str | None:
        what = f"'{function.sym_name.data}' and '{counterpart.sym_name.data}' of '{self.path}'"
        try:
            verdict = equivalent(function, counterpart)
        except (InputError, InterpreterError) as error:
            return f"{what}: {one_sentence(str(error))}"
        if verdict.equal is not True:
            return f"{what}: {verdict.reason}"
        self.tell(f"{what}: {verdict.reason}")
        return None


def _counterpart(function: FuncOp, others: dict[str, FuncOp], *, alone: bool) -> FuncOp | None:
    """Return the function of the same name (without a snapshot's number), or the only one of only ones."""
    name = function.sym_name.data
    if name not in others and SNAPSHOT in function.attributes:
        name = name.rpartition("_snapshot")[0]
    if name not in others and alone and len(others) == 1:
        return next(iter(others.values()))
    return others.get(name)
