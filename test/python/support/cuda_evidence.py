"""Programs on the emulator, and what their launches say: shared by the quick tests and by the long grid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from bb.dialects import block, kernel
from bb.dialects.kernel.placement import WARPS_ATTRIBUTE
from bb.lowering.frontends.mlir_text import parse
from bb.passes.analysis.traffic.kernel import moves_of_kernel
from bb.runtime.api import compile_program, random_inputs
from bb.runtime.calls.compile_options import CudaOptions
from bb.runtime.checking.tolerances import BOUNDS, compare
from bb.runtime.cuda.emulator import WIDTHS, LaunchReport
from bb.runtime.executable.executable import Executable
from bb.runtime.interpreter.functions import interpret
from paths import ROOT
from xdsl.dialects.builtin import FixedBitwidthType

EXAMPLES = ROOT / "examples"


@dataclass
class Outcome:
    """A run: the program, what the emulator reports, and how far its results are from float64."""

    executable: Executable
    reports: list[LaunchReport]
    within: bool
    error: float

    @property
    def mma(self) -> int:
        return sum(report.counters.mma for report in self.reports)

    @property
    def conflicts(self) -> float:
        """Passes of shared memory for each ideal one, over all launches."""
        passes = sum(report.shared.passes for report in self.reports)
        ideal = sum(report.shared.ideal_passes for report in self.reports)
        return passes / ideal if ideal else 1.0

    @property
    def moved(self) -> tuple[int, int]:
        """The bytes that were read from and written to global memory."""
        buffers = [each for report in self.reports for each in report.buffers]
        return sum(each.bytes_loaded for each in buffers), sum(each.bytes_stored for each in buffers)


def text_of(example: str, type: str) -> str:
    """An example's program, in another element type; tf32 is one of products."""
    return (EXAMPLES / f"{example}.mlir").read_text().replace("f32", type.removeprefix("t"))


def run(text: str, type: str, entry: str | None = None, seed: int = 0, **options: Any) -> Outcome:
    """Run a program on random arrays in check mode; findings are raised. The type says the bound, and with
    `tf32` that products are in it.
    """
    module = parse(text)
    options.setdefault("check", True)
    options.setdefault("tf32", type == "tf32")
    cuda = CudaOptions(arch="sm_80", profile=True, **options)
    executable = compile_program(module, target="emulator", entry=entry, cuda=cuda)
    arrays = random_inputs(module, seed, entry=entry)
    found = executable(*arrays)
    results = found if isinstance(found, tuple) else (found,)
    wanted = interpret(module, arrays, entry=entry, float64=True).results
    errors = [compare(one, other, BOUNDS[type]) for one, other in zip(results, wanted, strict=True)]
    return Outcome(
        executable,
        list(executable.library.reports),
        all(each.within for each in errors),
        max(each.relative for each in errors),
    )


def contractions(executable: Executable) -> int:
    """Number of contractions in the kernels of a program."""
    return sum(isinstance(op, kernel.ContractOp) for op in executable.module.walk())


def general_contractions(executable: Executable) -> int:
    """Number of contractions that are left to kernels in the general form."""
    loops = [op for op in executable.module.walk() if isinstance(op, kernel.ParallelOp)]
    return sum(
        isinstance(op, kernel.ContractOp)
        for loop in loops
        if WARPS_ATTRIBUTE not in loop.attributes
        for op in loop.walk()
    )


def complaints(outcome: Outcome, type: str, tier: str = "source") -> list[str]:
    """Sentences on what is wrong with a run: none if the evidence is complete."""
    found: list[str] = []
    if not outcome.within:
        found.append(f"results are {outcome.error} away from float64")
    if left := general_contractions(outcome.executable):
        found.append(f"{left} contractions are left to the general form")
    functions = [op.called() for op in launches(outcome.executable)]
    for number, (report, function) in enumerate(zip(outcome.reports, functions, strict=True)):
        assert function is not None
        text = outcome.executable.library.launched[number].text
        found += traffic_complaints(report, function) + narrow_loads(report, function)
        found += loop_conflicts(report, text) if tier == "source" else []
        if tier == "source" and type != "f32":
            found += idle_tensor_cores(report, text, function)
    return found + _totals(outcome, type)


def _totals(outcome: Outcome, type: str) -> list[str]:
    """The same of all launches together, which the PTX tier can say as well."""
    found: list[str] = []
    if outcome.conflicts > MOST_CONFLICTS:
        found.append(f"bank conflicts x{outcome.conflicts:.2f} in all")
    if (outcome.mma > 0) != (type != "f32" and contractions(outcome.executable) > 0):
        found.append(f"{outcome.mma} products on tensor cores")
    return found


MOST_CONFLICTS = 1.1
"""Passes of shared memory for each one that would be enough."""


def launches(executable: Executable) -> list[kernel.LaunchOp]:
    """The launches of a program, in order."""
    return [op for op in executable.function.body.block.ops if isinstance(op, kernel.LaunchOp)]


def traffic_complaints(report: LaunchReport, function: kernel.FuncOp) -> list[str]:
    """Sentences on arrays of which a launch did not move what `kernel-traffic` says.

    Arrays that share a name, as parts of one do, count together; lists of a kernel's own lie in one buffer.
    """
    moves = moves_of_kernel(function)
    wanted: dict[str, list[int]] = {}
    for each in moves.arrays:
        known = wanted.setdefault(OWN if each.own else each.name, [0, 0])
        for index, expression in enumerate((each.read, each.written)):
            known[index] += moves.number(expression) or 0
    moved: dict[str, list[int]] = {}
    for buffer in report.buffers:
        known = moved.setdefault(buffer.name if buffer.name in wanted else OWN, [0, 0])
        known[0] += buffer.bytes_loaded
        known[1] += buffer.bytes_stored
    if OWN in moved and not _has_lists_alone(function):
        del moved[OWN]
        wanted.pop(OWN, None)
    return [
        f"{name} of {moves.name}: {moved[name]} bytes read and written, {wanted.get(name)} predicted"
        for name in moved
        if moved[name] != wanted.get(name)
    ]


