"""Imports run one way, tools -> runtime -> lowering -> passes -> dialects, and never in a circle."""

import ast
from pathlib import Path

import pytest
from paths import ROOT

LAYERS = ["dialects", "passes", "lowering", "runtime", "tools"]
SOURCES = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("bb", *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {module_name(path): path for path in [ROOT / "__init__.py", *SOURCES]}


def imports(path: Path, *, nested: bool) -> list[tuple[int, str]]:
    """Line and module for every import of our own modules; ``nested``: those inside functions, too."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found: list[tuple[int, str]] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            found.extend((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                found.append((node.lineno, inner if inner in MODULES else module))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING") and not nested:
            return
        if nested or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for child in ast.iter_child_nodes(node):
                visit(child)

    visit(ast.parse(path.read_text()))
    return [(line, name) for line, name in found if name == "bb" or name.startswith("bb.")]


def layer_of(module: str) -> int:
    """The layer's index; the package itself, whose ``__init__`` is the public face, is above all of them."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 1 else len(LAYERS)


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_imports_go_down(path: Path):
    own = layer_of(module_name(path))
    upward = [f"line {line}: {name}" for line, name in imports(path, nested=True) if layer_of(name) > own]
    assert not upward, f"{path.relative_to(ROOT)} imports from a layer above its own"


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_own_modules_are_imported_relatively(path: Path):
    absolute = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if (
            isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "bb"
        )
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "bb" for alias in node.names))
    ]
    assert not absolute, "absolute imports of bb on these lines"


def test_modules_do_not_import_each_other():
    graph = {name: {target for _, target in imports(path, nested=False)} for name, path in MODULES.items()}
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> None:
        assert name not in trail, "import circle: " + " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            # 'from . import x' in a package's __init__ names a module inside it, not the package
            for target in sorted(graph.get(name, set()) - {name}):
                visit(target, [*trail, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if not path.is_relative_to(ROOT / "runtime")], ids=module_name
)
def test_numpy_is_not_imported_at_module_level(path: Path):
    if path.is_relative_to(ROOT / "tools") and path.name != "bb_opt.py":
        pytest.skip("only bb-opt has to start without numpy")
    if path.parent == ROOT / "passes" / "cost" and path.name in ("model.py", "shapes.py"):
        pytest.skip("passes import these where they are applied")
    for node in ast.parse(path.read_text()).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.split(".")[0] in ("numpy", "ml_dtypes") for name in names), f"line {node.lineno}"
