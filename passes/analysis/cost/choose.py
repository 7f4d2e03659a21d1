"""Block sizes by the model, as dims of a block program."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.func import FuncOp

from ....dialects import block
from ...text.units import counted
from .machine import Machine
from .program import CostedProgram
from .shapes import Optimum, best_shapes


def choose_by_model(
    function: FuncOp, machine: Machine, extents: Mapping[str, int] = {}
) -> tuple[dict[str, block.DimAttr], Optimum, CostedProgram]:
    """Return the dims of a block program, with the sizes at which it costs least for those that have none.

    A dim is whole if its best block is all of it. It keeps a loop nevertheless if that loop is parallel, if a
    causal mask ends it early, or if its extent is not known; its size is then the best one for the extent
    that `extents` gives it, or for an assumed one. Also returns what the search considered, and the program
    as the model sees it.
    """
    program = CostedProgram.of(function, machine, extents)
    free = [name for name, dim in program.dims.items() if not dim.is_batch and dim.block_size is None]
    free = [name for name in free if not program.dims[name].is_whole]
    best = best_shapes(program, free)
    loops = [loop for plan in program.plans for loop in plan.loops()]
    looped = {loop.dim for loop in loops if loop.parallel or loop.until is not None}
    dims = dict(program.dims)
    for name in free:
        size, dim = best.sizes[name], dims[name]
        whole = size == dim.static_extent and name not in looped
        dims[name] = (
            block.DimAttr(dim.extent.data, 0, block.Blocking.Whole) if whole else dim.with_block_size(size)
        )
    return dims, best, program


def choice_text(function: FuncOp, dims: Mapping[str, block.DimAttr], best: Optimum, machine: Machine) -> str:
    """Return the sizes that were chosen for a function, the number of candidates, and the modelled cost."""
    chosen = ", ".join(
        f"{name} = {'whole' if dims[name].is_whole else size}" for name, size in best.sizes.items()
    )
    return (
        f"block sizes of @{function.sym_name.data} on {machine.name}: {chosen or 'all were given'}\n"
        f"  {best.seconds * 1e6:.4g} us by the model; {counted(best.combinations, 'combination')} considered "
        f"by {counted(best.evaluated, 'evaluation')} in {best.search_seconds:.3f} s\n"
    )
