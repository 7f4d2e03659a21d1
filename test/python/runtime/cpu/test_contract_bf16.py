"""contract_bf16 of the tile library, in both ways: the one for AMX on tiles in software."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tile_library_arrays import aligned, bound, laid_out, strides
from tile_library_builds import (
    NATIVE,
    Library,
    build,
    compile_source,
    require,
    shared_folder,
)

pytestmark = pytest.mark.long

BF16, F32 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
STORAGE = {"bfloat16": BF16, "float32": F32}
OVERWRITE, ACCUMULATE, RESCALE = range(3)


@pytest.fixture(scope="module", params=["native", "avx2", "baseline"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(build(request.param, "ways_of_bf16", shared_folder(tmp_path_factory)))


@pytest.fixture(params=["chosen", "vector", "tiles"])
def way(request: pytest.FixtureRequest, target: Library) -> str:
    name = str(request.param)
    if name != "chosen" and not target(f"has_{name}"):
        pytest.skip("not for this target")
    return name


def contract(
    target: Library,
    way: str,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    lanes: int,
    mode: int,
    scale: np.ndarray,
) -> None:
    storage = "float32" if a.dtype == F32 else "bfloat16"
    (m, k), ld, ldc = a.shape, b.shape[1], c.shape[1]
    name = f"{way}_{storage}"
    assert target(name, c, ldc, a, *strides(a), b, ld, m, lanes, k, ctypes.c_int(mode), scale) == 0


def shapes(rng: np.random.Generator) -> list[tuple[int, int, int]]:
    every = rng.permuted(np.tile(np.arange(1, 71), (3, 1)), axis=1)
    found = [(int(m), int(lanes), int(k)) for m, lanes, k in np.concatenate([every, every[[1, 2, 0]]], 1).T]
    found += [(m, 64, k) for m in (6, 15, 16, 17, 31, 32, 33) for k in (31, 32, 33, 64)]
    return [*found, (130, 147, 301), (33, 64, 1024), (40, 80, 517), (1, 32, 700), (1030, 16, 96)]


@pytest.mark.parametrize("storage", STORAGE)
def test_exact_operands(target: Library, way: str, storage: str):
    rng = np.random.default_rng(3)
    for trial, (m, lanes, k) in enumerate(shapes(rng)):
        kind, mode = trial % 4, trial // 4 % 3
        values = rng.normal(size=(m, k)).astype(BF16)
        a = laid_out(values.astype(STORAGE[storage]), kind)
        padded = -(-lanes // target.lanes["f32"]) * target.lanes["f32"]
        ld = padded + target.lanes["f32"] * (trial % 3)
        b, c, scale = aligned((k, ld)), aligned((m, ld)), aligned(padded)
        b[:, :lanes] = rng.normal(size=(k, lanes)).astype(BF16)
        b[:, lanes:] = np.nan  # no lane beyond the valid ones may count
        c[:], scale[:] = rng.normal(size=c.shape), rng.random(padded)
        before = c.copy()
        contract(target, way, a, b, c, lanes, mode, scale)
        old = before[:, :lanes].astype(np.float64) * [0.0, 1.0, scale[:lanes].astype(np.float64)][mode]
        wide_a, wide_b = values.astype(np.float64), b[:, :lanes].astype(np.float64)
        error = np.abs(c[:, :lanes] - (wide_a @ wide_b + old))
        assert (error <= bound(wide_a, wide_b, old, F32)).all(), (m, lanes, k, kind, mode)
        assert (c[:, padded:] == before[:, padded:]).all(), (m, lanes, k, kind, mode)


def test_other_operands_are_rounded_to_nearest_even(target: Library, way: str):
    if way == "chosen":
        pytest.skip("may be in f32")
    rng = np.random.default_rng(4)
    for kind in range(4):
        a = rng.normal(size=(37, 75)).astype(F32)
        a[:, ::3] = np.float32(1) + np.float32(2.0**-8) * rng.integers(
            0, 9, (37, 25)
        )  # halfway, every other one
        b, c = aligned((75, 48)), aligned((37, 48))
        b[:] = rng.normal(size=b.shape)
        contract(target, way, laid_out(a, kind), b, c, 48, OVERWRITE, c)
        wide_a, wide_b = a.astype(BF16).astype(np.float64), b.astype(BF16).astype(np.float64)
        error = np.abs(c - wide_a @ wide_b)
        assert (error <= bound(wide_a, wide_b, np.zeros_like(wide_a @ wide_b), F32)).all()


@pytest.mark.parametrize("kind", range(4))
def test_pairs_of_arrays_and_of_sweeps(target: Library, kind: int):
    rng = np.random.default_rng(7)
    w = target.lanes["f32"]
    for outer, lanes in ((1, 1), (2, 16), (3, 17), (32, 16), (33, 64), (45, 80), (64, 5), (7, 147)):
        values = rng.normal(size=(outer, lanes)).astype(F32)
        ld = -(-lanes // w) * w
        padded = np.zeros((outer + outer % 2, ld), np.uint16)
        padded[:outer, :lanes] = values.astype(BF16).view(np.uint16)
        want = padded[::2].astype(np.uint32) | padded[1::2].astype(np.uint32) << 16
        x = laid_out(values.astype(BF16), kind)
        got = np.full_like(want, 0xFFFFFFFF)
        target("load_in_pairs", got, ld, outer, lanes, x, *strides(x))
        assert (got == want).all(), (outer, lanes)
        plane, sums = aligned((outer, ld)), aligned(ld)
        plane[:, :lanes] = values
        for reduces in (0, 1):
            got[:] = 0xFFFFFFFF
            target("sweep_in_pairs", got, ld, plane, sums, outer, lanes, ctypes.c_int(reduces))
            assert (got[:, :lanes] == want[:, :lanes]).all(), (outer, lanes, reduces)
        assert np.allclose(sums[:lanes], values.sum(axis=0), atol=1e-5)


def test_packed_operands_give_what_plain_ones_give(target: Library, way: str):
    rng = np.random.default_rng(6)
    w = target.lanes["f32"]
    for trial, (m, lanes, k) in enumerate([*shapes(rng)[::3], (70, 64, 1500), (12, 33, 1025), (1, 16, 1)]):
        group, mode, padded = trial % 6 + 1, trial % 3, -(-lanes // w) * w
        rows, columns = m + trial % 5, k + trial % 4
        x, b, scale = aligned((k, -(-m // w) * w)), aligned((k, padded + w)), aligned(padded)
        x[:], b[:], scale[:] = (
            rng.normal(size=x.shape).astype(BF16),
            rng.normal(size=b.shape),
            rng.random(padded),
        )
        b[:, lanes:] = np.nan
        stride = group * 2 * -(-columns // 2)
        packed = np.full(-(-rows // group) * stride, np.nan, BF16)
        target("pack", packed, rows, columns, group, x, x.shape[1], m, k)
        at = (
            packed.reshape(-1, stride // group // 2, group, 2)
            .transpose(0, 2, 1, 3)
            .reshape(-1, stride // group)
        )
        assert (at[:m, :k] == x[:k, :m].T.astype(BF16)).all()
        assert not at[m:].any()
        assert not at[:, k:].any()
        pairs = np.zeros((-(-k // 2), padded + w), np.uint32)
        target("pair", pairs, padded + w, b, padded + w, k, lanes)
        old = rng.normal(size=(m, padded)).astype(F32)
        plain, plane, paired = (aligned(old.shape) for _ in range(3))
        plain[:] = plane[:] = paired[:] = old
        a = np.ascontiguousarray(x[:k, :m].T).astype(BF16)
        contract(target, way, a, b, plain, lanes, mode, scale)
        for found, name, right in ((plane, "plane", b), (paired, "pairs", pairs)):
            call = (found, padded, packed, group, stride, right, padded + w, m, lanes, k)
            assert target(f"{way}_packed_{name}", *call, ctypes.c_int(mode), scale) == 0
        wide_a, wide_b = a.astype(np.float64), b[:k, :lanes].astype(BF16).astype(np.float64)
        before = old[:, :lanes].astype(np.float64) * [0.0, 1.0, scale[:lanes].astype(np.float64)][mode]
        limit = bound(wide_a, wide_b, before, F32)
        where = m, lanes, k, group, mode
        assert (np.abs(paired[:, :lanes] - (wide_a @ wide_b + before)) <= limit).all(), where
        if way == "chosen":  # which may be in f32, where only pairs are rounded
            call = (plain, padded, a, k, 1, pairs, padded + w, m, lanes, k, ctypes.c_int(0), scale)
            assert target("chosen_pairs", *call) == 0
            assert (np.abs(plain[:, :lanes] - wide_a @ wide_b) <= limit).all(), where
        else:
            assert np.array_equal(plane[:, :lanes], paired[:, :lanes]), where
            assert np.array_equal(plain[:, :lanes], paired[:, :lanes]), where


@pytest.mark.parametrize("storage", STORAGE)
def test_panels_of_few_rows(target: Library, storage: str):
    rng = np.random.default_rng(7)
    w = target.lanes["f32"]
    for trial in range(90):
        m, n, k = trial % 10 + 1, int(rng.integers(1, 130)), int(rng.integers(1, 130))
        if trial >= 80:
            m, n, k = trial % 8 + 1, 200, 2048  # rows a page apart
        group, mode = w * (trial % 4 + 1), trial % 3
        rows, columns = n + trial % 5, k + trial % 7
        values, x = rng.normal(size=(m, k)).astype(BF16), aligned((k, -(-n // w) * w))
        x[:] = rng.normal(size=x.shape).astype(BF16)
        stride = group * 2 * -(-columns // 2)
        packed = np.full(-(-rows // group) * stride, np.nan, BF16)
        target("pack", packed, rows, columns, group, x, x.shape[1], n, k)
        a, c, scale = (
            laid_out(values.astype(STORAGE[storage]), trial % 4),
            aligned((m, x.shape[1])),
            aligned(m),
        )
        c[:], scale[:] = rng.normal(size=c.shape), rng.random(m)
        old = c[:, :n].astype(np.float64) * [[[0.0]], [[1.0]], scale[:, None].astype(np.float64)][mode]
        call = (c, c.shape[1], a, *strides(a), packed, group, stride, m, n, k, ctypes.c_int(mode), scale)
        assert target(f"panels_{storage}", *call) == 0
        wide_a, wide_b = values.astype(np.float64), x[:, :n].astype(np.float64)
        error = np.abs(c[:, :n] - (wide_a @ wide_b + old))
        assert (error <= bound(wide_a, wide_b, old, F32)).all(), (m, n, k, group, mode)


def test_panels_keep_what_is_special(target: Library):
    a, x, c = np.ones((8, 33), F32), aligned((33, 32)), aligned((8, 32))
    a[1, 4], a[2, 5], a[3, 32], a[4, 7], a[5] = np.inf, -np.inf, np.nan, 3.3e38, 0
    x[:], x[:, 1], x[9, 3] = 1, 0, np.inf
    stride = 32 * 34
    packed = np.zeros(stride, BF16)
    target("pack", packed, 32, 33, 32, x, 32, 32, 33)
    call = (c, 32, a, 33, 1, packed, 32, stride, 8, 32, 33, ctypes.c_int(OVERWRITE), c)
    assert target("panels_float32", *call) == 0
    with np.errstate(invalid="ignore", over="ignore"):
        want = (a.astype(np.float64) @ x.astype(np.float64)).astype(F32)
    np.testing.assert_allclose(c, want, rtol=1e-2)


@pytest.mark.parametrize("storage", STORAGE)
def test_specials(target: Library, way: str, storage: str):
    a = np.ones((20, 33), STORAGE[storage])
    a[1, 4], a[2, 5], a[3, 6] = np.inf, -np.inf, np.nan
    a[4, 7], a[5] = 3.3e38, 0
    b, c = aligned((33, 32)), aligned((20, 32))
    b[:] = 1
    b[:, 1], b[4, 2], b[9, 3], b[:, 4] = 0, 0, np.inf, -1
    contract(target, way, laid_out(a, 1), b, c, 32, OVERWRITE, c)
    with np.errstate(invalid="ignore", over="ignore"):
        want = (a.astype(np.float64) @ b.astype(np.float64)).astype(F32)
    np.testing.assert_allclose(c, want, rtol=1e-2)


def test_the_same_every_time(target: Library, way: str):
    rng = np.random.default_rng(5)
    a, b, scale = rng.normal(size=(70, 300)).astype(BF16), aligned((300, 80)), aligned(80)
    b[:], scale[:] = rng.normal(size=b.shape), rng.random(80)
    first, again = aligned((70, 80)), aligned((70, 80))
    first[:] = again[:] = rng.normal(size=first.shape)
    for c in (first, again):
        contract(target, way, a, b, c, 80, RESCALE, scale)
    assert first.tobytes() == again.tobytes()


def test_the_instructions_of_amx(tmp_path: Path):
    """Compiled everywhere; the tests above run it where the processor has it."""
    require("native")
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    made = tmp_path / "contract_bf16.o"
    flags = [
        "-O3",
        "-mavx512f",
        "-mavx512bw",
        "-mavx512dq",
        "-mavx512vl",
        "-mavx512bf16",
        "-mamx-tile",
        "-mamx-bf16",
    ]
    compile_source(NATIVE / "contract_bf16.cpp", made, [*flags, "-mfma", "-mprefer-vector-width=512"])
    listing = subprocess.run(["objdump", "-dr", str(made)], capture_output=True, text=True, check=True).stdout
    products = re.findall(r"tdpbf16ps (%tmm\d),(%tmm\d),(%tmm\d)", listing)
    # AT&T order: B, A, sums. Four sums, of two tiles of A and two of B.
    assert set(products) == {
        ("%tmm6", "%tmm4", "%tmm0"),
        ("%tmm7", "%tmm4", "%tmm1"),
        ("%tmm6", "%tmm5", "%tmm2"),
        ("%tmm7", "%tmm5", "%tmm3"),
    }
    assert {"ldtilecfg", "tilerelease", "tilezero", "tileloadd", "tilestored", "syscall"} <= set(
        re.findall(r"\b(ldtilecfg|tilerelease|tilezero|tileloadd|tilestored|syscall)", listing)
    )
