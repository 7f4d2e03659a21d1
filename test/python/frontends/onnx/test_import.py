"""Whole models as exporters write them: imported, and compared with ONNX's reference evaluator in float64."""

from typing import Any

import bb
import numpy as np
import pytest
from bb.frontends.onnx.importer import Imported, imported
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_models import GraphOf, encoder, encoder_inputs, extent, layer_norm, linear


def run(program: Imported, inputs: dict[str, Any], **more: Any) -> Any:
    given = {each.argument: inputs[each.name] for each in program.inputs}
    return bb.run(program.module, {**given, **program.weights}, **more)


def exact(model: Any, inputs: dict[str, Any]) -> Any:
    return ReferenceEvaluator(model).run(None, inputs)[0]


@pytest.mark.parametrize("dims", [{}, {"batch": 2}, {"batch": 2, "length": 7}], ids=["any", "batch", "all"])
def test_an_encoder_agrees_with_the_reference(dims: dict[str, int]):
    inputs = encoder_inputs()
    expected = exact(encoder(dtype=np.float64), inputs)
    program = imported(encoder(), dims)
    np.testing.assert_allclose(run(program, inputs), expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(run(program, inputs, float64=True), expected, rtol=0, atol=1e-5)


def test_one_program_serves_every_length():
    program = imported(encoder())
    for batch, length in ((1, 4), (3, 11)):
        inputs = encoder_inputs(batch, length)
        expected = exact(encoder(dtype=np.float64), inputs)
        np.testing.assert_allclose(run(program, inputs), expected, rtol=0, atol=2e-6)


def test_the_program_has_inputs_then_weights_and_no_arithmetic_on_shapes():
    program = imported(encoder())
    text = str(program.module)
    assert [each.argument for each in program.inputs] == ["input_ids", "attention_mask"]
    assert text.count("bb.constant") == len(program.weights)
    assert '%input_ids: tensor<?x?xi64> {bb.dims = ["batch", "length"]}' in text
    assert "array.extent" not in text
    assert "dense<[" not in text  # weights never become text
    assert program.weight_names["layer_0_attention_q_weight"] == "layer.0.attention.q.weight"


def test_half_precision_stays_half_precision():
    program = imported(encoder(dtype=np.float16), {"batch": 2, "length": 7})
    inputs = encoder_inputs()
    found = run(program, inputs)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, exact(encoder(dtype=np.float64), inputs), rtol=0, atol=3e-2)


def test_weights_are_shared_through_identity():
    g = GraphOf()
    x = g.input("x", ["n", 8])
    weight = g.random("w", 8, 8)
    first = g.node("MatMul", x, g.node("Identity", weight))
    g.output(g.node("MatMul", first, g.node("Identity", g.node("Identity", weight))))
    assert list(imported(g.model()).weights) == ["w"]


def test_unused_weights_are_no_arguments():
    g = GraphOf()
    g.random("unused", 8, 8)
    g.output(g.node("Relu", g.input("x", [4])))
    assert not imported(g.model()).weights


def test_names_of_arguments_are_names_of_mlir_and_differ():
    g = GraphOf()
    total = g.input("x.0", [4])
    for name in ("/a/b:0", "a.b_0", "0", "out"):
        total = g.node("Add", total, g.random(name, 4))
    g.output(total)
    program = imported(g.model())
    names = [each.argument for each in program.inputs] + list(program.weights)
    assert len(set(names)) == 5
    assert "out" not in names
    parsed = bb.parse(str(program.module))
    assert [value.name_hint for value in parsed.body.block.first_op.body.block.args] == names  # pyright: ignore


@pytest.mark.parametrize("opset", [13, 17, 18, 21, 22])
def test_opsets(opset: int):
    """The axes of a mean are an attribute up to opset 17, and then an input."""
    g = GraphOf()
    x = g.input("x", ["n", 6])
    mean = g.node("ReduceMean", x, axes=[-1]) if opset < 18 else g.node("ReduceMean", x, g.integers(-1))
    halves = g.node("Split", x, outputs=["a", "b"], axis=1, num_outputs=2 if opset >= 18 else None)
    g.output(
        g.node(
            "Add", g.node("Squeeze", g.node("Sub", x, mean)), halves and g.node("Concat", "b", "a", axis=1)
        )
    )
    x0 = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32)
    expected = x0 - x0.mean(1, keepdims=True) + np.concatenate([x0[:, 3:], x0[:, :3]], 1)
    np.testing.assert_allclose(run(imported(g.model(opset)), {"x": x0}), expected, atol=1e-6)


