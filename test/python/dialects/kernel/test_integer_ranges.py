"""Ranges of integers hold all values that the operations give."""

import numpy as np
import pytest
from bb.dialects import block, kernel
from bb.dialects.kernel.integer_ranges import IntegerRanges, type_range
from bb.dialects.parsing import parse_module
from bb.runtime.interpreter.scalar_semantics import evaluate_scalar_op
from integer_programs import BINARY, integers

SWEEP = """
kernel.func @f() attributes {block.dims = {M = #block.dim<9, whole>}} {
  kernel.parallel {
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.sweep [M] (%x = %t) -> (each %t)
        : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      %index = kernel.quantity index @M
LINES
      kernel.yield %x : f32
    }
  }
}
"""


def _body(random: np.random.Generator, type: str, steps: int) -> list[str]:
    """Random operations on an index and on constants, large and small."""
    lines = [f"%v0 = arith.index_cast %index : index to {type}"]
    names = ["%v0"]
    for number in range(1, steps):
        if random.random() < 0.3:
            value = int(integers(type, 1, random)[0])
            lines.append(f"%v{number} = arith.constant {value} : {type}")
        else:
            name, (a, b) = random.choice(BINARY), random.choice(names[-5:], 2)
            lines.append(f"%v{number} = arith.{name} {a}, {b} : {type}")
        names.append(f"%v{number}")
    return [*lines, f"%w = arith.extui {names[-1]} : i32 to i64" if type == "i32" else ""]


@pytest.mark.parametrize("type", ["i32", "i64"])
def test_values_lie_within_their_ranges(type: str) -> None:
    random, narrowed = np.random.default_rng(5), 0
    for _ in range(60):
        text = SWEEP.replace("LINES", "\n".join(_body(random, type, 14)))
        module = parse_module(text, "sweep")
        sweep = next(op for op in module.walk() if isinstance(op, kernel.SweepOp))
        function = next(op for op in module.walk() if isinstance(op, kernel.FuncOp))
        ranges = IntegerRanges.of(sweep.body.block, block.parse_dims(function.attributes[block.DIMS]))
        values = {}
        for op in sweep.body.block.ops:
            if not op.results:
                continue
            if isinstance(op, kernel.QuantityOp):
                found = np.arange(9)
            else:
                found = evaluate_scalar_op(op, [values[each] for each in op.operands], float64=False)
            values[op.results[0]] = found
            low, high = ranges[op.results[0]]
            assert low <= int(np.min(found)), str(op)
            assert int(np.max(found)) <= high, str(op)
            narrowed += (low, high) != type_range(op.results[0].type)
    assert narrowed > 300, "ranges must say something"
