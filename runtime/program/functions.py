"""Public functions of a program, and the one that a caller names."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..errors import InputError


def public_functions(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that are neither private nor declarations, in order."""
    return [
        op
        for op in module.ops
        if isinstance(op, FuncOp)
        and not op.is_declaration
        and (op.sym_visibility is None or op.sym_visibility.data != "private")
    ]


def select_function(module: ModuleOp, entry: str | None) -> FuncOp:
    """The function named `entry`; without a name, the only public one. Raises InputError."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]
    names = ", ".join(op.sym_name.data for op in functions) or "none"
    if entry is not None:
        for function in functions:
            if function.sym_name.data == entry:
                return function
        raise InputError(f"there is no function '{entry}'; the functions are: {names}")
    public = public_functions(module)
    if len(public) != 1:
        raise InputError(f"there are {len(public)} public functions, so `entry` must name one of: {names}")
    return public[0]
