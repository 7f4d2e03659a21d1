"""Resources of a compiled kernel on a multiprocessor: registers, spills, shared memory, instructions.

The figures come from ptxas as NVRTC runs it and from the cubin, never from running anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.table import Table

from .compile import CudaBinary
from .diagnostics import CudaCompilerError
from .occupancy import Occupancy, occupancy
from .sass import count_kinds, find_disassembler, instruction_counts

_ENTRY = re.compile(r"^ptxas info\s*: Compiling entry function '([^']+)'", re.MULTILINE)
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?([^\n]*)")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class KernelResources:
    """The resources of one kernel on one architecture.

    `registers` are those of a thread, also in functions that the kernel calls; `stack`, `spill_stores` and
    `spill_loads` bytes of a thread's local memory, the spills without those of functions that are not
    inlined; `static_shared` and `dynamic_shared` bytes of a block. `occupancy` is None where the size of a
    block is not known, or the architecture's limits are not. `instructions` are counts by the classes of
    `sass.KINDS` in the machine code, each counted once however often it runs; empty where there is no
    disassembler.
    """

    kernel: str
    arch: str
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    barriers: int
    static_shared: int
    dynamic_shared: int = 0
    threads: int | None = None
    occupancy: Occupancy | None = None
    instructions: dict[str, int] = field(default_factory=dict[str, int])

    def as_json(self) -> dict[str, object]:
        """The same as nested dictionaries of plain values."""
        known = {name: value for name, value in vars(self).items() if name != "occupancy"}
        if (resident := self.occupancy) is not None:
            known["occupancy"] = {**vars(resident), "limited_by": list(resident.limited_by)}
        return known


def kernel_resources(
    binary: CudaBinary, *, threads: int | None = None, dynamic_shared: int = 0
) -> list[KernelResources]:
    """The resources of each kernel of a binary, in the order in which ptxas compiled them.

    `threads` and `dynamic_shared` (bytes) are those of a block at launch. Raises CudaCompilerError for a
    binary without a cubin.
    """
    if binary.cubin is None:
        raise CudaCompilerError(
            f"{binary.name} was compiled to PTX alone: name a real architecture, as sm_90"
        )
    counts = instruction_counts(binary.cubin) if find_disassembler() is not None else {}
    parts = _ENTRY.split(binary.log)
    found: list[KernelResources] = []
    for kernel, text in zip(parts[1::2], parts[2::2], strict=True):
        used, frame = _USED.search(text), _FRAME.search(text)
        if used is None or frame is None:
            raise CudaCompilerError(f"ptxas did not say what '{kernel}' uses on {binary.arch}")
        shared = _SHARED.search(used[3])
        registers, barriers, static = int(used[1]), int(used[2] or 0), int(shared[1]) if shared else 0
        found.append(
            KernelResources(
                kernel=kernel,
                arch=binary.arch,
                registers=registers,
                stack=int(frame[1]),
                spill_stores=int(frame[2]),
                spill_loads=int(frame[3]),
                barriers=barriers,
                static_shared=static,
                dynamic_shared=dynamic_shared,
                threads=threads,
                occupancy=_occupancy(binary.arch, registers, static + dynamic_shared, threads, barriers),
                instructions=count_kinds(counts[kernel]) if kernel in counts else {},
            )
        )
    return found


def _occupancy(
    arch: str, registers: int, shared: int, threads: int | None, barriers: int
) -> Occupancy | None:
    if threads is None:
        return None
    try:
        return occupancy(arch, registers=registers, shared=shared, threads=threads, barriers=barriers)
    except ValueError:
        return None


_SHOWN = (
    "HMMA",
    "HGMMA",
    "LDSM",
    "LDGSTS",
    "LDG.128",
    "LDG",
    "STG.128",
    "STG",
    "LDS.128",
    "STS.128",
    "total",
)


def resource_table(rows: Sequence[KernelResources]) -> Table:
    """A table with a column for each kernel and architecture."""
    table = Table(title="Resources of compiled kernels", title_justify="left")
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(f"{row.kernel}\n{row.arch}", justify="right")

    def line(label: str, values: Sequence[object]) -> None:
        table.add_row(label, *(str(value) for value in values))

    line("registers per thread", [row.registers for row in rows])
    line("spilled bytes (stores/loads)", [f"{row.spill_stores}/{row.spill_loads}" for row in rows])
    line("local memory bytes", [row.stack for row in rows])
    line("static shared bytes", [row.static_shared for row in rows])
    line("dynamic shared bytes", [row.dynamic_shared for row in rows])
    if any(row.occupancy is not None for row in rows):
        known = [row.occupancy for row in rows]
        line("threads per block", [row.threads for row in rows])
        line("blocks per multiprocessor", ["?" if each is None else each.blocks for each in known])
        line("occupancy", ["?" if each is None else f"{each.percent:.0f}%" for each in known])
        line("limited by", ["?" if each is None else ", ".join(each.limited_by) for each in known])
    for kind in _SHOWN:
        if any(row.instructions.get(kind) for row in rows):
            line(f"{kind} instructions", [row.instructions.get(kind, "?") for row in rows])
    return table
