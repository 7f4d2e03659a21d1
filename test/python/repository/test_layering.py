"""Imports run one way, between the top folders and inside them, and never in a cycle."""

import ast
from pathlib import Path

import pytest
from bb.tools.docs.import_graph import LAYERS, ImportGraph, report

GRAPH = ImportGraph()

ORDER = {
    "passes": ("text", "analysis", "rules", "fusion", "array", "block", "kernel"),
    "runtime": (
        *("errors", "host", "arrays", "compilation", "machine", "program", "interpreter", "checking"),
        *("calls", "cpu", "cuda", "profile", "executable", "tuning", "api"),
    ),
}
"""The members of two folders, each of which imports only members that stand before it."""

LARGEST = {"passes": 8, "runtime": 17}
"""Number of members that a reader should have to look at in a folder, files of other languages included."""

TABLES_OF_MODULES = {"lowering.pipelines", "passes.rules", "passes.rules.table"}
"""Modules that import passes and rules by their names in strings, when they are used first."""

IMPORTING = ("import_module", "__import__")

FRAMEWORKS = ("frontends.torch", "frontends.onnx")
"""Importers whose frameworks need numpy themselves."""

NUMPY_IN_PASSES = {"passes.analysis.cost.model", "passes.analysis.cost.shapes"}
"""Modules that import numpy at their top; passes import them when they are applied."""


def test_imports_go_down_from_layer_to_layer():
    upward = [str(each) for each in GRAPH.imports if layer_of(each.imported) > layer_of(each.importer)]
    assert upward == []


def layer_of(module: str) -> int:
    """Index of the layer; the package itself, whose `__init__` is its public face, is above all of them."""
    return LAYERS.index(module.partition(".")[0]) if module else len(LAYERS)


@pytest.mark.parametrize("folder", ORDER)
def test_members_of_a_folder_import_only_members_before_them(folder: str):
    order = ORDER[folder]
    assert sorted(order) == sorted(GRAPH.members(folder)), "ORDER has to list the members of the folder"
    upward = [
        str(found[0])
        for (source, target), found in GRAPH.arrows(folder).items()
        if source in order and target in order and order.index(target) > order.index(source)
    ]
    assert upward == []


def test_no_module_imports_itself_through_others():
    print(report(GRAPH))
    assert [list(map(str, cycle)) for cycle in GRAPH.all_cycles()] == []


@pytest.mark.parametrize("folder", LARGEST)
def test_folders_stay_small(folder: str):
    entries = {path.name for path in (GRAPH.root / folder).iterdir()} - {"__init__.py", "__pycache__"}
    assert len(entries) <= LARGEST[folder]


def tree(folder: Path, files: dict[str, str]) -> ImportGraph:
    """The graph of a small package with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ImportGraph(folder)


@pytest.mark.parametrize(
    "hidden",
    [
        "from .a import X",
        "def f():\n    from .a import X\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import X\n",
        "from . import a",
    ],
    ids=["at the top", "in a function", "for types only", "of the module"],
)
def test_every_import_counts(tmp_path: Path, hidden: str):
    graph = tree(
        tmp_path, {"passes/__init__.py": "", "passes/a.py": "from .b import Y", "passes/b.py": hidden}
    )
    assert len(graph.all_cycles()) == 1


def test_cycles_between_folders_are_found(tmp_path: Path):
    files = {
        "passes/__init__.py": "",
        "passes/one/__init__.py": "",
        "passes/one/low.py": "",
        "passes/one/high.py": "from ..two.middle import X",
        "passes/two/__init__.py": "",
        "passes/two/middle.py": "from ..one.low import Y",
    }
    (cycle,) = tree(tmp_path, files).all_cycles()
    assert {(each.importer, each.imported) for each in cycle} == {
        ("passes.one.high", "passes.two.middle"),
        ("passes.two.middle", "passes.one.low"),
    }


@pytest.mark.parametrize(("method", "cycles"), [("get_canonicalization_patterns", 0), ("helper", 1)])
def test_operations_may_name_their_patterns(tmp_path: Path, method: str, cycles: int):
    operation = f"class Op:\n    def {method}(cls):\n        from .canonicalize import Pattern\n"
    patterns = "from .ops import Op"
    files = {"dialects/__init__.py": "", "dialects/ops.py": operation, "dialects/canonicalize.py": patterns}
    assert len(tree(tmp_path, files).all_cycles()) == cycles


def imports_by_text(path: Path) -> list[int]:
    """The lines that import a module by its name in a string: the graph does not see these imports."""
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    names = ((call, call.args[0]) for call in calls if ast.unparse(call.func).endswith(IMPORTING))
    return [call.lineno for call, name in names if not is_name_of_other_package(name)]


def is_name_of_other_package(name: ast.expr) -> bool:
    return isinstance(name, ast.Constant) and not str(name.value).startswith((".", "bb."))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('import_module("bb.runtime.errors")', [1]),
        ('importlib.import_module("..errors", __package__)', [1]),
        ("__import__(name)", [1]),
        ('import_module("torch")', []),
    ],
)
def test_imports_by_text_are_found(tmp_path: Path, text: str, found: list[int]):
    path = tmp_path / "a.py"
    path.write_text(text)
    assert imports_by_text(path) == found


def test_only_tables_import_own_modules_by_text():
    assert {name for name, path in GRAPH.modules.items() if imports_by_text(path)} == TABLES_OF_MODULES


def absolute_modules(node: ast.AST) -> list[str]:
    """The modules that an import names in full; none for a relative import, or for another statement."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def test_own_modules_are_imported_relatively():
    absolute = [
        f"{name}:{node.lineno}"
        for name, path in GRAPH.modules.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if any(module.split(".")[0] == "bb" for module in absolute_modules(node))
    ]
    assert absolute == []


def test_numpy_is_imported_where_it_is_needed_only():
    """`bb-opt` has to start without numpy."""
    found: list[str] = []
    for name, path in GRAPH.modules.items():
        if name.startswith(("runtime", *FRAMEWORKS)) or (name.startswith("tools") and name != "tools.bb_opt"):
            continue
        modules = [each for node in ast.parse(path.read_text()).body for each in absolute_modules(node)]
        if name not in NUMPY_IN_PASSES and {each.split(".")[0] for each in modules} & {"numpy", "ml_dtypes"}:
            found.append(name)
    assert found == []
