"""A part of the operator tests of the onnx package; `make onnx-suite` runs all of them."""

from typing import Any

import pytest
from bb.frontends.onnx.operators.table import TABLE
from onnx_suite import cases, check, foldable, operators, table

pytestmark = pytest.mark.long

MODULES = (
    *("softmax", "layernormalization", "rmsnormalization", "groupnormalization", "rotaryembedding"),
    *("matmul", "gemm", "einsum", "erf", "gelu", "where", "clip", "pow", "mod", "equal", "add"),
    *("reducemean", "reduce_log_sum_exp", "argmax", "gather", "gatherelements", "transpose", "reshape"),
    *("slice", "split", "concat", "expand", "pad", "trilu", "unsqueeze", "squeeze", "cumsum", "onehot"),
    *("rangeop", "constantofshape", "shape", "tile"),
)


@pytest.fixture(scope="module")
def outcomes() -> list[tuple[Any, Any]]:
    return [(case, check(case)) for case in cases(MODULES)]


def test_no_test_fails(outcomes: list[tuple[Any, Any]]):
    failed = {case.name: outcome.detail for case, outcome in outcomes if outcome.kind == "failed"}
    assert failed == {}


def test_most_tests_pass(outcomes: list[tuple[Any, Any]]):
    print(*table(outcomes), sep="\n")
    passed = [case.name for case, outcome in outcomes if outcome.kind == "passed"]
    assert len(passed) > 300


def test_what_is_not_supported_is_named(outcomes: list[tuple[Any, Any]]):
    for case, outcome in outcomes:
        if outcome.kind == "unsupported":
            assert outcome.detail, case.name


def test_known_inputs_are_computed_by_the_importer():
    chosen = [case for case in cases(MODULES) if foldable(case)]
    found = [(case, check(case, fold=True)) for case in chosen]
    assert {case.name: outcome.detail for case, outcome in found if outcome.kind == "failed"} == {}
    assert sum(outcome.kind == "passed" for _, outcome in found) > 60


def test_the_tests_cover_the_table(outcomes: list[tuple[Any, Any]]):
    tested = {operator for case, _ in outcomes for operator in operators(case)}
    assert {"Softmax", "LayerNormalization", "MatMul", "Gather"} <= tested & {name for _, name in TABLE}
