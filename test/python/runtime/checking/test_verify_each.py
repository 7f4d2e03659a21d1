"""`bb-opt --verify-each` finds the pass or rule that is wrong, also where errors cancel in the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.passes.rules import exp_of_shift, leave_sum, swap_scale_dot, swap_shift_dot
from bb.passes.rules.law import AnyLaw, Placer
from bb.passes.rules.shared.dot_operands import DotOperand
from bb.passes.rules.shared.items import linear
from bb.runtime.checking.differences import difference
from bb.runtime.checking.verify_each import VerifyEach, block_sizes, verified
from bb.tools.bb_opt import main
from example_programs import load
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import DiagnosticException

TO_BLOCKS = "array-decompose,array-to-block"
FUSE = f"{TO_BLOCKS},block-fuse,block-stabilize"

SOFTMAX = """func.func @f(%x: tensor<10x14xf32>) -> tensor<10x14xf32> {
  %y = array.softmax %x axis 1 : tensor<10x14xf32>
  func.return %y : tensor<10x14xf32>
}
"""
LAYERNORM = """func.func @f(%x: tensor<10x14xf32>, %w: tensor<14x6xf32>) -> tensor<10x6xf32> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<10x14xf32>
  %y = array.matmul %n, %w : tensor<10x14xf32>, tensor<14x6xf32> -> tensor<10x6xf32>
  func.return %y : tensor<10x6xf32>
}
"""
SHIFTED_EXP = """func.func @f(%x: tensor<10x14xf32>, %c: tensor<10xf32>) -> tensor<10x14xf32>
    attributes {block.dims = {M = #block.dim<10>, N = #block.dim<14>}} {
  %X = block.partition %x [M, N] : tensor<10x14xf32> -> !block.list<M, N, block<M x N x f32>>
  %C = block.partition %c [M] : tensor<10xf32> -> !block.list<M, vector<M x f32>>
  %Y = block.map @M (%r = %X, %v = %C) -> (stack)
      : !block.list<M, N, block<M x N x f32>>, !block.list<M, vector<M x f32>> {
    %Y_m = block.map @N (%e = %r) -> (stack) : !block.list<N, block<M x N x f32>> {
      %a = block.load %e : !block.block<M x N x f32, global>
      %b = block.load %v : !block.vector<M x f32, global>
      %s = block.row_shift %a, %b : !block.block<M x N x f32>, !block.vector<M x f32>
      %p = block.elementwise (%q = %s) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
        %0 = math.exp %q : f32
        block.yield %0 : f32
      }
      %t = block.row_sum %p acc f32 : !block.block<M x N x f32>
      %n = block.row_scale %p, %t : !block.block<M x N x f32>, !block.vector<M x f32>
      %o = block.store %n : !block.block<M x N x f32>
      block.yield %o : !block.block<M x N x f32, global>
    }
    block.yield %Y_m : !block.list<N, block<M x N x f32>>
  }
  %y = block.assemble %Y [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<10x14xf32>
  func.return %y : tensor<10x14xf32>
}
"""
RMSNORM = LAYERNORM.replace("layer_norm %x", "rms_norm %x")


def check(text: str, pipeline: str, seed: int = 0) -> str:
    """Run a checked pipeline; the message with which it fails, or nothing."""
    module = parse_module(text, "program.mlir")
    try:
        verified(PassPipeline(pipeline), seed).run(module)
    except DiagnosticException as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("text", [SOFTMAX, LAYERNORM, RMSNORM])
def test_correct_passes_are_accepted(text: str, seed: int):
    assert check(text, FUSE, seed) == ""
    assert check(text, f"{TO_BLOCKS},block-fuse{{snapshot=all whole=N}},block-stabilize", seed) == ""


@pytest.mark.parametrize("name", ["attention", "rmsnorm_ffn_swiglu", "logsumexp", "layernorm_matmul"])
def test_examples_are_accepted(name: str):
    assert check(load(name)[0], FUSE) == ""


def test_what_is_checked():
    """Each function gets random and hard arrays; what has an element of -inf only where that is harmless."""
    checks = VerifyEach()
    checks.begin(parse_module(SOFTMAX + LAYERNORM.replace("@f", "@g"), "program.mlir"))
    kinds = ["random arrays (seed 0)", "large values", "tiny values", "equal rows"]
    assert [trial.kind for trial in checks.trials["f"]] == [*kinds, "an element of -inf"]
    assert [trial.kind for trial in checks.trials["g"]] == kinds


def test_blocks_leave_remainders():
    module = PassPipeline(TO_BLOCKS).run(parse_module(SOFTMAX, "program.mlir"))
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    dims = block.parse_dims(function.attributes[block.DIMS])
    sizes = block_sizes(function)
    for name, dim in dims.items():
        assert dim.static_extent is not None
        assert sizes[name] < dim.static_extent
        assert dim.static_extent % sizes[name] != 0


# Faulty laws


def _exp_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """exp(x + c) = diag(c)·exp(x): cancels in a softmax."""
    monkeypatch.setattr(exp_of_shift, "exponential", lambda place, vector, kind: vector)


def _term_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The n·c² of a sum of squares."""
    monkeypatch.setattr(swap_shift_dot, "linear", lambda place, *pairs: linear(place, *pairs[:-1]))


def _scale_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def rewrite(law: AnyLaw, op: block.DotOp, site: Any, rewriter: PatternRewriter) -> None:
        dot = DotOperand(op, True).contract(Placer(rewriter, op), site.scale.block)
        rewriter.replace(op, (), (dot,))

    monkeypatch.setattr(swap_scale_dot.DotOfLeftScale, "rewrite", rewrite)


def _trips_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leave_sum, "quantity", lambda op, name, dim: block.CoefficientAttr(1))


