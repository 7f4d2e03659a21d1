"""Laws keep values: each case in which a law fires, evaluated before and after; and faulty laws are noticed.

A faulty law is the law with a fault in what it inserts: an operator forgotten (exp(c) replaced by c, a scale
left out), rows taken for columns, a term or factor dropped (the n·c² of a variance), a coefficient or an
exponent wrong (a trip count dropped), the factors of an outer product transposed, a maximum for a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from bb.dialects import block
from bb.dialects.block import CoefficientAttr, Kind
from bb.dialects.verification import verify
from bb.passes.rules.law import AnyLaw
from bb.passes.rules.table import all_laws
from bb.runtime.interpreter.blocks import Value
from block_evaluation import apply_once, difference, evaluate, random_arguments
from law_cases import LawCase, law_cases
from law_probes import PROBE, TOLERANCE, Probes, assert_applications_keep_items
from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener
from xdsl.utils.exceptions import DiagnosticException

FIRES = law_cases("fires")


@pytest.mark.parametrize("law", all_laws(), ids=lambda law: law.title())
def test_every_variant_is_shown(law: type[AnyLaw]):
    assert any(case.law is law for case in FIRES)


@pytest.mark.parametrize("case", FIRES, ids=str)
def test_a_law_keeps_the_value(case: LawCase):
    law, function = case.law(), case.program()
    arguments = random_arguments(function)
    expected, _ = evaluate(function, arguments)
    assert apply_once(law, function), "the law does not fire"
    for _ in range(20):
        verify(function.get_toplevel_object())
        assert difference(evaluate(function, arguments)[0], expected) <= TOLERANCE
        if not apply_once(law, function):
            return
    pytest.fail("the law does not come to an end")


@pytest.mark.parametrize("case", FIRES, ids=str)
def test_a_law_keeps_every_item_on_the_way(case: LawCase):
    function = case.program()
    arguments = random_arguments(function)

    def evaluation(function: FuncOp, probes: Probes) -> list[Value]:
        return evaluate(function, arguments, callbacks={PROBE: probes})[0]

    assert assert_applications_keep_items([case.law], function, evaluation)


# Faults

Fault = Callable[[Operation], None]

_TURNED: dict[type[Operation], type[block.BlockVectorOp]] = {
    block.RowScaleOp: block.ColScaleOp,
    block.ColScaleOp: block.RowScaleOp,
    block.RowShiftOp: block.ColShiftOp,
    block.ColShiftOp: block.RowShiftOp,
}
_CONFUSED: dict[type[Operation], type[block.BlockVectorOp]] = {
    block.RowScaleOp: block.RowShiftOp,
    block.ColScaleOp: block.ColShiftOp,
    block.RowShiftOp: block.RowScaleOp,
    block.ColShiftOp: block.ColScaleOp,
}


def _exchange(op: Operation, new: Operation) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    for old, value in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _forget(index: int) -> Fault:
    """The operator gives one of its operands as it is."""
    return lambda op: op.results[0].replace_all_uses_with(op.operands[index])


def _with_coefficient(index: int, factor: CoefficientAttr | None) -> Fault:
    """A term multiplied by a factor; without a coefficient for None."""

    def fault(op: Operation) -> None:
        assert isinstance(op, block.LinearOp)
        changed = list(op.coefficients)
        changed[index] = CoefficientAttr(1) if factor is None else changed[index] * factor
        op.coefficients = ArrayAttr(changed)

    return fault


def _without_term(index: int) -> Fault:
    def fault(op: Operation) -> None:
        if isinstance(op, block.LinearOp):
            _exchange(op, block.LinearOp([pair for i, pair in enumerate(op.pairs) if i != index]))
        else:
            assert isinstance(op, block.MonomialOp)
            _exchange(op, block.MonomialOp([pair for i, pair in enumerate(op.pairs) if i != index]))

    return fault


def _with_exponent(index: int) -> Fault:
    def fault(op: Operation) -> None:
        assert isinstance(op, block.MonomialOp)
        changed = list(op.exponents)
        changed[index] = IntAttr(changed[index].data + (1 if changed[index].data != -1 else -1))
        op.exponents = ArrayAttr(changed)

    return fault


def _with_kind(index: int) -> Fault:
    def fault(op: Operation) -> None:
        assert isinstance(op, block.MapOp)
        kinds = list(op.kinds)
        other = Kind.Max if kinds[index].data is Kind.Sum else Kind.Sum
        kinds[index] = block.KindAttr(other)
        op.kinds = ArrayAttr(kinds)

    return fault


def _remade(kinds: dict[type[Operation], type[block.BlockVectorOp]]) -> Fault:
    def fault(op: Operation) -> None:
        assert isinstance(op, block.BlockVectorOp)
        _exchange(op, kinds[type(op)](op.block, op.vector))

    return fault


def _transpose(op: Operation) -> None:
    assert isinstance(op, block.OuterOp)
    _exchange(op, block.OuterOp(op.rhs, op.lhs))


def faults_in(op: Operation) -> Iterator[tuple[str, Fault]]:
    """Faults that an operation may have that a law inserted."""
    if len(op.results) == 1 and not isinstance(op, block.MapOp):
        for index, value in enumerate(op.operands):
            if value.type == op.results[0].type:
                yield f"gives operand {index}", _forget(index)
    match op:
        case block.LinearOp():
            for index, coefficient in enumerate(op.coefficients):
                yield f"coefficient {index} doubled", _with_coefficient(index, CoefficientAttr(2))
                if coefficient != CoefficientAttr(1):
                    yield f"coefficient {index} dropped", _with_coefficient(index, None)
                if len(op.terms) > 1:
                    yield f"term {index} dropped", _without_term(index)
        case block.MonomialOp():
            for index in range(len(op.factors)):
                yield f"exponent {index} wrong", _with_exponent(index)
                if len(op.factors) > 1:
                    yield f"factor {index} dropped", _without_term(index)
        case block.BlockVectorOp():
            yield "rows for columns", _remade(_TURNED)
            yield "scale for shift", _remade(_CONFUSED)
        case block.OuterOp():
            yield "transposed", _transpose
        case block.MapOp():
            for index, kind in enumerate(op.result_kinds):
                if kind.reduces and op.results_[index].uses:
                    yield f"result {index} of another kind", _with_kind(index)
        case _:
            pass


def inserted_by(law: AnyLaw, function: FuncOp) -> list[Operation]:
    """Apply a law once; the used operations that it inserted, in order."""
    inserted: list[Operation] = []
    listener = PatternRewriterListener(operation_insertion_handler=[inserted.append])
    for op in list(function.walk()):
        rewriter = PatternRewriter(op)
        rewriter.extend_from_listener(listener)
        law.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            break
    return [op for op in function.walk() if op in inserted and any(result.uses for result in op.results)]


def is_noticed(function: FuncOp, arguments: Sequence[Value], expected: Sequence[Value]) -> bool:
    """True if a program is invalid, or has other results than expected."""
    try:
        verify(function.get_toplevel_object())
    except DiagnosticException:
        return True
    return difference(evaluate(function, arguments)[0], expected) > TOLERANCE


@pytest.mark.parametrize("case", FIRES, ids=str)
def test_a_faulty_law_is_noticed(case: LawCase):
    program = case.program()
    arguments = random_arguments(program)
    expected, _ = evaluate(program, arguments)
    unnoticed: list[str] = []
    for position, op in enumerate(inserted_by(case.law(), program)):
        for number, (name, _) in enumerate(faults_in(op)):
            mutant = case.program()
            target = inserted_by(case.law(), mutant)[position]
            fault = list(faults_in(target))[number][1]
            fault(target)
            if not is_noticed(mutant, arguments, expected):
                unnoticed.append(f"{op.name}: {name}")
    assert not unnoticed


def test_few_laws_have_nothing_that_could_be_faulty():
    """The other laws only replace one value by another, or move what there is."""
    faulty = {
        case.law
        for case in FIRES
        if any(any(faults_in(op)) for op in inserted_by(case.law(), case.program()))
    }
    assert len(faulty) >= len(all_laws()) - 9
