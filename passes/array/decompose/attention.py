"""Attention: two matrix products around a safe softmax."""

import math

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, UnitAttr, i1, i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from ....dialects.array import DYNAMIC, AttentionOp, IotaOp, MaskedMatmulOp, MatmulOp, ReshapeOp, shape_of
from ....dialects.attributes import HIDDEN_ARE_ZERO
from ....dialects.scalar_builder import ScalarBuilder
from .expansion import Decomposition, Expansion


def _split_heads(expansion: Expansion, hint: str, value: SSAValue, groups: int) -> SSAValue:
    """[..., H, X, Y] as [..., H/groups, groups, X, Y]; a single head stays one (extents 1, 1)."""
    *batch, heads, rows, columns = shape_of(value)
    outer = heads if heads in (1, DYNAMIC) else heads // groups
    split = (outer, 1 if heads == 1 else groups)
    return expansion.insert(hint, ReshapeOp(value, (*batch, *split, rows, columns)))


def _rows_of_groups(op: AttentionOp) -> tuple[int, ...] | None:
    """The shape of q with the heads of a group as rows of one: None but for a single query, as in decoding.

    Keys and values are then read once for a group. Masks must be the same for all of the rows.
    """
    if op.group_size == 1 or op.causal is not None:
        return None
    *batch, heads, queries, width = shape_of(op.q)
    adjustments = [value for value in (op.bias, op.mask) if value is not None]
    if queries != 1 or heads == DYNAMIC:
        return None
    for value in adjustments:
        shape = shape_of(value)
        if (len(shape) > 1 and shape[-2] != 1) or (len(shape) > 2 and shape[-3] != 1):
            return None
    return (*batch, heads // op.group_size, op.group_size, width)


def _masked(s: ScalarBuilder, x: SSAValue, keep: SSAValue) -> SSAValue:
    return s.select(keep, x, s.constant(-math.inf, x.type))


def _is_earlier(s: ScalarBuilder, row: SSAValue, column: SSAValue) -> SSAValue:
    return s.compare_integers("sle", column, row)


def _causal(s: ScalarBuilder, x: SSAValue, row: SSAValue, column: SSAValue) -> SSAValue:
    return _masked(s, x, _is_earlier(s, row, column))


def _is_visible(builder: Builder, *elements: SSAValue) -> SSAValue:
    """A key is visible if the mask says so (an i1, if there is one) and if it is not later than the row."""
    s = ScalarBuilder(builder)
    mask = [element for element in elements if element.type == i1]
    indices = [element for element in elements if element.type != i1]
    if not indices:
        return mask[0]
    earlier = _is_earlier(s, *indices)
    return s.insert(arith.AndIOp(mask[0], earlier)) if mask else earlier


class DecomposeAttention(Decomposition):
    """attention(q, k, v) = softmax(scale q k^T + bias, masked with -inf) v.

    What a boolean or causal mask hides has the probability 0; the product with v leaves it out as well, since
    0 times a value that is NaN or infinite would be NaN.

    Grouped heads: q becomes [..., Hkv, R, M, D] and k and v [..., Hkv, 1, N, D], so that the matrix products
    broadcast one head of k and v to its R query heads. With one query q becomes [..., Hkv, R, D].
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AttentionOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        groups = op.group_size
        q, k, v = op.q, op.k, op.v
        rows_of_groups = _rows_of_groups(op)
        if rows_of_groups is not None:
            q = expansion.insert("q_groups", ReshapeOp(q, rows_of_groups))
            groups = 1
        elif groups > 1:
            q = _split_heads(expansion, "q_groups", q, groups)
            k = _split_heads(expansion, "k_groups", k, 1)
            v = _split_heads(expansion, "v_groups", v, 1)
        scores = expansion.insert(
            "scores",
            MatmulOp(
                q,
                k,
                transpose_b=True,
                acc=expansion.accumulator(q),
                result_element_type=expansion.type,
            ),
        )
        mask = None if op.mask is None else self._aligned(expansion, "mask_groups", op.mask, groups)
        scores = self._adjust(expansion, op, scores, groups)
        if mask is not None:
            scores = expansion.elementwise("masked", [scores, mask], _masked)
        indices = None if op.causal is None else self._indices(expansion, scores)
        if indices is not None:
            scores = expansion.elementwise("causal", [scores, *indices], _causal)
        probs = expansion.softmax(scores, -1)
        visible = [*([] if mask is None else [mask]), *(indices or ())]
        if visible:
            product = MaskedMatmulOp.from_function(probs, v, visible, _is_visible)
            product.attributes[HIDDEN_ARE_ZERO] = UnitAttr()
        else:
            product = MatmulOp(probs, v)
        result = expansion.insert("attended", product)
        if op.group_size > 1:
            result = expansion.insert("attended", ReshapeOp(result, shape_of(op.result)))
        expansion.finish(result)

    def _adjust(self, expansion: Expansion, op: AttentionOp, scores: SSAValue, groups: int) -> SSAValue:
        """Scale and bias, each where it is asked for."""
        scale = op.scale_value
        if scale != 1.0:
            scores = expansion.multiply_by("scaled", scores, scale)
        if op.bias is not None:
            bias = self._aligned(expansion, "bias_groups", op.bias, groups)
            scores = expansion.elementwise("biased", [scores, bias], ScalarBuilder.add)
        return scores

    def _aligned(self, expansion: Expansion, hint: str, value: SSAValue, groups: int) -> SSAValue:
        """A bias or mask in the shape of grouped scores."""
        return (
            _split_heads(expansion, hint, value, groups) if groups > 1 and len(shape_of(value)) > 2 else value
        )

    def _indices(self, expansion: Expansion, scores: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The row and the column of a score."""
        rank = len(shape_of(scores))
        rows, columns = shape_of(scores)[-2:]
        row = IotaOp(rank - 2, like=scores) if rows == DYNAMIC else IotaOp(0, TensorType(i32, (rows, 1)))
        column = (
            IotaOp(rank - 1, like=scores) if columns == DYNAMIC else IotaOp(1, TensorType(i32, (1, columns)))
        )
        return expansion.insert("row", row), expansion.insert("column", column)
