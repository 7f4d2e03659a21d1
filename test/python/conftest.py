"""Settings for every Python test."""

import os
import resource
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run of the suite; 'make fuzz' looks for new ones.
settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fuzz", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

_CACHE = pytest.StashKey[str]()
_SECONDS = pytest.StashKey[Counter[str]]()

LONG_MODULE = 4.0
"""Seconds of processor time from which on the tests of a module are to be marked `long`."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SECONDS] = Counter()
    # Compiled code is shared by the tests, and apart from the user's; workers inherit the variable.
    if not hasattr(config, "workerinput"):
        config.stash[_CACHE] = os.environ["BB_CACHE_DIR"] = tempfile.mkdtemp(prefix="blockbuster-tests-")
        os.environ.pop("BB_CACHE_SIZE", None)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE in config.stash:
        shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


def _processor_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    start = _processor_seconds()
    result = yield
    item.config.stash[_SECONDS][item.nodeid.partition("::")[0]] += _processor_seconds() - start
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the modules that 'make test-fast' runs although they are long."""
    if "not long" not in config.option.markexpr:
        return
    for module, seconds in config.stash[_SECONDS].most_common():
        if seconds > LONG_MODULE:
            terminalreporter.write_line(
                f"{module} takes {seconds:.1f} s of processor time, more than {LONG_MODULE:g} s: mark it long"
            )


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of compiled code for one test; nothing is remembered of compilers."""
    from bb.runtime.compilation.directory import forget_warnings
    from bb.runtime.compilation.host_compiler import forget_compilers

    path = tmp_path / "cache"
    monkeypatch.setenv("BB_CACHE_DIR", str(path))
    forget_compilers()
    forget_warnings()
    return path


@pytest.fixture
def compiler(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a compiler that counts its calls, which CXX names; the cache is empty."""
    from bb.runtime.compilation.host_compiler import find_compiler
    from fake_compilers import fake_compiler

    folder = tmp_path / "compiler"
    monkeypatch.setenv("CXX", str(fake_compiler(folder)))
    find_compiler()
    return folder
