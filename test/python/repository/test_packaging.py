"""The wheel and the source archive: complete, installable and usable from any directory."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from paths import ROOT

FOLDERS = ["dialects", "passes", "lowering", "runtime", "frontends", "tools"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NEW_FILES = [
    Path("passes/new_folder/__init__.py"),
    Path("passes/new_folder/inside/__init__.py"),
    Path("passes/new_folder/inside/table.json"),
    Path("runtime/new_folder/__init__.py"),
    *(Path(f"runtime/new_folder/no_package/native{suffix}") for suffix in (".cpp", ".hpp", ".cuh", ".h")),
]
"""Files of folders that pyproject.toml has never seen."""

NOT_PACKAGED = [Path(folder, "python", "stray.py") for folder in ("test", "docs", "bench", "examples")]


def source_files() -> list[Path]:
    """Every file that the installed package must hold, relative to the repository."""
    found = [ROOT / "__init__.py", ROOT / "py.typed"]
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            made = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts)
            if path.is_file() and not made:
                found.append(path)
    return sorted(path.relative_to(ROOT) for path in found)


def test_every_folder_with_sources_is_a_package():
    folders = {path.parent for path in source_files() if path.suffix == ".py"}
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder / "__init__.py").exists()] == []


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, with new folders; setuptools leaves build/ and *.egg-info in it."""
    copy = tmp_path_factory.mktemp("source")
    for path in [*source_files(), Path("pyproject.toml"), Path("README.md"), Path("LICENSE")]:
        write(copy / path, (ROOT / path).read_bytes())
    for path in [*NEW_FILES, *NOT_PACKAGED]:
        write(copy / path, b"")
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def source_archive(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", source, tmp_path_factory.mktemp("sdist"))


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build a ``wheel``, an ``sdist`` or an ``editable`` wheel of the sources in a folder.

    Calls the build backend as pip and build do. A warning of setuptools about the configuration is an error.
    """
    code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    run([sys.executable, "-W", "error", "-W", "ignore:Editable installation", "-c", code, folder], source)
    (built,) = folder.iterdir()
    return built


def run(command: list[object], folder: Path, **environment: str) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=dict(os.environ, **environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def in_wheel(paths: Iterable[Path]) -> set[str]:
    return {f"bb/{path.as_posix()}" for path in paths}


def test_wheel_holds_the_files_of_the_package_and_no_others(wheel: Path):
    names = contents(wheel).keys()
    assert {name for name in names if ".dist-info/" not in name} == in_wheel([*source_files(), *NEW_FILES])
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_wheel_built_from_the_source_archive_is_the_same(wheel: Path, source_archive: Path, tmp_path: Path):
    with tarfile.open(source_archive) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert not [folder for folder in ("test", "docs", "bench", "examples") if (unpacked / folder).exists()]
    (tmp_path / "wheel").mkdir()
    again = build("wheel", unpacked, tmp_path / "wheel")
    assert again.name == wheel.name
    assert contents(again) == contents(wheel)


def test_editable_install_sees_a_folder_made_later(source: Path, tmp_path: Path):
    site, copy = tmp_path / "site", tmp_path / "copy"
    site.mkdir()
    shutil.copytree(source, copy)
    with zipfile.ZipFile(build("editable", copy, site)) as archive:
        archive.extractall(site)
    write(copy / "passes" / "made_later" / "__init__.py", b"answer = 42\n")
    code = (
        f"import site; site.addsitedir({str(site)!r}); "
        "import bb.passes.made_later as made; print(made.answer, made.__file__)"
    )
    expected = f"42 {copy / 'passes' / 'made_later' / '__init__.py'}\n"
    # -S: the editable install of the repository itself does not answer.
    assert run([sys.executable, "-S", "-c", code], tmp_path) == expected


def test_installed_wheel_works_from_another_directory(wheel: Path, tmp_path: Path):
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
    run([*pip, "--no-deps", "--no-index", "--no-compile", "--target", site, wheel], tmp_path)
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "f.mlir", b"func.func @f() {\n  func.return\n}\n")
    code = (
        "import sys, bb; from bb.tools.bb_opt import main; "
        "print(bb.__file__); sys.exit(main(['f.mlir', '-p', 'cse']))"
    )
    # -P and an empty path entry less: neither the repository nor an editable install may answer.
    printed = run([sys.executable, "-P", "-c", code], elsewhere, PYTHONPATH=str(site))
    first, _, rest = printed.partition("\n")
    assert Path(first) == site / "bb" / "__init__.py"
    assert "func.func @f()" in rest


def test_scripts_name_functions_that_exist():
    for name, target in PROJECT["project"]["scripts"].items():
        module, _, function = target.partition(":")
        path = ROOT / Path(*module.split(".")[1:]).with_suffix(".py")
        assert path.exists(), name
        assert f"def {function}(" in path.read_text(), name
