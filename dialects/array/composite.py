"""Composite operations, such as softmax. `array-decompose` expands them into core operations."""

from enum import auto
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, UnitAttr, f32, f64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.str_enum import StrEnum

from .base import ARRAY, INTEGER, ArrayOp
from .directives import FloatNumber
from .shapes import (
    DYNAMIC,
    Shape,
    broadcast_error,
    check_axes,
    element_type_of,
    extent_text,
    normalize_axis,
    shape_of,
    shape_text,
    unify,
    unify_shapes,
    with_shape,
)

FLOAT64 = FloatAttr.constr(f64)


class UnaryOp(ArrayOp):
    """Base of composites of one floating-point operand and a result of the same type."""

    T: ClassVar = VarConstraint("T", ARRAY)
    input = operand_def(T)
    result = result_def(T)
    assembly_format = "$input attr-dict `:` type($input)"

    def __init__(self, input: SSAValue | Operation):
        input = SSAValue.get(input)
        super().__init__(operands=[input], result_types=[input.type])

    def verify_array(self) -> None:
        self.expect_float(self.input)


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0)."""

    name = "array.relu"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "array.sigmoid"


@irdl_op_definition
class SiluOp(UnaryOp):
    """x * sigmoid(x)."""

    name = "array.silu"


class GeluForm(StrEnum):
    """Formula of `array.gelu`: with erf, or the approximation with tanh."""

    EXACT = auto()
    TANH = auto()


@irdl_attr_definition
class GeluFormAttr(EnumAttribute[GeluForm], SpacedOpaqueSyntaxAttribute):
    """`#array<gelu_form exact>`."""

    name = "array.gelu_form"


@irdl_op_definition
class GeluOp(ArrayOp):
    """x/2 * (1 + erf(x/sqrt 2)), or x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))."""

    name = "array.gelu"
    T: ClassVar = VarConstraint("T", ARRAY)
    form = prop_def(GeluFormAttr)
    input = operand_def(T)
    result = result_def(T)
    assembly_format = "$form $input attr-dict `:` type($input)"

    def __init__(self, input: SSAValue | Operation, form: GeluForm | str = GeluForm.EXACT):
        input = SSAValue.get(input)
        super().__init__(
            operands=[input], result_types=[input.type], properties={"form": GeluFormAttr(GeluForm(form))}
        )

    def verify_array(self) -> None:
        self.expect_float(self.input)


@irdl_op_definition
class SoftmaxOp(ArrayOp):
    """exp(x - max(x)) / sum(exp(x - max(x))) along `axis`."""

    name = "array.softmax"
    T: ClassVar = VarConstraint("T", ARRAY)
    input = operand_def(T)
    axis = prop_def(INTEGER)
    result = result_def(T)
    assembly_format = "$input `axis` $axis attr-dict `:` type($input)"

    def __init__(self, input: SSAValue | Operation, axis: int = -1):
        """A negative axis counts from the back."""
        input = SSAValue.get(input)
        super().__init__(
            operands=[input],
            result_types=[input.type],
            properties={"axis": IntegerAttr(normalize_axis(axis, len(shape_of(input))), 64)},
        )

    def verify_array(self) -> None:
        self.expect_float(self.input)
        check_axes(self.name, (self.axis.value.data,), len(shape_of(self.input)))


class NormOp(ArrayOp):
    """Base of the normalisations over the last axis."""

    def check_norm(self, input: SSAValue, epsilon: float, vectors: dict[str, SSAValue | None]) -> None:
        """Check the operand, eps, and that each given vector has extent and element type of the last axis."""
        self.expect_float(input)
        shape = shape_of(input)
        if not shape:
            raise self.error("operand has rank 0, expected at least one axis")
        if not 0.0 <= epsilon < float("inf"):
            raise self.error(f"eps is {epsilon}, expected a finite number of at least 0")
        for name, vector in vectors.items():
            if vector is not None:
                self.expect_shape(vector, shape[-1:], name)
                self.expect_element_type(vector, element_type_of(input), name)


@irdl_op_definition
class LayerNormOp(NormOp):
    """(x - mean) / sqrt(variance + eps) * scale + shift over the last axis; scale and shift are optional."""

    name = "array.layer_norm"
    T: ClassVar = VarConstraint("T", ARRAY)
    input = operand_def(T)
    scale = opt_operand_def(ARRAY)
    shift = opt_operand_def(ARRAY)
    eps = prop_def(FLOAT64)
    result = result_def(T)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (FloatNumber,)
    assembly_format = (
        "$input (`scale` `(` $scale^ `:` type($scale) `)`)? (`shift` `(` $shift^ `:` type($shift) `)`)? "
        "`eps` custom<FloatNumber>($eps) attr-dict `:` type($input)"
    )

    def __init__(
        self,
        input: SSAValue | Operation,
        scale: SSAValue | Operation | None = None,
        shift: SSAValue | Operation | None = None,
        *,
        eps: float = 1e-5,
    ):
        input = SSAValue.get(input)
        super().__init__(
            operands=[input, scale, shift], result_types=[input.type], properties={"eps": FloatAttr(eps, f64)}
        )

    def verify_array(self) -> None:
        self.check_norm(self.input, self.eps.value.data, {"scale": self.scale, "shift": self.shift})


@irdl_op_definition
class RmsNormOp(NormOp):
    """x / sqrt(mean(x^2) + eps) * scale over the last axis; scale is optional."""

    name = "array.rms_norm"
    T: ClassVar = VarConstraint("T", ARRAY)
    input = operand_def(T)
    scale = opt_operand_def(ARRAY)
    eps = prop_def(FLOAT64)
    result = result_def(T)
    custom_directives = (FloatNumber,)
    assembly_format = (
        "$input (`scale` `(` $scale^ `:` type($scale) `)`)? "
        "`eps` custom<FloatNumber>($eps) attr-dict `:` type($input)"
    )

    def __init__(
        self, input: SSAValue | Operation, scale: SSAValue | Operation | None = None, *, eps: float = 1e-6
    ):
        input = SSAValue.get(input)
        super().__init__(
            operands=[input, scale], result_types=[input.type], properties={"eps": FloatAttr(eps, f64)}
        )

    def verify_array(self) -> None:
        self.check_norm(self.input, self.eps.value.data, {"scale": self.scale})


@irdl_op_definition
class AttentionOp(ArrayOp):
    """softmax(scale * q k^T + bias) v with a mask and a causal mask; rows without any visible key give 0.

    q is [..., Hq, M, D], k is [..., Hkv, N, D], v is [..., Hkv, N, L] (rank 2: one head); each group of
    Hq / Hkv consecutive query heads shares one head of k and v. bias and mask broadcast to [..., Hq, M, N].
    Causal: query i sees key j if j <= i. The default scale is 1 / sqrt(D).
    """

    name = "array.attention"
    q = operand_def(ARRAY)
    k = operand_def(ARRAY)
    v = operand_def(ARRAY)
    bias = opt_operand_def(ARRAY)
    mask = opt_operand_def(ARRAY)
    scale = opt_prop_def(FLOAT64)
    causal = opt_prop_def(UnitAttr)
    result = result_def(ARRAY)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (FloatNumber,)
    assembly_format = (
        "$q `,` $k `,` $v (`bias` `(` $bias^ `:` type($bias) `)`)? (`mask` `(` $mask^ `:` type($mask) `)`)? "
        "(`scale` custom<FloatNumber>($scale)^)? (`causal` $causal^)? attr-dict "
        "`:` type($q) `,` type($k) `,` type($v) `->` type($result)"
    )

    def __init__(
        self,
        q: SSAValue | Operation,
        k: SSAValue | Operation,
        v: SSAValue | Operation,
        *,
        bias: SSAValue | Operation | None = None,
        mask: SSAValue | Operation | None = None,
        scale: float | None = None,
        causal: bool = False,
    ):
        q, k, v = SSAValue.get(q), SSAValue.get(k), SSAValue.get(v)
        shape = attention_shapes(self, shape_of(q), shape_of(k), shape_of(v))[1]
        super().__init__(
            operands=[q, k, v, bias, mask],
            result_types=[with_shape(q, shape)],
            properties={
                "scale": FloatAttr(scale, f64) if scale is not None else None,
                "causal": UnitAttr() if causal else None,
            },
        )

    @property
    def score_shape(self) -> Shape:
        """[..., Hq, M, N]."""
        return attention_shapes(self, shape_of(self.q), shape_of(self.k), shape_of(self.v))[0]

    @property
    def scale_value(self) -> float:
        """The factor of the scores, given or 1 / sqrt(D)."""
        return self.scale.value.data if self.scale is not None else shape_of(self.q)[-1] ** -0.5

    @property
    def group_size(self) -> int:
        """Number of query heads that share one head of k and v."""
        q, k = shape_of(self.q), shape_of(self.k)
        return 1 if len(q) < 3 or DYNAMIC in (q[-3], k[-3]) else q[-3] // k[-3]

    def verify_array(self) -> None:
        element_type = element_type_of(self.q)
        self.expect_float(self.q, "q")
        for name, value in (("k", self.k), ("v", self.v), ("result", self.result)):
            self.expect_element_type(value, element_type, name)
        scores, result = attention_shapes(self, shape_of(self.q), shape_of(self.k), shape_of(self.v))
        self.expect_shape(self.result, result)
        for name, value in (("bias", self.bias), ("mask", self.mask)):
            if value is not None and (problem := broadcast_error(shape_of(value), scores)) is not None:
                raise self.error(f"{name}: {problem}")
        if self.bias is not None and element_type_of(self.bias) not in (element_type, f32):
            expected = "f32" if element_type == f32 else f"{element_type} (as q) or f32"
            raise self.error(f"bias has element type {element_type_of(self.bias)}, expected {expected}")
        if self.mask is not None:
            self.expect_element_type(self.mask, IntegerType(1), "mask")
        if self.scale is None and shape_of(self.q)[-1] == DYNAMIC:
            raise self.error("expected a scale, because the default 1 / sqrt(D) needs a static D")


def attention_shapes(op: ArrayOp, q: Shape, k: Shape, v: Shape) -> tuple[Shape, Shape]:
    """The shapes of scores and result, [..., Hq, M, N] and [..., Hq, M, L]. Raises VerifyException."""
    if len(q) < 2 or len(k) != len(q) or len(v) != len(q):
        raise op.error(
            f"q {shape_text(q)}, k {shape_text(k)} and v {shape_text(v)}: "
            "expected the same number of axes, at least 2"
        )
    if unify(q[-1], k[-1]) is None:
        raise op.error(
            f"q has head size {q[-1]} and k has {k[-1]}, expected equal head sizes (their last axes)"
        )
    if unify(k[-2], v[-2]) is None:
        raise op.error(
            f"k has {k[-2]} keys and v has {v[-2]} values, expected equally many (their second last axes)"
        )
    heads: Shape = ()
    if len(q) > 2:
        kv_heads = unify(k[-3], v[-3])
        if kv_heads is None:
            raise op.error(f"k has {k[-3]} heads and v has {v[-3]}, expected equally many")
        dynamic = DYNAMIC in (q[-3], kv_heads)
        if (dynamic and q[-3] != kv_heads) or (not dynamic and q[-3] % kv_heads):
            raise op.error(
                f"q has {extent_text(q[-3])} heads and k has {extent_text(k[-3])}, expected a multiple"
            )
        heads = (q[-3],)
    batch = unify_shapes(q[:-3], k[:-3])
    batch = unify_shapes(batch, v[:-3]) if batch is not None else None
    if batch is None:
        raise op.error(
            f"leading axes of q {shape_text(q[:-3])}, k {shape_text(k[:-3])} and v {shape_text(v[:-3])} "
            "differ, expected equal extents"
        )
    keys = unify(k[-2], v[-2])
    assert keys is not None
    return (*batch, *heads, q[-2], keys), (*batch, *heads, q[-2], v[-1])
