"""Evaluates a function of an array program on numpy arrays, one operation after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from bb.runtime.interpreter.arrays import evaluate_array_op
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


def evaluate(
    module: ModuleOp, entry: str, arrays: Sequence[NDArray[Any]], *, float64: bool = False
) -> tuple[NDArray[Any], ...]:
    """The results of function `entry` of `module`, in the program's dtypes or in float64 throughout."""
    function = next(op for op in module.walk() if isinstance(op, FuncOp) and op.sym_name.data == entry)
    values: dict[SSAValue, NDArray[Any]] = dict(zip(function.body.block.args, arrays, strict=True))
    for op in function.body.block.ops:
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, ReturnOp):
            return tuple(operands)
        values.update(zip(op.results, evaluate_array_op(op, operands, float64=float64), strict=True))
    raise AssertionError(f"function {entry} does not return")