@pytest.mark.parametrize(
    ("text", "plant", "rule"),
    [
        (SOFTMAX, _exp_is_forgotten, "rule exp-of-shift"),
        (LAYERNORM, _term_is_missing, "rule swap-shift-dot"),
        (RMSNORM, _scale_is_forgotten, "rule swap-scale-dot (left operand)"),
    ],
    ids=["exp", "term", "scale"],
)
def test_a_faulty_law_is_found_where_it_fires(
    text: str, plant: Callable[[pytest.MonkeyPatch], None], rule: str, monkeypatch: pytest.MonkeyPatch
):
    assert check(text, FUSE) == ""
    plant(monkeypatch)
    message = check(text, FUSE)
    assert "pass 'block-fuse'" in message
    assert rule in message
    assert message.startswith("program.mlir:")
    assert " was " in message


def test_a_fault_that_cancels_is_found(monkeypatch: pytest.MonkeyPatch):
    """The results of the softmax are right although a law is wrong."""
    _exp_is_forgotten(monkeypatch)
    pipeline = f"{TO_BLOCKS},block-fuse{{extend=false}}"
    checks = VerifyEach()
    before = parse_module(SOFTMAX, "program.mlir")
    checks.begin(before)
    after = PassPipeline(pipeline).run(before.clone())
    checks.check(PassPipeline("block-fuse").passes[0], after)
    assert "rule exp-of-shift" in check(SOFTMAX, pipeline)


def test_a_dropped_trip_count_is_found(monkeypatch: pytest.MonkeyPatch):
    _trips_are_dropped(monkeypatch)
    text = """func.func @f(%x: tensor<10x14xf32>) -> tensor<10xf32> {
  %m = array.reduce max %x axes [1] keepdims : tensor<10x14xf32> -> tensor<10x1xf32>
  %c = array.elementwise (%a = %x, %b = %m) : tensor<10x14xf32>, tensor<10x1xf32> -> tensor<10x14xf32> {
    %d = arith.subf %a, %b : f32
    array.yield %d : f32
  }
  %s = array.reduce sum %c axes [1] : tensor<10x14xf32> -> tensor<10xf32>
  func.return %s : tensor<10xf32>
}
"""
    assert "rule leave-sum" in check(text, FUSE)


# Scripts

SCRIPT = """
from dataclasses import dataclass
from bb.dialects import block
from bb.lowering.pipelines import register_pass, register_rule
from bb.passes.rules.exp_of_shift import ExpOfShift
from bb.passes.rules.shared.items import copy_elementwise
from bb.passes.rules.law import Placer
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern


class Faulty(ExpOfShift):
    '''exp(x + c) = diag(c) exp(x), which is wrong.'''

    name = "faulty-law"

    def rewrite(self, op, site, rewriter):
        place = Placer(rewriter, op)
        freed = copy_elementwise(place, op, [site.block])
        rewriter.replace(op, (), (place(block.RowScaleOp(freed, site.vector)),))


class FaultyPattern(RewritePattern):
    '''row_sum is row_max, which is wrong.'''

    def match_and_rewrite(self, op, rewriter):
        if isinstance(op, block.RowSumOp):
            rewriter.replace(op, block.RowMaxOp(op.operand))


class InPlace(RewritePattern):
    '''A sum is a maximum, which is wrong; the map is changed where it stands.'''

    def match_and_rewrite(self, op, rewriter):
        if isinstance(op, block.ReduceOp) and op.kind.data is block.Kind.Sum:
            op.kind = block.KindAttr(block.Kind.Max)
            rewriter.notify_op_modified(op)


@dataclass(frozen=True)
class FaultyPass(ModulePass):
    name = "faulty-pass"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, block.RowSumOp):
                other = block.RowMaxOp(inner.operand)
                inner.parent.insert_op_before(other, inner)
                inner.result.replace_all_uses_with(other.result)


register_rule("faulty-law", lambda: Faulty(ignored=frozenset({"demand"})))
register_rule("faulty-pattern", FaultyPattern)
register_rule("in-place", InPlace)
register_pass(FaultyPass)
"""


