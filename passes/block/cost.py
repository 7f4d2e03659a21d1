"""The pass `block-cost`: the modelled cost of each kernel of a block program on a machine, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..analysis.programs import block_programs
from ..text.output import os_reason, print_text
from ..text.units import counted, in_units

if TYPE_CHECKING:
    from ..analysis.cost.program import CostedProgram


@dataclass(frozen=True)
class BlockCostPass(ModulePass):
    """Show what each kernel takes on a machine, by a model: `block-cost{target=cpu M=4096}`.

    `target` names a machine, or a file with its description. Dims of unknown extent are taken to have the
    extent that an option of their name gives. The program stays as it is.
    """

    name = "block-cost"
    free_options: ClassVar[str] = "extents"
    """The field that takes the options named like dims."""

    target: str = "cpu"
    extents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from ..analysis.cost.options import numbers_of

        numbers_of(self.extents, "extent")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from ..analysis.cost.machine import machine_named
        from ..analysis.cost.options import numbers_of, require_dims
        from ..analysis.cost.program import CostedProgram
        from ..analysis.traffic.report import as_comments

        machine = machine_named(self.target)
        given = numbers_of(self.extents, "extent")
        functions = block_programs(op)
        require_dims(given, functions)
        programs = [CostedProgram.of(function, machine, given) for function in functions]
        text = cost_text(programs) or "no function is a block program (array-to-block makes one)\n"
        try:
            print_text(as_comments(text))
        except OSError as error:
            raise PassFailedException(f"cannot write to standard output: {os_reason(error)}") from error


def cost_text(programs: Sequence[CostedProgram]) -> str:
    """A table for each program, and what its columns mean; empty where there are no programs."""
    if not programs:
        return ""
    machine = programs[0].model.machine
    parts = [_program_text(program) for program in programs]
    tiers = ", ".join(tier.name for tier in machine.tiers)
    limit = machine.registers
    limit_text = ", cut to fit" if limit is None else f", at most {in_units(round(limit), 'B')}"
    parts.append(
        "contract, vector: operations of contractions and on elements (functions of one count as one),\n"
        "  with the time they take all workers; from TIER: bytes that a tier delivers, with the time it\n"
        f"  needs for them (tiers: {tiers}); tiles: time to read, write and fill the blocks of a task\n"
        "tasks: iterations of the parallel loops; idle: how much longer workers take because some wait\n"
        "  for others; scratch: bytes of the blocks of a task; registers: bytes of the sums of its\n"
        f"  contractions{limit_text}; start: time to launch and to share out; time: the longer of\n"
        f"  computing and moving, {machine.exposed:.0%} of the other ({machine.swept:.0%} or more where "
        "nothing is contracted),\n  and start\n"
        "again: contraction flops that repeat others; once: not in every call, but when constants are bound\n"
    )
    return "\n".join(parts)


def _program_text(program: CostedProgram) -> str:
    machine = program.model.machine
    dims = ", ".join(f"{name} = {program.lengths[name]}" + _cut(program, name) for name in program.dims)
    target = f"{machine.name} ({counted(machine.workers, 'worker')})"
    return f"cost of @{program.name} on {target}, by the model: {dims}\n" + _table(program)


def _cut(program: CostedProgram, name: str) -> str:
    dim = program.dims[name]
    if dim.is_batch:
        return " (batch)"
    size = program.size(name)
    return " (whole)" if size == program.lengths[name] else f" in blocks of {size}"


def _table(program: CostedProgram) -> str:
    from ..analysis.cost.table import rendered

    machine = program.model.machine
    head = ["kernel", "contract", "vector", *(f"from {tier.name}" for tier in machine.tiers)]
    head += ["tiles", "tasks", "idle", "scratch", "registers", "start", "time", "bound by"]
    rows: list[list[str]] = []
    for plan, cost in zip(program.plans, program.costs(), strict=True):
        contract = _with_time(cost.contract_flops, "flop", cost.contract_seconds)
        if cost.recomputed_flops > 0:
            contract += f"\n{in_units(round(float(cost.recomputed_flops)), 'flop')} again"
        computing = cost.contract_seconds + cost.vector_seconds + cost.tile_seconds + cost.copy_seconds
        times = {"computing": float(computing)}
        times |= {
            tier.name: float(seconds) for tier, seconds in zip(machine.tiers, cost.tier_seconds, strict=True)
        }
        longest = max(times, key=lambda name: times[name])
        work = float(cost.vector_operations) + float(cost.function_calls)
        rows.append(
            [
                plan.name + ("\nonce" if plan.once else ""),
                contract,
                _with_time(work, "op", cost.vector_seconds),
                *(
                    _with_time(bytes, "B", seconds)
                    for bytes, seconds in zip(cost.bytes, cost.tier_seconds, strict=True)
                ),
                _seconds(cost.tile_seconds + cost.copy_seconds),
                f"{float(cost.tasks):,.0f}",
                f"{float(cost.idle) - 1:.0%}",
                in_units(round(float(cost.scratch)), "B"),
                in_units(round(float(cost.registers)), "B") if float(cost.registers) else "-",
                _seconds(cost.start_seconds),
                _seconds(cost.seconds),
                longest if float(cost.start_seconds) < times[longest] else "start",
            ]
        )
    total = ["a call", *[""] * (len(head) - 4), _seconds(machine.call), _seconds(program.seconds()), ""]
    return rendered(head, rows, total)


def _with_time(amount: object, unit: str, seconds: object) -> str:
    number = round(float(amount))  # pyright: ignore[reportArgumentType]
    return "-" if number == 0 else f"{in_units(number, unit)}\n{_seconds(seconds)}"


def _seconds(seconds: object) -> str:
    """`12.3 us`: three digits."""
    value = float(seconds)  # pyright: ignore[reportArgumentType]
    if value == float("inf"):
        return "no room"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 0.9995 or unit == "us":
            return f"{value * scale:.3g} {unit}"
    raise AssertionError


__all__ = ["BlockCostPass", "cost_text"]
