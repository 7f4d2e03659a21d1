"""Planted bugs in the kernels of test/cuda, and which ways of running find them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bb.runtime.cuda.emulator import EmulatedModule, LaunchReport
from cuda_kernels import KERNELS, Case, outcome

SEEDS = 10
"""Random schedules that the fast way tries."""


@dataclass(frozen=True)
class Mutation:
    """A bug: a text of a kernel replaced by another one. `ragged` runs it on the kernel's ragged size.

    An equivalent mutation changes nothing that a correct checker may complain about. `wrong` marks bugs that
    break no rule of CUDA: only the results show them.
    """

    kernel: str
    name: str
    old: str
    new: str
    ragged: bool = False
    equivalent: bool = False
    wrong: bool = False

    @property
    def source(self) -> str:
        source = KERNELS[self.kernel].source
        if source.count(self.old) != 1:
            raise ValueError(f"{self.kernel}: {source.count(self.old)} times {self.old!r}")
        return source.replace(self.old, self.new)

    @property
    def case(self) -> Case:
        kernel = KERNELS[self.kernel]
        return kernel.make(*kernel.sizes[1 if self.ragged else 0])


def _of(kernel: str, *rows: tuple[str, str, str] | tuple[str, str, str, str]) -> Iterable[Mutation]:
    for name, old, new, *flags in rows:
        words = flags[0].split() if flags else []
        yield Mutation(kernel, name, old, new, "ragged" in words, "equivalent" in words, "wrong" in words)


MUTATIONS: tuple[Mutation, ...] = (
    *_of(
        "matmul_mma",
        ("no barrier before a tile is read", "__syncthreads();  // tile k is there", ";"),
        ("no barrier before a tile is overwritten", "__syncthreads();  // tile k is done with", ";"),
        ("waits for too few copies at the end", "bb_cp_async_wait<0>();", "bb_cp_async_wait<1>();"),
        ("waits for too few copies", "bb_cp_async_wait<1>();", "bb_cp_async_wait<2>();"),
        ("copies are not committed", "    bb_cp_async_commit();\n", ""),
        (
            "no guard of the rows of A",
            "const bool inside = m0 + row < M;",
            "const bool inside = true;",
            "ragged",
        ),
        ("no guard of the rows of C", "if (row + 8 < M) bb_store_8", "bb_store_8", "ragged"),
        ("one buffer instead of two", "const int buffer = k / TILE_K % 2;", "const int buffer = 0;"),
        ("one tile too many", "if (k + TILE_K < K) {", "if (k + TILE_K <= K) {"),
        ("rows of A are not aligned", "PITCH_A = TILE_K + 8", "PITCH_A = TILE_K + 1"),
        ("B is not transposed", "bb_ldmatrix_x4_trans", "bb_ldmatrix_x4", "wrong"),
        ("warps share their columns", "warp_n = warp % 2 * 32", "warp_n = 0"),
        ("operands of neighbours swapped", "b[2 * j][1] = r[1]", "b[2 * j][1] = r[2]", "wrong"),
        (
            "no barrier after the last tile",
            "__syncthreads();  // tile k is done with",
            "if (k + TILE_K < K) __syncthreads();",
            "equivalent",
        ),
    ),
    *_of(
        "flash_attention",
        ("no barrier before a tile is overwritten", "__syncthreads();  // the last tile is done with", ";"),
        ("no barrier before a tile is read", "__syncthreads();  // the tile is there", ";"),
        ("no barrier of the warp", "__syncwarp();", ";"),
        ("no guard of the queries", "if (q0 + row < length) q =", "q =", "ragged"),
        ("no guard of the keys", "if (k0 + row < length) {", "{", "ragged"),
        ("no guard of the output", "if (row < length)\n", "\n", "ragged"),
        ("rows of K are not aligned", "PITCH_K = WIDTH + 4", "PITCH_K = WIDTH + 1"),
        ("more shared memory than asked for", "Ps = Vs + KEYS * WIDTH;", "Ps = Vs + KEYS * WIDTH + 512;"),
        (
            "barrier of half the block",
            "__syncthreads();  // the tile is there",
            "if (thread < 64) __syncthreads();",
        ),
        ("shuffle of half a warp", "top = fmaxf(top, __shfl", "if (lane < 16) top = fmaxf(top, __shfl"),
        (
            "mask without the caller",
            "total += __shfl_xor_sync(0xffffffffu",
            "total += __shfl_xor_sync(0x0000ffffu",
        ),
        ("weights of warps overlap", "Ps + warp * 8 * KEYS", "Ps + warp * 4 * KEYS"),
        ("sums are not corrected", "      left[r] *= correction;\n", "", "wrong"),
        (
            "keys after the end count",
            "s = k0 + lane < length ? s * scale : -BB_INF;",
            "s *= scale;",
            "ragged wrong",
        ),
        (
            "no barrier before the first tile",
            "__syncthreads();  // the last tile is done with",
            "if (k0 > 0) __syncthreads();",
            "equivalent",
        ),
    ),
    *_of(
        "layernorm",
        ("no barrier before the parts are read", "__syncthreads();  // every warp's part is there", ";"),
        (
            "no barrier before the parts are overwritten",
            "__syncthreads();  // the parts may be overwritten",
            ";",
        ),
        ("one column too many", "c < columns; c += THREADS) {", "c <= columns; c += THREADS) {"),
        ("mask without the caller", "__shfl_xor_sync(0xffffffffu", "__shfl_xor_sync(0xffffu"),
        ("too few parts", "float of_warp[THREADS / 32];", "float of_warp[THREADS / 32 - 1];"),
        ("writes its input", "row[c] = source[c];", "row[c] = source[c]; ((float*)source)[c] = 0.f;"),
        ("every thread writes the part", "if (threadIdx.x % 32 == 0) of_warp", "of_warp"),
        (
            "columns left out",
            "for (int c = threadIdx.x; c < columns; c += THREADS)\n",
            "if (int c = threadIdx.x; c < columns)\n",
        ),
        (
            "variance is not divided",
            "across_block(squares, add) / columns",
            "across_block(squares, add)",
            "wrong",
        ),
        (
            "a barrier too many",
            "float squares = 0.f;",
            "float squares = 0.f; __syncthreads();",
            "equivalent",
        ),
    ),
    *_of(
        "block_sums",
        ("no barrier after the bins are emptied", "__syncthreads();  // the bins are empty", ";"),
        (
            "no barrier before the sums are read",
            "__syncthreads();  // the warps' sums and the bins are there",
            ";",
        ),
        (
            "no barrier before the answer is read",
            "__syncthreads();  // whether this block is the last one",
            ";",
        ),
        ("no fence before the ticket", "__threadfence();  // the block's sum before its ticket", ";"),
        ("bins without atomics", "atomicAdd(&bins[bin], 1);", "bins[bin] += 1;"),
        (
            "histogram without atomics",
            "atomicAdd(&histogram[thread], bins[thread]);",
            "histogram[thread] += bins[thread];",
        ),
        (
            "a bin is not emptied",
            "if (thread < BINS) bins[thread] = 0;",
            "if (thread < BINS - 1) bins[thread] = 0;",
        ),
        ("a bin too many", "min(BINS - 1, (int)(fabsf(x[i]) * 2.f))", "(int)(fabsf(x[i]) * 4.f)"),
        ("no block is the last", "== gridDim.x - 1;", "== gridDim.x;"),
        (
            "the last numbers are read past the end",
            "i < n; i +=",
            "i < (n + 255) / 256 * 256; i +=",
            "ragged",
        ),
        (
            "part of a warp left out",
            "for (int o = 16; o > 0; o /= 2) sum +=",
            "for (int o = 8; o > 0; o /= 2) sum +=",
            "wrong",
        ),
        (
            "waits for another block",
            "if (thread == 0) {\n",
            "if (thread == 0) { while (*(volatile unsigned*)&blocks_done < blockIdx.x + 1) {}\n",
        ),
    ),
    *_of(
        "producer_consumer",
        ("reads before a stage is full", "bb_mbarrier_wait(&full[stage], turn & 1);", ";"),
        ("fills before a stage is empty", "bb_mbarrier_wait(&empty[stage], (turn & 1) ^ 1);", ";"),
        ("never says that a stage is empty", "bb_mbarrier_arrive(&empty[stage]);", ";"),
        ("full before the copies are there", "bb_mbarrier_arrive_after_copies", "bb_mbarrier_arrive"),
        ("waits for the phase before", "&full[stage], turn & 1)", "&full[stage], (turn & 1) ^ 1)"),
        (
            "expects too few consumers",
            "bb_mbarrier_init(&empty[s], CONSUMERS);",
            "bb_mbarrier_init(&empty[s], 96);",
        ),
        ("expects too many producers", "bb_mbarrier_init(&full[s], 32);", "bb_mbarrier_init(&full[s], 33);"),
        ("no barrier after initialisation", "__syncthreads();  // the barriers are there", ";"),
        (
            "a barrier is not initialised",
            "for (int s = 0; s < STAGES; ++s) {\n",
            "for (int s = 1; s < STAGES; ++s) {\n",
        ),
        (
            "no guard of the rows",
            "const bool inside = row0 + row < rows;",
            "const bool inside = true;",
            "ragged",
        ),
        ("no guard of the output", "if (part == 0 && row0 + row < rows)", "if (part == 0)", "ragged"),
        (
            "says empty before it has read",
            "bb_mbarrier_wait(&full[stage], turn & 1);",
            "bb_mbarrier_wait(&full[stage], turn & 1);"
            " if (thread == 5) bb_mbarrier_arrive(&empty[stage]); else",
        ),
        ("fewer stages than are used", "tiles[STAGES][ROWS]", "tiles[STAGES - 1][ROWS]"),
    ),
    *_of(
        "transpose",
        ("no barrier before the tile is read", "__syncthreads();  // the tile is there", ";"),
        (
            "barrier of some lines only",
            "__syncthreads();  // the tile is there",
            "if (threadIdx.y < 4) __syncthreads();",
        ),
        (
            "no guard of the columns read",
            "if (row0 + y < rows && column < columns)",
            "if (row0 + y < rows)",
            "ragged",
        ),
        (
            "no guard of the rows written",
            "if (row < rows && column < columns)",
            "if (column < columns)",
            "ragged",
        ),
        ("tile too small", "T tile[TILE][TILE + 2];", "T tile[TILE - 1][TILE + 2];"),
        (
            "lines left out",
            "for (int y = threadIdx.y; y < TILE; y += LINES) {",
            "for (int y = threadIdx.y; y < TILE / 2; y += LINES) {",
        ),
        ("indices not swapped", "tile[threadIdx.x][y];", "tile[y][threadIdx.x];", "wrong"),
        (
            "tile without padding: bank conflicts",
            "T tile[TILE][TILE + 2];",
            "T tile[TILE][TILE];",
            "equivalent",
        ),
    ),
    *_of(
        "named_barriers",
        ("reads before a buffer is full", "bb_barrier_sync(full, 2 * HALF);", ";"),
        (
            "says full without waiting",
            "bb_barrier_sync(full, 2 * HALF);",
            "bb_barrier_arrive(full, 2 * HALF);",
        ),
        (
            "fills before a buffer is empty",
            "if (step >= 2) bb_barrier_sync(empty",
            "if (step >= 2) bb_barrier_arrive(empty",
        ),
        (
            "never says that a buffer is empty",
            "if (step + 2 < steps) bb_barrier_arrive(empty, 2 * HALF);",
            "",
        ),
        (
            "different numbers of threads",
            "bb_barrier_arrive(full, 2 * HALF);",
            "bb_barrier_arrive(full, HALF);",
        ),
        (
            "one buffer instead of two",
            "const int buffer = step % 2, full = 1 + buffer",
            "const int buffer = 0, full = 1 + step % 2",
        ),
        ("reads its own half", "buffers[buffer][thread ^ 1];", "buffers[buffer][thread];", "wrong"),
        ("a number that no barrier has", "empty = 3 + buffer;", "empty = 15 + buffer;"),
    ),
    *_of(
        "matmul_hopper",
        ("no barrier after initialisation", "__syncthreads();  // the barriers are there", ";"),
        (
            "bytes are not expected",
            "bb_mbarrier_arrive_expect(&full[stage], A_BYTES + B_BYTES);",
            "bb_mbarrier_arrive(&full[stage]);",
        ),
        (
            "too few bytes are expected",
            "_expect(&full[stage], A_BYTES + B_BYTES)",
            "_expect(&full[stage], A_BYTES)",
        ),
        (
            "too many bytes are expected",
            "_expect(&full[stage], A_BYTES + B_BYTES)",
            "_expect(&full[stage], 2 * A_BYTES)",
        ),
        ("no fence after initialisation", "    bb_mbarrier_init_fence();\n", ""),
        ("no fence before the tile is stored", "    bb_fence_async_proxy();\n", ""),
        ("no fence before the products", "      bb_wgmma_fence();\n", ""),
        (
            "accumulators written after the fence",
            "bb_wgmma_fence();",
            "bb_wgmma_fence(); if (t > 0) d[3] += 1e-6f;",
        ),
        ("reads before a stage is full", "bb_mbarrier_wait(&full[stage], turn & 1);", ";"),
        ("waits for the phase before", "&full[stage], turn & 1)", "&full[stage], (turn & 1) ^ 1)"),
        ("waits for an emptiness to come", "&empty[stage], (turn & 1) ^ 1)", "&empty[stage], turn & 1)"),
        ("fills before a stage is empty", "bb_mbarrier_wait(&empty[stage], (turn & 1) ^ 1);", ";"),
        ("never says that a stage is empty", "if (thread == 0) bb_mbarrier_arrive(&empty[stage]);", ";"),
        (
            "says empty before the products are done",
            "      bb_wgmma_wait<0>(d);\n      if (thread == 0) bb_mbarrier_arrive(&empty[stage]);",
            "      if (thread == 0) bb_mbarrier_arrive(&empty[stage]);\n      bb_wgmma_wait<0>(d);",
        ),
        ("no wait for the products", "bb_wgmma_wait<0>(d);", ";"),
        ("waits for too few products", "bb_wgmma_wait<0>(d);", "bb_wgmma_wait<1>(d);"),
        ("products are not committed", "bb_wgmma_commit();", ";"),
        ("accumulators read before the wait", "bb_wgmma_commit();", "bb_wgmma_commit(); d[0] += 0.f;"),
        ("wrong swizzle", "bb_wgmma_tile<128>(b", "bb_wgmma_tile<64>(b", "wrong"),
        ("tile is not aligned", "*as = tiles,", "*as = tiles + 128,"),
        ("coordinates not in order", "&b_map, t * TILE_K, n0,", "&b_map, n0, t * TILE_K,", "wrong"),
        ("no barrier before the tile is stored", "bb_barrier_sync(1, CONSUMERS);  // the tile of C", ";  //"),
        ("no wait for the store", "bb_bulk_wait<0>();", ";"),
        ("the store is not committed", "bb_bulk_commit();", ";"),
        ("a fence too many", "bb_wgmma_fence();", "bb_wgmma_fence(); bb_wgmma_fence();", "equivalent"),
        ("waits until the store is read", "bb_bulk_wait<0>();", "bb_bulk_wait_read<0>();", "equivalent"),
    ),
)


@dataclass(frozen=True)
class Verdict:
    """Outcome of one way of running: `found` if it complained or the results were wrong, and how."""

    found: bool
    how: str


def verdict(report: LaunchReport, error: float, tolerance: float) -> Verdict:
    if report.findings:
        finding = report.findings[0]
        line = f", line {finding.location.line}" if finding.location is not None else ""
        return Verdict(True, f"{finding.kind}{line}")
    if error != error:
        return Verdict(True, "NaN")
    return Verdict(True, "wrong numbers") if error > tolerance else Verdict(False, "")


def in_check_mode(mutation: Mutation, **choices: object) -> Verdict:
    """One run in check mode of the source tier."""
    module = EmulatedModule(mutation.source, check=True, file_name=f"{mutation.kernel}.cu", time_limit=2.0)
    case = mutation.case
    report, error = outcome(module.get_function(mutation.kernel), case, **choices)
    return verdict(report, error, case.tolerance)


def in_fast_mode(mutation: Mutation) -> tuple[Verdict, int]:
    """Fast runs of the source tier: with schedule fifo, and how many of `SEEDS` find it with schedule pct."""
    module = EmulatedModule(mutation.source, file_name=f"{mutation.kernel}.cu", time_limit=0.3)
    kernel, case = module.get_function(mutation.kernel), mutation.case

    def once(schedule: str, seed: int) -> Verdict:
        report, error = outcome(kernel, case, schedule=schedule, seed=seed)
        return verdict(report, error, case.tolerance)

    return once("fifo", 0), sum(once("pct", seed).found for seed in range(SEEDS))
