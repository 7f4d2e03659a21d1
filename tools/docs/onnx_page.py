"""docs/reference/onnx-operators.md: the operators that the ONNX importer knows, from its tables."""

from __future__ import annotations

from .markdown import item, page, paragraph, table

INTRODUCTION = """
[Models from ONNX](onnx.md) says how models are read. These are the operators of ONNX's own domain, and those
of ONNX Runtime (`com.microsoft`), that the importer turns into operations of the array dialect. An operator
that is not listed goes by the definition that ONNX's standard gives it, if there is one, such as
`GroupNormalization` or `RotaryEmbedding`. Attributes and inputs of which the importer knows nothing are
errors; they are never ignored.
"""

KNOWN = """
If all inputs of one of the operators below are known when the model is imported, the importer computes its
result. Shapes are known, also where they have named extents, and so are initialisers. `Constant`, `Identity`,
`Shape`, `Size` and the branches of `If` with a known condition need no operation, either.
"""


def text() -> str:
    """The text of the page."""
    from ...frontends.onnx.folding import FOLDED
    from ...frontends.onnx.operators.table import FAMILIES, TABLE

    rows: list[tuple[str, str]] = []
    for family in FAMILIES:
        names = [
            f"`{domain}.{name}`" if domain else f"`{name}`"
            for (domain, name), convert in sorted(TABLE.items())
            if convert.__module__ == family.__name__
        ]
        subject = (family.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        rows.append((subject, ", ".join(names)))
    return page(
        "# Operators of ONNX",
        paragraph(INTRODUCTION),
        table(("family", "operators"), rows),
        paragraph(KNOWN),
        item(", ".join(f"`{name}`" for name in sorted(FOLDED))),
    )
