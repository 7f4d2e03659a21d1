"""`array-inline-indices`: masks made of indices are no arrays any more, and values stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from array_evaluation import evaluate
from array_programs import ArrayProgram, ProgramDrafter, array_programs, assert_close
from bb.dialects import kernel
from bb.dialects.array import ElementwiseOp
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline, named_pipeline
from bb.passes.array.inline_indices import is_index_arithmetic
from hypothesis import given, settings
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long


def masks_read(module: ModuleOp) -> list[str]:
    """Element-wise operations that are cheaper to repeat, and that element-wise operations read."""
    return [
        str(op)
        for op in module.walk()
        if is_index_arithmetic(op)
        and any(isinstance(use.operation, ElementwiseOp) for result in op.results for use in result.uses)
    ]


def check(program: ArrayProgram) -> None:
    module = program.module
    PassPipeline("array-decompose").run(module)
    expected = evaluate(module, "program", program.inputs, float64=True)
    after = PassPipeline("array-inline-indices").run(module.clone())
    assert masks_read(after) == []
    assert_close(evaluate(after, "program", program.inputs, float64=True), expected, 0)
    # Nothing is left for a second time.
    assert str(PassPipeline("array-inline-indices").run(after.clone())) == str(after)


class MaskDrafter(ProgramDrafter):
    """Writes mostly masks that are arrays, what combines them, views of them, and what reads them."""

    def step_masked(self) -> None:
        """Choose between two values by a mask, after some views and combinations."""
        a = self.matrix()
        rows, columns = a.shape[-2:]
        mask, kind = self.band(rows, columns)
        if self.flip():  # together with another mask, and what that one is not
            other, other_type = self.band(rows, columns)
            both = self.one_of(("andi", "ori", "xori"))
            text = (
                f"array.elementwise (%a = %{mask}, %b = %{other}, %c = %{mask}) "
                f": {kind}, {other_type}, {kind} -> {kind} {{\n    %d = arith.{both} %a, %b : i1\n"
                "    %e = arith.ori %d, %c : i1\n    array.yield %e : i1\n  }"
            )
            mask = self.raw("mask", text)
        seen: tuple[int, ...] = (rows, columns)
        for operation, shape in (("reshape", (1, rows, columns)), ("broadcast", (2, 1, rows, columns))):
            if self.flip() and (len(shape) == 3 or a.rank < 4 or a.shape[-4] in (1, 2)):
                viewed = self.type_of(shape, "i1")
                mask = self.raw("view", f"array.{operation} %{mask} : {kind} -> {viewed}")
                kind, seen = viewed, shape
        shape = np.broadcast_shapes(a.shape, seen)
        if int(np.prod(shape)) > 1 << 12:
            return
        e, result = self.element_type, self.type_of(shape)
        text = (
            f"array.elementwise (%p = %{a.name}, %k = %{mask}) : {self.types(a)}, {kind} -> {result} {{\n"
            f"    %n = arith.negf %p : {e}\n    %z = arith.select %k, %p, %n : {e}\n"
            f"    array.yield %z : {e}\n  }}"
        )
        self.keep(self.emit(text, [a], shape, -a.magnitude, a.magnitude))

    def steps(self) -> list[tuple[int, Callable[[], None]]]:
        return [
            (9, self.step_masked),
            (9, self.step_masked),
            (5, self.step_attention),
            (3, self.step_mask),
            (2, self.step_positions),
            (2, self.step_matmul),
            (2, self.step_reduce),
            (2, self.step_binary),
            (1, self.step_reshape),
        ]


@pytest.mark.fuzz
@settings(max_examples=40)
@given(array_programs())
def test_values_are_kept(program: ArrayProgram) -> None:
    check(program)


@pytest.mark.fuzz
@settings(max_examples=60)
@given(array_programs(24, drafter_type=MaskDrafter))
def test_values_of_masks_are_kept(program: ArrayProgram) -> None:
    check(program)


MASKS = {
    "kept": ("i1", "%z = arith.cmpi sle, %j, %last : i32", "mask"),
    "hidden": (
        "i1",
        "%a = arith.cmpi sgt, %j, %last : i32\n%t = arith.constant true\n%z = arith.xori %a, %t : i1",
        "mask",
    ),
    "added": (
        "f32",
        "%a = arith.cmpi sgt, %j, %last : i32\n%h = arith.constant 0xff800000 : f32\n"
        "%o = arith.constant 0.0 : f32\n%z = arith.select %a, %h, %o : f32",
        "bias",
    ),
}


def attention(form: str) -> ModuleOp:
    """Grouped heads under the mask of a cache, which has an axis for the heads."""
    element, lines, operand = MASKS[form]
    return parse_module(f"""func.func @attention(%q: tensor<4x40x8xf32>, %k: tensor<2x64x8xf32>,
                          %v: tensor<2x64x8xf32>) -> tensor<4x40x8xf32> {{
  %row = array.iota axis 1 : tensor<1x40x1xi32>
  %column = array.iota axis 0 : tensor<64xi32>
  %m = array.elementwise (%i = %row, %j = %column) : tensor<1x40x1xi32>, tensor<64xi32>
    -> tensor<1x40x64x{element}> {{
    %c = arith.constant 24 : i32
    %last = arith.addi %i, %c : i32
    {lines}
    array.yield %z : {element}
  }}
  %out = array.attention %q, %k, %v {operand}(%m : tensor<1x40x64x{element}>)
    : tensor<4x40x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32> -> tensor<4x40x8xf32>
  func.return %out : tensor<4x40x8xf32>
}}""")


@pytest.mark.parametrize("form", MASKS)
def test_loops_end_where_a_mask_of_an_array_does(form: str) -> None:
    module = PassPipeline(named_pipeline("cpu")).run(attention(form))
    loops = [op for op in module.walk() if isinstance(op, kernel.ForOp) and op.until is not None]
    assert len(loops) == 1
