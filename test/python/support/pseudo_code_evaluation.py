"""Runs pseudo-code: each line becomes a line of Python over arrays whose axes have names.

That the text alone gives the program's values shows that it says everything and leaves nothing open. It takes
what `pseudo_code(function, ascii=True)` prints for programs without views and opaque operators.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Item:
    """An array with a dim for each axis; operations match axes by their dims.

    What is made of indices and numbers only has no order of its axes yet, and takes that of what it is
    combined with.
    """

    def __init__(self, dims: Sequence[str], data: Any, *, ordered: bool = True):
        self.dims, self.data, self.ordered = tuple(dims), np.asarray(data), ordered
        assert self.data.ndim == len(self.dims), (self.dims, self.data.shape)

    @property
    def T(self) -> Item:
        return Item(self.dims[::-1], self.data.T)

    def along(self, dims: Sequence[str]) -> Array:
        """The data with these axes, those that are missing of extent 1."""
        own = [dim for dim in dims if dim in self.dims]
        assert {*own} == {*self.dims}, (self.dims, dims)
        data = self.data.transpose([self.dims.index(dim) for dim in own])
        return data[tuple(slice(None) if dim in own else None for dim in dims)]


def as_item(value: Any) -> Item:
    return value if isinstance(value, Item) else Item((), value, ordered=False)


def broadcast(function: Callable[..., Array]) -> Callable[..., Item]:
    """A function of scalars on items and numbers."""

    def on_items(*operands: Any) -> Item:
        items = [as_item(value) for value in operands]
        by_order = sorted(items, key=lambda item: (not item.ordered, -len(item.dims)))
        dims = tuple(dict.fromkeys(dim for item in by_order for dim in item.dims))
        data = function(*(item.along(dims) for item in items))
        return Item(dims, data, ordered=any(item.ordered for item in items))

    return on_items


for name in ("add", "sub", "mul", "truediv", "pow", "le", "lt", "ge", "gt", "eq", "and_", "or_"):
    apply = broadcast(getattr(operator, name))
    setattr(Item, f"__{name.rstrip('_')}__", apply)
    if name in ("add", "sub", "mul", "truediv"):
        setattr(Item, f"__r{name}__", lambda self, other, apply=apply: apply(other, self))
Item.__neg__ = broadcast(operator.neg)  # pyright: ignore


def per_element(axes: Sequence[Item], value: Any) -> Item:
    """An item with these axes, from a function of their indices."""
    dims = [dim for index in axes for dim in index.dims]
    item = as_item(value)
    return Item(dims, np.broadcast_to(item.along(dims), [index.data.size for index in axes if index.dims]))


def fold(kind: str, items: Sequence[Item]) -> Item:
    return reduce(broadcast({"sum": operator.add, "max": np.maximum, "min": np.minimum}[kind]), items)


def dot(a: Item, b: Item, kept: Item | None = None) -> Item:
    assert a.dims[1] == b.dims[1]
    assert a.dims[0] != b.dims[0]
    if kept is not None:
        assert kept.dims == a.dims
        a = Item(a.dims, np.where(kept.data, a.data, 0.0))
    return Item((a.dims[0], b.dims[0]), a.data @ b.data.T)


def outer(a: Item | int, b: Item | int) -> Item:
    found = broadcast(operator.mul)(a, b)
    # A vector that is repeated waits for what tells the other axis.
    return Item(found.dims, found.data, ordered=isinstance(a, Item) and isinstance(b, Item))


def along(axis: int, apply: Callable[[Item, Item], Item]) -> Callable[[Item, Item], Item]:
    """An operator on a block and a vector over its rows or its columns."""

    def checked(block: Item | int, vector: Item) -> Item:
        if isinstance(block, int):
            return apply(as_item(block), vector)  # where a sum starts
        assert vector.dims == (block.dims[axis],), (block.dims, vector.dims)
        return apply(block, vector)

    return checked


def reduced(function: Callable[..., Array]) -> Callable[[Item], Item]:
    return lambda item: Item(item.dims[:-1], function(item.data, axis=-1))


def gelu_erf(x: Array) -> Array:
    from math import erf

    return np.vectorize(erf)(x)


Axis: TypeAlias = Sequence[tuple[str, Item | None]]
"""The dims of an axis, row-major, each with the indices of a block of it, or None for all of it."""
Positions: TypeAlias = list[Item]

UNARY: dict[str, Callable[..., Array]] = {
    **{
        name: getattr(np, name)
        for name in ("exp", "log", "tanh", "sqrt", "abs", "sin", "cos", "log1p", "isnan", "floor", "ceil")
    },
    "erf": gelu_erf,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    **dict.fromkeys(("f16", "bf16", "f32"), lambda x: x),
    "where": np.where,
    "fma": lambda x, y, z: x * y + z,
    "max": np.maximum,
    "min": np.minimum,
}
FUNCTIONS: dict[str, Any] = {name: broadcast(function) for name, function in UNARY.items()} | {
    "dot": dot,
    "outer": outer,
    "row_sum": reduced(np.sum),
    "row_max": reduced(np.max),
    "row_min": reduced(np.min),
    "row_scale": along(0, operator.mul),
    "row_shift": along(0, operator.add),
    "col_scale": along(1, operator.mul),
    "col_shift": along(1, operator.add),
    "inf": np.inf,
    "pi": np.pi,
    "NEST": product,
    "FOLD": fold,
    "PER": per_element,
    "full_like": broadcast(lambda like, value: np.full_like(like, value)),
}
ARRAYS: dict[str, Any] = {
    "array_reshape": np.reshape,
    "array_concat": lambda *arrays, axis: np.concatenate(arrays, axis),
    "array_extent": lambda array, axis: np.asarray(float(np.shape(array)[axis])),
    "array_broadcast": np.broadcast_to,
    "array_transpose": lambda array, perm: array.transpose(perm),
    "array_constant": lambda value, shape=(): np.full(shape, value),
}
# A program that stays on arrays, for it has nothing to compute, is printed without the prefix.
PLAIN = {name.removeprefix("array_"): function for name, function in ARRAYS.items()}
ARRAYS |= PLAIN


class Machine:
    """The memory in which a program runs."""

    def __init__(self, extents: Mapping[str, int], batch: set[str], size: int):
        self.extents, self.batch, self.size = extents, batch, size
        self.arrays: dict[str, Array] = {}
        self.lists: dict[str, dict[Any, Item]] = {}
        self.boxes: dict[str, list[tuple[Positions, Item]]] = {}

    def blocks(self, dim: str) -> Iterator[Item]:
        """The indices of each block of a dim; those of a batch dim are single numbers."""
        indices = np.arange(self.extents[dim])
        for start in range(0, len(indices), 1 if dim in self.batch else self.size):
            block = Item((dim,), indices[start : start + self.size], ordered=False)
            yield as_item(start) if dim in self.batch else block

    def _positions(self, axes: Sequence[Axis]) -> Positions:
        """The positions along each axis: row-major over a product of dims."""
        found: Positions = []
        for parts in axes:
            position = Item((), 0)
            for dim, index in parts:
                index = Item((dim,), np.arange(self.extents[dim])) if index is None else index
                position = broadcast(operator.add)(
                    broadcast(operator.mul)(position, self.extents[dim]), index
                )
            assert len(position.dims) <= 1 or len(parts) > 1
            found.append(position)
        return found

    def load(self, name: str, *axes: Axis) -> Item:
        positions = self._positions(axes)
        if name[0].isupper():
            return self.lists[name][_key(positions)]
        box = self.assembled(name)[_box(positions)]
        dims = [dim for position in positions for dim in position.dims]
        shape = [extent for position in positions for extent in position.data.shape]
        return Item(dims, box.reshape(shape))

    def store(self, name: str, *axes: Axis) -> Callable[[Any], None]:
        positions = self._positions(axes)

        def put(value: Any) -> None:
            item = as_item(value)
            dims = [dim for position in positions for dim in position.dims]
            shape = [extent for position in positions for extent in position.data.shape]
            if not item.ordered:
                item = Item(dims, np.broadcast_to(item.along(dims), shape))  # where the place tells the axes
            if name not in self.arrays:
                self.lists.setdefault(name, {})[_key(positions)] = item
                if name[0].islower():
                    self.boxes.setdefault(name, []).append((positions, item))
                return
            self.arrays[name][_box(positions)] = item.along(dims).reshape([p.data.size for p in positions])

        return put

    def view(self, name: str, axes: Sequence[str], source: str, source_axes: Sequence[str]) -> None:
        """Another name for an array, whose axes may be split, merged and permuted."""
        own, others = ([dim for axis in text for dim in axis.split("*")] for text in (axes, source_axes))
        split = self.assembled(source).reshape([self.extents.get(dim, 1) for dim in others if dim != "0"])
        order = [[dim for dim in others if dim != "0"].index(dim) for dim in own if dim != "0"]
        shape = [prod(self.extents.get(dim, 1) for dim in axis.split("*")) for axis in axes]
        self.arrays[name] = split.transpose(order).reshape(shape)

    def assembled(self, name: str) -> Array:
        """An array, also where the program's head does not tell its shape."""
        if name not in self.arrays:
            boxes = self.boxes[name]
            axes = zip(*(positions for positions, _ in boxes), strict=True)
            array = np.full([max(int(p.data.max()) for p in axis) + 1 for axis in axes], np.nan)
            for positions, item in boxes:
                dims = [dim for position in positions for dim in position.dims]
                array[_box(positions)] = item.along(dims).reshape([p.data.size for p in positions])
            self.arrays[name] = array
        return self.arrays[name]


