"""Block programs as pseudo-code: loops, loads and stores, and mathematics.

An index stands for the indices of one block: in `for n in N`, n is one block of N after the other, `k[n, d]`
is a block of k, and `where(n <= m, s, -inf)` compares the indices of elements. A dim without an index stands
for all its elements. `dot(a, b)` is a·bᵀ. `forall` loops may run in any order; `load` and `store` are the
only moves between global and local memory.

A sum with the note "in units of exp(t)" is relative to the maximum t. When the maximum grows, the sum is
scaled down, and each new term is brought to the new unit, so that -inf - -inf never arises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ....dialects import block
from .arrays import array_expressions, extents
from .expressions import Expr, Name
from .layout import Assign, Line, rendered, wrapped
from .names import Names, index_names
from .nests import NestWriter
from .places import Place, Root, list_axes

__all__ = ["pseudo_code"]


def pseudo_code(function: FuncOp, *, ascii: bool = False, extents: bool = True) -> str:
    """Return a function of block or array operations as pseudo-code, in lines of about 100 columns.

    `ascii` avoids other characters (`c^2`, `v.T`); `extents` shows the extents and block sizes of the dims.
    """
    return _FunctionWriter(function, ascii).text(with_extents=extents)


class _FunctionWriter:
    def __init__(self, function: FuncOp, ascii: bool):
        self.function = function
        self.ascii = ascii
        self.dims = block.declared_dims(function) or {}
        self.operations = list(function.body.walk()) if not function.is_declaration else []
        self.has_blocks = any(op.name.startswith("block.") for op in self.operations)
        self.top = [op for body in function.body.blocks for op in body.ops]
        self.arguments = [*function.args] if not function.is_declaration else []
        hints = [value.name_hint for value in self.arguments]
        self.indices = index_names(self.dims, [*filter(None, hints), *self._array_hints()])
        self.names = Names((*self.indices, *self.indices.values()), _functions(self.operations))
        self.writer = NestWriter(self.names, self.indices, ascii)
        self.of_arrays: bool | None = None
        for number, argument in enumerate(self.arguments):
            self._name_argument(argument, argument.name_hint or f"arg{number}")

    def text(self, *, with_extents: bool) -> str:
        returned = [value for op in self.top if isinstance(op, ReturnOp) for value in op.arguments]
        assembled = [op for op in self.top if isinstance(op, block.AssembleOp)]
        for op in sorted(assembled, key=lambda op: op.result not in returned):
            self.writer.name_array(op, self._name_array(op.result, op.result.name_hint or "out"))
        for op in self.top:
            self._write(op)
        lines = self._header()
        if with_extents and self.dims:
            lines += wrapped("    where ", _extent_texts(self.dims), "")
        body = rendered(self.writer.statements)
        return "\n".join([*lines, *([""] if body else []), *body]) + "\n"

    # Arrays

    def _array_hints(self) -> Iterator[str]:
        for op in self.top:
            for result in op.results:
                if result.name_hint and not isinstance(result.type, block.ItemType | block.ListType):
                    yield result.name_hint

    def _name_argument(self, value: SSAValue, hint: str) -> None:
        if block.is_local(value.type):
            self.writer.items[value] = Name(self.names.item(hint))
            return
        name = self.writer.arrays[value] = self.names.array(hint)
        if isinstance(value.type, block.ItemType | block.ListType):
            self.writer.roots[value] = Root(name, list_axes(value.type))
            self.writer.places[value] = Place(self.writer.roots[value])

    def _name_array(self, value: SSAValue, hint: str | None) -> str:
        self.writer.arrays[value] = self.names.array(hint, bare=not self.has_blocks)
        return self.writer.arrays[value]

    def _write(self, op: Operation) -> None:
        match op:
            case ReturnOp():
                pass
            case block.PartitionOp() | block.AssembleOp():
                self.writer.write(op)
            case _ if op.name.startswith("block."):
                self._separate(False)
                self.writer.write(op)
            case _:
                self._separate(True)
                self._array_operation(op)

    def _separate(self, of_arrays: bool) -> None:
        """Leave a blank line between array operations and nests."""
        if self.of_arrays not in (None, of_arrays):
            self.writer.statements.append(Line(""))
        self.of_arrays = of_arrays

    def _array_operation(self, op: Operation) -> None:
        prefix = "array." if self.has_blocks else ""
        expressions = array_expressions(op, self.writer.described, prefix, self._share, self.ascii)
        names = [self._name_array(result, result.name_hint) for result in op.results]
        texts = [expr.text(ascii=self.ascii) for expr in expressions]
        if len(texts) == len(names):
            for name, text in zip(names, texts, strict=True):
                self.writer.statements.append(Assign(name, text))
        elif names:
            self.writer.statements.append(Assign(", ".join(names), texts[0]))
        else:
            self.writer.statements.append(Line(texts[0]))

    def _share(self, expr: Expr, hint: str | None) -> Expr:
        name = self.names.array(hint or "t", bare=True)
        self.writer.statements.append(Assign(name, expr.text(ascii=self.ascii)))
        return Name(name)

    # The head

    def _header(self) -> list[str]:
        if self.function.is_declaration:
            return self._declaration()
        arguments = [self._array_header(value) for value in self.arguments]
        returned = [value for op in self.top if isinstance(op, ReturnOp) for value in op.arguments]
        results = [self._array_header(value) for value in returned]
        tail = f" -> {results[0]}" if len(results) == 1 else f" -> ({', '.join(results)})" if results else ""
        return wrapped(f"{self.function.sym_name.data}(", arguments, f"){tail}")

    def _declaration(self) -> list[str]:
        type = self.function.function_type
        arguments, results = (
            [f"[{', '.join(extents(one))}]" for one in types] for types in (type.inputs, type.outputs)
        )
        tail = f" -> ({', '.join(results)})" if results else ""
        return wrapped(f"{self.function.sym_name.data}(", arguments, f"){tail}")

    def _array_header(self, value: SSAValue) -> str:
        root = self.writer.roots.get(value)
        if root is not None:
            return root.header
        shape, text = ", ".join(extents(value.type)), self.writer.described(value)
        return f"{text}[{shape}]" if shape else text


def _functions(operations: Iterable[Operation]) -> set[str]:
    """The functions that a program calls by names that could also be those of items."""
    return {op.name.removeprefix("math.") for op in operations if op.name.startswith("math.")}


def _extent_texts(dims: dict[str, block.DimAttr]) -> list[str]:
    """`M, Q = 104`: dims of the same extent together."""
    alike: dict[str, list[str]] = {}
    for name, dim in dims.items():
        extent = "?" if dim.static_extent is None else str(dim.static_extent)
        size = f" (blocks of {dim.size.data})" if dim.size.data else ""
        kind = "" if dim.blocking.data is block.Blocking.Blocked else f" ({dim.blocking.data})"
        alike.setdefault(f"{extent}{size}{kind}", []).append(name)
    return [f"{' = '.join(names)} = {text}" for text, names in alike.items()]
