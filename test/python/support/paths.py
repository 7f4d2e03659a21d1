"""Folders of the repository. Tests import them from here, so that a test can move without an edit."""

from pathlib import Path

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").exists())
"""The repository, which is the import package ``bb``."""

HELPERS = Path(__file__).resolve().parent
"""The folder of the modules that tests share; pytest's ``pythonpath`` names it."""

TESTS = ROOT / "test"
FILECHECK = TESTS / "filecheck"
PROGRAMS = TESTS / "python" / "programs"
"""Programs for tests of fusion, beyond those of examples/."""

GOLDEN = TESTS / "python" / "golden"
"""Expected outputs, a file each."""
