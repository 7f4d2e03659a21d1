"""PTX instructions that compare, select and convert."""

from __future__ import annotations

from .arithmetic import Handler, flushed
from .context import SIZES, TYPES, Context, Opcode, is_float
from .syntax import Instruction, Operand, PtxError

_ORDERED = {"eq": "==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNSIGNED = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_COMPARISONS = (*_ORDERED, "ne", *_UNSIGNED, *(f"{name}u" for name in (*_ORDERED, "ne")), "num", "nan")
_KINDS = tuple(
    kind
    for kind in TYPES
    if kind not in ("pred", "f16x2", "bf16x2") and not kind.endswith(("s8", "u8", "b8"))
)
_BOOLEAN = {"and": "&&", "or": "||", "xor": "!="}


def _compared(opcode: Opcode, comparison: str, kind: str, a: str, b: str) -> str:
    """A comparison as a C++ expression of type bool."""
    if not is_float(kind):
        operator = {**_ORDERED, **_UNSIGNED, "ne": "!="}.get(comparison)
        if operator is None:
            raise opcode.unsupported()
        return f"({a} {operator} {b})"
    ftz = opcode.instruction.has("ftz")
    a, b = f"widen({flushed(a, ftz)})", f"widen({flushed(b, ftz)})"
    if comparison in _ORDERED:
        return f"({a} {_ORDERED[comparison]} {b})"
    opposite = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}
    if comparison in opposite:
        return f"!({a} {opposite[comparison]} {b})"
    special = {
        "ne": f"less_or_greater({a}, {b})",
        "equ": f"!less_or_greater({a}, {b})",
        "neu": f"({a} != {b})",
        "num": f"!(is_nan({a}) || is_nan({b}))",
        "nan": f"(is_nan({a}) || is_nan({b}))",
    }
    if comparison not in special:
        raise opcode.unsupported()
    return special[comparison]