@pytest.mark.parametrize(
    ("passes", "parts"),
    [
        (
            "faulty-pass",
            ["pass 'faulty-pass' changes what @f gives for random arrays (seed 0): result %y differs"],
        ),
        (
            "block-apply{rules=faulty-law}",
            ["pass 'block-apply'", "rule faulty-law at 'block.elementwise' replaces %p", "was"],
        ),
        (
            "block-apply{rules=faulty-pattern}",
            ["pattern FaultyPattern at 'block.row_sum' replaces %sum by something else: element [0]"],
        ),
        ("block-apply{rules=in-place}", ["pattern InPlace changes what @f gives"]),
        (
            "block-fuse{rules=faulty-pattern}",
            ["pass 'block-fuse'", "rule faulty-pattern at 'block.row_sum' replaces %sum"],
        ),
    ],
    ids=["pass", "law", "pattern", "in-place", "user-rule"],
)
def test_scripts(passes: str, parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    script, program = tmp_path / "faults.py", tmp_path / "softmax.mlir"
    script.write_text(SCRIPT)
    program.write_text(SHIFTED_EXP if "law" in passes else SOFTMAX)
    pipeline = passes if "law" in passes else f"{TO_BLOCKS},{passes}"
    arguments = [str(program), "--load", str(script), "-p", pipeline, "--verify-each"]
    assert main(arguments) == 1
    captured = capsys.readouterr()
    for part in parts:
        assert part in captured.err, captured.err
    assert captured.out == ""
    assert main([*arguments[:-1], "-o", str(tmp_path / "out.mlir")]) == 0


# What cannot be checked, and other options


def test_unknown_extents_get_small_numbers():
    text = SOFTMAX.replace("10x14", "?x?").replace(
        "%x: tensor<?x?xf32>", '%x: tensor<?x?xf32> {bb.dims = ["M", "N"]}'
    )
    checks = VerifyEach()
    checks.begin(parse_module(text, "program.mlir"))
    assert [trial.inputs[0].shape for trial in checks.trials["f"]] == [(5, 7)] * 5
    assert check(text, FUSE) == ""


def test_what_cannot_be_checked_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = tmp_path / "add.mlir"
    program.write_text("func.func @add(%a: i32) -> i32 {\n  func.return %a : i32\n}\n")
    assert main([str(program), "-p", "cse", "--verify-each"]) == 0
    assert "warning: 'func.func' @add is not checked by --verify-each" in capsys.readouterr().err


def test_large_functions_are_reported():
    text = SOFTMAX.replace("10x14", "4096x4096")
    with pytest.warns(UserWarning, match="its arrays have 50331648 elements"):
        VerifyEach().begin(parse_module(text, "program.mlir"))


def test_opaque_functions_have_a_meaning():
    text = """func.func @f(%x: tensor<10x14xf32>) -> tensor<10x14xf32> {
  %r = array.custom @opaque(%x) : (tensor<10x14xf32>) -> tensor<10x14xf32>
  %y = array.softmax %r axis 1 : tensor<10x14xf32>
  func.return %y : tensor<10x14xf32>
}
"""
    checks = VerifyEach()
    checks.begin(parse_module(text, "program.mlir"))
    assert checks.trials["f"]
    assert check(text, FUSE) == ""


def test_with_other_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = tmp_path / "softmax.mlir"
    program.write_text(SOFTMAX)
    assert main([str(program), "-p", FUSE, "--verify-each", "--verify-seed", "7", "--explain"]) == 0
    assert "Laws that fired" in capsys.readouterr().out
    assert main([str(program), "-p", FUSE, "--verify-each", "--print-between-passes"]) == 0
    assert "// IR after 'array-decompose'" in capsys.readouterr().err
    assert main([str(program), "--verify-seed", "7"]) == 1
    assert "--verify-seed belongs to --verify-each" in capsys.readouterr().err


def test_differences():
    one = np.ones((2, 3))
    other = one.copy()
    other[1, 2] = 1.5
    found, ordinary = difference([one, other], [one, one], 1e-9)
    assert str(found) == "element [1, 1, 2] was 1.0 and is 1.5"
    assert ordinary
    nan = one * np.nan
    assert difference(nan, nan, 1e-9) == (None, False)
    assert difference(nan, one, 1e-9, strict=False) == (None, False)
    assert difference(nan, one, 1e-9)[0] is not None
    assert difference(one, np.ones(3), 1e-9)[0] is not None
    assert difference(np.array([1, 2]), np.array([1, 3]), 1e-9)[0] is not None
