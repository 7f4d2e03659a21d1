"""runtime/include/bb and runtime/cpu/native: values, memory bounds, compile time."""

import ctypes
import functools
import math
import resource
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tile_library_arrays import PLANE, aligned, bound, laid_out, strides
from tile_library_builds import (
    DRIVERS,
    EMULATORS,
    FLAGS,
    NATIVE,
    TARGETS,
    Library,
    build,
    require,
    shared_folder,
)

pytestmark = pytest.mark.long

STORAGE = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
}


@pytest.fixture(scope="module", params=["native", "avx2", "baseline", "clang"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(build(request.param, "tile_library", shared_folder(tmp_path_factory)))


# ---- mathematics

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1.0 + e)


def _gelu(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, -0.0, x) * (0.5 + 0.5 * _erf(x / math.sqrt(2.0)))


# Reference, bound in units in the last place. The bounds are just above what the whole range shows.
FUNCTIONS = {
    "exp": (np.exp, 1.0),
    "exp2": (np.exp2, 1.2),
    "expm1": (np.expm1, 1.7),
    "log": (np.log, 0.85),
    "log2": (np.log2, 1.2),
    "tanh": (np.tanh, 1.25),
    "erf": (_erf, 1.2),
    "sigmoid": (_sigmoid, 2.1),
    "silu": (lambda x: np.where(x == -np.inf, -0.0, np.where(x == -np.inf, 0.0, x) * _sigmoid(x)), 2.5),
    "sin": (np.sin, 1.5),
    "cos": (np.cos, 1.5),
    "sqrt": (np.sqrt, 0.501),
    "rsqrt": (lambda x: 1.0 / np.sqrt(x), 1.5),
    "recip": (lambda x: 1.0 / x, 0.501),
    "abs": (np.abs, 0.0),
    "floor": (np.floor, 0.0),
    "ceil": (np.ceil, 0.0),
}


@functools.cache
def float_arguments() -> np.ndarray:
    """Every 4099th bit pattern of float32, specials, and the neighbourhood of every branch of math.hpp."""
    near = [0.2345679, 0.4814815, 3.9375]  # ends of the intervals of erf
    near += [1.0, 0.5, 0.625, 0.93, 4.0, 88.72284, 89.0, -87.33655, -103.97208, -104.0, 128.0, -126.0, -149.0]
    near += [-120.0, 16384.0, math.pi, math.pi / 2, 0.34657359, math.sqrt(0.5), 2.0**-126, 8388608.0, 1e-3]
    centres = np.array(near + [-x for x in near], np.float32).view(np.uint32).astype(np.int64)
    around = (centres[:, None] + np.arange(-500, 500)).ravel()
    specials = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 1, 0x80000001, 0x7F7FFFFF]
    bits = np.concatenate([np.arange(0, 2**32, 4099), around, specials]) % 2**32
    return bits.astype(np.uint32).view(np.float32)


