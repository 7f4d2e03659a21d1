"""ATen operations one by one: what `bb.import_torch` makes of them, in the interpreter, against torch."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import bb  # noqa: E402
from bb.dialects.diagnostics import location_of  # noqa: E402
from torch.nn import functional as F  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return torch.export.export(Function(function).eval(), args, strict=False, **options)


def check(function: Callable[..., Any], *args: Any, tolerance: float = 2e-6) -> None:
    """All results of a function, which returns a list, are as torch computes them, dtypes included."""
    module = bb.import_torch(exported(function, *args))
    read = [argument.name_hint for argument in next(iter(module.body.ops)).body.block.args]
    given = {f"args{number}" if number else "args0": x for number, x in enumerate(args)}
    found = bb.run(module, [given[name].numpy() for name in read])
    wanted = function(*args)
    for number, (result, want) in enumerate(zip(found, wanted, strict=True)):
        assert result.dtype == want.numpy().dtype, number
        np.testing.assert_allclose(result, want, rtol=tolerance, atol=tolerance, err_msg=str(number))


def floats(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def integers(*shape: int, low: int = -9, high: int = 9) -> Any:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(2))


def test_functions_of_floats():
    def function(x: Any, y: Any) -> list[Any]:
        positive = x.abs() + 0.5
        return [
            *(x.exp(), x.exp2(), x.expm1(), positive.log(), positive.log2(), positive.log1p()),
            *(positive.sqrt(), positive.rsqrt(), x.tanh(), x.erf(), x.sin(), x.cos(), x.floor(), x.ceil()),
            *(-x, x.sign(), positive.reciprocal(), x.isnan(), x.relu(), x.sigmoid(), F.silu(x), F.gelu(x)),
            *(F.gelu(x, approximate="tanh"), F.leaky_relu(x), F.softplus(x), F.hardtanh(x)),
            *(x + y, x - y, x * y, x / y, x + 2, 3 - x, x * 0.5, 1 / positive, torch.add(x, y, alpha=3)),
            *(torch.rsub(x, y, alpha=2), torch.maximum(x, y), torch.minimum(x, y), x.remainder(0.7)),
            *(x**2, x**3, positive**0.5, positive**-0.5, positive**1.3, positive**y, 2**x),
            *(x.clamp(-0.5, 0.5), x.clamp(min=0), x.clamp(max=0), torch.div(x, y, rounding_mode="floor")),
            *(x > y, x >= 0, x == x, x != y, torch.where(x > y, x, 0.0), x.masked_fill(x > 0, -math.inf)),
        ]

    check(function, floats(3, 5), floats(3, 5))


def test_functions_of_integers_and_truth_values():
    def function(i: Any, j: Any, x: Any) -> list[Any]:
        odd = i.remainder(2) == 1
        return [
            *(i + j, i - j, i * j, i + 1.5, i / j, i // j, torch.div(i, j, rounding_mode="trunc"), i % j),
            *(
                -i,
                i.fmod(4),
                i.abs(),
                i.sign(),
                i & j,
                i | j,
                i ^ j,
                ~i,
                i**2,
                i.clamp(0, 3),
                i.to(torch.int32),
            ),
            *(odd & (i > j), odd | (j > 1), ~odd, odd.logical_not(), torch.logical_and(i, j), odd.float()),
            *(i > x, i == 2, i.float(), x.long(), x.bool(), odd + 1, torch.where(odd, i, j), i.sum()),
            *(i.cumsum(1), odd.cumsum(0), odd.any(), odd.any(1), odd.all(0), i.amax(1), i.sum(0)),
        ]

    check(function, integers(4, 3), integers(4, 3, low=1), 3 * floats(4, 3))


def test_views():
    def function(x: Any, y: Any) -> list[Any]:
        a, b, c = x.split([1, 2, 1], dim=1)
        return [
            *(
                x.view(6, 4),
                x.reshape(2, 2, 6),
                x.flatten(1),
                x.unsqueeze(-1),
                x[:, None],
                x.permute(2, 0, 1),
            ),
            *(
                x.transpose(0, 2),
                y.t(),
                x.mT,
                x.expand(5, -1, -1, -1),
                x.repeat(2, 1, 3),
                x[:, 1:3],
                x[..., -1],
            ),
            *(x[1], x[:, ::3], x[:, 1::2], a, b, c, *x.unbind(0), *x.chunk(2, dim=2), torch.cat([x, x], -1)),
            *(torch.stack([y, 2 * y], 1), F.pad(x, (1, 2)), F.pad(x, (0, 0, 2, -1), value=3.0), x.roll(1, 1)),
            *(torch.arange(5), torch.arange(2, 9, 3), torch.arange(0, 1, 0.25), torch.full((2, 3), 7)),
            *(torch.zeros_like(x), torch.ones(2), torch.full_like(x, -math.inf), y.tril(), y.triu(1)),
        ]

    check(function, floats(2, 4, 3), floats(4, 4))


def test_reductions_and_norms():
    def function(x: Any, w: Any) -> list[Any]:
        return [
            *(
                x.sum(),
                x.sum(-1),
                x.sum((0, 2), keepdim=True),
                x.mean(),
                x.mean((-1, 1)),
                x.amax(1),
                x.amin(-1),
            ),
            *(x.var(-1), x.var(1, correction=0, keepdim=True), *torch.var_mean(x, 2), x.cumsum(-1)),
            *(x.softmax(1), x.log_softmax(-1), F.softmax(x, -1, dtype=torch.float64), x.norm(dim=-1)),
            *(F.layer_norm(x, (5,)), F.layer_norm(x, (5,), w, w, 1e-3), F.layer_norm(x, (4, 5))),
            *(F.rms_norm(x, (5,)), F.rms_norm(x, (5,), w, 1e-3), x.abs().max(), F.normalize(x, dim=1)),
        ]

    check(function, floats(3, 4, 5), floats(5), tolerance=1e-5)


def test_products_and_convolutions():
    def function(x: Any, m: Any, w: Any, image: Any, kernel: Any, wave: Any, taps: Any) -> list[Any]:
        v = w[0, :, 0, 0] if w.ndim == 4 else w[0]
        return [
            *(x @ m, x[0] @ m, x @ m[:, 0], m.t() @ x[0].t(), torch.bmm(x, x.mT), F.linear(x, w), v @ m),
            *(F.linear(x, w, w[:, 0]), F.linear(x[0, 0], w), torch.addmm(m[0], x[0], m, beta=2, alpha=3)),
            *(F.conv2d(image, kernel, stride=(2, 3)), F.conv2d(image, kernel, padding=1, stride=2)),
            *(F.conv2d(image, kernel, kernel[:, 0, 0, 0], padding="same"), F.conv1d(wave, taps, padding=1)),
            *(F.conv1d(wave, taps, stride=2, padding=1), F.conv1d(wave, taps, dilation=2)),
            F.conv1d(wave, taps[:, :2], groups=2),
        ]

    check(
        function,
        *(floats(2, 3, 5), floats(5, 4), floats(6, 5), floats(2, 3, 7, 8), floats(4, 3, 2, 3)),
        *(floats(2, 4, 9), floats(6, 4, 3)),
        tolerance=1e-5,
    )


def test_attention():
    def function(q: Any, k: Any, v: Any, mask: Any, bias: Any) -> list[Any]:
        attend = F.scaled_dot_product_attention
        return [
            *(attend(q, k, v, is_causal=True), attend(q, k, v, mask), attend(q, k, v, bias, scale=0.3)),
            *(attend(q[:, :1], k[:, :1], v[:, :1]), attend(q[0, 0], k[0, 0], v[0, 0])),
            attend(q, k[:, :2], v[:, :2], enable_gqa=True),
        ]

    q, k, v = (floats(2, 4, rows, 3) for rows in (5, 6, 6))
    mask = integers(2, 1, 5, 6) > -5
    check(function, q, k, v, mask, floats(4, 5, 6), tolerance=1e-5)


def test_look_ups():
    def function(table: Any, i: Any, j: Any, x: Any) -> list[Any]:
        return [
            *(F.embedding(i, table), table[i], x[:, :, j[0]], x[i[0], j[0]], x[:, i[0, :2] - 1, j[0, :2]]),
            *(
                table.gather(0, i[:, :3]),
                x.gather(2, j[None, :, :2].expand(1, -1, -1)),
                table.index_select(0, i[1]),
            ),
        ]

    check(
        function, floats(5, 3), integers(2, 4, low=0, high=2), integers(2, 4, low=0, high=2), floats(4, 3, 5)
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_narrow_floats(dtype: Any):
    def function(x: Any, y: Any) -> list[Any]:
        return [
            *(x + y, x * 0.3, x.exp(), x**3, x / y, F.gelu(x), x.softmax(-1), x.mean(-1), x @ y.t()),
            *(x.float(), F.layer_norm(x, (8,)), F.rms_norm(x, (8,)), x > y, x.float().to(dtype)),
        ]

    x, y = floats(4, 8).to(dtype), floats(4, 8).to(dtype)
    module = bb.import_torch(exported(function, x, y))
    found = bb.run(module, [x.float().numpy(), y.float().numpy()])
    exact = function(x.double(), y.double())
    eager = function(x, y)
    step = torch.finfo(dtype).eps
    for number, (result, want, own) in enumerate(zip(found, exact, eager, strict=True)):
        result = torch.as_tensor(np.asarray(result, dtype=np.float64))
        allowed = (own.double() - want.double()).abs().max() + 2 * step * want.double().abs().max()
        assert (result - want.double()).abs().max() <= allowed, number


def test_arguments_are_weights_and_inputs_by_name():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
    text = str(bb.import_torch(torch.export.export(model, (floats(4, 3),))))
    weights = "%_0_weight: tensor<2x3xf32> {bb.constant}, %_0_bias: tensor<2xf32> {bb.constant}"
    assert f"@main({weights}, %input: tensor<4x3xf32>)" in text


def test_operations_carry_the_line_of_the_model():
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            x = x.exp()  # this line
            return x

    (imported,) = bb.import_torch(torch.export.export(Model().eval(), (floats(2),), strict=False)).body.ops
    location = location_of(imported.body.block.first_op)
    assert location.filename.data == __file__
    line = Path(__file__).read_text().splitlines()[location.line.data - 1]
    assert line.endswith("# this line")


def test_unknown_extents():
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", min=3, max=64)

    def function(x: Any, i: Any) -> list[Any]:
        places = torch.arange(x.shape[1])
        causal = places[None] <= places[:, None]
        return [
            *(x.mean(1), x[:, -1], x[:, 1:], x.view(x.shape[0], x.shape[1], 2, 3).transpose(1, 2), places),
            *(
                causal,
                x + torch.zeros(x.shape[0], 1, 6),
                causal[None].expand(x.shape[0], -1, -1),
                i.cumsum(1),
            ),
        ]

    shapes = {"args": ({0: batch, 1: length}, {0: batch, 1: length})}
    program = exported(function, floats(2, 5, 6), integers(2, 5), dynamic_shapes=shapes)
    module = bb.import_torch(program)
    assert "tensor<?x?x6xf32> {bb.dims = " in str(module)
    x, i = floats(3, 7, 6), integers(3, 7)
    for number, (result, want) in enumerate(
        zip(bb.run(module, [x.numpy(), i.numpy()]), function(x, i), strict=True)
    ):
        np.testing.assert_allclose(result, want, rtol=1e-6, atol=1e-6, err_msg=str(number))
