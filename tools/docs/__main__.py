"""`python -m bb.tools.docs`: write the pages of the documentation that are made from the code."""

from __future__ import annotations

import sys

from ..shared.common import print_error
from .pages import ROOT, write_pages


def main() -> int:
    """Write the pages; returns the exit status."""
    if not (ROOT / "examples").is_dir() or not (ROOT / "docs").is_dir():
        print_error("docs: error: there are no folders docs and examples: run 'make docs' in the repository")
        return 1
    for name in write_pages():
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
