"""Compare the C++ and CUDA C++ that two versions of the compiler emit: for changes that must not change code.

    python test/emitted_sources.py write DIRECTORY     # before the change
    python test/emitted_sources.py compare DIRECTORY   # after it: lists each file that differs

Emits every program of examples/ and bench/programs/ at every element type, fused and unfused, for both
targets. A program that a target refuses is recorded with the error message instead. The script calls only
`bb-opt`, so that it runs on versions whose modules have other names.
"""

from __future__ import annotations

import argparse
import difflib
import io
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted([*(ROOT / "examples").glob("*.mlir"), *(ROOT / "bench" / "programs").glob("*.mlir")])
TYPES = {"cpp": ("f32", "f64", "f16", "bf16"), "cuda": ("f32", "tf32", "f64", "f16", "bf16")}


def cases() -> Iterator[tuple[Path, str, str, str]]:
    """Program, output language, element type, and name of the pipeline."""
    for program in PROGRAMS:
        for language, types in TYPES.items():
            for type in types:
                yield program, language, type, {"cpp": "cpu", "cuda": "cuda"}[language]
        yield program, "cpp", "f32", "cpu-unfused"


def emit(case: tuple[Path, str, str, str]) -> tuple[str, str]:
    """File name and text for one case: the emitted source, or what bb-opt printed as an error."""
    from bb.lowering.pipelines import named_pipeline
    from bb.tools.bb_opt import main

    program, language, type, pipeline = case
    passes = named_pipeline(pipeline)
    if type == "tf32":
        passes = passes.replace("block-to-kernel{", "block-to-kernel{multiply=tf32 ")
    text = program.read_text().replace("f32", type.removeprefix("t"))
    with tempfile.TemporaryDirectory() as folder:
        given, output = Path(folder, program.name), Path(folder, "output")
        given.write_text(text)
        errors = io.StringIO()
        with redirect_stderr(errors):
            status = main([str(given), "-p", passes, "-t", language, "-o", str(output)])
        found = output.read_text() if status == 0 else f"error: {errors.getvalue()}"
    name = f"{program.stem}.{type}.{pipeline}.{'cu' if language == 'cuda' else 'cpp'}"
    return name, found.replace(folder, "")


def compare(name: str, before: str, after: str) -> None:
    """Print where two emitted sources differ first."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=1)
    print(f"{name}: differs")
    for _, line in zip(range(12), lines, strict=False):
        print(f"    {line}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", default="", help="compare programs whose names contain this text")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases() if options.only in case[0].stem]
    different = 0
    with ProcessPoolExecutor(2) as pool:
        for name, text in pool.map(emit, chosen):
            path = options.directory / name
            if options.action == "write":
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                different += 1
                compare(name, path.read_text() if path.exists() else "", text)
    print(
        f"{len(chosen)} sources, {different} differ"
        if options.action == "compare"
        else f"{len(chosen)} sources"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
