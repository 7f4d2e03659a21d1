"""Source locations, verification with dominance, and how errors are shown."""

import pytest
from bb.dialects.context import make_context
from bb.dialects.diagnostics import Diagnostic, OpError, Place, location_of
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import ParseError


def place(where: object) -> str:
    location = location_of(where)  # pyright: ignore[reportArgumentType]
    return "unknown" if location is None else str(Place.of(location))


def ops(module: ModuleOp) -> dict[str, Operation]:
    return {op.name: op for op in module.walk()}


def test_operations_are_located_at_their_names():
    text = '// one\nfunc.func @f(%a: i32) {\n  %x,\n  %y = "test.op"() : () -> (i32, i32)\n  func.return\n}'
    found = ops(parse_module(text, "f.mlir"))
    assert place(found["func.func"]) == "f.mlir:2:1"
    assert place(found["test.op"]) == "f.mlir:4:8"
    assert place(found["func.return"]) == "f.mlir:5:3"
    assert place(found["builtin.module"]) == "f.mlir:1:1"
    assert place(found["test.op"].results[0]) == "f.mlir:4:8"
    assert place(found["func.func"].regions[0].block.args[0]) == "f.mlir:2:1"


def test_explicit_locations_are_kept_and_nested_ones_searched():
    text = """
    "test.op"() : () -> () loc("other.py":7:3)
    "test.pureop"() : () -> () loc(fused["name"("deep.py":1:2), unknown])
    "test.termop"() : () -> () loc(callsite("callee" at "caller.py":4:5))
    """
    found = ops(parse_module(text, "f.mlir"))
    assert place(found["test.op"]) == "other.py:7:3"
    assert place(found["test.pureop"]) == "deep.py:1:2"
    assert place(found["test.termop"]) == "caller.py:4:5"


def test_operations_made_by_passes_are_located_by_what_surrounds_them():
    module = parse_module('"test.op"() ({ "test.termop"() : () -> () }) : () -> ()', "f.mlir")
    block = ops(module)["test.op"].regions[0].block
    block.insert_op_before(made := test.TestPureOp(), block.last_op)  # pyright: ignore[reportArgumentType]
    assert place(made) == "f.mlir:1:1"
    assert place(test.TestPureOp()) == "unknown"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("func.func @f() {\n  arith.addj\n}", "2:3: operation 'arith.addj' is not registered; did you mean"),
        (
            "func.func @f() {\n  %0 = nope.op\n}",
            "2:8: operation 'nope.op' is not registered: there is no dialect",
        ),
        ("func.func @f() {\n  %0 = arith.negf %x : f32\n}", "2:19: value %x is used but never defined"),
        ("func.func @f() {", "1:17: "),
        ('"test.op"() {a = dense<[1, 2]> : tensor<3xi32>} : () -> ()', "1:47: Shape mismatch"),
        ("@", "1:1: Unexpected end of file"),
    ],
)
def test_parse_errors_have_places(text: str, expected: str):
    with pytest.raises(ParseError) as error:
        verify(parse_module(text, "f.mlir"))
    diagnostic = Diagnostic.of(error.value)
    assert diagnostic is not None
    assert f"{diagnostic.place}: {diagnostic.message}".removeprefix("f.mlir:").startswith(expected)


def test_unclosed_strings_are_found_at_once():
    for text in (f'"{"a" * 10_000}', f'\n"test.op"() {{a = "{"b " * 100}\n}} : () -> ()', r'"\q"'):
        with pytest.raises(
            ParseError, match="this string is not closed on its line, or holds an unknown escape"
        ):
            parse_module(text)
    assert ops(parse_module(r'"test.op"() {a = "tab\09 \"q\" \\ \n é"} : () -> ()'))["test.op"].attributes[
        "a"
    ]


def test_first_line_shifts_every_place():
    assert (
        place(ops(parse_module('\n"test.op"() : () -> ()', "f.mlir", first_line=100))["test.op"])
        == "f.mlir:101:1"
    )
    for text in ("@", "func.func @f() {\n arith.x }"):
        with pytest.raises(ParseError) as error:
            parse_module(text, "f.mlir", first_line=100)
        assert error.value.span.get_location().line == 99 + len(text.splitlines())


def test_empty_texts_are_empty_modules():
    for text in ("", "  \n", "// nothing\n"):
        assert list(parse_module(text).ops) == []


def faults(text: str) -> str:
    with pytest.raises(OpError) as error:
        verify(parse_module(text, "f.mlir", make_context(allow_unregistered=True)))
    return str(error.value)


