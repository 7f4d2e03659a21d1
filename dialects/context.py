"""The xDSL context that knows every dialect of this compiler."""

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect

from .float_bits import keep_bits

keep_bits()


def _array() -> Dialect:
    from .array import ArrayDialect

    return ArrayDialect


def _block() -> Dialect:
    from .block import BlockDialect

    return BlockDialect


def _kernel() -> Dialect:
    from .kernel import KernelDialect

    return KernelDialect


OWN_DIALECTS: dict[str, Callable[[], Dialect]] = {"array": _array, "block": _block, "kernel": _kernel}
"""Factories of this compiler's dialects; each imports its module when the dialect is first met."""


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows the dialects of xDSL and of this compiler; each is loaded when first used."""
    context = Context(allow_unregistered=allow_unregistered)
    for name, factory in (get_all_dialects() | OWN_DIALECTS).items():
        context.register_dialect(name, factory)
    return context
