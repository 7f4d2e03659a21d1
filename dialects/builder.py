"""Array and block programs from Python: functions filled by calls, with the types of results inferred.

f = ArrayFunction("gate", {"x": "tensor<?x64xf32>", "w": "tensor<64x32xf32>"})
x, w = f.arguments
h = (x @ w).named("h")
f.returns(h * h.sigmoid())
module = build(f)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    ModuleOp,
    TensorType,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from . import array, block
from .array.sources import dense_splat
from .context import make_context
from .parsing import LocatedParser
from .scalar_builder import ScalarBuilder
from .verification import verify

ScalarFunction: TypeAlias = Callable[..., SSAValue]
"""Makes the region of an element-wise operation: `(scalars, *elements)` gives the scalar to yield."""

Dim: TypeAlias = "int | str | block.DimAttr"
"""A dim: its extent, the attribute, or the text inside `#block.dim<...>`: `"?"`, `"1024, block = 64"`."""


def build(*functions: _Function) -> ModuleOp:
    """The functions in one module, verified. Raises OpError."""
    for function in functions:
        if not isinstance(function.body.last_op, ReturnOp):
            raise ValueError(f"function '{function.name}' has no end: call its method 'returns'")
    module = ModuleOp([function.op for function in functions])
    verify(module)
    return module


def _type(type: str | Attribute) -> Attribute:
    return LocatedParser(make_context(), type, "<type>").parse_type() if isinstance(type, str) else type


class _Function:
    """A function under construction; operations are appended to the innermost open body."""

    def __init__(self, name: str, arguments: Mapping[str, str | Attribute]):
        self.name = name
        self.body = Block(arg_types=[_type(type) for type in arguments.values()])
        for value, hint in zip(self.body.args, arguments, strict=True):
            value.name_hint = hint
        self.op = FuncOp(name, FunctionType.from_lists(self.body.arg_types, []), Region(self.body))
        self._open = self.body

    def insert(self, op: Operation, name: str | None = None) -> SSAValue:
        """Append an operation; its first result, which can be named. Raises ValueError after `returns`."""
        self._append(op)
        if name is not None:
            op.results[0].name_hint = name
        return op.results[0]

    def _return(self, values: Sequence[SSAValue]) -> None:
        self._append(ReturnOp(*values))
        types = FunctionType.from_lists(self.body.arg_types, [value.type for value in values])
        self.op.properties["function_type"] = types

    def _append(self, op: Operation) -> None:
        if isinstance(self.body.last_op, ReturnOp):
            raise ValueError(f"function '{self.name}' returns already")
        self._open.add_op(op)


class Array:
    """A value of an array function: `+ - * /` by element with broadcasting, `@`, operations as methods."""

    def __init__(self, function: ArrayFunction, value: SSAValue):
        self.function = function
        self.value = value

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents, None for one that is known only at run time."""
        return tuple(None if extent == DYNAMIC_INDEX else extent for extent in array.shape_of(self.value))

    def named(self, name: str) -> Array:
        """The same array, which is called `%name` when the program is printed."""
        self.value.name_hint = name
        return self

    def _insert(self, op: Operation) -> Array:
        return self.function.apply(op)

    def _binary(
        self, other: Array | float, function: Callable[[ScalarBuilder, SSAValue, SSAValue], SSAValue]
    ) -> Array:
        if isinstance(other, Array):
            return self.function.elementwise(function, self, other)
        number = other
        return self._unary(lambda s, a: function(s, a, s.constant(number, a.type)))

    def _unary(self, function: Callable[[ScalarBuilder, SSAValue], SSAValue]) -> Array:
        return self.function.elementwise(function, self)

    def __add__(self, other: Array | float) -> Array:
        return self._binary(other, lambda s, a, b: s.add(a, b))

    def __sub__(self, other: Array | float) -> Array:
        return self._binary(other, lambda s, a, b: s.subtract(a, b))

    def __mul__(self, other: Array | float) -> Array:
        return self._binary(other, lambda s, a, b: s.multiply(a, b))

    def __truediv__(self, other: Array | float) -> Array:
        return self._binary(other, lambda s, a, b: s.divide(a, b))

    def __radd__(self, other: float) -> Array:
        return self._binary(other, lambda s, a, b: s.add(b, a))

    def __rsub__(self, other: float) -> Array:
        return self._binary(other, lambda s, a, b: s.subtract(b, a))

    def __rmul__(self, other: float) -> Array:
        return self._binary(other, lambda s, a, b: s.multiply(b, a))

    def __rtruediv__(self, other: float) -> Array:
        return self._binary(other, lambda s, a, b: s.divide(b, a))

    def __neg__(self) -> Array:
        return self._unary(lambda s, a: s.negate(a))

    def __matmul__(self, other: Array) -> Array:
        return self.matmul(other)

    def matmul(self, other: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
        op = array.MatmulOp(self.value, other.value, transpose_a=transpose_a, transpose_b=transpose_b)
        return self._insert(op)

    def exp(self) -> Array:
        return self._unary(lambda s, a: s.exp(a))

    def rsqrt(self) -> Array:
        return self._unary(lambda s, a: s.rsqrt(a))

    def sum(
        self, axes: int | Sequence[int], *, keepdims: bool = False, acc: TypeAttribute | None = None
    ) -> Array:
        return self._insert(array.ReduceOp("sum", self.value, axes, keepdims=keepdims, acc=acc))

    def max(self, axes: int | Sequence[int], *, keepdims: bool = False) -> Array:
        return self._insert(array.ReduceOp("max", self.value, axes, keepdims=keepdims))

    def min(self, axes: int | Sequence[int], *, keepdims: bool = False) -> Array:
        return self._insert(array.ReduceOp("min", self.value, axes, keepdims=keepdims))

    def transpose(self, *perm: int) -> Array:
        """Axes in the order `perm`; reversed without one."""
        rank = len(array.shape_of(self.value))
        return self._insert(array.TransposeOp(self.value, perm or range(rank - 1, -1, -1)))

    def reshape(self, *shape: int | None) -> Array:
        """Another shape, with None for an extent that is known only at run time."""
        extents = [DYNAMIC_INDEX if extent is None else extent for extent in shape]
        return self._insert(array.ReshapeOp(self.value, extents))

    def gather(self, indices: Array, axis: int = 0) -> Array:
        """Slices along an axis, looked up by index."""
        return self._insert(array.GatherOp(self.value, indices.value, axis))

    def gather_elements(self, indices: Array, axis: int) -> Array:
        """Elements, each looked up along an axis by its own index."""
        return self._insert(array.GatherElementsOp(self.value, indices.value, axis))

    def cumsum(self, axis: int, *, acc: TypeAttribute | None = None) -> Array:
        return self._insert(array.CumsumOp(self.value, axis, acc=acc))

    def pad(self, low: Sequence[int], high: Sequence[int], value: float = 0) -> Array:
        """Elements with one value before and after each axis."""
        return self._insert(array.PadOp(self.value, low, high, value))

    def softmax(self, axis: int = -1) -> Array:
        return self._insert(array.SoftmaxOp(self.value, axis))

    def layer_norm(
        self, scale: Array | None = None, shift: Array | None = None, *, eps: float = 1e-5
    ) -> Array:
        return self._insert(array.LayerNormOp(self.value, _value(scale), _value(shift), eps=eps))

    def rms_norm(self, scale: Array | None = None, *, eps: float = 1e-6) -> Array:
        return self._insert(array.RmsNormOp(self.value, _value(scale), eps=eps))

    def relu(self) -> Array:
        return self._insert(array.ReluOp(self.value))

    def sigmoid(self) -> Array:
        return self._insert(array.SigmoidOp(self.value))

    def silu(self) -> Array:
        return self._insert(array.SiluOp(self.value))

    def gelu(self, form: array.GeluForm | str = "exact") -> Array:
        return self._insert(array.GeluOp(self.value, form))


def _value(value: Array | None) -> SSAValue | None:
    return None if value is None else value.value


class ArrayFunction(_Function):
    """A function on whole arrays. `arguments` maps names to tensor types, as text or as attributes.

    Operations without a method of their own are added by `apply(op)`, which takes any `bb.array` operation.
    """

    @property
    def arguments(self) -> tuple[Array, ...]:
        return tuple(Array(self, value) for value in self.body.args)

    def apply(self, op: Operation) -> Array:
        """Append an operation; its first result."""
        return Array(self, self.insert(op))

    def elementwise(self, function: ScalarFunction, *inputs: Array) -> Array:
        """Apply `function(scalars, *elements)` to each element; `scalars` is a ScalarBuilder."""

        def region(builder: Builder, *elements: SSAValue) -> SSAValue:
            return function(ScalarBuilder(builder), *elements)

        return self.apply(array.ElementwiseOp.from_function([x.value for x in inputs], region))

    def attention(
        self,
        q: Array,
        k: Array,
        v: Array,
        *,
        bias: Array | None = None,
        mask: Array | None = None,
        scale: float | None = None,
        causal: bool = False,
    ) -> Array:
        op = array.AttentionOp(
            q.value, k.value, v.value, bias=_value(bias), mask=_value(mask), scale=scale, causal=causal
        )
        return self.apply(op)

    def constant(self, value: float, type: str | Attribute) -> Array:
        """An array with the same value everywhere."""
        return self.apply(array.ConstantOp(dense_splat(array.array_type(_type(type)), value)))

    def returns(self, *values: Array) -> None:
        """End the function with its results."""
        self._return([value.value for value in values])


class BlockFunction(_Function):
    """A block program.

    `dims` declares its dims: an extent, `"?"`, `"1024, block = 64"`, `"16, whole"`, `"8, batch"`. Values are
    plain SSA values. Operations without a method of their own are added by `insert(op)`.
    """

    def __init__(self, name: str, arguments: Mapping[str, str | Attribute], dims: Mapping[str, Dim]):
        super().__init__(name, arguments)
        self.dims = {dim: _dim(text) for dim, text in dims.items()}
        self.op.attributes[block.DIMS] = block.dims_attr(self.dims)

    @property
    def arguments(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.args)

    def partition(
        self,
        tensor: SSAValue,
        axes: Sequence[str | Sequence[str]],
        *,
        nest: Sequence[str] | None = None,
        item: Sequence[str] | None = None,
        name: str | None = None,
    ) -> SSAValue:
        """See a tensor as nested lists of items; `axes` has the dim of each axis, or the dims of a product.

        The lists nest in the order `nest`, or else in that of the axes without the whole ones. The items have
        axes `item`, or else the dims that are no batch dims, in the order of the axes.
        """
        spec = _axes(axes)
        named = [dim for axis in spec for dim in axis]
        for dim in named:
            if dim not in self.dims:
                raise ValueError(
                    f"dim '{dim}' is not declared; the dims are {', '.join(self.dims) or 'none'}"
                )
        nest = [dim for dim in named if not self.dims[dim].is_whole] if nest is None else nest
        item = [dim for dim in named if not self.dims[dim].is_batch] if item is None else item
        type = block.list_type(nest, block.item_type(item, array.element_type_of(tensor)))
        return self.insert(block.PartitionOp(tensor, spec, type), name)

    def assemble(
        self, blocks: SSAValue, axes: Sequence[str | Sequence[str]], *, name: str | None = None
    ) -> SSAValue:
        """The tensor with the given axes that a list of items is a view of."""
        spec = _axes(axes)
        shape = [self._extent(axis) for axis in spec]
        type = TensorType(block.element_type_of(blocks.type), shape)
        return self.insert(block.AssembleOp(blocks, spec, type), name)

    def _extent(self, axis: Sequence[str]) -> int:
        product = 1
        for dim in axis:
            extent = self.dims[dim].static_extent
            if extent is None:
                return DYNAMIC_INDEX
            product *= extent
        return product

    def map_over(
        self,
        dim: str,
        lists: Sequence[SSAValue],
        kinds: Sequence[block.Kind | str],
        body: Callable[..., SSAValue | Sequence[SSAValue]],
        *,
        names: Sequence[str] = (),
    ) -> tuple[SSAValue, ...]:
        """Map `body(*elements)` over the dim; it returns what to yield: a value, or one for each kind.

        Kinds are `stack`, `sum`, `max`, `min` and `any`; the result has one value for each, which `names`
        name. The elements are named as the parameters of `body`.
        """
        for value in lists:
            if not isinstance(value.type, block.ListType) or value.type.dim.data != dim:
                raise ValueError(f"map over '{dim}': expected lists over {dim}, got {value.type}")
        inner = Block(
            arg_types=[value.type.element for value in lists if isinstance(value.type, block.ListType)]
        )
        for argument, hint in zip(inner.args, signature(body).parameters, strict=False):
            argument.name_hint = hint
        with self._inside(inner):
            yielded = body(*inner.args)
            inner.add_op(block.YieldOp(*([yielded] if isinstance(yielded, SSAValue) else yielded)))
        op = block.MapOp(dim, lists, [block.Kind(kind) for kind in kinds], Region(inner))
        self.insert(op)
        for result, name in zip(op.results, names, strict=False):
            result.name_hint = name
        return tuple(op.results)

    @contextmanager
    def _inside(self, body: Block) -> Generator[None]:
        outer, self._open = self._open, body
        try:
            yield
        finally:
            self._open = outer

    def load(self, item: SSAValue) -> SSAValue:
        return self.insert(block.LoadOp(item))

    def store(self, item: SSAValue) -> SSAValue:
        return self.insert(block.StoreOp(item))

    def dot(self, a: SSAValue, b: SSAValue, acc: Attribute = f32) -> SSAValue:
        """a<M,K>, b<N,K> gives a·bᵀ<M,N>, summed in `acc`."""
        return self.insert(block.DotOp(a, b, acc))

    def row_sum(self, a: SSAValue, acc: Attribute = f32) -> SSAValue:
        return self.insert(block.RowSumOp(a, acc))

    def row_max(self, a: SSAValue) -> SSAValue:
        return self.insert(block.RowMaxOp(a))

    def row_scale(self, a: SSAValue, c: SSAValue) -> SSAValue:
        return self.insert(block.RowScaleOp(a, c))

    def row_shift(self, a: SSAValue, c: SSAValue) -> SSAValue:
        return self.insert(block.RowShiftOp(a, c))

    def elementwise(self, function: ScalarFunction, *inputs: SSAValue) -> SSAValue:
        """Apply `function(scalars, *elements)` to each element; the shape is that of the first input.

        The others have the same dims or fewer, and are broadcast along those that they lack.
        """
        inner = block.scalar_block(inputs)
        yielded = function(ScalarBuilder(Builder(InsertPoint.at_end(inner))), *inner.args)
        inner.add_op(block.YieldOp(yielded))
        shape = inputs[0].type
        if not isinstance(shape, block.ItemType):
            raise ValueError(f"elementwise: expected an item, got {shape}")
        result = block.item_type(shape.dims, yielded.type)
        return self.insert(block.ElementwiseOp(inputs, Region(inner), result))

    def returns(self, *values: SSAValue) -> None:
        """End the function with its results."""
        self._return(values)


def _axes(axes: Sequence[str | Sequence[str]]) -> list[list[str]]:
    return [[axis] if isinstance(axis, str) else list(axis) for axis in axes]


def _dim(dim: Dim) -> block.DimAttr:
    if isinstance(dim, block.DimAttr):
        return dim
    attribute: Any = LocatedParser(make_context(), f"#block.dim<{dim}>", "<dim>").parse_attribute()
    assert isa(attribute, block.DimAttr)
    return attribute
