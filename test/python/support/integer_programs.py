"""Programs that apply every operation of integers, and every conversion, to hard values."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BINARY = (
    *("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"),
    *("shli", "shrsi", "shrui", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui"),
)
PREDICATES = ("eq", "slt", "ult", "ule", "ugt")
INTEGERS: dict[str, type[Any]] = {"i1": np.bool_, "i32": np.int32, "i64": np.int64}
FLOATS: dict[str, type[Any]] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


@dataclass(frozen=True)
class Case:
    """One operation: its name, the types of operands and result, and the arguments that it takes."""

    name: str
    source: str
    result: str
    arguments: tuple[str, ...]

    def lines(self, number: int, widened: str) -> tuple[list[str], str]:
        """The operation, with a result in a wider type, and the name of that."""
        operands = ", ".join(self.arguments)
        kind, _, detail = self.name.partition(" ")
        name = f"arith.{kind} {detail}," if detail else kind if "." in kind else f"arith.{kind}"
        types = self.source if self.source == self.result or detail else f"{self.source} to {self.result}"
        lines = [f"%o{number} = {name} {operands} : {types}"]
        if self.result == widened:
            return lines, f"%o{number}"
        cast = "extf" if widened == "f64" else "extui" if self.result == "i1" else "extsi"
        return [*lines, f"%w{number} = arith.{cast} %o{number} : {self.result} to {widened}"], f"%w{number}"


def arithmetic(type: str) -> list[Case]:
    """All operations on two integers of a type."""
    cases = [Case(name, type, type, ("%x", "%y")) for name in BINARY]
    cases += [Case(f"cmpi {name}", type, "i1", ("%x", "%y")) for name in PREDICATES]
    return [*cases, Case("math.absi", type, type, ("%x",))]


def to_integers() -> list[Case]:
    """All conversions to integers."""
    pairs = [("i1", "i32"), ("i1", "i64"), ("i32", "i64")]
    cases = [Case(name, a, b, (f"%{a}",)) for a, b in pairs for name in ("extsi", "extui")]
    cases += [Case("trunci", b, a, (f"%{b}",)) for a, b in pairs]
    floats = product(("f16", "f32", "f64"), INTEGERS, ("fptosi", "fptoui"))
    return [*cases, *(Case(name, a, b, (f"%{a}",)) for a, b, name in floats)]


def to_floats() -> list[Case]:
    """All conversions of integers to floats, and those of floats to fewer bits."""
    cases = [Case(name, a, b, (f"%{a}",)) for a, b, name in product(INTEGERS, FLOATS, ("sitofp", "uitofp"))]
    pairs = [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]
    return [*cases, *(Case("truncf", a, b, (f"%{a}",)) for a, b in pairs)]


@dataclass(frozen=True)
class Group:
    """Cases whose results go to the rows of one array: its name and its element type."""

    name: str
    result: str
    arguments: dict[str, str]
    cases: list[Case]


def groups() -> list[Group]:
    """All cases."""
    found = [
        Group(f"on_{type}", "i32" if type == "i1" else type, {"x": f"a_{type}", "y": f"b_{type}"}, cases)
        for type in INTEGERS
        for cases in [arithmetic(type)]
    ]
    types = (*INTEGERS, "f16", "f32", "f64")
    return [
        *found,
        Group("to_integers", "i64", {type: f"a_{type}" for type in types}, to_integers()),
        Group("to_floats", "f64", {type: f"a_{type}" for type in (*INTEGERS, "f32", "f64")}, to_floats()),
    ]


def program(extent: int) -> str:
    """A function of arrays of an extent, with one result for each group: row i is case i of it."""
    body: list[str] = []
    results: dict[str, str] = {}
    for group in groups():
        results[group.name] = f"tensor<{len(group.cases)}x{extent}x{group.result}>"
        body += _group(group, extent, results[group.name])
    arguments = [f"%{side}_{type}: tensor<{extent}x{type}>" for type in INTEGERS for side in "ab"]
    arguments += [f"%a_{type}: tensor<{extent}x{type}>" for type in FLOATS]
    types, names = ", ".join(results.values()), ", ".join(f"%{name}" for name in results)
    return "\n".join(
        [
            f"func.func @f({', '.join(arguments)}) -> ({types}) {{",
            *body,
            f"func.return {names} : {types}",
            "}",
        ]
    )


def _group(group: Group, extent: int, result: str) -> list[str]:
    count = len(group.cases)
    operands = ", ".join(f"%{name} = %{value}" for name, value in group.arguments.items())
    types = [f"tensor<{extent}x{value.partition('_')[2]}>" for value in group.arguments.values()]
    lines = [
        f"%{group.name}_row = array.iota axis 0 : tensor<{count}x1xi32>",
        f"%{group.name} = array.elementwise (%row = %{group.name}_row, {operands}) "
        f": tensor<{count}x1xi32>, {', '.join(types)} -> {result} {{",
    ]
    chosen = ""
    for number, case in enumerate(group.cases):
        computed, value = case.lines(number, group.result)
        lines += computed
        if chosen:
            lines += [
                f"%c{number} = arith.constant {number} : i32",
                f"%m{number} = arith.cmpi eq, %row, %c{number} : i32",
                f"%s{number} = arith.select %m{number}, {value}, {chosen} : {group.result}",
            ]
            value = f"%s{number}"
        chosen = value
    return [*lines, f"array.yield {chosen} : {group.result}", "}"]


def integers(type: str, count: int, random: np.random.Generator) -> Array:
    """Integers, most of them at the ends of ranges."""
    if type == "i1":
        return random.random(count) < 0.5
    dtype = np.dtype(INTEGERS[type])
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    hard = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 33, 63, 64, 65, most, least, least + 1, most - 1]
    hard += [(1 << 24) + 1, (1 << 25) + (1 << 17) + 1, 2049, (1 << 31) - 1, -(1 << 31)]
    if type == "i64":
        hard += [1 << 31, (1 << 32) - 1, 1 << 32, (1 << 53) + 1, (1 << 62) + (1 << 53) + 1]
    shifts = random.integers(0, 8 * dtype.itemsize, count).astype(dtype)
    drawn = random.integers(least, most, count, dtype=dtype, endpoint=True) >> shifts
    return np.where(random.random(count) < 0.6, random.choice(np.array(hard, dtype), count), drawn)


def floats(type: str, count: int, random: np.random.Generator) -> Array:
    """Floats, most of them at the ends of the ranges of integers or between two floats of fewer bits."""
    hard = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, -1.5, 2.5, np.nan, np.inf, -np.inf, 1e30, -1e30, 1e300, 3e38]
    hard += [sign * 2.0**power for power in (31, 32, 63, 64) for sign in (1, -1)]
    hard += [2.0**31 - 1, 2.0**31 - 0.5, 2.0**32 - 1, 65519.9999, 65520.0, 1 + 2.0**-9 + 2.0**-40]
    hard += [1 + 2.0**-11 + 2.0**-30, 2.0**-25 * (1 + 2.0**-40)]
    drawn = random.standard_normal(count) * 2.0 ** random.integers(-10, 70, count)
    with np.errstate(all="ignore"):
        chosen = np.where(random.random(count) < 0.7, random.choice(hard, count), drawn)
        return chosen.astype(FLOATS[type])


def inputs(extent: int, seed: int) -> list[Array]:
    """Arguments of the function of `program`."""
    random = np.random.default_rng(seed)
    drawn = [integers(type, extent, random) for type in INTEGERS for _ in "ab"]
    return [*drawn, *(floats(type, extent, random) for type in FLOATS)]


def wrong_cases(found: tuple[Array, ...], expected: tuple[Array, ...]) -> list[str]:
    """The cases whose results differ in any bit, with the first operands of each; NaN equals NaN."""
    wrong: list[str] = []
    for group, got, wanted in zip(groups(), found, expected, strict=True):
        differ = (got != wanted) & ~((got != got) & (wanted != wanted))
        if group.result == "f64":
            differ |= (got == 0) & (np.signbit(got) != np.signbit(wanted))
        for row in np.unique(np.nonzero(differ)[0]):
            at = int(np.nonzero(differ[row])[0][0])
            case = group.cases[row]
            wrong.append(f"{case} at {at}: {got[row, at]} instead of {wanted[row, at]}")
    return wrong


Meaning = Callable[[int, int, int], int]


def truncated_quotient(a: int, b: int) -> int:
    """a / b, rounded towards zero."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


