"""Dims of a function: the iteration space of every array operation, and the axes of every array, as axis
classes.

There are four groups of array operations. *Computations* (matmul, element-wise, reduce) become nests of maps.
*Views* (transpose, reshape, broadcast) only rename axes. *Generators* (iota, splat constants) have no
operands and are computed where they are used. Every other operation is *opaque*: it stays an operation on
arrays, and its results are sources like the function's arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from ...dialects import array
from ...dialects.array.shapes import DYNAMIC, shape_of
from ...dialects.attributes import DIM_NAMES
from .axis_classes import AxisClasses, Node, Role, Space
from .names import DimNames

Axis = list[Node]


def _is_array(type: Attribute) -> bool:
    return isinstance(type, TensorType)


def _nodes(shape: Sequence[int]) -> list[Axis]:
    return [[Node(None if extent == DYNAMIC else extent)] for extent in shape]


@dataclass
class Iteration:
    """The iteration space of a computation.

    `parallel` has the axes of the result (an axis without nodes has extent 1), `reduced` the axes that are
    summed over, and `operands` for each operand the iteration axes that its own axes follow (none where it is
    broadcast).
    """

    space: Space
    parallel: list[Axis]
    reduced: list[Node]
    operands: list[list[Axis]]


@dataclass
class Analysis:
    """Dims of one function. Made by `analyse`."""

    classes: AxisClasses = field(default_factory=AxisClasses)
    axes: dict[SSAValue, list[Axis]] = field(default_factory=dict[SSAValue, list[Axis]])
    iterations: dict[Operation, Iteration] = field(default_factory=dict[Operation, Iteration])
    views: set[Operation] = field(default_factory=set[Operation])
    generators: set[Operation] = field(default_factory=set[Operation])
    opaque: set[Operation] = field(default_factory=set[Operation])
    order: dict[Operation, int] = field(default_factory=dict[Operation, int])
    names: DimNames = field(default_factory=DimNames)
    reduced_anywhere: set[str] = field(default_factory=set[str])

    def dims(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        """The dims of an axis, outermost factor first."""
        return tuple(self.names.of(leaf) for leaf in self.classes.leaves(nodes))

    def spec(self, value: SSAValue) -> tuple[tuple[str, ...], ...]:
        """The dims of each axis of a value."""
        return tuple(self.dims(axis) for axis in self.axes[value])

    def is_batch(self, dim: str) -> bool:
        return self.names.leaf(dim).role is Role.Batch

    def nest_order(self, dims: Sequence[str]) -> tuple[str, ...]:
        """Dims in the global order of nests: dims that no operation reduces come first (rows outside
        heads).
        """
        return tuple(sorted(set(dims), key=self._rank))

    def _rank(self, dim: str) -> tuple[bool, bool, int]:
        reduced = dim in self.reduced_anywhere
        return reduced, reduced and not self.is_batch(dim), self.names.position(dim)


def is_splat_constant(op: Operation) -> bool:
    """True for a constant array of one value."""
    return isinstance(op, array.ConstantOp) and op.value.is_splat()


def _broadcast_axes(operand: Sequence[int], result: Sequence[int], nodes: Sequence[Axis]) -> list[Axis]:
    """The iteration axes of an operand that is broadcast to `result`, by numpy's rules, with axes `nodes`."""
    skipped = len(result) - len(operand)
    return [
        [] if extent == 1 and result[skipped + axis] != 1 else nodes[skipped + axis]
        for axis, extent in enumerate(operand)
    ]


