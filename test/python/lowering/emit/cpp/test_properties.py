"""Random programs on the CPU agree with the interpreter, through varied pipelines and block sizes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest
from array_programs import ArrayProgram, array_programs
from bb.dialects import block
from bb.lowering.pipelines import PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.checking.tolerances import BOUNDS, narrowest_float
from bb.runtime.executable.executable import Executable
from bb.runtime.interpreter.functions import interpret
from bb.runtime.program.functions import select_function
from bb.runtime.program.inputs import ordered_inputs
from block_programs import BlockProgram, block_programs
from cpu_programs import AFTER_BLOCKS, Array, as_tuple, shared_out_always
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensor_programs import on_tensors, tensor_arguments
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

pytestmark = pytest.mark.long

# A compilation takes seconds.
EXAMPLES = 4 if settings.get_current_profile_name() == "suite" else 200

PIPELINES = (
    AFTER_BLOCKS,
    AFTER_BLOCKS,
    "block-shapes,block-to-kernel",
    "block-shapes,block-to-kernel{lanes=cols},kernel-hoist,kernel-fuse-sweeps",
    "block-shapes,block-to-kernel{lanes=rows},kernel-hoist,kernel-fuse-sweeps",
    "block-shapes,block-fuse{snapshot=last},block-stabilize,block-to-kernel{lanes=rows},kernel-hoist,kernel-fuse-sweeps",
    "block-shapes,block-fuse,block-stabilize,block-fuse-elementwise,block-to-kernel{lanes=cols},kernel-fuse-sweeps",
)


@dataclass
class Case:
    """A function of a module, and inputs for it."""

    module: ModuleOp
    inputs: list[Array]
    entry: str


@dataclass
class Batch:
    """Programs that are compiled together: a compilation costs more than the programs in it."""

    programs: list[ArrayProgram]
    sizes: list[int]
    pipeline: str
    shared_out: bool


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    programs = [draw(array_programs()) for _ in range(draw(st.integers(3, 6)))]
    sizes = draw(st.lists(st.sampled_from((2, 3, 4, 5, 8, 16)), min_size=4, max_size=4))
    return Batch(programs, sizes, draw(st.sampled_from(PIPELINES)), draw(st.booleans()))


def with_sizes(function: FuncOp, sizes: list[int]) -> None:
    """Give the dims of a block program sizes in turn; every fifth is whole."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    sized: dict[str, block.DimAttr] = {}
    for index, (name, dim) in enumerate(dims.items()):
        if dim.is_batch:
            sized[name] = dim
        elif index % 5 == 4:
            sized[name] = block.DimAttr(dim.extent.data, 0, block.Blocking.Whole)
        else:
            sized[name] = dim.with_block_size(sizes[index % len(sizes)])
    function.attributes[block.DIMS] = block.dims_attr(sized)


def lowered(batch: Batch) -> list[tuple[FuncOp, Case]]:
    """The programs as functions of blocks with names of their own."""
    found: list[tuple[FuncOp, Case]] = []
    for number, program in enumerate(batch.programs):
        module = program.module.clone()
        PassPipeline("array-decompose,array-to-block").run(module)
        (function,) = (op for op in module.ops if isinstance(op, FuncOp))
        with_sizes(function, batch.sizes)
        function.sym_name = StringAttr(f"program{number}")
        function.detach()
        found.append((function, Case(program.module, program.inputs, "program")))
    return found


def assert_agrees(executable: Executable, program: Case, context: str) -> None:
    inputs = ordered_inputs(executable.function, program.inputs, float64=False)
    wanted = interpret(program.module, inputs, entry=program.entry, float64=True).results
    plain = interpret(program.module, inputs, entry=program.entry, float64=False).results
    got, alone = as_tuple(executable(*inputs, threads=3)), as_tuple(executable(*inputs, threads=1))
    bound = BOUNDS[narrowest_float(select_function(program.module, program.entry))]
    for result, serial, reference, ordinary in zip(got, alone, wanted, plain, strict=True):
        assert result.tobytes() == serial.tobytes(), f"{context}: threads differ"
        error, scale = distance(result, reference), max(1.0, float(np.max(np.abs(reference), initial=0.0)))
        # Where values cancel, arithmetic in the program's own types is no better.
        allowed = max(bound * scale, 3 * distance(ordinary, reference))
        assert error <= allowed, f"{context}: off by {error:.3g} (allowed {allowed:.3g})\n{program.module}"


def distance(got: Array, wanted: Array) -> float:
    return float(np.max(np.abs(got.astype(np.float64) - wanted.astype(np.float64)), initial=0.0))


def assert_all_agree(programs: list[tuple[FuncOp, Case]], pipeline: str, shared_out: bool) -> None:
    module = ModuleOp([function for function, _ in programs])
    with shared_out_always() if shared_out else nullcontext():
        executables = compile_all(module, pipeline=pipeline)
    for function, case in programs:
        assert_agrees(executables[function.sym_name.data], case, pipeline)


@pytest.mark.fuzz
@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(batches())
def test_array_programs(batch: Batch) -> None:
    assert_all_agree(lowered(batch), batch.pipeline, batch.shared_out)


@st.composite
def block_batches(draw: st.DrawFn) -> tuple[list[BlockProgram], str, bool]:
    programs = [draw(block_programs()) for _ in range(12)]
    return programs, draw(st.sampled_from(PIPELINES)), draw(st.booleans())


def tensor_cases(programs: list[BlockProgram]) -> list[tuple[FuncOp, Case]]:
    found: list[tuple[FuncOp, Case]] = []
    for number, program in enumerate(programs):
        function = on_tensors(program, f"program{number}")
        if function is None:
            continue
        case = Case(ModuleOp([function.clone()]), tensor_arguments(function, number), f"program{number}")
        function.detach()
        found.append((function, case))
    return found


@pytest.mark.fuzz
@settings(suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(block_batches())
def test_block_programs(batch: tuple[list[BlockProgram], str, bool]) -> None:
    programs, pipeline, shared_out = batch
    assert_all_agree(tensor_cases(programs), pipeline, shared_out)
