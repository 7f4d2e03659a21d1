"""A hypothesis strategy that draws random valid array programs whose values stay in a moderate range.

`array_programs()` draws an `ArrayProgram`: a module with one function `@program`, and arguments for it.
Every operation is written as text, so a draw also exercises the parser. Each value carries an interval that
holds all its elements; operations that would leave the range are followed by a scaling or a tanh, and
exponentials, divisions and roots are applied only where they are well conditioned. Nothing drawn jumps at a
computed value (selections look at indices only), so two correct evaluations in float64 agree as
`assert_close` says.

Not drawn: `array.custom`, unknown extents, selections by i1 arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from bb.dialects.parsing import parse_module
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter
from numpy.typing import NDArray
from program_drafter import MAX_ELEMENTS, Drafter, Scalar, Value
from xdsl.dialects.builtin import ModuleOp

Array = NDArray[np.float64]

EXTENTS = (4, 3, 1, 2, 5, 7, 8, 12, 13)
ELEMENT_TYPES = ("f32", "f64", "f16", "bf16")


@dataclass
class ArrayProgram:
    """A module with one function `@program`, and one float64 array for each of its arguments.

    The arrays are exact in every float type.
    """

    module: ModuleOp
    inputs: list[Array]

    def __repr__(self) -> str:
        shapes = ", ".join(str(array.shape) for array in self.inputs)
        return f"ArrayProgram(inputs of shapes {shapes})\n{self.module!s}"

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """Show a failing example to hypothesis, which would print every field of every operation."""
        for number, line in enumerate(repr(self).splitlines()):
            if number:
                printer.break_()
            printer.text(line)


def assert_close(actual: Sequence[Array], expected: Sequence[Array], rtol: float = 1e-9) -> None:
    """Fail unless every result agrees within `rtol` of its largest element (of 0.1 where all are smaller)."""
    assert len(actual) == len(expected)
    for index, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert got.shape == wanted.shape, f"result {index} has shape {got.shape}, expected {wanted.shape}"
        assert np.isfinite(wanted).all(), f"result {index} was not to be finite"
        assert np.isfinite(got).all(), f"result {index} is not finite"
        error = float(np.max(np.abs(got - wanted), initial=0.0))
        bound = rtol * max(float(np.max(np.abs(wanted), initial=0.0)), 0.1)
        assert error <= bound, f"result {index} differs by {error:.3g}, more than {bound:.3g}"


class ProgramDrafter(Drafter):
    """Adds composites, and the same computations spelled in core operations."""

    # Composites

    def step_activation(self) -> None:
        a = self.value() or self.matrix()
        bounds = {
            "relu": (max(a.low, 0.0), max(a.high, 0.0)),
            "sigmoid": (0.0, 1.0),
            "silu": (-0.3, max(a.high, 0.0)),
            "gelu exact": (-0.2, max(a.high, 0.0)),
            "gelu tanh": (-0.2, max(a.high, 0.0)),
        }
        name = self.one_of(list(bounds))
        self.keep(self.emit(f"array.{name} %{a.name} : {self.types(a)}", [a], a.shape, *bounds[name]))

    def step_softmax(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        axis = self.one_of(range(a.rank - 1, -1, -1))
        self.keep(self.emit(f"array.softmax %{a.name} axis {axis} : {self.types(a)}", [a], a.shape, 0.0, 1.0))

    def step_norm(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        name = self.one_of(("rms_norm", "layer_norm"))
        bound = math.sqrt(a.shape[-1])
        operands, text = [a], f"array.{name} %{a.name}"
        for part, present in (("scale", self.flip()), ("shift", name == "layer_norm" and self.flip())):
            if present:
                vector = self.value(lambda value: value.shape == a.shape[-1:]) or self.argument(a.shape[-1:])
                bound = bound * vector.magnitude if part == "scale" else bound + vector.magnitude
                operands.append(vector)
                text += f" {part}(%{vector.name} : {self.types(vector)})"
        text += f" eps 1.0e-3 : {self.types(a)}"
        self.keep(self.emit(text, operands, a.shape, -bound, bound))

    def attention_operands(self) -> tuple[Value, Value, Value] | None:
        """Queries, keys and values: q [..., Hq, M, D], k [..., Hkv, N, D], v [..., Hkv, N, L]."""
        q = self.matrix()
        if self.flip():  # self-attention
            k = q
        else:
            heads = ()
            if q.rank > 2:
                heads = (self.one_of([h for h in range(q.shape[-3], 0, -1) if q.shape[-3] % h == 0]),)
            k = self.argument((*q.shape[:-3], *heads, self.extent(), q.shape[-1]))
        v = k if self.flip() else self.argument((*k.shape[:-1], self.extent()))
        fits = math.prod(q.shape[:-1]) * k.shape[-2] <= MAX_ELEMENTS
        return (q, k, v) if fits else None

    def step_attention(self) -> None:
        if (found := self.attention_operands()) is None:
            return
        q, k, v = found
        scores = (*q.shape[:-1], k.shape[-2])
        operands, text = [q, k, v], f"array.attention %{q.name}, %{k.name}, %{v.name}"
        if self.flip():
            bias = self.argument(scores[-self.one_of(range(1, len(scores) + 1)) :])
            operands.append(bias)
            text += f" bias(%{bias.name} : {self.types(bias)})"
        if self.ops + 4 <= self.max_ops and self.flip():
            mask, mask_type = self.band(*scores[-2:])
            text += f" mask(%{mask} : {mask_type})"
        text += " scale 0.25" if self.flip() else ""
        text += " causal" if self.flip() else ""
        shape = (*scores[:-1], v.shape[-1])
        text += f" : {self.types(q, k, v)} -> {self.type_of(shape)}"
        self.keep(self.emit(text, operands, shape, v.low, v.high))

    def band(self, rows: int, columns: int) -> tuple[str, str]:
        """A mask that keeps the first key and every key j > i - 2, with its type."""
        i, j = self.type_of((rows, 1), "i32"), self.type_of((columns,), "i32")
        row, column = (
            self.raw("iota", f"array.iota axis 0 : {i}"),
            self.raw("iota", f"array.iota axis 0 : {j}"),
        )
        mask_type = self.type_of((rows, columns), "i1")
        text = (
            f"array.elementwise (%i = %{row}, %j = %{column}) : {i}, {j} -> {mask_type} {{\n"
            "    %zero = arith.constant 0 : i32\n    %two = arith.constant 2 : i32\n"
            "    %d = arith.subi %i, %two : i32\n    %near = arith.cmpi sgt, %j, %d : i32\n"
            "    %first = arith.cmpi eq, %j, %zero : i32\n    %keep = arith.ori %near, %first : i1\n"
            "    array.yield %keep : i1\n  }"
        )
        return self.raw("mask", text), mask_type

    # The same in core operations

    def exponentials(self, scores: Value) -> tuple[Value, Value]:
        """exp(scores) relative to the row maximum (or not, where all are small) and their row sums."""
        if scores.magnitude <= 4 and self.flip():
            (weights,) = self.elementwise([scores], unary_exp(scores))
        else:
            shifted = self.combined(scores, self.row_statistic("max", scores), "sub")
            # No score exceeds its row's maximum, which the intervals cannot tell.
            shifted = Value(shifted.name, shifted.shape, scores.low - scores.high, 0.0)
            (weights,) = self.elementwise([shifted], unary_exp(shifted))
        return weights, self.row_statistic("sum", weights)

    def divided(self, a: Value, b: Value, low: float, high: float) -> Value:
        return self.elementwise([a, b], Scalar(("%z = arith.divf %p, %q : T",), ("%z",), ((low, high),)))[0]

    def step_softmax_spelled(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        weights, total = self.exponentials(a)
        self.keep(self.divided(weights, total, 0.0, 1.0))

    def step_attention_spelled(self) -> None:
        if (found := self.attention_operands()) is None or found[0].shape[:-2] != found[1].shape[:-2]:
            return
        q, k, v = found
        scores = self.matmul(q, k, transpose_b=True)
        scores = self.scaled(scores, 0.25)
        weights, total = self.exponentials(scores)
        if self.flip():
            out = self.divided(self.matmul(weights, v), total, v.low, v.high)
        else:
            out = self.matmul(self.divided(weights, total, 0.0, 1.0), v)
            out = Value(out.name, out.shape, v.low, v.high)
        self.keep(out)

    def mean(self, a: Value) -> Value:
        total, size = self.row_statistic("sum", a), a.shape[-1]
        return self.scaled(total, 1 / size)

    def normalised(self, a: Value, variance: Value) -> Value:
        """a / sqrt(variance + eps), as a product with the reciprocal root."""
        bound = math.sqrt(a.shape[-1])
        lines = (
            "%e = arith.constant 0.0009765625 : T",
            "%s = arith.addf %p, %e : T",
            "%z = math.rsqrt %s : T",
        )
        (factor,) = self.elementwise([variance], Scalar(lines, ("%z",), ((0.0, 32.0),)))
        lines = ("%z = arith.mulf %p, %q : T",)
        return self.elementwise([a, factor], Scalar(lines, ("%z",), ((-bound, bound),)))[0]

    def squared(self, a: Value) -> Value:
        lines = ("%z = arith.mulf %p, %p : T",)
        return self.elementwise([a], Scalar(lines, ("%z",), ((0.0, a.magnitude**2),)))[0]

    def step_rms_norm_spelled(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        self.keep(self.normalised(a, self.mean(self.squared(a))))

    def step_layer_norm_spelled(self) -> None:
        a = self.value(lambda value: value.rank >= 1) or self.matrix()
        mean = self.mean(a)
        centred = self.combined(a, mean, "sub")
        if a.magnitude <= 8 and self.flip():  # E[x^2] - E[x]^2
            lines = ("%m = arith.mulf %q, %q : T", "%z = arith.subf %p, %m : T")
            operands = [self.mean(self.squared(a)), mean]
            (variance,) = self.elementwise(operands, Scalar(lines, ("%z",), ((0.0, a.magnitude**2),)))
        else:
            variance = self.mean(self.squared(centred))
        self.keep(self.normalised(centred, variance))

    def steps(self) -> list[tuple[int, Callable[[], None]]]:
        """Every kind of step, with the largest number of operations it writes."""
        return [
            (2, self.step_unary),
            (2, self.step_binary),
            (2, self.step_matmul),
            (2, self.step_reduce),
            (2, self.step_scale),
            (1, self.step_transpose),
            (1, self.step_reshape),
            (1, self.step_broadcast),
            (1, self.step_slice),
            (1, self.step_concat),
            (1, self.step_constant),
            (1, self.step_extent),
            (2, self.step_two_results),
            (3, self.step_mask),
            (2, self.step_positions),
            (1, self.step_softmax),
            (2, self.step_norm),
            (1, self.step_activation),
            (4, self.step_attention),
            (7, self.step_softmax_spelled),
            (6, self.step_rms_norm_spelled),
            (11, self.step_layer_norm_spelled),
            (10, self.step_attention_spelled),
            # Once more, because they cannot or should not be as rare as the others.
            (2, self.step_matmul),
            (2, self.step_binary),
            (4, self.step_attention),
            (7, self.step_softmax_spelled),
            (10, self.step_attention_spelled),
        ]


def unary_exp(a: Value) -> Scalar:
    return Scalar(("%z = math.exp %p : T",), ("%z",), ((math.exp(a.low), math.exp(a.high)),))


@st.composite
def array_program_texts(
    draw: st.DrawFn,
    max_ops: int = 12,
    element_types: Sequence[str] = ELEMENT_TYPES,
    drafter_type: type[ProgramDrafter] = ProgramDrafter,
) -> tuple[str, list[Array]]:
    """The text of a program of at most `max_ops` operations, and its arguments."""
    drafter = drafter_type(draw, draw(st.sampled_from(element_types)), max_ops)
    drafter.extents = draw(st.lists(st.sampled_from(EXTENTS), min_size=2, max_size=4))
    for _ in range(draw(st.integers(1, 3))):
        rank = draw(st.sampled_from((2, 2, 3, 1, 4)))
        shape = tuple(drafter.extent() for _ in range(rank))
        drafter.argument(shape if math.prod(shape) <= MAX_ELEMENTS else shape[:3])
    for _ in range(draw(st.integers(1, max_ops))):
        steps = [step for cost, step in drafter.steps() if drafter.ops + cost <= max_ops]
        if not steps:
            break
        draw(st.sampled_from(steps))()
    results = drafter.results()
    signature = ", ".join(f"%{argument.name}: {drafter.types(argument)}" for argument in drafter.arguments)
    types = drafter.types(*results)
    lines = [f"func.func @program({signature}) -> ({types}) {{", *(f"  {line}" for line in drafter.lines)]
    lines += [f"  func.return {', '.join(f'%{value.name}' for value in results)} : {types}", "}"]
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return "\n".join(lines), [_exact(rng, argument) for argument in drafter.arguments]


def _exact(rng: np.random.Generator, argument: Value) -> Array:
    """Random multiples of 1/64 in the argument's interval: at most 2 in magnitude, they fit in a bf16."""
    return np.round(rng.uniform(argument.low, argument.high, argument.shape) * 64) / 64


@st.composite
def array_programs(
    draw: st.DrawFn,
    max_ops: int = 12,
    element_types: Sequence[str] = ELEMENT_TYPES,
    drafter_type: type[ProgramDrafter] = ProgramDrafter,
) -> ArrayProgram:
    """Random valid array programs of at most `max_ops` operations, with arguments."""
    text, inputs = draw(array_program_texts(max_ops, element_types, drafter_type))
    return ArrayProgram(parse_module(text, "program.mlir"), inputs)
