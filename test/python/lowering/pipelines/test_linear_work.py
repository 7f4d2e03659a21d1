"""Passes do work in proportion to the length of a program: we count calls, which are the same everywhere."""

from __future__ import annotations

import sys
from types import FrameType

import bb
import pytest
from bb.dialects.context import make_context
from bb.lowering.pipelines import PIPELINES, PassPipeline

pytestmark = pytest.mark.long

SHORT, LONG = 4, 16
"""Layers of the two programs."""

MOST = 1.25
"""Factor by which the calls for each layer may grow: 1.7 for a pass that compares all pairs of sweeps."""

TYPE = "tensor<32x64xf32>"


def norms_and_products(layers: int) -> str:
    """RMSNorm and a product with weights, again and again."""
    body = "\n".join(
        f"%n{layer} = array.rms_norm %y{layer} scale(%g : tensor<64xf32>) eps 1.0e-06 : {TYPE}\n"
        f"%y{layer + 1} = array.matmul %n{layer}, %w : {TYPE}, tensor<64x64xf32> -> {TYPE}"
        for layer in range(layers)
    )
    arguments = f"%y0: {TYPE}, %w: tensor<64x64xf32>, %g: tensor<64xf32>"
    return f"func.func @f({arguments}) -> {TYPE} {{\n{body}\nfunc.return %y{layers} : {TYPE}\n}}"


def calls_of_passes(program: str) -> dict[str, int]:
    """The number of calls that each pass of the pipeline `cpu` makes."""
    module, context, calls = bb.parse(program), make_context(), dict[str, int]()
    for step in PassPipeline(PIPELINES["cpu"]).passes:
        calls[step.name] = 0

        def count(frame: FrameType, event: str, argument: object, name: str = step.name) -> None:
            calls[name] += event in ("call", "c_call")

        previous = sys.getprofile()
        sys.setprofile(count)
        try:
            step.apply(context, module)
        finally:
            sys.setprofile(previous)
    return calls


def test_work_grows_with_the_number_of_layers() -> None:
    calls_of_passes(norms_and_products(1))  # imports are calls, too
    short, long = calls_of_passes(norms_and_products(SHORT)), calls_of_passes(norms_and_products(LONG))
    growth = {name: long[name] / short[name] * SHORT / LONG for name in short}
    assert {name: factor for name, factor in growth.items() if factor > MOST} == {}
