"""`torch.compile(model, backend="bb")`."""

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import bb  # noqa: E402
from bb.frontends.torch.backend import LATEST  # noqa: E402
from torch._dynamo.exc import BackendCompilerFailed  # noqa: E402
from torch.nn import functional as F  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    LATEST.clear()
    torch.manual_seed(0)


class Block(torch.nn.Module):
    """A layer with enough operations to be a function of its own."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x: Any) -> Any:
        h = self.norm(x)
        h = F.silu(self.up(h)) * torch.sigmoid(h.repeat(1, 1, 2)) + 1
        return x + self.down(h * 0.5 + 0.25)


class Stack(torch.nn.Module):
    def __init__(self, layers: int = 2, width: int = 6):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block(width) for _ in range(layers))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def test_layers_are_compiled_once_and_weights_bound_again_when_they_change():
    model, x = Stack().eval(), torch.randn(2, 3, 6)
    compiled = torch.compile(model, backend="bb", options={"fallback": "error"})
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-6)
        (own,) = LATEST
        assert [layer.name for layer in own.layers] == ["layers.0", "layers.1"]
        assert len(own.functions) == 1
        assert own.report.problems == ()

        bound = [layer._bound for layer in own.layers]
        compiled(x)
        assert [layer._bound for layer in own.layers] == bound
        model.layers[1].up.weight.mul_(2)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-6)
        assert own.layers[0]._bound is bound[0]
        model.layers[0].down.bias = torch.nn.Parameter(torch.ones(6))
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-6)


def test_extents_may_change():
    model = Stack(1).eval()
    compiled = torch.compile(model, backend="bb", dynamic=True)
    with torch.no_grad():
        for batch, length in ((2, 3), (4, 9), (5, 2)):
            x = torch.randn(batch, length, 6)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    first = LATEST[0]
    assert "tensor<?x?x6xf32>" in str(first.functions[0].program)


class Cache(torch.nn.Module):
    """Writes to a buffer, and has an operation that torch has to run."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x: Any, at: Any) -> Any:
        self.cache.index_copy_(0, at, x * 2 + 1)
        return (self.cache.exp() * x).sum(0), x.topk(2).values


def test_buffers_change_and_torch_runs_the_rest():
    model = Cache().eval()
    own = copy.deepcopy(model)
    compiled = torch.compile(model, backend="bb")
    with torch.no_grad():
        for position in (0, 2):
            x, at = torch.randn(1, 3), torch.tensor([position])
            for found, want in zip(compiled(x, at), own(x, at), strict=True):
                torch.testing.assert_close(found, want)
            torch.testing.assert_close(model.cache, own.cache)
    operations = {problem.origin.op for problem in LATEST[0].report.problems}
    assert "aten.topk.default" in operations


def message_of(call: Any) -> str:
    with pytest.raises(BackendCompilerFailed) as error:
        call()
    return str(error.value)


def test_training_is_refused():
    model = torch.compile(torch.nn.Linear(3, 3), backend="bb")
    message = message_of(lambda: model(torch.randn(2, 3)))
    assert "backend 'bb' is for inference: call the model under torch.no_grad()" in message


def test_fallback_error_names_all_operations():
    def function(x: Any) -> Any:
        return x.topk(1).values + x.sort(-1).values.exp()

    compiled = torch.compile(function, backend="bb", options={"fallback": "error"})
    message = message_of(lambda: compiled(torch.randn(2, 3)))
    line = function.__code__.co_firstlineno + 1
    assert f"aten.topk.default at {__file__}:{line}: there is no such operation" in message
    assert f"aten.sort.default at {__file__}:{line}: there is no such operation" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"options": {"level": 3}}, "backend 'bb' has no option 'level'; there are: target, fallback"),
        ({"options": {"target": "tpu"}}, "tpu"),
        ({"options": {"target": "cuda"}}, "is on cpu, and the target is 'cuda'"),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], message: str):
    compiled = torch.compile(lambda x: x.exp(), backend="bb", **options)
    assert message in message_of(lambda: compiled(torch.randn(3)))


def test_importing_bb_does_not_import_torch():
    import subprocess
    import sys

    code = "import sys, bb; bb.compile, bb.Model, bb.ModelError; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert bb.from_torch.__module__ == "bb.frontends.torch.model"
