"""Write docs/targets/performance.md from the two runs in bench/results.

Run as `python bench/performance_page.py`; `make docs` does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bb.tools.shared.files import ToolError, write_text
from comparison.page import text
from comparison.records import RecordError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "targets" / "performance.md"


def main() -> int:
    """Write the page where it has changed; returns the exit status."""
    try:
        made = text()
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != made:
            write_text(str(PAGE), made)
            print("wrote docs/targets/performance.md")
    except (RecordError, ToolError) as error:
        print(f"performance_page: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
