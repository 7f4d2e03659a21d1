"""Programs with unknown extents, compiled for ranges of them."""

from __future__ import annotations

import bb
import numpy as np
import pytest
from bb.dialects import block
from bb.dialects.diagnostics import OpError
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.passes.analysis.cost.machine import DIRECTORY, read_machine
from bb.passes.analysis.cost.program import CostedProgram
from bb.passes.analysis.programs import block_programs
from bb.passes.analysis.ranges import declare_ranges, ranges_of
from bb.runtime.errors import InputError
from bb.runtime.executable.ranges import compile_ranges
from bb.runtime.program.functions import select_function
from xdsl.dialects.builtin import StringAttr

CPU = read_machine(DIRECTORY / "cpu.json")
PROGRAM = """func.func @project(%x: tensor<?x512xf32>, %w: tensor<512x2048xf32>) -> tensor<?x2048xf32> {
  %y = array.rms_norm %x eps 1.0e-6 : tensor<?x512xf32>
  %out = array.matmul %y, %w : tensor<?x512xf32>, tensor<512x2048xf32> -> tensor<?x2048xf32>
  func.return %out : tensor<?x2048xf32>
}
"""


def blocks_of(ranges: dict[str, tuple[int, int]], until: str = "block-distribute"):
    """The block program after a pass of the default pipeline, and its dims."""
    program = bb.parse(PROGRAM)
    if ranges:
        declare_ranges(select_function(program, None), ranges)
    passes = PIPELINES["cpu"].partition(f",{until}")[0] + f",{until}"
    (function,) = block_programs(PassPipeline(passes).run(program))
    return function, block.parse_dims(function.attributes[block.DIMS])


def test_blocks_are_those_of_the_largest_extent():
    sizes = {high: blocks_of({"M": (1, high)})[1]["M"] for high in (4, 8, 512)}
    assert {high: dim.block_size for high, dim in sizes.items()} == {4: 4, 8: 8, 512: 64}
    assert all(dim.static_extent is None for dim in sizes.values())


def test_few_rows_are_distributed():
    def nests(ranges: dict[str, tuple[int, int]]) -> int:
        function, _ = blocks_of(ranges)
        return sum(isinstance(op, block.MapOp) for op in function.body.block.ops)

    assert nests({"M": (1, 8)}) > nests({"M": (1, 512)}) == nests({})


def test_the_model_takes_the_largest_extent():
    function, _ = blocks_of({"M": (1, 8)}, "block-fuse-elementwise")
    assert CostedProgram.of(function, CPU).lengths["M"] == 8
    assert CostedProgram.of(function, CPU, {"M": 3}).lengths["M"] == 3


def test_an_attribute_that_is_no_range_is_refused():
    function, _ = blocks_of({"M": (2, 3)})
    assert ranges_of(function) == {"M": (2, 3)}
    for bad in (StringAttr("8"), None):
        if bad is None:
            declare_ranges(function, {"M": (3, 2)})
        else:
            function.attributes["bb.ranges"] = bad
        with pytest.raises(OpError, match="the smallest and the largest extent of a dim"):
            ranges_of(function)


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ({"Q": (1, 2)}, "'project' has no dim 'Q' of unknown extent; they are M"),
        ({"N": (1, 2)}, "no dim 'N' of unknown extent"),
        ({"x.1": (1, 2)}, "'project' has no dim 'x.1' of unknown extent; did you mean 'x.0'"),
        ({"y.0": (1, 2)}, "no dim 'y.0' of unknown extent"),
        ({"M": (1, 2), "x.0": (3, 4)}, "'M' and 'x.0' are one dim, M"),
        ({"M": (0, 2)}, r"the range of dim M is \[0, 2\], expected its smallest"),
        ({"M": (5, 2)}, "expected its smallest and its largest extent"),
        ({"M": (1, 2.5)}, "expected its smallest and its largest extent"),
        ({"M": 5}, "the range of dim M is 5"),
        ({"M": "ab"}, "the range of dim M is 'ab'"),
        ({"M": [(1, 4), (4, 8)]}, "two ranges of dim M hold 4"),
        ({"M": []}, "dim M has no range"),
        ({"M": [(extent, extent) for extent in range(1, 12)]}, "asks for 11 ways"),
    ],
)
def test_ranges_that_are_none_are_refused(dims: dict[str, object], said: str):
    with pytest.raises(InputError, match=said):
        bb.compile(PROGRAM, dims=dims)


def test_a_range_from_few_rows_to_many_is_cut():
    def ranges(dims: object) -> list[dict[str, tuple[int, int]]]:
        found: list[dict[str, tuple[int, int]]] = []

        def compiled(program: object):
            found.append(ranges_of(select_function(program, None)))

        compile_ranges(bb.parse(PROGRAM), None, dims, compiled)
        return found

    assert ranges({"M": (1, 100)}) == [{"M": (1, 8)}, {"M": (9, 100)}]
    assert ranges({"x.0": (1, 4)}) == [{"M": (1, 4)}]
    assert ranges({"M": [(1, 100)]}) == [{"M": (1, 100)}]
    assert ranges({"M": (np.int64(9), 100)}) == [{"M": (9, 100)}]
    assert ranges({"M": [(50, 60), (1, 7)]}) == [{"M": (1, 7)}, {"M": (50, 60)}]


def test_a_call_takes_what_was_compiled_for_its_extents():
    project = bb.compile(PROGRAM, dims={"M": [(1, 8), (16, 100)]}, constants=["w"])
    rng = np.random.default_rng(0)
    w = rng.standard_normal((512, 2048)).astype(np.float32)
    prepared = project.prepare(w=w)
    taken: list[object] = []
    for extent in (1, 8, 16, 100):
        x = rng.standard_normal((extent, 512)).astype(np.float32)
        wanted = bb.run(PROGRAM, [x, w], float64=True)
        for got in (project(x, w), project(w=w, x=x), prepared(x)):
            assert np.abs(got - wanted).max() < 1e-3
        taken.append(project.part(x, w))
    assert taken[0] is taken[1] is project.parts[0].executable
    assert taken[2] is taken[3] is project.parts[1].executable
    assert project.ranges == [{"M": (1, 8)}, {"M": (16, 100)}]
    for run in (lambda x: project(x, w), prepared):
        with pytest.raises(InputError, match="compiled for 1 <= M <= 8 or 16 <= M <= 100, not for M = 12"):
            run(np.zeros((12, 512), np.float32))
    for arrays, said in (
        ([np.zeros((8, 512), np.float32)], "needs arrays for w"),
        ([np.float32(1), w], "has rank 0"),
    ):
        with pytest.raises(InputError, match=said):
            project(*arrays)
