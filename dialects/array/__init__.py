"""The `array` dialect: programs over whole arrays, with numpy's semantics."""

from xdsl.ir import Dialect

from .base import ArrayOp
from .composite import (
    AttentionOp,
    GeluForm,
    GeluFormAttr,
    GeluOp,
    LayerNormOp,
    ReluOp,
    RmsNormOp,
    SigmoidOp,
    SiluOp,
    SoftmaxOp,
)
from .core import (
    CustomOp,
    ElementwiseOp,
    MatmulOp,
    ReduceOp,
    ReductionKind,
    ReductionKindAttr,
    YieldOp,
    default_accumulator,
)
from .indexing import CumsumOp, GatherElementsOp, GatherOp, PadOp
from .masked import MaskedMatmulOp
from .shapes import (
    DYNAMIC,
    AxisGroup,
    Shape,
    array_type,
    broadcast_shapes,
    element_type_of,
    reshape_groups,
    shape_of,
    shape_text,
    unify,
    unify_shapes,
)
from .sources import ArrayConstants, ConstantOp, ExtentOp, IotaOp
from .views import BroadcastOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp

ArrayDialect = Dialect(
    "array",
    [
        *(
            MatmulOp,
            MaskedMatmulOp,
            ElementwiseOp,
            ReduceOp,
            BroadcastOp,
            TransposeOp,
            ReshapeOp,
            SliceOp,
            ConcatOp,
            IotaOp,
        ),
        *(ConstantOp, ExtentOp, CustomOp, YieldOp),
        *(GatherOp, GatherElementsOp, CumsumOp, PadOp),
        *(SoftmaxOp, LayerNormOp, RmsNormOp, SiluOp, GeluOp, ReluOp, SigmoidOp, AttentionOp),
    ],
    [ReductionKindAttr, GeluFormAttr],
    [ArrayConstants()],
)

__all__ = [
    "DYNAMIC",
    "ArrayConstants",
    "ArrayDialect",
    "ArrayOp",
    "AttentionOp",
    "AxisGroup",
    "BroadcastOp",
    "ConcatOp",
    "ConstantOp",
    "CumsumOp",
    "CustomOp",
    "ElementwiseOp",
    "ExtentOp",
    "GatherElementsOp",
    "GatherOp",
    "GeluForm",
    "GeluFormAttr",
    "GeluOp",
    "IotaOp",
    "LayerNormOp",
    "MaskedMatmulOp",
    "MatmulOp",
    "PadOp",
    "ReduceOp",
    "ReductionKind",
    "ReductionKindAttr",
    "ReluOp",
    "ReshapeOp",
    "RmsNormOp",
    "Shape",
    "SigmoidOp",
    "SiluOp",
    "SliceOp",
    "SoftmaxOp",
    "TransposeOp",
    "YieldOp",
    "array_type",
    "broadcast_shapes",
    "default_accumulator",
    "element_type_of",
    "reshape_groups",
    "shape_of",
    "shape_text",
    "unify",
    "unify_shapes",
]
