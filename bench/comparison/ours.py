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
    activations, threads = list(case.activations.values()), case.threads
    return Ready(lambda: run(*activations, out=out, threads=threads), lambda _: out)
