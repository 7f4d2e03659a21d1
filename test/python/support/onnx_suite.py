"""The operator tests of the onnx package, with their own data, run on imported programs.

A test passes, or it is not supported, and the importer then names what is missing; all else is a failure.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import bb
import numpy as np
from bb.frontends.onnx.folding import FOLDED
from bb.frontends.onnx.importer import Imported, imported
from onnx import TensorProto, numpy_helper

ULPS = 4
"""Units in the last place that results of 16 bits may be off where that is more than a test's own tolerance.

The suite's reference rounds after each of its steps, and an operation here in the end.
"""

MOST_KNOWN = 64
"""Elements of an integer input, such as a shape, that is fixed where a program needs its values."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test: `passed`, `unsupported` or `failed`, and the importer's reasons or the error."""

    kind: str
    detail: str = ""


@cache
def cases(modules: tuple[str, ...] | None = None) -> list[Any]:
    """The tests of all modules of `onnx.backend.test.case.node`, or of some, if no others are imported."""
    node = import_module("onnx.backend.test.case.node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, about the infinities and overflows that tests are about
        if modules is None:
            node.collect_testcases(None)
        else:
            for name in modules:
                import_module(f"{node.__name__}.{name}")
    return list(node._NodeTestCases)


def data_of(case: Any) -> tuple[list[Any], list[Any]]:
    """The inputs and the expected outputs as arrays; what is no tensor stays as it is."""
    inputs, outputs = case.data_sets[0]
    return [_array(each) for each in inputs], [_array(each) for each in outputs]


def _array(value: Any) -> Any:
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return value if value is None or isinstance(value, list) else np.asarray(value)


def check(case: Any, *, target: str = "interpreter", fold: bool = False) -> Outcome:
    """Run a test. With `fold`, all inputs are known, so that the importer computes the results itself."""
    inputs, expected = data_of(case)
    arrays = dict(zip((each.name for each in case.model.graph.input), inputs, strict=False))
    try:
        program = _imported(case, arrays, fold)
    except bb.ModelError as error:
        return Outcome("unsupported", str(error))
    except Exception as error:
        return Outcome("failed", f"the import raises {type(error).__name__}: {error}")
    given = {each.argument: arrays[each.name] for each in program.inputs if each.argument}
    try:
        with np.errstate(all="ignore"):
            found = bb.run(program.module, {**given, **program.weights}, target)
    except Exception as error:
        return Outcome("failed", f"the run raises {type(error).__name__}: {error}")
    results = found if isinstance(found, tuple) else (found,)
    problems = [
        problem
        for result, wanted in zip(results, expected, strict=True)
        if (problem := _difference(result, wanted, case.rtol, case.atol)) is not None
    ]
    return Outcome("failed", problems[0]) if problems else Outcome("passed")


def _imported(case: Any, arrays: dict[str, Any], fold: bool) -> Imported:
    """The program; if it cannot be imported as it is, integers such as shapes and axes are known."""
    if fold:
        return imported(case.model, values=arrays)
    try:
        return imported(case.model)
    except bb.ModelError:
        known = {name: array for name, array in arrays.items() if _is_parameter(array)}
        return imported(case.model, values=known)


def _is_parameter(array: Any) -> bool:
    if not isinstance(array, np.ndarray):
        return False
    return array.size == 1 or (array.dtype.kind in "ib" and array.size <= MOST_KNOWN)


def _difference(found: Any, wanted: Any, rtol: float, atol: float) -> str | None:
    """A sentence about a result that is wrong; None for one that is right."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"a result is {found.dtype} {found.shape}, expected {wanted.dtype} {wanted.shape}"
    if found.dtype.kind in "ib":
        return None if (found == wanted).all() else "an integer differs"
    bits = {"float16": 11, "bfloat16": 8}.get(str(found.dtype))
    rtol = rtol if bits is None else max(rtol, ULPS * 2.0**-bits)
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        return f"results differ by up to {np.nanmax(np.abs(a - b))}"


def foldable(case: Any) -> bool:
    """True for a test of one operator that the importer also computes itself."""
    nodes = case.model.graph.node
    return len(nodes) == 1 and nodes[0].op_type in FOLDED


def operators(case: Any) -> set[str]:
    """The operators of a test, with their domains where these are not ONNX's own."""
    return {f"{node.domain}.{node.op_type}".lstrip(".") for node in case.model.graph.node}


def table(outcomes: Iterable[tuple[Any, Outcome]]) -> list[tuple[str, int, int, int]]:
    """Tests that passed, are not supported, and failed, by the operator that a test is named after."""
    counts: dict[str, list[int]] = {}
    for case, outcome in outcomes:
        row = counts.setdefault(_subject(case), [0, 0, 0])
        row[("passed", "unsupported", "failed").index(outcome.kind)] += 1
    return sorted((name, *row) for name, row in counts.items())


def _subject(case: Any) -> str:
    """The operator of a test of one node; `(expanded)` stands for the definitions of others."""
    found = operators(case)
    return found.pop() if len(found) == 1 else "(several operators)"
