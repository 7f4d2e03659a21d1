"""Grouping of operations into kernels: in any order, with any operations on arrays between, values stay."""

from __future__ import annotations

import numpy as np
import pytest
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.block_to_kernel.segments import is_host, segments
from bb.lowering.pipelines import PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.interpreter.functions import interpret
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import FILECHECK
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

CASES = FILECHECK / "lowering" / "block_to_kernel" / "segments.mlir"

VECTOR = "!block.vector<M x f32>"
GLOBAL = "!block.vector<M x f32, global>"
TENSOR = "tensor<4xf32>"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A function whose operations on items, arrays and views of both stand in any order."""
    lines: list[str] = []
    # By tier: what later operations may read.
    names: dict[str, list[str]] = {"tensor": ["x"], "global": [], "local": []}

    def add(tier: str, text: str) -> None:
        name = f"v{len(lines)}"
        lines.append(f"  %{name} = {text}")
        names[tier].append(name)

    def one(tier: str) -> str:
        return "%" + draw(st.sampled_from(names[tier]))

    steps = {
        "array": lambda: add("tensor", f"array.relu {one('tensor')} : {TENSOR}"),
        "view": lambda: add("global", f"block.partition {one('tensor')} [M] : {TENSOR} -> {GLOBAL}"),
        "load": lambda: add("local", f"block.load {one('global')} : {GLOBAL}"),
        "add": lambda: add("local", f"block.add {one('local')}, {one('local')} : {VECTOR}"),
        "store": lambda: add("global", f"block.store {one('local')} : {VECTOR}"),
        "assemble": lambda: add("tensor", f"block.assemble {one('global')} [M] : {GLOBAL} -> {TENSOR}"),
    }
    needs = {"load": "global", "add": "local", "store": "local", "assemble": "global"}
    steps["view"]()
    for _ in range(draw(st.integers(1, 16))):
        possible = [name for name in steps if name not in needs or names[needs[name]]]
        steps[draw(st.sampled_from(possible))]()
    returned = names["tensor"][-3:]
    types = ", ".join([TENSOR] * len(returned))
    return (
        f"func.func @f(%x: {TENSOR}) -> ({types}) attributes "
        "{block.dims = {M = #block.dim<4, whole>}} {\n"
        + "\n".join(lines)
        + f"\n  func.return {', '.join('%' + name for name in returned)} : {types}\n}}\n"
    )


@pytest.mark.fuzz
@settings(max_examples=150)
@given(programs())
def test_groups_run_in_order(text: str) -> None:
    module = parse_module(text)
    inputs = [np.array([1.0, -2.0, 0.5, -0.25])]
    expected = interpret(module, inputs).results
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    body = function.body.block
    groups = segments(body)
    home: dict[Operation, int] = {}
    for number, group in enumerate(groups):
        assert len(group) == 1 or not any(is_host(op) for op in group), "only kernels have several operations"
        home |= dict.fromkeys(group, number)
    assert list(home) == [op for group in groups for op in group]
    assert len(home) == len(list(body.ops))
    for op in list(home):
        for value in op.operands:
            if block.is_local(value.type):
                assert isinstance(value.owner, Operation)
                assert home[value.owner] == home[op], "local items stay in their kernel"
    for op in home:
        op.detach()
    body.add_ops(home)
    verify(module)
    for got, wanted in zip(interpret(module, inputs).results, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.fuzz
@settings(max_examples=50)
@given(programs())
def test_every_order_has_kernels(text: str) -> None:
    PassPipeline("block-to-kernel").run(parse_module(text))


def test_values_of_kernels_that_are_cut() -> None:
    module = parse_module(CASES.read_text())
    for op in list(module.walk()):
        if isinstance(op, FuncOp) and op.sym_name.data not in ("across", "crossed"):
            op.detach()
    executables = compile_all(str(module), pipeline="array-decompose,block-to-kernel")
    assert len(executables) == 2
    x = np.linspace(-2.0, 2.0, 8, dtype=np.float32)
    for name, executable in executables.items():
        found = executable(x)
        found = found if isinstance(found, tuple) else (found,)
        for got, wanted in zip(found, interpret(module, [x], entry=name).results, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
