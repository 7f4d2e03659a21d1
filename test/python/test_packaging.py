"""The wheel: complete, installable and usable from any directory."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["dialects", "passes", "lowering", "runtime", "tools"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def source_files() -> list[Path]:
    """Every file that the installed package must hold, relative to the repository."""
    found = [ROOT / "__init__.py", ROOT / "py.typed"]
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            made = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts)
            if path.is_file() and not made:
                found.append(path)
    return sorted(path.relative_to(ROOT) for path in found)


def test_packages_are_the_folders_of_the_tree():
    folders = {path.parent for path in source_files() if path.suffix == ".py"}
    packages = {".".join(("bb", *folder.parts)) for folder in folders}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages


def test_every_folder_with_sources_is_a_package():
    folders = {path.parent for path in source_files() if path.suffix == ".py"}
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder / "__init__.py").exists()] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # From a copy: setuptools leaves build/ and *.egg-info beside pyproject.toml.
    copy = tmp_path_factory.mktemp("source")
    for path in [*source_files(), Path("pyproject.toml"), Path("README.md"), Path("LICENSE")]:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes((ROOT / path).read_bytes())
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder, copy)
    (built,) = folder.glob("*.whl")
    return built


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wheel_holds_every_file_of_the_package(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = {f"bb/{path.as_posix()}" for path in source_files()}
    assert expected <= names
    extra = {name for name in names - expected if ".dist-info/" not in name}
    assert not extra
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_installed_wheel_works_from_another_directory(wheel: Path, tmp_path: Path):
    site = tmp_path / "site"
    pip("install", "--no-deps", "--no-index", "--no-compile", "--target", site, wheel)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f.mlir").write_text("func.func @f() {\n  func.return\n}\n")
    code = (
        "import sys, bb; from bb.tools.bb_opt import main; "
        "print(bb.__file__); sys.exit(main(['f.mlir', '-p', 'cse']))"
    )
    # -P and an empty path entry less: neither the repository nor an editable install may answer.
    environment = dict(os.environ, PYTHONPATH=str(site))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, _, rest = done.stdout.partition("\n")
    assert Path(first) == site / "bb" / "__init__.py"
    assert "func.func @f()" in rest


def test_scripts_name_functions_that_exist():
    for name, target in PROJECT["project"]["scripts"].items():
        module, _, function = target.partition(":")
        path = ROOT / Path(*module.split(".")[1:]).with_suffix(".py")
        assert path.exists(), name
        assert f"def {function}(" in path.read_text(), name
