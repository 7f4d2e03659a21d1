"""`block-shapes`: a block size for every dim, from its roles in the program and a model of the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import block
from ....dialects.block import Blocking
from ....dialects.diagnostics import OpError, did_you_mean
from ...analysis.programs import block_programs
from ...analysis.ranges import largest_extents
from ...text.output import os_reason, print_text
from .cpu import cpu_shape
from .gpu import gpu_shape
from .roles import Roles

WHOLE = "whole"
DEVICES = {"cpu": cpu_shape, "gpu": gpu_shape}


@dataclass(frozen=True)
class BlockShapesPass(ModulePass):
    """Choose a block size for every dim that has none: `block-shapes{M=64 N=256 K=whole}` sets some by name.

    A size that a program declares stays, unless it is named. Dims of extent `?` are cut into blocks as well.
    `target=NAME` takes, of all legal sizes, those at which the program as it stands costs least on a machine,
    by the model of `block-cost`: it belongs after `block-fuse`. `report=true` shows them, as comments, and
    how many were considered. `device=gpu` chooses sizes for the tiles of a GPU's thread blocks.
    """

    name = "block-shapes"
    free_options: ClassVar[str] = "sizes"
    """The field that takes the options named like dims."""

    sizes: tuple[str, ...] = ()
    target: str | None = None
    report: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise ValueError(f"option 'device' must be {' or '.join(DEVICES)}, got {self.device!r}")
        if self.report and self.target is None:
            raise ValueError("option 'report' belongs to option 'target', which is not given")
        for size in self.sizes:
            dim, _, text = size.partition("=")
            if text != WHOLE and not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
                raise ValueError(f"the size of dim {dim} must be a positive number or whole, got {text!r}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wanted = dict(size.split("=", 1) for size in self.sizes)
        functions = block_programs(op)
        known: dict[str, None] = {}
        for function in functions:
            dims = block.parse_dims(function.attributes[block.DIMS])
            known |= dict.fromkeys(dims)
            if self.target is None:
                chosen = choose_shapes(function, dims, wanted, self.device)
            else:
                chosen = self._by_model(function, dims, wanted, self.target)
            function.attributes[block.DIMS] = block.dims_attr(chosen)
        for name in wanted:
            if name not in known:
                otherwise = f"; the dims are {', '.join(known)}" if known else ""
                raise PassFailedException(
                    f"no function has a dim {name}{did_you_mean(name, known, otherwise)}"
                )

    def _by_model(
        self,
        function: FuncOp,
        dims: Mapping[str, block.DimAttr],
        wanted: Mapping[str, str],
        target: str,
    ) -> dict[str, block.DimAttr]:
        from ...analysis.cost.choose import choice_text, choose_by_model
        from ...analysis.cost.machine import machine_named
        from ...analysis.traffic.report import as_comments

        machine = machine_named(target)
        given = {
            name: _wanted(function, name, dim, wanted[name]) if name in wanted else dim
            for name, dim in dims.items()
        }
        function.attributes[block.DIMS] = block.dims_attr(given)
        chosen, best, _ = choose_by_model(function, machine)
        if self.report:
            try:
                print_text(as_comments(choice_text(function, chosen, best, machine)))
            except OSError as error:
                raise PassFailedException(f"cannot write to standard output: {os_reason(error)}") from error
        return chosen


def choose_shapes(
    function: FuncOp,
    dims: Mapping[str, block.DimAttr],
    wanted: Mapping[str, str],
    device: str = "cpu",
) -> dict[str, block.DimAttr]:
    """Return the dims of a block program with their sizes. `wanted` maps names to sizes, or to `whole`.

    Raises OpError if a batch dim is given a size.
    """
    roles = Roles.of(function)
    likely = largest_extents(function, dims)
    found: dict[str, block.DimAttr] = {}
    for name, dim in dims.items():
        chosen = _shaped(function, name, dims if name in wanted else likely, wanted.get(name), roles, device)
        found[name] = chosen if name in wanted or likely[name] == dim else _of_unknown(dim, chosen)
    return found


def _of_unknown(dim: block.DimAttr, likely: block.DimAttr) -> block.DimAttr:
    """Return a dim of unknown extent with the choice that was made for its largest extent."""
    extent, size = likely.static_extent, likely.block_size
    if dim.is_batch or dim.is_whole or dim.block_size is not None or extent is None or size is None:
        return dim
    return dim.with_block_size(min(size, extent))


def _shaped(
    function: FuncOp,
    name: str,
    dims: Mapping[str, block.DimAttr],
    wanted: str | None,
    roles: Roles,
    device: str,
) -> block.DimAttr:
    dim = dims[name]
    if wanted is not None:
        return _wanted(function, name, dim, wanted)
    if dim.is_batch or dim.block_size is not None or dim.is_whole:
        return dim
    return DEVICES[device](name, dims, roles)


def _wanted(function: FuncOp, name: str, dim: block.DimAttr, wanted: str) -> block.DimAttr:
    """Return a dim with the size that was asked for."""
    if dim.is_batch:
        raise OpError(function, f"batch dim {name} takes no block size: its items have no axis over it")
    if wanted == WHOLE:
        return block.DimAttr(dim.extent.data, 0, Blocking.Whole)
    return dim.with_block_size(int(wanted))
