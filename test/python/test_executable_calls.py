"""What a call of an executable costs beside its kernels."""

import numpy as np
import pytest
from bb.runtime import executable


def test_a_call_reads_no_attributes_of_the_program(monkeypatch: pytest.MonkeyPatch):
    text = """
    func.func @add(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> tensor<?x4xf32> {
      %s = array.elementwise (%a = %x, %b = %y) : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32> {
        %c = arith.addf %a, %b : f32
        array.yield %c : f32
      }
      func.return %s : tensor<?x4xf32>
    }
    """
    compiled = executable.compile_program(text)
    x, y = np.ones((3, 4), np.float32), np.arange(4, dtype=np.float32)
    prepared = compiled.prepare(y=y)

    def refuse(function: object) -> None:
        raise AssertionError("reading attributes takes longer than a small kernel")

    monkeypatch.setattr(executable, "arguments_of", refuse)
    assert compiled.argument_names == ["x", "y"]
    assert np.array_equal(compiled(x, y=y), x + y)
    assert np.array_equal(prepared(x), x + y)
