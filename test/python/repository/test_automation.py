"""Scripts and settings of git, of hosted continuous integration and of make."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from bb.passes.rules import ALL_RULES
from paths import ROOT, TESTS

MAKEFILE = (ROOT / "Makefile").read_text()


def load(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script as a module."""
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hooks() -> dict[str, dict[str, Any]]:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    return {hook["id"]: hook for hook in repository["hooks"]}


# ---- commit subjects


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("array: verify the axes of reduce", None),
        ("emit_cuda: bound reads of private lists by the current block", None),
        ("passes/rules, docs: alias the twins\n\nA body of any length.", None),
        ("cuda: focus", None),
        ("x: " + "a" * 69, None),
        ("# a comment\n\ntest: add a hook\n# another", None),
        ("Merge branch 'a'", None),
        ('Revert "array: verify"', None),
        ("fixup! array: verify", None),
        ("", "expected 'area: imperative'"),
        ("Nothing spills", "expected 'area: imperative'"),
        ("array:verify", "expected 'area: imperative'"),
        ("two words: verify", "expected 'area: imperative'"),
        ("x: " + "a" * 70, "73 characters, at most 72"),
        ("array: verify.", "full stop"),
        ("array: verifies the axes", "'verifies' is no imperative"),
        ("array: verified the axes", "'verified' is no imperative"),
        ("array: verifying the axes", "'verifying' is no imperative"),
        ("array: the axes are verified", "'the' is no imperative"),
        ("array: Verify the axes", "'Verify' is no imperative"),
    ],
)
def test_subject_of_a_commit(message: str, problem: str | None, monkeypatch: pytest.MonkeyPatch):
    found = load(ROOT / ".ci" / "commit_subject.py", monkeypatch).problem(message)
    assert (found is None) if problem is None else (found is not None and problem in found)


@pytest.mark.parametrize(("subject", "status"), [("array: verify", 0), ("array", 1)])
def test_hook_for_commit_messages(subject: str, status: int, tmp_path: Path):
    message = tmp_path / "message"
    message.write_text(subject)
    command = [sys.executable, *hooks()["commit-subject"]["entry"].split()[1:], str(message)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert bool(done.stderr) == bool(status)


# ---- settings


def test_hooks_run_the_linters_of_make_lint():
    linters = re.findall(r"^\t\$\(BIN\)/(ruff .*) \.$", MAKEFILE, re.MULTILINE)
    assert len(linters) == 2
    entries = [hook["entry"] for hook in hooks().values()]
    assert [f".venv/bin/{linter} --force-exclude" for linter in linters] == entries[:2]


def test_hosted_workflow_calls_make_test():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert {"push", "pull_request"} <= set(workflow[True])  # YAML 1.1 reads the key `on` as true
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == "make test"
    (python,) = [step for step in job["steps"] if "setup-python" in step.get("uses", "")]
    assert python["with"]["python-version"] == "3.11"
    assert (ROOT / python["with"]["cache-dependency-path"]).exists()


# ---- make


def test_help_lists_every_target():
    (declared,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    explained = re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE)
    assert sorted(declared.split()) == sorted(explained)


@pytest.mark.parametrize("rule", ALL_RULES)
def test_tests_of_a_rule_include_its_filecheck_test(rule: str, monkeypatch: pytest.MonkeyPatch):
    script = load(TESTS / "run_rule.py", monkeypatch)
    assert f"test/filecheck/rules/{rule}.mlir" in script.filecheck_tests(rule)
    assert f"{rule} or {rule.replace('-', '_')} or " in script.python_tests(rule)


@pytest.mark.parametrize(("rule", "named"), [("no-such-rule", "no rule 'no-such-rule'"), ("", "RULE names")])
def test_an_unknown_rule_is_refused_with_the_known_ones(
    rule: str, named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert load(TESTS / "run_rule.py", monkeypatch).main(rule) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert named in sentence
    assert sentence.endswith(", ".join(sorted(ALL_RULES)))


def test_every_check_runs_also_after_one_has_failed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    checks = load(TESTS / "checks.py", monkeypatch)
    failing = checks.Check("first", (sys.executable, "-c", "import sys; print('said'); sys.exit(3)"))
    passing = checks.Check("second", (sys.executable, "-c", "print('3 passed, 1 skipped in 0.1s')"))
    for stages in ([[failing], [passing]], [[failing, passing]]):
        assert checks.run_stages(*stages) == 1
        output = capfd.readouterr().out
        assert "==== first\nsaid\n==== second\n" in output
        assert re.search(r"^FAILED  first .* s$", output, re.MULTILINE)
        assert re.search(r"^ok      second .* 3 passed, 1 skipped in 0.1s$", output, re.MULTILINE)
    assert checks.run_stages([passing]) == 0
    assert checks.run_stages([checks.Check("lit", passing.command)]) == 1, "lit without a test is a failure"
