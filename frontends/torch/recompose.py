"""Products that torch.compile has flattened, as the model has them: `linear` and `matmul` of many axes.

AOTAutograd traces `linear(x, w, b)` as `view(addmm(b, view(x), t(w)))`, with all leading axes of x merged.
Axes of unknown extents cannot be merged in the array dialect, and fusion has less to undo without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from .aten.context import op_name, same_extent

_VIEWS = ("view.default", "_unsafe_view.default", "reshape.default")
_TRANSPOSES = ("t.default", "permute.default", "transpose.int")


def recompose(graph: Graph) -> None:
    """Replace products of flattened matrices in place."""
    for node in list(graph.nodes):
        name = op_name(node.target) if node.op == "call_function" else ""
        if name == "mm.default":
            _replace(graph, node, None, *node.args)
        elif name == "addmm.default" and not node.kwargs:
            _replace(graph, node, *node.args)
    graph.eliminate_dead_code()


def _replace(graph: Graph, node: Node, bias: Any, rows: Any, matrix: Any) -> None:
    """Make one product of the array that was flattened, for all views of the result that split it again."""
    source = _flattened(rows)
    if source is None or (bias is not None and len(_shape(bias)) != 1):
        return
    wanted = [*_shape(source)[:-1], _shape(matrix)[-1]]
    views = [user for user in node.users if _is_view(user) and _same_shape(_shape(user), wanted)]
    if not views:
        return
    weight = _transposed(matrix)
    if weight is None and bias is not None:
        return
    with graph.inserting_before(node):
        if weight is None:
            product = graph.call_function(torch.ops.aten.matmul.default, (source, matrix))
        else:
            product = graph.call_function(torch.ops.aten.linear.default, (source, weight, bias))
    product.meta = {**node.meta, "val": views[0].meta["val"]}
    for view in views:
        view.replace_all_uses_with(product)


def _flattened(rows: Node) -> Node | None:
    """The array of at least three axes of which `rows` are all vectors of the last axis."""
    if not _is_view(rows) or not isinstance(source := rows.args[0], Node):
        return None
    shape = _shape(source)
    return source if len(shape) > 2 and same_extent(shape[-1], _shape(rows)[-1]) else None


def _transposed(matrix: Node) -> Node | None:
    """The matrix of which this one is the transpose."""
    if matrix.op != "call_function" or op_name(matrix.target) not in _TRANSPOSES:
        return None
    source = matrix.args[0]
    swapped = list(matrix.args[1:]) in ([], [[1, 0]], [0, 1], [1, 0])
    return source if swapped and isinstance(source, Node) else None


def _is_view(node: Node) -> bool:
    return node.op == "call_function" and op_name(node.target) in _VIEWS


def _shape(node: Node) -> Sequence[Any]:
    return node.meta["val"].shape


def _same_shape(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(map(same_extent, a, b))
