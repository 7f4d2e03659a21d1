"""Lists that are private to an iteration: in local memory where they fit, else in global memory."""

from __future__ import annotations

import numpy as np
import pytest
from bb.lowering.pipelines import PIPELINES, PipelineError
from bb.runtime.api import compile_program
from bb.runtime.errors import InputError
from bb.runtime.executable.executable import Executable
from cpu_programs import Array, shared_out_always

pytestmark = pytest.mark.long

SOFTMAX = """
func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %probs = array.softmax %x axis 1 : tensor<?x?xf32>
  func.return %probs : tensor<?x?xf32>
}
"""
SQUARES = """
#dims = {M = #block.dim<?, block = 16>, K = #block.dim<?, block = 8>}
func.func @squares(%x: tensor<?x?xf64>) -> tensor<?xf64> attributes {block.dims = #dims} {
  %X = block.partition %x [M, K] : tensor<?x?xf64> -> !block.list<M, K, block<M x K x f64>>
  %Y = block.map @M (%row = %X) -> (stack) : !block.list<M, K, block<M x K x f64>> {
    %H = block.map @K (%e = %row) -> (stack) : !block.list<K, block<M x K x f64>> {
      %a = block.load %e : !block.block<M x K x f64, global>
      %b = block.mul %a, %a : !block.block<M x K x f64>
      %c = block.store %b : !block.block<M x K x f64>
      block.yield %c : !block.block<M x K x f64, global>
    }
    %s = block.map @K (%e = %H) -> (sum) : !block.list<K, block<M x K x f64>> {
      %a = block.load %e : !block.block<M x K x f64, global>
      %r = block.row_sum %a acc f64 : !block.block<M x K x f64>
      block.yield %r : !block.vector<M x f64>
    }
    %t = block.store %s : !block.vector<M x f64>
    block.yield %t : !block.vector<M x f64, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f64>> -> tensor<?xf64>
  func.return %y : tensor<?xf64>
}
"""


def softmax_with(local_memory: int | None) -> Executable:
    option = "" if local_memory is None else f"{{local-memory={local_memory}}}"
    return compile_program(
        SOFTMAX, pipeline=PIPELINES["cpu"].replace("block-to-kernel", f"block-to-kernel{option}")
    )


@pytest.fixture(scope="module", params=[None, 0, 400_000, 10**9], ids=str)
def softmax(request: pytest.FixtureRequest) -> Executable:
    return softmax_with(request.param)


@pytest.mark.parametrize("shape", [(1, 1), (3, 257), (1, 700_000), (5, 30_001), (200, 3000)], ids=str)
def test_every_place_gives_the_same(softmax: Executable, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    wanted = weights / weights.sum(axis=1, keepdims=True)
    results = [softmax(x, threads=threads) for threads in (1, 2, 3)]
    assert isinstance(results[0], np.ndarray)
    assert np.max(np.abs(results[0] - wanted)) <= 1e-6 * wanted.max()
    assert len({np.asarray(result).tobytes() for result in results}) == 1


def test_lists_of_parts() -> None:
    """A list in global memory that all parts of a task write to."""
    with shared_out_always():
        softmax = softmax_with(0)
    x = np.random.default_rng(2).standard_normal((3, 3000)).astype(np.float32)
    weights = np.exp(x.astype(np.float64))
    for threads in (1, 2):
        got = softmax(x, threads=threads)
        assert np.allclose(got, weights / weights.sum(axis=1, keepdims=True), rtol=1e-5, atol=0)


@pytest.fixture(scope="module")
def squares() -> Executable:
    return compile_program(SQUARES, pipeline="block-to-kernel")  # fusion would do without the list


def broadcast(*shape: int) -> Array:
    return np.broadcast_to(np.float64(1), shape)


def test_more_memory_than_there_is(squares: Executable) -> None:
    """The input takes 8 bytes, the result 128: the list of a block of rows is what is too large."""
    with pytest.raises(InputError) as error:
        squares(broadcast(16, 2**44), threads=1)
    text = str(error.value)
    assert text.startswith(
        "'squares_kernel1' needs 2.0 PiB of memory of its own, 2.0 PiB of them for a list over M x K, "
    )
    assert "of memory" in text
    assert "but only " in text
    assert text.endswith(" are available")


def test_more_memory_than_64_bits_count(squares: Executable) -> None:
    with pytest.raises(InputError, match="its offsets do not fit into 64 bits"):
        squares(broadcast(16, 2**55), threads=1)
    assert np.array_equal(np.asarray(squares(broadcast(16, 100))), np.full(16, 100.0)), "it still works"


def test_negative_size() -> None:
    with pytest.raises(PipelineError, match="option 'local-memory' must be a number of bytes, got -1"):
        softmax_with(-1)
