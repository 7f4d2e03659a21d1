"""ATen operations in the array dialect: a table from `add.Tensor` to the function that converts it."""

from __future__ import annotations

from .compute import COMPUTE
from .context import Context, Converter, Symbols
from .pointwise import POINTWISE
from .views import SOURCES, VIEWS

CONVERTERS: dict[str, Converter] = {**POINTWISE, **VIEWS, **SOURCES, **COMPUTE}
"""Each converter takes a Context and the arguments of the node, with arrays for tensors."""

__all__ = ["CONVERTERS", "VIEWS", "Context", "Converter", "Symbols"]