class _Builder:
    def __init__(self, function: FuncOp, opaque_iotas: bool):
        self.opaque_iotas = opaque_iotas
        self.analysis = Analysis()
        self.classes = self.analysis.classes
        self.function = function

    def run(self) -> Analysis:
        block = self.function.body.block
        for argument in block.args:
            self.analysis.axes[argument] = _nodes(shape_of(argument)) if _is_array(argument.type) else []
        for index, op in enumerate(block.ops):
            self.analysis.order[op] = index
            self.visit(op)
        self.unify_uses(block)
        self.settle_roles(block)
        self.name_dims(block)
        return self.analysis

    def visit(self, op: Operation) -> None:
        match op:
            case array.MatmulOp() | array.MaskedMatmulOp():
                self.visit_matmul(op)
            case array.ElementwiseOp():
                self.visit_elementwise(op)
            case array.ReduceOp():
                self.visit_reduce(op)
            case array.TransposeOp():
                source = self.analysis.axes[op.input]
                self.view(op, [source[axis] for axis in op.perm.get_values()])
            case array.BroadcastOp():
                source, shape, result = self.analysis.axes[op.input], shape_of(op.input), shape_of(op.result)
                kept: list[Axis] = [
                    [] if a == 1 and b != 1 else axis
                    for a, b, axis in zip(shape[::-1], result[::-1], source[::-1], strict=False)
                ]
                self.view(op, [*([] for _ in range(len(result) - len(shape))), *kept[::-1]])
            case array.ReshapeOp():
                axes = self.reshaped(op)
                self.opaque(op) if axes is None else self.view(op, axes)
            case array.IotaOp() | array.ConstantOp() if self.is_generator(op):
                self.analysis.generators.add(op)
                self.analysis.axes[op.results[0]] = _nodes(shape_of(op.results[0]))
            case _:
                self.opaque(op)

    def is_generator(self, op: array.IotaOp | array.ConstantOp) -> bool:
        if isinstance(op, array.IotaOp):
            return op.like is None or not self.opaque_iotas
        return is_splat_constant(op)

    def opaque(self, op: Operation) -> None:
        self.analysis.opaque.add(op)
        for result in op.results:
            self.analysis.axes[result] = _nodes(shape_of(result)) if _is_array(result.type) else []

    def view(self, op: Operation, axes: list[Axis]) -> None:
        self.analysis.views.add(op)
        self.analysis.axes[op.results[0]] = axes

    def computation(
        self,
        op: Operation,
        space: Space,
        parallel: list[Axis],
        reduced: list[Node],
        operands: list[list[Axis]],
    ) -> None:
        for node in (*(node for axis in parallel for node in axis), *reduced):
            self.classes.join_space(node, space)
        self.analysis.iterations[op] = Iteration(space, parallel, reduced, operands)
        for result in op.results:
            self.analysis.axes[result] = parallel

    def visit_elementwise(self, op: array.ElementwiseOp) -> None:
        shape = op.shape
        # An axis of extent 1 without a dim in all operands (a statistic with its dim kept) needs none either.
        with_dim = {
            axis - len(own)
            for value in op.inputs
            for own in [self.analysis.axes[value]]
            for axis in range(len(own))
            if own[axis]
        }
        axes = [
            axis if shape[position] != 1 or position - len(shape) in with_dim else []
            for position, axis in enumerate(_nodes(shape))
        ]
        operands = [_broadcast_axes(shape_of(value), shape, axes) for value in op.inputs]
        self.computation(op, Space(limited=True), axes, [], operands)

    def visit_matmul(self, op: array.MatmulOp | array.MaskedMatmulOp) -> None:
        a, b, result = shape_of(op.a), shape_of(op.b), shape_of(op.result)
        axes = _nodes(result)
        (m,), (n,) = axes[-2], axes[-1]
        contracted = a[-2] if op.transpose_a is not None else a[-1]
        k = Node(None if contracted == DYNAMIC else contracted)
        batch_a = _broadcast_axes(a[:-2], result[:-2], axes[:-2])
        batch_b = _broadcast_axes(b[:-2], result[:-2], axes[:-2])
        rows_a = [[k], [m]] if op.transpose_a is not None else [[m], [k]]
        rows_b = [[n], [k]] if op.transpose_b is not None else [[k], [n]]
        masks: list[list[Axis]] = []
        if isinstance(op, array.MaskedMatmulOp):
            pairs = [*axes[:-1], [k]]
            masks = [_broadcast_axes(shape_of(value), op.pair_shape, pairs) for value in op.inputs]
        factors = [[*batch_a, *rows_a], [*batch_b, *rows_b]]
        self.computation(op, Space(limited=False), axes, [k], [*factors, *masks])
        for node in (m, n, k):
            self.classes.require_role(node, Role.Block)
        for (node,) in axes[:-2]:
            self.classes.require_role(node, Role.Batch)

    def visit_reduce(self, op: array.ReduceOp) -> None:
        shape, reduced_axes = shape_of(op.input), set(op.axes.get_values())
        nodes = _nodes(shape)
        keepdims = op.keepdims is not None
        parallel = [
            [] if axis in reduced_axes else nodes[axis]
            for axis in range(len(shape))
            if keepdims or axis not in reduced_axes
        ]
        reduced = [nodes[axis][0] for axis in sorted(reduced_axes)]
        self.computation(op, Space(limited=True), parallel, reduced, [nodes])

    def reshaped(self, op: array.ReshapeOp) -> list[Axis] | None:
        """The axes of a reshape's result, or None if they cannot be made of the operand's."""
        source, shape, result = self.analysis.axes[op.input], shape_of(op.input), shape_of(op.result)
        axes: list[Axis] = [[] for _ in result]
        for inputs, outputs in op.groups:
            if len(inputs) == 1 and len(outputs) == 1:
                axes[outputs[0]] = source[inputs[0]]
            elif len(inputs) == 1 and len(outputs) > 1 and source[inputs[0]]:
                factors = {
                    axis: Node(None if result[axis] == DYNAMIC else result[axis])
                    for axis in outputs
                    if result[axis] != 1
                }
                if not self.factor(source[inputs[0]], list(factors.values())):
                    return None
                for axis, node in factors.items():
                    axes[axis] = [node]
            elif len(inputs) > 1:
                if any(not source[axis] and shape[axis] != 1 for axis in inputs) or self.is_generated(
                    op.input
                ):
                    return None
                axes[outputs[0]] = [node for axis in inputs for node in source[axis]]
        return axes

    def factor(self, axis: Axis, factors: list[Node]) -> bool:
        leaves = self.classes.leaves(axis)
        if len(leaves) == 1:
            return self.classes.attempt(lambda: self.classes.cut(leaves[0], factors))
        return self.classes.attempt(lambda: self.classes.unify(axis, factors))

    def is_generated(self, value: SSAValue) -> bool:
        while value.owner in self.analysis.views:
            assert isinstance(value.owner, Operation)
            value = value.owner.operands[0]
        return value.owner in self.analysis.generators

    def is_source(self, value: SSAValue) -> bool:
        """True if a value is a view of an array that exists, not of the result of a nest."""
        while value.owner in self.analysis.views:
            assert isinstance(value.owner, Operation)
            value = value.owner.operands[0]
        return isinstance(value.owner, Block) or value.owner not in self.analysis.iterations

    def unify_uses(self, block: Block) -> None:
        """Give each use of an array the array's own dims wherever that is possible.

        This goes from the last use to the first. If two uses cannot both have them, the one nearer to the
        arguments does not: the array is computed again along its own dims, or viewed again. Arguments come
        last, because another view of them costs nothing.
        """
        uses = [
            (value, axes)
            for op in reversed(block.ops)
            if op in self.analysis.iterations
            for value, axes in zip(op.operands, self.analysis.iterations[op].operands, strict=True)
        ]
        for value, axes in sorted(uses, key=lambda use: self.is_source(use[0])):
            for own, iterated in zip(self.analysis.axes[value], axes, strict=True):
                if own and iterated:
                    self.classes.attempt(lambda own=own, iterated=iterated: self.classes.unify(own, iterated))
        for op in block.ops:
            if isinstance(op, array.IotaOp) and op in self.analysis.generators and op.like is not None:
                for own, like in zip(self.analysis.axes[op.result], self.analysis.axes[op.like], strict=True):
                    if own and like and self.classes.leaves(own)[0].extent is None:
                        self.classes.attempt(lambda own=own, like=like: self.classes.unify(own, like))

    def settle_roles(self, block: Block) -> None:
        """Make axes without a role blocked if an item has room for them, the last ones first."""
        for op in reversed(block.ops):
            iteration = self.analysis.iterations.get(op)
            if iteration is None:
                continue
            axes = iteration.operands[0] if iteration.reduced else iteration.parallel
            for leaf in reversed(self.classes.leaves(node for axis in axes for node in axis)):
                if leaf.role is None and not self.classes.attempt(
                    lambda leaf=leaf: self.classes.require_role(leaf, Role.Block)
                ):
                    self.classes.require_role(leaf, Role.Batch)

    def name_dims(self, block: Block) -> None:
        names = self.analysis.names
        for number, argument in enumerate(block.args):
            for axis, wanted in zip(self.analysis.axes[argument], self.wanted_names(number), strict=False):
                leaves = self.classes.leaves(axis)
                if len(leaves) == len(wanted):
                    for leaf, name in zip(leaves, wanted, strict=True):
                        names.suggest(leaf, name)
        # The rows of a result come first: by custom they are M.
        last = block.last_op
        for value in last.operands if last is not None else ():
            leaves = self.classes.leaves([node for axis in self.analysis.axes[value] for node in axis])
            for leaf in [leaf for leaf in leaves if leaf.role is Role.Block][:1]:
                names.name(leaf)
        for iteration in self.analysis.iterations.values():
            nodes = [*(node for axis in iteration.parallel for node in axis), *iteration.reduced]
            for leaf in self.classes.leaves(nodes):
                names.meet(leaf)
        for iteration in self.analysis.iterations.values():
            self.analysis.reduced_anywhere.update(self.analysis.dims(iteration.reduced))

    def wanted_names(self, argument: int) -> list[list[str]]:
        attributes = self.function.arg_attrs
        if attributes is None or argument >= len(attributes.data):
            return []
        wanted = attributes.data[argument].data.get(DIM_NAMES)
        if not isa(wanted, ArrayAttr):
            return []
        return [name.data.split("*") if isinstance(name, StringAttr) else [] for name in wanted.data]


def analyse(function: FuncOp, opaque_iotas: bool = False) -> Analysis:
    """Find the dims of a function of one block whose operations are in program order.

    With `opaque_iotas`, the iotas that take their extents from an array stay arrays.
    """
    return _Builder(function, opaque_iotas).run()