def test_functions_of_the_model_and_branches_of_known_conditions():
    """A function of the model with an attribute, called twice, and an If that a shape decides."""
    body = [
        helper.make_node("Constant", [], ["factor"]),
        helper.make_node("Mul", ["a", "factor"], ["b"]),
    ]
    reference = body[0].attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "value_float", "factor", 1
    function = helper.make_function(
        "own", "Scaled", ["a"], ["b"], body, [helper.make_opsetid("", 17)], attributes=["factor"]
    )
    g = GraphOf()
    x = g.input("x", ["n", 4])
    twice = g.node("Scaled", g.node("Scaled", x, domain="own", factor=3.0), domain="own", factor=2.0)
    branches = {
        name: helper.make_graph(
            [helper.make_node(operator, [twice], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )
        for name, operator in (("then", "Neg"), ("else", "Exp"))
    }
    is_matrix = g.node("Equal", g.node("Size", g.node("Shape", x)), g.integer(2))
    g.output(g.node("If", is_matrix, then_branch=branches["then"], else_branch=branches["else"]))
    model = g.model(functions=[function])
    model.opset_import.append(helper.make_opsetid("own", 1))
    x0 = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(run(imported(model), {"x": x0}), -6 * x0)


def test_operators_of_onnx_runtime():
    g = GraphOf()
    x, y = g.input("x", ["n", 8]), g.input("y", ["n", 8])
    scale, shift = g.random("scale", 8), g.random("shift", 8)
    normal = g.node("SkipLayerNormalization", x, y, scale, shift, domain="com.microsoft", epsilon=1e-5)
    g.output(g.node("Gelu", normal, domain="com.microsoft"))
    model = g.model()
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    plain = GraphOf()
    names = plain.input("x", ["n", 8]), plain.input("y", ["n", 8])
    plain.initializers = g.initializers
    total = plain.node("Add", *names)
    normal = plain.node("LayerNormalization", total, scale, shift, epsilon=1e-5)
    plain.output(plain.node("Gelu", normal))
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal((3, 8)).astype(np.float32) for name in ("x", "y")}
    expected = exact(plain.model(20), inputs)
    np.testing.assert_allclose(run(imported(model), inputs), expected, atol=2e-6)


# Extents that are known only in a call


def dynamic(name: str) -> Any:
    """A graph about `x`, `[batch, length, 4]`, by the name of what it does."""
    g = GraphOf()
    x = g.input("x", ["batch", "length", 4])
    length = g.node("Squeeze", extent(g, x, 1), g.integers(0))
    match name:
        case "range":
            steps = g.node("Range", g.integer(0), length, g.integer(1))
            found = g.node("Mul", x, g.node("Unsqueeze", g.node("Cast", steps, to=1), g.integers(0, 2)))
        case "constant_of_shape":
            shape = g.node("Concat", extent(g, x, 0), extent(g, x, 1), g.integers(4), axis=0)
            found = g.node("Add", x, g.node("ConstantOfShape", shape))
        case "expand":
            row = g.random("row", 1, 1, 4)
            shape = g.node("Concat", extent(g, x, 0), extent(g, x, 1), g.integers(1), axis=0)
            found = g.node("Concat", x, g.node("Expand", row, shape), axis=1)
        case "expand_by_where":
            """-1 keeps an extent, as torch.onnx writes it."""
            shape = g.node("Concat", g.integers(-1), extent(g, x, 1), g.integers(-1), axis=0)
            ones = g.node("ConstantOfShape", g.integers(3), value=helper.make_tensor("v", 7, [1], [1]))
            kept = g.node("Where", g.node("Equal", shape, g.integers(-1, -1, -1)), ones, shape)
            found = g.node("Add", x, g.node("Expand", g.random("row", 4), kept))
        case "causal":
            square = g.node("Concat", extent(g, x, 1), extent(g, x, 1), axis=0)
            ones = helper.make_tensor("v", 1, [1], [1.0])
            mask = g.node("Trilu", g.node("ConstantOfShape", square, value=ones), upper=0)
            found = g.node("MatMul", mask, x)
        case "last":
            found = g.node("Slice", x, g.integers(-2), g.integers(2**63 - 1), g.integers(1))
        case "without_last":
            found = g.node("Slice", x, g.integers(0), g.integers(-1), g.integers(1))
        case "window":
            places = g.random("table", 20, 4)
            found = g.node("Add", x, g.node("Slice", places, g.integers(0), extent(g, x, 1), g.integers(0)))
        case "mean":
            found = g.node("ReduceMean", x, axes=[1])
        case "flatten":
            found = g.node("Reshape", x, g.integers(0, -1))
        case "scale":
            root = g.node("Sqrt", g.node("Cast", length, to=1))
            found = g.node("Div", x, root)
        case "twice":
            found = g.node("Add", g.node("Tile", x, g.integers(1, 2, 1)), g.scalar(1))
        case "size":
            found = g.node("Mul", x, g.node("Cast", g.node("Size", x), to=1))
        case _:
            raise AssertionError(name)
    g.output(found)
    return g.model()


@pytest.mark.parametrize(
    "name",
    [
        *("range", "constant_of_shape", "expand", "expand_by_where", "causal", "last", "without_last"),
        *("window", "mean", "flatten", "scale", "twice", "size"),
    ],
)
def test_unknown_extents(name: str):
    model = dynamic(name)
    program = imported(model)
    for shape in ((2, 5, 4), (1, 3, 4)):
        inputs = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
        np.testing.assert_allclose(run(program, inputs), exact(model, inputs), atol=1e-5)


def test_merging_two_unknown_extents_is_an_error_with_advice():
    g = GraphOf()
    x = g.input("x", ["batch", "length", 4])
    g.output(g.node("Reshape", x, g.integers(-1, 4), name="/merge"))
    with pytest.raises(bb.ModelError) as caught:
        bb.import_onnx(g.model())
    assert str(caught.value) == (
        "Reshape in /merge: it reshapes [batch, length, 4] to [batch*length, 4], which merges or splits "
        "unknown extents: fix them with dims="
    )
    assert bb.import_onnx(g.model(), dims={"batch": 1})


# Errors


def test_all_problems_are_named_at_once():
    g = GraphOf()
    x = g.input("x", [4, 8])
    best = g.node("TopK", x, g.integers(2), outputs=["values", "indices"], name="/router/TopK")
    g.node("Einsum", x, equation="ii->i", name="/diagonal", outputs=["z"])
    pool = g.node("Unheard", best, name="/odd", domain="com.example")
    g.output(g.node("Relu", pool))
    with pytest.raises(bb.ModelError) as caught:
        bb.import_onnx(g.model())
    assert str(caught.value).splitlines() == [
        "TopK in /router/TopK: the operator is not supported",
        "Einsum in /diagonal: its equation 'ii->i' repeats a label, or does not fit the arrays",
    ]
    assert [problem.origin.op for problem in caught.value.problems] == ["TopK", "Einsum"]


@pytest.mark.parametrize(
    ("dims", "values", "message"),
    [
        ({"lenght": 3}, {}, "the model has no dim 'lenght'; its dims are: batch, length"),
        ({"batch": -1}, {}, "dim 'batch' is -1, expected at least 0"),
        ({}, {"input_idz": 3}, "the model has no input 'input_idz'; did you mean 'input_ids'?"),
        (
            {},
            {"input_ids": [1.5]},
            "the value of input 'input_ids' has shape [1] and dtype float64, expected shape [batch, length] "
            "and dtype int64",
        ),
    ],
)
def test_wrong_dims_and_values(dims: dict[str, int], values: dict[str, Any], message: str):
    with pytest.raises(bb.ModelError) as caught:
        bb.import_onnx(encoder(), dims, values)
    assert str(caught.value) == message


def test_an_attribute_that_is_not_known_is_not_ignored():
    g = GraphOf()
    x = g.input("x", [4, 8])
    g.output(g.node("Softmax", x, name="s", axis=-1, temperature=2.0))
    with pytest.raises(bb.ModelError, match=r"^Softmax in s: its attribute 'temperature' is not supported$"):
        bb.import_onnx(g.model())


@pytest.mark.parametrize(
    ("element", "dims", "message"),
    [
        (TensorProto.UINT8, [4], "input in x: it has elements of uint8, which arrays cannot have"),
        (TensorProto.STRING, [4], "input in x: it has elements of string, which arrays cannot have"),
        (TensorProto.FLOAT, None, "input 'x' has no shape, expected at least its rank"),
    ],
)
def test_inputs_that_arrays_cannot_hold(element: int, dims: Any, message: str):
    g = GraphOf()
    g.output(g.node("Abs", g.input("x", dims, element)))
    with pytest.raises(bb.ModelError) as caught:
        bb.import_onnx(g.model())
    assert str(caught.value) == message


def test_linear_and_norm_helpers_make_what_they_say():
    """The models' parts are decomposed: no operator of the standard hides them."""
    g = GraphOf()
    g.output(layer_norm(g, linear(g, g.input("x", [2, 8]), "up", 8, 8), "norm", 8))
    used = {node.op_type for node in g.nodes}
    assert "LayerNormalization" not in used
    assert {"ReduceMean", "Sqrt", "MatMul"} <= used
