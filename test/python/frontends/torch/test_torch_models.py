"""Small transformers of several families, imported and compiled, against torch in float64."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import bb  # noqa: E402
import torch_models as models  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


def ids(*shape: int, below: int = 50) -> Any:
    return torch.randint(1, below, shape)


def padded(batch: int, length: int) -> Any:
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[0, 4:] = 0
    return mask


MODELS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "llama": lambda: (models.Llama(), (ids(2, 7),)),
    "bert": lambda: (models.Bert(), (ids(2, 7), padded(2, 7))),
    "gpt2": lambda: (models.Gpt2(), (torch.randn(2, 7, 40),)),
    "vit": lambda: (models.Vit(), (torch.randn(2, 3, 10, 15),)),
    "t5": lambda: (models.T5(), (torch.randn(2, 9, 24),)),
}
PARAMETERS = pytest.mark.parametrize("name", MODELS)


def made(name: str) -> tuple[Any, tuple[Any, ...]]:
    torch.manual_seed(0)
    model, args = MODELS[name]()
    return model.eval(), args


def exact(model: Any, args: tuple[Any, ...]) -> list[Any]:
    """The results in float64, of weights and inputs as they are."""
    wide = [x.double() if x.is_floating_point() else x for x in args]
    with torch.no_grad():
        found = copy.deepcopy(model).double()(*wide)
    return torch.utils._pytree.tree_leaves(found)


def check_close(found: Any, model: Any, args: tuple[Any, ...], tolerance: float) -> None:
    results, wanted = torch.utils._pytree.tree_leaves(found), exact(model, args)
    assert len(results) == len(wanted)
    for result, want in zip(results, wanted, strict=True):
        result = torch.as_tensor(result)
        assert result.shape == want.shape
        assert (result.double() - want).abs().max() <= tolerance * want.abs().max()


def interpreted(model: Any, args: tuple[Any, ...]) -> Any:
    program = torch.export.export(model, args, strict=False)
    module = bb.import_torch(program)
    given = {node: tensor.detach().numpy() for node, tensor in weights_by_argument(program).items()}
    names = [argument.name_hint for argument in next(iter(module.body.ops)).body.block.args]
    inputs = iter(args)
    return bb.run(module, [given[n] if n in given else next(inputs).numpy() for n in names])


def weights_by_argument(program: Any) -> dict[str, Any]:
    from bb.frontends.shared.graph import value_name

    tensors = {**program.state_dict, **program.constants}
    return {value_name(name): tensor for name, tensor in tensors.items()}


@PARAMETERS
def test_imported_program_is_right_in_the_interpreter(name: str):
    model, args = made(name)
    check_close(interpreted(model, args), model, args, 1e-5)


class Layers(torch.nn.Module):
    """The layers of a Llama alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(models.LlamaLayer(48, 4, 2, 144) for _ in range(2))

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        for layer in self.layers:
            x = layer(x, cos, sin)
        return x


def test_compiled_layers_are_one_function_of_one_kernel():
    torch.manual_seed(0)
    model, args = Layers().eval(), (torch.randn(2, 7, 48), torch.randn(7, 12), torch.randn(7, 12))
    compiled = bb.from_torch(model, args, fallback="error")
    check_close(compiled(*args), model, args, 1e-5)
    assert [layer.name for layer in compiled.layers] == ["layers.0", "layers.1"]
    assert [(function.name, function.kernels) for function in compiled.functions] == [("LlamaLayer", 1)]
    assert compiled.report.weight_bytes == sum(tensor.nbytes for tensor in model.state_dict().values())


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, pytest.param(torch.float16, marks=pytest.mark.slow)], ids=str
)
def test_narrow_models_are_as_exact_as_torch(dtype: Any):
    torch.manual_seed(0)
    layer = torch.nn.Sequential(models.RmsNorm(12), torch.nn.Linear(12, 7), torch.nn.GELU()).eval().to(dtype)
    args = (torch.randn(2, 5, 12).to(dtype),)
    (want,) = exact(layer, args)
    with torch.no_grad():
        own = (layer(*args).double() - want).abs().max()
    compiled = bb.from_torch(layer, args, fallback="error")
    found = compiled(*args)
    assert found.dtype == dtype
    assert (found.double() - want).abs().max() <= 2 * own
    assert compiled.kernels == 1
