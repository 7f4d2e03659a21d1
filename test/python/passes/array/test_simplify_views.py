"""`array-simplify-views`: no slice or concat of a computed array is left where that can be, values stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from array_evaluation import DTYPES, evaluate
from array_programs import ArrayProgram, ProgramDrafter, array_programs, assert_close
from bb.dialects import block
from bb.dialects.array import ArrayOp, ConcatOp, MatmulOp, ReshapeOp, SliceOp, TransposeOp, shape_of
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.runtime.interpreter.functions import interpret
from example_programs import EXAMPLES, Case, load, resized, respell
from hypothesis import given, settings
from numpy.typing import NDArray
from program_drafter import Value
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

pytestmark = pytest.mark.long

Array = NDArray[np.float64]


def simplified(text: str) -> ModuleOp:
    return PassPipeline("array-decompose,array-simplify-views").run(parse_module(text, "program.mlir"))


def is_view_of_argument(value: SSAValue) -> bool:
    while isinstance(value.owner, SliceOp | ReshapeOp | TransposeOp):
        value = value.owner.operands[0]
    return isinstance(value.owner, Block)


def cuts(module: ModuleOp) -> list[str]:
    """The slices and concats of computed arrays."""
    return [
        str(op)
        for op in module.walk()
        if isinstance(op, ConcatOp) or (isinstance(op, SliceOp) and not is_view_of_argument(op.input))
    ]


def function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.walk() if isinstance(op, FuncOp))


def flops(module: ModuleOp) -> int:
    """Multiplications of all matmuls."""
    total = 0
    for op in module.walk():
        if isinstance(op, MatmulOp):
            contracted = shape_of(op.a)[-2 if op.transpose_a is not None else -1]
            total += int(np.prod(shape_of(op.result))) * contracted
    return total


# The decoder layer: rotary positions by halves, grouped heads


DECODER = Case("decoder_layer", "decoder_layer")


def test_decoder_layer_has_no_cuts_left() -> None:
    before = PassPipeline("array-decompose").run(parse_module(DECODER.text, "decoder_layer.mlir"))
    after = simplified(DECODER.text)
    assert len(cuts(before)) == 6
    assert cuts(after) == []
    assert flops(after) == flops(before)


def test_decoder_layer_keeps_its_value() -> None:
    arrays = DECODER.inputs()
    (result,) = evaluate(simplified(DECODER.text), "decoder_layer", arrays, float64=True)
    (expected,) = DECODER.expected(arrays)
    assert np.abs(result - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize(
    "dims", [{"S": 1, "D": 3, "P": 1, "G": 1, "F": 2}, {"S": 13, "D": 7, "P": 3, "G": 4}]
)
def test_decoder_layer_at_other_sizes(dims: dict[str, int]) -> None:
    text, extents = resized("decoder_layer", dims)
    module = simplified(text)
    assert cuts(module) == []
    arrays = DECODER.inputs(extents)
    (result,) = evaluate(module, "decoder_layer", arrays, float64=True)
    assert_close([result], DECODER.expected(arrays), 1e-12)


def test_decoder_layer_of_unknown_length() -> None:
    text = respell(DECODER.text, DECODER.module.DIMS, {"S": "?"})
    module = simplified(text)
    assert cuts(module) == []
    arrays = DECODER.inputs()
    assert_close(evaluate(module, "decoder_layer", arrays, float64=True), DECODER.expected(arrays), 1e-12)


def test_decoder_layer_in_16_bits_is_no_less_exact() -> None:
    text = respell(DECODER.text, DECODER.module.DIMS, {}, "f16")
    arrays = DECODER.inputs()
    (expected,) = DECODER.expected(arrays)
    rounded = [array.astype(DTYPES["f16"]) for array in arrays]
    errors = [
        float(np.abs(evaluate(module, "decoder_layer", rounded)[0].astype(np.float64) - expected).max())
        for module in (PassPipeline("array-decompose").run(parse_module(text)), simplified(text))
    ]
    assert errors[1] <= 1.5 * errors[0]


def test_decoder_layer_as_block_program() -> None:
    module = PassPipeline("array-decompose,array-to-block").run(parse_module(DECODER.text))
    for op in module.walk():
        if isinstance(op, ArrayOp):
            assert isinstance(op, SliceOp | ReshapeOp), op
            assert is_view_of_argument(op.operands[0]), op
    arrays = DECODER.inputs()
    run = interpret(module, arrays, float64=True, default_block_size=32)
    assert_close(run.results, DECODER.expected(arrays), 1e-10)


def test_dims_of_the_decoder_layer() -> None:
    """Rows of queries and of keys are two dims, along both of which the norm is computed."""
    module = PassPipeline("array-decompose,array-to-block").run(parse_module(DECODER.text))
    dims = block.declared_dims(function(module))
    assert dims is not None
    extents = sorted(dim.extent.data for dim in dims.values())
    # Groups of heads and heads in a group; half a head, a head, features, hidden features; queries and keys.
    assert extents == [2, 3, 16, 32, 72, 88, 104, 104]
    rows = {name for name, dim in dims.items() if dim.extent.data == 104}
    normed = {
        op.dim_name
        for op in function(module).body.block.ops
        if isinstance(op, block.MapOp) and (op.results[0].name_hint or "").startswith("Rstd")
    }
    assert normed == rows


# Other spellings of rotary positions

ROTATE_HALF = """
func.func @rope(%y: tensor<9x12xf32>, %w: tensor<12x24xf32>, %u: tensor<12x12xf32>,
                %c: tensor<9x6xf32>, %s: tensor<9x6xf32>) -> tensor<2x2x9x9xf32> {
  %q_rows = array.matmul %y, %w : tensor<9x12xf32>, tensor<12x24xf32> -> tensor<9x24xf32>
  %q_split = array.reshape %q_rows : tensor<9x24xf32> -> tensor<9x4x6xf32>
  %q = array.transpose %q_split perm [1, 0, 2] : tensor<9x4x6xf32> -> tensor<4x9x6xf32>
  %k_rows = array.matmul %y, %u : tensor<9x12xf32>, tensor<12x12xf32> -> tensor<9x12xf32>
  %k_split = array.reshape %k_rows : tensor<9x12xf32> -> tensor<9x2x6xf32>
  %k = array.transpose %k_split perm [1, 0, 2] : tensor<9x2x6xf32> -> tensor<2x9x6xf32>
{turn_q}
{turn_k}
  %qg = array.reshape %q_turned : tensor<4x9x6xf32> -> tensor<2x2x9x6xf32>
  %kg = array.reshape %k_turned : tensor<2x9x6xf32> -> tensor<2x1x9x6xf32>
  %scores = array.matmul %qg, %kg transpose_b
    : tensor<2x2x9x6xf32>, tensor<2x1x9x6xf32> -> tensor<2x2x9x9xf32>
  func.return %scores : tensor<2x2x9x9xf32>
}"""

# x c + concat(-x[3:], x[:3]) s
BY_NEGATION = """
  %X_a = array.slice %X offsets [0, 0, 0] sizes [HEADS, 9, 3] : tensor<HEADSx9x6xf32> -> tensor<HEADSx9x3xf32>
  %X_b = array.slice %X offsets [0, 0, 3] sizes [HEADS, 9, 3] : tensor<HEADSx9x6xf32> -> tensor<HEADSx9x3xf32>
  %X_n = array.elementwise (%m = %X_b) : tensor<HEADSx9x3xf32> -> tensor<HEADSx9x3xf32> {
    %z = arith.negf %m : f32
    array.yield %z : f32
  }
  %X_r = array.concat %X_n, %X_a axis 2
    : tensor<HEADSx9x3xf32>, tensor<HEADSx9x3xf32> -> tensor<HEADSx9x6xf32>
  %X_turned = array.elementwise (%m = %X, %n = %X_r, %g = %c, %h = %s)
    : tensor<HEADSx9x6xf32>, tensor<HEADSx9x6xf32>, tensor<9x6xf32>, tensor<9x6xf32>
    -> tensor<HEADSx9x6xf32> {
    %a = arith.mulf %m, %g : f32
    %b = arith.mulf %n, %h : f32
    %z = arith.addf %a, %b : f32
    array.yield %z : f32
  }"""

# Features 2 i and 2 i + 1 turn together.
BY_PAIRS = """
  %X_p = array.reshape %X : tensor<HEADSx9x6xf32> -> tensor<HEADSx9x3x2xf32>
  %X_a = array.slice %X_p offsets [0, 0, 0, 0] sizes [HEADS, 9, 3, 1]
    : tensor<HEADSx9x3x2xf32> -> tensor<HEADSx9x3x1xf32>
  %X_b = array.slice %X_p offsets [0, 0, 0, 1] sizes [HEADS, 9, 3, 1]
    : tensor<HEADSx9x3x2xf32> -> tensor<HEADSx9x3x1xf32>
  %X_c = array.reshape %c : tensor<9x6xf32> -> tensor<9x3x2xf32>
  %X_d = array.slice %X_c offsets [0, 0, 0] sizes [9, 3, 1] : tensor<9x3x2xf32> -> tensor<9x3x1xf32>
  %X_0 = array.elementwise (%m = %X_a, %n = %X_b, %g = %X_d)
    : tensor<HEADSx9x3x1xf32>, tensor<HEADSx9x3x1xf32>, tensor<9x3x1xf32> -> tensor<HEADSx9x3x1xf32> {
    %a = arith.mulf %m, %g : f32
    %z = arith.subf %a, %n : f32
    array.yield %z : f32
  }
  %X_1 = array.elementwise (%m = %X_a, %n = %X_b, %g = %X_d)
    : tensor<HEADSx9x3x1xf32>, tensor<HEADSx9x3x1xf32>, tensor<9x3x1xf32> -> tensor<HEADSx9x3x1xf32> {
    %a = arith.mulf %n, %g : f32
    %z = arith.addf %a, %m : f32
    array.yield %z : f32
  }
  %X_j = array.concat %X_0, %X_1 axis 3
    : tensor<HEADSx9x3x1xf32>, tensor<HEADSx9x3x1xf32> -> tensor<HEADSx9x3x2xf32>
  %X_turned = array.reshape %X_j : tensor<HEADSx9x3x2xf32> -> tensor<HEADSx9x6xf32>"""


def rope_program(turn: str) -> str:
    def of(name: str, heads: int) -> str:
        return turn.replace("%X", f"%{name}").replace("HEADS", str(heads))

    return ROTATE_HALF.replace("{turn_q}", of("q", 4)).replace("{turn_k}", of("k", 2))


def arguments(module: ModuleOp, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape_of(argument)) for argument in function(module).body.block.args]


@pytest.mark.parametrize("turn", [BY_NEGATION, BY_PAIRS], ids=["by_negation", "by_pairs"])
def test_rotary_positions(turn: str) -> None:
    before, after = parse_module(rope_program(turn)), simplified(rope_program(turn))
    assert len(cuts(before)) == 6
    assert cuts(after) == []
    assert flops(after) == flops(before)
    arrays = arguments(before)
    expected = evaluate(before, "rope", arrays, float64=True)
    assert_close(evaluate(after, "rope", arrays, float64=True), expected, 1e-12)


# What is carried over, and what is left alone


def test_locations_and_names() -> None:
    module = simplified(DECODER.text)
    ops = [op for op in function(module).body.walk() if op.results]
    assert all(isinstance(op.location, FileLineColLoc) for op in ops)
    names = {result.name_hint for op in ops if isinstance(op, ArrayOp) for result in op.results}
    assert {"q_first", "q_second", "q_turned_first", "scores", "w_q_part"} <= names


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "array.slice" not in load(name)[0]])
def test_programs_without_cuts_are_left_alone(name: str) -> None:
    module = PassPipeline("array-decompose").run(parse_module(load(name)[0]))
    before = str(module)
    assert str(PassPipeline("array-simplify-views").run(module)) == before


def test_work_is_linear() -> None:
    """Many layers of rotated features, whose slices would be multiplied if each went its own way."""
    layer = """
  %a{i} = array.slice %x{i} offsets [0, 0] sizes [4, 3] : tensor<4x6xf32> -> tensor<4x3xf32>
  %b{i} = array.slice %x{i} offsets [0, 3] sizes [4, 3] : tensor<4x6xf32> -> tensor<4x3xf32>
  %c{i} = array.concat %b{i}, %a{i} axis 1 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x6xf32>
  %x{j} = array.elementwise (%p = %c{i}, %q = %x{i}) : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32> {
    %z{i} = arith.addf %p, %q : f32
    array.yield %z{i} : f32
  }"""
    count = 100
    layers = "".join(layer.replace("{i}", str(i)).replace("{j}", str(i + 1)) for i in range(count))
    text = f"func.func @f(%x0: tensor<4x6xf32>) -> tensor<4xf32> {{{layers}\n"
    text += f"  %r = array.reduce sum %x{count} axes [1] : tensor<4x6xf32> -> tensor<4xf32>\n"
    text += "  func.return %r : tensor<4xf32>\n}"
    module = simplified(text)
    assert cuts(module) == []
    assert len(list(function(module).body.block.ops)) <= 2 * count + 10


# Random programs


class ViewsDrafter(ProgramDrafter):
    """Writes mostly slices, concats and what they go through."""

    def step_halves(self) -> None:
        """Mix the halves of an axis, and join them again."""
        a = self.value(lambda value: any(extent % 2 == 0 for extent in value.shape))
        if a is None:
            return
        axis = self.one_of([axis for axis, extent in enumerate(a.shape) if extent % 2 == 0])
        half = a.shape[axis] // 2
        shape = (*a.shape[:axis], half, *a.shape[axis + 1 :])
        parts: list[Value] = []
        for start in (0, half):
            offsets = [start if i == axis else 0 for i in range(a.rank)]
            text = f"array.slice %{a.name} offsets {offsets} sizes {list(shape)} : {self.types(a)}"
            parts.append(self.emit(f"{text} -> {self.type_of(shape)}", [a], shape, a.low, a.high))
        parts = [self.combined(parts[0], parts[1], kind) for kind in ("sub", "max")]
        text = f"array.concat %{parts[0].name}, %{parts[1].name} axis {axis} : {self.types(*parts)}"
        bounds = (min(part.low for part in parts), max(part.high for part in parts))
        self.keep(self.emit(f"{text} -> {self.type_of(a.shape)}", parts, a.shape, *bounds))

    def steps(self) -> list[tuple[int, Callable[[], None]]]:
        return [
            (6, self.step_halves),
            (2, self.step_slice),
            (2, self.step_concat),
            (2, self.step_matmul),
            (2, self.step_matmul),
            (2, self.step_reduce),
            (2, self.step_reshape),
            (1, self.step_transpose),
            (1, self.step_broadcast),
            (2, self.step_binary),
            (2, self.step_two_results),
            (3, self.step_mask),
            (1, self.step_constant),
        ]


def check_program(program: ArrayProgram) -> None:
    expected = evaluate(program.module, "program", program.inputs, float64=True)
    module = PassPipeline("array-simplify-views").run(program.module.clone())
    assert_close(evaluate(module, "program", program.inputs, float64=True), expected)
    assert flops(module) <= flops(program.module)


@pytest.mark.fuzz
@given(array_programs())
def test_values_are_kept(program: ArrayProgram) -> None:
    check_program(program)


@pytest.mark.fuzz
@settings(max_examples=200)
@given(array_programs(16, drafter_type=ViewsDrafter))
def test_values_of_views_are_kept(program: ArrayProgram) -> None:
    check_program(program)
