"""``bb-opt`` from the outside: files, streams, failures. Filecheck tests what it prints for programs."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from bb.tools.bb_opt import main

ADD = """func.func @add(%a: i32) -> i32 {
  %sum = arith.addi %a, %a : i32
  func.return %sum : i32
}
"""
BROKEN = ADD.replace("addi", "addj")
PRINTED = "builtin.module {\n  " + ADD.replace("\n", "\n  ").rstrip() + "\n}\n"


@dataclass
class Outcome:
    status: int
    output: str
    errors: str


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    return path


@pytest.fixture
def bb_opt(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: object) -> Outcome:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


def spawn(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bb.tools.bb_opt", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name != "BB_DEBUG"}
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=120, check=False, **options
    )


def assert_one_message(outcome: Outcome, *parts: str):
    assert outcome.status == 1
    assert "Traceback" not in outcome.errors
    assert len(outcome.errors.splitlines()) == 1, outcome.errors
    for part in parts:
        assert part in outcome.errors


# Command lines


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-p", "csee"], ["there is no pass named 'csee'; did you mean 'cse'?"]),
        (["-p", "something-else"], ["no pass named 'something-else'", "canonicalize, cse, dce"]),
        (["-p", "cse{"], ["expected an option of 'cse' or '}' at character 5, found the end"]),
        (["-p", "cse,,dce"], ["expected the name of a pass at character 5, found ','"]),
        (["-p", "cse dce"], ["expected a comma between passes"]),
        (["-p", "canonicalize{level=3}"], ["pass 'canonicalize' has no option 'level'; it takes no options"]),
        (
            ["-p", "block-apply"],
            ["pass 'block-apply' needs option 'rules': a comma-separated list of strings"],
        ),
        (["-p", "block-apply{rule=a}"], ["has no option 'rule'; did you mean 'rules'?"]),
        (["-p", "block-apply{rules=a limit=few}"], ["option 'limit' takes an integer, not few"]),
        (["-p", "block-apply{rules=a limit=true}"], ["option 'limit' takes an integer, not true"]),
        (["-p", "block-apply{rules=a rules=b}"], ["option 'rules' is given twice"]),
        (["-p", "block-apply{rules}"], ["option 'rules' names no rule"]),
        (["-p", "block-apply{rules=no-such-rule}"], ["there is no rule named 'no-such-rule'"]),
        (["--frobnicate"], ["unrecognized arguments: --frobnicate"]),
        (["-t", "ptx"], ["target 'ptx' is not available in this version; targets: mlir, cpp, cuda"]),
        (["--max-input-size", "0"], ["takes a positive number of MiB, not '0'"]),
        (["--load", "no-such-script.py"], ["cannot read 'no-such-script.py': no such file or directory"]),
    ],
)
def test_bad_command_lines_get_one_sentence(bb_opt, program: Path, arguments: list[str], parts: list[str]):
    assert_one_message(bb_opt(program, *arguments), *parts)


def test_help_and_version_succeed(bb_opt):
    assert bb_opt("--help").status == 0
    assert bb_opt("--version").output.startswith("bb-opt ")


# Input


def test_missing_file_and_directory(bb_opt, tmp_path: Path):
    assert_one_message(bb_opt(tmp_path / "none.mlir"), "none.mlir': no such file or directory")
    assert_one_message(bb_opt(tmp_path), "it is a directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(bb_opt, program: Path):
    program.chmod(0)
    assert_one_message(bb_opt(program), "permission denied")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"func.func @f() {\n\xff\xfe", "line 2 holds byte 0xff, which is not UTF-8"),
        (b"// a\n// b\nfunc\0", "line 3 holds a NUL byte"),
        (b"ML\xefR\x06", "is MLIR bytecode"),
        (bytes(range(256)) * 100, "is no MLIR text"),
    ],
)
def test_binary_rubbish(bb_opt, program: Path, data: bytes, part: str):
    program.write_bytes(data)
    assert_one_message(bb_opt(program), part)


def test_input_size_is_limited(bb_opt, program: Path):
    padding = b" " * (2**20)
    program.write_bytes(padding * 50 + ADD.encode())
    assert_one_message(bb_opt(program), "is larger than 32 MiB; --max-input-size raises the limit")
    program.write_bytes(padding * 2 + ADD.encode())
    assert_one_message(bb_opt(program, "--max-input-size", 2), "is larger than 2 MiB")
    assert bb_opt(program, "--max-input-size", 3).output == PRINTED


def test_byte_order_mark_and_windows_line_ends(bb_opt, program: Path):
    program.write_bytes(b"\xef\xbb\xbf" + ADD.replace("\n", "\r\n").encode())
    assert bb_opt(program).output == PRINTED


@pytest.mark.parametrize(
    "text",
    [
        "module {" * 5000,
        'func.func @f() { "test.op"() : () -> ' + "tuple<" * 5000,
        '"test.op"() {a = ' + "[" * 5000,
        "".join(f'"test.op"() ({{ ^b{i}:\n' for i in range(3000)),
    ],
    ids=["modules", "types", "attributes", "regions"],
)
def test_deep_nesting(bb_opt, program: Path, text: str):
    program.write_text(text)
    outcome = bb_opt(program)
    assert outcome.status == 1
    assert "nested too deeply" in outcome.errors.splitlines()[0]
    assert "Traceback" not in outcome.errors
    assert max(map(len, outcome.errors.splitlines())) < 250


def test_huge_splat_does_not_take_the_memory(bb_opt, program: Path):
    program.write_text("%c = arith.constant dense<1.0> : tensor<999999x999999x999999xf32>")
    assert "a dense literal of 999997000002999999 elements is too large" in bb_opt(program).errors


def test_value_errors_of_the_parser_have_a_place(bb_opt, program: Path):
    program.write_text("func.func @f(%a: i32) {\n  func.return\n}\nfunc.func @g(%a: i" + "9" * 5000 + ")")
    assert "add.mlir:4:18: error: cannot be parsed" in bb_opt(program).errors


def test_several_parts_are_all_reported(bb_opt, program: Path):
    program.write_text("\n// -----\n".join([BROKEN, ADD, BROKEN]))
    outcome = bb_opt(program, "--split-input-file")
    assert outcome.status == 1
    assert outcome.output == PRINTED
    places = [line.split(": error")[0] for line in outcome.errors.splitlines() if ": error" in line]
    assert places == [f"{program}:2:10", f"{program}:14:10"]


# Output


def test_output_file_is_written_whole_or_not_at_all(bb_opt, program: Path, tmp_path: Path):
    result = tmp_path / "result.mlir"
    result.write_text("precious")
    result.chmod(0o640)
    program.write_text(BROKEN)
    assert bb_opt(program, "-o", result).status == 1
    assert result.read_text() == "precious"
    program.write_text(ADD + "\n// -----\n" + BROKEN)
    assert bb_opt(program, "-o", result, "--split-input-file").status == 1
    assert result.read_text() == "precious"
    program.write_text(ADD)
    outcome = bb_opt(program, "-o", result)
    assert (outcome.status, outcome.output, outcome.errors) == (0, "", "")
    assert result.read_text() == PRINTED
    assert result.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["add.mlir", "result.mlir"]


def test_output_may_be_the_input_a_link_or_a_device(bb_opt, program: Path, tmp_path: Path):
    assert bb_opt(program, "-o", program).status == 0
    assert program.read_text() == PRINTED
    link = tmp_path / "link.mlir"
    link.symlink_to(tmp_path / "target.mlir")
    assert bb_opt(program, "-o", link).status == 0
    assert link.is_symlink()
    assert (tmp_path / "target.mlir").read_text() == PRINTED
    assert bb_opt(program, "-o", "/dev/null").status == 0


def test_output_that_cannot_be_written(bb_opt, program: Path, tmp_path: Path):
    assert_one_message(bb_opt(program, "-o", tmp_path), "cannot write", "it is a directory")
    assert_one_message(
        bb_opt(program, "-o", tmp_path / "none" / "x"), "cannot write", "no such file or directory"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk(program: Path):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "bb.tools.bb_opt", str(program)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "bb-opt: error: cannot write to standard output: no space left on device\n"


def test_closed_pipe(program: Path):
    many = "\n".join(ADD.replace("@add", f"@add{index}") for index in range(3000))
    program.write_text(many)
    command = [sys.executable, "-m", "bb.tools.bb_opt", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait() == 141, "what a shell reports for SIGPIPE"
    assert errors == ""


def test_standard_streams():
    assert spawn(input=ADD).stdout == PRINTED
    assert spawn("-", input=ADD).stdout == PRINTED
    broken = spawn(input=BROKEN)
    assert broken.returncode == 1
    assert broken.stderr.startswith("<stdin>:2:10: error: operation 'arith.addj' is not registered")


def test_plain_round_trip_imports_neither_numpy_nor_rich(program: Path):
    code = (
        "import sys; from bb.tools.bb_opt import main; status = main(sys.argv[1:]); "
        "print(status, sorted({'numpy', 'ml_dtypes', 'rich', 'difflib'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(program), "-o", os.devnull]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0 []\n"


# Scripts, failing passes

SCRIPT = """
from dataclasses import dataclass
import bb
from bb.dialects.diagnostics import OpError, OpWarning
from xdsl.dialects.arith import AddiOp, MuliOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

