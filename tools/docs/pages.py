"""The pages that are made from the code, and what makes the text of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import (
    architecture_picture,
    flash_attention_page,
    fusion_results_page,
    numerics_page,
    onnx_page,
    rules_page,
)
from .import_graph import ImportGraph

ROOT = Path(__file__).resolve().parents[2]

PAGES: dict[str, Callable[[], str]] = {
    "docs/internals/architecture.svg": lambda: architecture_picture.picture(ImportGraph()),
    "docs/reference/rules.md": rules_page.text,
    "docs/reference/onnx-operators.md": onnx_page.text,
    "docs/concepts/flash-attention.md": flash_attention_page.text,
    "docs/concepts/fusion-results.md": fusion_results_page.text,
}
"""The pages, relative to the repository's root, and what makes their text."""

MEASURED_PAGES: dict[str, tuple[Callable[[], str], Callable[[str, str], bool]]] = {
    "docs/concepts/numerics.md": (numerics_page.text, numerics_page.is_same),
}
"""Pages with measured numbers, and what says of two texts whether they differ in more than noise."""


def write_pages() -> list[str]:
    """Write every page whose text has changed; gives their names. Raises OSError."""
    changed: list[str] = []
    pages = {name: (make, str.__eq__) for name, make in PAGES.items()} | MEASURED_PAGES
    for name, (make, is_same) in pages.items():
        path, text = ROOT / name, make()
        if not path.exists() or not is_same(path.read_text(encoding="utf-8"), text):
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return changed
