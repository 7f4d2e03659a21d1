"""Run all tests that concern one rewrite rule: ``make test-rule RULE=swap-scale-dot``."""

import re
import sys

from bb.passes.rules import ALL_RULES
from checks import ROOT, Check, run_stages


def filecheck_tests(rule: str) -> list[str]:
    """Paths of the filecheck tests that name the rule, relative to the repository."""
    named = re.compile(rf"(?<![\w-]){re.escape(rule)}(?![\w-])")
    folder = ROOT / "test" / "filecheck"
    # What lit writes lies in lit-out.
    tests = (path for path in sorted(folder.rglob("*.mlir")) if "lit-out" not in path.parts)
    return [str(path.relative_to(ROOT)) for path in tests if named.search(path.read_text())]


def python_tests(rule: str) -> str:
    """An expression for pytest's ``-k``: tests with the rule in their name, and those of its docs."""
    return " or ".join([rule, rule.replace("-", "_"), "rules.md", "rules_page"])


def main(rule: str) -> int:
    if rule not in ALL_RULES:
        problem = f"there is no rule '{rule}'" if rule else "RULE names the rule to test, as in RULE=cse"
        print(f"make test-rule: {problem}; the rules are {', '.join(sorted(ALL_RULES))}", file=sys.stderr)
        return 2
    return run_stages([Check.lit(*filecheck_tests(rule))], [Check.pytest("-k", python_tests(rule))])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