class AddToMul(RewritePattern):
    '''Turn additions into products.'''
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddiOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, MuliOp(op.lhs, op.rhs))

class MulToAdd(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MuliOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, AddiOp(op.lhs, op.rhs))

bb.register_rule("add-to-mul", AddToMul)
bb.register_rule("mul-to-add", MulToAdd)

@bb.register_pass
@dataclass(frozen=True)
class Demo(ModulePass):
    '''Fail or warn on demand.

    More text.'''
    name = "demo"
    how: str = "fail"
    def apply(self, ctx, module):
        import warnings
        from xdsl.dialects.func import ReturnOp
        for op in list(module.walk()):
            if isinstance(op, AddiOp):
                if self.how == "fail":
                    raise OpError(op, "additions are out of fashion")
                if self.how == "warn":
                    warnings.warn(OpWarning(op, "additions are old"))
                if self.how == "crash":
                    {}["key"]
                if self.how == "swap":
                    block = op.parent
                    block.insert_op_before(op.clone(), op)
                    block.first_op.operands = [op.result, op.result]
                if self.how == "untyped":
                    for other in module.walk():
                        if isinstance(other, ReturnOp):
                            other.operands = []
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "passes.py"
    path.write_text(SCRIPT)
    return path


def test_scripts_add_passes_and_rules(bb_opt, program: Path, script: Path):
    passes = bb_opt("--load", script, "--list-passes").output
    assert re.search(r"^demo +Fail or warn on demand\.$", passes, re.MULTILINE)
    rules = bb_opt("--load", script, "--list-rules").output
    assert re.search(r"^add-to-mul +Turn additions into products\.$", rules, re.MULTILINE)
    rewritten = bb_opt(program, "--load", script, "-p", "block-apply{rules=add-to-mul}")
    assert rewritten.output == PRINTED.replace("addi", "muli")
    assert_one_message(bb_opt(program, "-p", "demo"), "there is no pass named 'demo'")


