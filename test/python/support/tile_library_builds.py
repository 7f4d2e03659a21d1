"""Builds of the tile library and its drivers, shared by the processes of a test run."""

import ctypes
import fcntl
import functools
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from paths import ROOT

NATIVE = ROOT / "runtime" / "cpu" / "native"
DRIVERS = ROOT / "test" / "native"
FLAGS = [
    "-std=c++20",
    "-fopenmp",
    "-fno-math-errno",
    "-ffp-contract=fast",
    "-fno-trapping-math",
    "-fPIC",
    f"-I{ROOT / 'runtime' / 'include'}",
]
# gcc 12 takes the undefined operands of its own AVX-512 intrinsics for uninitialised variables.
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized", "-Wno-uninitialized"]
TARGETS = {
    "native": ["-O3", "-march=native", "-mprefer-vector-width=512"],
    "avx2": ["-O2", "-mavx2", "-mfma", "-mf16c"],
    "baseline": ["-O2"],
    "clang": ["-O3", "-march=native"],
    "neon": ["-O2", "-static"],
    "sanitized": ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}

COMPILERS = {"clang": "clang++", "neon": "aarch64-linux-gnu-g++"}
"""Of targets that g++ does not compile."""
EMULATORS = {"neon": ("qemu-aarch64",)}


@functools.cache
def processor_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    lines = [line for line in text.splitlines() if line.startswith("flags")]
    return frozenset(lines[0].split()) if lines else frozenset()


def require(target: str) -> None:
    """Skip where the compiler or the processor lacks what the target needs."""
    for tool in (COMPILERS.get(target, "g++"), *EMULATORS.get(target, ())[:1]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if target == "avx2" and not {"avx2", "fma", "f16c"} <= processor_flags():
        pytest.skip("this processor has no AVX2")


def compile_source(source: Path, output: Path, flags: list[str], target: str = "native") -> None:
    compiler, warnings = COMPILERS.get(target, "g++"), [] if target == "clang" else WARNINGS
    command = [compiler, *FLAGS, *warnings, *flags, "-c", str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


def build(target: str, driver: str, folder: Path) -> Path:
    """A driver with the library for one target: of tile_bounds a program, else a shared library."""
    require(target)
    folder = folder / f"tile-library-{target}"
    folder.mkdir(exist_ok=True)
    product = folder / (driver if driver == "tile_bounds" else f"{driver}.so")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if product.exists():
            return product
        flags = TARGETS[target]
        sources = [DRIVERS / f"{driver}.cpp", *sorted(NATIVE.glob("*.cpp"))]
        objects = {source: folder / f"{source.stem}.o" for source in sources}
        missing = [source for source, output in objects.items() if not output.exists()]
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda source: compile_source(source, objects[source], flags, target), missing))
        kind = ["-shared"] if product.suffix == ".so" else []
        partial = product.with_suffix(".partial")
        link = [
            COMPILERS.get(target, "g++"),
            *FLAGS,
            *flags,
            *kind,
            *map(str, objects.values()),
            "-o",
            str(partial),
        ]
        subprocess.run(link, check=True)
        os.replace(partial, product)
    return product


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this test run see."""
    base = factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


class Library:
    """A driver's functions; arrays are passed as pointers to their first element, integers as extents."""

    def __init__(self, path: Path):
        self._library = ctypes.CDLL(str(path))
        self.lanes = {"f32": self._library.lanes_f32(), "f64": self._library.lanes_f64()}

    def __call__(self, name: str, *arguments: object) -> int:
        return getattr(self._library, name)(*map(_argument, arguments))


def _argument(value: object) -> object:
    if isinstance(value, float):
        return ctypes.c_float(value)
    if isinstance(value, bool) or value is None:
        raise TypeError("neither is an argument of the drivers")
    if hasattr(value, "__array_interface__"):
        return ctypes.c_void_p(value.__array_interface__["data"][0])
    if isinstance(value, ctypes._SimpleCData):
        return value
    return ctypes.c_ssize_t(int(value))  # type: ignore[call-overload]
