"""PTX instructions that touch memory: loads, stores, atomics, fences, addresses of state spaces."""

from __future__ import annotations

from .arithmetic import Handler
from .context import SIZES, TYPES, Context, Opcode
from .syntax import Instruction, Operand, Vector

_SPACES = ("global", "shared", "shared::cta", "local", "const", "param")
_ORDERS = ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel")
_SCOPES = ("cta", "gpu", "sys", "cluster")
# How long a value stays in which cache changes no result.
_CACHING = (
    *("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged"),
    *("L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B"),
)
_MEMORY_TYPES = tuple(kind for kind in TYPES if kind not in ("pred", "f16", "bf16", "f16x2", "bf16x2"))


def space_of(opcode: Opcode) -> str:
    """The state space of an instruction, `generic` where it names none."""
    found = opcode.choice(*_SPACES)
    if opcode.take("func", "entry") and found != "param":
        raise opcode.unsupported()
    return "generic" if found is None else found.removesuffix("::cta")


def _access(
    context: Context, instruction: Instruction, opcode: Opcode, *, is_load: bool
) -> tuple[str, str, tuple[Operand, ...], str]:
    """Space, type, the registers or values that are moved, and the address of a load or a store."""
    kind = opcode.type(*_MEMORY_TYPES)
    space = space_of(opcode)
    count = int((opcode.choice("v2", "v4", "v8") or "v1")[1:])
    opcode.choice(*_ORDERS)
    opcode.choice(*_SCOPES)
    while opcode.choice(*_CACHING):
        pass
    opcode.done()
    if len(instruction.operands) != 2:
        raise opcode.unsupported()
    place, moved = instruction.operands[is_load], instruction.operands[not is_load]
    parts = moved.parts if isinstance(moved, Vector) else (moved,)
    if len(parts) != count:
        raise opcode.unsupported()
    return space, kind, parts, context.address(place, space, instruction.line)


def _announce(context: Context, instruction: Instruction, space: str, size: int, access: str) -> str:
    if space in ("local", "param", "const"):
        return ""
    what = f"reinterpret_cast<void*>(address), {size}, {access}"
    return f"BB_PTX_ACCESS({what}, {context.site(instruction)}); "


