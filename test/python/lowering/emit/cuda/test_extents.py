"""CUDA kernels of the examples at extents of 1 and a few more: each has text, and accesses are aligned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import bb
import numpy as np
import pytest
from bb.dialects.diagnostics import OpError
from bb.lowering.emit.cuda.geometry import Window
from bb.lowering.emit.cuda.kernels import write_kernel
from bb.lowering.emit.cuda.layouts import Layout
from bb.lowering.emit.cuda.plan import Copying, KernelPlan, Loop, RowLoop, RowPartLoop, Step
from bb.lowering.emit.cuda.planner import plan_kernel
from bb.lowering.emit.cuda.staging import Copy, TileCopy
from bb.runtime.calls.compile_options import CompileOptions
from bb.runtime.cuda.emulator.native_files import device_directory
from bb.runtime.cuda.library import CudaLibrary
from bb.tools.docs.small_examples import free_dims
from example_programs import EXAMPLES, resized

pytestmark = pytest.mark.long

SMALL = (1, 2, 3, 15, 17)


def plans(text: str) -> list[KernelPlan]:
    """The plan of each parallel loop of a program's kernels."""
    library = CudaLibrary(bb.parse(text), CompileOptions(target="cuda"))
    return [
        plan_kernel(function, parallel, part, ())
        for function in library.kernels
        for part, parallel in enumerate(function.body.block.ops)
    ]


def copies(steps: tuple[Step, ...]) -> Iterator[Copy]:
    """All asynchronous copies of a kernel, in loops too."""
    for step in steps:
        match step:
            case Copying():
                yield step.fetch.copy
            case Loop(ring=ring):
                yield from () if ring is None else ring.copies
                yield from copies(step.body)
            case RowLoop() | RowPartLoop():
                yield from copies(step.body)
            case _:
                pass


def check(name: str, extents: Mapping[str, int], type: str) -> None:
    for plan in plans(resized(name, extents, type)[0]):
        assert write_kernel(plan)
        for copy in copies(plan.steps):
            if isinstance(copy, TileCopy) and copy.vector is not None and copy.strides[0].isdecimal():
                # The padding rows of a tile have addresses, too.
                assert int(copy.strides[0]) % copy.vector == 0, f"rows of {copy.matrix} are not aligned"


def test_offsets_have_64_bits_unless_the_block_is_small():
    def distance(stride: str, length: int | None) -> str:
        return Window("x", (stride,), ("M",), lengths=(length,)).distance(0, "(row0 + c.row())")

    assert distance("1", None) == "(row0 + c.row())"
    assert distance("4096", 64) == "(row0 + c.row()) * 4096"
    for stride, length in (("4096", None), (str(2**25), 64), ("N", 64), ("x_s0", 64)):
        assert distance(stride, length) == f"(long long)(row0 + c.row()) * {stride}"


@pytest.mark.parametrize("layout", [Layout.Rows, Layout.Any])
@pytest.mark.parametrize("name", ["softmax", "lora"])
def test_strides_that_are_arguments_are_never_cut(name: str, layout: Layout):
    """They may exceed 2^31 elements: neither they nor products with them are of 32 bits."""
    library = CudaLibrary(bb.parse(resized(name, {})[0]), CompileOptions(target="cuda"))
    for function in library.kernels:
        for part, parallel in enumerate(function.body.block.ops):
            layouts = (layout,) * len(function.body.block.args)
            text = "\n".join(write_kernel(plan_kernel(function, parallel, part, layouts)))
            for product in re.findall(r"[^[,;]*\* \w+_s\d\b", text):
                assert "(long long)" in product
    reader = (device_directory() / "bb" / "cuda" / "reader.cuh").read_text()
    assert "reader(const stored* matrix, long long ld," in reader


def test_an_extent_beyond_32_bits_is_refused():
    text = f"""func.func @f(%x: tensor<{2**31}xf16>) -> tensor<{2**31}xf16> {{
  %y = array.relu %x : tensor<{2**31}xf16>
  func.return %y : tensor<{2**31}xf16>
}}"""
    with pytest.raises(OpError, match=r"has extent 2147483648 along \w+, a GPU kernel counts to 2147483647"):
        plans(text)


ONE = [
    *(("decoder_layer", {dim: 1}) for dim in ("S", "P")),
    *((name, dict.fromkeys(free_dims(name), 1)) for name in ("attention_gqa", "decoder_layer")),
]


@pytest.mark.parametrize(("name", "extents"), ONE, ids=str)
def test_extents_of_one(name: str, extents: dict[str, int]):
    check(name, extents, "f32")


GRID = [
    (name, extents)
    for name in EXAMPLES
    for extents in (
        *({dim: 1} for dim in free_dims(name)),
        dict.fromkeys(free_dims(name), 1),
        *({dim: SMALL[(place + step) % 5] for place, dim in enumerate(free_dims(name))} for step in range(5)),
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("type", ["f32", "bf16"])
@pytest.mark.parametrize(("name", "extents"), GRID, ids=str)
def test_small_extents(name: str, extents: dict[str, int], type: str):
    check(name, extents, type)


def test_any_byte_but_0_is_true():
    """Of a caller's array of booleans, as on the other targets."""
    text = """func.func @f(%m: tensor<4xi1>) -> (tensor<4xi32>, tensor<4xi1>) {
  %n, %not = array.elementwise (%a = %m) : tensor<4xi1> -> tensor<4xi32>, tensor<4xi1> {
    %yes = arith.constant true
    %i = arith.extui %a : i1 to i32
    %b = arith.xori %a, %yes : i1
    array.yield %i, %b : i32, i1
  }
  func.return %n, %not : tensor<4xi32>, tensor<4xi1>
}"""
    bytes = np.array([0, 1, 2, 255], np.uint8)
    numbers, inverted = bb.run(text, [bytes.view(np.bool_)], target="emulator")
    assert numbers.tolist() == [0, 1, 1, 1]
    assert inverted.view(np.uint8).tolist() == [1, 0, 0, 0]