def test_rules_that_undo_each_other_end(bb_opt, program: Path, script: Path):
    pipeline = "block-apply{rules=add-to-mul,mul-to-add limit=50}"
    assert_one_message(
        bb_opt(program, "--load", script, "-p", pipeline), "pass 'block-apply'", "undo each other"
    )


def test_errors_of_passes_show_the_source(bb_opt, program: Path, script: Path):
    outcome = bb_opt(program, "--load", script, "-p", "cse,demo")
    assert outcome.status == 1
    assert outcome.errors == (
        f"{program}:2:10: error: pass 'demo': 'arith.addi' op additions are out of fashion\n"
        "  %sum = arith.addi %a, %a : i32\n"
        "         ^\n"
    )


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "swap",
            "2:10: error: pass 'demo' left an invalid program: 'arith.addi' op operand %sum does not",
        ),
        ("untyped", "3:3: error: pass 'demo' left an invalid program: 'func.return' op Expected arguments"),
    ],
)
def test_programs_are_verified_after_each_pass(bb_opt, program: Path, script: Path, how: str, message: str):
    outcome = bb_opt(program, "--load", script, "-p", f"demo{{how={how}}},cse")
    assert outcome.status == 1
    assert message.partition(": ")[2] in outcome.errors


def test_warnings_do_not_fail(bb_opt, program: Path, script: Path):
    outcome = bb_opt(program, "--load", script, "-p", "demo{how=warn}")
    assert outcome.status == 0
    assert outcome.output == PRINTED
    assert outcome.errors.startswith(f"{program}:2:10: warning: 'arith.addi' op additions are old\n")
    program.write_text(
        ADD.replace("addi", "addi", 1).replace(": i32\n", ": i32 // expected-warning {{are old}}\n", 1)
    )
    assert bb_opt(program, "--load", script, "-p", "demo{how=warn}", "--verify-diagnostics").status == 0
    assert bb_opt(program, "--verify-diagnostics").status == 1


def test_crashing_passes_are_internal_errors(
    bb_opt, program: Path, script: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("BB_DEBUG", raising=False)
    outcome = bb_opt(program, "--load", script, "-p", "demo{how=crash}")
    assert_one_message(
        outcome,
        "internal error while running pass 'demo': KeyError: 'key' (this is a bug of the loaded script",
    )
    monkeypatch.setenv("BB_DEBUG", "1")
    assert "Traceback" in bb_opt(program, "--load", script, "-p", "demo{how=crash}").errors


def test_bugs_of_bb_opt_are_called_so(bb_opt, program: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("surprise")

    monkeypatch.delenv("BB_DEBUG", raising=False)
    monkeypatch.setattr("bb.tools.bb_opt.Printer.print_op", broken)
    assert_one_message(
        bb_opt(program), "internal error: ZeroDivisionError: surprise (this is a bug of bb-opt"
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("def f(:", "line 1: invalid syntax"),
        ("x = 1\nx.y", "line 2: AttributeError"),
        ("import sys\nsys.exit(3)", "line 2: the script called exit"),
        (
            "from bb.lowering.pipelines import *\nregister_pass(ALL_PASSES['cse']())",
            "line 2: ValueError: a pass named 'cse' is registered already",
        ),
    ],
)
def test_broken_scripts(bb_opt, program: Path, script: Path, text: str, part: str):
    script.write_text(text)
    assert_one_message(bb_opt(program, "--load", script), f"cannot load '{script}': {part}")