def test_use_before_definition():
    text = '%b = "test.op"(%a) : (i32) -> i32\n%a = "test.op"() : () -> i32'
    assert (
        faults(text) == "f.mlir:1:6: 'test.op' op operand %a does not dominate this use: it is defined later"
    )


def test_use_inside_the_definition():
    text = '%a = "test.op"() ({ "test.termop"(%a) : (i32) -> () }) : () -> i32'
    assert "'test.termop' op operand %a is used inside its own definition" in faults(text)


def test_use_outside_the_region_of_the_definition():
    module = parse_module(
        '"test.op"() ({ %a = "test.pureop"() : () -> i32\n"test.termop"() : () -> () }) : () -> ()'
    )
    inner = ops(module)["test.pureop"]
    module.body.block.add_op(test.TestOp([inner.results[0]]))
    with pytest.raises(OpError, match=r"operand %a is not visible here: its definition lies in a region"):
        verify(module)


def test_use_through_an_isolated_operation():
    module = parse_module("%a = arith.constant 1 : i32\nfunc.func @f() {\n  func.return\n}", "f.mlir")
    function = ops(module)["func.func"]
    function.regions[0].block.insert_op_before(
        test.TestOp([ops(module)["arith.constant"].results[0]]),
        function.regions[0].block.last_op,  # pyright: ignore[reportArgumentType]
    )
    with pytest.raises(OpError, match=r"'func\.func' is isolated from the values around it"):
        verify(module)


def test_definition_outside_the_program():
    module = ModuleOp([test.TestOp([test.TestOp(result_types=[i32]).results[0]])])
    with pytest.raises(
        OpError, match="operand number 0 is defined by an operation that is not part of the program"
    ):
        verify(module)


BRANCHES = """
func.func @f(%c: i1) -> i32 {{
  cf.cond_br %c, ^left, ^right
^left:
  %l = arith.constant 1 : i32
  cf.br ^join
^right:
  {right}
  cf.br ^join
^join:
  {join}
}}
"""


def test_dominance_across_blocks():
    fine = BRANCHES.format(right="", join="%r = arith.constant 2 : i32\n  func.return %r : i32")
    verify(parse_module(fine))
    assert "operand %l is defined in a block that does not dominate this use" in faults(
        BRANCHES.format(right="", join="func.return %l : i32")
    )
    assert "operand %l is defined in a block that does not dominate" in faults(
        BRANCHES.format(right="%r = arith.addi %l, %l : i32", join="func.return %c : i1").replace(
            "-> i32", "-> i1"
        )
    )


def test_verification_is_linear_in_wide_and_deep_programs():
    """4000 values, 2000 regions that use them: copying the visible values for each would take minutes."""
    values = [test.TestPureOp(result_types=[i32]) for _ in range(4000)]
    bodies = [
        Block([test.TestPureOp([values[index].results[0]]), test.TestTermOp()]) for index in range(2000)
    ]
    regions = [test.TestOp(regions=[Region(body)]) for body in bodies]
    verify(ModuleOp([*values, *regions]))


def test_verifier_messages_are_one_line_and_name_the_operation():
    error = faults("func.func @f() -> i32 {\n  func.return\n}")
    assert error.startswith("f.mlir:2:3: 'func.return' op Expected arguments to have the same types")
    assert "\n" not in error
    assert "'func.func' op has a region that is empty" in faults(
        '"func.func"() ({^bb0:}) {sym_name = "f", function_type = () -> ()} : () -> ()'
    )


def shown(text: str, line: int, column: int) -> list[str]:
    return Diagnostic("error", "no", Place("f", line, column)).render({"f": text}).splitlines()


def test_excerpts():
    assert shown("a\n  bc\nd", 2, 3) == ["f:2:3: error: no", "  bc", "  ^"]
    assert shown("\tx\r\n", 1, 2) == ["f:1:2: error: no", "\tx", "\t^"]
    assert shown("ab", 1, 3) == ["f:1:3: error: no", "ab", "  ^"]
    assert shown("ab", 5, 1) == ["f:5:1: error: no"]
    assert Diagnostic("warning", "no").render({}) == "warning: no"
    assert (
        Diagnostic("error", "no", Place("elsewhere", 1, 1)).render({"f": "x"}) == "elsewhere:1:1: error: no"
    )


@pytest.mark.parametrize("column", [1, 50, 500, 5000, 9_990, 10_000])
def test_long_lines_are_cut_around_the_caret(column: int):
    line = "".join(chr(ord("a") + index % 26) for index in range(10_000))
    _, excerpt, caret = shown(line, 1, column)
    assert len(excerpt) <= 160
    assert excerpt[len(caret) - 1] == line[column - 1]
