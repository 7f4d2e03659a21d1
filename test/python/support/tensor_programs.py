"""Block programs on tensors: lists that come in are cut from arrays, those that go out are put together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from bb.dialects import block
from bb.dialects.array import DYNAMIC
from block_programs import BlockProgram
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue


def _axes(type: Attribute, dims: Mapping[str, block.DimAttr]) -> list[list[str]] | None:
    """The axes of a tensor that holds a list or an item; None where no tensor does."""
    nest = type.dims if isinstance(type, block.ListType) else ()
    item = type.item if isinstance(type, block.ListType) else type
    assert isinstance(item, block.ItemType)
    if any(name not in item.dims and not dims[name].is_batch for name in nest):
        return None
    if any(name not in nest and not dims[name].is_whole for name in item.dims):
        return None
    return [[name] for name in (*(name for name in nest if dims[name].is_batch), *item.dims)]


def _tensor(
    type: Attribute, axes: list[list[str]], dims: Mapping[str, block.DimAttr]
) -> TensorType[Attribute]:
    item = type.item if isinstance(type, block.ListType) else type
    assert isinstance(item, block.ItemType)
    extents = [dims[name].static_extent for (name,) in axes]
    return TensorType(item.element_type, [DYNAMIC if extent is None else extent for extent in extents])


def on_tensors(program: BlockProgram, name: str = "program") -> FuncOp | None:
    """The program as a function of tensors, with those results that are lists a tensor can hold.

    None where some argument is no such list, or no result is.
    """
    function = program.function.clone()
    dims = block.parse_dims(function.attributes[block.DIMS])
    old = function.body.block
    axes = [_axes(argument.type, dims) for argument in old.args]
    if any(each is None for each in axes):
        return None
    known_axes = [each for each in axes if each is not None]
    types = [_tensor(argument.type, each, dims) for argument, each in zip(old.args, known_axes, strict=True)]
    new = Block(arg_types=types)
    values: dict[SSAValue, SSAValue] = {}
    for argument, tensor, each in zip(old.args, new.args, known_axes, strict=True):
        tensor.name_hint = argument.name_hint
        view = block.PartitionOp(tensor, each, argument.type)
        new.add_op(view)
        values[argument] = view.result
    results: list[SSAValue] = []
    for op in list(old.ops):
        if not isinstance(op, ReturnOp):
            new.add_op(op.clone(values))
            continue
        for value in op.arguments:
            value = values.get(value, value)
            if isinstance(value.type, block.ItemType) and block.is_local(value.type):
                store = block.StoreOp(value)
                if _axes(store.result.type, dims) is None:
                    continue
                new.add_op(store)
                value = store.result
            if (found := _axes(value.type, dims)) is None:
                continue
            assembled = block.AssembleOp(value, found, _tensor(value.type, found, dims))
            new.add_op(assembled)
            results.append(assembled.result)
    if not results:
        return None
    new.add_op(ReturnOp(*results))
    made = FuncOp(name, (types, [value.type for value in results]), Region(new))
    made.attributes[block.DIMS] = function.attributes[block.DIMS]
    made.sym_name = StringAttr(name)
    ModuleOp([made])
    return made


def tensor_arguments(function: FuncOp, seed: int = 0) -> list[NDArray[np.float64]]:
    """Arrays for a function of tensors with known extents, exact in f32."""
    rng = np.random.default_rng(seed)
    found: list[NDArray[np.float64]] = []
    for argument in function.body.block.args:
        assert isinstance(argument.type, TensorType)
        shape = argument.type.get_shape()
        found.append(np.round(rng.uniform(0.25, 1.5, shape) * 64) / 64 * rng.choice([-1.0, 1.0], shape))
    return found