MEANINGS: dict[str, Meaning] = {
    "addi": lambda a, b, width: a + b,
    "subi": lambda a, b, width: a - b,
    "muli": lambda a, b, width: a * b,
    "divsi": lambda a, b, width: truncated_quotient(a, b) if b else 0,
    "remsi": lambda a, b, width: a - truncated_quotient(a, b) * b if b else 0,
    "ceildivsi": lambda a, b, width: -(-a // b) if b else 0,
    "floordivsi": lambda a, b, width: a // b if b else 0,
    "divui": lambda a, b, width: _natural(a, width) // _natural(b, width) if b else 0,
    "remui": lambda a, b, width: _natural(a, width) % _natural(b, width) if b else 0,
    "ceildivui": lambda a, b, width: -(-_natural(a, width) // _natural(b, width)) if b else 0,
    "shli": lambda a, b, width: a << _natural(b, width) if _natural(b, width) < width else 0,
    "shrui": lambda a, b, width: _natural(a, width) >> min(width, _natural(b, width)),
    "shrsi": lambda a, b, width: a >> min(width - 1, _natural(b, width)),
    "andi": lambda a, b, width: a & b,
    "ori": lambda a, b, width: a | b,
    "xori": lambda a, b, width: a ^ b,
    "maxsi": lambda a, b, width: max(a, b),
    "minsi": lambda a, b, width: min(a, b),
    "maxui": lambda a, b, width: max(_natural(a, width), _natural(b, width)),
    "minui": lambda a, b, width: min(_natural(a, width), _natural(b, width)),
}
"""Each operation on two signed numbers of a width; the result is reduced to that width."""


def _natural(number: int, width: int) -> int:
    return number % (1 << width)


def wrapped(number: int, width: int) -> int:
    """The signed number of a width that has the same low bits."""
    low = number % (1 << width)
    return low - (1 << width) if low >> (width - 1) else low
