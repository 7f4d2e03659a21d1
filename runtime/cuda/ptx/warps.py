"""Collective PTX instructions: barriers, shuffles, matrix products, asynchronous copies."""

from __future__ import annotations

from .arithmetic import Handler
from .context import Context, Opcode
from .hopper import HANDLERS as HOPPER_HANDLERS
from .hopper import bulk_copy
from .memory import space_of
from .syntax import Address, Immediate, Instruction, Inverted, Operand, Register, Symbol, Vector

_SCOPES = ("cta", "cluster", "gpu", "sys")


def _barrier(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    line, site = instruction.line, context.site(instruction)
    operands = instruction.operands
    if opcode.take("warp"):
        if not opcode.take("sync") or len(operands) != 1:
            raise opcode.unsupported()
        opcode.done()
        return f"bb_emu_syncwarp({context.read(operands[0], 'u32', line)}, {site});"
    opcode.take("cta")
    opcode.take("aligned")
    if opcode.take("red"):
        return _barrier_reduction(context, instruction, opcode)
    arrives = opcode.choice("sync", "arrive")
    opcode.done()
    if arrives is None or len(operands) not in (1, 2) or (arrives == "arrive" and len(operands) == 1):
        raise opcode.unsupported()
    if operands == (Immediate(0),):
        return f"bb_emu_barrier({site});"
    threads = context.read(operands[1], "u32", line) if len(operands) == 2 else "0u"
    waits = "0" if arrives == "sync" else "1"
    return f"bb_emu_named_barrier({context.read(operands[0], 'u32', line)}, {threads}, {waits}, {site});"


def _barrier_reduction(context: Context, instruction: Instruction, opcode: Opcode) -> str:
    kinds = {"popc": "0", "and": "1", "or": "2"}
    operation = opcode.choice(*kinds)
    kind = opcode.choice("u32", "pred")
    opcode.done()
    # Only of the barrier of the whole block.
    if operation is None or len(instruction.operands) != 3 or instruction.operands[1] != Immediate(0):
        raise opcode.unsupported()
    target, _, predicate = instruction.operands
    given = context.read(predicate, "pred", instruction.line)
    value = f"bb_emu_barrier_reduce({kinds[operation]}, {given}, {context.site(instruction)})"
    if kind == "pred":
        return context.write(target, "pred", f"{value} != 0", instruction.line)
    return context.write(target, "u32", f"static_cast<uint32_t>({value})", instruction.line)


def _shuffle(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    opcode.type("b32")
    kinds = {"idx": "INDEX", "up": "UP", "down": "DOWN", "bfly": "XOR"}
    kind = opcode.choice(*kinds)
    if not opcode.take("sync") or kind is None or len(instruction.operands) != 5:
        raise opcode.unsupported()
    opcode.done()
    line = instruction.line
    target, *inputs = instruction.operands
    first, second = context.results(target, line)
    value, b, c, mask = (context.read(each, "u32", line) for each in inputs)
    flag = "&in_range" if second is not None else "nullptr"
    call = f"shuffle(BB_EMU_SHUFFLE_{kinds[kind]}, {value}, {b}, {c}, {mask}, {flag}"
    call = f"{call}, {context.site(instruction)})"
    if second is None:
        return context.write(first, "u32", call, line)
    moved = context.write(first, "u32", call, line)
    return f"{{ bool in_range; {moved} {context.write(second, 'pred', 'in_range', line)} }}"


def _vote(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    result = opcode.choice("pred", "b32")
    kinds = {"ballot": "BALLOT", "all": "ALL", "any": "ANY", "uni": "UNIFORM"}
    kind = opcode.choice(*kinds)
    if not opcode.take("sync") or kind is None or len(instruction.operands) != 3:
        raise opcode.unsupported()
    opcode.done()
    line = instruction.line
    target, predicate, mask = instruction.operands
    call = f"bb_emu_vote(BB_EMU_VOTE_{kinds[kind]}, {context.read(mask, 'u32', line)}"
    call = f"{call}, {context.read(predicate, 'pred', line)}, {context.site(instruction)})"
    if result == "b32":
        return context.write(target, "u32", call, line)
    return context.write(target, "pred", f"{call} != 0", line)


def _match(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("b32", "b64")
    which = opcode.choice("any", "all")
    if not opcode.take("sync") or which is None or len(instruction.operands) != 3:
        raise opcode.unsupported()
    opcode.done()
    line = instruction.line
    target, value, mask = instruction.operands
    first, second = context.results(target, line)
    call = f"bb_emu_match({int(which == 'all')}, {context.read(mask, 'u32', line)}"
    call = f"{call}, {context.read(value, kind, line)}, {context.site(instruction)})"
    if second is None:
        return context.write(first, "u32", call, line)
    also = context.write(second, "pred", "matched != 0", line)
    return f"{{ const uint32_t matched = {call}; {context.write(first, 'u32', 'matched', line)} {also} }}"


def _reduce(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("u32", "s32", "b32")
    kinds = {
        "add": "ADD",
        "min": "MIN_SIGNED" if kind == "s32" else "MIN_UNSIGNED",
        "max": "MAX_SIGNED" if kind == "s32" else "MAX_UNSIGNED",
        "and": "AND",
        "or": "OR",
        "xor": "XOR",
    }
    operation = opcode.choice(*kinds)
    if not opcode.take("sync") or operation is None or len(instruction.operands) != 3:
        raise opcode.unsupported()
    opcode.done()
    line = instruction.line
    target, value, mask = instruction.operands
    call = f"bb_emu_reduce(BB_EMU_REDUCE_{kinds[operation]}, {context.read(mask, 'u32', line)}"
    call = f"{call}, {context.read(value, 'u32', line)}, {context.site(instruction)})"
    return context.write(target, "u32", call, line)


def _activemask(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    opcode.type("b32")
    opcode.done()
    return context.write(instruction.operands[0], "u32", "bb_emu_activemask()", instruction.line)


# Shape, types of a and b, and the registers of a, b, and c as well as d.
_MMA = {
    ("m16n8k16", "bf16"): ("M16N8K16_BF16", 4, 2),
    ("m16n8k16", "f16"): ("M16N8K16_F16", 4, 2),
    ("m16n8k8", "tf32"): ("M16N8K8_TF32", 4, 2),
    ("m16n8k8", "bf16"): ("M16N8K8_BF16", 2, 1),
    ("m16n8k8", "f16"): ("M16N8K8_F16", 2, 1),
    ("m16n8k4", "tf32"): ("M16N8K4_TF32", 2, 1),
}


def _vector(operand: Operand, count: int, opcode: Opcode) -> tuple[Operand, ...]:
    parts = operand.parts if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise opcode.unsupported()
    return parts


def _mma(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    # mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    match instruction.opcode:
        case ("mma", "sync", "aligned", shape, "row", "col", "f32", kind, other, "f32") if kind == other:
            form = _MMA.get((shape, kind))
        case _:
            form = None
    if form is None or len(instruction.operands) != 4:
        raise opcode.unsupported()
    name, a_count, b_count = form
    d, a, b, c = (
        _vector(operand, count, opcode)
        for operand, count in zip(instruction.operands, (4, a_count, b_count, 4), strict=True)
    )
    line = instruction.line

    def values(operands: tuple[Operand, ...], kind: str) -> str:
        return ", ".join(context.read(each, kind, line) for each in operands)

    results = " ".join(context.write(each, "f32", f"d[{index}]", line) for index, each in enumerate(d))
    return (
        f"{{ float d[4]; const float c[4] = {{{values(c, 'f32')}}}; "
        f"const uint32_t a[4] = {{{values(a, 'b32')}}}, b[2] = {{{values(b, 'b32')}}}; "
        f"bb_emu_mma(BB_EMU_MMA_{name}, d, a, b, c, {context.site(instruction)}); {results} }}"
    )


def _matrix(load: bool) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        opcode.type("b16") if instruction.opcode[-1] == "b16" else None
        count = int((opcode.choice("x1", "x2", "x4") or "x0")[1:])
        transposed = int(opcode.take("trans"))
        known = opcode.take("sync") and opcode.take("aligned") and opcode.take("m8n8")
        space = space_of(opcode)
        if not known or count == 0 or space not in ("shared", "generic") or len(instruction.operands) != 2:
            raise opcode.unsupported()
        opcode.done()
        line = instruction.line
        place = instruction.operands[1 if load else 0]
        parts = _vector(instruction.operands[0 if load else 1], count, opcode)
        row = f"reinterpret_cast<void*>({context.address(place, space, line)})"
        if load:
            moved = " ".join(context.write(each, "b32", f"words[{i}]", line) for i, each in enumerate(parts))
            call = f"bb_emu_ldmatrix({count}, {transposed}, words, {row}, {context.site(instruction)})"
            return f"{{ uint32_t words[4]; {call}; {moved} }}"
        given = ", ".join(context.read(each, "b32", line) for each in parts)
        call = f"bb_emu_stmatrix({count}, {transposed}, words, {row}, {context.site(instruction)})"
        return f"{{ const uint32_t words[4] = {{{given}}}; {call}; }}"

    return handle


def _async_copy(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    if not opcode.take("async"):
        raise opcode.unsupported()
    if instruction.has("bulk"):
        return bulk_copy(context, instruction)
    line, operands = instruction.line, instruction.operands
    if opcode.take("commit_group"):
        opcode.done()
        return "bb_emu_cp_async_commit();"
    if opcode.take("wait_all"):
        opcode.done()
        return "bb_emu_cp_async_wait(~0u);"
    if opcode.take("wait_group"):
        opcode.done()
        return f"bb_emu_cp_async_wait({context.read(operands[0], 'u32', line)});"
    if opcode.take("mbarrier"):
        known = opcode.take("arrive") and opcode.take("noinc") and opcode.take("b64")
        space = space_of(opcode)
        opcode.done()
        if not known or len(operands) != 1:
            raise opcode.unsupported()
        barrier = context.address(operands[0], space, line)
        return f"bb_emu_cp_async_mbarrier_arrive({_pointer(barrier)}, {context.site(instruction)});"
    known = opcode.take("ca", "cg") and opcode.take("shared", "shared::cta") and opcode.take("global")
    opcode.take("L2::64B", "L2::128B", "L2::256B")
    opcode.done()
    if not known or len(operands) not in (3, 4) or not isinstance(operands[2], Immediate):
        raise opcode.unsupported()
    size = f"{operands[2].value}u"
    given = size
    if len(operands) == 4:
        last = operands[3]
        inner = last.operand if isinstance(last, Inverted) else last
        register = context.names.register(inner.name) if isinstance(inner, Register | Symbol) else None
        if register is not None and register[1] == "pred":
            given = f"({context.read(last, 'pred', line)} ? 0u : {size})"
        else:
            given = context.read(last, "u32", line)
    to, source = context.address(operands[0], "shared", line), context.address(operands[1], "global", line)
    return (
        f"bb_emu_cp_async({_pointer(to)}, {_pointer(source)}, {size}, {given}, {context.site(instruction)});"
    )


def _pointer(address: str) -> str:
    return f"reinterpret_cast<void*>({address})"


def _mbarrier(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    line, site = instruction.line, context.site(instruction)
    what = opcode.choice(
        *("init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait")
    )
    also_expects = what == "arrive" and opcode.take("expect_tx")
    parity = opcode.take("parity")
    opcode.choice("release", "acquire", "relaxed")
    # Both for the order of memory and for the place of the barrier.
    opcode.choice(*_SCOPES)
    space = space_of(opcode)
    opcode.take("b64")
    opcode.done()
    operands = list(instruction.operands)
    waits = what in ("test_wait", "try_wait")
    target: Operand | None = None
    if waits or (what == "arrive" and operands and not _is_address(operands[0])):
        target = operands.pop(0)
    if what is None or what == "arrive_drop" or not operands:
        raise opcode.unsupported()
    barrier = _pointer(context.address(operands[0], space, line))
    numbers = operands[1:]
    # A try_wait may give a limit of time, which only says how long it may wait before it answers.
    counts = {"init": (1, 1), "inval": (0, 0), "arrive": (0, 1), "try_wait": (1, 2), "test_wait": (1, 1)}
    least, most = counts.get(what, (1, 1))
    if not least <= len(numbers) <= most or (also_expects and not numbers):
        raise opcode.unsupported()

    def number(kind: str = "u32") -> str:
        return context.read(numbers[0], kind, line)

    if waits:
        assert target is not None
        function = "bb_emu_mbarrier_test_parity" if parity else "bb_emu_mbarrier_test"
        value = f"{function}({barrier}, {number('u32' if parity else 'u64')}, {site}) != 0"
        return context.write(target, "pred", value, line)
    if what == "arrive":
        count, expected = ("1u", number()) if also_expects else (number() if numbers else "1u", "0u")
        call = f"bb_emu_mbarrier_arrive({barrier}, {count}, {expected}, {site})"
        return f"{call};" if target is None else context.write(target, "b64", call, line)
    function = {
        "init": "init",
        "inval": "invalidate",
        "expect_tx": "expect",
        "complete_tx": "complete",
    }[what]
    given = f", {number()}" if numbers else ""
    return f"bb_emu_mbarrier_{function}({barrier}{given}, {site});"


def _is_address(operand: Operand) -> bool:
    return isinstance(operand, Address)


HANDLERS: dict[str, Handler] = {
    "bar": _barrier,
    "barrier": _barrier,
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "activemask": _activemask,
    "mma": _mma,
    "ldmatrix": _matrix(load=True),
    "stmatrix": _matrix(load=False),
    "cp": _async_copy,
    "mbarrier": _mbarrier,
    **HOPPER_HANDLERS,
}
