"""Translation of PTX operands to C++ expressions, and decoding of opcodes part by part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .syntax import (
    Address,
    Immediate,
    Instruction,
    Inverted,
    Operand,
    Pair,
    PtxError,
    Register,
    Special,
    Symbol,
    Vector,
)

TYPES = {
    "pred": "bool",
    **{f"{sign}{bits}": f"uint{bits}_t" for sign in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    "f16": "Half",
    "bf16": "Bfloat",
    "f16x2": "uint32_t",
    "bf16x2": "uint32_t",
    "f32": "float",
    "f64": "double",
}
"""The C++ type for each PTX type; two 16-bit floats stay a word, which `packed` takes apart."""

SIZES = {
    name: 1 if name == "pred" else int(re.sub(r"^b?[a-z]|x2$", "", name)) // 8 * (2 if "x2" in name else 1)
    for name in TYPES
}
"""Bytes of a value in memory."""


def is_float(kind: str) -> bool:
    return kind in ("f16", "bf16", "f32", "f64")


class Opcode:
    """The parts of an opcode after its name, each to be taken once. What is left over is an error."""

    def __init__(self, instruction: Instruction):
        self.instruction = instruction
        self._left = list(instruction.opcode[1:])

    def take(self, *names: str) -> bool:
        """Return True if one of the modifiers is present, and mark it as understood."""
        return self.choice(*names) is not None

    def choice(self, *names: str) -> str | None:
        """The first part that is one of `names`."""
        for part in self._left:
            if part in names:
                self._left.remove(part)
                return part
        return None

    def type(self, *allowed: str) -> str:
        """The last part, a type, of which `allowed` (all where it is empty) are supported."""
        kind = self._left.pop() if self._left else ""
        if kind not in (allowed or TYPES):
            raise self.unsupported()
        return kind

    def done(self) -> None:
        if self._left:
            raise self.unsupported(f"its '.{self._left[0]}'")

    def unsupported(self, what: str = "") -> PtxError:
        part = f", because of {what}" if what else ""
        return PtxError(
            f"the instruction '{self.instruction.text}' is not supported{part}", self.instruction.line
        )


@dataclass(frozen=True)
class Declared:
    """A register by its C++ name and PTX type, or a range of them."""

    stem: str
    type: str
    count: int | None


@dataclass
class Names:
    """Names known inside a scope, and through `outer` in the scopes around it."""

    outer: Names | None = None
    registers: dict[str, Declared] = field(default_factory=dict[str, Declared])
    memory: dict[str, str] = field(default_factory=dict[str, str])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def register(self, name: str) -> tuple[str, str] | None:
        """C++ name and PTX type."""
        if (found := self.registers.get(name)) is not None and found.count is None:
            return found.stem, found.type
        if (match := re.fullmatch(r"(.*?)(\d+)", name)) is not None:
            found = self.registers.get(match[1])
            if found is not None and found.count is not None and int(match[2]) < found.count:
                return f"{found.stem}{int(match[2])}", found.type
        return self.outer.register(name) if self.outer is not None else None

    def label(self, name: str) -> str | None:
        return self.labels.get(name) or (self.outer.label(name) if self.outer is not None else None)

    def variable(self, name: str) -> str | None:
        """The state space of a variable."""
        return self.memory.get(name) or (self.outer.variable(name) if self.outer is not None else None)

    def table(self, name: str) -> tuple[str, ...] | None:
        return self.tables.get(name) or (self.outer.table(name) if self.outer is not None else None)


def mangled(name: str) -> str:
    """A PTX name as a part of a C++ name; different names stay different."""
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"_{ord(match[0]):x}_", name.replace("_", "__"))


_INDICES = {
    "tid": "bb_emu_thread_index",
    "ntid": "bb_emu_block_dim",
    "ctaid": "bb_emu_block_index",
    "nctaid": "bb_emu_grid_dim",
}
_SPECIALS = {
    "%laneid": "lane()",
    "%warpid": "warp()",
    "%nwarpid": "warps()",
    "%lanemask_eq": "(1u << lane())",
    "%lanemask_lt": "((1u << lane()) - 1u)",
    "%lanemask_le": "((2u << lane()) - 1u)",
    "%lanemask_gt": "~((2u << lane()) - 1u)",
    "%lanemask_ge": "~((1u << lane()) - 1u)",
}


class Context:
    """The translation of one function: names in sight, the registers that were used, and how often its
    instructions mention each name.
    """

    def __init__(
        self,
        names: Names,
        symbols: Mapping[str, str],
        files: Mapping[int, int],
        mentioned: Mapping[str, int],
    ):
        self.names = names
        self.symbols = symbols
        self.files = files
        self.mentioned = mentioned
        self.used: dict[str, str] = {}

    # -- values

    def is_dropped(self, operand: Operand) -> bool:
        """True if no instruction reads the register."""
        match operand:
            case Register("_") | Symbol("_"):
                return True
            case Register(name) | Symbol(name, 0):
                return self.mentioned.get(name) == 1
            case _:
                return False

    def register(self, name: str, line: int) -> tuple[str, str]:
        found = self.names.register(name)
        if found is None:
            raise PtxError(f"the register '{name}' is not declared", line)
        self.used.setdefault(*found)
        return found

    def read(self, operand: Operand, kind: str, line: int) -> str:
        """The value of an operand as an expression of the C++ type of `kind`."""
        cpp = TYPES[kind]
        match operand:
            case Register(name):
                own, own_kind = self.register(name, line)
                return own if TYPES[own_kind] == cpp else f"get<{cpp}>({own})"
            case Special(name):
                return f"static_cast<{cpp}>({self._special(name, line)})"
            case Immediate():
                return self._immediate(operand, kind, line)
            case Symbol(name, 0) if self.names.register(name) is not None:
                return self.read(Register(name), kind, line)
            case Symbol(name, offset):
                return f"static_cast<{cpp}>({self.location(name, line)} + {offset}ll)"
            case Inverted(inner) if kind == "pred":
                return f"!{self.read(inner, kind, line)}"
            case Vector(parts):
                return self._joined(parts, kind, line)
            case _:
                raise PtxError("an operand of this form is not supported here", line)

    def _special(self, name: str, line: int) -> str:
        if (match := re.fullmatch(r"%(n?(?:tid|ctaid))\.([xyz])", name)) is not None:
            return f"{_INDICES[match[1]]}.{match[2]}"
        if name not in _SPECIALS:
            raise PtxError(f"the special register '{name}' is not supported", line)
        return _SPECIALS[name]

    def _immediate(self, operand: Immediate, kind: str, line: int) -> str:
        cpp, value = TYPES[kind], operand.value
        if kind == "pred" and value in (0, 1, -1) and not operand.bits:
            return "true" if value else "false"
        if is_float(kind):
            size = 8 * SIZES[kind]
            if kind in ("f16", "bf16") and not operand.bits:
                return f"{cpp}{{{value & 0xFFFF}}}"
            if operand.bits != size:
                raise PtxError(f"the constant is not one of type .{kind}", line)
            return f"__builtin_bit_cast({cpp}, uint{size}_t{{{value:#x}}})"
        return f"static_cast<{cpp}>({value & (2**64 - 1):#x}ull)"

    def _joined(self, parts: tuple[Operand, ...], kind: str, line: int) -> str:
        bits = 8 * SIZES[kind] // len(parts)
        part = f"b{bits}"
        if kind not in ("b16", "b32", "b64") or part not in TYPES:
            raise PtxError("a vector of this form is not supported here", line)
        cpp = TYPES[kind]
        shifted = [
            f"static_cast<{cpp}>(static_cast<{cpp}>({self.read(each, part, line)}) << {bits * index})"
            for index, each in enumerate(parts)
        ]
        return f"static_cast<{cpp}>({' | '.join(shifted)})"

    def write(self, operand: Operand, kind: str, expression: str, line: int) -> str:
        """A statement that puts a value of the C++ type of `kind` into an operand."""
        match operand:
            case Register("_") | Symbol("_"):
                return f"(void)({expression});"
            case Register(name) | Symbol(name):
                own, own_kind = self.register(name, line)
                if TYPES[own_kind] == TYPES[kind]:
                    return f"{own} = {expression};"
                return f"set({own}, {expression});"
            case Vector(parts) if kind in ("b16", "b32", "b64"):
                bits = 8 * SIZES[kind] // len(parts)
                each = [
                    self.write(part, f"b{bits}", f"static_cast<uint{bits}_t>(whole >> {bits * index})", line)
                    for index, part in enumerate(parts)
                ]
                return f"{{ const {TYPES[kind]} whole = {expression}; {' '.join(each)} }}"
            case _:
                raise PtxError("a result of this form is not supported here", line)

    def results(self, operand: Operand, line: int) -> tuple[Operand, Operand | None]:
        """The two results of `a|b`, or one and None."""
        if isinstance(operand, Pair):
            return operand.first, operand.second
        return operand, None

    # -- places

    def location(self, name: str, line: int) -> str:
        """The address of a variable, as instructions of its state space take it."""
        space = self.names.variable(name)
        if space is None:
            raise PtxError(f"'{name}' is not declared, or has no address", line)
        address = self._host(name)
        return f"({address} - window)" if space == "shared" else address

    def _host(self, name: str) -> str:
        return f"reinterpret_cast<uint64_t>({self.symbols[name]})"

    def address(self, operand: Operand, space: str, line: int) -> str:
        """An `Address` as a 64-bit address of this process."""
        if not isinstance(operand, Address):
            raise PtxError("an address in brackets is expected", line)
        if operand.coordinates:
            raise PtxError("coordinates in an address are for copies by tensor maps", line)
        base, offset = operand.base, operand.offset
        distance = f" + {offset}ll" if offset else ""
        if isinstance(base, Symbol):
            held = self.names.variable(base.name)
            if held is not None and base.name in self.symbols:
                return f"({self._host(base.name)}{distance})"
            if held is not None:
                raise PtxError(f"'{base.name}' has no address", line)
            base = Register(base.name)  # of inline assembly, without a percent sign
        if isinstance(base, Register):
            value = self.read(base, "u64" if self.register(base.name, line)[1][1:] == "64" else "u32", line)
        else:
            value = self.read(base, "u64", line)
        whole = f"static_cast<uint64_t>({value}){distance}"
        return f"(window + {whole})" if space == "shared" else f"({whole})"

    def site(self, instruction: Instruction) -> str:
        """Return the source location, as an argument for the runtime."""
        return self.site_of(instruction.location.file, instruction.location.line)

    def site_of(self, file: int, line: int) -> str:
        return f"bb_emu_site({self.files.get(file, 0)}, {line})"
