"""`block.first`: the first item of a list, in the interpreter and in the traffic."""

from __future__ import annotations

import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.passes.analysis.traffic.block import Traffic, traffic_of_function, values_for
from bb.runtime.interpreter.functions import Run, interpret
from xdsl.dialects.func import FuncOp

TEXT = """func.func @f(%x: tensor<10xEXTENTxf32>) -> tensor<10xf32>
    attributes {block.dims = {M = #block.dim<10>, N = #block.dim<EXTENTSIZE>}} {
  %X = block.partition %x [M, N] : tensor<10xEXTENTxf32> -> !block.list<M, N, block<M x N x f32>>
  %Y = block.map @M (%r = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    %e = block.first %r : !block.list<N, block<M x N x f32>>
    %b = block.load %e : !block.block<M x N x f32, global>
    %s = block.row_sum %b acc f32 : !block.block<M x N x f32>
    %t = block.store %s : !block.vector<M x f32>
    block.yield %t : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<10xf32>
  func.return %y : tensor<10xf32>
}
"""


def run(
    extent: str, size: str, x: np.ndarray, *, block_size: int, padded: bool = False
) -> tuple[Run, Traffic]:
    module = parse_module(TEXT.replace("EXTENT", extent).replace("SIZE", size), "program.mlir")
    total = Traffic()
    for op in module.ops:
        assert isinstance(op, FuncOp)
        for _, traffic in traffic_of_function(op):
            total += traffic
    return interpret(module, [x], float64=True, default_block_size=block_size, padded=padded), total


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("block_size", [1, 4, 7, 14, 64])
@pytest.mark.parametrize(
    ("extent", "size"), [("14", ""), ("?", ""), ("14", ", block = 5"), ("14", ", whole")]
)
def test_first(extent: str, size: str, block_size: int, padded: bool):
    x = np.random.default_rng(0).standard_normal((10, 14))
    done, traffic = run(extent, size, x, block_size=block_size, padded=padded)
    width = min(14, {"": block_size, ", block = 5": 5, ", whole": 14}[size])
    assert np.allclose(done.results[0], x[:, :width].sum(axis=1))
    rows = -(-10 // block_size)
    assert (done.counts.loads, done.counts.stores) == (rows, rows)
    assert done.counts.bytes_loaded == 4 * 10 * width
    if not padded:
        assert traffic.evaluate(values_for(done.extents, done.block_sizes)) == vars(done.counts)


def test_the_symbol_of_the_first_block_shows_in_the_traffic():
    _, traffic = run("14", "", np.ones((10, 14)), block_size=4)
    assert "first(N)" in str(traffic.bytes_loaded)
