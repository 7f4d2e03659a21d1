"""The programs that the exact check is tested on: those of examples/ and test/python/programs, small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import bb
from bb.runtime.program.functions import public_functions
from example_programs import EXAMPLES, free_dims, resized
from paths import PROGRAMS
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

SMALL = {"B": 2, "H": 2, "G": 2, "P": 2, "S": 8, "M": 7, "N": 6, "D": 5, "K": 9, "L": 8, "F": 11, "R": 3}
"""Extents that give two or three blocks a dim, most of them with a ragged last one."""

FUSE = "array-decompose,array-to-block,block-fuse"


@dataclass(frozen=True)
class Program:
    """One function of a program."""

    name: str
    entry: str

    def __str__(self) -> str:
        return self.name if self.name == self.entry else f"{self.name}-{self.entry}"

    @property
    def source(self) -> FuncOp:
        """The function as it is written, of arrays. Not to be changed."""
        return next(f for f in public_functions(_module(self.name)) if f.sym_name.data == self.entry)

    def through(self, passes: str) -> Sequence[FuncOp]:
        """The functions that passes make of a copy."""
        module = ModuleOp([self.source.clone()])
        return public_functions(bb.PassPipeline(passes).run(module))


@cache
def _module(name: str) -> ModuleOp:
    if name not in EXAMPLES:
        return bb.parse(PROGRAMS / f"{name}.mlir")
    return bb.parse(resized(name, {dim: SMALL[dim] for dim in free_dims(name)})[0])


def programs() -> list[Program]:
    """Every function of every program; `ids=str` names them."""
    names = [*EXAMPLES, *sorted(path.stem for path in PROGRAMS.glob("*.mlir"))]
    return [Program(name, f.sym_name.data) for name in names for f in public_functions(_module(name))]
