"""Questions about long chains of operations: no answer recurses along the flow of data."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator

import pytest
from bb.dialects import block
from bb.dialects.block import CoefficientAttr
from bb.passes.analysis.causal_masks import (
    _comparisons,  # pyright: ignore[reportPrivateUsage]
    _linear_form,  # pyright: ignore[reportPrivateUsage]
)
from bb.passes.analysis.data_flow import dependencies_first, reachable
from bb.passes.analysis.facts import is_positive
from bb.passes.analysis.padding import ZERO, Padding
from bb.passes.block.stabilize.extents import power_of_extent
from bb.passes.block.stabilize.needs import is_summed
from bb.passes.block.stabilize.variance import _key, _product  # pyright: ignore[reportPrivateUsage]
from bb.passes.fusion.termination import _Weigher  # pyright: ignore[reportPrivateUsage]
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue
from xdsl.utils.test_value import create_ssa_value

LENGTH = 1000
VECTOR = block.item_type(("M",), f32)
NUMBER = block.item_type((), f32)
BLOCK = block.item_type(("M", "N"), f32)


@pytest.fixture(autouse=True)
def shallow_stack() -> Iterator[None]:
    """Allow far fewer nested calls than a chain has operations."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    yield
    sys.setrecursionlimit(limit)


def chain(first: SSAValue, step: Callable[[SSAValue], object]) -> SSAValue:
    """The last of many values, each made from the one before."""
    value = first
    for _ in range(LENGTH):
        op = step(value)
        assert isinstance(
            op, block.LinearOp | block.MonomialOp | block.AddOp | block.RowShiftOp | arith.AddiOp
        )
        value = op.results[0]
    return value


def doubled(value: SSAValue) -> block.AddOp:
    """Both operands are the same, so that a walk without memory takes exponential time."""
    return block.AddOp(value, value)


def test_positive_chain() -> None:
    last = chain(create_ssa_value(VECTOR), lambda value: block.MonomialOp([(value, 2), (value, 1)]))
    assert not is_positive(last)


def test_padding_of_chain() -> None:
    load = block.LoadOp(create_ssa_value(block.item_type(("M",), f32, block.Tier.Global)))
    last = chain(load.results[0], doubled)
    assert Padding({"M": block.DimAttr(5, 4)}).of(last, "M") == ZERO


def test_extent_power_of_chain() -> None:
    last = chain(create_ssa_value(NUMBER), lambda value: block.MonomialOp([(value, -1)]))
    assert power_of_extent(last) is None


def test_summed_vector_after_chain() -> None:
    first = create_ssa_value(VECTOR)
    chain(first, lambda value: block.LinearOp([(CoefficientAttr(2), value), (CoefficientAttr(3), value)]))
    assert not is_summed(first)


def test_factors_of_chain() -> None:
    first = create_ssa_value(VECTOR)
    last = chain(first, lambda value: block.MonomialOp([(value, 1), (create_ssa_value(VECTOR), 1)]))
    assert _product(last, {})[first] == 1


def test_key_of_shifted_chain() -> None:
    first, vector = create_ssa_value(BLOCK), create_ssa_value(VECTOR)
    once, twice = (chain(first, lambda value: block.RowShiftOp(value, vector)) for _ in range(2))
    assert _key(once) == _key(twice) != _key(first)


def test_weight_of_chain() -> None:
    assert _Weigher().of(chain(create_ssa_value(VECTOR), doubled)) > 2**LENGTH


def test_index_in_many_steps() -> None:
    row, column = (arith.IndexCastOp(block.IndexOp(dim).results[0], i32).results[0] for dim in ("M", "N"))
    last = chain(row, lambda value: arith.AddiOp(value, value))
    assert _linear_form(last) == {"M": 2**LENGTH}
    condition = arith.CmpiOp(column, last, "sle").results[0]
    for _ in range(LENGTH):
        condition = arith.AndIOp(condition, condition).results[0]
    assert list(_comparisons(condition, True)) == [("sle", column, last)]


def test_walks_visit_each_value_once() -> None:
    sources = {number: [number - 1, number - 2] for number in range(2, 5 * LENGTH)}
    order = list(dependencies_first(5 * LENGTH - 1, lambda number: sources.get(number, [])))
    assert sorted(order) == list(range(5 * LENGTH))
    position = {number: index for index, number in enumerate(order)}
    assert all(position[source] < position[number] for number in sources for source in sources[number])
    found = list(reachable(5 * LENGTH - 1, lambda number: sources.get(number, [])))
    assert sorted(found) == list(range(5 * LENGTH))
