"""On random programs each application of each law, and the whole of phase 2, keeps all values.

`block_programs` draws programs for the laws; `array_programs` draws array programs, which `array-to-block` turns
into block programs as users have them. A single application is checked on every item of the program, not on its
results alone (where errors can cancel): a probe follows each operation that makes an item, and sees what takes
the place of that item.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from array_programs import ArrayProgram, array_programs
from bb.dialects import block
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.normalize import Normalizer
from bb.passes.rules.law import AnyLaw
from bb.passes.rules.table import all_laws
from bb.passes.structural_keys import Interner, program_key
from bb.runtime.interpreter import interpret, select_function
from block_evaluation import difference, evaluate
from block_programs import BlockProgram, block_programs
from example_programs import Case, cases
from hypothesis import HealthCheck, given, settings
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

TOLERANCE = 1e-9
PROBE = "probe"


def examples(count: int) -> settings:
    """`count` examples in the suite, as many as the profile says in 'make fuzz'."""
    calm = settings(suppress_health_check=list(HealthCheck), deadline=None)
    return calm if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else settings(calm, max_examples=count)


class Probes:
    """What the items of a program are, each time that they are computed."""

    def __init__(self) -> None:
        self.seen: dict[int, list[np.ndarray]] = {}

    def __call__(self, item: np.ndarray, number: int) -> np.ndarray:
        self.seen.setdefault(number, []).append(np.array(item))
        return item


def with_probes(function: FuncOp) -> FuncOp:
    """A copy of a function in which an opaque operation without users follows each maker of a local item."""
    copy = function.clone()
    ModuleOp([copy])
    made = [
        (op, result)
        for op in copy.walk()
        for result in op.results
        if block.is_local(result.type) and not isinstance(op, block.LoadOp)
    ]
    for number, (op, item) in enumerate(made):
        probe = block.CustomOp(PROBE, [item], [item.type])
        probe.attributes["number"] = IntegerAttr(number, i64)
        assert op.parent is not None
        op.parent.insert_op_after(probe, op)
    return copy


def observe(function: FuncOp, program: BlockProgram) -> list[object]:
    """The results of a function, and what its probes see."""
    probes = Probes()
    results, _ = evaluate(function, program.arguments, callbacks={PROBE: probes})
    return [results, *(probes.seen[number] for number in sorted(probes.seen))]


def applicable(law: AnyLaw, function: FuncOp) -> Iterator[tuple[int, int]]:
    """The sites at which a law applies: the number of the operation, and of the site there."""
    for position, op in enumerate(function.walk()):
        if isinstance(op, law.anchors):
            for index, site in enumerate(law.sites(op)):
                if all(check.holds for check in law.checks(site)):
                    yield position, index


def apply_at(law: AnyLaw, function: FuncOp, position: int, index: int) -> None:
    op = list(function.walk())[position]
    site = list(law.sites(op))[index]
    law.rewrite(op, site, PatternRewriter(op))


@pytest.mark.fuzz
@examples(40)
@given(block_programs())
def test_each_application_of_a_law_keeps_every_item(program: BlockProgram) -> None:
    probed = with_probes(program.function)
    expected = observe(probed, program)
    for law_class in all_laws():
        law = law_class()
        for position, index in list(applicable(law, probed)):
            copy = probed.clone()
            module = ModuleOp([copy])
            apply_at(law, copy, position, index)
            verify(module)
            actual = observe(copy, program)
            assert len(actual) == len(expected), law.title()
            for got, wanted in zip(actual, expected, strict=True):
                assert difference(got, wanted) <= TOLERANCE, law.title()
