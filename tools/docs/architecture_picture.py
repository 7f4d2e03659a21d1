"""The picture of the architecture page: folders on their levels, drawn from the import graph as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as xml

from .import_graph import FACE, LAYERS, ImportGraph

WIDTH = 1000
TITLE_WIDTH = 190
BOX_WIDTH, BOX_HEIGHT = 124, 26
GAP_X, GAP_Y = 12, 20
BOXES_A_ROW = 5
MARGIN = 14
COLOURS = {
    "tools": "#f3e8d8",
    "frontends": "#e2f2f0",
    "runtime": "#e4edf7",
    "lowering": "#e6f2e6",
    "passes": "#f5e6ef",
    "dialects": "#ebe8f6",
}
INK, ARROW, FRAME = "#222222", "#9a9a9a", "#b8b8b8"


@dataclass(frozen=True)
class Box:
    """A member in the picture: position of its upper left corner in pixels, inside its layer."""

    name: str
    x: float
    y: float


def rows_of(levels: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows of boxes from top to bottom: the highest level first, long levels in several rows."""
    return [
        list(level[start : start + BOXES_A_ROW])
        for level in reversed(levels)
        for start in range(0, len(level), BOXES_A_ROW)
    ]


def boxes_of(rows: Sequence[Sequence[str]], arrows: Sequence[tuple[str, str]]) -> dict[str, Box]:
    """The boxes of a layer, each row centred and in the order of the boxes above that import its members."""
    space = WIDTH - TITLE_WIDTH - 2 * MARGIN
    found: dict[str, Box] = {}
    for number, row in enumerate(rows):

        def place(name: str) -> tuple[float, str]:
            above = [
                found[importer].x for importer, imported in arrows if imported == name and importer in found
            ]
            return (sum(above) / len(above) if above else space, name)

        length = len(row) * BOX_WIDTH + (len(row) - 1) * GAP_X
        left = TITLE_WIDTH + MARGIN + (space - length) / 2
        y = MARGIN + number * (BOX_HEIGHT + GAP_Y)
        order = sorted(row, key=place)
        found.update(
            (name, Box(name, left + column * (BOX_WIDTH + GAP_X), y)) for column, name in enumerate(order)
        )
    return found


def direct_arrows(arrows: Mapping[tuple[str, str], object]) -> list[tuple[str, str]]:
    """The arrows between members that no longer path implies, so that the picture shows the fewest lines."""
    below: dict[str, set[str]] = {}
    for a, b in arrows:
        if FACE not in (a, b):
            below.setdefault(a, set()).add(b)

    def reaches(start: str, goal: str) -> bool:
        return any(each == goal or reaches(each, goal) for each in below.get(start, ()))

    return sorted(
        (a, b)
        for a, targets in below.items()
        for b in targets
        if not any(reaches(other, b) for other in targets if other != b)
    )


def wrapped(text: str, columns: int) -> Iterator[str]:
    """Lines of at most so many characters."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > columns:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def picture(graph: ImportGraph) -> str:
    """The SVG text. Raises ValueError if members of a layer import each other in a cycle."""
    root = xml.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif"})
    top = float(MARGIN)
    for layer in reversed(LAYERS):
        top += _draw_layer(root, graph, layer, top) + MARGIN
    size = {"width": str(WIDTH), "height": _number(top), "viewBox": f"0 0 {WIDTH} {_number(top)}"}
    root.attrib.update(size)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode") + "\n"


def _draw_layer(root: xml.Element, graph: ImportGraph, layer: str, top: float) -> float:
    """Draw one layer and return its height."""
    rows, arrows = rows_of(graph.levels(layer)), direct_arrows(graph.arrows(layer))
    boxes = boxes_of(rows, arrows)
    height = 2 * MARGIN + len(rows) * (BOX_HEIGHT + GAP_Y) - GAP_Y
    summary = list(wrapped(graph.summary(layer), 26))
    height = max(height, 2 * MARGIN + 22 + 15 * len(summary))
    group = xml.SubElement(root, "g", {"transform": f"translate(0 {_number(top)})"})
    frame = {"x": str(MARGIN), "width": str(WIDTH - 2 * MARGIN), "height": _number(height), "rx": "6"}
    xml.SubElement(group, "rect", {**frame, "fill": COLOURS[layer], "stroke": FRAME})
    _text(group, MARGIN + 12, MARGIN + 16, f"{layer}/", size=17, bold=True)
    for number, line in enumerate(summary):
        _text(group, MARGIN + 12, MARGIN + 38 + 15 * number, line, size=12)
    for a, b in arrows:
        one, other = boxes[a], boxes[b]
        ends = {
            "x1": _number(one.x + BOX_WIDTH / 2),
            "y1": _number(one.y + BOX_HEIGHT),
            "x2": _number(other.x + BOX_WIDTH / 2),
            "y2": _number(other.y),
        }
        xml.SubElement(group, "line", {**ends, "stroke": ARROW})
    for box in boxes.values():
        place = {"x": _number(box.x), "y": _number(box.y), "width": str(BOX_WIDTH), "height": str(BOX_HEIGHT)}
        rect = xml.SubElement(group, "rect", {**place, "rx": "3", "fill": "white", "stroke": INK})
        xml.SubElement(rect, "title").text = graph.summary(f"{layer}.{box.name}")
        folder = "/" if graph.members(f"{layer}.{box.name}") else ""
        _text(group, box.x + BOX_WIDTH / 2, box.y + 17, box.name + folder, size=12, centred=True)
    return height


def _text(
    parent: xml.Element,
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    bold: bool = False,
    centred: bool = False,
) -> None:
    attributes = {"x": _number(x), "y": _number(y), "font-size": str(size), "fill": INK}
    if bold:
        attributes["font-weight"] = "bold"
    if centred:
        attributes["text-anchor"] = "middle"
    xml.SubElement(parent, "text", attributes).text = text


def _number(value: float) -> str:
    return f"{value:g}"
