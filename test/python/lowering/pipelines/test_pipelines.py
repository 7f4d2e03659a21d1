"""Pipelines from text and from objects, and the registries of passes and rules."""

from dataclasses import dataclass

import pytest
from bb.dialects.diagnostics import OpError
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import (
    ALL_PASSES,
    PassError,
    PassPipeline,
    PipelineError,
    describe_pass,
    register_pass,
    register_rule,
)
from bb.lowering.pipelines.text import parse_pipeline
from bb.passes.rules import ALL_RULES
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern
from xdsl.utils.exceptions import PassFailedException

TWICE = """
func.func @twice(%a: i32) -> i32 {
  %x = arith.addi %a, %a : i32
  %y = arith.addi %a, %a : i32
  func.return %y : i32
}
"""


@dataclass(frozen=True)
class OptionsPass(ModulePass):
    """Have an option of each kind."""

    name = "options"

    count: int = 1
    rate: float = 0.5
    label: str = "none"
    fast: bool = False
    sizes: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    either: int | str = "last"
    maybe: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.label == "refuse":
            raise PassFailedException("no thanks")
        if self.label == "crash":
            raise KeyError("lost")
        if self.label == "break":
            function = op.body.block.first_op
            assert function is not None
            last = function.regions[0].block.last_op
            assert last is not None
            last.operands = []


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ALL_PASSES, "options", lambda: OptionsPass)


