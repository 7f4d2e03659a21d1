"""The functions of a module that are block programs."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...dialects import block


def has_block_program(function: FuncOp) -> bool:
    """True if a function declares dims and has a body."""
    return block.DIMS in function.attributes and len(function.body.blocks) == 1


def block_programs(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that declare dims and have a body, in order."""
    return [op for op in module.walk() if isinstance(op, FuncOp) and has_block_program(op)]
