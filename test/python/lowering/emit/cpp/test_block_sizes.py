"""Examples on the CPU at unusual block sizes: short, longer than the dim, or whole."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from bb.dialects import block
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.checking.tolerances import BOUNDS
from cpu_programs import AFTER_BLOCKS, example_programs, faults
from hypothesis import settings
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

pytestmark = pytest.mark.long

NAMES = ("attention_causal", "layernorm_matmul", "rmsnorm_ffn_swiglu", "softmax")
# One compilation for all functions of a seed.
SEEDS = range(1 if settings.get_current_profile_name() == "suite" else 100)
BEFORE_SHAPES = PIPELINES["cpu"].partition(",block-shapes")[0]
SIZES = ("whole", 1, 5, 8, 24, 64, 300)
FIRST_OUTSIDE = (
    {"M": "whole", "N": 256, "K": "whole"},
    {"M": "whole", "N": 24, "K": "whole"},
)
"""For a LayerNorm with a product: what looks at the first block of a row stands outside of all nests."""

Sizes = Mapping[str, int | str]


def with_sizes(function: FuncOp, name: str, wanted: Sizes) -> FuncOp:
    """A function of arrays as a block program with these block sizes, under another name."""
    alone = ModuleOp([function.clone()])
    PassPipeline(BEFORE_SHAPES).run(alone)
    (own,) = (op for op in alone.ops if isinstance(op, FuncOp))
    own.sym_name = StringAttr(name)
    dims = block.parse_dims(own.attributes[block.DIMS])
    for dim, size in wanted.items():
        whole = block.DimAttr(dims[dim].extent.data, 0, block.Blocking.Whole)
        dims[dim] = whole if isinstance(size, str) else dims[dim].with_block_size(size)
    own.attributes[block.DIMS] = block.dims_attr(dims)
    own.detach()
    return own


def drawn_sizes(function: FuncOp, rng: random.Random) -> Sizes:
    alone = ModuleOp([function.clone()])
    PassPipeline(BEFORE_SHAPES).run(alone)
    (own,) = (op for op in alone.ops if isinstance(op, FuncOp))
    dims = block.parse_dims(own.attributes[block.DIMS])
    return {name: rng.choice(SIZES) for name, dim in dims.items() if not dim.is_batch}


@pytest.mark.parametrize("seed", SEEDS)
def test_any_block_sizes(seed: int) -> None:
    module, programs = example_programs("f32", "given", NAMES)
    rng = random.Random(seed)
    inputs = {program.name: program for program in programs}
    functions: list[FuncOp] = []
    tried: dict[str, tuple[str, Sizes]] = {}
    for function in [op for op in module.ops if isinstance(op, FuncOp)]:
        name = function.sym_name.data
        fixed = FIRST_OUTSIDE if name == "layernorm_matmul" else ()
        for number, sizes in enumerate((drawn_sizes(function, rng), *fixed)):
            functions.append(with_sizes(function, f"{name}_{number}", sizes))
            tried[f"{name}_{number}"] = name, sizes
    executables = compile_all(ModuleOp(functions), pipeline=AFTER_BLOCKS)
    found = [
        (tried[variant][1], fault)
        for variant, executable in executables.items()
        for fault in faults(module, inputs[tried[variant][0]], executable, BOUNDS["f32"])
    ]
    assert len(executables) == len(tried)
    assert found == []
