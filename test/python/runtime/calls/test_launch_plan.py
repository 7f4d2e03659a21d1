"""What a launch refuses before it runs."""

import pytest
from bb.dialects import kernel
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.calls.launch_plan import Launch, plan_of
from bb.runtime.errors import InputError
from xdsl.dialects.func import FuncOp


def _launch(step: str) -> Launch:
    """The launch of a kernel that scales an array of unknown extent by a multiple of the index."""
    module = parse_module(
        f"""
        func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {{
          %i = array.iota axis 0 like %x : tensor<?xf32> -> tensor<?xi64>
          %y = array.elementwise (%a = %x, %b = %i) : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32> {{
            %k = arith.constant {step} : i64
            %0 = arith.muli %b, %k : i64
            %1 = arith.sitofp %0 : i64 to f32
            %2 = arith.mulf %a, %1 : f32
            array.yield %2 : f32
          }}
          func.return %y : tensor<?xf32>
        }}""",
        "program",
    )
    module = PassPipeline(PIPELINES["cpu"]).run(module)
    assert kernel.kernels_of(module)
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    return next(plan_of(module, function).launches)


def test_extents_whose_indices_exceed_32_bits_are_refused() -> None:
    launch = _launch("3")
    launch.check_extents([(1 << 29) - 1])
    with pytest.raises(
        InputError, match=r"dim \w has extent 536870912, but 'f_kernel1' computes with its ind"
    ):
        launch.check_extents([1 << 29])


def test_lanes_of_64_bits_take_larger_extents() -> None:
    _launch("5").check_extents([(1 << 31) - 1])