def _load(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    space, kind, parts, address = _access(context, instruction, opcode, is_load=True)
    size, line = SIZES[kind], instruction.line
    loads = " ".join(
        context.write(part, kind, f"load<{TYPES[kind]}>(address + {index * size})", line)
        for index, part in enumerate(parts)
    )
    # Compilers read four elements where a loop of three is unrolled, and leave the last one alone.
    read = len(parts)
    while read > 1 and context.is_dropped(parts[read - 1]):
        read -= 1
    announced = _announce(context, instruction, space, size * read, "BB_EMU_READ")
    return f"{{ const uint64_t address = {address}; {announced}{loads} }}"


def _store(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    space, kind, parts, address = _access(context, instruction, opcode, is_load=False)
    size, line = SIZES[kind], instruction.line
    stores = " ".join(
        f"store<{TYPES[kind]}>(address + {index * size}, {context.read(part, kind, line)});"
        for index, part in enumerate(parts)
    )
    announced = _announce(context, instruction, space, size * len(parts), "BB_EMU_WRITE")
    return f"{{ const uint64_t address = {address}; {announced}{stores} }}"


_ATOMICS = {
    "add": "add<T>(old, b)",
    "min": "minimum<T>(old, b)",
    "max": "maximum<T>(old, b)",
    "and": "static_cast<T>(old & b)",
    "or": "static_cast<T>(old | b)",
    "xor": "static_cast<T>(old ^ b)",
    "exch": "b",
    "cas": "old == b ? c : old",
    "inc": "old >= b ? T{0} : static_cast<T>(old + 1)",
    "dec": "old == 0 || old > b ? b : static_cast<T>(old - 1)",
}
# In global memory sums of f32 flush denormals, in shared memory they do not.
_FLUSHED_SUM = "flush(add<T>(flush(old), flush(b)))"
_ADD_FLOAT = {
    "global": _FLUSHED_SUM,
    "shared": "add<T>(old, b)",
    "generic": f"in_shared ? add<T>(old, b) : {_FLUSHED_SUM}",
}
_ATOMIC_TYPES = (
    "u32",
    "s32",
    "u64",
    "s64",
    "b16",
    "b32",
    "b64",
    "f32",
    "f64",
    "f16",
    "bf16",
    "f16x2",
    "bf16x2",
)


def _atomic(returns: bool) -> Handler:
    def handle(context: Context, instruction: Instruction) -> str:
        opcode = Opcode(instruction)
        kind = opcode.type(*_ATOMIC_TYPES)
        space = space_of(opcode)
        operation = opcode.choice(*_ATOMICS)
        opcode.choice(*_ORDERS)
        opcode.choice(*_SCOPES)
        opcode.take("noftz")
        opcode.done()
        inputs = 2 if operation == "cas" else 1
        if operation is None or len(instruction.operands) != 1 + inputs + returns:
            raise opcode.unsupported()
        packed = {"f16x2": "Half", "bf16x2": "Bfloat"}.get(kind)
        floating = kind in ("f32", "f64", "f16", "bf16") or packed is not None
        if (floating and operation not in ("add", "min", "max")) or (
            space not in ("generic", "global", "shared")
        ):
            raise opcode.unsupported()
        line = instruction.line
        place, *values = instruction.operands[returns:]
        given = " ".join(
            f"const T {name} = {context.read(value, kind, line)};"
            for name, value in zip("bc", values, strict=False)
        )
        body = _ATOMICS[operation]
        if kind == "f32" and operation == "add":
            body = _ADD_FLOAT[space]
        if packed is not None:
            pair = body.replace("<T>", f"<{packed}>")
            body = f"packed<{packed}>([]({packed} old, {packed} b) {{ return {pair}; }}, old, b)"
        address = context.address(place, space, line)
        if "in_shared" in body:
            is_shared = f"bb_emu_is_shared(reinterpret_cast<void*>({address}))"
            given += f" const bool in_shared = {is_shared} != 0;"
        done = f"atomic<T>({address}, {context.site(instruction)}"
        done = f"{done}, [=](T old) -> T {{ return {body}; }})"
        result = context.write(instruction.operands[0], kind, done, line) if returns else f"{done};"
        return f"{{ using T = {TYPES[kind]}; {given} {result} }}"

    return handle


def _cvta(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    kind = opcode.type("u64")
    to_space = opcode.take("to")
    space = space_of(opcode)
    opcode.done()
    if len(instruction.operands) != 2 or space == "generic":
        raise opcode.unsupported()
    value = context.read(instruction.operands[1], kind, instruction.line)
    if space == "shared":
        value = f"({value} {'-' if to_space else '+'} window)"
    return context.write(instruction.operands[0], kind, value, instruction.line)


def _isspacep(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    if not opcode.take("shared", "shared::cta"):
        raise opcode.unsupported()
    opcode.done()
    target, address = instruction.operands
    value = (
        f"bb_emu_is_shared(reinterpret_cast<void*>({context.read(address, 'u64', instruction.line)})) != 0"
    )
    return context.write(target, "pred", value, instruction.line)


def _fence(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    if opcode.take("proxy"):
        if not opcode.take("async", "async::shared::cta", "async.shared::cta"):
            raise opcode.unsupported()
        opcode.take("shared::cta")
        if opcode.take("global"):  # which is not looked at
            opcode.done()
            return ";"
        opcode.done()
        return "bb_emu_fence(BB_EMU_FENCE_ASYNC_PROXY);"
    opcode.choice("sc", "acq_rel", "acquire", "release")
    scope = opcode.choice("cta", "gl", "sys", "gpu", "cluster")
    if instruction.opcode == ("fence", "mbarrier_init", "release", "cluster"):
        return "bb_emu_fence(BB_EMU_FENCE_MBARRIER_INIT);"
    opcode.done()
    return f"bb_emu_fence({'BB_EMU_FENCE_BLOCK' if scope == 'cta' else 'BB_EMU_FENCE_DEVICE'});"


def _nothing(context: Context, instruction: Instruction) -> str:
    return ";"


HANDLERS: dict[str, Handler] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic(returns=True),
    "red": _atomic(returns=False),
    "cvta": _cvta,
    "isspacep": _isspacep,
    "membar": _fence,
    "fence": _fence,
    # They change how soon something happens, not what.
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "discard": _nothing,
    "nanosleep": _nothing,
}