def _setp(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type(*_KINDS)
    comparison, boolean = opcode.choice(*_COMPARISONS), opcode.choice(*_BOOLEAN)
    opcode.take("ftz")
    opcode.done()
    if comparison is None or len(instruction.operands) != (4 if boolean else 3):
        raise opcode.unsupported()
    line = instruction.line
    target, a, b, *extra = instruction.operands
    result = _compared(opcode, comparison, kind, context.read(a, kind, line), context.read(b, kind, line))
    first, second = context.results(target, line)
    if second is None and not extra:
        return context.write(first, "pred", result, line)
    also = f" {_BOOLEAN[boolean]} {context.read(extra[0], 'pred', line)}" if boolean else ""
    statements = context.write(first, "pred", f"(compared{also})", line)
    if second is not None:
        statements += " " + context.write(second, "pred", f"(!compared{also})", line)
    return f"{{ const bool compared = {result}; {statements} }}"


def _set(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type(*_KINDS)
    result = opcode.type("u16", "s16", "u32", "s32", "f16", "bf16", "f32")
    comparison = opcode.choice(*_COMPARISONS)
    opcode.take("ftz")
    opcode.done()
    if comparison is None or len(instruction.operands) != 3:
        raise opcode.unsupported()
    line = instruction.line
    target, a, b = instruction.operands
    test = _compared(opcode, comparison, kind, context.read(a, kind, line), context.read(b, kind, line))
    cpp = TYPES[result]
    both = f"narrow<{cpp}>({test} ? 1.0f : 0.0f)" if is_float(result) else f"static_cast<{cpp}>(-{test})"
    return context.write(target, result, both, line)


def _selection(context: Context, opcode: Opcode, kind: str) -> tuple[Operand, str, Operand]:
    """The target of a selection, its two values as `a : b`, and the operand that chooses."""
    instruction = opcode.instruction
    if len(instruction.operands) != 4:
        raise opcode.unsupported()
    target, a, b, chosen = instruction.operands
    line = instruction.line
    return target, f"{context.read(a, kind, line)} : {context.read(b, kind, line)}", chosen


def _selp(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type(*_KINDS)
    opcode.done()
    line = instruction.line
    target, values, chosen = _selection(context, opcode, kind)
    return context.write(target, kind, f"({context.read(chosen, 'pred', line)} ? {values})", line)


def _slct(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    by, kind = opcode.type("s32", "f32"), opcode.type(*_KINDS)
    opcode.take("ftz")
    opcode.done()
    line = instruction.line
    target, values, chosen = _selection(context, opcode, kind)
    sign = flushed(context.read(chosen, by, line), instruction.has("ftz"))
    return context.write(target, kind, f"({sign} >= 0 ? {values})", line)


def _testp(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("f32", "f64")
    tests = {
        "finite": "__builtin_isfinite({0})",
        "infinite": "__builtin_isinf({0})",
        "number": "!__builtin_isnan({0})",
        "notanumber": "__builtin_isnan({0})",
        "normal": "__builtin_isnormal({0})",
    }
    test = opcode.choice(*tests)
    opcode.done()
    if test is None or len(instruction.operands) != 2:
        raise opcode.unsupported()
    value = tests[test].format(context.read(instruction.operands[1], kind, instruction.line))
    return context.write(instruction.operands[0], "pred", f"static_cast<bool>({value})", instruction.line)


_ROUNDINGS = {"rni": "TO_NEAREST", "rzi": "TO_ZERO", "rmi": "DOWN", "rpi": "UP"}


def _cvt(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    line = instruction.line
    if instruction.opcode[-2:] == ("tf32", "f32"):
        return _cvt_tf32(context, instruction, opcode)
    source = opcode.type(*(kind for kind in TYPES if kind not in ("pred", "f16x2", "bf16x2")))
    target = opcode.type(*(kind for kind in TYPES if kind != "pred"))
    ftz = opcode.take("ftz")
    saturate = opcode.take("sat")
    whole = opcode.choice(*_ROUNDINGS)
    rounding = opcode.choice("rn", "rz", "rm", "rp")
    opcode.done()
    if target in ("f16x2", "bf16x2"):
        if source != "f32" or rounding != "rn" or saturate or len(instruction.operands) != 3:
            raise opcode.unsupported()
        kind = {"f16x2": "Half", "bf16x2": "Bfloat"}[target]
        high, low = (
            f"narrow<{kind}>({flushed(context.read(each, 'f32', line), ftz)}).bits"
            for each in instruction.operands[1:]
        )
        return context.write(
            instruction.operands[0], "u32", f"(static_cast<uint32_t>({high}) << 16 | {low})", line
        )
    if len(instruction.operands) != 2:
        raise opcode.unsupported()
    value = flushed(context.read(instruction.operands[1], source, line), ftz and source == "f32")
    # Only what rounds to nearest, or does not round, is what the CPU does by itself.
    exact = is_float(target) and SIZES[target] > SIZES[source] and is_float(source)
    if rounding not in (None, "rn") and not exact:
        raise opcode.unsupported(f"its rounding '.{rounding}'")
    cpp = TYPES[target]
    if is_float(source) and is_float(target):
        if source == "f64" and target in ("f16", "bf16"):
            raise opcode.unsupported()
        if whole is not None:
            value = f"narrow<{TYPES[source]}>(rounded(widen({value}), {_ROUNDINGS[whole]}))"
        result = f"convert<{cpp}>({value})"
        result = f"saturate({result})" if saturate else result
        result = flushed(result, ftz and target == "f32")
    elif is_float(source):
        if whole is None:
            raise opcode.unsupported("a missing rounding")
        result = f"to_integer<{cpp}>({value}, {_ROUNDINGS[whole]})"
    elif is_float(target):
        result = f"convert<{cpp}>({value})"
    elif whole is not None:
        raise opcode.unsupported()
    else:
        result = f"{'clamp_integer' if saturate else 'convert'}<{cpp}>({value})"
    return context.write(instruction.operands[0], target, result, line)


def _cvt_tf32(context: Context, instruction: Instruction, opcode: Opcode) -> str:
    if instruction.opcode != ("cvt", "rna", "tf32", "f32") or len(instruction.operands) != 2:
        raise opcode.unsupported()
    value = f"bb_emu_round_tf32({context.read(instruction.operands[1], 'b32', instruction.line)})"
    return context.write(instruction.operands[0], "b32", value, instruction.line)


def _mov(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("pred", *_KINDS)
    opcode.done()
    if len(instruction.operands) != 2:
        raise PtxError("'mov' has two operands", instruction.line)
    target, source = instruction.operands
    return context.write(target, kind, context.read(source, kind, instruction.line), instruction.line)


HANDLERS: dict[str, Handler] = {
    "setp": _setp,
    "set": _set,
    "selp": _selp,
    "slct": _slct,
    "testp": _testp,
    "cvt": _cvt,
    "mov": _mov,
}
