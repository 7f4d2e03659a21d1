"""The dims that a function declares: `block.dims = {M = #block.dim<1024, block = 64>, …}`."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from .types import DimAttr, ItemType, check_dim_name, is_local

DIMS = "block.dims"
"""Name of the function's attribute."""


def declared_dims(op: Operation) -> dict[str, DimAttr] | None:
    """The dims declared by the nearest enclosing operation that declares any; None where none does.

    Raises VerifyException if the attribute is malformed.
    """
    scope: Operation | None = op
    while scope is not None:
        attribute = scope.attributes.get(DIMS)
        if attribute is not None:
            return parse_dims(attribute)
        scope = scope.parent_op()
    return None


def parse_dims(attribute: object) -> dict[str, DimAttr]:
    """Read the value of a `block.dims` attribute. Raises VerifyException where it is malformed."""
    if not isinstance(attribute, DictionaryAttr):
        raise VerifyException("block.dims: expected a dictionary of #block.dim")
    dims: dict[str, DimAttr] = {}
    for name, dim in attribute.data.items():
        if not isinstance(dim, DimAttr):
            raise VerifyException(f"block.dims: dim {name} must be a #block.dim, got {dim}")
        check_dim_name("block.dims", name)
        dims[name] = dim
    return dims


def dims_attr(dims: Mapping[str, DimAttr]) -> DictionaryAttr:
    """The value of a `block.dims` attribute."""
    return DictionaryAttr(dims)


def require_declared(op: Operation, names: tuple[str, ...]) -> dict[str, DimAttr]:
    """Return the declared dims; raise VerifyException unless all of `names` are among them.

    A detached operation has no function that declares dims; it is not checked. The error names the operation
    and the dim.
    """
    dims = declared_dims(op)
    if dims is None:
        if op.parent_op() is None or op.get_toplevel_object() is op:
            return {}
        if names:
            raise VerifyException(
                f"{op.name}: dim {names[0]} is not declared, the enclosing function has no `block.dims`"
            )
        return {}
    for name in names:
        if name not in dims:
            raise VerifyException(
                f"{op.name}: dim {name} is not declared in `block.dims` ({', '.join(dims) or 'empty'})"
            )
    return dims


def require_item(op: Operation, item: ItemType) -> None:
    """Raise VerifyException unless the dims of an item are declared and none of them is a batch dim."""
    dims = require_declared(op, item.dims)
    for dim in item.dims:
        if dims and dims[dim].is_batch:
            raise VerifyException(f"{op.name}: {dim} is a batch dim, items have no axis over it, got {item}")


def expect_local(op: Operation, value: SSAValue) -> ItemType:
    """The type of a value. Raises VerifyException unless it is a local item with declared dims."""
    type = value.type
    if not isinstance(type, ItemType) or not is_local(type):
        raise VerifyException(f"{op.name}: expected an item in the local tier, got {type}")
    require_item(op, type)
    return type
