"""Random programs on arrays, some of whose extents are unknown until they are called."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

WIDTH = "16"
"""The one static extent; `n` and `m` are unknown."""

Shape = tuple[str, str]


@dataclass
class DynamicProgram:
    """A function of %x, %y and %w, written operation by operation; rows of %x are n, those of %y are m."""

    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    values: list[tuple[str, Shape]] = field(
        default_factory=lambda: [("x", ("n", WIDTH)), ("y", ("m", WIDTH)), ("w", (WIDTH, WIDTH))]
    )

    def text(self, operations: int) -> str:
        """A program of so many operations that returns the last value."""
        for _ in range(operations):
            self.step()
        name, shape = self.values[-1]
        arguments = ", ".join(f"%{name}: {self.type(shape)}" for name, shape in self.values[:3])
        body = "\n".join(self.lines)
        return (
            f"func.func @f({arguments}) -> {self.type(shape)} {{\n{body}\n"
            f"  func.return %{name} : {self.type(shape)}\n}}\n"
        )

    @staticmethod
    def type(shape: Shape) -> str:
        return f"tensor<{'x'.join('?' if each in 'nm' else each for each in shape)}xf32>"

    def step(self) -> None:
        write = self.rng.choice([self.matmul, self.matmul, self.matmul, self.add, self.unary, self.transpose])
        name = f"v{len(self.lines)}"
        # What was made last is used first, so that programs are deep.
        a = self.rng.choice(self.values[-3:])
        made = write(name, a)
        if made is not None:
            self.values.append((name, made))

    def matmul(self, name: str, a: tuple[str, Shape]) -> Shape | None:
        """The product of `a` and a random array, either one transposed where that makes them fit."""
        fits = [
            (b, ta, tb)
            for b in self.values
            for ta in (False, True)
            for tb in (False, True)
            if a[1][0 if ta else 1] == b[1][1 if tb else 0]
        ]
        if not fits:
            return None
        b, ta, tb = self.rng.choice(fits)
        shape = (a[1][1 if ta else 0], b[1][0 if tb else 1])
        flags = " transpose_a" * ta + " transpose_b" * tb
        types = f"{self.type(a[1])}, {self.type(b[1])}"
        self.lines.append(f"  %{name} = array.matmul %{a[0]}, %{b[0]}{flags} : {types} -> {self.type(shape)}")
        return shape

    def add(self, name: str, a: tuple[str, Shape]) -> Shape | None:
        b = self.rng.choice([each for each in self.values if each[1] == a[1]])
        type = self.type(a[1])
        self.lines.append(
            f"  %{name} = array.elementwise (%a = %{a[0]}, %b = %{b[0]}) : {type}, {type} -> {type} {{\n"
            "    %c = arith.addf %a, %b : f32\n    array.yield %c : f32\n  }"
        )
        return a[1]

    def unary(self, name: str, a: tuple[str, Shape]) -> Shape | None:
        operation = self.rng.choice(["softmax %{} axis 1", "rms_norm %{} eps 1.0e-5", "silu %{}"])
        self.lines.append(f"  %{name} = array.{operation.format(a[0])} : {self.type(a[1])}")
        return a[1]

    def transpose(self, name: str, a: tuple[str, Shape]) -> Shape | None:
        shape = (a[1][1], a[1][0])
        self.lines.append(
            f"  %{name} = array.transpose %{a[0]} perm [1, 0] : {self.type(a[1])} -> {self.type(shape)}"
        )
        return shape