OWN = "lists of its own"


def _has_lists_alone(function: kernel.FuncOp) -> bool:
    """True if a block's own global memory holds lists, and no tiles that had no room elsewhere."""
    return not any(
        op.result.uses and op.result.type.space.data is kernel.Space.Scratch
        for op in function.walk()
        if isinstance(op, kernel.TileOp) and isinstance(op.result.type, kernel.TileType)
    )


def narrow_loads(report: LaunchReport, function: kernel.FuncOp) -> list[str]:
    """The arrays that a launch loads in accesses of less than 16 bytes, though all of their rows, and of the
    blocks that it reads of them, begin and end at multiples of 16 bytes.

    Vectors over rows in registers are exempt: each lane has rows of its own, which do not follow each other.
    """
    dims = block.parse_dims(function.attributes[block.DIMS])
    aligned: dict[str, bool] = {}
    for op in function.walk():
        if not isinstance(op, kernel.LoadOp):
            continue
        cursor = op.source.owner
        assert isinstance(cursor, kernel.CursorOp)
        name = cursor.array.name_hint or "array"
        aligned[name] = aligned.get(name, True) and _is_aligned(op, cursor, dims)
    return [
        f"{buffer.name} of {report.kernel} is loaded in accesses of {WIDTHS} bytes: {buffer.load_widths}"
        for buffer in report.buffers
        if aligned.get(buffer.name, False) and any(buffer.load_widths[:-1])
    ]


def _is_aligned(op: kernel.LoadOp, cursor: kernel.CursorOp, dims: Mapping[str, block.DimAttr]) -> bool:
    item, tile = cursor.result.type, op.target.type
    assert isinstance(item, kernel.CursorType)
    assert isinstance(item.element_type, FixedBitwidthType)
    assert isinstance(tile, kernel.TileType)
    in_registers = tile.space.data is kernel.Space.Register
    last = cursor.axis_dims[-1][-1]
    if last not in item.dims or (in_registers and len(item.dims) == 1):
        return False
    width = item.element_type.bitwidth // 8
    extent, size = dims[last].static_extent, dims[last].block_size
    return extent is not None and extent * width % 16 == 0 and (size or extent) * width % 16 == 0


def loop_conflicts(report: LaunchReport, text: str) -> list[str]:
    """The loops, and copies ahead of loops, whose accesses to shared memory take too many passes."""
    lines = text.splitlines()
    found: list[str] = []
    for first, last in _regions(lines):
        own = [line for line in report.lines if line.location and first <= line.location.line <= last]
        passes, ideal = sum(line.passes for line in own), sum(line.ideal_passes for line in own)
        if passes > MOST_CONFLICTS * ideal:
            found.append(
                f"bank conflicts x{passes / ideal:.2f} in {report.kernel}: {lines[first - 1].strip()}"
            )
    return found


def _regions(lines: list[str]) -> Iterator[tuple[int, int]]:
    """The first and the last line of each loop over blocks, and of each function that fetches for one."""
    for number, line in enumerate(lines, start=1):
        if re.match(r" *(for \(int \w+i = |auto fetch_)", line):
            indent = len(line) - len(line.lstrip())
            end = next(n for n in range(number, len(lines)) if re.match(rf" {{{indent}}}\}}", lines[n]))
            yield number, end + 1


def idle_tensor_cores(report: LaunchReport, text: str, function: kernel.FuncOp) -> list[str]:
    """The contractions of a kernel that tensor cores have not been seen in, those of careful runs apart."""
    lines = enumerate(text.splitlines(), start=1)
    calls = {n: line.strip() for n, line in lines if re.search(r"bb::contract(?!_kept)", line)}
    busy = {line.location.line for line in report.lines if line.location and line.mma}
    own = {n: call for n, call in calls.items() if _kernel_at(text, n) == report.kernel}
    wanted = sum(isinstance(op, kernel.ContractOp) for op in function.walk())
    found = [f"no tensor cores in {report.kernel}: {call}" for n, call in own.items() if n not in busy]
    count = sum(2 if "bb::contract2" in call else 1 for call in own.values())
    if count != wanted:
        found.append(f"{report.kernel} calls {count} contractions of {wanted}")
    return found


def _kernel_at(text: str, line: int) -> str:
    """The kernel that a line stands in, or the kernel that a line of a run belongs to."""
    before = "\n".join(text.splitlines()[:line])
    return re.findall(r"(?:__launch_bounds__\([^)]*\) |BB_DEVICE bool run_)(\w+)\(", before)[-1]


def rows(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Random f32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def attention(heads: int, length: int, width: int, type: str, *, causal: bool = False) -> str:
    array = f"tensor<{heads}x{length}x{width}x{type}>"
    mask = " causal" if causal else ""
    return f"""
func.func @attention(%q: {array}, %k: {array}, %v: {array}) -> {array} {{
  %out = array.attention %q, %k, %v{mask} : {array}, {array}, {array} -> {array}
  func.return %out : {array}
}}
"""
