"""`bb.from_torch`: models with their weights, operations that torch runs, and bad input."""

import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import bb  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


class Gate(torch.nn.Module):
    """Small, so that its compilation is quick; `scale` is a buffer that is not persistent."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))
        self.register_buffer("scale", torch.tensor([2.0, 3.0, 4.0]), persistent=False)

    def forward(self, x: Any, *, shift: Any = None) -> dict[str, Any]:
        y = x @ self.weight * self.scale
        return {"y": y if shift is None else y + shift, "x": x, "none": None}


class Chosen(torch.nn.Module):
    """Has operations that are not imported."""

    def forward(self, x: Any) -> Any:
        values, places = x.topk(2)
        return values + x.sort(-1).values[..., :2].exp(), places


class Counter(torch.nn.Module):
    """Changes its buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.count.add_(1)
        return x + self.count


@pytest.fixture(scope="module")
def gate() -> tuple[Any, Any]:
    torch.manual_seed(0)
    module = Gate().eval()
    return module, bb.from_torch(module, (torch.randn(2, 3),), {"shift": torch.randn(3)}, fallback="error")


def test_model_takes_and_gives_what_the_module_does(gate: tuple[Any, Any]):
    module, model = gate
    x, shift = torch.randn(2, 3), torch.randn(3)
    found, want = model(x, shift=shift), module(x, shift=shift)
    assert list(found) == ["y", "x", "none"]
    assert found["none"] is None
    assert torch.equal(found["x"], x)
    torch.testing.assert_close(found["y"], want["y"])
    assert [layer.name for layer in model.layers] == ["part0"]
    assert len(model.functions) == 1
    assert model.kernels == 1
    assert model.weights == ("weight", "scale")
    assert "1 kernels a call" in str(model.report)
    assert model.report.weight_bytes == 4 * (9 + 3)


def test_weights_are_replaced_by_bind(gate: tuple[Any, Any]):
    module, model = gate
    x, shift = torch.randn(2, 3), torch.zeros(3)
    old = module.weight.detach().clone()
    model.bind({"weight": torch.eye(3)})
    torch.testing.assert_close(model(x, shift=shift)["y"], x * module.scale)
    model.bind({"weight": old})
    torch.testing.assert_close(model(x, shift=shift)["y"], module(x, shift=shift)["y"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((torch.zeros(2, 3),), "the model takes (x: float32[2, 3], shift: float32[3]), got (float32[2, 3])"),
        ((torch.zeros(4, 3), torch.zeros(3)), "argument 'x' is float32[4, 3], expected float32[2, 3]"),
        (
            (torch.zeros(2, 3).double(), torch.zeros(3)),
            "argument 'x' is float64[2, 3], expected float32[2, 3]",
        ),
        ((torch.zeros(2, 3), 5), "argument 'shift' is of type int, expected float32[3]"),
    ],
)
def test_other_arguments_are_refused(gate: tuple[Any, Any], args: tuple[Any, ...], message: str):
    with pytest.raises(bb.InputError, match=f"^{re.escape(message)}$"):
        gate[1](*args[:1], **({"shift": args[1]} if len(args) > 1 else {}))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"bias": torch.zeros(3)}, "the model has no weight 'bias'; it has weight, scale"),
        ({"weight": torch.zeros(2, 3)}, "weight 'weight' is float32[2, 3], expected float32[3, 3]"),
        ({"weight": 3}, "weight 'weight' is of type int, expected float32[3, 3]"),
    ],
)
def test_other_weights_are_refused(gate: tuple[Any, Any], state: dict[str, Any], message: str):
    with pytest.raises(bb.InputError, match=f"^{re.escape(message)}$"):
        gate[1].bind(state)


def test_torch_runs_what_is_not_imported():
    module, x = Chosen().eval(), torch.randn(3, 5)
    model = bb.from_torch(module, (x,))
    for found, want in zip(model(x), module(x), strict=True):
        torch.testing.assert_close(found, want)
    assert [problem.origin.op for problem in model.report.problems] == [
        "aten.topk.default",
        "aten.sort.default",
    ]
    assert "not compiled: aten.topk.default at " in str(model.report)


def test_all_problems_are_reported_at_once_with_their_lines():
    with pytest.raises(bb.ModelError) as error:
        bb.from_torch(Chosen().eval(), (torch.randn(3, 5),), fallback="error")
    lines = str(error.value).splitlines()
    first = Chosen.forward.__code__.co_firstlineno
    for line, op, number in zip(lines, ("topk", "sort"), (first + 1, first + 2), strict=True):
        assert line.startswith(f"aten.{op}.default at {__file__}:{number}: ")
    with pytest.raises(bb.ModelError, match=r"aten\.topk"):
        bb.import_torch(torch.export.export(Chosen().eval(), (torch.randn(3, 5),)))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Gate(), "Gate is in training mode, expected a module after eval()"),
        (Counter().eval(), "buffer_mutation: the program changes 'count'"),
    ],
    ids=["training", "changes a buffer"],
)
def test_modules_that_do_not_only_compute_are_refused(module: Any, message: str):
    with pytest.raises(bb.ModelError, match=f"^{re.escape(message)}$"):
        bb.from_torch(module, (torch.randn(2, 3),))


def test_other_options_are_refused():
    with pytest.raises(bb.InputError, match=r"^fallback is 'numpy', expected 'torch' or 'error'$"):
        bb.from_torch(Gate().eval(), (torch.randn(2, 3),), fallback="numpy")  # type: ignore[arg-type]


def test_a_result_is_no_alias_of_an_argument():
    class Copy(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.clone()

    x = torch.ones(3)
    model = bb.from_torch(Copy().eval(), (x,))
    found = model(x)
    x.zero_()
    assert found.tolist() == [1, 1, 1]
