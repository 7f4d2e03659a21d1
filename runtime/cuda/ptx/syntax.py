"""The parts of a PTX module, as `parse.py` finds them.

Source: the PTX ISA reference, chapters "Syntax" and "State Spaces, Types, and Variables".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias


class PtxError(Exception):
    """PTX that cannot be executed here; one sentence, with the line of the PTX where there is one."""

    def __init__(self, message: str, line: int = 0):
        super().__init__(f"PTX line {line}: {message}" if line else message)
        self.line = line


@dataclass(frozen=True)
class Location:
    """A place in the CUDA source: the number of a `.file` and a line; line 0 where it is not known."""

    file: int = 1
    line: int = 0


@dataclass(frozen=True)
class Register:
    """`%r3`, a register of inline assembly without the percent sign, or `_` for a value that is dropped."""

    name: str


@dataclass(frozen=True)
class Special:
    """`%tid.x` and other registers that only can be read."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A constant. `bits` is 32 or 64 for the bits of a float (`0f3F800000`), 0 for an integer."""

    value: int
    bits: int = 0


@dataclass(frozen=True)
class Symbol:
    """The name of a variable, a parameter, a label or a function, and a distance in bytes from it."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """`[base + offset]`, or `[map, {x, y}]` with the coordinates of a box in a tensor map."""

    base: Register | Symbol | Immediate
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Vector:
    """`{a, b, c, d}`."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`%r1|%p1`: two results."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Inverted:
    """`!%p1`."""

    operand: Operand


Operand: TypeAlias = "Register | Special | Immediate | Symbol | Address | Vector | Pair | Inverted"


def names_in(operand: Operand) -> Iterator[str]:
    """The names that an operand mentions, registers and others."""
    match operand:
        case Register(name) | Special(name) | Symbol(name):
            yield name
        case Address(base, _, coordinates):
            for each in (base, *coordinates):
                yield from names_in(each)
        case Vector(parts):
            for each in parts:
                yield from names_in(each)
        case Pair(first, second):
            yield from names_in(first)
            yield from names_in(second)
        case Inverted(inner):
            yield from names_in(inner)
        case Immediate():
            pass


@dataclass(frozen=True)
class Variable:
    """A declared variable: `.shared .align 16 .b8 name[64]`. `count` is None for an array without a size.

    `values` are the initial elements, each an integer or a symbol's name.
    """

    space: str
    type: str
    name: str
    count: int | None
    align: int
    values: tuple[int | str, ...] = ()
    is_array: bool = False


@dataclass(frozen=True)
class Registers:
    """`.reg .b32 %r<5>;` (count 5) or `.reg .pred p;` (count None)."""

    type: str
    name: str
    count: int | None


@dataclass(frozen=True)
class Label:
    name: str
    line: int


@dataclass(frozen=True)
class BranchTargets:
    """`name: .branchtargets a, b;`, the table of an indexed branch."""

    name: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """One instruction. `opcode` is split at the dots; `guard` is its predicate, `!`-inverted or not."""

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    location: Location
    guard: Register | Inverted | None = None

    @property
    def text(self) -> str:
        return ".".join(self.opcode)

    def has(self, modifier: str) -> bool:
        return modifier in self.opcode[1:]


@dataclass(frozen=True)
class Call:
    """`call (results), function, (arguments);`"""

    results: tuple[str, ...]
    function: str
    arguments: tuple[str, ...]
    line: int
    location: Location
    guard: Register | Inverted | None = None


@dataclass
class Scope:
    """Contents of a pair of braces. Names that it declares are known in it alone."""

    items: list[Item] = field(default_factory=list["Item"])


Item: TypeAlias = "Instruction | Call | Label | BranchTargets | Registers | Variable | Scope"


def mentions(scope: Scope) -> Counter[str]:
    """Return the number of mentions of each name by instructions, in whatever scope it is declared."""
    found: Counter[str] = Counter()
    for item in scope.items:
        match item:
            case Scope():
                found.update(mentions(item))
            case Call():
                found.update((*item.results, *item.arguments))
            case Instruction():
                for operand in item.operands if item.guard is None else (*item.operands, item.guard):
                    found.update(names_in(operand))
            case _:
                pass
    return found


@dataclass
class Function:
    """A kernel (`.entry`) or a function. `body` is None for one that is declared and defined elsewhere."""

    name: str
    is_kernel: bool
    results: Sequence[Variable]
    parameters: Sequence[Variable]
    body: Scope | None
    line: int


@dataclass
class Module:
    """A parsed PTX file; `files` are the paths by the numbers that `Location` uses."""

    target: str
    files: dict[int, str]
    variables: list[Variable]
    functions: list[Function]