class Arrays(dict[str, Array]):
    """The names that an array operation may use."""

    def __init__(self, machine: Machine):
        super().__init__()
        self.machine = machine

    def __missing__(self, name: str) -> Array:
        return ARRAYS[name] if name in ARRAYS else self.machine.assembled(name)


def _key(positions: Positions) -> Any:
    return tuple(position.data.tobytes() for position in positions)


def _box(positions: Positions) -> Any:
    return np.ix_(*(position.data.ravel() for position in positions))


def run_pseudo_code(text: str, inputs: Sequence[Array], size: int = 32) -> list[Array]:
    """Results of the program `text` for `inputs`, in float64, with blocks of `size` elements."""
    head, _, body = text.partition("\n\n")
    header, _, where = head.partition("    where ")
    extents, batch = _extents(" ".join(where.split()))
    arguments, results = _signature(" ".join(header.split()))
    machine = Machine(extents, batch, size)
    for (name, _), array in zip(arguments, inputs, strict=True):
        machine.arrays[name] = np.asarray(array, np.float64)
    for name, axes in results:
        dims = [dim for axis in axes for dim in axis.split("*")]
        if name not in machine.arrays and all(dim in extents or dim == "1" for dim in dims):
            shape = [prod(extents.get(dim, 1) for dim in axis.split("*")) for axis in axes]
            machine.arrays[name] = np.full(shape, np.nan)
    variables = FUNCTIONS | {"load": machine.load, "store": machine.store, "BLOCKS": machine.blocks}
    variables["FIRST"] = lambda dim: next(machine.blocks(dim))
    translator, code = _Translator(extents), list[str]()
    for line in (text.partition("  // ")[0] for text in body.splitlines()):
        whole = "array." in line or re.match(rf"\w+ = ({'|'.join(PLAIN)})\(", line)
        if whole or re.fullmatch(r"\w+ += \w+\[[\d:, ]+\]", line):
            exec("\n".join(code), variables)
            code.clear()
            exec(line.replace("array.", "array_"), {}, made := Arrays(machine))
            machine.arrays |= made
        elif view := re.fullmatch(r"view (\w+)(?:\[(.*)\])? = (\w+)(?:\[(.*)\])?", line):
            exec("\n".join(code), variables)
            code.clear()
            axes, source_axes = (text.split(", ") if text else [] for text in (view[2], view[4]))
            machine.view(view[1], axes, view[3], source_axes)
        else:
            code.append(translator.line(line))
    exec("\n".join(code), variables)
    return [machine.assembled(name) for name, _ in results]


