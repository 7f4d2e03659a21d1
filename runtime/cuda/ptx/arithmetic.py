"""PTX instructions that compute on registers: integers, floats of all widths, bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .context import SIZES, TYPES, Context, Opcode, is_float
from .syntax import Instruction, Operand, PtxError

Handler: TypeAlias = Callable[[Context, Instruction], str]

_INTEGERS = tuple(f"{sign}{bits}" for sign in "su" for bits in (16, 32, 64))
_BITS = ("b16", "b32", "b64")
_FLOATS = ("f16", "bf16", "f32", "f64")
_PACKED = {"f16x2": "Half", "bf16x2": "Bfloat"}


def _operands(instruction: Instruction, *counts: int) -> Sequence[Operand]:
    if len(instruction.operands) not in counts:
        raise PtxError(
            f"'{instruction.text}' does not have {len(instruction.operands)} operands", instruction.line
        )
    return instruction.operands


def flushed(value: str, ftz: bool) -> str:
    """A value as an instruction with `.ftz` takes and gives it."""
    return f"flush({value})" if ftz else value


def _unsigned(kind: str) -> str:
    return f"u{kind[1:]}"


def _apply(
    context: Context,
    instruction: Instruction,
    kind: str,
    function: str,
    inputs: int,
    *,
    saturate: bool = False,
) -> str:
    """`d = function(a, b, ...)` on values of one type, on both halves of a word for a packed type."""
    operands = _operands(instruction, inputs + 1)
    values = [context.read(each, kind, instruction.line) for each in operands[1:]]
    ftz = instruction.has("ftz")
    if kind in _PACKED:
        narrow = _PACKED[kind]
        names = "abcd"[:inputs]
        body = f"{function}({', '.join(flushed(name, ftz) for name in names)})"
        body = flushed(f"saturate({body})" if saturate else body, ftz)
        parameters = ", ".join(f"{narrow} {name}" for name in names)
        expression = f"packed<{narrow}>([]({parameters}) {{ return {body}; }}, {', '.join(values)})"
    else:
        expression = f"{function}<{TYPES[kind]}>({', '.join(flushed(value, ftz) for value in values)})"
        expression = flushed(f"saturate({expression})" if saturate else expression, ftz)
    return context.write(operands[0], kind, expression, instruction.line)


def _float_type(opcode: Opcode, *extra: str) -> str:
    """The type of an instruction on floats; rounding to nearest is what the CPU does."""
    kind = opcode.type(*_FLOATS, *_PACKED, *extra)
    opcode.take("rn")
    opcode.take("ftz")
    return kind


def _add_sub(function: str) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = _float_type(opcode, *_INTEGERS)
        integer = kind in _INTEGERS
        if opcode.take("cc"):
            return _carry(context, instruction, opcode, kind, f"{_CARRY[function]}", "false")
        # Towards zero, as log1p adds 1.
        to_zero = kind == "f32" and function == "add" and opcode.take("rz")
        opcode.take("ftz")
        saturate = opcode.take("sat")
        if saturate and integer:
            raise opcode.unsupported("its '.sat'")
        opcode.done()
        name = "add_to_zero" if to_zero else function
        return _apply(context, instruction, kind, name, 2, saturate=saturate)

    return handle


_CARRY = {"add": "add_carry", "sub": "sub_borrow"}


def _carry(
    context: Context, instruction: Instruction, opcode: Opcode, kind: str, function: str, carry: str
) -> str:
    opcode.done()
    target, *inputs = _operands(instruction, 3)
    kind = _unsigned(kind)
    values = ", ".join(context.read(each, kind, instruction.line) for each in inputs)
    context.used["carry"] = "pred"
    expression = f"{function}<{TYPES[kind]}>({values}, {carry}, carry)"
    return context.write(target, kind, expression, instruction.line)


def _with_carry(function: str) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type(*_INTEGERS)
        opcode.take("cc")
        return _carry(context, instruction, opcode, kind, _CARRY[function], "carry")

    return handle


def _multiply(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = _float_type(opcode, *_INTEGERS)
    if kind not in _INTEGERS:
        saturate = opcode.take("sat")
        opcode.done()
        return _apply(context, instruction, kind, "mul", 2, saturate=saturate)
    return _integer_product(context, instruction, opcode, kind, added=False)


def _multiply_add(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("f32", "f64", *_INTEGERS)
    if is_float(kind):
        opcode.take("rn")
        opcode.take("ftz")
        opcode.done()
        return _apply(context, instruction, kind, "fma", 3)
    return _integer_product(context, instruction, opcode, kind, added=True)


def _integer_product(
    context: Context, instruction: Instruction, opcode: Opcode, kind: str, *, added: bool
) -> str:
    part = opcode.choice("lo", "hi", "wide")
    opcode.done()
    if part is None or (part == "wide" and SIZES[kind] == 8):
        raise opcode.unsupported()
    target, a, b, *c = _operands(instruction, 4 if added else 3)
    line = instruction.line
    function = {"lo": "mul_low", "hi": "mul_high", "wide": "mul_wide"}[part]
    wide = f"{kind[0]}{16 * SIZES[kind]}" if part == "wide" else kind
    value = f"{function}<{TYPES[kind]}>({context.read(a, kind, line)}, {context.read(b, kind, line)})"
    if c:
        value = f"add<{TYPES[wide]}>({value}, {context.read(c[0], wide, line)})"
    return context.write(target, wide, value, line)


def _product24(added: bool) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type("s32", "u32")
        if not opcode.take("lo"):
            raise opcode.unsupported()
        opcode.done()
        target, a, b, *c = _operands(instruction, 4 if added else 3)
        values = ", ".join(context.read(each, kind, instruction.line) for each in (a, b))
        value = f"mul24<{TYPES[kind]}>({values})"
        if c:
            value = f"add<{TYPES[kind]}>({value}, {context.read(c[0], kind, instruction.line)})"
        return context.write(target, kind, value, instruction.line)

    return handle


def _fma(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = _float_type(opcode)
    # Towards minus infinity, as exp finds a whole number with.
    down = kind == "f32" and opcode.take("rm")
    opcode.take("ftz")
    saturate = opcode.take("sat")
    relu = opcode.take("relu")
    opcode.done()
    if relu:
        raise opcode.unsupported("its '.relu'")
    if down:
        return _apply(context, instruction, kind, "fma_down", 3, saturate=saturate)
    return _apply(context, instruction, kind, "fma", 3, saturate=saturate)


def _divide(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("f32", "f64", *_INTEGERS)
    if is_float(kind):
        opcode.take("rn", "approx", "full")
        opcode.take("ftz")
    opcode.done()
    return _apply(context, instruction, kind, "divide", 2)


def _min_max(function: str) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = _float_type(opcode, *_INTEGERS)
        propagate = opcode.take("NaN")
        opcode.done()
        if propagate:
            most = "true" if function == "maximum" else "false"
            narrow = _PACKED.get(kind, TYPES[kind])
            operands = _operands(instruction, 3)
            a, b = (context.read(each, kind, instruction.line) for each in operands[1:])
            values = ", ".join(flushed(name, instruction.has("ftz")) for name in "ab")
            both = f"[]({narrow} a, {narrow} b) {{ return extreme<{most}, true>({values}); }}"
            value = f"packed<{narrow}>({both}, {a}, {b})" if kind in _PACKED else f"{both}({a}, {b})"
            return context.write(operands[0], kind, value, instruction.line)
        return _apply(context, instruction, kind, function, 2)

    return handle


def _unary(function: str, *kinds: str, modifiers: Sequence[str] = ()) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type(*kinds)
        for modifier in modifiers:
            opcode.take(modifier)
        opcode.done()
        return _apply(context, instruction, kind, function, 1)

    return handle


def _binary(function: str, *kinds: str) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type(*kinds)
        opcode.done()
        return _apply(context, instruction, kind, function, 2)

    return handle


def _sign(function: str) -> Handler:
    return _unary(function, "s16", "s32", "s64", *_FLOATS, *_PACKED, modifiers=("ftz",))


def _logic(operator: str) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type("pred", *_BITS)
        opcode.done()
        target, a, b = _operands(instruction, 3)
        line = instruction.line
        value = f"({context.read(a, kind, line)} {operator} {context.read(b, kind, line)})"
        return context.write(target, kind, f"static_cast<{TYPES[kind]}>{value}", line)

    return handle


def _not(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("pred", *_BITS)
    opcode.done()
    target, a = _operands(instruction, 2)
    operator = "!" if kind == "pred" else "~"
    value = f"static_cast<{TYPES[kind]}>({operator}{context.read(a, kind, instruction.line)})"
    return context.write(target, kind, value, instruction.line)


def _cnot(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type(*_BITS)
    opcode.done()
    target, a = _operands(instruction, 2)
    value = f"static_cast<{TYPES[kind]}>({context.read(a, kind, instruction.line)} == 0)"
    return context.write(target, kind, value, instruction.line)


def _shift(function: str, *kinds: str) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type(*kinds)
        opcode.done()
        target, a, by = _operands(instruction, 3)
        line = instruction.line
        value = f"{function}<{TYPES[kind]}>({context.read(a, kind, line)}, {context.read(by, 'u32', line)})"
        return context.write(target, kind, value, line)

    return handle


def _mixed(function: str, inputs: Sequence[str], output: str, *kinds: str) -> Handler:
    """A function of operands whose types are given (`T`: the instruction's own), and a result of another."""

    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type(*kinds)
        opcode.done()
        target, *operands = _operands(instruction, len(inputs) + 1)
        values = ", ".join(
            context.read(each, kind if own == "T" else own, instruction.line)
            for each, own in zip(operands, inputs, strict=True)
        )
        result = kind if output == "T" else output
        return context.write(target, result, f"{function}({values})", instruction.line)

    return handle


def _bfind(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("u32", "u64", "s32", "s64")
    amount = "true" if opcode.take("shiftamt") else "false"
    opcode.done()
    target, a = _operands(instruction, 2)
    value = f"find_highest<{TYPES[kind]}>({context.read(a, kind, instruction.line)}, {amount})"
    return context.write(target, "u32", value, instruction.line)


def _funnel(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    opcode.type("b32")
    direction, mode = opcode.choice("l", "r"), opcode.choice("clamp", "wrap")
    opcode.done()
    if direction is None or mode is None:
        raise opcode.unsupported()
    target, *inputs = _operands(instruction, 4)
    values = ", ".join(context.read(each, "u32", instruction.line) for each in inputs)
    left, clamp = str(direction == "l").lower(), str(mode == "clamp").lower()
    return context.write(target, "u32", f"funnel({values}, {left}, {clamp})", instruction.line)


def _dot(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    b_kind, a_kind = opcode.type("u32", "s32"), opcode.type("u32", "s32")
    opcode.done()
    target, a, b, c = _operands(instruction, 4)
    result = "s32" if "s32" in (a_kind, b_kind) else "u32"
    bytes_of = {"s32": "int8_t", "u32": "uint8_t"}
    line = instruction.line
    words = f"{context.read(a, 'u32', line)}, {context.read(b, 'u32', line)}, {context.read(c, result, line)}"
    value = f"dot_bytes<{bytes_of[a_kind]}, {bytes_of[b_kind]}, {TYPES[result]}>({words})"
    return context.write(target, result, value, line)


def _approximate(function: str, *kinds: str) -> Handler:
    return _unary(function, *kinds, modifiers=("approx", "rn", "ftz"))


HANDLERS: dict[str, Handler] = {
    "add": _add_sub("add"),
    "sub": _add_sub("sub"),
    "addc": _with_carry("add"),
    "subc": _with_carry("sub"),
    "mul": _multiply,
    "mad": _multiply_add,
    "mul24": _product24(added=False),
    "mad24": _product24(added=True),
    "fma": _fma,
    "div": _divide,
    "rem": _binary("remainder", *_INTEGERS),
    "min": _min_max("minimum"),
    "max": _min_max("maximum"),
    "neg": _sign("negate"),
    "abs": _sign("absolute"),
    "copysign": _binary("copysign_of", "f32", "f64"),
    "sad": _mixed("sum_of_differences", ["T", "T", "T"], "T", "u32", "s32"),
    "and": _logic("&"),
    "or": _logic("|"),
    "xor": _logic("^"),
    "not": _not,
    "cnot": _cnot,
    "shl": _shift("shift_left", *_BITS),
    "shr": _shift("shift_right", *_BITS, *_INTEGERS),
    "shf": _funnel,
    "lop3": _mixed("logic3", ["u32", "u32", "u32", "u32"], "u32", "b32"),
    "prmt": _mixed("permute_bytes", ["u32", "u32", "u32"], "u32", "b32"),
    "bfe": _mixed("extract_bits", ["T", "u32", "u32"], "T", "u32", "u64", "s32", "s64"),
    "bfi": _mixed("insert_bits", ["T", "T", "u32", "u32"], "T", "b32", "b64"),
    "popc": _mixed("__builtin_popcountll", ["T"], "s32", "b32", "b64"),
    "clz": _mixed("leading_zeros", ["T"], "u32", "b32", "b64"),
    "brev": _mixed("reverse_bits", ["T"], "T", "b32", "b64"),
    "bfind": _bfind,
    "dp4a": _dot,
    "ex2": _approximate("exp2_of", "f32", "f16", "bf16", *_PACKED),
    "tanh": _approximate("tanh_of", "f32", "f16", "bf16", *_PACKED),
    "lg2": _approximate("log2_of", "f32"),
    "sin": _approximate("sin_of", "f32"),
    "cos": _approximate("cos_of", "f32"),
    "sqrt": _approximate("square_root", "f32", "f64"),
    "rcp": _approximate("reciprocal", "f32", "f64"),
    "rsqrt": _approximate("reciprocal_root", "f32", "f64"),
}
