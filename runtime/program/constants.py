"""Arguments that are declared to be the same in every call."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from ...dialects.attributes import CONSTANT
from ..errors import InputError
from .inputs import arguments_of


def declared_constants(function: FuncOp) -> frozenset[str]:
    """The names of the arguments of a function that are declared constant."""
    if function.arg_attrs is None:
        return frozenset()
    arguments = zip(arguments_of(function), function.arg_attrs, strict=True)
    return frozenset(argument.name for argument, attributes in arguments if CONSTANT in attributes.data)


def declare_constants(function: FuncOp, names: Sequence[str]) -> None:
    """Declare arguments of a function constant. Raises InputError for a name that none has."""
    known = [argument.name for argument in arguments_of(function)]
    for name in names:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise InputError(f"'{function.sym_name.data}' has no argument '{name}'; there are: {listed}")
    old = [DictionaryAttr({})] * len(known) if function.arg_attrs is None else list(function.arg_attrs)
    function.arg_attrs = ArrayAttr(
        DictionaryAttr({**attributes.data, CONSTANT: UnitAttr()}) if name in names else attributes
        for name, attributes in zip(known, old, strict=True)
    )