@functools.cache
def reference(name: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return FUNCTIONS[name][0](float_arguments().astype(np.float64))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float_functions_are_within_their_bounds_over_the_whole_range(library: Library, name: str):
    x, want, bound = float_arguments(), reference(name), FUNCTIONS[name][1]
    y = np.full_like(x, 77.0)
    library(f"{name}_f32", y, x, len(x))
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        unit = np.maximum(np.spacing(np.abs(rounded)).astype(np.float64), 2.0**-149)
        wrong = np.abs(y.astype(np.float64) - want) > bound * unit
    exact = ~np.isfinite(rounded)
    wrong = np.where(exact, ~((y == rounded) | (np.isnan(y) & np.isnan(rounded))), wrong | np.isnan(y))
    assert not wrong.any(), [(float(x[i]), float(y[i]), float(want[i])) for i in np.flatnonzero(wrong)[:5]]


@pytest.mark.parametrize("name", ["expm1", "tanh", "erf", "sin", "silu", "floor", "sqrt", "recip"])
def test_odd_functions_keep_the_sign_of_zero(library: Library, name: str):
    y = np.empty(2, np.float32)
    library(f"{name}_f32", y, np.array([-0.0, 0.0], np.float32), 2)
    assert list(np.signbit(y)) == [True, False]


def test_gelu_has_a_small_absolute_error(library: Library):
    x = float_arguments()
    y = np.empty_like(x)
    library("gelu_f32", y, x, len(x))
    with np.errstate(all="ignore"):
        want = _gelu(x.astype(np.float64))
        error = np.abs(y - want) / np.maximum(1.0, np.abs(want))
    finite = np.isfinite(x)
    assert error[finite].max() < 2e-7
    assert (np.isnan(y) == np.isnan(x)).all()
    assert y[x == -np.inf] == 0.0
    assert y[x == np.inf] == np.inf


def test_the_exponential_for_16_bits(library: Library):
    x, want = float_arguments(), reference("exp")
    y = np.empty_like(x)
    library("exp_near_f32", y, x, len(x))
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        allowed = np.nan_to_num(want * (2 + np.abs(x)) * 2.0**-23) + 2.0**-149
        near = np.abs(y - want) <= allowed
    edge = (x > 88.7) & (x < 88.8)  # where it becomes infinite
    special = ~np.isfinite(rounded)
    exact = (y == rounded) | (np.isnan(y) & np.isnan(rounded))
    assert (np.where(special, exact, near) | edge).all()
    assert (y[x == 0] == 1).all()


@pytest.mark.parametrize("name", [*FUNCTIONS, "gelu"])
def test_double_functions_and_scalars(library: Library, name: str):
    function = _gelu if name == "gelu" else FUNCTIONS[name][0]
    x = np.concatenate([np.random.default_rng(5).normal(0, 8, 999), [0.0, np.inf, -np.inf, np.nan, -1e-300]])
    y = np.empty_like(x)
    library(f"{name}_f64", y, x, len(x))
    with np.errstate(all="ignore"):
        want = function(x)
        np.testing.assert_allclose(y, want, rtol=1e-15 if name != "gelu" else 1e-13, atol=2e-16)
        single = x.astype(np.float32)
        scalars = np.empty_like(single)
        library(f"{name}_scalar", scalars, single, len(x))
        np.testing.assert_allclose(scalars, function(single.astype(np.float64)), rtol=4e-7, atol=3e-7)


def test_two_arguments(library: Library):
    rng = np.random.default_rng(3)
    for tag, dtype in PLANE.items():
        a, b = rng.normal(size=(2, 101)).astype(dtype)
        a[3], b[4] = np.nan, np.nan
        results = {}
        for name in ["max", "min", "max_nan", "min_nan", "pow"]:
            results[name] = np.empty_like(a)
            library(f"{name}_{tag}", results[name], a, b, len(a))
        assert np.array_equal(results["max_nan"], np.maximum(a, b), equal_nan=True)
        assert np.array_equal(results["min_nan"], np.minimum(a, b), equal_nan=True)
        assert np.array_equal(results["max"], np.where(a > b, a, b), equal_nan=True)
        assert np.array_equal(results["min"], np.where(a < b, a, b), equal_nan=True)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(results["pow"], np.power(a, b), rtol=1e-6)


# ---- vectors


@pytest.mark.parametrize("tag", ["f32", "f64"])
def test_lanes(library: Library, tag: str):
    dtype, w = PLANE[tag], library.lanes[tag]
    x = np.arange(1, w + 1).astype(dtype)
    x[0] = np.nan
    y = np.zeros(5, dtype)
    library(f"across_{tag}", y, x)
    assert np.isnan(y[[0, 3, 4]]).all()
    x[0] = 1
    library(f"across_{tag}", y, x)
    assert list(y) == [w * (w + 1) / 2, w, 1, w, 1]
    square = np.arange(w * w).astype(dtype)
    turned = np.zeros_like(square)
    library(f"transpose_{tag}", turned, square)
    assert (turned.reshape(w, w) == square.reshape(w, w).T).all()
    for n in range(-1, w + 3):
        got = np.full(4 * w, 99, dtype)
        library(f"partial_{tag}", got, x, n)
        valid = np.arange(w) < n
        assert (got[:w] == np.where(valid, x, 99)).all()
        assert (got[w : 2 * w] == np.where(valid, x, 7)).all()
        assert (got[2 * w : 3 * w] == np.where(valid, x, 5)).all()
        assert (got[3 * w :] == np.where(np.arange(w) < 2, x, 1)).all()


# ---- moves


@pytest.mark.parametrize(
    ("tag", "storage"),
    [("f32", name) for name in STORAGE]
    + [("f64", name) for name in ["float64", "float32", "bfloat16", "int64", "bool"]],
)
def test_planes_are_loaded_and_stored(library: Library, tag: str, storage: str):
    rng = np.random.default_rng(11)
    dtype, plane, w = STORAGE[storage], PLANE[tag], library.lanes[tag]
    for trial in range(60):
        outer, lanes = (int(n) for n in rng.integers(1, 41, 2))
        rows, count = int(rng.integers(0, outer + 1)), int(rng.integers(0, lanes + 1))
        padded = -(-lanes // w) * w
        ld = padded + w * (trial % 2)
        values = (rng.normal(0, 40, (max(rows, 1), max(count, 1))) % 127).astype(dtype)
        source = laid_out(values, trial % 5)
        got = aligned((outer, ld), plane)
        got[:] = 9
        filled = ctypes.c_float(7) if tag == "f32" else ctypes.c_double(7)
        library(f"load_{tag}_{storage}", got, ld, outer, lanes, source, *strides(source), rows, count, filled)
        want = np.full((outer, ld), 9, plane)
        want[:, :padded] = 7
        want[:rows, :count] = source[:rows, :count].astype(plane)
        assert (got == want).all(), (trial, outer, lanes, rows, count)
        if trial % 5 == 4:
            continue
        target = laid_out(np.zeros_like(values), trial % 5)
        library(f"store_{tag}_{storage}", target, *strides(target), got, ld, rows, count)
        stored = got[:rows, :count].astype(dtype)
        assert (target[:rows, :count] == stored).all(), (trial, outer, lanes, rows, count)
        assert not target[rows:].any()
        assert not target[:, count:].any()


@pytest.mark.parametrize("storage", ["bfloat16", "float16"])
def test_narrow_floats_round_to_nearest_even(library: Library, storage: str):
    x = float_arguments()[: len(float_arguments()) // 16 * 16]
    with np.errstate(all="ignore"):
        want = x.astype(STORAGE[storage])
    results = [np.zeros(len(x), STORAGE[storage]) for _ in range(4)]
    library(f"store_f32_{storage}", results[0], 0, 1, x, len(x), 1, len(x))
    turned, rows = np.zeros_like(results[0]), len(x) // 16
    library(f"store_f32_{storage}", turned, 1, rows, x, 16, rows, 16)
    results[3] = np.ascontiguousarray(turned.reshape(16, rows).T).ravel()
    library(f"convert_scalar_{storage}", results[1], x, len(x))
    library(
        "convert_bits_float16" if storage == "float16" else f"convert_scalar_{storage}", results[2], x, len(x)
    )
    for got in results:
        same = (got.view(np.uint16) == want.view(np.uint16)) | (
            np.isnan(x) & np.isnan(got.astype(np.float32))
        )
        assert same.all(), [(float(x[i]), float(got[i])) for i in np.flatnonzero(~same)[:5]]


@pytest.mark.parametrize("storage", ["bfloat16", "float16"])
def test_narrow_floats_widen_exactly(library: Library, storage: str):
    halves = np.arange(65536, dtype=np.uint16).view(STORAGE[storage])
    with np.errstate(all="ignore"):
        want = halves.astype(np.float32)
    got = aligned(65536)
    library(f"load_f32_{storage}", got, 65536, 1, 65536, halves, 0, 1, 1, 65536, 0.0)
    assert np.array_equal(got, want, equal_nan=True)
    got[:] = 0
    library(f"load_f32_{storage}", got, 16, 4096, 16, halves, 1, 4096, 4096, 16, 0.0)
    assert np.array_equal(got.reshape(4096, 16).T.ravel(), want, equal_nan=True)
    got[:] = 0
    library(
        f"load_f32_{storage}", got, 65536, 1, 65536, halves[::-1], 0, -1, 1, 65536, 0.0
    )  # element by element
    assert np.array_equal(got, want[::-1], equal_nan=True)
    if storage == "float16":
        library("widen_bits_float16", got, halves, 65536)
        assert np.array_equal(got, want, equal_nan=True)


def test_vectors_and_transposed_planes(library: Library):
    rng = np.random.default_rng(2)
    w = library.lanes["f32"]
    for n in range(1, 40):
        valid = n - n % 3
        source, padded = rng.normal(size=n * 3).astype(np.float32), -(-n // w) * w
        vector, back = aligned(padded), np.zeros(n * 3, np.float32)
        library("vectors", vector, back, source, 3, n, valid)
        assert (vector[:valid] == source[::3][:valid]).all()
        assert (vector[valid:] == 3).all()
        assert (back[::3][:valid] == source[::3][:valid]).all()
        assert np.count_nonzero(back) == valid
        plane, turned = aligned((5, padded)), aligned((n, -(-5 // w) * w))
        plane[:, :n] = rng.normal(size=(5, n))
        library("transposed_plane", turned, turned.shape[1], plane, padded, 5, n)
        assert (turned[:, :5] == plane[:, :n].T).all()
        assert not turned[:, 5:].any()


def test_sweeps(library: Library):
    rng = np.random.default_rng(4)
    w = library.lanes["f32"]
    for outer, lanes in [
        (1, 1),
        (3, w),
        (7, 2 * w),
        (5, 3 * w + 1),
        (9, 4 * w),
        (2, 5 * w - 1),
        (4, 11 * w + 3),
    ]:
        ld = -(-lanes // w) * w
        x = aligned((outer, ld))
        x[:] = rng.normal(size=(outer, ld))
        sums, tops, twice = aligned(ld), aligned(ld), aligned((outer, ld))
        row_sums, row_tops = np.zeros(outer, np.float32), np.zeros(outer, np.float32)
        library("sweeps", sums, tops, row_sums, row_tops, twice, x, ld, outer, lanes)
        np.testing.assert_allclose(sums, x.sum(0, dtype=np.float64), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(row_sums, x[:, :lanes].sum(1, dtype=np.float64), rtol=1e-5, atol=1e-5)
        assert (tops == x.max(0)).all()
        assert (row_tops == x[:, :lanes].max(1)).all()
        np.testing.assert_allclose(twice, 2 * x + np.arange(ld), rtol=1e-6)


# ---- contractions


@pytest.mark.parametrize(
    ("tag", "storage"), [("f32", "float32"), ("f32", "bfloat16"), ("f32", "float16"), ("f64", "float64")]
)
def test_contract(library: Library, tag: str, storage: str):
    rng = np.random.default_rng(7)
    dtype, w = PLANE[tag], library.lanes[tag]
    every = rng.permuted(np.tile(np.arange(1, 41), (3, 1)), axis=1)
    shapes = [tuple(shape) for shape in np.concatenate([every, every[[1, 2, 0]], every[[2, 0, 1]]], 1).T]
    shapes += [(64, 4 * w, 64), (130, 9 * w + 3, 300), (1, 2 * w, 700), (37, 512 // dtype.itemsize * 4, 41)]
    for trial, (m, lanes, k) in enumerate(shapes):
        m, lanes, k = int(m), int(lanes), int(k)
        kind, mode = trial % 4, trial // 4 % 3
        values = rng.normal(size=(m, k)).astype(STORAGE[storage])
        a = laid_out(values, kind)
        padded = -(-lanes // w) * w
        ld = padded + w * (trial % 3)
        b, c, scale = aligned((k, ld), dtype), aligned((m, ld), dtype), aligned(padded, dtype)
        b[:, :lanes], c[:], scale[:] = (
            rng.normal(size=(k, lanes)),
            rng.normal(size=(m, ld)),
            rng.random(padded),
        )
        b[:, lanes:] = np.nan  # no lane beyond the valid ones may count
        before = c.copy()
        status = library(
            f"contract_{tag}_{storage}", c, ld, a, *strides(a), b, ld, m, lanes, k, ctypes.c_int(mode), scale
        )
        old = before[:, :lanes].astype(np.float64) * [0.0, 1.0, scale[:lanes].astype(np.float64)][mode]
        wide_a, wide_b = values.astype(np.float64), b[:, :lanes].astype(np.float64)
        error = np.abs(c[:, :lanes] - (wide_a @ wide_b + old))
        assert status == 0
        assert (error <= bound(wide_a, wide_b, old, dtype)).all(), (m, lanes, k, kind, mode)
        assert (c[:, padded:] == before[:, padded:]).all(), (m, lanes, k, kind, mode)


def test_contract_of_nothing(library: Library):
    w = library.lanes["f32"]
    c, scale = aligned((2, w)), aligned(w)
    a = b = aligned(1)
    for mode, want in enumerate([0.0, 5.0, 10.0]):
        c[:], scale[:] = 5, 2
        assert library("contract_f32_float32", c, w, a, 1, 1, b, w, 2, w, 0, ctypes.c_int(mode), scale) == 0
        assert (c == want).all()
    c[:] = 5
    library("contract_f32_float32", c, w, a, 1, 1, b, w, 0, w, 3, ctypes.c_int(0), scale)
    assert (c == 5).all()


@pytest.mark.parametrize(
    ("tag", "storage"), [("f32", "float32"), ("f32", "bfloat16"), ("f32", "float16"), ("f64", "float64")]
)
def test_contract_of_few_rows(library: Library, tag: str, storage: str):
    rng = np.random.default_rng(8)
    dtype, w = PLANE[tag], library.lanes[tag]
    for trial in range(90):
        m, n, k = trial % 10 + 1, int(rng.integers(1, 130)), int(rng.integers(1, 130))
        if trial >= 80:
            n, k = 700, 600
        mode = trial % 2
        ldc, lda = -(-n // w) * w, -(-k // w) * w
        a, c = aligned((m, lda), dtype), aligned((m, ldc), dtype)
        a[:], c[:] = rng.normal(size=a.shape), 1.0
        a[:, k:] = np.nan
        b = rng.normal(size=(k, n)).astype(STORAGE[storage])
        wide_a, wide_b = a[:, :k].astype(np.float64), b.astype(np.float64)
        limit = bound(wide_a, wide_b, np.ones((m, n)), dtype)
        for form, array, ldb in [("rows", b, n), ("dot", np.ascontiguousarray(b.T), k)]:
            c[:] = 1.0
            library(f"{form}_{tag}_{storage}", c, ldc, a, lda, array, ldb, m, n, k, ctypes.c_int(mode))
            assert (np.abs(c[:, :n] - (wide_a @ wide_b + mode)) <= limit).all(), (form, m, n, k, mode)


@pytest.mark.parametrize("tag", ["f32", "f64"])
def test_contract_of_packed_rows(library: Library, tag: str):
    rng = np.random.default_rng(9)
    dtype, w = PLANE[tag], library.lanes[tag]
    name = np.dtype(dtype).name
    for trial in range(60):
        m, lanes, k = (int(rng.integers(1, most)) for most in (60, 6 * w, 90))
        if trial >= 56:
            m, lanes, k = 130, 9 * w + 3, 700
        group, mode = trial % 6 + 1, trial % 3
        rows, columns = m + trial % 5, k + trial % 7
        ld, ldb = -(-m // w) * w, -(-lanes // w) * w
        x, b, c = aligned((k, ld), dtype), aligned((k, ldb), dtype), aligned((m, ldb), dtype)
        scale, packed = aligned(ldb, dtype), aligned(-(-rows // group) * group * columns, dtype)
        x[:], b[:], c[:] = rng.normal(size=x.shape), rng.normal(size=b.shape), rng.normal(size=c.shape)
        scale[:], packed[:], b[:, lanes:] = rng.random(ldb), np.nan, np.nan
        library(f"pack_{tag}_{name}", packed, rows, columns, group, x, ld, m, k)
        old = c[:, :lanes].astype(np.float64) * [0.0, 1.0, scale[:lanes].astype(np.float64)][mode]
        stride = group * columns
        call = (c, ldb, packed, group, stride, b, ldb, m, lanes, k, ctypes.c_int(mode), scale)
        assert library(f"packed_{tag}", *call) == 0
        wide_a, wide_b = x.T[:m].astype(np.float64), b[:, :lanes].astype(np.float64)
        error = np.abs(c[:, :lanes] - (wide_a @ wide_b + old))
        assert (error <= bound(wide_a, wide_b, old, dtype)).all(), (m, lanes, k, group, mode)


@pytest.mark.parametrize(
    ("tag", "storage"), [("f32", "float32"), ("f32", "bfloat16"), ("f32", "float16"), ("f64", "float64")]
)
def test_contract_of_packed_columns(library: Library, tag: str, storage: str):
    rng = np.random.default_rng(10)
    dtype, w = PLANE[tag], library.lanes[tag]
    for trial in range(60):
        m, n, k = trial % 10 + 1, int(rng.integers(1, 130)), int(rng.integers(1, 130))
        group, mode = w * (trial % 4 + 1), trial % 2
        rows, columns = n + trial % 5, k + trial % 7
        ldc, lda, ld = -(-n // w) * w, -(-k // w) * w, -(-n // w) * w
        a, c, x = aligned((m, lda), dtype), aligned((m, ldc), dtype), aligned((k, ld), dtype)
        packed = aligned(-(-rows // group) * group * columns, STORAGE[storage])
        a[:], c[:] = rng.normal(size=a.shape), 1.0
        a[:, k:] = np.nan
        x[:] = rng.normal(size=x.shape).astype(STORAGE[storage])
        library(f"pack_{tag}_{storage}", packed, rows, columns, group, x, ld, n, k)
        call = (c, ldc, a, lda, packed, group, group * columns, m, n, k, ctypes.c_int(mode))
        assert library(f"panels_{tag}_{storage}", *call) == 0
        wide_a, wide_b = a[:, :k].astype(np.float64), x[:, :n].astype(np.float64)
        limit = bound(wide_a, wide_b, np.ones((m, n)), dtype)
        assert (np.abs(c[:, :n] - (wide_a @ wide_b + mode)) <= limit).all(), (m, n, k, group, mode)


# ---- threads and memory


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_parallel_for(library: Library, threads: int):
    for tasks in [0, 1, 2, 37]:
        out, workers = np.zeros(40, np.int64), np.zeros(40, np.int64)
        status = library("squares", out, workers, tasks, ctypes.c_int(threads), -1, ctypes.c_int(0))
        assert status == 0
        assert (out == np.where(np.arange(40) < tasks, np.arange(40) ** 2, 0)).all()
        assert (workers < threads).all()
    assert library("squares", out, workers, 37, ctypes.c_int(threads), 5, ctypes.c_int(9)) == 9


def test_scratch(library: Library):
    assert library("scratch_promises") == 0


def test_the_last_level_cache_is_the_one_that_a_cpu_reaches(library: Library):
    sizes = list(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    found = library("last_level")
    if not sizes:
        assert found >= 2**17
        return
    # "512K": the largest that Linux lists; the C library may know the sum over a package instead.
    assert found == max(int(size.read_text().strip().removesuffix("K")) for size in sizes) * 1024


# ---- memory bounds and compile time


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_outside_an_array_is_touched(target: str, tmp_path_factory: pytest.TempPathFactory):
    program = build(target, "tile_bounds", shared_folder(tmp_path_factory))
    done = subprocess.run([*EMULATORS.get(target, ()), program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[:3000]


def test_a_kernel_compiles_quickly(tmp_path):
    require("native")
    source = tmp_path / "kernel.cpp"
    source.write_text("#include <bb/cpu.hpp>\nbb::vf f(bb::vf x) { return bb::exp(x); }\n")
    times = []
    for _ in range(2):
        start = children_seconds()
        command = ["g++", *FLAGS, *TARGETS["native"], "-c", str(source), "-o", str(tmp_path / "kernel.o")]
        subprocess.run(command, check=True)
        times.append(children_seconds() - start)
    assert min(times) < 2.0


def children_seconds() -> float:
    """Processor time of the child processes that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def test_every_native_source_is_packaged():
    assert {path.suffix for path in NATIVE.iterdir()} == {".cpp", ".hpp"}
    assert {path.name for path in DRIVERS.iterdir()} == {
        "tile_library.cpp",
        "tile_bounds.cpp",
        "ways_of_bf16.cpp",
    }
