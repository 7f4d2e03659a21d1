"""Every operation of the kernel dialect declares which tiles it reads and writes, and declares the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from bb.dialects import kernel
from bb.dialects.diagnostics import OpError
from bb.dialects.kernel.effects import KernelOp, NoTileEffects, with_effects
from bb.lowering.frontends.mlir_text import parse
from bb.runtime.api import compile_program
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import f32
from xdsl.dialects.test import TestOp as UnknownOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def

pytestmark = pytest.mark.long


def test_an_operation_without_effects_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match=r"kernel\.copy: CopyOp does not define tiles_read and tiles_written"):

        class CopyOp(KernelOp):  # pyright: ignore[reportUnusedClass]
            name = "kernel.copy"
            source = operand_def()


def test_an_operation_with_half_of_its_effects_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match=r"kernel\.copy: CopyOp does not define tiles_written"):

        class CopyOp(KernelOp):  # pyright: ignore[reportUnusedClass]
            name = "kernel.copy"
            source = operand_def()

            @property
            def tiles_read(self) -> tuple[SSAValue, ...]:
                return (self.source,)


def test_an_operation_that_inherits_its_name_needs_effects() -> None:
    class _Named(IRDLOperation):
        name = "kernel.copy"

    with pytest.raises(TypeError, match=r"kernel\.copy: CopyOp does not define tiles_read and tiles_written"):

        class CopyOp(_Named, KernelOp):  # pyright: ignore[reportUnusedClass]
            source = operand_def()


def test_operations_may_inherit_effects() -> None:
    class _Base(NoTileEffects):
        pass

    @irdl_op_definition
    class NoteOp(_Base):
        name = "kernel.note"

    assert kernel.tiles_read(NoteOp()) == kernel.tiles_written(NoteOp()) == ()


def test_the_dialect_takes_no_other_operations() -> None:
    @irdl_op_definition
    class CopyOp(IRDLOperation):
        name = "kernel.copy"

    with pytest.raises(TypeError, match=r"kernel\.copy: CopyOp declares no effects, it is no KernelOp"):
        with_effects([kernel.TileOp, CopyOp])


def test_other_operations_may_touch_no_tile() -> None:
    number = ConstantOp.from_int_and_width(1, 32)
    assert kernel.tiles_read(number) == kernel.tiles_written(number) == ()
    tile = kernel.TileOp(kernel.TileType(["M"], f32))
    unknown = UnknownOp([tile.result])
    for effects in (kernel.tiles_read, kernel.tiles_written):
        with pytest.raises(OpError, match=r"'test\.op' op has a value of !kernel\.tile<M x f32, scratch>"):
            effects(unknown)
    with pytest.raises(OpError, match=r"'test\.op' op has a value of !kernel\.cursor<M x f32>"):
        kernel.tiles_written(UnknownOp(result_types=[kernel.CursorType(["M"], f32)]))


@dataclass(frozen=True)
class Case:
    """One operation, by its text, the places that it takes, and those that it reads and writes."""

    operation: type[Operation]
    text: str
    places: str
    """Letters of `PLACES`, in the order of the operands."""
    reads: str
    writes: str

    @property
    def statement(self) -> str:
        """The operation, with the types of its operands before its region."""
        head, brace, body = self.text.partition("{")
        return f"{head} : {', '.join(map(type_of, self.places))} {brace}{body}"


PLACES = {
    "a": ("M", "K"),
    "b": ("N", "K"),
    "c": ("M", "N"),
    "d": ("M", "N"),
    "v": ("M",),
    "w": ("N",),
    "g": ("M", "N"),
}
"""Dims of places: tiles, and a block of a buffer, `g`."""
EXTENTS = {"M": 4, "N": 6, "K": 8}

CASES = {
    "load": Case(kernel.LoadOp, "kernel.load %c, %g", "cg", reads="g", writes="c"),
    "store": Case(kernel.StoreOp, "kernel.store %g, %c", "gc", reads="c", writes="g"),
    "move": Case(kernel.MoveOp, "kernel.move %d, %c", "dc", reads="c", writes="d"),
    "fill": Case(kernel.FillOp, "kernel.fill %c, 2.5", "c", reads="", writes="c"),
    "contract": Case(kernel.ContractOp, "kernel.contract %c, %a, %b", "cab", reads="ab", writes="c"),
    "accumulate": Case(
        kernel.ContractOp, "kernel.contract accumulate %c, %a, %b", "cab", reads="abc", writes="c"
    ),
    "scale": Case(kernel.ContractOp, "kernel.contract %c, %a, %b scale %v", "cabv", reads="abcv", writes="c"),
    "sweep": Case(
        kernel.SweepOp,
        "kernel.sweep [M, N] (%x = %c, %y = %w) -> (each %d, sum %v) "
        "{ %z = arith.mulf %x, %y : f32 kernel.yield %z, %z : f32, f32 }",
        "cwdv",
        reads="cw",
        writes="dv",
    ),
    "sweep in place": Case(
        kernel.SweepOp,
        "kernel.sweep [M, N] (%x = %c) -> (each %c) { %z = arith.mulf %x, %x : f32 kernel.yield %z : f32 }",
        "cc",
        reads="c",
        writes="c",
    ),
}


def type_of(place: str) -> str:
    dims = " x ".join((*PLACES[place], "f32"))
    return f"!kernel.cursor<{dims}>" if place == "g" else f"!kernel.tile<{dims}, scratch>"


def shape_of(place: str) -> tuple[int, ...]:
    return tuple(EXTENTS[dim] for dim in PLACES[place])


def array_of(place: str) -> str:
    return f"!kernel.array<{'x'.join(map(str, shape_of(place)))}xf32>"


def kernel_text(name: str, case: Case) -> str:
    """A kernel that brings an array to each place, does the operation, and stores what all places hold."""
    before: list[str] = []
    after: list[str] = []
    places = sorted(set(case.places))
    for place in places:
        dims = ", ".join(PLACES[place])
        item = " x ".join((*PLACES[place], "f32"))
        tile, cursor = f"!kernel.tile<{item}, scratch>", f"!kernel.cursor<{item}>"
        held = place
        if place == "g":
            held = "held"
            array = f"!kernel.array<{'x'.join('?' * len(PLACES[place]))}xf32>"
            before += [
                f"%list = kernel.buffer [{dims}] : {array}",
                f"%g = kernel.cursor %list [{dims}] : {array} -> {cursor}",
            ]
            after.append(f"kernel.load %held, %g : {tile}, {cursor}")
        before += [
            f"%{held} = kernel.tile : {tile}",
            f"%from_{place} = kernel.cursor %in_{place} [{dims}] : {array_of(place)} -> {cursor}",
            f"kernel.load %{held}, %from_{place} : {tile}, {cursor}",
        ]
        if place == "g":
            before.append(f"kernel.store %g, %held : {cursor}, {tile}")
        after += [
            f"%to_{place} = kernel.cursor %out_{place} [{dims}] : {array_of(place)} -> {cursor}",
            f"kernel.store %to_{place}, %{held} : {cursor}, {tile}",
        ]
    arguments, results = (
        ", ".join(f"%{way}_{place} : {array_of(place)}" for place in places) for way in ("in", "out")
    )
    declared = ", ".join(f"{dim} = #block.dim<{extent}, whole>" for dim, extent in EXTENTS.items())
    return "\n".join(
        [
            f"kernel.func @{name}({arguments}) outs({results}) attributes {{block.dims = {{{declared}}}}} {{",
            "kernel.parallel {",
            *before,
            case.statement,
            *after,
            "}}",
        ]
    )


def program_text(cases: dict[str, Case]) -> str:
    """A program that launches the kernel of each case on arrays of its own."""
    kernels, launches = list[str](), list[str]()
    arguments, results = list[str](), list[str]()
    for number, case in enumerate(cases.values()):
        places = sorted(set(case.places))
        types = [f"tensor<{'x'.join(map(str, shape_of(place)))}xf32>" for place in places]
        given = [f"%in{number}_{place}" for place in places]
        made = [f"%out{number}_{place}" for place in places]
        axes = ", ".join(f"[{', '.join(PLACES[place])}]" for place in places)
        kernels.append(kernel_text(f"probe{number}", case))
        launches.append(
            f"{', '.join(made)} = kernel.launch @probe{number}({', '.join(given)}) [{axes}] : "
            f"({', '.join(types)}) -> ({', '.join(types)})"
        )
        arguments += [f"{name}: {type}" for name, type in zip(given, types, strict=True)]
        results += [f"{name}: {type}" for name, type in zip(made, types, strict=True)]
    values, types = zip(*(result.split(": ") for result in results), strict=True)
    return "\n".join(
        [
            *kernels,
            f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{",
            *launches,
            f"func.return {', '.join(values)} : {', '.join(types)}",
            "}",
        ]
    )


@cache
def observed() -> dict[str, tuple[set[str], set[str]]]:
    """For each case, the places that the compiled operation reads, and those that it writes.

    It reads a place if another number there changes what it leaves in a place that it writes.
    """
    executable = compile_program(program_text(CASES), pipeline="")
    order = [(name, place) for name, case in CASES.items() for place in sorted(set(case.places))]
    random = np.random.default_rng(0)
    inputs = [random.uniform(1, 2, shape_of(place)).astype(np.float32) for _, place in order]

    def run(arrays: list[np.ndarray]) -> dict[tuple[str, str], np.ndarray]:
        return dict(zip(order, map(np.array, executable(*arrays)), strict=True))

    base = run(inputs)
    found: dict[str, tuple[set[str], set[str]]] = {name: (set(), set()) for name in CASES}
    for (name, place), array in zip(order, inputs, strict=True):
        if not np.array_equal(base[name, place], array):
            found[name][1].add(place)
    for index, (name, place) in enumerate(order):
        changed = run([array + (number == index) for number, array in enumerate(inputs)])
        if any(not np.array_equal(changed[name, other], base[name, other]) for other in found[name][1]):
            found[name][0].add(place)
    return found


@pytest.mark.parametrize("name", CASES)
def test_declared_effects(name: str) -> None:
    case = CASES[name]
    (function,) = kernel.kernels_of(parse(kernel_text("probe", case)))
    (parallel,) = function.body.block.ops
    assert isinstance(parallel, kernel.ParallelOp)
    op = next(
        op
        for op in parallel.body.block.ops
        if type(op) is case.operation
        and all(not (value.name_hint or "").startswith(("from_", "to_", "held")) for value in op.operands)
    )
    assert "".join(sorted(value.name_hint or "" for value in kernel.tiles_read(op))) == case.reads
    assert "".join(sorted(value.name_hint or "" for value in kernel.tiles_written(op))) == case.writes


@pytest.mark.parametrize("name", CASES)
def test_compiled_operations_do_what_they_declare(name: str) -> None:
    reads, writes = observed()[name]
    assert (reads, writes) == (set(CASES[name].reads), set(CASES[name].writes))


WITHOUT_EFFECTS = (
    kernel.BufferOp,
    kernel.CursorOp,
    kernel.ForOp,
    kernel.FuncOp,
    kernel.LaunchOp,
    kernel.ParallelOp,
    kernel.QuantityOp,
    kernel.TileOp,
    kernel.YieldOp,
)


def test_a_redo_reads_its_conditions() -> None:
    """It can only come last in a kernel, after the stores of the cases above."""
    tile = kernel.TileOp(kernel.TileType(["M"], f32)).result
    redo = kernel.RedoOp([tile], Region(Block()))
    assert kernel.tiles_read(redo) == (tile,)
    assert kernel.tiles_written(redo) == ()


def test_every_operation_is_in_the_tables() -> None:
    touching = {kernel.RedoOp, *(case.operation for case in CASES.values())}
    assert {*kernel.KernelDialect.operations} == {*WITHOUT_EFFECTS, *touching}
    for operation in kernel.KernelDialect.operations:
        assert issubclass(operation, NoTileEffects) == (operation not in touching)
