"""The interpreter of composite array operations against plain numpy formulas."""

import math

import numpy as np
import pytest
from array_evaluation import DTYPES
from single_operations import normal, run


def softmax_rows(x):
    return np.array(
        [[math.exp(v - max(row)) / sum(math.exp(w - max(row)) for w in row) for v in row] for row in x]
    )


def attention_loops(q, k, v, scale, keep):
    """One head, one query at a time."""
    result = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        visible = [j for j in range(k.shape[0]) if keep(i, j)]
        if not visible:
            continue
        scores = np.array([scale * sum(q[i, d] * k[j, d] for d in range(q.shape[1])) for j in visible])
        weights = np.exp(scores - scores.max())
        result[i] = sum(w * v[j] for w, j in zip(weights / weights.sum(), visible, strict=True))
    return result


class TestComposites:
    @pytest.mark.parametrize(
        ("name", "formula"),
        [
            ("relu", lambda x: x if x > 0 else 0.0),
            ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
            ("silu", lambda x: x / (1 + math.exp(-x))),
            ("gelu exact", lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
            (
                "gelu tanh",
                lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
            ),
        ],
    )
    def test_activations(self, name, formula):
        x = np.linspace(-5, 5, 41)
        got = run(f"array.{name} %x : tensor<41xf32>", x, float64=True, x="41xf32")
        np.testing.assert_allclose(got, [formula(v) for v in x], rtol=1e-14, atol=1e-15)

    def test_softmax(self):
        x = normal(3, 7, dtype=np.float64)
        got = run("array.softmax %x axis 1 : tensor<3x7xf32>", x, float64=True, x="3x7xf32")
        np.testing.assert_allclose(got, softmax_rows(x), rtol=1e-14)
        got = run("array.softmax %x axis 0 : tensor<3x7xf32>", x, float64=True, x="3x7xf32")
        np.testing.assert_allclose(got, softmax_rows(x.T).T, rtol=1e-14)

    def test_norms(self):
        x, g, b = (
            normal(3, 7, dtype=np.float64),
            normal(7, dtype=float, seed=1),
            normal(7, dtype=float, seed=2),
        )
        types = {"x": "3x7xf64", "g": "7xf64", "b": "7xf64"}
        vectors = "scale(%g : tensor<7xf64>) shift(%b : tensor<7xf64>)"
        line = f"array.layer_norm %x {vectors} eps 0.1 : tensor<3x7xf64>"
        expected = [(row - row.mean()) / math.sqrt(row.var() + 0.1) * g + b for row in x]
        np.testing.assert_allclose(run(line, x, g, b, **types), expected, rtol=1e-13)
        line = "array.layer_norm %x shift(%b : tensor<7xf64>) eps 0.1 : tensor<3x7xf64>"
        expected = [(row - row.mean()) / math.sqrt(row.var() + 0.1) + b for row in x]
        np.testing.assert_allclose(run(line, x, b, x="3x7xf64", b="7xf64"), expected, rtol=1e-13)
        line = "array.rms_norm %x scale(%g : tensor<7xf64>) eps 0.1 : tensor<3x7xf64>"
        expected = [row / math.sqrt(sum(row * row) / 7 + 0.1) * g for row in x]
        np.testing.assert_allclose(run(line, x, g, x="3x7xf64", g="7xf64"), expected, rtol=1e-13)

    def test_attention_groups_and_causal(self):
        q, k, v = (normal(*shape, dtype=float) for shape in ((6, 5, 4), (2, 7, 4), (2, 7, 3)))
        line = (
            "array.attention %q, %k, %v causal "
            ": tensor<6x?x4xf32>, tensor<2x?x4xf32>, tensor<2x?x3xf32> -> tensor<6x?x3xf32>"
        )
        got = run(line, q, k, v, float64=True, q="6x?x4xf32", k="2x?x4xf32", v="2x?x3xf32")
        expected = [attention_loops(q[h], k[h // 3], v[h // 3], 0.5, lambda i, j: j <= i) for h in range(6)]
        np.testing.assert_allclose(got, expected, rtol=1e-12)

    @pytest.mark.parametrize("element", DTYPES)
    def test_attention_rows_without_keys_are_zero(self, element):
        q, k = normal(3, 4, dtype=DTYPES[element]), normal(5, 4, dtype=DTYPES[element], seed=1)
        mask = np.array([[True] * 5, [False] * 5, [False, True, False, False, True]])
        t = f"4x{element}"
        line = (
            "array.attention %q, %k, %k mask(%m : tensor<3x5xi1>) scale 2.0 "
            f": tensor<3x{t}>, tensor<5x{t}>, tensor<5x{t}> -> tensor<3x{t}>"
        )
        got = run(line, q, k, k, mask, q=f"3x{t}", k=f"5x{t}", m="3x5xi1")
        expected = attention_loops(
            *(q.astype(float), k.astype(float), k.astype(float), 2.0), lambda i, j: mask[i, j]
        )
        assert (got[1] == 0).all()
        tolerance = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-5, "f64": 1e-12}[element]
        np.testing.assert_allclose(got.astype(float), expected, rtol=tolerance, atol=tolerance)

    def test_attention_finite_masks_keep_their_meaning(self):
        q, k = np.ones((1, 2)), normal(3, 2, dtype=float)
        line = (
            "array.attention %q, %k, %k bias(%b : tensor<3xf64>) "
            ": tensor<1x2xf64>, tensor<3x2xf64>, tensor<3x2xf64> -> tensor<1x2xf64>"
        )
        bias = np.full(3, -1e30)
        got = run(line, q, k, k, bias, q="1x2xf64", k="3x2xf64", b="3xf64")
        np.testing.assert_allclose(got, k.mean(axis=0, keepdims=True))
