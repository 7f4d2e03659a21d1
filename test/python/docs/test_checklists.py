"""The checklists of docs/internals/architecture.md: following one is enough, and it names every file.

Each test adds a small thing of its kind to a copy of the package, as the page says, and uses it from a new
process. `Copy.write` and `Copy.edit` refuse a file that the checklist does not name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from paths import ROOT

pytestmark = pytest.mark.long

PAGE = ROOT / "docs" / "internals" / "architecture.md"
PLACEHOLDERS = re.compile(r"DIALECT|NAME|FAMILY|TARGET|FORMAT")
PROGRAM = """
func.func @f(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = array.silu %x : tensor<32x32xf32>
  func.return %y : tensor<32x32xf32>
}
"""
TO_BLOCKS = "array-decompose,array-to-block"


def checklist(heading: str) -> str:
    """The text of one list of the page."""
    found = re.search(rf"^### {heading}\n(.*?)(?=^##|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page has no list '{heading}'"
    return found[1]


@dataclass
class Copy:
    """A copy of the package, as `bb` below a folder, and the checklist that is followed."""

    folder: Path
    heading: str

    def check_named(self, name: str) -> None:
        """Fail unless the checklist names a file, with placeholders for its parts."""
        named = re.findall(r"`([\w/]+\.\w+)`", checklist(self.heading))
        patterns = [PLACEHOLDERS.sub(r"\\w+", re.escape(each)) for each in named]
        assert any(re.fullmatch(pattern, name) for pattern in patterns), f"the list does not name {name}"

    def write(self, name: str, text: str) -> None:
        """Write a new file."""
        self.check_named(name)
        path = self.folder / "bb" / name
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)

    def edit(self, name: str, before: str, after: str) -> None:
        """Replace the first occurrence of a piece of text in a file."""
        self.check_named(name)
        path = self.folder / "bb" / name
        text = path.read_text()
        assert before in text, f"{name} has no {before!r}"
        path.write_text(text.replace(before, after, 1))

    def python(self, *arguments: str, given: str = "", status: int = 0) -> str:
        """Run Python with the copy in the place of the installed package; its output, errors included."""
        process = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert process.returncode == status, process.stdout
        return process.stdout

    def bb_opt(self, *arguments: str, given: str = PROGRAM) -> str:
        return self.python("-m", "bb.tools.bb_opt", *arguments, given=given)


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Copy:
    """A copy of the package. The test's marker `checklist` names the list that it follows."""
    marker = request.node.get_closest_marker("checklist")
    target = tmp_path / "bb"
    target.mkdir()
    for name in ("dialects", "passes", "lowering", "runtime", "frontends", "tools"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", target)
    return Copy(tmp_path, marker.args[0])


@pytest.mark.checklist("A pass")
def test_new_pass(copy: Copy):
    text = '''
from dataclasses import dataclass
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class BlockSayHelloPass(ModulePass):
    """Print a greeting."""

    name = "block-say-hello"
    to: str = "you"

    def apply(self, ctx, op):
        print("// hello", self.to)
'''
    copy.write("passes/block/say_hello.py", text)
    row = '    "block-say-hello": "bb.passes.block.say_hello:BlockSayHelloPass",\n'
    first = '    "array-decompose": '
    copy.edit("lowering/pipelines/__init__.py", first, row + first)
    assert "block-say-hello" in copy.bb_opt("--list-passes")
    assert copy.bb_opt("-p", "block-say-hello{to=me}").startswith("// hello me\n")


@pytest.mark.checklist("A rule")
def test_new_rule(copy: Copy):
    text = '''
"""A law that never fires."""
from collections.abc import Iterator

from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from .law import Check, Law, Topic


class DropSumsOfSums(Law[block.RowSumOp, block.RowSumOp]):
    name = "drop-sums-of-sums"
    law = "The sum of a row is what it is."
    before = "row_sum(x)"
    after = "row_sum(x)"
    traffic = "none"
    side_conditions = {"never": "the law never fires"}
    topic = Topic.OTHER

    def sites(self, op: block.RowSumOp) -> Iterator[block.RowSumOp]:
        yield op

    def checks(self, site: block.RowSumOp) -> Iterator[Check]:
        yield Check("never", False, "the law never fires")

    def rewrite(self, op: block.RowSumOp, site: block.RowSumOp, rewriter: PatternRewriter) -> None:
        raise AssertionError


LAWS = (DropSumsOfSums,)
'''
    copy.write("passes/rules/drop_sums_of_sums.py", text)
    assert "drop-sums-of-sums" in copy.bb_opt("--list-rules")
    softmax = PROGRAM.replace("array.silu %x", "array.softmax %x axis 1")
    passes = f"{TO_BLOCKS},block-apply{{rules=drop-sums-of-sums}},block-fuse"
    assert "row_sum" in copy.bb_opt("-p", passes, given=softmax)


KERNEL_OPERATION = '''

@irdl_op_definition
class TouchOp({base}):
    """`kernel.touch %tile`: no effect that anything else could see."""

    name = "kernel.touch"
    tile = operand_def()
    assembly_format = "$tile attr-dict `:` type($tile)"

    def __init__(self, tile: SSAValue):
        super().__init__(operands=[tile])
{effects}
'''
EFFECTS = """
    def tiles_read(self) -> tuple[SSAValue, ...]:
        return (self.tile,)

    def tiles_written(self) -> tuple[SSAValue, ...]:
        return ()
"""


@pytest.mark.checklist("An operation")
def test_new_operation(copy: Copy):
    path = copy.folder / "bb" / "dialects/kernel/moves.py"
    imports = """
from xdsl.irdl import irdl_op_definition, operand_def
from xdsl.ir import SSAValue
from .effects import KernelOp
"""
    text = path.read_text()

    copy.edit(
        "dialects/kernel/moves.py",
        text,
        text + imports + KERNEL_OPERATION.format(base="KernelOp", effects=""),
    )
    assert "tiles_read" in copy.python("-c", "import bb.dialects.kernel", status=1)

    new = imports + KERNEL_OPERATION.format(base="KernelOp", effects=EFFECTS)
    path.write_text(text + new)
    copy.edit(
        "dialects/kernel/__init__.py",
        "from .moves import ",
        "from .moves import TouchOp\nfrom .moves import ",
    )
    copy.edit(
        "dialects/kernel/__init__.py", "            LoadOp,\n", "            LoadOp,\n            TouchOp,\n"
    )
    assert (
        copy.python("-c", "from bb.dialects.kernel import KernelDialect as K; print(*K.operations)").count(
            "TouchOp"
        )
        == 1
    )


@pytest.mark.checklist("A target")
def test_new_target(copy: Copy):
    text = """
from dataclasses import replace

from ..cpu.target import CPU

TOY = replace(CPU, name="toy", can_tune=False, place=lambda threads, cuda: "the toy")
"""
    copy.write("runtime/toy/target.py", text)
    copy.edit("runtime/executable/targets.py", "from ..errors", "from ..toy.target import TOY\nfrom ..errors")
    copy.edit("runtime/executable/targets.py", "(CPU, CUDA, EMULATOR)", "(CPU, CUDA, EMULATOR, TOY)")
    (copy.folder / "p.mlir").write_text(PROGRAM)
    shown = copy.python("-m", "bb.tools.bb_run", "p.mlir", "--target", "toy", "--random", "0", "--check")
    assert "on the toy" in shown
    assert ": ok" in shown
    refused = copy.python(
        "-m", "bb.tools.bb_run", "p.mlir", "--target", "toy", "--random", "0", "--tune", "1", status=1
    )
    assert "--tune belongs to the target cpu, not to toy" in refused


@pytest.mark.checklist("An importer")
def test_new_importer(copy: Copy):
    text = '''
from xdsl.dialects.builtin import ModuleOp

from ...dialects.builder import ArrayFunction, build


def import_toy(rows: int) -> ModuleOp:
    """Return the module of a function that adds an array to itself."""
    function = ArrayFunction("twice", {"x": f"tensor<{rows}x8xf32>"})
    (x,) = function.arguments
    function.returns(x + x)
    return build(function)
'''
    copy.write("lowering/frontends/toy.py", text)
    copy.edit(
        "__init__.py", '    "equivalent": ', '    "import_toy": "lowering.frontends.toy",\n    "equivalent": '
    )
    shown = copy.python(
        "-c", "import bb, numpy as np; print(bb.run(bb.import_toy(2), [np.ones((2, 8))]).sum())"
    )
    assert shown.strip() == "32.0"


@pytest.mark.checklist("A machine")
def test_new_machine(copy: Copy):
    machines = copy.folder / "bb" / "passes/analysis/cost/machines"
    fields = json.loads((machines / "cpu.json").read_text())
    path = "passes/analysis/cost/machines/toy.json"
    copy.check_named(path)
    (copy.folder / "bb" / path).write_text(json.dumps({**fields, "summary": "a toy"}))
    assert "toy" in copy.bb_opt("-p", f"{TO_BLOCKS},block-shapes,block-cost{{target=toy}}")


def test_page_names_every_folder():
    """The table of folders is complete, and every path on the page exists."""
    page = PAGE.read_text()
    for layer in ("passes", "lowering", "runtime", "frontends"):
        for path in sorted((ROOT / layer).iterdir()):
            if path.is_dir() and (path / "__init__.py").exists():
                assert re.search(rf"`(?:{layer}/)?{path.name}/", page), (
                    f"the page does not mention {layer}/{path.name}"
                )
    table = page[page.index("| folder | holds |") : page.index("## The life")]
    for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE):
        names = re.findall(r"`([^`]+)`", row)
        base = names[0].rstrip("/").rpartition("/")[0]
        for number, name in enumerate(names):
            path = ROOT / name if number == 0 or (ROOT / name).exists() else ROOT / base / name
            assert path.exists(), f"there is no {path.relative_to(ROOT)}"