def parsed(text: str) -> OptionsPass:
    (step,) = parse_pipeline(text, {"options": lambda: OptionsPass})
    assert isinstance(step, OptionsPass)
    return step


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("options", OptionsPass()),
        ("options{}", OptionsPass()),
        ("options{count=3}", OptionsPass(count=3)),
        ("options{count=-3}", OptionsPass(count=-3)),
        ("options{rate=2}", OptionsPass(rate=2.0)),
        ("options{rate=1e-3}", OptionsPass(rate=0.001)),
        ("options{label=12}", OptionsPass(label="12")),
        ("options{label=true}", OptionsPass(label="true")),
        ('options{label="a, b={c}"}', OptionsPass(label="a, b={c}")),
        (r'options{label="say \"hi\" \\"}', OptionsPass(label='say "hi" \\')),
        ("options{label=dir/file.json}", OptionsPass(label="dir/file.json")),
        ("options{fast}", OptionsPass(fast=True)),
        ("options{fast=true}", OptionsPass(fast=True)),
        ("options{fast=false}", OptionsPass(fast=False)),
        ("options{sizes=4}", OptionsPass(sizes=(4,))),
        ("options{sizes=4,8,16}", OptionsPass(sizes=(4, 8, 16))),
        ("options{names=a-b,c}", OptionsPass(names=("a-b", "c"))),
        ("options{names=M,8}", OptionsPass(names=("M", "8"))),
        ("options{either=3}", OptionsPass(either=3)),
        ("options{either=last}", OptionsPass(either="last")),
        ("options{maybe=3}", OptionsPass(maybe=3)),
        ("options{maybe}", OptionsPass(maybe=None)),
        (" options { count = 2  sizes = 1 , 2\n fast } ", OptionsPass(count=2, sizes=(1, 2), fast=True)),
    ],
)
def test_options(text: str, expected: OptionsPass):
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("options{count=1.5}", "pass 'options': option 'count' takes an integer, not 1.5"),
        ("options{count=1,2}", "pass 'options': option 'count' takes an integer, not 1,2"),
        ("options{count}", "pass 'options': option 'count' takes an integer, not nothing"),
        ('options{count="1"}', "pass 'options': option 'count' takes an integer, not \"1\""),
        ("options{rate=fast}", "pass 'options': option 'rate' takes a number, not fast"),
        ("options{fast=1}", "pass 'options': option 'fast' takes true or false, not 1"),
        (
            "options{sizes=a}",
            "pass 'options': option 'sizes' takes a comma-separated list of integers, not a",
        ),
        ("options{size=1}", "pass 'options' has no option 'size'; did you mean 'sizes'?"),
        ("options{count=}", "expected a value for option 'count'"),
        ("options{count=1", "expected an option of 'options' or '}' at character 16, found the end"),
        ('options{label="a}', "expected a value for option 'label'"),
        ("options}", "expected a comma between passes at character 8, found '}'"),
        (",", "expected the name of a pass at character 1, found ','"),
        ("options,", "expected the name of a pass at character 9, found the end"),
        ("option", "there is no pass named 'option'; did you mean 'options'?"),
    ],
)
def test_errors_are_one_sentence(text: str, message: str):
    with pytest.raises(PipelineError) as error:
        parsed(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_pipelines_round_trip_through_text(registered: None):
    text = 'cse,options{count=3 rate=0.25 label="x y" sizes=4,8},dce'
    pipeline = PassPipeline(text)
    assert str(pipeline) == text
    assert PassPipeline(str(pipeline)).passes == pipeline.passes
    assert PassPipeline("  ").passes == ()


def test_run_returns_the_module_and_calls_back():
    seen: list[tuple[str | None, str | None]] = []
    pipeline = PassPipeline(
        "cse,dce",
        callback=lambda before, module, after: seen.append((before and before.name, after and after.name)),
    )
    module = parse_module(TWICE)
    assert pipeline.run(module) is module
    assert str(module).count("arith.addi") == 1
    assert seen == [(None, "cse"), ("cse", "dce"), ("dce", None)]


def test_the_input_is_verified_even_without_passes():
    module = parse_module(TWICE.replace("func.return %y : i32", "func.return"))
    with pytest.raises(OpError, match=r"'func\.return' op Expected arguments"):
        PassPipeline().run(module)


def test_failures_name_the_pass(registered: None):
    with pytest.raises(PassError, match=r"^pass 'options': no thanks$"):
        PassPipeline("options{label=refuse}").run(parse_module(TWICE))
    with pytest.raises(OpError, match=r"t\.mlir:5:3: pass 'options' left an invalid program: 'func\.return'"):
        PassPipeline("options{label=break}").run(parse_module(TWICE, "t.mlir"))
    with pytest.raises(KeyError) as crash:
        PassPipeline("options{label=crash}").run(parse_module(TWICE))
    assert crash.value.__notes__ == ["while running pass 'options'"]


def test_registering(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.lowering.pipelines.ALL_PASSES", dict(ALL_PASSES))
    assert register_pass(OptionsPass) is OptionsPass
    with pytest.raises(ValueError, match="a pass named 'options' is registered already"):
        register_pass(OptionsPass)
    with pytest.raises(ValueError, match="is named 'options' and cannot be registered as 'other'"):
        register_pass(OptionsPass, "other")


def test_registering_rules(monkeypatch: pytest.MonkeyPatch):
    class Rule(RewritePattern): ...

    monkeypatch.setattr("bb.passes.rules.ALL_RULES", dict(ALL_RULES))
    assert register_rule("my-rule", Rule) is Rule
    with pytest.raises(ValueError, match="a rule named 'my-rule' is registered already"):
        register_rule("my-rule", Rule)
    with pytest.raises(ValueError, match="may only hold"):
        register_rule("my rule", Rule)


@pytest.mark.parametrize("name", sorted(ALL_PASSES))
def test_every_pass_loads_and_has_a_description(name: str):
    assert ALL_PASSES[name]().name == name
    line = describe_pass(name)
    assert line.endswith(".")
    assert len(line) <= 110


@pytest.mark.parametrize("name", sorted(ALL_PASSES))
def test_a_pass_is_found_by_its_name(name: str):
    """`array-decompose` is `passes/array/decompose`; what leads to the next dialect is in `lowering`."""
    module = ALL_PASSES[name]().__module__
    if module.startswith("bb."):
        dialect, _, rest = name.partition("-")
        own, between = f"bb.passes.{dialect}.{rest}", f"bb.lowering.{name}"
        assert module in (own.replace("-", "_"), between.replace("-", "_"))
