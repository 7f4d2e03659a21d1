"""Fusing programs in tests: the programs, their snapshots, and what must hold of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
import paths
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.structural_keys import Interner, program_key
from bb.passes.analysis.traffic.block import Traffic, traffic_of_function, values_for
from bb.passes.fusion.explore import Explorer, Snapshot, apply, cost_of
from bb.passes.fusion.normalize import Normalizer
from bb.passes.fusion.termination import MeasureCheck
from bb.runtime.interpreter.functions import interpret
from example_programs import EXAMPLES, load
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

Array = NDArray[np.float64]

PROGRAMS_DIR = paths.PROGRAMS
PROGRAMS: list[str] = sorted(path.stem for path in PROGRAMS_DIR.glob("*.mlir"))
"""Programs for the tests of fusion, beside the examples."""

INTERN = Interner()
"""One for all programs, so that keys can be compared."""


@dataclass(frozen=True)
class FusionCase:
    """One function of a program in test/python/programs or in examples."""

    name: str
    entry: str

    def __str__(self) -> str:
        return self.name if self.name == self.entry else f"{self.name}-{self.entry}"

    def arrays(self) -> FuncOp:
        """A fresh copy of the function as an array program."""
        return _copy(_modules(self.name)[0], self.entry)

    def blocks(self, whole: Sequence[str] = ()) -> FuncOp:
        """A fresh copy of the function as an unfused block program, with some dims whole."""
        function = _copy(_modules(self.name)[1], self.entry)
        dims = block.parse_dims(function.attributes[block.DIMS])
        for name in whole:
            dims[name] = block.DimAttr(dims[name].extent.data, 0, block.Blocking.Whole)
        function.attributes[block.DIMS] = block.dims_attr(dims)
        return function

    def inputs(self) -> list[Array]:
        """Standard normal arrays; all but the first, weights mostly, of half that size."""
        rng = np.random.default_rng(0)
        shapes = [_shape(type) for type in self.arrays().function_type.inputs]
        return [rng.standard_normal(shape) / (1 if index == 0 else 2) for index, shape in enumerate(shapes)]

    def block_size(self) -> int:
        """Three or four blocks for the longest extent, the last ragged."""
        extents = [extent for type in self.arrays().function_type.inputs for extent in _shape(type)]
        return 48 if max(extents) > 20 else 4

    def first(self, whole: Sequence[str] = (), random: Random | None = None) -> Snapshot:
        """The first snapshot, reached with the termination measure asserted at every firing."""
        return first_snapshot(self.blocks(whole), random)


def _copy(module: ModuleOp, entry: str) -> FuncOp:
    function = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == entry)
    return function.clone()


def _shape(type: Any) -> tuple[int, ...]:
    assert isinstance(type, TensorType)
    return type.get_shape()


@cache
def _modules(name: str) -> tuple[ModuleOp, ModuleOp]:
    text = load(name)[0] if name in EXAMPLES else (PROGRAMS_DIR / f"{name}.mlir").read_text()
    module = parse_module(text, f"{name}.mlir")
    return module, PassPipeline("array-decompose,array-to-block").run(module.clone())


@cache
def fusion_cases() -> list[FusionCase]:
    """Every function of every program and example; `ids=str` names them."""
    names = [*PROGRAMS, *EXAMPLES]
    return [
        FusionCase(name, op.sym_name.data)
        for name in names
        for op in _modules(name)[0].ops
        if isinstance(op, FuncOp)
    ]


def first_snapshot(function: FuncOp, random: Random | None = None) -> Snapshot:
    """The normal form of a function, which is changed."""
    Normalizer(function, MeasureCheck(function), random=random).run()
    return Snapshot(function, cost_of(function))


def snapshots(first: Snapshot, others: int = 0) -> tuple[list[Snapshot], list[Snapshot]]:
    """The chain from the first snapshot to the most fused one, and at most `others` more."""
    explorer = Explorer()
    chain = explorer.chain(first)
    return chain, explorer.with_others(chain, len(chain) + others)[len(chain) :]


def key(snapshot: Snapshot | FuncOp) -> tuple[int, ...]:
    """Key that is equal for equal programs."""
    return program_key(snapshot if isinstance(snapshot, FuncOp) else snapshot.function, INTERN)


def assert_snapshot(
    snapshot: Snapshot, inputs: Sequence[Array], expected: Sequence[Array], size: int
) -> None:
    """Fail unless a snapshot is valid, gives what is expected, and moves what its traffic says."""
    function = snapshot.function.clone()
    module = ModuleOp([function])
    verify(module)
    run = interpret(module, inputs, float64=True, default_block_size=size)
    for got, wanted in zip(run.results, expected, strict=True):
        assert got.shape == wanted.shape
        error = np.max(np.abs(got - wanted)) / np.max(np.abs(wanted))
        assert error < 1e-9, f"snapshot {snapshot.number} {snapshot.path} is off by {error:.2g}"
    total = Traffic()
    for _, traffic in traffic_of_function(function):
        total += traffic
    assert total.evaluate(values_for(run.extents, run.block_sizes)) == vars(run.counts)


def retraced(first: Snapshot, snapshot: Snapshot) -> FuncOp:
    """Repeat the steps from the first snapshot to another, with the termination measure asserted."""
    function = first.function.clone()
    for candidate in snapshot.candidates:
        touched = apply(function, candidate)
        Normalizer(function, MeasureCheck(function)).run(touched)
    return function
