"""Programs with hostile names compile and run like others, and nothing else happens."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.runtime.api import compile_all, compile_program
from bb.runtime.checking.tolerances import BOUNDS, compare
from bb.runtime.interpreter.functions import interpret
from cpu_programs import Array
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

pytestmark = pytest.mark.long

FUNCTIONS = (
    "quote\" and ' and `",
    "line\nbreak",
    "carriage\rreturn",
    "nul\0 and bell\a",
    "ends a comment */ int main() {",
    "continues a line \\",
    "trigraph ??/",
    "// comment",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "| tee pwned",
    "&& touch pwned",
    "> pwned",
    "\n#include <pwned>\n",
    '")); system("touch pwned"); //',
    "../../../pwned",
    "/../pwned",
    "-o pwned",
    "--help",
    "@pwned",
    "%s%n%x",
    "",
    " ",
    "int",
    "main",
    "printf",
    "exp",
    "malloc",
    "__LINE__",
    "_Pragma",
    "NULL",
    "M_PI",
    "std",
    "bb",
    "naïve",
    "注意力",
    "\u202eright to left",
    "\U0001f600",
    "a" * 10_000,
    "a" * 9_999 + "b",
    "é" * 10_000,
    "\"\\*/'" * 2_500,
)

VALUES = (
    "int",
    "T",
    "V",
    "I",
    "arrays",
    "extents",
    "threads",
    "task",
    "memory",
    "room",
    "status",
    "main",
    "std",
    "bb",
    "__FILE__",
    "_Complex",
    "M_PI",
    "EOF",
    "NULL",
    "INFINITY",
    "unix",
    "linux",
    "x$y",
    "x.y-z",
    "operator",
    "o",
    "l",
    "n",
    "acc",
    "other",
    "v" * 10_000,
)

DIMS = (
    "int",
    "T",
    "M_P",
    "NULL",
    "E",
    "unix",
    "errno",
    "assert",
    "task",
    "arrays",
    "status",
    "std",
    "__x",
    "_",
    "EOF",
    "M0",
    "Mn",
    "Mi",
    "M",
    "D" * 10_000,
)

BODY = """
func.func @f(%x: tensor<5x7xf32>, %w: tensor<7x3xf32>, %b: tensor<3xf32>) -> tensor<5x3xf32> {
  %y = array.matmul %x, %w : tensor<5x7xf32>, tensor<7x3xf32> -> tensor<5x3xf32>
  %c = array.broadcast %b : tensor<3xf32> -> tensor<5x3xf32>
  %z = array.elementwise (%p = %y, %q = %c) : tensor<5x3xf32>, tensor<5x3xf32> -> tensor<5x3xf32> {
    %r = arith.addf %p, %q : f32
    %s = math.exp %r : f32
    array.yield %s : f32
  }
  func.return %z : tensor<5x3xf32>
}
"""


def program(function: str, value: str = "x", dims: tuple[str, str, str] | None = None) -> FuncOp:
    """A matmul, a bias and an exponential, under a name; values are called `value`, and that and a digit."""
    text = BODY
    for number, name in enumerate(("x", "w", "b", "y", "z", "p", "q", "r", "s")):
        text = re.sub(rf"%{name}\b", f"%{value}{number or ''}", text)
    if dims is not None:
        m, k, n = dims
        text = text.replace("tensor<5x7xf32>,", f'tensor<5x7xf32> {{bb.dims = ["{m}", "{k}"]}},', 1)
        text = text.replace("tensor<7x3xf32>,", f'tensor<7x3xf32> {{bb.dims = ["{k}", "{n}"]}},', 1)
    (made,) = (op for op in parse_module(text).ops if isinstance(op, FuncOp))
    made.detach()
    made.sym_name = StringAttr(function)
    return made


def arguments() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((5, 7), (7, 3), (3,))]


@pytest.fixture
def nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which nothing must appear, nor beside it."""
    work = tmp_path / "work" / "deep" / "down"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    return tmp_path


def assert_nothing_else(folder: Path) -> None:
    assert sorted(path.name for path in folder.rglob("*")) == ["deep", "down", "work"]
    assert not Path("/pwned").exists()
    assert not Path(tempfile.gettempdir(), "pwned").exists()


def assert_same_values(functions: list[FuncOp]) -> None:
    """All functions, in one library, compute what the interpreter says."""
    module = ModuleOp(functions)
    executables = compile_all(module)
    assert set(executables) == {function.sym_name.data for function in functions}
    inputs = arguments()
    wanted = interpret(ModuleOp([program("plain")]), inputs, float64=True).results[0]
    for name, executable in executables.items():
        got = executable(*inputs)
        assert isinstance(got, np.ndarray)
        assert compare(got, wanted, BOUNDS["f32"]).within, name[:80]
        assert all(char == "\n" or char.isprintable() for char in executable.source)
        assert max(map(len, executable.source.splitlines())) < 2_000


def test_names(nothing_else: Path) -> None:
    functions = [program(name) for name in FUNCTIONS]
    functions += [program(f"values {number}", value) for number, value in enumerate(VALUES)]
    triples = [(DIMS[i - 2], DIMS[i - 1], DIMS[i]) for i in range(len(DIMS))]
    functions += [program(f"dims {number}", "x", dims) for number, dims in enumerate(triples)]
    assert_same_values(functions)
    assert_nothing_else(nothing_else)


@pytest.mark.parametrize("name", ["../../../pwned", "$(touch pwned)\n"], ids=range(2))
def test_one_function(name: str, nothing_else: Path) -> None:
    executable = compile_program(ModuleOp([program(name, "int", ("class", "if", "M_PI"))]), entry=name)
    assert isinstance(executable(*arguments()), np.ndarray)
    assert_nothing_else(nothing_else)


def test_names_survive_text(nothing_else: Path) -> None:
    """A program with hostile names can be printed as kernels and read again."""
    executables = compile_all(ModuleOp([program(name) for name in FUNCTIONS[:20]]))
    module = next(iter(executables.values())).module
    assert str(parse_module(str(module))) == str(module)


@pytest.mark.parametrize("dim", ["a b", "a-b", 'a\\"', "é", "1a", "a\\n", "x", "*/"])
def test_dims_are_identifiers(dim: str) -> None:
    text = f"""
    func.func @f() attributes {{block.dims = {{"{dim}" = #block.dim<4, whole>}}}} {{
      func.return
    }}
    """
    with pytest.raises(Exception, match=r"a dim is named by an identifier other than `x`, got") as error:
        compile_program(text)
    assert "Traceback" not in str(error.value)
