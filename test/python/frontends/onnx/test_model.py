"""`bb.from_onnx`: models that are called with numpy arrays, compiled for the CPU."""

from typing import Any

import bb
import numpy as np
import pytest
from bb.frontends.onnx.importer import imported
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx_models import GraphOf, gelu, linear

pytestmark = pytest.mark.long


def block(dtype: Any = np.float32) -> ModelProto:
    """A feed-forward block, and a second input that scales what it adds."""
    g = GraphOf(dtype)
    x, factor = g.input("hidden states", ["rows", 16]), g.input("factor", [16])
    up = gelu(g, linear(g, x, "up", 16, 32))
    g.output(g.node("Add", x, g.node("Mul", linear(g, up, "down", 32, 16), factor)), "out")
    return g.model()


@pytest.fixture(scope="module")
def model() -> Any:
    return bb.from_onnx(block())


@pytest.fixture
def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "hidden states": rng.standard_normal((5, 16)).astype(np.float32),
        "factor": rng.standard_normal(16).astype(np.float32),
    }


def test_results_are_those_of_the_reference(model: Any, inputs: dict[str, Any]):
    expected = ReferenceEvaluator(block(np.float64)).run(
        None, {name: array.astype(np.float64) for name, array in inputs.items()}
    )[0]
    found = model(inputs)
    assert list(found) == ["out"]
    np.testing.assert_allclose(found["out"], expected, rtol=0, atol=3e-6)


def test_a_block_is_one_kernel(model: Any):
    assert model.kernels == 1
    assert set(model.weights) == {
        "up.weight",
        "up.bias",
        "down.weight",
        "down.bias",
    }


def test_arrays_are_given_by_name_or_in_order(model: Any, inputs: dict[str, Any]):
    expected = model(inputs)["out"]
    for found in (
        model(*inputs.values()),
        model(**inputs),
        model(inputs["hidden states"], factor=inputs["factor"]),
        model(hidden_states=inputs["hidden states"], factor=inputs["factor"].tolist()),
    ):
        np.testing.assert_array_equal(found["out"], expected)


def test_another_number_of_rows_needs_no_compilation(model: Any, inputs: dict[str, Any]):
    first = model(inputs)["out"]
    fewer = model({**inputs, "hidden states": inputs["hidden states"][:2]})["out"]
    np.testing.assert_allclose(fewer, first[:2], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"factor": None}, "the model needs arrays for factor; its inputs: "),
        ({"factr": np.zeros(16)}, "the model has no input 'factr'; did you mean 'factor'?"),
        ({"factor": np.zeros(16)}, "input 'factor' has dtype float64, expected float32"),
        ({"factor": np.zeros(3, np.float32)}, "input 'factor' has shape [3], expected [16]: axis 0"),
        ({"factor": np.zeros((1, 16), np.float32)}, "input 'factor' has shape [1, 16], expected [16]"),
        (
            {"hidden states": np.zeros((2, 4), np.float32)},
            "input 'hidden states' has shape [2, 4], expected [rows, 16]: axis 1",
        ),
    ],
)
def test_wrong_arrays(model: Any, inputs: dict[str, Any], change: dict[str, Any], message: str):
    given = {name: array for name, array in {**inputs, **change}.items() if array is not None}
    with pytest.raises(bb.InputError) as caught:
        model(given)
    assert str(caught.value).startswith(message)


def test_too_many_arrays(model: Any, inputs: dict[str, Any]):
    with pytest.raises(bb.InputError) as caught:
        model(*inputs.values(), 3)
    listed = "hidden states [rows, 16] float32, factor [16] float32"
    assert str(caught.value) == f"the model takes 2 arrays ({listed}), got 3"
    with pytest.raises(bb.InputError, match=r"^input 'factor' is given twice$"):
        model(*inputs.values(), factor=inputs["factor"])


def test_weights_are_replaced(model: Any, inputs: dict[str, Any]):
    before = model(inputs)["out"]
    weights = imported(block()).weights
    original = {name: weights[name.replace(".", "_")] for name in ("down.weight", "down.bias")}
    model.bind({name: np.zeros_like(array) for name, array in original.items()})
    np.testing.assert_array_equal(model(inputs)["out"], inputs["hidden states"])
    model.bind(original)
    np.testing.assert_array_equal(model(inputs)["out"], before)
    with pytest.raises(bb.InputError) as caught:
        model.bind({"down.bias": np.zeros(3, np.float32)})
    assert (
        str(caught.value) == "weight 'down.bias' has shape [3] and dtype float32, expected [16] and float32"
    )


def test_known_values_and_arrays_without_elements():
    """A cache that is empty, as decoders are exported: the program does not have the argument."""
    g = GraphOf()
    past, x = g.input("past", [2, "past", 4]), g.input("x", [2, 3, 4])
    g.output(g.node("Relu", g.node("Concat", past, x, axis=1)), "present")
    model = bb.from_onnx(g.model(), dims={"past": 0})
    x0 = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    found = model(past=np.zeros((2, 0, 4), np.float32), x=x0)["present"]
    np.testing.assert_array_equal(found, np.maximum(x0, 0))
