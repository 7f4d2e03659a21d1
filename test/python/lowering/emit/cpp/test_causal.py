"""Causal masks of every form: what a kernel's loops leave out is what the mask hides, and nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from bb.dialects import block
from bb.passes.analysis.causal_masks import Until, masked_later
from bb.runtime.api import compile_all
from bb.runtime.executable.executable import Executable
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, builtin
from xdsl.ir import Block, Operation, Region, SSAValue

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Mask:
    """Key n is kept for query m where n - m `predicate` offset."""

    queries: int
    keys: int
    predicate: str
    offset: int

    @property
    def name(self) -> str:
        return f"{self.predicate}_{self.queries}_{self.keys}_{self.offset}".replace("-", "minus")

    @property
    def program(self) -> str:
        m, n = self.queries, self.keys
        q, k, v, out = (f"tensor<{shape}xf32>" for shape in (f"{m}x8", f"{n}x8", f"{n}x5", f"{m}x5"))
        scores, rows, columns = f"tensor<{m}x{n}xf32>", f"tensor<{m}x1xi32>", f"tensor<1x{n}xi32>"
        return f"""func.func @{self.name}(%q: {q}, %k: {k}, %v: {v}) -> {out} {{
  %scores = array.matmul %q, %k transpose_b : {q}, {k} -> {scores}
  %row = array.iota axis 0 : {rows}
  %column = array.iota axis 1 : {columns}
  %masked = array.elementwise (%s = %scores, %i = %row, %j = %column) : {scores}, {rows}, {columns} -> {scores} {{
    %offset = arith.constant {self.offset} : i32
    %last = arith.addi %i, %offset : i32
    %visible = arith.cmpi {self.predicate}, %j, %last : i32
    %hidden = arith.constant 0xff800000 : f32
    %chosen = arith.select %visible, %s, %hidden : f32
    array.yield %chosen : f32
  }}
  %weights = array.softmax %masked axis 1 : {scores}
  %out = array.matmul %weights, %v : {scores}, {v} -> {out}
  func.return %out : {out}
}}
"""  # noqa: E501

    def visible(self) -> np.ndarray:
        distance = np.arange(self.keys) - np.arange(self.queries)[:, None]
        return distance <= self.offset if self.predicate == "sle" else distance < self.offset


MASKS = (
    Mask(33, 33, "sle", 0),
    Mask(65, 65, "slt", 0),
    Mask(37, 300, "sle", 263),
    Mask(300, 37, "sle", 0),
    Mask(300, 37, "sle", -263),
    Mask(70, 700, "slt", 100),
    Mask(1, 517, "sle", 516),
    Mask(517, 1, "sle", 0),
    Mask(40, 50, "sle", 1_000_000_000),
    Mask(40, 50, "sle", 2_000_000_000),
)


@cache
def executables() -> dict[str, Executable]:
    return compile_all("".join(mask.program for mask in MASKS))


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask.name)
def test_attention_under_a_mask(mask: Mask):
    rng = np.random.default_rng(1)
    q, k, v = (
        rng.standard_normal(shape, dtype=np.float32)
        for shape in ((mask.queries, 8), (mask.keys, 8), (mask.keys, 5))
    )
    visible = mask.visible()
    scores = np.where(visible, q.astype(np.float64) @ k.T.astype(np.float64), -np.inf)
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(axis=1, keepdims=True)
    wanted = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0) @ v
    result = executables()[mask.name](q, k, v)
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    assert np.array_equal(executables()[mask.name](q, k, v, threads=1), result)


def test_keys_that_nobody_sees_are_not_read():
    mask = Mask(300, 37, "sle", -263)
    executable = executables()[mask.name]
    q, k, v = (np.ones(shape, np.float32) for shape in ((300, 8), (37, 8), (37, 5)))
    v[36] = 7.0
    result = executable(q, k, v)
    assert np.all(result[:263] == 0), "rows that see nothing are 0"
    assert np.all(result[263:-1] == 1)
    np.testing.assert_allclose(result[-1], (36 + 7) / 37, rtol=1e-6)


def _masking(form: str, condition: SSAValue, score: SSAValue, hidden: SSAValue) -> list[Operation]:
    """Ways to write that a score is -inf where a condition does not hold (or, inverted, where it does)."""
    if form == "hidden":
        return [arith.SelectOp(condition, hidden, score)]
    if form == "not":
        true = arith.ConstantOp(builtin.IntegerAttr(1, 1))
        negated = arith.XOrIOp(condition, true)
        return [true, negated, arith.SelectOp(negated, score, hidden)]
    if form == "added":
        zero = arith.ConstantOp(builtin.FloatAttr(0.0, builtin.f32))
        bias = arith.SelectOp(condition, zero, hidden)
        return [zero, bias, arith.AddfOp(score, bias)]
    return [arith.SelectOp(condition, score, hidden)]


SIDES = st.tuples(st.sampled_from(["M", "N", 3, -5, 0, 11]), st.sampled_from(["M", "N", 3, -5, 0, 11]))


@given(
    predicate=st.sampled_from(["sle", "slt", "sge", "sgt", "eq", "ne", "ult"]),
    left=SIDES,
    right=SIDES,
    signs=st.tuples(st.booleans(), st.booleans()),
    form=st.sampled_from(["kept", "hidden", "not", "added"]),
)
def test_what_is_called_later_is_hidden(
    predicate: str,
    left: tuple[str | int, ...],
    right: tuple[str | int, ...],
    signs: tuple[bool, bool],
    form: str,
):
    """Every n that a mask is said to hide is hidden, for all m."""
    body = Block(arg_types=[builtin.f32])

    def term(what: str | int):
        if isinstance(what, int):
            op = arith.ConstantOp.from_int_and_width(what, 32)
            body.add_op(op)
            return op.result
        index = block.IndexOp(what)
        cast = arith.IndexCastOp(index, builtin.i32)
        body.add_ops([index, cast])
        return cast.result

    def side(terms: tuple[str | int, ...], plus: bool):
        op = (arith.AddiOp if plus else arith.SubiOp)(*map(term, terms))
        body.add_op(op)
        return op.result

    condition = arith.CmpiOp(side(left, signs[0]), side(right, signs[1]), predicate)
    hidden = arith.ConstantOp(builtin.FloatAttr(float("-inf"), builtin.f32))
    body.add_ops([condition, hidden])
    body.add_ops(_masking(form, condition.result, body.args[0], hidden.result))
    body.add_op(block.YieldOp(body.last_op.results[0]))
    item = block.item_type(("M", "N"), builtin.f32)
    source = Block(arg_types=[item])
    op = block.ElementwiseOp([source.args[0]], Region(body), item)
    found: dict[str, Until] = masked_later(op)

    def value(terms: tuple[str | int, ...], plus: bool, at: dict[str, int]) -> int:
        one, other = (each if isinstance(each, int) else at[each] for each in terms)
        return one + other if plus else one - other

    kept = {
        "sle": lambda a, b: a <= b,
        "slt": lambda a, b: a < b,
        "sge": lambda a, b: a >= b,
        "sgt": lambda a, b: a > b,
    }
    inverted = form in ("hidden", "not")
    for dim, until in found.items():
        for earlier in range(12):
            for later in range(earlier + until.offset + 1, earlier + until.offset + 12):
                at = {dim: later, until.dim: earlier}
                holds = kept[predicate](value(left, signs[0], at), value(right, signs[1], at))
                assert holds == inverted
