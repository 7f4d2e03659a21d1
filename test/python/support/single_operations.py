"""Evaluates one array operation written as a line of text."""

import warnings

import numpy as np
from bb.dialects.context import make_context
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.runtime.interpreter.arrays import evaluate_array_op
from xdsl.dialects.func import FuncOp


def operation(line, **types):
    """The operation that `line` says, with arguments of the given tensor types in scope."""
    arguments = ", ".join(f"%{name}: tensor<{type}>" for name, type in types.items())
    module = parse_module(
        f"func.func @f({arguments}) {{ %r = {line} func.return }}", "test.mlir", make_context()
    )
    verify(module)
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    op = function.body.block.first_op
    assert op is not None
    return op


def run(line, *arrays, float64=False, callbacks=None, **types):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = evaluate_array_op(operation(line, **types), arrays, float64=float64, callbacks=callbacks)
    return results[0] if len(results) == 1 else results


def normal(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def scalar(body, *arrays, element="f32", result=None, float64=False):
    """An element-wise operation over vectors whose region is `body`, which ends in %r."""
    shape = max((array.shape for array in arrays), default=(2,))
    names = [f"a{number}" for number in range(len(arrays))]
    extents = "x".join(map(str, shape))
    types = dict.fromkeys(names, f"{extents}x{element}")
    pairs = ", ".join(f"%x{number} = %{name}" for number, name in enumerate(names))
    operands = ", ".join(f"tensor<{type}>" for type in types.values())
    result = result or element
    line = (
        f"array.elementwise ({pairs}){' : ' if arrays else ''}{operands} -> tensor<{extents}x{result}> "
        f"{{ {body} array.yield %r : {result} }}"
    )
    return run(line, *arrays, float64=float64, **types)
