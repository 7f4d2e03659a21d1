"""A PTX module into C++ on the emulator's hooks: a statement for each instruction, in the same order.

Nothing is reordered, joined or left out, so what runs is what NVRTC made. Registers become local variables,
inner scopes blocks, labels labels; `bb/cuda_emulator/ptx.hpp` has what single instructions compute.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import arithmetic, comparison, memory, warps
from .arithmetic import Handler
from .context import SIZES, TYPES, Context, Declared, Names, mangled
from .syntax import (
    BranchTargets,
    Call,
    Function,
    Instruction,
    Label,
    Module,
    PtxError,
    Registers,
    Scope,
    Symbol,
    Variable,
    mentions,
)

_HANDLERS: dict[str, Handler] = {
    **arithmetic.HANDLERS,
    **comparison.HANDLERS,
    **memory.HANDLERS,
    **warps.HANDLERS,
}
_OF_SM_90A = ("wgmma", "setmaxnreg")
_DYNAMIC = "bb_emu_dynamic_shared"
_SHARED_LIMIT = 1 << 20


@dataclass(frozen=True)
class Translation:
    """C++ for a module; `kernels` are the names of its kernels, `files` what file numbers of sites mean.

    `variables` are the C++ names of its global and constant variables, by their names in PTX.
    """

    source: str
    kernels: tuple[str, ...]
    files: tuple[str, ...]
    variables: dict[str, str]


def _size(variable: Variable) -> int:
    return SIZES.get(variable.type, 0) * (variable.count or 0)


class _Translator:
    def __init__(self, module: Module, main_file: str):
        self.module = module
        self.parts: list[str] = []
        self.symbols: dict[str, str] = {}
        self.globals = Names()
        self.labels: set[str] = set()
        self.variables: dict[str, str] = {}
        self.scopes = 0
        # Number 0 is the kernel's own file, whatever NVRTC called it.
        others = [path for path in module.files.values() if path not in (main_file, f"/{main_file}")]
        self.files = (main_file, *others)
        self.file_numbers = {
            number: self.files.index(path) if path in others else 0 for number, path in module.files.items()
        }

    def translate(self) -> Translation:
        for variable in self.module.variables:
            self.parts.append(self.static_variable(variable, self.globals, ""))
        defined = [function for function in self.module.functions if function.body is not None]
        self.parts.extend(f"{self.signature(function)};" for function in defined)
        self.parts.extend(self.function(function) for function in defined)
        kernels = [function for function in defined if function.is_kernel]
        self.parts.append(self.table(kernels))
        text = "\n".join(
            ["#include <bb/cuda_emulator/ptx.hpp>", "", "using namespace bb_ptx;", "", *self.parts]
        )
        return Translation(text + "\n", tuple(kernel.name for kernel in kernels), self.files, self.variables)

    # -- variables

    def static_variable(self, variable: Variable, names: Names, prefix: str) -> str:
        """The C++ definition of a variable that lives as long as the program."""
        name = f"{variable.space}_{prefix}{mangled(variable.name)}"
        if variable.type not in TYPES:
            raise PtxError(f"the variable '{variable.name}' has the type '.{variable.type}', not supported")
        names.memory[variable.name] = variable.space
        self.symbols[variable.name] = name
        aligned = f"alignas({max(variable.align, SIZES[variable.type])})"
        if variable.space == "shared":
            if variable.count is None:
                self.symbols[variable.name] = _DYNAMIC
                return f"// {name} is the dynamic shared memory"
            if _size(variable) > _SHARED_LIMIT:
                raise PtxError(f"the shared variable '{variable.name}' has {_size(variable)} bytes")
            size = max(_size(variable), 1)
            # Under the name that the source gave it, by which messages call it.
            known = variable.name if re.fullmatch(r"_ZZ\w+", variable.name, re.ASCII) else ""
            label = f' asm("{known}")' if known and known not in self.labels else ""
            self.labels.add(known)
            return f"{aligned} constinit thread_local unsigned char {name}[{size}]{label};"
        if variable.space not in ("global", "const"):
            raise PtxError(f"the variable '{variable.name}' in '.{variable.space}' is not supported")
        if variable.count is None:
            raise PtxError(f"the variable '{variable.name}' has no size: it is defined elsewhere")
        kind = f"uint{8 * SIZES[variable.type]}_t"
        values = ", ".join(self.value(value, kind) for value in variable.values)
        # Not static, nor C++'s own name: Python reads and writes it by its symbol.
        self.variables[variable.name] = name
        return f'extern "C" {{ extern {kind} {name}[{variable.count}]; }}\n' + (
            f"{aligned} {kind} {name}[{variable.count}] = {{{values}}};"
        )

    def value(self, value: int | str, kind: str) -> str:
        if isinstance(value, int):
            return f"static_cast<{kind}>({value & (2**64 - 1):#x}ull)"
        if value not in self.symbols:
            raise PtxError(f"the initial value '{value}' is not declared before it is used")
        return f"reinterpret_cast<uint64_t>({self.symbols[value]})"

    # -- functions

    def signature(self, function: Function) -> str:
        if function.is_kernel:
            return f"static void kernel_{mangled(function.name)}(void** arguments)"
        names = [
            f"unsigned char* {self.parameter(each)}" for each in (*function.results, *function.parameters)
        ]
        return f"static void function_{mangled(function.name)}({', '.join(names)})"

    @staticmethod
    def parameter(variable: Variable) -> str:
        return f"param_{mangled(variable.name)}"

    def function(self, function: Function) -> str:
        names = Names(self.globals)
        assert function.body is not None
        own = Context(names, self.symbols, self.file_numbers, mentions(function.body))
        start = [
            "  const uint64_t window = reinterpret_cast<uint64_t>(bb_emu_shared_window());",
            "  (void)window;",
        ]
        for index, variable in enumerate((*function.results, *function.parameters)):
            name = self.parameter(variable)
            names.memory[variable.name] = "param"
            self.symbols[variable.name] = name
            if function.is_kernel:
                start.append(f"  auto* const {name} = static_cast<unsigned char*>(arguments[{index}]);")
            start.append(f"  (void){name};")
        body = self.scope(function.body, own, function, outermost=True)
        registers = [f"  {TYPES[kind]} {name}{{}};" for name, kind in own.used.items()]
        return "\n".join(["", f"{self.signature(function)} {{", *start, *registers, *body, "}"])

    def scope(self, scope: Scope, context: Context, function: Function, *, outermost: bool) -> list[str]:
        self.scopes += 1
        number = self.scopes
        names = context.names if outermost else Names(context.names)
        inner = Context(names, context.symbols, context.files, context.mentioned)
        inner.used = context.used
        for item in scope.items:
            if isinstance(item, Label):
                names.labels[item.name] = f"label{number}_{mangled(item.name)}"
            elif isinstance(item, BranchTargets):
                names.tables[item.name] = item.targets
        lines: list[str] = []
        for item in scope.items:
            match item:
                case Registers(kind, name, count):
                    if kind not in TYPES:
                        raise PtxError(f"registers of type '.{kind}' are not supported", function.line)
                    stem = f"r{number}_{mangled(name.removeprefix('%'))}"
                    names.registers[name] = Declared(f"{stem}_" if count is not None else stem, kind, count)
                case Variable():
                    lines.append(self.local_variable(item, names, number))
                case Label(name, _):
                    lines.append(f"{names.labels[name]}:;")
                case BranchTargets():
                    pass
                case Scope():
                    lines += ["{", *self.scope(item, inner, function, outermost=False), "}"]
                case Call():
                    lines.append(self.guarded(inner, item, self.call(item, inner)))
                case Instruction():
                    lines.append(self.guarded(inner, item, self.instruction(item, inner)))
        return lines

    def local_variable(self, variable: Variable, names: Names, scope: int) -> str:
        if variable.space not in ("local", "param"):
            # Shared variables of a kernel are its block's, and in CUDA a name stands for one of them.
            self.parts.append(self.static_variable(variable, names, f"{scope}_"))
            return ""
        if variable.type not in TYPES or variable.count is None:
            raise PtxError(f"the variable '{variable.name}' is not supported")
        name = f"{variable.space}{scope}_{mangled(variable.name)}"
        names.memory[variable.name] = variable.space
        self.symbols[variable.name] = name
        align = max(variable.align, SIZES[variable.type])
        return f"alignas({align}) unsigned char {name}[{max(_size(variable), 1)}];"

    @staticmethod
    def guarded(context: Context, item: Instruction | Call, statement: str) -> str:
        if item.guard is None:
            return statement
        condition = context.read(item.guard, "pred", item.line)
        return f"if ({condition}) {{ {statement} }}"

    # -- statements

    def instruction(self, instruction: Instruction, context: Context) -> str:
        name = instruction.opcode[0]
        if name in ("bra", "brx"):
            return self.branch(instruction, context)
        if name == "ret" and instruction.opcode[1:] in ((), ("uni",)):
            return "return;"
        if name == "exit":
            return "bb_emu_thread_exit();"
        if name in ("trap", "brkpt"):
            return f'bb_emu_trap("{name}", {context.site(instruction)});'
        handler = _HANDLERS.get(name)
        if handler is None:
            raise PtxError(f"the instruction '{instruction.text}' is not supported", instruction.line)
        if name in _OF_SM_90A and "sm_90a" not in self.module.target:
            raise PtxError(f"'{instruction.text}' needs the architecture sm_90a", instruction.line)
        try:
            return handler(context, instruction)
        except (ValueError, IndexError):
            raise PtxError(
                f"the operands of '{instruction.text}' are not those that it takes", instruction.line
            ) from None

    @staticmethod
    def target(name: str, context: Context, line: int) -> str:
        label = context.names.label(name)
        if label is None:
            raise PtxError(f"there is no label '{name}'", line)
        return label

    def branch(self, instruction: Instruction, context: Context) -> str:
        line = instruction.line
        if instruction.opcode[0] == "bra":
            (operand,) = instruction.operands
            if not isinstance(operand, Symbol) or instruction.opcode[1:] not in ((), ("uni",)):
                raise PtxError(f"'{instruction.text}' without a label is not supported", line)
            return f"goto {self.target(operand.name, context, line)};"
        index, table = instruction.operands
        targets = context.names.table(table.name) if isinstance(table, Symbol) else None
        if targets is None:
            raise PtxError("an indexed branch needs the table of its targets", line)
        cases = " ".join(
            f"case {number}: goto {self.target(name, context, line)};" for number, name in enumerate(targets)
        )
        trap = f'default: bb_emu_trap("an indexed branch beyond its table", {context.site(instruction)});'
        return f"switch ({context.read(index, 'u32', line)}) {{ {cases} {trap} }}"

    def call(self, call: Call, context: Context) -> str:
        def storage(names: Sequence[str]) -> list[str]:
            for name in names:
                if context.names.variable(name) != "param":
                    raise PtxError(f"'{name}' is no parameter", call.line)
            return [self.symbols[name] for name in names]

        results, arguments = storage(call.results), storage(call.arguments)
        site = context.site_of(call.location.file, call.location.line)
        if call.function == "__assertfail" and len(arguments) == 5:
            return f"bb_emu_trap(load<const char*>(reinterpret_cast<uint64_t>({arguments[0]})), {site});"
        if call.function == "vprintf" and (len(results), len(arguments)) == (1, 2):
            # Where the format is, and what it speaks of in a row, as NVRTC puts it for printf.
            format_, values = (f"load<uint64_t>(reinterpret_cast<uint64_t>({each}))" for each in arguments)
            printed = f"print_formatted({format_}, {values}, {site})"
            return f"store<int32_t>(reinterpret_cast<uint64_t>({results[0]}), {printed});"
        known = {function.name: function for function in self.module.functions if not function.is_kernel}
        callee = known.get(call.function)
        if callee is None or callee.body is None:
            raise PtxError(f"the function '{call.function}' has no code here", call.line)
        if (len(results), len(arguments)) != (len(callee.results), len(callee.parameters)):
            raise PtxError(f"'{call.function}' is called with other arguments than it has", call.line)
        return f"function_{mangled(call.function)}({', '.join([*results, *arguments])});"

    # -- what the runtime reads

    def table(self, kernels: Sequence[Function]) -> str:
        lines: list[str] = [""]
        for kernel in kernels:
            sizes = ", ".join(f"{{{_size(each)}, {_pointer_flag(each)}}}" for each in kernel.parameters)
            if sizes:
                lines.append(f"static const BbEmuArgument arguments_{mangled(kernel.name)}[] = {{{sizes}}};")
        rows: list[str] = []
        for kernel in kernels:
            name = mangled(kernel.name)
            arguments = f"arguments_{name}" if kernel.parameters else "nullptr"
            rows.append(f'    {{"{kernel.name}", kernel_{name}, {arguments}, {len(kernel.parameters)}}},')
        if not rows:
            raise PtxError("the module has no kernel")
        lines += ['extern "C" const BbEmuKernel bb_emu_kernels[] = {', *rows, "};"]
        lines.append(f'extern "C" const uint32_t bb_emu_kernel_count = {len(kernels)};')
        return "\n".join(lines)


def _pointer_flag(variable: Variable) -> str:
    # PTX does not tell a pointer from a 64-bit number.
    return "BB_EMU_POINTER" if variable.type in ("u64", "b64") and not variable.is_array else "0"


def translate(module: Module, main_file: str) -> Translation:
    """C++ for a parsed module, whose own source is `main_file`. Raises PtxError."""
    return _Translator(module, main_file).translate()
