"""Every example, interpreted as an array program, agrees with its float64 numpy reference."""

from __future__ import annotations

import re

import pytest
from array_evaluation import DTYPES, evaluate
from bb.dialects.context import make_context
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.passes.array.decompose import ArrayDecomposePass
from example_programs import (
    EXAMPLES,
    Case,
    assert_agree,
    cases,
    derived_dims,
    load,
    odd_sizes,
    resized,
    respell,
)
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long

SIZES = ("ones", "primes", "past_block")

BOUNDS = {"f64": 1e-13, "f32": 3e-6, "f16": 4e-3, "bf16": 3e-2}
"""The largest error allowed, relative to the largest element of the result."""


def parsed(text: str, name: str) -> ModuleOp:
    module = parse_module(text, f"{name}.mlir")
    verify(module)
    return module


@pytest.mark.parametrize("name", EXAMPLES)
def test_dims_name_every_extent(name: str) -> None:
    text, module = load(name)
    types = re.findall(r"\btensor<([^>]*)>", text)
    extents = {int(extent) for type in types for extent in type.split("x")[:-1]}
    assert len(set(module.DIMS.values())) == len(module.DIMS)
    assert extents - {1} == set(module.DIMS.values())
    for dim, factors in derived_dims(name).items():
        left, right = (module.DIMS[factor] if isinstance(factor, str) else factor for factor in factors)
        assert module.DIMS[dim] == left * right


@pytest.mark.parametrize("name", EXAMPLES)
def test_references_name_every_function(name: str) -> None:
    text, module = load(name)
    assert re.findall(r"^func\.func @(\w+)\(", text, re.MULTILINE) == list(module.REFERENCES)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_float64(case: Case) -> None:
    arrays = case.inputs()
    actual = evaluate(parsed(case.text, case.name), case.entry, arrays, float64=True)
    assert_agree(actual, case.expected(arrays), 1e-10)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_odd_extents(case: Case, size: str) -> None:
    text, dims = resized(case.name, odd_sizes(case.name)[size])
    arrays = case.inputs(dims)
    actual = evaluate(parsed(text, case.name), case.entry, arrays, float64=True)
    assert_agree(actual, case.expected(arrays), 1e-10)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_unknown_row_extents(case: Case) -> None:
    text = respell(case.text, case.module.DIMS, dict.fromkeys(case.module.DYNAMIC, "?"))
    module = parsed(text, case.name)
    rows = dict(zip(case.module.DYNAMIC, (37, 66), strict=False))
    for dims in (case.module.DIMS, case.module.DIMS | rows):
        arrays = case.inputs(dims)
        actual = evaluate(module, case.entry, arrays, float64=True)
        assert_agree(actual, case.expected(arrays), 1e-10)


@pytest.mark.parametrize("element_type", BOUNDS)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_element_types(case: Case, element_type: str) -> None:
    dtype = DTYPES[element_type]
    text = respell(case.text, case.module.DIMS, {}, element_type)
    arrays = [array.astype(dtype) for array in case.inputs()]
    actual = evaluate(parsed(text, case.name), case.entry, arrays)
    assert all(array.dtype == dtype for array in actual)
    assert_agree(actual, case.expected(arrays), BOUNDS[element_type])


@pytest.mark.parametrize("unknown_rows", [False, True], ids=["static", "unknown"])
@pytest.mark.parametrize("case", cases(), ids=str)
def test_decomposed(case: Case, unknown_rows: bool) -> None:
    unknown = dict.fromkeys(case.module.DYNAMIC, "?") if unknown_rows else {}
    module = parsed(respell(case.text, case.module.DIMS, unknown), case.name)
    ArrayDecomposePass().apply(make_context(), module)
    verify(module)
    arrays = case.inputs()
    assert_agree(evaluate(module, case.entry, arrays, float64=True), case.expected(arrays), 1e-10)
