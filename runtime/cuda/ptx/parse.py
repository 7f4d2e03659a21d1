"""PTX text into a `Module`. An unknown construct is an error that names the line; it is never skipped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .syntax import (
    Address,
    BranchTargets,
    Call,
    Function,
    Immediate,
    Instruction,
    Inverted,
    Label,
    Location,
    Module,
    Operand,
    Pair,
    PtxError,
    Register,
    Registers,
    Scope,
    Special,
    Symbol,
    Variable,
    Vector,
)

_TOKEN = re.compile(
    r"(?P<skip>[ \t\r]+|//[^\n]*|/\*.*?\*/)|(?P<newline>\n)|(?P<string>\"[^\"\n]*\")"
    r"|(?P<word>[.%$\w]+(?:::[.\w]+)*)|(?P<sign>[][{}(),;:=+\-!|<>@])",
    re.DOTALL,
)
_SPECIAL = re.compile(
    r"%(?:(?:tid|ntid|ctaid|nctaid)\.[xyzw]|laneid|warpid|nwarpid|lanemask_(?:eq|le|lt|ge|gt)|clock|clock64"
    r"|globaltimer|smid|nsmid|gridid|dynamic_smem_size|total_smem_size|clusterid\.[xyzw]|nclusterid\.[xyzw]"
    r"|cluster_ctaid\.[xyzw]|cluster_nctaid\.[xyzw]|cluster_ctarank|cluster_nctarank|is_explicit_cluster)"
)
# Directives that end with their line and say nothing about what a kernel computes.
_LINES = {
    *(".version", ".address_size", ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg"),
    *(".noreturn", ".explicitcluster", ".maxclusterrank", ".reqnctapercluster", ".blocksareclusters"),
}
_SPACES = {".shared", ".global", ".const", ".local", ".param", ".reg"}
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
_NO_SOURCE = Location()


@dataclass(frozen=True)
class _Token:
    text: str
    line: int


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise PtxError(f"{text[position]!r} is no part of PTX", line)
        if match.lastgroup not in ("skip", "newline"):
            found.append(_Token(match[0], line))
        line += match[0].count("\n")
        position = match.end()
    return found


def _integer(token: _Token) -> int:
    try:
        return int(token.text.rstrip("U"), 0)
    except ValueError:
        # C's octal, 017, is no literal of Python.
        if re.fullmatch(r"0[0-7]+U?", token.text):
            return int(token.text.rstrip("U"), 8)
        raise PtxError(f"'{token.text}' is no integer", token.line) from None


class _Parser:
    def __init__(self, text: str):
        self.tokens = _tokens(text)
        self.position = 0
        self.module = Module("", {}, [], [])
        self.location = _NO_SOURCE
        self.outer: dict[tuple[int, int, int], tuple[int, int, int]] = {}

    # -- tokens

    @property
    def line(self) -> int:
        if not self.tokens:
            return 1
        return self.tokens[min(self.position, len(self.tokens) - 1)].line

    def peek(self, ahead: int = 0) -> str:
        index = self.position + ahead
        return self.tokens[index].text if index < len(self.tokens) else ""

    def next(self) -> _Token:
        if self.position >= len(self.tokens):
            raise PtxError("it ends in the middle of a statement", self.line)
        self.position += 1
        return self.tokens[self.position - 1]

    def accept(self, text: str) -> bool:
        if self.peek() == text:
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        token = self.next()
        if token.text != text:
            raise PtxError(f"'{text}' is expected before '{token.text}'", token.line)

    def rest_of_line(self) -> list[_Token]:
        line, found = self.line, list[_Token]()
        while self.position < len(self.tokens) and self.line == line:
            found.append(self.next())
        return found

    # -- directives

    def parse(self) -> Module:
        while self.position < len(self.tokens):
            if not self.directive():
                self.declaration(None)
        return self.module

    def directive(self) -> bool:
        """Take a directive that may stand anywhere, if there is one here."""
        word = self.peek()
        if word == ".target":
            self.next()
            self.module.target = "".join(token.text for token in self.rest_of_line())
        elif word in _LINES:
            self.rest_of_line()
        elif word == ".pragma":
            while self.next().text != ";":
                pass
        elif word == ".file":
            self.next()
            number = _integer(self.next())
            self.module.files[number] = self.next().text.strip('"')
            while self.accept(","):
                self.next()
        elif word == ".loc":
            self.loc()
        elif word == ".section":
            self.next()
            self.next()
            self.expect("{")
            while self.next().text != "}":
                pass
        else:
            return False
        return True

    def loc(self) -> None:
        texts = [token.text for token in self.rest_of_line()]
        try:
            file, line, column = (int(text) for text in texts[1:4])
            place = (file, line, column)
            if "inlined_at" in texts:
                at = texts.index("inlined_at")
                caller, call_line, call_column = (int(text) for text in texts[at + 1 : at + 4])
                self.outer[place] = (caller, call_line, call_column)
            else:
                self.outer.pop(place, None)
        except ValueError:
            raise PtxError("'.loc' is not followed by a file, a line and a column", self.line) from None
        # A line of the kernel's own file says more than one of a header that it calls.
        seen = {place}
        shown = place
        while shown[0] != 1 and (outside := self.outer.get(shown)) is not None and outside not in seen:
            seen.add(outside)
            shown = outside
        if shown[0] != 1:
            shown = place
        self.location = Location(shown[0], shown[1])

    # -- declarations

    def declaration(self, scope: Scope | None) -> None:
        """A variable or a function; into `scope`, or into the module."""
        line = self.line
        linkage: set[str] = set()
        while self.peek() in _LINKAGE:
            linkage.add(self.next().text)
        word = self.peek()
        if word in (".entry", ".func") and scope is None:
            self.next()
            self.function(word == ".entry", line)
        elif word == ".reg" and scope is not None:
            self.next()
            scope.items.extend(self.registers())
        elif word in _SPACES:
            (self.module.variables if scope is None else scope.items).append(self.variable())
            self.expect(";")
        elif word == ".alias":
            raise PtxError("'.alias' is not supported", line)
        else:
            raise PtxError(f"'{word}' is not known", line)

    def registers(self) -> list[Registers]:
        kind = self.next().text.removeprefix(".")
        if kind in ("v2", "v4"):
            raise PtxError("registers that are vectors are not supported", self.line)
        found: list[Registers] = []
        while True:
            name = self.next().text
            count = None
            if self.accept("<"):
                count = _integer(self.next())
                self.expect(">")
            found.append(Registers(kind, name, count))
            if not self.accept(","):
                self.expect(";")
                return found

    def variable(self) -> Variable:
        """`.shared .align 16 .b8 name[64] = {...}`, without what ends it."""
        space = self.next().text.removeprefix(".")
        align, kind = 0, ""
        while self.peek().startswith("."):
            word = self.next()
            if word.text == ".align":
                align = _integer(self.next())
            elif word.text in (".ptr", ".global", ".const", ".shared", ".local", ".attribute"):
                continue
            elif word.text in (".v2", ".v4"):
                raise PtxError("variables that are vectors are not supported", word.line)
            else:
                kind = word.text.removeprefix(".")
        name = self.next().text
        count: int | None = 1
        is_array = False
        while self.accept("["):
            is_array = True
            if self.accept("]"):
                count = None
                continue
            count = (count or 1) * _integer(self.next())
            self.expect("]")
        values = self.initializer() if self.accept("=") else ()
        return Variable(space, kind, name, count, align, values, is_array)

    def initializer(self) -> tuple[int | str, ...]:
        if not self.accept("{"):
            return (self.value(),)
        found: list[int | str] = []
        while not self.accept("}"):
            if self.peek() == "{":
                found.extend(self.initializer())
            else:
                found.append(self.value())
            self.accept(",")
        return tuple(found)

    def value(self) -> int | str:
        negative = self.accept("-")
        token = self.next()
        if re.fullmatch(r"0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}", token.text):
            return int(token.text[2:], 16)
        if not token.text[0].isdigit():
            if self.peek() in ("(", "+"):
                raise PtxError(f"the initial value '{token.text}...' is not supported", token.line)
            return token.text
        return -_integer(token) if negative else _integer(token)

    def parameters(self) -> list[Variable]:
        found: list[Variable] = []
        self.expect("(")
        while not self.accept(")"):
            found.append(self.variable())
            self.accept(",")
        return found

    def function(self, is_kernel: bool, line: int) -> None:
        results = self.parameters() if self.peek() == "(" else []
        name = self.next().text
        parameters = self.parameters() if self.peek() == "(" else []
        while self.directive():
            pass
        body = None
        self.location = _NO_SOURCE
        if not self.accept(";"):
            self.expect("{")
            body = self.scope()
        self.module.functions.append(Function(name, is_kernel, results, parameters, body, line))

    # -- statements

    def scope(self) -> Scope:
        found = Scope()
        while not self.accept("}"):
            word = self.peek()
            if self.accept("{"):
                found.items.append(self.scope())
            elif self.directive() or self.accept(";"):
                continue
            elif self.peek(1) == ":":
                label = self.next()
                self.expect(":")
                if self.accept(".branchtargets"):
                    found.items.append(BranchTargets(label.text, self.names(";")))
                else:
                    found.items.append(Label(label.text, label.line))
            elif word in _SPACES or word in _LINKAGE:
                self.declaration(found)
            else:
                found.items.append(self.instruction())
        return found

    def names(self, end: str) -> tuple[str, ...]:
        found: list[str] = []
        while not self.accept(end):
            found.append(self.next().text)
            self.accept(",")
        return tuple(found)

    def instruction(self) -> Instruction | Call:
        line = self.line
        guard: Register | Inverted | None = None
        if self.accept("@"):
            inverted = self.accept("!")
            predicate = Register(self.next().text)
            guard = Inverted(predicate) if inverted else predicate
        word = self.next()
        if re.fullmatch(r"[a-z][a-z0-9_]*(?:(?:\.|::)[A-Za-z0-9_]+)*", word.text) is None:
            raise PtxError(f"'{word.text}' is no instruction", word.line)
        opcode = tuple(word.text.split("."))
        if opcode[0] == "call":
            return self.call(line, guard)
        operands: list[Operand] = []
        while not self.accept(";"):
            operands.append(self.operand())
            if self.peek() != ";":
                self.expect(",")
        return Instruction(opcode, tuple(operands), line, self.location, guard)

    def call(self, line: int, guard: Register | Inverted | None) -> Call:
        results: Sequence[str] = ()
        if self.accept("("):
            results = self.names(")")
            self.expect(",")
        function = self.next()
        if function.text.startswith("%"):
            raise PtxError("a call through a function pointer is not supported", function.line)
        arguments: Sequence[str] = ()
        if self.accept(","):
            self.expect("(")
            arguments = self.names(")")
        self.expect(";")
        return Call(tuple(results), function.text, tuple(arguments), line, self.location, guard)

    def operand(self) -> Operand:
        if self.accept("!"):
            return Inverted(self.operand())
        if self.accept("{"):
            parts: list[Operand] = []
            while not self.accept("}"):
                parts.append(self.operand())
                self.accept(",")
            return Vector(tuple(parts))
        if self.accept("["):
            return self.address()
        found = self.simple()
        if self.accept("|"):
            return Pair(found, self.simple())
        return found

    def simple(self) -> Register | Special | Immediate | Symbol:
        negative = self.accept("-")
        token = self.next()
        text = token.text
        if (match := re.fullmatch(r"0[fF]([0-9A-Fa-f]{8})|0[dD]([0-9A-Fa-f]{16})", text)) is not None:
            bits = 32 if match[1] else 64
            value = int(match[1] or match[2], 16)
            return Immediate(value ^ (1 << (bits - 1)) if negative else value, bits)
        if text[0].isdigit():
            value = _integer(token)
            return Immediate(-value if negative else value)
        if negative:
            raise PtxError(f"'-{text}' is no operand", token.line)
        if text == "WARP_SZ":
            return Immediate(32)
        if text.startswith("%"):
            return Special(text) if _SPECIAL.fullmatch(text) else Register(text)
        if re.fullmatch(r"[A-Za-z_$][\w$]*", text) is None:
            raise PtxError(f"'{text}' is no operand", token.line)
        return Symbol(text, self.distance())

    def distance(self) -> int:
        if self.peek() not in ("+", "-") or not self.peek(1)[:1].isdigit():
            if self.peek() == "+" and self.peek(1) == "-":
                self.next()
                self.next()
                return -_integer(self.next())
            return 0
        sign = -1 if self.next().text == "-" else 1
        return sign * _integer(self.next())

    def address(self) -> Operand:
        base = self.simple()
        if isinstance(base, Special):
            raise PtxError(f"'{base.name}' is no address", self.line)
        offset = self.distance()
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset + offset
        coordinates: tuple[Operand, ...] = ()
        if self.accept(","):
            inner = self.operand()
            coordinates = inner.parts if isinstance(inner, Vector) else (inner,)
        if not self.accept("]"):
            raise PtxError(
                f"an address with more parts than a base and a distance ('{self.peek()}')", self.line
            )
        return Address(base, offset, coordinates)


def parse_ptx(text: str) -> Module:
    """The module that a PTX text describes. Raises PtxError."""
    return _Parser(text).parse()
