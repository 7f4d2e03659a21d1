"""Python faces of the array dialect: constructors that infer types, shape helpers, what importing costs."""

import subprocess
import sys

import pytest
from bb.dialects.array import (
    DYNAMIC,
    AttentionOp,
    BroadcastOp,
    ConcatOp,
    ConstantOp,
    CustomOp,
    ElementwiseOp,
    ExtentOp,
    GeluOp,
    IotaOp,
    LayerNormOp,
    MatmulOp,
    ReduceOp,
    ReshapeOp,
    RmsNormOp,
    SliceOp,
    SoftmaxOp,
    TransposeOp,
    broadcast_shapes,
    reshape_groups,
)
from bb.dialects.scalar_builder import ScalarBuilder
from xdsl.dialects import test
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, bf16, f16, f32, f64, i1, i32
from xdsl.utils.exceptions import VerifyException


def value(*shape, element=f32):
    return test.TestOp(result_types=[TensorType(element, shape)]).results[0]


def type_of(op):
    op.verify()
    return str(op.results[0].type)


def test_constructors_infer_result_types():
    x = value(2, 8, 16)
    assert type_of(MatmulOp(x, value(16, 4))) == "tensor<2x8x4xf32>"
    assert type_of(MatmulOp(x, x, transpose_a=True)) == "tensor<2x16x16xf32>"
    half = value(8, 16, element=f16)
    assert type_of(MatmulOp(half, half, transpose_b=True, result_element_type=f32)) == "tensor<8x8xf32>"
    assert type_of(ReduceOp("sum", x, -1, keepdims=True)) == "tensor<2x8x1xf32>"
    assert type_of(ReduceOp("max", x, [2, 0])) == "tensor<8xf32>"
    assert type_of(BroadcastOp(value(16), (3, 16))) == "tensor<3x16xf32>"
    assert type_of(TransposeOp(x, (0, -1, 1))) == "tensor<2x16x8xf32>"
    assert type_of(ReshapeOp(value(DYNAMIC, 16), (DYNAMIC, 4, 4))) == "tensor<?x4x4xf32>"
    assert type_of(SliceOp(value(DYNAMIC, 16), (1, 2), (-1, 3))) == "tensor<?x3xf32>"
    assert type_of(ConcatOp([x, x], -1)) == "tensor<2x8x32xf32>"
    assert type_of(ConcatOp([value(2, DYNAMIC), value(DYNAMIC, 3)], 1)) == "tensor<2x?xf32>"
    assert type_of(IotaOp(-1, TensorType(i32, (2, 3)))) == "tensor<2x3xi32>"
    assert type_of(IotaOp(0, like=value(DYNAMIC, 3))) == "tensor<?x3xi32>"
    assert type_of(ExtentOp(value(DYNAMIC, 3), 0, f64)) == "tensor<f64>"
    assert type_of(CustomOp("callback", [x], [TensorType(f32, [2])])) == "tensor<2xf32>"
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2]), [1.0, 2.0])
    assert type_of(ConstantOp(dense)) == "tensor<2xf32>"
    assert type_of(SoftmaxOp(x)) == "tensor<2x8x16xf32>"
    assert type_of(GeluOp(x, "tanh")) == "tensor<2x8x16xf32>"
    assert type_of(LayerNormOp(x, None, value(16))) == "tensor<2x8x16xf32>"
    assert type_of(RmsNormOp(x, value(16))) == "tensor<2x8x16xf32>"
    q, k = value(4, DYNAMIC, 8, element=bf16), value(2, DYNAMIC, 8, element=bf16)
    attention = AttentionOp(q, k, k, mask=value(DYNAMIC, DYNAMIC, element=i1), causal=True)
    assert type_of(attention) == "tensor<4x?x8xbf16>"
    assert (attention.group_size, attention.scale_value) == (2, 8**-0.5)


def test_elementwise_from_function():
    op = ElementwiseOp.from_function(
        [value(8, 1), value(16)], lambda builder, a, b: ScalarBuilder(builder).multiply(a, b)
    )
    assert type_of(op) == "tensor<8x16xf32>"
    constant = ElementwiseOp.from_function(
        [], lambda builder: ScalarBuilder(builder).constant(0.1, f32), shape=(4,)
    )
    assert type_of(constant) == "tensor<4xf32>"
    assert "bb.exact" in str(constant)


def test_accumulators():
    half = value(8, 8, element=f16)
    assert MatmulOp(half, half).accumulator == f32
    assert MatmulOp(half, half, acc=f16).accumulator == f16
    assert ReduceOp("sum", value(8, element=f64), 0).accumulator == f64
    assert ReduceOp("max", half, 0).accumulator == f16


def test_constructors_refuse_with_a_sentence():
    with pytest.raises(
        VerifyException, match=r"'array\.matmul' contracts axis 1 of the left operand \(extent 3\)"
    ):
        MatmulOp(value(2, 3), value(4, 5))
    with pytest.raises(VerifyException, match=r"'array\.attention' expected a scale"):
        AttentionOp(value(2, DYNAMIC), value(2, DYNAMIC), value(2, DYNAMIC)).verify()
    with pytest.raises(
        VerifyException, match=r"'array.elementwise' operand shapes \[2\], \[3\] do not broadcast"
    ):
        ElementwiseOp.from_function([value(2), value(3)], lambda builder, a, b: a)


D = DYNAMIC


@pytest.mark.parametrize(
    ("source", "target", "groups"),
    [
        ((), (), []),
        ((), (1,), [([], [0])]),
        ((6,), (2, 3), [([0], [0, 1])]),
        ((2, 3), (6,), [([0, 1], [0])]),
        ((4, 6, 5), (4, 2, 3, 5), [([0], [0]), ([1], [1, 2]), ([2], [3])]),
        ((1, 4), (4,), [([0], []), ([1], [0])]),
        ((4,), (1, 4, 1), [([], [0]), ([0], [1]), ([], [2])]),
        ((8,), (2, 1, 4), [([0], [0, 1, 2])]),
        ((D, 8), (D, 2, 4), [([0], [0]), ([1], [1, 2])]),
        ((D, 4, 8), (D, 8), [([0, 1], [0]), ([2], [1])]),
        ((D,), (2, D, 3), [([0], [0, 1, 2])]),
        ((2, 3, 4, 5), (6, 20), [([0, 1], [0]), ([2, 3], [1])]),
        ((D, 6, D, 4), (D, 2, 3, D, 4), [([0], [0]), ([1], [1, 2]), ([2], [3]), ([3], [4])]),
    ],
)
def test_reshape_groups(source, target, groups):
    assert reshape_groups(source, target) == groups


@pytest.mark.parametrize(
    ("source", "target"), [((6, 4), (4, 6)), ((D, D), (D,)), ((8,), (D, 4)), ((D,), (8,)), ((2,), (3,))]
)
def test_reshape_groups_refuses(source, target):
    with pytest.raises(VerifyException, match="not a sequence of splits and merges"):
        reshape_groups(source, target)


def test_reshape_groups_of_many_axes_is_quick():
    with pytest.raises(VerifyException):
        reshape_groups((1,) * 24 + (2,), (1,) * 24 + (3,))


def test_broadcast_shapes():
    assert broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert broadcast_shapes((D, 1), (4, D)) == (4, D)
    assert broadcast_shapes((2,), (3,)) is None
    assert broadcast_shapes() == ()


def test_import_is_light():
    code = "import sys, bb.dialects.array; print({'numpy', 'xdsl.dialects.math'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "set()\n"
    )
