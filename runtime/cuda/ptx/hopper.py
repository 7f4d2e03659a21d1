"""PTX instructions of sm_90: copies by tensor maps, products of warpgroups, the one lane that is elected."""

from __future__ import annotations

import re
from dataclasses import replace

from .arithmetic import Handler
from .context import Context, Opcode
from .syntax import Address, Immediate, Instruction, Operand, Register, Symbol, Vector


def bulk_copy(context: Context, instruction: Instruction) -> str:
    """`cp.async.bulk.tensor` of one or two dimensions, and the groups of its stores."""
    opcode = Opcode(instruction)
    line, operands = instruction.line, instruction.operands
    opcode.take("async")
    opcode.take("bulk")
    if opcode.take("commit_group"):
        opcode.done()
        return "bb_emu_bulk_commit();"
    if opcode.take("wait_group"):
        read_only = int(opcode.take("read"))
        opcode.done()
        return f"bb_emu_bulk_wait({context.read(operands[0], 'u32', line)}, {read_only});"
    tensor, rank = opcode.take("tensor"), opcode.choice("1d", "2d")
    opcode.take("tile")
    spaces = instruction.opcode[-3:-1]
    store = spaces == ("global", "shared::cta") and opcode.take("bulk_group")
    load = spaces in (("shared::cluster", "global"), ("shared::cta", "global"))
    load = load and opcode.take("mbarrier::complete_tx::bytes")
    opcode.take("global")
    opcode.take("shared::cta", "shared::cluster")
    opcode.done()
    if not tensor or rank is None or not (load or store) or len(operands) != (3 if load else 2):
        raise opcode.unsupported()
    box = operands[1 if load else 0]
    if not isinstance(box, Address) or len(box.coordinates) != int(rank[0]):
        raise opcode.unsupported()
    tensor_map = _pointer(context.address(replace(box, coordinates=()), "generic", line))
    x, y = ([context.read(each, "s32", line) for each in box.coordinates] + ["0"])[:2]
    tile = _pointer(context.address(operands[0 if load else 1], "shared", line))
    site = context.site(instruction)
    if store:
        return f"bb_emu_tma_store({tensor_map}, {rank[0]}, {x}, {y}, {tile}, {site});"
    barrier = _pointer(context.address(operands[2], "shared", line))
    return f"bb_emu_tma_load({tile}, {tensor_map}, {rank[0]}, {x}, {y}, {barrier}, {site});"


def _pointer(address: str) -> str:
    return f"reinterpret_cast<void*>({address})"


def _place(context: Context, operand: Operand, opcode: Opcode) -> str:
    """The address of an accumulator, for a result that comes later."""
    if not isinstance(operand, Register | Symbol):
        raise opcode.unsupported()
    name, kind = context.register(operand.name, opcode.instruction.line)
    if kind not in ("f32", "b32", "u32", "s32"):
        raise opcode.unsupported()
    return f"reinterpret_cast<float*>(&{name})"


def _wgmma(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    line, site = instruction.line, context.site(instruction)
    what = opcode.choice("mma_async", "fence", "commit_group", "wait_group")
    if not (opcode.take("sync") and opcode.take("aligned")):
        raise opcode.unsupported()
    if what != "mma_async":
        opcode.done()
        if what == "wait_group":
            return f"bb_emu_wgmma_wait({context.read(instruction.operands[0], 'u32', line)}, {site});"
        return f"bb_emu_wgmma_{'fence' if what == 'fence' else 'commit'}({site});"
    shape, *types = instruction.opcode[4:]
    match = re.fullmatch(r"m64n(\d+)k16", shape)
    if match is None or types not in (["f32", "f16", "f16"], ["f32", "bf16", "bf16"]):
        raise opcode.unsupported()
    n = int(match[1])
    # d, a, b, whether to accumulate, signs of a and b, and for operands in shared memory whether transposed.
    d, a, b, accumulate, *numbers = instruction.operands
    values = [each.value for each in numbers if isinstance(each, Immediate)]
    in_registers = isinstance(a, Vector)
    known = len(values) == len(numbers) == (3 if in_registers else 4) and isinstance(d, Vector)
    if not known or not isinstance(d, Vector) or len(d.parts) != n // 2:
        raise opcode.unsupported()
    negated, transposed = values[:2], ([0, *values[2:]] if in_registers else values[2:])
    if any(value not in (1, -1) for value in negated) or any(value not in (0, 1) for value in transposed):
        raise opcode.unsupported()
    names = {
        "BF16": types[1] == "bf16",
        "NEGATE_A": negated[0] == -1,
        "NEGATE_B": negated[1] == -1,
        "TRANSPOSE_A": transposed[0] == 1,
        "TRANSPOSE_B": transposed[1] == 1,
    }
    flags = " | ".join(["0", *(f"BB_EMU_WGMMA_{name}" for name, is_set in names.items() if is_set)])
    flags += f" | ({context.read(accumulate, 'pred', line)} ? BB_EMU_WGMMA_ACCUMULATE : 0)"
    places = ", ".join(_place(context, each, opcode) for each in d.parts)
    registers, descriptor, held = "nullptr", "0", ""
    if isinstance(a, Vector):
        if len(a.parts) != 4:
            raise opcode.unsupported()
        words = ", ".join(context.read(each, "b32", line) for each in a.parts)
        held, registers = f"const uint32_t a[4] = {{{words}}}; ", "a"
    else:
        descriptor = context.read(a, "b64", line)
    call = f"bb_emu_wgmma(d, {n}, {flags}, {registers}, {descriptor}, {context.read(b, 'b64', line)}, {site})"
    return f"{{ float* const d[] = {{{places}}}; {held}{call}; }}"


def _elect(context: Context, instruction: Instruction) -> str:
    opcode = Opcode(instruction)
    if not opcode.take("sync") or len(instruction.operands) != 2:
        raise opcode.unsupported()
    opcode.done()
    line = instruction.line
    leader, elected = context.results(instruction.operands[0], line)
    if elected is None:
        raise opcode.unsupported()
    mask = context.read(instruction.operands[1], "u32", line)
    ballot = f"bb_emu_vote(BB_EMU_VOTE_BALLOT, {mask}, 1, {context.site(instruction)})"
    first = context.write(leader, "u32", "first", line)
    chosen = context.write(elected, "pred", "first == lane()", line)
    return f"{{ const uint32_t first = static_cast<uint32_t>(__builtin_ctz({ballot})); {first} {chosen} }}"


def _registers(context: Context, instruction: Instruction) -> str:
    # How many registers a thread may have changes no result.
    return ";"


HANDLERS: dict[str, Handler] = {
    "wgmma": _wgmma,
    "elect": _elect,
    "setmaxnreg": _registers,
}
