"""Blockbuster's CPU target, fused and unfused, with weights declared constant and bound beforehand."""

from __future__ import annotations

import bb
from bb.lowering.pipelines import PIPELINES

from .contenders import UNFUSED, Case, Ready, aligned
from .workloads import DTYPES


def ready(name: str, case: Case) -> Ready:
    """Compile the row's program; results are written to an array that exists."""
    workload = case.workload
    executable = bb.compile(
        workload.program(),
        pipeline=PIPELINES["cpu-unfused"] if name == UNFUSED else None,
        constants=workload.weights,
    )
    run = executable.prepare(threads=case.threads, **case.weights) if case.weights else executable
    out = aligned(workload.result_shape, DTYPES[workload.dtype])
    out[...] = 0
    threads, shapes = case.threads, workload.program_shapes
    activations = [array.reshape(shapes[name]) for name, array in case.activations.items()]
    # Queries and results have one shape, whatever a program calls heads.
    own = out.reshape(shapes["q"]) if workload.kind == "attention" else out
    return Ready(lambda: run(*activations, out=own, threads=threads), lambda _: out)
