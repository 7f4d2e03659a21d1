"""Names of scalar operations in emitted source, in C++ as in CUDA C++: operators, and functions."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import Operation

INFIX: dict[type[Operation], str] = {
    arith.AddfOp: "+",
    arith.SubfOp: "-",
    arith.MulfOp: "*",
    arith.DivfOp: "/",
    arith.AndIOp: "&",
    arith.OrIOp: "|",
    arith.XOrIOp: "^",
}
"""Operators of floats and of bits."""

WRAPPING: dict[type[Operation], str] = {arith.AddiOp: "+", arith.SubiOp: "-", arith.MuliOp: "*"}
"""Those of integers, whose results may not fit."""

FUNCTIONS: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log2Op: "log2",
    math.Log1pOp: "log1p",
    math.SqrtOp: "sqrt",
    math.RsqrtOp: "rsqrt",
    math.PowFOp: "pow",
    math.FmaOp: "fma",
    math.TanhOp: "tanh",
    math.ErfOp: "erf",
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.AbsFOp: "abs",
    math.FloorOp: "floor",
    math.CeilOp: "ceil",
}


def is_summed(op: Operation) -> bool:
    """True if a product of floats is an operand of a sum in the same region.

    Such a product is rounded by itself: a multiply-add can be finite, or have another sign of zero, where the
    program's sum has none.
    """
    return isinstance(op, arith.MulfOp) and any(
        isinstance(use.operation, arith.AddfOp | arith.SubfOp)
        or (
            isinstance(use.operation, arith.NegfOp)
            and any(
                isinstance(negated.operation, arith.AddfOp | arith.SubfOp)
                for negated in use.operation.results[0].uses
            )
        )
        for use in op.results[0].uses
    )


SIGNED_PREDICATES = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
UNSIGNED_PREDICATES = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}

QUOTIENTS: dict[type[Operation], tuple[str, str]] = {
    arith.DivSIOp: ("quotient", "towards_zero"),
    arith.CeilDivSIOp: ("quotient", "up"),
    arith.FloorDivSIOp: ("quotient", "down"),
    arith.DivUIOp: ("unsigned_quotient", "towards_zero"),
    arith.CeilDivUIOp: ("unsigned_quotient", "up"),
}
"""Functions that divide integers, and the direction in which they round."""

INTEGER_FUNCTIONS: dict[type[Operation], str] = {
    arith.RemSIOp: "remainder",
    arith.RemUIOp: "unsigned_remainder",
    arith.ShLIOp: "shift_left",
    arith.ShRSIOp: "shift_right",
    arith.ShRUIOp: "unsigned_shift_right",
    math.AbsIOp: "absolute",
}
"""Functions of integers whose results depend on their width."""

EXTREMES: dict[type[Operation], str] = {
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.MaxUIOp: "unsigned_max",
    arith.MinUIOp: "unsigned_min",
}
"""The larger and the smaller of two integers."""
