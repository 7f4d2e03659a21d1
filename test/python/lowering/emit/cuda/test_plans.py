"""CUDA kernels in two steps: a plan with all names and decisions, then text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import bb
import pytest
from bb.dialects import kernel
from bb.dialects.diagnostics import OpError
from bb.lowering.emit.cuda.kernels import WRITERS, write_kernel
from bb.lowering.emit.cuda.plan import Copying, KernelPlan, Loop, RowLoop, RowPartLoop, Statement, Step
from bb.lowering.emit.cuda.planner import SWEEPS, plan_kernel
from bb.lowering.emit.cuda.scope import Form
from bb.lowering.emit.cuda.staging import Barrier, Ring, TileCopy
from bb.runtime.calls.lowered import CompileOptions
from bb.runtime.cuda.library import CudaLibrary
from cuda_evidence import attention, text_of
from xdsl.dialects import arith


def plans(text: str) -> list[KernelPlan]:
    """The plan of each parallel loop of a program's kernels."""
    return plans_of_kernels(CudaLibrary(bb.parse(text), CompileOptions(target="cuda")).kernels)


def plans_of_kernels(kernels: Iterable[kernel.FuncOp]) -> list[KernelPlan]:
    """The plan of each parallel loop of kernels."""
    return [
        plan_kernel(function, parallel, part, ())
        for function in kernels
        for part, parallel in enumerate(function.body.block.ops)
        if isinstance(parallel, kernel.ParallelOp)
    ]


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """All steps, those of loops after the loop."""
    for step in steps:
        yield step
        if isinstance(step, Loop | RowLoop | RowPartLoop):
            yield from walk(step.body)


@pytest.mark.parametrize("example", ["attention_causal", "layernorm_matmul", "softmax", "lora"])
@pytest.mark.parametrize("type", ["f32", "bf16"])
def test_writing_a_plan_changes_nothing(example: str, type: str):
    for plan in plans(text_of(example, type)):
        assert write_kernel(plan) == write_kernel(plan)


def test_a_pipelined_loop_owns_its_copies():
    (plan,) = plans(attention(2, 256, 64, "bf16"))
    (loop,) = [step for step in plan.steps if isinstance(step, Loop)]
    assert isinstance(loop.ring, Ring)
    assert loop.ring.stages == 2
    assert [re.sub(r"\d", "", copy.to) for copy in loop.ring.copies] == ["k[to]", "v[to]"]
    assert set(plan.scope.stages.values()) == {loop.ring.stage}
    assert not any(isinstance(step, Copying) for step in walk(loop.body))


TWO_LOOPS = """
kernel.func @f(%x : !kernel.array<256x64xbf16>) attributes {block.dims = {
    M = #block.dim<256, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    %a = kernel.tile {swizzled, stages = 2 : i64, offset = 0 : i64} : !kernel.tile<N x K x bf16, shared, lanes = cols>
    %b = kernel.tile {swizzled, stages = 2 : i64, offset = 16384 : i64} : !kernel.tile<N x K x bf16, shared, lanes = cols>
    kernel.for @N until @M attributes {stages = 2 : i64} {
      %xa = kernel.cursor %x [N, K] : !kernel.array<256x64xbf16> -> !kernel.cursor<N x K x bf16>
      kernel.load %a, %xa {async} : !kernel.tile<N x K x bf16, shared, lanes = cols>, !kernel.cursor<N x K x bf16>
    }
    kernel.for @N attributes {stages = 2 : i64} {
      %xb = kernel.cursor %x [N, K] : !kernel.array<256x64xbf16> -> !kernel.cursor<N x K x bf16>
      kernel.load %b, %xb {async} : !kernel.tile<N x K x bf16, shared, lanes = cols>, !kernel.cursor<N x K x bf16>
    }
  }
}
"""  # noqa: E501


def test_a_loop_that_ends_early_does_not_end_a_later_one():
    (plan,) = plans_of_kernels(kernel.kernels_of(bb.parse(TWO_LOOPS)))
    ends: list[str] = []
    for step in plan.steps:
        assert isinstance(step, Loop)
        assert step.ring is not None
        (copy,) = step.ring.copies
        assert isinstance(copy, TileCopy)
        ends.append(copy.ends[0])
    assert ends == ["Nend", "N"]


def test_only_copies_in_flight_are_waited_for():
    (plan,) = plans(attention(2, 256, 64, "bf16", causal=True))
    fetches = [step for step in plan.steps if isinstance(step, Copying)]
    barriers = [step for step in walk(plan.steps) if isinstance(step, Barrier)]
    assert len(fetches) == 1
    # The ring waits for its own copies; q is the only one left, and it is waited for once at most.
    assert sum(barrier.waits_for_copies for barrier in barriers) <= len(fetches)


def test_copies_outside_of_rings_are_waited_for_before_they_are_read():
    for example in ("layernorm_matmul", "lora", "rmsnorm_ffn_swiglu"):
        for plan in plans(text_of(example, "bf16")):
            in_flight = False
            for step in plan.steps:
                if isinstance(step, Copying):
                    in_flight = True
                elif isinstance(step, Barrier):
                    assert step.waits_for_copies == in_flight
                    in_flight = False
                elif isinstance(step, Loop):
                    break


def test_whole_rows_are_a_loop_over_rows():
    (plan,) = plans(text_of("softmax", "f16"))
    (loop,) = [step for step in plan.steps if isinstance(step, RowLoop)]
    forms = {step.form for step in walk(loop.body) if isinstance(step, Statement)}
    assert forms == {Form.Rows}


def test_every_form_of_a_sweep_is_planned_and_written():
    assert WRITERS[kernel.SweepOp].keys() == SWEEPS.keys() == set(Form)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (Form.Memory, "has no form on a GPU"),
        (Form.Registers, "has no form on tiles in registers"),
        (Form.Rows, "has no form on rows in registers"),
    ],
)
def test_operations_without_a_form(form: Form, message: str):
    plan = plans(text_of("softmax", "f16"))[0]
    op = arith.ConstantOp.from_int_and_width(1, 32)
    step = Statement(op=op, form=form, subject=op, place="")
    with pytest.raises(OpError, match=message):
        write_kernel(replace(plan, steps=(step,)))
