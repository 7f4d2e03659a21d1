"""Generated kernels are C++ for narrower vectors, too: nothing in them depends on where they were written."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from bb.dialects import kernel
from bb.dialects.parsing import parse_module
from bb.lowering.emit.cpp import emit_cpp
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.compilation.host_compiler import find_compiler
from bb.runtime.compilation.shared_objects import include_directory
from example_programs import EXAMPLES, load

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def source() -> str:
    """The kernels of all examples in one source."""
    kernels: list[kernel.FuncOp] = []
    for name in EXAMPLES:
        module = parse_module(load(name)[0], name)
        PassPipeline(PIPELINES["cpu"]).run(module)
        kernels += [op for op in module.walk() if isinstance(op, kernel.FuncOp)]
    return emit_cpp(kernels)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are x86 instruction sets")
@pytest.mark.parametrize("machine", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_kernels_compile_for_every_vector_width(source: str, machine: str, tmp_path: Path):
    file = tmp_path / "kernels.cpp"
    file.write_text(source)
    compiler = find_compiler()
    flags = ["-std=c++20", f"-march={machine}", "-Wno-psabi", "-Werror=return-type", "-fsyntax-only"]
    command = [*compiler.command, *flags, f"-I{include_directory()}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_kernels_compile_for_neon(source: str, tmp_path: Path):
    compiler = shutil.which("aarch64-linux-gnu-g++")
    if compiler is None:
        pytest.skip("there is no compiler for aarch64")
    file = tmp_path / "kernels.cpp"
    file.write_text(source)
    flags = ["-std=c++20", "-Wno-psabi", "-Werror=return-type", "-fsyntax-only"]
    command = [compiler, *flags, f"-I{include_directory()}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
