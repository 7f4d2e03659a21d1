"""The CUDA tile library in hand-written kernels: values, findings, traffic, bank conflicts, resources."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from bb.runtime.cuda.compile import KernelResources, compile_cuda, cuda_compiler_problem, kernel_resources
from bb.runtime.cuda.compile.sass import find_disassembler, instruction_counts
from bb.runtime.cuda.emulator.native_files import device_directory
from cuda_kernels import outcome
from cuda_tile_cases import (
    CORE,
    FULL,
    SM_90,
    Make,
    TileCase,
    attention,
    ffn,
    gate_up,
    kernel_of,
    layernorm_matmul,
    matmul,
    options,
    rmsnorm,
    softmax,
    source_of,
)

pytestmark = pytest.mark.long

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason="CuPy is not installed")
needs_disassembler = pytest.mark.skipif(find_disassembler() is None, reason="there is no nvdisasm")


def examine(make: Make, tier: str, seed: int) -> None:
    """Check mode: right values, no finding, bytes as counted by hand, few bank conflicts, full sectors."""
    tile = make()
    report, error = outcome(kernel_of(tile, tier), tile.case, schedule="pct", seed=seed, profile=True)
    assert report.ok, "\n".join(map(str, report.findings))
    assert error <= tile.case.tolerance, tile.label
    moved = {name: report.buffer(name) for name in tile.traffic}
    assert {name: b.bytes_read + b.bytes_written for name, b in moved.items()} == tile.traffic
    output = report.buffer(tile.output)
    assert output.never_written == 0
    assert report.shared.conflict_factor <= (1.05 if tile.whole else 1.1)
    if tile.whole:
        assert output.store_sectors == -(-output.bytes_written // 32)


@cache
def identify(make: Make) -> str:
    """Name of a case; making it computes its expected values, too."""
    return make().label


@pytest.mark.parametrize("make", CORE, ids=identify)
def test_source(make: Make) -> None:
    examine(make, "check", seed=4)


@needs_nvrtc
@pytest.mark.parametrize("make", CORE, ids=identify)
def test_ptx(make: Make) -> None:
    examine(make, "sm_80", seed=5)


@pytest.mark.parametrize("make", CORE[3::4], ids=identify)
def test_values_do_not_depend_on_the_schedule(make: Make) -> None:
    tile = make()
    for seed in (1, 2):
        report, error = outcome(kernel_of(tile, "fast"), tile.case, schedule="pct", seed=seed)
        assert report.ok
        assert error <= tile.case.tolerance


@pytest.mark.emulator_full
@pytest.mark.parametrize("make", [*CORE, *FULL], ids=identify)
def test_full_grid(make: Make) -> None:
    tile = make()
    for seed in (1, 2, 3):
        report, error = outcome(kernel_of(tile, "fast"), tile.case, schedule="pct", seed=seed)
        assert report.ok
        assert error <= tile.case.tolerance
    examine(make, "check", seed=4)
    if cuda_compiler_problem() is None:
        examine(make, "sm_80", seed=5)


@needs_nvrtc
@pytest.mark.emulator_full
@pytest.mark.parametrize("make", SM_90, ids=identify)
def test_full_grid_for_sm_90(make: Make) -> None:
    examine(make, "sm_90", seed=6)


def test_rows_that_are_all_the_same_become_zero() -> None:
    tile = layernorm_matmul("f16", 64, 128, 200, mean=100.0)
    tile.case.arguments["X"][:] = 777.0
    tile.case.expected["O"][:] = 0.0
    report, error = outcome(kernel_of(tile, "fast"), tile.case)
    assert report.ok
    assert error == 0.0


def test_rows_that_see_no_key_become_zero() -> None:
    tile = attention("f16", causal=True, queries=150, keys=77)
    assert not tile.case.expected["O"][:, :73].any()
    arrays = {name: value.copy() for name, value in tile.case.arguments.items() if name in "QKVO"}
    numbers = [value for name, value in tile.case.arguments.items() if name not in arrays]
    kernel = kernel_of(tile, "fast")
    kernel.launch(tile.case.grid, tile.case.block, [*arrays.values(), *numbers], tile.case.shared_mem)
    assert not arrays["O"][:, :73].astype(np.float32).any()


# ---- resources

# A kernel, the blocks of it that a multiprocessor holds, and its products of 16 x 8 x K in the machine code.
BUDGETS: list[tuple[Make, int, int]] = [
    (partial(attention, causal=True), 2, 128),
    (partial(attention, "bf16", 128, n=32, causal=True), 2, 128),
    (partial(layernorm_matmul, "bf16"), 2, 32),
    (partial(gate_up, "bf16"), 2, 32),
    (partial(ffn, "bf16"), 1, 192),
    (partial(matmul, "f16", kn=True), 2, 32),
]
MORE_BUDGETS: list[tuple[Make, int, int]] = [
    (attention, 2, 128),
    (partial(attention, "f16", causal=True), 2, 128),
    (partial(attention, warps=8), 2, 64),
    (partial(attention, "bf16", 128, n=32), 2, 128),
    (partial(attention, "f16", 128, n=32, causal=True), 2, 128),
    (partial(attention, "bf16", 96, n=32, causal=True), 2, 96),
    (partial(attention, "bf16", 128, warps=8), 1, 128),
    (partial(layernorm_matmul, "f16", 128, 256, tile=256), 1, 64),
    (partial(ffn, "f16", tile=128), 1, 128),
    (partial(matmul, "bf16"), 2, 32),
    (partial(matmul, "tf32"), 2, 32),
    (partial(matmul, "tf32", kn=True), 2, 32),
    (partial(attention, "float", causal=True), 1, 0),
    (partial(attention, "float", 128, n=32), 1, 0),
    (partial(attention, "tf32"), 1, 64),
    (partial(attention, "tf32", 128, n=32, causal=True), 1, 64),
    (partial(matmul, "float"), 1, 0),
    (partial(matmul, "float", kn=True), 1, 0),
    (softmax, 10, 0),
    (partial(rmsnorm, n=4096), 5, 0),
]


@cache
def resources_of(make: Make, arch: str) -> tuple[TileCase, KernelResources, dict[str, int]]:
    tile = make()
    binary = compile_cuda(
        source_of(tile.file),
        arch,
        name=f"{tile.file}.cu",
        include=[device_directory()],
        options=options(dict(tile.settings)),
    )
    assert binary.cubin is not None
    threads, shared = tile.case.block[0], tile.case.shared_mem
    found = kernel_resources(binary, threads=threads, dynamic_shared=shared)
    counts = instruction_counts(binary.cubin)[tile.kernel]
    return tile, next(each for each in found if each.kernel == tile.kernel), counts


def check_budget(make: Make, blocks: int, products: int, arch: str) -> None:
    tile, resources, counts = resources_of(make, arch)
    assert (resources.spill_stores, resources.spill_loads, resources.stack) == (0, 0, 0)
    assert resources.occupancy is not None
    assert resources.occupancy.blocks >= blocks
    assert resources.instructions["HMMA"] == products
    copies = [opcode for opcode in counts if opcode.startswith("LDGSTS")]
    if tile.file == "rows":
        wide = resources.instructions
        assert wide["LDG.128"] == wide["LDG"] > 0
        assert wide["STG.128"] == wide["STG"] > 0
    else:
        assert copies
        assert all(".128" in opcode for opcode in copies)
    if products:
        assert resources.instructions["LDSM"] > 0
        assert resources.instructions["LDL"] == resources.instructions["STL"] == 0


@needs_nvrtc
@needs_disassembler
@pytest.mark.parametrize(
    ("make", "blocks", "products"), BUDGETS, ids=lambda v: identify(v) if callable(v) else ""
)
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_resources(make: Make, blocks: int, products: int, arch: str) -> None:
    check_budget(make, blocks, products, arch)


@needs_nvrtc
@needs_disassembler
@pytest.mark.emulator_full
@pytest.mark.parametrize(
    ("make", "blocks", "products"),
    [*BUDGETS, *MORE_BUDGETS],
    ids=lambda v: identify(v) if callable(v) else "",
)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_all_resources(make: Make, blocks: int, products: int, arch: str) -> None:
    check_budget(make, blocks, products, arch)
