"""Random element-wise programs over hard values: NaN, infinities, zeros of both signs, the largest and the
smallest numbers.

They are evaluated as they are written, in their own type, and compared by pattern: results must be NaN,
infinite and negative (zeros included) at the same elements, and equal elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from bb.dialects.parsing import parse_module
from bb.runtime.interpreter.functions import interpret
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

Array = NDArray[Any]

ROWS, COLUMNS = 5, 37
SHAPES = {"block": (ROWS, COLUMNS), "rows": (ROWS, 1), "vector": (ROWS,), "columns": (COLUMNS,)}
ARGUMENTS = {
    "block": ("block", "block"),
    "rows": ("rows", "rows"),
    "vector": ("vector", "vector"),
    "mixed": ("block", "block", "rows", "columns"),
}
"""The shapes of the arguments of each kind of program."""

CONSTANTS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 0.1, -3.0, 4.0)
LARGEST = float(np.finfo(np.float32).max)
TINIEST = float(np.finfo(np.float32).smallest_subnormal)
ORDINARY = (1.0, -1.0, 2.0, 0.5, -3.0, LARGEST, -LARGEST, LARGEST / 2, 1.7, -0.3, 10.0)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)
SMALL = (TINIEST, -TINIEST, float(np.finfo(np.float32).tiny), 1e-3)

# What algebra over the real numbers would fold.
_FOLDABLE = (
    "%d = arith.subf %a, %a : f32",
    "%p = arith.addf %a, %a : f32\n    %d = arith.subf %p, %a : f32",
    "%k = arith.constant 0.0 : f32\n    %d = arith.mulf %a, %k : f32",
    "%p = arith.mulf %a, %a : f32\n    %d = arith.subf %p, %p : f32",
)
_FOLDABLE_QUOTIENTS = (
    "%d = arith.divf %a, %a : f32",
    "%p = arith.mulf %a, %a : f32\n    %d = arith.divf %p, %a : f32",
)


@dataclass(frozen=True)
class HardProgram:
    """A module with one function `@f`, its arguments, and the results of each operation as it is written."""

    module: ModuleOp
    inputs: list[Array]
    expected: list[Array]


class _Drafter:
    def __init__(self, seed: int, kind: str, small: bool):
        self.random = Random(seed)
        self.small = small
        self.lines: list[str] = []
        self.values = [(f"x{index}", shape) for index, shape in enumerate(ARGUMENTS[kind])]

    def draft(self) -> None:
        chance = self.random.random()
        if chance < 0.2:
            functions = ["arith.negf", "math.absf", "math.floor", "math.ceil", *["math.sqrt"] * self.small]
            self.emit([self.pick()], f"%d = {self.random.choice(functions)} %a : f32")
        elif chance < 0.4:
            operands = self.random.choice(("%a, %k", "%k, %a"))
            constant = f"%k = arith.constant {self.random.choice(CONSTANTS):e} : f32"
            self.emit([self.pick()], f"{constant}\n    %d = {self.operation()} {operands} : f32")
        elif chance < 0.85:
            pair = [self.pick(), self.random.choice(self.values[-4:])]
            if pair[0] == pair[1]:
                self.emit(pair[:1], f"%d = {self.operation()} %a, %a : f32")
            else:
                self.emit(pair, f"%d = {self.operation()} %a, %b : f32")
        else:
            bodies = (*_FOLDABLE, *(_FOLDABLE_QUOTIENTS if self.small else ()))
            self.emit([self.pick()], self.random.choice(bodies))

    def pick(self) -> tuple[str, str]:
        return self.random.choice(self.values)

    def operation(self) -> str:
        plain = ["arith.addf", "arith.subf", "arith.mulf", *["arith.divf"] * self.small]
        return self.random.choice([*plain, *plain, "arith.maximumf", "arith.minimumf"])

    def emit(self, operands: list[tuple[str, str]], body: str) -> None:
        shapes = {shape for _, shape in operands}
        result = shapes.pop() if len(shapes) == 1 else "block"
        named = ", ".join(f"%{name} = %{value}" for name, (value, _) in zip("ab", operands, strict=False))
        types = ", ".join(_tensor(shape) for _, shape in operands)
        name = f"t{len(self.lines)}"
        self.lines.append(
            f"  %{name} = array.elementwise ({named}) : {types} -> {_tensor(result)} {{\n"
            f"    {body}\n    array.yield %d : f32\n  }}\n"
        )
        self.values.append((name, result))


def _tensor(shape: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in SHAPES[shape])}f32>"


def hard_program(seed: int, kind: str, operations: int, *, small: bool = True) -> HardProgram:
    """Draw a program of one kind of `ARGUMENTS` that returns the results of all its operations.

    Without `small`, no value is denormal: targets that flush such numbers to zero agree, too.
    """
    drafter = _Drafter(seed, kind, small)
    arguments = list(drafter.values)
    for _ in range(operations):
        drafter.draft()
    results = drafter.values[len(arguments) :]
    signature = ", ".join(f"%{name}: {_tensor(shape)}" for name, shape in arguments)
    types = ", ".join(_tensor(shape) for _, shape in results)
    names = ", ".join(f"%{name}" for name, _ in results)
    text = f"func.func @f({signature}) -> ({types}) {{\n{''.join(drafter.lines)}"
    module = parse_module(f"{text}  func.return {names} : {types}\n}}\n", "drawn")
    rng = np.random.default_rng(seed)
    numbers = [*SPECIAL, *ORDINARY, *(SMALL if small else ())]
    inputs = [rng.choice(numbers, size=SHAPES[shape]).astype(np.float32) for _, shape in arguments]
    return HardProgram(module, inputs, list(interpret(module, inputs).results))


def differences(actual: Array, expected: Array) -> Array:
    """The elements at which two results differ in pattern, or by more than a few roundings."""
    got, wanted = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    with np.errstate(all="ignore"):
        far = np.abs(got - wanted) > 1e-5 * np.abs(wanted) + TINIEST
    numbers = ~np.isnan(wanted)
    patterns = (np.isinf(got) != np.isinf(wanted)) | (np.signbit(got) != np.signbit(wanted))
    return (np.isnan(got) != np.isnan(wanted)) | (
        numbers & (patterns | (np.isfinite(got) & np.isfinite(wanted) & far))
    )
