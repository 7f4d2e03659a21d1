"""`bb.from_torch`: a module or an exported program as a compiled model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch.export import ExportedProgram

from ...runtime.errors import InputError
from ..functions import Library
from ..model import Model
from .boundary import TorchBoundary
from .compiled import Fallback, GraphCompiler
from .exported import Exported, export
from .types import as_array

if TYPE_CHECKING:
    from ...runtime.api import CompileArguments


def from_torch(
    model: torch.nn.Module | ExportedProgram,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    fallback: Fallback = "torch",
    layers: bool = True,
    threads: int | None = None,
    **options: Unpack[CompileArguments],
) -> Model:
    """Compile a module for inference, or an exported program; call the result as the original.

    `args` and `kwargs` are example inputs of a module, and `dynamic_shapes` says which of their extents may
    change, as for `torch.export.export`. Weights are bound in the memory that they are in; do not change them
    afterwards, but by the method `bind`. Layers of a list of modules that are alike are one function, or with
    `layers=False` the whole model is one function. `threads` is the number of threads of calls, and `options`
    are those of `bb.compile`: `target`, `use_cache`, `tune`.

    Operations that cannot be compiled are run by torch, and the model's `report` lists them; with
    `fallback="error"` ModelError is raised with all of them. It is also raised for a module in training mode,
    for one that torch.export refuses, and for one that changes its buffers.
    """
    if fallback not in ("torch", "error"):
        raise InputError(f"fallback is {fallback!r}, expected 'torch' or 'error'")
    if isinstance(model, ExportedProgram):
        if args or kwargs or dynamic_shapes is not None:
            raise InputError(
                "an exported program has its arguments: give args and dynamic_shapes to torch.export"
            )
        program = model
    else:
        program = export(model, args, kwargs or {}, dynamic_shapes)
    exported = Exported.of(program)
    library = Library(dims=exported.ranges or None, **options)
    compiler = GraphCompiler(exported.nodes, exported.weights, library, fallback, layers, threads)
    compiled = compiler.compile(exported.output_nodes)
    names = list(dict.fromkeys(exported.weights.values()))
    weights = {name: as_array(exported.tensor(name)) for name in names}
    boundary = TorchBoundary(exported)
    return Model(
        compiled.steps,
        boundary.results_taken,
        boundary,
        weights,
        problems=compiled.problems,
        seconds=compiled.seconds,
    )
