"""Attention as one operation; forms that `array.attention` lacks go by the operator's own definition."""

from __future__ import annotations

from xdsl.dialects.builtin import i1

from ...shared.errors import Unsupported
from ..extents import divided
from ..nodes import Node
from ..tensors import Tensor, joined, permuted, reshaped
from .registry import operator

PLAIN = frozenset({"is_causal", "q_num_heads", "kv_num_heads", "scale", "softcap", "qk_matmul_output_mode"})
"""Attributes of the forms that `array.attention` has."""


def _heads(x: Tensor, count: int | None) -> Tensor:
    """`[B, S, H * D]` as `[B, H, S, D]`."""
    if x.rank == 4:
        return x
    if count is None:
        raise Unsupported("its arrays have rank 3, and it does not say the number of heads")
    batch, length, width = x.dims
    return permuted(reshaped(x, [batch, length, count, divided(width, count)]), [0, 2, 1, 3])


@operator("Attention")
def _attention(node: Node) -> list[Tensor] | None:
    """Scores with a soft cap, or that are an output, and causal masks of a cache go by the definition."""
    if node.attribute("softcap", 0.0) or node.wants(3) or node.has(6) or not node.attributes.keys() <= PLAIN:
        return None
    node.attribute("qk_matmul_output_mode")
    causal = bool(node.attribute("is_causal", 0))
    flat = len(node.value(0).dims) == 3
    q = _heads(node.tensor(0), node.attribute("q_num_heads"))
    k, v = (_heads(node.tensor(position), node.attribute("kv_num_heads")) for position in (1, 2))
    if node.has(4):
        if causal:
            return None
        k, v = joined([node.tensor(4), k], 2), joined([node.tensor(5), v], 2)
    mask = node.optional(3)
    if mask is not None and mask.dims[-1] not in (1, k.dims[2]):
        return None
    truth = mask is not None and mask.type == i1
    found = node.function.attention(
        q.array,
        k.array,
        v.array,
        bias=mask.array if mask is not None and not truth else None,
        mask=mask.array if mask is not None and truth else None,
        scale=node.attribute("scale"),
        causal=causal,
    )
    result = Tensor.of(found, (*q.dims[:3], v.dims[3]))
    if flat:
        turned = permuted(result, [0, 2, 1, 3])
        result = reshaped(turned, [*turned.dims[:2], turned.dims[2] * turned.dims[3]])
    return [result, k, v]