def _extents(where: str) -> tuple[dict[str, int], set[str]]:
    extents: dict[str, int] = {}
    batch: set[str] = set()
    for group in filter(None, where.split(", ")):
        *dims, extent = group.split(" = ")
        extents |= dict.fromkeys(dims, int(extent.split()[0]))
        batch |= {*dims} if "(batch)" in extent else set()
    return extents, batch


def _signature(header: str) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]:
    def arrays(text: str) -> list[tuple[str, list[str]]]:
        return [
            (name, axes.split(", ") if axes else [])
            for name, axes in re.findall(r"(\w+)(?:\[([^]]*)\])?", text)
        ]

    arguments, _, results = header.partition(" -> ")
    return arrays(arguments.partition("(")[2]), arrays(results)


class _Translator:
    """Turns lines of pseudo-code into Python."""

    def __init__(self, extents: Mapping[str, int]):
        self.extents = extents
        self.dims: dict[str, str] = {}

    def line(self, line: str) -> str:
        loop = re.fullmatch(r"( *)(?:forall|for) (.*):", line)
        if loop:
            pairs = [part.split(" in ") for part in loop[2].split(", ")]
            self.dims.update((index, dim) for index, dim in pairs)
            ranges = ", ".join(f"BLOCKS({dim!r})" for _, dim in pairs)
            return f"{loop[1]}for {', '.join(index for index, _ in pairs)}, in NEST({ranges}):"
        over = re.search(r"\b(sum|max|min) over (\w+) in (\w+) of (.*)", line)
        if over:
            self.dims[over[2]] = over[3]
            items = f"[{over[4]} for {over[2]} in BLOCKS({over[3]!r})]"
            line = f"{line[: over.start()]}FOLD({over[1]!r}, {items})"
        store = re.fullmatch(r"( *)store (\w+)(?:\[([^]]*)\])? = (.*)", line)
        if store:
            line = f"{store[1]}{self._place('store', store[2], store[3])}({store[4]})"
        line = re.sub(
            r"\bload (\w+)(?:\[([^]]*)\])?", lambda match: self._place("load", match[1], match[2]), line
        )
        line = re.sub(r"\|(\w+)\|", lambda match: str(self.extents[match[1]]), line)
        line = re.sub(r" (and|or) ", lambda match: {"and": " & ", "or": " | "}[match[1]], line)
        return self._per_element(line).replace("^", "**")

    def _axis(self, text: str) -> str:
        if text == "0":
            return "[]"
        if text.startswith("first "):
            return f"[({text[6:]!r}, FIRST({text[6:]!r}))]"
        dims = [(self.dims.get(part, part), part if part in self.dims else None) for part in text.split("*")]
        return f"[{', '.join(f'({dim!r}, {index})' for dim, index in dims)}]"

    def _place(self, verb: str, name: str, axes: str | None) -> str:
        return f"{verb}({', '.join([repr(name), *map(self._axis, axes.split(', ') if axes else [])])})"

    @staticmethod
    def _per_element(line: str) -> str:
        """`(m, n) -> n / 8` as a call; it ends with the line or with the parenthesis around it."""
        while match := re.search(r"\(([\w, ]+)\) -> ", line):
            depth, end = 0, match.end()
            while end < len(line) and depth >= 0:
                depth += {"(": 1, ")": -1}.get(line[end], 0)
                end += 1
            end -= depth < 0
            line = f"{line[: match.start()]}PER([{match[1]}], {line[match.end() : end]}){line[end:]}"
        return line
