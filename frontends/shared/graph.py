"""An array function filled node by node from another framework's graph.

Each node has a converter, a type that its framework knows, and a place in the model. If a converter fails,
arrays of unknown origin take the place of its results, so that one import finds all problems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...dialects import array
from ...dialects.array import element_type_of, shape_of, unify_shapes
from ...dialects.builder import Array, ArrayFunction
from ...dialects.diagnostics import OpError, one_sentence
from .errors import Origin, Problem, Unsupported

MISSING = "missing"
"""Name of the callback of the arrays that stand for what could not be imported."""


class GraphBuilder:
    """Appends the operations of nodes to a function, with their locations, and collects problems."""

    def __init__(self, function: ArrayFunction):
        self.function = function
        self.problems: list[Problem] = []

    def convert(
        self,
        origin: Origin,
        expected: Sequence[TensorType[Attribute] | None],
        converter: Callable[[], Array | Sequence[Array | None]],
        name: str = "",
    ) -> list[Array | None]:
        """Call a converter, and check that it gives arrays of the types that the framework expects.

        `expected` has None for a result without a type of the dialect, which the converter must leave out.
        If the converter raises Unsupported, or gives other types, the problem is noted, and the arrays that
        are returned stand for any of these types. `name` is a hint for the last operation's result.
        """
        last = self.function.body.last_op
        try:
            found = converter()
            results: list[Array | None] = [found] if isinstance(found, Array) else list(found)
            _check(results, expected)
        except (Unsupported, VerifyException, OpError, TypeError, ValueError) as problem:
            self._remove_after(last)
            self.problems.append(Problem(origin, one_sentence(str(problem))))
            results = [None if type is None else self._missing(type) for type in expected]
        self._describe(last, origin, name)
        return results

    def missing(
        self, origin: Origin, reason: str, expected: Sequence[TensorType[Attribute] | None]
    ) -> list[Any]:
        """Note a problem; the arrays that are returned stand for any of these types."""
        self.problems.append(Problem(origin, reason))
        return [None if type is None else self._missing(type) for type in expected]

    def _missing(self, type: TensorType[Attribute]) -> Array:
        return self.function.apply(array.CustomOp(MISSING, [], [type]))

    def _new_ops(self, last: Operation | None) -> list[Operation]:
        """The operations that were appended after `last`."""
        op = self.function.body.first_op if last is None else last.next_op
        found: list[Operation] = []
        while op is not None:
            found.append(op)
            op = op.next_op
        return found

    def _remove_after(self, last: Operation | None) -> None:
        for op in reversed(self._new_ops(last)):
            op.detach()
            op.erase()

    def _describe(self, last: Operation | None, origin: Origin, name: str) -> None:
        ops = self._new_ops(last)
        if ops and ops[-1].results and ops[-1].results[0].name_hint is None:
            ops[-1].results[0].name_hint = value_name(name) if name else None
        if origin.file:
            location = FileLineColLoc(StringAttr(origin.file), IntAttr(origin.line), IntAttr(1))
            for op in ops:
                for inner in op.walk():
                    inner.location = location


def value_name(text: str) -> str:
    """A name for a value, like the text: `lifted_tensor0` for `lifted.tensor.0`.

    Other characters than letters and digits become underscores, and none stands before a number at the end:
    there the printer of IR puts numbers of its own.
    """
    name = re.sub(r"_+(\d+)$", r"\1", re.sub(r"\W", "_", text, flags=re.ASCII))
    return f"_{name}" if not name or name[0].isdigit() else name


def unique_names(texts: Sequence[str]) -> list[str]:
    """Names for values like the texts, in order; of equal ones, later ones get a number."""
    taken: set[str] = set()
    names: list[str] = []
    for text in texts:
        name = base = value_name(text)
        number = 1
        while name in taken:
            number += 1
            name = value_name(f"{base}_{number}")
        taken.add(name)
        names.append(name)
    return names


def _check(results: Sequence[Array | None], expected: Sequence[TensorType[Attribute] | None]) -> None:
    if len(results) != len(expected):
        raise Unsupported(f"it was given {len(results)} results, expected {len(expected)}")
    for found, type in zip(results, expected, strict=True):
        if found is None or type is None:
            continue
        same_shape = unify_shapes(shape_of(found.value), type.get_shape()) is not None
        if not same_shape or element_type_of(found.value) != type.element_type:
            raise Unsupported(f"it was given the type {found.value.type}, expected {type}")
