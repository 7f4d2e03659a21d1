"""Lowering of a program's function: its nests become kernels, and it launches them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from ...dialects import block, kernel
from ...dialects.attributes import OWN_EXPONENT, PROLOGUE
from ...dialects.block import Kind
from ...dialects.diagnostics import OpError
from ...dialects.kernel import Lanes
from ...dialects.kernel.precision import is_wide_body, needs_wide_lanes
from ...passes.analysis.causal_masks import masked_later
from ...passes.fusion.cleanup import dead_code_patterns
from .layout import Layouts, Orientation, orientation_of
from .nest import NestLowering, Place, first_of
from .products import Products
from .segments import is_host, segments

Axes = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Stored:
    """A list in global memory: the tensor that holds it, in the function of the program, and its axes."""

    tensor: SSAValue
    axes: Axes


def lower_function(function: FuncOp, orientation: Orientation, products: Products) -> None:
    """Replace the nests of a block program by launches of kernels, which are inserted before it."""
    dims = _with_whole_dims(block.parse_dims(function.attributes[block.DIMS]), _causal_dims(function))
    for name, dim in dims.items():
        if dim.block_size is None and not dim.is_whole:
            raise OpError(
                function, f"dim {name} has no block size yet; run block-shapes before block-to-kernel"
            )
    for op in function.walk():
        if OWN_EXPONENT in op.attributes:
            raise OpError(
                op,
                f"has rows that need an exponent ({OWN_EXPONENT}); run block-stabilize before this pass",
            )
    _drop_dead_code(function)
    _copy_views(function)
    _copy_lists(function)
    _repeat_firsts(function)
    _HostLowering(function, dims, orientation, products).run()


def _causal_dims(function: FuncOp) -> set[str]:
    """The dims that are masked from some index on: a loop over one ends early, even with a single
    iteration.
    """
    return {dim for op in function.walk() if isinstance(op, block.ElementwiseOp) for dim in masked_later(op)}


def _with_whole_dims(dims: Mapping[str, block.DimAttr], looped: set[str]) -> dict[str, block.DimAttr]:
    """Return the dims, with those that fit one block whole, so that no loop runs over them; except those of
    `looped`.
    """
    found: dict[str, block.DimAttr] = {}
    for name, dim in dims.items():
        extent, size = dim.static_extent, dim.block_size
        single = (
            name not in looped
            and not dim.is_batch
            and extent is not None
            and size is not None
            and size >= extent
        )
        found[name] = block.DimAttr(dim.extent.data, 0, block.Blocking.Whole) if single else dim
    return found


def _drop_dead_code(function: FuncOp) -> None:
    """Drop operations whose results are never read: an unread list would have no place in memory."""
    patterns = GreedyRewritePatternApplier([*dead_code_patterns()], dce_enabled=False)
    PatternRewriteWalker(patterns, apply_recursively=True).rewrite_region(function.body)


def _copy_lists(function: FuncOp) -> None:
    """Copy lists so that every map yields only lists and items that a map or a store in its body makes."""
    for op in list(function.body.walk()):
        if not isinstance(op, block.MapOp):
            continue
        last, copied = op.yield_op, dict[SSAValue, SSAValue]()
        for index, yielded in enumerate(last.arguments):
            maker = yielded.owner
            made = isinstance(maker, block.MapOp | block.StoreOp) and maker.parent is op.body.block
            if made or block.is_local(yielded.type):
                continue
            if yielded not in copied:
                nest = yielded.type.dims if isinstance(yielded.type, block.ListType) else ()
                copies = _copy_nest(yielded, nest)
                op.body.block.insert_ops_before(copies, last)
                copied[yielded] = copies[-1].results[0]
            last.operands[index] = copied[yielded]


def _copy_views(function: FuncOp) -> None:
    """Copy lists so that every assembled tensor is the only one of its list, and a map or a store makes the
    list.

    A list that is assembled twice, or that is a view of a tensor itself, is copied by a nest of its own.
    """
    assembled: set[SSAValue] = set()
    for op in list(function.body.block.ops):
        if not isinstance(op, block.AssembleOp):
            continue
        maker = op.list.owner
        if op.list in assembled or not isinstance(maker, block.MapOp | block.StoreOp):
            nest = op.list.type.dims if isinstance(op.list.type, block.ListType) else ()
            copies = _copy_nest(op.list, nest)
            function.body.block.insert_ops_before(copies, op)
            op.operands[0] = copies[-1].results[0]
        assembled.add(op.list)


def _repeat_firsts(function: FuncOp) -> None:
    """Give each operation that uses the first element of a list a `block.first` of its own, directly before
    it.

    This moves no data. Without it, a kernel would have to write the element to an array for the others,
    although each of them can read it from the array of the list.
    """
    for op in reversed(list(function.body.block.ops)):
        if not isinstance(op, block.FirstOp):
            continue
        users: dict[Operation, block.FirstOp] = {}
        for use in list(op.result.uses):
            user = _at_top(use.operation, function.body.block)
            if user not in users:
                users[user] = op.clone()
                users[user].result.name_hint = op.result.name_hint
                function.body.block.insert_op_before(users[user], user)
            use.operation.operands[use.index] = users[user].result
        op.detach()
        op.erase()


def _at_top(op: Operation, body: Block) -> Operation:
    """The operation of a body that is, or contains, another one."""
    while op.parent is not body:
        outer = op.parent_op()
        assert outer is not None
        op = outer
    return op


def _copy_nest(source: SSAValue, nest: Sequence[str]) -> list[Operation]:
    """Operations that load every item of a list and store it to another; the last one makes the list."""
    if not nest:
        load = block.LoadOp(source)
        return [load, block.StoreOp(load.result)]
    assert isinstance(source.type, block.ListType)
    body = Block(arg_types=[source.type.element])
    inner = _copy_nest(body.args[0], nest[1:])
    body.add_ops([*inner, block.YieldOp(inner[-1].results[0])])
    return [block.MapOp(nest[0], [source], [Kind.Stack], Region(body))]


@dataclass
class _HostLowering:
    function: FuncOp
    dims: Mapping[str, block.DimAttr]
    orientation: Orientation
    products: Products
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Tensors of the program → tensors of the new function."""
    stored: dict[SSAValue, _Stored] = field(default_factory=dict[SSAValue, _Stored])
    count: int = 0

    def run(self) -> None:
        old = self.function.body.detach_block(0)
        new = Block(arg_types=[argument.type for argument in old.args])
        for argument, replacement in zip(old.args, new.args, strict=True):
            replacement.name_hint, replacement.location = argument.name_hint, argument.location
            self.values[argument] = replacement
        self.function.body.add_block(new)
        for group in segments(old):
            if len(group) == 1 and is_host(group[0]):
                self._host(group[0], new)
            else:
                self._kernel(group, new)
        old.erase(safe_erase=False)

    def _host(self, op: Operation, body: Block) -> None:
        match op:
            case block.PartitionOp():
                self.stored[op.result] = _Stored(self.values[op.tensor], _axes_of(op))
            case block.AssembleOp():
                self.values[op.result] = self.stored[op.list].tensor
            case _:
                clone = op.clone(self.values)
                body.add_op(clone)
                self.values.update(zip(op.results, clone.results, strict=True))

    def _kernel(self, ops: Sequence[Operation], body: Block) -> None:
        results = self._results(ops)
        inputs = self._inputs(ops)
        kernel_inputs = list(dict.fromkeys(self.stored[value].tensor for value in inputs))
        types: list[Attribute] = [self._tensor_type(value, axes) for value, axes in results]
        arguments = [*(value.type for value in kernel_inputs), *types]
        entry = Block(arg_types=[kernel.ArrayType.of(type) for type in arguments])  # pyright: ignore[reportArgumentType]
        name = self._name()
        for argument, hint in zip(
            entry.args,
            [*(value.name_hint for value in kernel_inputs), *(self._hint(value) for value, _ in results)],
            strict=True,
        ):
            argument.name_hint = hint
        places: dict[SSAValue, list[Place]] = {}
        for value in inputs:
            stored = self.stored[value]
            places[value] = [Place(entry.args[kernel_inputs.index(stored.tensor)], stored.axes)]
        for number, (value, axes) in enumerate(results):
            places[value] = [Place(entry.args[len(kernel_inputs) + number], axes)]
        self._fill(entry, ops, places)
        dims = self._used_dims(entry, [axes for _, axes in results])
        op = kernel.FuncOp(name, len(results), Region(entry), {block.DIMS: block.dims_attr(dims)})
        op.location = ops[-1].location
        parent = self.function.parent
        assert parent is not None
        parent.insert_op_before(op, self.function)
        launch = kernel.LaunchOp(name, kernel_inputs, [axes for _, axes in results], types)
        launch.location = ops[-1].location
        if all(PROLOGUE in each.attributes for each in ops):
            launch.attributes[kernel.ONCE] = UnitAttr()
        body.add_op(launch)
        for (value, axes), result in zip(results, launch.results_, strict=True):
            result.name_hint = self._hint(value)
            self.stored[value] = _Stored(result, axes)

    def _fill(self, entry: Block, ops: Sequence[Operation], places: dict[SSAValue, list[Place]]) -> None:
        """Write the body of a kernel: the parallel loops, and one of their iterations."""
        lanes = (
            orientation_of(ops, self.dims)
            if self.orientation is Orientation.Auto
            else Lanes(str(self.orientation))
        )
        grid: list[str] = []
        inner = list(ops)
        prefix: list[Operation] = []
        while (nest := _only_nest(inner)) is not None:
            prefix += inner[:-1]
            for op in prefix:
                if isinstance(op, block.FirstOp) and op.result not in places:
                    places[op.result] = first_of(op, places)
            for value, argument in zip(nest.inputs, nest.body.block.args, strict=True):
                places[argument] = places[value]
            for result, yielded in zip(nest.results_, nest.yield_op.arguments, strict=True):
                places[yielded] = [*places.get(yielded, []), *places[result]]
            if not self.dims[nest.dim_name].is_whole:
                grid.append(nest.dim_name)
            inner = [op for op in nest.body.block.ops if not isinstance(op, block.YieldOp)]
        body = Block()
        entry.add_op(kernel.ParallelOp(grid, Region(body)))
        layouts = Layouts.of(ops, lanes)
        lowering = NestLowering(
            self.dims, layouts, places, body, _has_wide_lanes(ops, self.dims), self.products
        )
        lowering.lower([*prefix, *inner], body)

    def _results(self, ops: Sequence[Operation]) -> list[tuple[SSAValue, Axes]]:
        """The lists that a group makes and others read, with the axes of their arrays."""
        own = {each for op in ops for each in op.walk()}
        found: list[tuple[SSAValue, Axes]] = []
        for op in ops:
            for value in op.results:
                if block.is_local(value.type):
                    continue
                outside = [use.operation for use in value.uses if use.operation not in own]
                assembled = next((user for user in outside if isinstance(user, block.AssembleOp)), None)
                if assembled is not None:
                    found.append((value, _axes_of(assembled)))
                elif outside:
                    found.append((value, _storage_axes(value.type)))
        return found

    def _inputs(self, ops: Sequence[Operation]) -> list[SSAValue]:
        """The lists and items from outside that a group reads."""
        found: dict[SSAValue, None] = {}
        for op in ops:
            for each in op.walk():
                found |= dict.fromkeys(value for value in each.operands if value in self.stored)
        return list(found)

    def _tensor_type(self, value: SSAValue, axes: Axes) -> TensorType[Attribute]:
        type = value.type
        item = type.item if isinstance(type, block.ListType) else type
        assert isinstance(item, block.ItemType)
        shape: list[int] = []
        for axis in axes:
            product = 1
            for name in axis:
                dim = self.dims[name]
                extent = dim.static_extent
                if extent is not None and name not in item.dims and not dim.is_batch:
                    assert dim.block_size is not None
                    extent = -(-extent // dim.block_size)
                product = DYNAMIC_INDEX if extent is None or product < 0 else product * extent
            shape.append(product)
        return TensorType(item.element_type, shape)

    def _name(self) -> str:
        base = self.function.sym_name.data
        self.count += 1
        taken = {op.properties["sym_name"] for op in self._module().walk() if "sym_name" in op.properties}
        number = self.count
        while (name := f"{base}_kernel{number}") in {getattr(symbol, "data", "") for symbol in taken}:
            number += 1
        return name

    def _module(self) -> Operation:
        scope: Operation = self.function
        while not isinstance(scope, ModuleOp) and (parent := scope.parent_op()) is not None:
            scope = parent
        return scope

    def _hint(self, value: SSAValue) -> str | None:
        for use in value.uses:
            if isinstance(use.operation, block.AssembleOp) and use.operation.result.name_hint:
                return use.operation.result.name_hint
        return value.name_hint

    def _used_dims(self, entry: Block, axes: Iterable[Axes]) -> dict[str, block.DimAttr]:
        """The dims that a kernel uses, in order."""
        used = {dim for axis in axes for dims in axis for dim in dims}
        for op in entry.walk():
            match op:
                case kernel.ParallelOp() | kernel.ForOp():
                    used.update(op.dim_names)
                case kernel.CursorOp():
                    used.update(dim for axis in op.axis_dims for dim in axis)
                case kernel.BufferOp():
                    used.update(op.axis_dims)
                case kernel.SweepOp():
                    used.update(op.dims)
                case kernel.QuantityOp():
                    used.add(op.dim_name)
                case _:
                    pass
            for value in op.results:
                if isinstance(value.type, kernel.TileType):
                    used.update(value.type.dims)
        return {name: dim for name, dim in self.dims.items() if name in used}


def _has_wide_lanes(ops: Sequence[Operation], dims: Mapping[str, block.DimAttr]) -> bool:
    """True if the kernel of some operations may compute in lanes of 64 bits."""
    inner_ops = [inner for op in ops for inner in op.walk()]
    local = [value.type for inner in inner_ops for value in inner.results if block.is_local(value.type)]
    return needs_wide_lanes(map(block.element_type_of, local)) or any(
        is_wide_body(inner.body.block, dims) for inner in inner_ops if isinstance(inner, block.ElementwiseOp)
    )


def _only_nest(ops: Sequence[Operation]) -> block.MapOp | None:
    """The nest at the end of some operations, if its iterations can be parallel and may repeat the other
    operations at little cost.
    """
    *others, last = ops
    if not isinstance(last, block.MapOp) or any(kind is not Kind.Stack for kind in last.result_kinds):
        return None
    cheap = all(
        block.is_local(result.type) or isinstance(op, block.FirstOp) for op in others for result in op.results
    )
    costly = any(isinstance(op, block.MapOp | block.DotOp | block.ReduceOp) for op in others)
    return last if cheap and not costly else None


def _axes_of(view: block.ViewOp) -> Axes:
    return tuple(tuple(dim.data for dim in axis) for axis in view.axes)


def _storage_axes(type: Attribute) -> Axes:
    """The axes of an array that holds a list that has no tensor type."""
    nest = type.dims if isinstance(type, block.ListType) else ()
    item = type.item if isinstance(type, block.ListType) else type
    assert isinstance(item, block.ItemType)
    return tuple((dim,) for dim in (*(dim for dim in nest if dim not in item.dims), *item.dims))
