"""The import graph of the package, folder by folder: `python -m bb.tools.docs.import_graph` prints it.

A *member* of a folder is a module or a folder directly inside it. An arrow from member A to member B says
that a module of A imports a module of B, wherever the import stands: at the top of a file, in a function, or
under TYPE_CHECKING. A member's *level* is one more than the highest level of the members that it imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dialects", "passes", "lowering", "runtime", "frontends", "tools")
"""The top folders, from the lowest layer to the highest."""

FACE = "__init__"
"""The member of a folder's own `__init__.py`."""

CANONICALIZATION = ("get_canonicalization_patterns", "canonicalize")
"""Method and module of the only import that may close a cycle. xDSL asks an operation for its patterns with
this method; the method imports the patterns when it is called, and the patterns import the operation.
"""


@dataclass(frozen=True)
class Import:
    """One imported module: dotted names without the leading `bb`, and the line in the importing file."""

    importer: str
    imported: str
    line: int
    names_patterns: bool = False
    """True if an operation names its canonicalisation patterns with it."""

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


@dataclass(frozen=True)
class ImportGraph:
    """The modules below a root folder, and the imports between them."""

    root: Path = ROOT

    @cached_property
    def modules(self) -> Mapping[str, Path]:
        """Files by dotted name; a folder's name stands for its `__init__.py`."""
        paths = (path for layer in LAYERS for path in sorted((self.root / layer).rglob("*.py")))
        return {self._name(path): path for path in paths}

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All relative imports between modules, in the order of files and lines."""
        return tuple(found for name, path in self.modules.items() for found in self._imports_of(name, path))

    def members(self, folder: str) -> tuple[str, ...]:
        """Names of the members of a folder, sorted, without the folder's own `__init__`."""
        found = {_member(name, folder) for name in self.modules}
        return tuple(sorted(name for name in found if name is not None and name != FACE))

    def folders(self) -> tuple[str, ...]:
        """Dotted names of all folders that hold modules."""
        return tuple(sorted({name for name, path in self.modules.items() if path.stem == FACE}))

    def arrows(self, folder: str) -> Mapping[tuple[str, str], list[Import]]:
        """The imports between two members of a folder, by the names of the members.

        The canonicalisation idiom counts as no import.
        """
        found: dict[tuple[str, str], list[Import]] = {}
        for each in self.imports:
            source, target = _member(each.importer, folder), _member(each.imported, folder)
            if source is None or target is None or source == target or each.names_patterns:
                continue
            found.setdefault((source, target), []).append(each)
        return found

    def cycles(self, folder: str) -> list[list[Import]]:
        """Members of a folder that import each other: for each such set one import for every arrow."""
        arrows = self.arrows(folder)
        below = _reachable(arrows)
        components = {
            frozenset(member for member in below[a] if a in below.get(member, ()))
            for a in below
            if a in below[a]
        }
        return [
            [found[0] for (a, b), found in arrows.items() if a in component and b in component]
            for component in sorted(components, key=sorted)
        ]

    def all_cycles(self) -> list[list[Import]]:
        """The cycles of all folders. Without any, no module imports itself through others."""
        return [cycle for folder in ("", *self.folders()) for cycle in self.cycles(folder)]

    def levels(self, folder: str) -> list[list[str]]:
        """The members of a folder by level, the lowest first. Raises ValueError if there is a cycle."""
        if self.cycles(folder):
            raise ValueError(f"imports between the members of '{folder}' form a cycle")
        targets: dict[str, set[str]] = {member: set() for member in (*self.members(folder), FACE)}
        for a, b in self.arrows(folder):
            targets[a].add(b)
        heights: dict[str, int] = {}

        def height(member: str) -> int:
            if member not in heights:
                heights[member] = 1 + max((height(each) for each in targets[member]), default=-1)
            return heights[member]

        members = self.members(folder)
        found: list[list[str]] = [
            [] for _ in range(1 + max((height(member) for member in members), default=0))
        ]
        for member in members:
            found[height(member)].append(member)
        return [level for level in found if level]

    def summary(self, member: str) -> str:
        """The first sentence of the docstring of a module or of a folder's `__init__`, by its dotted name."""
        doc = ast.get_docstring(ast.parse(self.modules[member].read_text())) or ""
        return " ".join(doc.partition("\n\n")[0].split())

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == FACE else parts)

    def _imports_of(self, name: str, path: Path) -> Iterator[Import]:
        package = name.split(".") if path.stem == FACE else name.split(".")[:-1]
        tree = ast.parse(path.read_text())
        method, module = CANONICALIZATION
        idiom = {
            node
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef) and function.name == method
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = package[: len(package) - node.level + 1]
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                imported = inner if inner in self.modules else source
                patterns = node in idiom and imported.rpartition(".")[2] == module
                yield Import(name, imported, node.lineno, patterns)


def _member(module: str, folder: str) -> str | None:
    """The member of a folder in which a module lies; None if it lies outside the folder."""
    if module == folder:
        return FACE
    if folder and not module.startswith(f"{folder}."):
        return None
    return module[len(folder) + 1 if folder else 0 :].partition(".")[0]


def _reachable(arrows: Mapping[tuple[str, str], object]) -> dict[str, frozenset[str]]:
    """For every member the members that it imports, directly or through others."""
    direct: dict[str, set[str]] = {}
    for a, b in arrows:
        direct.setdefault(a, set()).add(b)
    found: dict[str, frozenset[str]] = {}
    for member in direct:
        seen: set[str] = set()
        waiting = list(direct[member])
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting += direct.get(current, ())
        found[member] = frozenset(seen)
    return found


def report(graph: ImportGraph) -> str:
    """The members of each layer by level, and the cycles of all folders, as lines of text."""
    lines: list[str] = []
    for layer in LAYERS:
        members, arrows = graph.members(layer), graph.arrows(layer)
        inner = [pair for pair in arrows if FACE not in pair]
        lines.append(f"{layer}: {len(members)} members, {len(inner)} arrows")
        if not graph.cycles(layer):
            levels = enumerate(graph.levels(layer), start=1)
            lines += [f"  level {number}: {', '.join(level)}" for number, level in levels]
    cycles = graph.all_cycles()
    lines.append(f"cycles: {len(cycles)}")
    lines += ["  " + "; ".join(map(str, cycle)) for cycle in cycles]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(ImportGraph()))
