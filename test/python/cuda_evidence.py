"""Programs on the emulator, and what their launches say: shared by the quick tests and by the long grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from bb.dialects import block, kernel
from bb.lowering.programs import parse
from bb.passes.kernel_place_cuda.options import WARPS_ATTRIBUTE
from bb.runtime.api import random_inputs
from bb.runtime.cuda_emulator import LaunchReport
from bb.runtime.executable import Executable, compile_program
from bb.runtime.interpreter import interpret
from bb.runtime.lowered_program import CudaOptions
from bb.runtime.tolerances import BOUNDS, compare
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import SSAValue

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


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
        return sum(each.bytes_read for each in buffers), sum(each.bytes_written for each in buffers)


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
    """How many contractions the kernels of a program have."""
    return sum(isinstance(op, kernel.ContractOp) for op in executable.module.walk())


def general_contractions(executable: Executable) -> int:
    """How many contractions are left to kernels in the general form."""
    loops = [op for op in executable.module.walk() if isinstance(op, kernel.ParallelOp)]
    return sum(
        isinstance(op, kernel.ContractOp)
        for loop in loops
        if WARPS_ATTRIBUTE not in loop.attributes
        for op in loop.walk()
    )


def predicted_bytes(function: kernel.FuncOp) -> dict[str, int]:
    """The bytes of each array that a kernel moves by its text: each block that a cursor sees is moved once in
    every iteration of the loops around. Extents must be known, and no loop may end early.
    """
    dims = block.parse_dims(function.attributes[block.DIMS])
    found: dict[str, int] = {}
    for op in function.walk():
        if not isinstance(op, kernel.LoadOp | kernel.StoreOp):
            continue
        cursor = (op.source if isinstance(op, kernel.LoadOp) else op.target).owner
        assert isinstance(cursor, kernel.CursorOp)
        name = _name(cursor.array)
        found[name] = found.get(name, 0) + _moved(op, cursor, dims)
    return found


def _name(array: SSAValue) -> str:
    return array.name_hint or "array"


def _moved(op: Any, cursor: kernel.CursorOp, dims: Mapping[str, block.DimAttr]) -> int:
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    assert isinstance(item.element_type, FixedBitwidthType)
    factors = [item.element_type.bitwidth // 8]
    around: list[str] = []
    scope = op.parent_op()
    while scope is not None:
        if isinstance(scope, kernel.ForOp | kernel.ParallelOp):
            around += scope.dim_names
        scope = scope.parent_op()
    for name in {*around, *item.dims}:
        dim = dims[name]
        extent, size = dim.static_extent, dim.block_size
        assert extent is not None
        trips = 1 if dim.is_whole else extent if size is None else -(-extent // size)
        if name in item.dims:
            pinned = name in cursor.first_dims
            factors.append(min(size or extent, extent) * trips if pinned else extent)
        else:
            factors.append(trips)
    return prod(factors)


def measured_bytes(report: LaunchReport) -> dict[str, int]:
    """The bytes of each array that a launch moved."""
    return {each.name: each.bytes_read + each.bytes_written for each in report.buffers}


def rows(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Random f32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
