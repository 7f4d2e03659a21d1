"""Draws random array programs as text, operation by operation, for the strategy in `array_programs`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

T = TypeVar("T")
Shape = tuple[int, ...]

MAX_ELEMENTS = 1 << 13
MAX_RANK = 4
RANGE = 64.0  # no value that an operation uses exceeds this in magnitude


@dataclass(frozen=True)
class Value:
    """A float value of the program: `%name`, its shape, and the interval its elements lie in."""

    name: str
    shape: Shape
    low: float
    high: float

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def magnitude(self) -> float:
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Scalar:
    """A scalar computation of a region: its lines, `T` for the type, and intervals of the yielded values."""

    lines: tuple[str, ...]
    yields: tuple[str, ...]
    intervals: tuple[tuple[float, float], ...]


def _elements(shape: Shape) -> int:
    return math.prod(shape)


def _broadcast(*shapes: Shape) -> Shape | None:
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    return shape if _elements(shape) <= MAX_ELEMENTS else None


def _products(a: Value, b: Value) -> tuple[float, float]:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


def _binary(a: Value, b: Value) -> dict[str, Scalar]:
    """The scalar computations of two values that keep in range, by name."""
    largest = max(a.magnitude, b.magnitude)
    found = {
        "add": (("%z = arith.addf %p, %q : T",), (a.low + b.low, a.high + b.high)),
        "sub": (("%z = arith.subf %p, %q : T",), (a.low - b.high, a.high - b.low)),
        "mul": (("%z = arith.mulf %p, %q : T",), _products(a, b)),
        "max": (("%z = arith.maximumf %p, %q : T",), (max(a.low, b.low), max(a.high, b.high))),
        "min": (("%z = arith.minimumf %p, %q : T",), (min(a.low, b.low), min(a.high, b.high))),
        "quotient": (
            (
                "%one = arith.constant 1.0 : T",
                "%s = math.absf %q : T",
                "%d = arith.addf %s, %one : T",
                "%z = arith.divf %p, %d : T",
            ),
            (-a.magnitude, a.magnitude),
        ),
        "multiply_add": (
            ("%m = arith.mulf %p, %q : T", "%z = arith.addf %m, %p : T"),
            (-a.magnitude * (b.magnitude + 1), a.magnitude * (b.magnitude + 1)),
        ),
        "gate": (
            ("%m = math.tanh %p : T", "%z = arith.mulf %m, %q : T"),
            (-largest, largest),
        ),
    }
    if b.low >= 0.25:
        bound = a.magnitude / b.low
        found["div"] = (("%z = arith.divf %p, %q : T",), (-bound, bound))
    return {name: Scalar(lines, ("%z",), (interval,)) for name, (lines, interval) in found.items()}


def _unary(a: Value) -> dict[str, Scalar]:
    """The scalar computations of one value that keep in range, by name."""
    relu = (max(a.low, 0.0), max(a.high, 0.0))
    found: dict[str, tuple[tuple[str, ...], tuple[float, float]]] = {
        "neg": (("%z = arith.negf %p : T",), (-a.high, -a.low)),
        "relu": (("%zero = arith.constant 0.0 : T", "%z = arith.maximumf %p, %zero : T"), relu),
        "tanh": (("%z = math.tanh %p : T",), (-1.0, 1.0)),
        "abs": (("%z = math.absf %p : T",), (0.0, a.magnitude)),
        "exp_below": (
            ("%top = arith.constant 2.0 : T", "%s = arith.minimumf %p, %top : T", "%z = math.exp %s : T"),
            (math.exp(max(min(a.low, 2.0), -RANGE)), math.exp(min(a.high, 2.0))),
        ),
        "root": (
            ("%one = arith.constant 1.0 : T", "%m = math.absf %p : T", "%s = arith.addf %m, %one : T",
             "%z = math.sqrt %s : T"),
            (1.0, math.sqrt(a.magnitude + 1)),
        ),
        "logistic": (
            ("%one = arith.constant 1.0 : T", "%m = arith.negf %p : T", "%e = math.exp %m : T",
             "%d = arith.addf %e, %one : T", "%z = arith.divf %one, %d : T"),
            (0.0, 1.0),
        ),
    }  # fmt: skip
    if a.magnitude <= 8:
        found["square"] = (("%z = arith.mulf %p, %p : T",), (0.0, a.magnitude**2))
    if a.high <= 4:
        found["exp"] = (("%z = math.exp %p : T",), (math.exp(a.low), math.exp(a.high)))
    if a.low >= 0.125:
        found["log"] = (("%z = math.log %p : T",), (math.log(a.low), math.log(a.high)))
        found["rsqrt"] = (("%z = math.rsqrt %p : T",), (a.high**-0.5, a.low**-0.5))
    return {name: Scalar(lines, ("%z",), (interval,)) for name, (lines, interval) in found.items()}


@dataclass
class Drafter:
    """Writes one program, drawing every choice; `values` are the float values later operations may use."""

    draw: st.DrawFn
    element_type: str
    max_ops: int
    extents: list[int] = field(default_factory=list[int])
    arguments: list[Value] = field(default_factory=list[Value])
    values: list[Value] = field(default_factory=list[Value])
    lines: list[str] = field(default_factory=list[str])
    used: set[str] = field(default_factory=set[str])
    ops: int = 0

    # Choices

    def flip(self) -> bool:
        return self.draw(st.booleans())

    def one_of(self, choices: Sequence[T]) -> T:
        return self.draw(st.sampled_from(choices))

    def extent(self) -> int:
        return self.one_of(self.extents)

    def value(self, accept: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """An existing value that `accept` likes, by preference a recent one."""
        candidates = [value for value in reversed(self.values) if accept(value)]
        return self.one_of(candidates) if candidates else None

    def matrix(self) -> Value:
        """An existing value of rank 2 or more, or a new argument of rank 2."""
        return self.value(lambda value: value.rank >= 2) or self.argument((self.extent(), self.extent()))

    # Text

    def type_of(self, shape: Shape, element: str | None = None) -> str:
        return "tensor<" + "".join(f"{extent}x" for extent in shape) + (element or self.element_type) + ">"

    def types(self, *values: Value) -> str:
        return ", ".join(self.type_of(value.shape) for value in values)

    def fresh(self, stem: str) -> str:
        return f"{stem}{len(self.lines)}"

    def argument(self, shape: Shape, low: float = -2.0, high: float = 2.0) -> Value:
        found = Value(f"arg{len(self.arguments)}", shape, low, high)
        self.arguments.append(found)
        self.values.append(found)
        return found

    def raw(self, stem: str, text: str, operands: Sequence[str] = ()) -> str:
        """Write `%name = text` for a value of any type and return its name; `operands` are marked as used."""
        name = self.fresh(stem)
        self.lines.append(f"%{name} = {text}")
        self.used.update(operands)
        self.ops += 1
        return name

    def emit(self, text: str, operands: Sequence[Value], shape: Shape, low: float, high: float) -> Value:
        """Write an operation that gives a float value; its name tells the operation."""
        stem = text.split()[0].removeprefix("array.")
        return Value(self.raw(stem, text, [value.name for value in operands]), shape, low, high)

    def keep(self, value: Value) -> None:
        """Make a value available to later operations, scaled into range first where it needs it."""
        if value.magnitude > RANGE:
            if self.flip():
                factor = 2.0 ** -math.ceil(math.log2(value.magnitude / 8))
                value = self.scaled(value, factor)
            else:
                value = self.elementwise([value], _unary(value)["tanh"])[0]
        self.values.append(value)

    def elementwise(
        self, operands: Sequence[Value], scalar: Scalar, shape: Shape | None = None
    ) -> list[Value]:
        """Write an `array.elementwise` over float operands, called %p, %q, %r in its region."""
        names = ("%p", "%q", "%r")
        if shape is None:
            # A value may have more elements than a broadcast may give it.
            shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        pairs = ", ".join(f"{n} = %{v.name}" for n, v in zip(names, operands, strict=False))
        results = ", ".join([self.type_of(shape)] * len(scalar.yields))
        body = [re.sub(r"\bT\b", self.element_type, line) for line in scalar.lines]
        ends = (
            f"array.yield {', '.join(scalar.yields)} : {', '.join([self.element_type] * len(scalar.yields))}"
        )
        signature = f"{self.types(*operands)} -> {results}" if operands else f"-> {results}"
        text = f"array.elementwise ({pairs}) {':' if operands else ''} {signature} {{\n"
        text += "".join(f"    {line}\n" for line in (*body, ends)) + "  }"
        name = self.fresh("map")
        found = [
            Value(name if index == 0 else f"{name}{'abc'[index]}", shape, low, high)
            for index, (low, high) in enumerate(scalar.intervals)
        ]
        self.lines.append(", ".join(f"%{value.name}" for value in found) + f" = {text}")
        self.used.update(operand.name for operand in operands)
        self.ops += 1
        return found

    def scaled(self, value: Value, factor: float, offset: float = 0.0) -> Value:
        low, high = sorted((value.low * factor + offset, value.high * factor + offset))
        lines = (f"%c = arith.constant {factor!r} : T", "%z = arith.mulf %p, %c : T")
        if offset:
            lines = (*lines, f"%d = arith.constant {offset!r} : T", "%y = arith.addf %z, %d : T")
        return self.elementwise([value], Scalar(lines, ("%y" if offset else "%z",), ((low, high),)))[0]

    def combined(self, a: Value, b: Value, kind: str) -> Value:
        return self.elementwise([a, b], _binary(a, b)[kind])[0]

    # Element-wise steps

    def step_unary(self) -> None:
        a = self.value() or self.matrix()
        kinds = _unary(a)
        self.keep(self.elementwise([a], kinds[self.one_of(sorted(kinds))])[0])

    def step_binary(self) -> None:
        a = self.value() or self.matrix()
        if self.flip():
            b = self.value(lambda value: _broadcast(a.shape, value.shape) is not None) or a
        else:
            b = self.broadcastable(a.shape)
        if self.flip():
            a, b = b, a
        kinds = _binary(a, b)
        self.keep(self.elementwise([a, b], kinds[self.one_of(sorted(kinds))])[0])

    def broadcastable(self, shape: Shape) -> Value:
        """A new argument: a row, a column, a scalar, or of the whole shape."""
        drop = self.one_of(range(len(shape) + 1))
        kept = tuple(1 if self.flip() else extent for extent in shape[drop:])
        return self.argument(kept, 0.5, 2.0) if self.flip() else self.argument(kept)

    def step_two_results(self) -> None:
        a = self.value() or self.matrix()
        scalar = Scalar(
            ("%t = math.tanh %p : T", "%n = arith.subf %p, %t : T"),
            ("%t", "%n"),
            ((-1.0, 1.0), (-a.magnitude, a.magnitude)),
        )
        for value in self.elementwise([a], scalar):
            self.keep(value)

    def step_scale(self) -> None:
        a = self.value() or self.matrix()
        factor = self.one_of((0.5, 2.0, -1.5, 0.125))
        if self.flip():
            self.keep(self.scaled(a, factor, self.one_of((0.0, 1.0, -0.5))))
        else:
            self.keep(self.combined(a, self.constant((), factor), "mul"))

    def constant(self, shape: Shape, number: float) -> Value:
        return self.emit(
            f"array.constant dense<{number!r}> : {self.type_of(shape)}", (), shape, number, number
        )

    def step_constant(self) -> None:
        if self.flip():
            self.keep(self.constant((self.extent(), self.extent())[: self.one_of((0, 1, 2))], 0.75))
            return
        if self.flip():
            shape = (self.extent(), self.extent())
            self.keep(
                self.elementwise([], Scalar(("%z = arith.constant 0.5 : T",), ("%z",), ((0.5, 0.5),)), shape)[
                    0
                ]
            )
            return
        extent = self.extent()
        numbers = ", ".join(repr(self.one_of((-1.0, 0.25, 0.5, 1.5))) for _ in range(extent))
        shape = (extent,)
        self.keep(
            self.emit(f"array.constant dense<[{numbers}]> : {self.type_of(shape)}", (), shape, -1.0, 1.5)
        )

    def step_extent(self) -> None:
        a = self.value() or self.matrix()
        if a.rank == 0:
            return
        axis = self.one_of(range(a.rank))
        size = float(a.shape[axis])
        text = f"array.extent %{a.name} axis {axis} : {self.types(a)} -> {self.type_of(())}"
        self.keep(self.emit(text, [a], (), size, size))

    def index(self, rows: int, columns: int, axis: int) -> tuple[str, Shape]:
        """Row (axis 0) or column (axis 1) indices of a matrix, in one of several shapes: name and shape."""
        if self.flip():
            shape: Shape = (rows, columns)
        elif axis == 0:
            shape = (rows, 1)
        else:
            shape, axis = ((columns,), 0) if self.flip() else ((1, columns), 1)
        return self.raw("iota", f"array.iota axis {axis} : {self.type_of(shape, 'i32')}"), shape

    def step_mask(self) -> None:
        """Keep the elements on one side of a diagonal, put a number in place of the others."""
        a = self.matrix()
        (row, row_shape), (column, column_shape) = (
            self.index(a.shape[-2], a.shape[-1], axis) for axis in (0, 1)
        )
        fill = self.one_of((0.0, -8.0, 1.0))
        e = self.element_type
        inputs = f"{self.types(a)}, {self.type_of(row_shape, 'i32')}, {self.type_of(column_shape, 'i32')}"
        text = (
            f"array.elementwise (%p = %{a.name}, %i = %{row}, %j = %{column}) : {inputs} -> {self.types(a)} "
            "{\n"
            f"    %keep = arith.cmpi {self.one_of(('sge', 'slt', 'eq'))}, %i, %j : i32\n"
            f"    %fill = arith.constant {fill!r} : {e}\n"
            f"    %z = arith.select %keep, %p, %fill : {e}\n"
            f"    array.yield %z : {e}\n  }}"
        )
        self.keep(self.emit(text, [a], a.shape, min(a.low, fill), max(a.high, fill)))

    def step_positions(self) -> None:
        """Indices as floats, scaled."""
        shape = (self.extent(), self.extent())
        axis = self.one_of((0, 1))
        iota = self.raw("iota", f"array.iota axis {axis} : {self.type_of(shape, 'i32')}")
        e = self.element_type
        text = (
            f"array.elementwise (%i = %{iota}) : {self.type_of(shape, 'i32')} -> {self.type_of(shape)} {{\n"
            f"    %f = arith.sitofp %i : i32 to {e}\n    %c = arith.constant 0.125 : {e}\n"
            f"    %z = arith.mulf %f, %c : {e}\n    array.yield %z : {e}\n  }}"
        )
        self.keep(self.emit(text, (), shape, 0.0, shape[axis] / 8))

    # Contractions and reductions

    def matmul(self, a: Value, b: Value, transpose_a: bool = False, transpose_b: bool = False) -> Value:
        (*batch_a, rows, contracted), (*batch_b, _, columns) = a.shape, b.shape
        if transpose_a:
            rows, contracted = contracted, rows
        if transpose_b:
            columns = b.shape[-2]
        batch = _broadcast(tuple(batch_a), tuple(batch_b))
        assert batch is not None
        shape = (*batch, rows, columns)
        flags = " transpose_a" * transpose_a + " transpose_b" * transpose_b
        text = f"array.matmul %{a.name}, %{b.name}{flags} : {self.types(a, b)} -> {self.type_of(shape)}"
        low, high = _products(a, b)
        return self.emit(text, [a, b], shape, low * contracted, high * contracted)

    def step_matmul(self) -> None:
        a = self.matrix()
        transpose_a, transpose_b = self.flip(), self.flip()
        rows, contracted = a.shape[-2:][::-1] if transpose_a else a.shape[-2:]

        def fits(b: Value) -> bool:
            if b.rank < 2:
                return False
            inner, columns = b.shape[-2:][::-1] if transpose_b else b.shape[-2:]
            batch = _broadcast(a.shape[:-2], b.shape[:-2])
            return (
                inner == contracted
                and batch is not None
                and _elements((*batch, rows, columns)) <= MAX_ELEMENTS
            )

        b = self.value(fits) if self.flip() else None
        if b is None:
            shape = (contracted, self.extent())
            b = self.argument((*self.batch_like(a.shape[:-2]), *(shape[::-1] if transpose_b else shape)))
        self.keep(self.matmul(a, b, transpose_a, transpose_b))

    def batch_like(self, batch: Shape) -> Shape:
        """Batch dims that broadcast with `batch`: some of its last ones, some of them 1."""
        drop = self.one_of(range(len(batch), -1, -1))
        return tuple(1 if self.flip() else extent for extent in batch[drop:])

    def reduced(self, kind: str, a: Value, axes: Sequence[int], keepdims: bool) -> Value:
        kept = [1 if axis in axes else extent for axis, extent in enumerate(a.shape)]
        shape = tuple(kept if keepdims else [e for axis, e in enumerate(a.shape) if axis not in axes])
        count = math.prod(a.shape[axis] for axis in axes) if kind == "sum" else 1
        text = f"array.reduce {kind} %{a.name} axes {list(axes)}{' keepdims' * keepdims} : {self.types(a)}"
        text += f" -> {self.type_of(shape)}"
        return self.emit(text, [a], shape, a.low * count, a.high * count)

    def step_reduce(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        axes = [axis for axis in range(a.rank) if self.flip()] or [a.rank - 1]
        self.keep(self.reduced(self.one_of(("sum", "max", "min")), a, axes, self.flip()))

    def row_statistic(self, kind: str, a: Value) -> Value:
        """A reduction of the last axis that keeps it as extent 1, in one or in two operations."""
        if self.flip():
            return self.reduced(kind, a, [a.rank - 1], True)
        return self.reshaped(self.reduced(kind, a, [a.rank - 1], False), (*a.shape[:-1], 1))

    # Moves

    def reshaped(self, a: Value, shape: Shape) -> Value:
        text = f"array.reshape %{a.name} : {self.types(a)} -> {self.type_of(shape)}"
        return self.emit(text, [a], shape, a.low, a.high)

    def step_reshape(self) -> None:
        a = self.value() or self.matrix()
        options: list[Shape] = []
        for axis, extent in enumerate(a.shape):
            before, after = a.shape[:axis], a.shape[axis + 1 :]
            if a.rank < MAX_RANK:
                options += [(*before, f, extent // f, *after) for f in (2, 3, 4) if extent % f == 0]
                options.append((*before, 1, extent, *after))
            if after:
                options.append((*before, extent * after[0], *after[1:]))
            if extent == 1:
                options.append((*before, *after))
        if a.rank < MAX_RANK:
            options.append((*a.shape, 1))
        self.keep(self.reshaped(a, self.one_of(options)))

    def step_transpose(self) -> None:
        a = self.matrix()
        perm = self.draw(st.permutations(range(a.rank)))
        shape = tuple(a.shape[axis] for axis in perm)
        text = f"array.transpose %{a.name} perm {list(perm)} : {self.types(a)} -> {self.type_of(shape)}"
        self.keep(self.emit(text, [a], shape, a.low, a.high))

    def step_broadcast(self) -> None:
        a = self.value(lambda value: value.rank < MAX_RANK) or self.argument((self.extent(),))
        shape = tuple(self.extent() if extent == 1 else extent for extent in a.shape)
        if a.rank < MAX_RANK and self.flip():
            shape = (self.extent(), *shape)
        if _elements(shape) > MAX_ELEMENTS:
            return
        text = f"array.broadcast %{a.name} : {self.types(a)} -> {self.type_of(shape)}"
        self.keep(self.emit(text, [a], shape, a.low, a.high))

    def step_slice(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        offsets = [self.draw(st.integers(0, extent - 1)) for extent in a.shape]
        shape = tuple(self.draw(st.integers(1, e - o)) for e, o in zip(a.shape, offsets, strict=True))
        whole = [e - o == size for e, o, size in zip(a.shape, offsets, shape, strict=True)]
        sizes = [-1 if rest and self.flip() else size for size, rest in zip(shape, whole, strict=True)]
        text = f"array.slice %{a.name} offsets {offsets} sizes {sizes} : {self.types(a)}"
        text += f" -> {self.type_of(shape)}"
        self.keep(self.emit(text, [a], shape, a.low, a.high))

    def step_concat(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        axis = self.one_of(range(a.rank))

        def fits(value: Value) -> bool:
            return value.rank == a.rank and all(
                i == axis or x == y for i, (x, y) in enumerate(zip(value.shape, a.shape, strict=True))
            )

        parts = [a, self.value(fits) or a]
        if self.flip():
            parts.append(self.argument((*a.shape[:axis], self.extent(), *a.shape[axis + 1 :])))
        shape = (*a.shape[:axis], sum(part.shape[axis] for part in parts), *a.shape[axis + 1 :])
        if _elements(shape) > MAX_ELEMENTS:
            return
        names = ", ".join(f"%{part.name}" for part in parts)
        text = f"array.concat {names} axis {axis} : {self.types(*parts)} -> {self.type_of(shape)}"
        bounds = min(part.low for part in parts), max(part.high for part in parts)
        self.keep(self.emit(text, parts, shape, *bounds))

    def results(self) -> list[Value]:
        """Values that the function returns: at most four that have no use, and perhaps one that has."""
        computed = [value for value in self.values if value not in self.arguments]
        leaves = [value for value in reversed(computed) if value.name not in self.used][:4]
        inner = [value for value in reversed(computed) if value.name in self.used]
        if inner and self.flip():
            leaves.append(self.one_of(inner))
        return leaves or [self.one_of(self.values)]
