"""The `kernel` dialect: kernels with their tiles placed and their loops scheduled.

It has loops over blocks, tiles in memory spaces, moves that may change the layout, contractions and sweeps.
It has none of any target's syntax.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ..attributes import ONCE
from .accessors import dims_of, element_type_of, follows, tile_type
from .contract import ContractOp, sweeps_only
from .effects import readers, tiles_read, tiles_written, with_effects, writers
from .loops import ForOp
from .masked import masked_contractions, masked_sums
from .moves import FillOp, LoadOp, MoveOp, StoreOp
from .parts import moves_with
from .redo import RedoOp, in_redo
from .storage import BufferOp, CursorOp, TileOp
from .structure import (
    FuncOp,
    LaunchOp,
    Loop,
    ParallelOp,
    enclosing_loop,
    is_input,
    is_output,
    kernels_of,
    region_of,
)
from .sums import filled_contraction, loop_from_zero
from .sweeps import (
    Output,
    OutputAttr,
    Quantity,
    QuantityAttr,
    QuantityOp,
    SweepOp,
    YieldOp,
    scalar_block,
)
from .types import ArrayType, CursorType, Lanes, LanesAttr, PackedAttr, Space, SpaceAttr, TileType

KernelDialect = Dialect(
    "kernel",
    with_effects(
        [
            FuncOp,
            ParallelOp,
            ForOp,
            CursorOp,
            TileOp,
            BufferOp,
            LaunchOp,
            LoadOp,
            StoreOp,
            MoveOp,
            FillOp,
            ContractOp,
            SweepOp,
            RedoOp,
            QuantityOp,
            YieldOp,
        ]
    ),
    [ArrayType, CursorType, TileType, SpaceAttr, LanesAttr, PackedAttr, OutputAttr, QuantityAttr],
)

__all__ = [
    "ONCE",
    "ArrayType",
    "BufferOp",
    "ContractOp",
    "CursorOp",
    "CursorType",
    "FillOp",
    "ForOp",
    "FuncOp",
    "KernelDialect",
    "Lanes",
    "LanesAttr",
    "LaunchOp",
    "LoadOp",
    "Loop",
    "MoveOp",
    "Output",
    "OutputAttr",
    "PackedAttr",
    "ParallelOp",
    "Quantity",
    "QuantityAttr",
    "QuantityOp",
    "RedoOp",
    "Space",
    "SpaceAttr",
    "StoreOp",
    "SweepOp",
    "TileOp",
    "TileType",
    "YieldOp",
    "dims_of",
    "element_type_of",
    "enclosing_loop",
    "filled_contraction",
    "follows",
    "in_redo",
    "is_input",
    "is_output",
    "kernels_of",
    "loop_from_zero",
    "masked_contractions",
    "masked_sums",
    "moves_with",
    "readers",
    "region_of",
    "scalar_block",
    "sweeps_only",
    "tile_type",
    "tiles_read",
    "tiles_written",
    "writers",
]
