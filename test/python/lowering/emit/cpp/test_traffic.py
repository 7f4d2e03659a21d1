"""Generated kernels load and store what the block program says, block by block."""

from __future__ import annotations

import pytest
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.executable.executable import Executable
from bb.runtime.interpreter.functions import interpret
from bb.runtime.program.functions import select_function
from bb.runtime.program.inputs import ordered_inputs
from example_programs import Case, cases
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.long

SIZE = 16
COUNTED = [case for case in cases() if case.name != "decoder_layer"]
"""The decoder layer keeps lists that are private to an iteration: they are no traffic on a CPU."""


@pytest.fixture(scope="module")
def programs() -> ModuleOp:
    """The examples as fused block programs, in blocks of one size."""
    functions = [select_function(parse_module(case.text, case.name), case.entry) for case in COUNTED]
    for function in functions:
        function.detach()
    module = ModuleOp(functions)
    PassPipeline("array-decompose,array-to-block").run(module)
    for function in functions:
        dims = block.parse_dims(function.attributes[block.DIMS])
        cut = {name: dim if dim.is_batch else dim.with_block_size(SIZE) for name, dim in dims.items()}
        function.attributes[block.DIMS] = block.dims_attr(cut)
    PassPipeline("block-fuse,block-stabilize,block-fuse-elementwise").run(module)
    return module


@pytest.fixture(scope="module")
def executables(programs: ModuleOp) -> dict[str, Executable]:
    return compile_all(programs, pipeline="block-to-kernel", counting=True)


@pytest.mark.parametrize("case", COUNTED, ids=str)
def test_counted_traffic_is_the_block_programs(
    case: Case, programs: ModuleOp, executables: dict[str, Executable]
):
    executable = executables[case.entry]
    arrays = ordered_inputs(executable.function, case.inputs(), float64=False)
    executable.library.counts()
    executable(*arrays)
    counted = executable.library.counts()
    modelled = interpret(programs, arrays, entry=case.entry).counts
    assert (counted.stores, counted.bytes_stored) == (modelled.stores, modelled.bytes_stored)
    if "causal" in case.name:  # blocks of keys that the mask hides are left out
        assert 0.5 * modelled.loads < counted.loads < 0.75 * modelled.loads
    else:
        assert (counted.loads, counted.bytes_loaded) == (modelled.loads, modelled.bytes_loaded)
    assert executable.library.counts().loads == 0, "asking for the counts resets them"
