"""Seconds of processor time that each pass takes on chains of layers, without compiling kernels.

    $ python bench/pass_speed.py rmsnorm_matmul 24 48 96

Prints a line for each length. The work for each layer should not grow with the length.
"""

from __future__ import annotations

import sys
from time import process_time

import bb
from bb.dialects.context import make_context
from bb.lowering.pipelines import PIPELINES, PassPipeline

TYPE = "tensor<32x64xf32>"


def norms_and_products(layers: int) -> str:
    """RMSNorm and a product with weights, again and again."""
    body = "\n".join(
        f"%n{layer} = array.rms_norm %y{layer} scale(%g : tensor<64xf32>) eps 1.0e-06 : {TYPE}\n"
        f"%y{layer + 1} = array.matmul %n{layer}, %w : {TYPE}, tensor<64x64xf32> -> {TYPE}"
        for layer in range(layers)
    )
    return _function(body, f"%y0: {TYPE}, %w: tensor<64x64xf32>, %g: tensor<64xf32>", layers)


def elementwise(layers: int) -> str:
    """A sum and a hyperbolic tangent, again and again."""
    body = "\n".join(
        f"%y{layer + 1} = array.elementwise (%a = %y{layer}, %b = %w) : {TYPE}, {TYPE} -> {TYPE} {{\n"
        "  %m = arith.addf %a, %b : f32\n  %t = math.tanh %m : f32\n  array.yield %t : f32\n}"
        for layer in range(layers)
    )
    return _function(body, f"%y0: {TYPE}, %w: {TYPE}", layers)


def _function(body: str, arguments: str, layers: int) -> str:
    return f"func.func @f({arguments}) -> {TYPE} {{\n{body}\nfunc.return %y{layers} : {TYPE}\n}}"


CHAINS = {"rmsnorm_matmul": norms_and_products, "elementwise": elementwise}


def main(name: str, lengths: list[int]) -> None:
    """Print a table."""
    for layers in lengths:
        module, context = bb.parse(CHAINS[name](layers)), make_context()
        times: dict[str, float] = {}
        for step in PassPipeline(PIPELINES["cpu"]).passes:
            start = process_time()
            step.apply(context, module)
            times[step.name] = process_time() - start
        slow = sorted(times, key=lambda each: -times[each])[:5]
        shown = "  ".join(f"{each} {times[each]:.2f}" for each in slow)
        print(f"{name} {layers:5}  all {sum(times.values()):6.2f}  {shown}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], [int(each) for each in sys.argv[2:]])
