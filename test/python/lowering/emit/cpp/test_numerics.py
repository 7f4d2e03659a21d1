"""Inputs at which floating point goes wrong: the limits that the interpreter keeps hold on the CPU too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from bb.lowering.pipelines import PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.executable.executable import Executable
from bb.runtime.interpreter.functions import interpret
from bb.runtime.program.inputs import ordered_inputs
from bb.tools.docs.hard_inputs import MASKED, error, hard_inputs
from cpu_programs import AFTER_BLOCKS, as_blocks, as_tuple, renamed
from example_programs import cases, load, resized
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long

BITS = {"f32": 24, "bf16": 8}

SIZES = {"M": 20, "N": 21, "S": 20, "B": 2, "H": 2, "D": 16, "L": 9}
"""A few blocks of 8, ragged; heads of a width with an exact root."""

SOFTMAX = ("softmax", "logsumexp", "attention", "attention_bias", "attention_causal", "attention_decomposed")
NORMS = ("layernorm_matmul", "layernorm_matmul_decomposed", "rmsnorm_matmul", "rmsnorm_ffn_swiglu")

MEAN_OF_100 = "mean of 100 deviations"

LIMITS = {"f32": 2e-6, "bf16": 1e-2}
NORM_LIMITS = {"f32": 4e-6, "bf16": 4e-2}


@cache
def compiled(
    dtype: str, lanes: str = "auto"
) -> tuple[ModuleOp, dict[str, dict[str, int]], dict[str, Executable]]:
    """The programs in blocks of 8, so that there are several. Such few rows go into lanes only if told to."""
    functions, extents = [], dict[str, dict[str, int]]()
    for case in cases():
        if case.entry not in (*SOFTMAX, *NORMS):
            continue
        free = {name: size for name, size in SIZES.items() if name in load(case.name)[1].DIMS}
        free = {name: size for name, size in free.items() if name in case.module.DIMS}
        text, extents[case.entry] = resized(case.name, free, dtype)
        functions.append(renamed(text, case.entry, case.entry))
    module = ModuleOp(functions)
    return (
        module,
        extents,
        compile_all(
            as_blocks(module, 8),
            pipeline=AFTER_BLOCKS.replace("block-to-kernel", f"block-to-kernel{{lanes={lanes}}}"),
        ),
    )


def arrays(name: str, dtype: str) -> dict[str, list[NDArray[Any]]]:
    _, extents, executables = compiled(dtype)
    (case,) = (case for case in cases() if case.entry == name)
    ordinary = case.inputs(extents[name], seed=1)
    with np.errstate(over="ignore"):
        return {
            what: ordered_inputs(executables[name].function, values, float64=False)
            for what, values in hard_inputs(name, ordinary, BITS[dtype]).items()
        }


@cache
def stabilised(dtype: str) -> ModuleOp:
    """The programs as blocks, as far as the CPU's passes go on blocks."""
    blocks = as_blocks(compiled(dtype)[0], 8)
    PassPipeline(AFTER_BLOCKS.partition(",block-to-kernel")[0]).run(blocks)
    return blocks


def worst(results: Sequence[NDArray[Any]], wanted: Sequence[NDArray[Any]]) -> float:
    return max(error(one, other) for one, other in zip(results, wanted, strict=True))


def faults(name: str, dtype: str, limit: float, lanes: str = "auto") -> dict[str, str]:
    """The hard inputs at which the error against float64 is above the limit.

    Masked rows have a value only in the stabilised program: 0, where the arrays say NaN. If the mean is 100
    deviations, a program that rounds its mean to bf16 is far off as it is written, and may stay so.
    """
    module, _, executables = compiled(dtype, lanes)
    found: dict[str, str] = {}
    for what, inputs in arrays(name, dtype).items():
        got = as_tuple(executables[name](*inputs))
        reference = stabilised(dtype) if what == MASKED else module
        with np.errstate(all="ignore"):
            wanted = interpret(reference, inputs, entry=name, float64=True).results
        here = worst(got, wanted)
        if what == MEAN_OF_100 and dtype == "bf16":
            limit = max(limit, 1.1 * worst(interpret(module, inputs, entry=name).results, wanted))
        if not here <= limit:
            found[what] = f"{here:.2e}"
    return found


@pytest.mark.parametrize("dtype", list(BITS))
@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax(name: str, dtype: str) -> None:
    assert faults(name, dtype, LIMITS[dtype]) == {}


@pytest.mark.parametrize("dtype", list(BITS))
@pytest.mark.parametrize("name", NORMS)
def test_norms(name: str, dtype: str) -> None:
    assert faults(name, dtype, NORM_LIMITS[dtype]) == {}


@pytest.mark.parametrize("name", [*SOFTMAX, *NORMS])
def test_products_in_bf16(name: str) -> None:
    """With rows in lanes, contractions multiply in bf16 where the processor does."""
    limit = (LIMITS if name in SOFTMAX else NORM_LIMITS)["bf16"]
    assert faults(name, "bf16", limit, lanes="rows") == {}
