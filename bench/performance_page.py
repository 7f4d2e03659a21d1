"""Write docs/performance.md from the two runs in bench/results: `python bench/performance_page.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from bb.tools.files import ToolError, write_text
from comparison.page import text
from comparison.records import RecordError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"


def main() -> int:
    """Write the page where it has changed; returns the exit status."""
    try:
        made = text()
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != made:
            write_text(str(PAGE), made)
            print("wrote docs/performance.md")
    except (RecordError, ToolError) as error:
        print(f"performance_page: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
