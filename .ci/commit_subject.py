"""Check the subject of a commit message, as git's hook commit-msg: ``python3 .ci/commit_subject.py FILE``.

A subject is ``area: imperative`` in at most 72 characters: ``array: verify the axes of reduce``. What
git writes itself (merges, reverts, fixups) passes. Needs the standard library only.
"""

import re
import sys
from pathlib import Path

LONGEST = 72
EXAMPLE = "array: verify the axes of reduce"

_AREA = r"[A-Za-z][\w./-]*"
_SUBJECT = re.compile(rf"{_AREA}(?:, {_AREA})*: (?P<verb>\S+)(?: .*)?", re.ASCII)
_WRITTEN_BY_GIT = re.compile(r'Merge |Revert "|Reapply "|(?:fixup|squash|amend)! ')

# Endings tell most verbs that are no imperatives; these words end so and are.
_IMPERATIVES = frozenset(
    [
        "alias",
        "bias",
        "bring",
        "discuss",
        "embed",
        "exceed",
        "feed",
        "focus",
        "need",
        "proceed",
        "seed",
        "shed",
        "shred",
        "speed",
        "spring",
        "string",
    ]
)
_NO_VERBS = frozenset(
    [
        "a",
        "all",
        "an",
        "another",
        "each",
        "every",
        "it",
        "its",
        "more",
        "most",
        "new",
        "no",
        "one",
        "only",
        "some",
        "that",
        "the",
        "there",
        "these",
        "this",
        "those",
        "what",
        "when",
        "where",
        "which",
        "while",
    ]
)


def problem(message: str) -> str | None:
    """One sentence about the subject of a commit message; None if it is as it should be."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = next((line.rstrip() for line in lines if line.strip()), "")
    if _WRITTEN_BY_GIT.match(subject):
        return None
    found = _SUBJECT.fullmatch(subject)
    if found is None:
        return f"expected 'area: imperative', such as '{EXAMPLE}', got '{subject}'"
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters, at most {LONGEST} are allowed"
    if subject.endswith("."):
        return "the subject ends with a full stop"
    if not _is_imperative(found["verb"]):
        return f"'{found['verb']}' is no imperative, such as 'verify' in '{EXAMPLE}'"
    return None


def _is_imperative(word: str) -> bool:
    """True if a word may be a verb in the imperative: lower case, and with none of the other endings."""
    if word in _IMPERATIVES:
        return True
    if re.fullmatch(r"[a-z][a-z-]*", word) is None or word in _NO_VERBS:
        return False
    return not re.search(r"(?:[^s]s|ed|ing)$", word)


def main(path: str) -> int:
    """Exit status of the hook for the file that holds the message."""
    found = problem(Path(path).read_text(encoding="utf-8"))
    if found is not None:
        print(f"commit message: {found}", file=sys.stderr)
    return int(found is not None)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
