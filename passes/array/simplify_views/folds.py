"""Local laws that remove a slice or a concat, or merge two. Each application removes one or moves it closer
to its array, so they terminate.
"""

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects.array import DYNAMIC, ConcatOp, SliceOp, shape_of


def _at(op: Operation, new: Operation) -> Operation:
    new.location = op.location
    return new


class SliceOfEverything(RewritePattern):
    """slice(x) = x where it takes all of x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if op.fold() is not None:
            rewriter.replace(op, [], [op.input])


class SliceOfSlice(RewritePattern):
    """slice(slice(x)) = slice(x) with the offsets added."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if not isinstance(inner, SliceOp):
            return
        offsets = [a + b for a, b in zip(inner.offsets.get_values(), op.offsets.get_values(), strict=True)]
        sizes = [-1 if extent == DYNAMIC else extent for extent in shape_of(op.result)]
        rewriter.replace(op, _at(op, SliceOp(inner.input, offsets, sizes)))


class ConcatOfOne(RewritePattern):
    """concat(x) = x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        if len(op.inputs) == 1 and op.inputs[0].type == op.result.type:
            rewriter.replace(op, [], [op.inputs[0]])


class ConcatOfConcat(RewritePattern):
    """concat(concat(x, y), z) = concat(x, y, z) along one axis."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        def parts(value: SSAValue) -> list[SSAValue]:
            inner = value.owner
            return [*inner.inputs] if isinstance(inner, ConcatOp) and inner.axis == op.axis else [value]

        flat = [part for value in op.inputs for part in parts(value)]
        if len(flat) > len(op.inputs):
            rewriter.replace(op, _at(op, ConcatOp(flat, op.axis.value.data)))


class ConcatOfNeighbours(RewritePattern):
    """concat(x[a:b], x[b:c]) = x[a:c] along one axis, the slices being the same along all others."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        axis = op.axis.value.data
        joined: list[SSAValue] = []
        for value in op.inputs:
            whole = joined_slices(joined[-1], value, axis) if joined else None
            if whole is None:
                joined.append(value)
                continue
            rewriter.insert(_at(op, whole))
            joined[-1] = whole.result
        if len(joined) < len(op.inputs):
            rewriter.replace(op, _at(op, ConcatOp(joined, axis)))


def joined_slices(a: SSAValue, b: SSAValue, axis: int) -> SliceOp | None:
    """The slice that takes what slices `a` and `b` of one array take, `b` after `a` along `axis`."""
    first, second = a.owner, b.owner
    if not isinstance(first, SliceOp) or not isinstance(second, SliceOp) or first.input != second.input:
        return None
    sizes, more = list(shape_of(a)), shape_of(b)
    offsets, others = list(first.offsets.get_values()), list(second.offsets.get_values())
    if sizes[axis] == DYNAMIC or offsets[axis] + sizes[axis] != others[axis]:
        return None
    sizes[axis] = DYNAMIC if more[axis] == DYNAMIC else sizes[axis] + more[axis]
    others[axis] = offsets[axis]
    if offsets != others or any(
        x != y for i, (x, y) in enumerate(zip(sizes, more, strict=True)) if i != axis
    ):
        return None
    result = SliceOp(first.input, offsets, [-1 if size == DYNAMIC else size for size in sizes])
    result.result.name_hint = a.name_hint
    return result


def fold_patterns() -> list[RewritePattern]:
    """One pattern for each law."""
    return [SliceOfEverything(), SliceOfSlice(), ConcatOfOne(), ConcatOfConcat(), ConcatOfNeighbours()]
