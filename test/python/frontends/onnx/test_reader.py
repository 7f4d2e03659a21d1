"""Files that are truncated, wrong or made to do harm: one sentence; nothing outside the folder is read."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import bb
import numpy as np
import onnx
import pytest
from bb.frontends.onnx.importer import imported
from bb.frontends.onnx.reader import read_model
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx_models import GraphOf, encoder


def message(source: Any) -> str:
    with pytest.raises(bb.ModelError) as caught:
        bb.import_onnx(source)
    return str(caught.value)


def small() -> onnx.ModelProto:
    g = GraphOf()
    g.output(g.node("MatMul", g.input("x", ["n", 8]), g.random("w", 8, 4)))
    return g.model()


def test_paths_bytes_and_messages_are_read(tmp_path: Path):
    path = tmp_path / "model.onnx"
    onnx.save(small(), path)
    programs = [str(bb.import_onnx(each)) for each in (path, str(path), path.read_bytes(), small())]
    assert len(set(programs)) == 1


def test_a_file_that_is_not_there(tmp_path: Path):
    assert (
        message(tmp_path / "no.onnx") == f"{tmp_path / 'no.onnx'} cannot be read: No such file or directory"
    )
    assert message(tmp_path) == f"{tmp_path} cannot be read: Is a directory"


@pytest.mark.parametrize("part", [0, 1, 10, 100, 0.5, 0.99])
def test_truncated_files(part: float):
    data = small().SerializeToString()
    assert message(data[: part if isinstance(part, int) else int(part * len(data))])


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_files_with_wrong_bytes_are_programs_or_one_error(data: st.DataObject):
    text = bytearray(small().SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    with suppress(bb.ModelError):
        bb.import_onnx(bytes(text))


def test_other_files(tmp_path: Path):
    for number, text in enumerate((b"", b"PK\x03\x04", b"func.func @f()", os.urandom(2000))):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(text)
        assert message(path).startswith(f"{path} is no ONNX model, or it is truncated: ")


def test_text_files(tmp_path: Path):
    path = tmp_path / "model.onnxtxt"
    path.write_text(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }'
    )
    assert "array.relu" in str(bb.import_onnx(path))
    path.write_text("nonsense")
    assert message(path).startswith(f"{path} is no ONNX model, or it is truncated: ")


@pytest.mark.parametrize("opset", [1, 12, 10**6])
def test_opsets_that_are_not_read(opset: int):
    model = small()
    model.opset_import[0].version = opset
    newest = onnx.defs.onnx_opset_version()
    assert message(model) == f"the model has opset {opset}, expected one from 13 to {newest}"


def edited(edit: Any) -> onnx.ModelProto:
    model = small()
    edit(model.graph)
    return model


def rename(graph: Any) -> None:
    graph.node[0].input[1] = "nothing"


def define_twice(graph: Any) -> None:
    graph.node[1].output[0] = "x"


def loop(graph: Any) -> None:
    graph.node[0].input[0] = graph.node[1].output[0]


def drop_output(graph: Any) -> None:
    graph.output[0].name = "other"


def short_data(graph: Any) -> None:
    graph.initializer[0].raw_data = b"1234"


def negative_extent(graph: Any) -> None:
    graph.initializer[0].dims[0] = -8


def huge_extent(graph: Any) -> None:
    graph.initializer[0].dims[:] = [2**39, 2**39, 2**39]


def strings(graph: Any) -> None:
    graph.initializer[0].data_type = TensorProto.STRING


def unknown_type(graph: Any) -> None:
    graph.initializer[0].data_type = 1234


def negative_dim(graph: Any) -> None:
    graph.input[0].type.tensor_type.shape.dim[1].dim_value = -1


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (rename, "the model: MatMul '/MatMul_2' uses 'nothing', which nothing before it defines"),
        (define_twice, "the model: Identity '/Identity_3' defines 'x', which is defined already"),
        (loop, "the model: MatMul '/MatMul_2' uses 'result', which nothing before it defines"),
        (drop_output, "the model: nothing defines the output 'other'"),
        (short_data, "tensor 'w' of shape [8, 4] has 4 bytes, expected 128"),
        (negative_extent, "tensor 'w' has shape [-8, 4], expected extents of at least 0"),
        (
            huge_extent,
            f"tensor 'w' of shape [{2**39}, {2**39}, {2**39}] has 128 bytes, expected {4 * 2**117}",
        ),
        (
            strings,
            "tensor 'w' has elements of string, "
            "expected one of float, double, float16, bfloat16, bool, int32, int64",
        ),
        (
            unknown_type,
            "tensor 'w' has elements of number 1234, "
            "expected one of float, double, float16, bfloat16, bool, int32, int64",
        ),
        (negative_dim, "input 'x' has the extent -1, expected one from 0 to 2147483647"),
    ],
)
def test_graphs_that_are_wrong(edit: Any, text: str):
    assert message(edited(edit)) == text


def test_functions_that_call_each_other_end():
    model = small()
    node = helper.make_node("Again", ["a"], ["b"], domain="own")
    model.functions.append(
        helper.make_function("own", "Again", ["a"], ["b"], [node], [helper.make_opsetid("own", 1)])
    )
    model.graph.node[0].op_type, model.graph.node[0].domain = "Again", "own"
    del model.graph.node[0].input[1:]
    assert "functions call each other more than 20 deep" in message(model)


# External data


def external(folder: Path, location: str, **entries: str) -> Path:
    """A model whose only weight, 8 x 4 floats, lies in another file."""
    model = small()
    weight = model.graph.initializer[0]
    data = weight.raw_data
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        entry = weight.external_data.add()
        entry.key, entry.value = key, value
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    (folder / "w.bin").write_bytes(b"head" + data)
    return path


def test_external_data_are_read_from_the_folder(tmp_path: Path):
    path = external(tmp_path, "w.bin", offset="4", length="128")
    expected = imported(small()).weights["w"]
    np.testing.assert_array_equal(imported(path).weights["w"], expected)


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/passwd", "link", "a/../../w.bin", "", "no.bin", ".", "x\0y"]
)
def test_external_data_outside_the_folder_are_refused(tmp_path: Path, location: str):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(1000))
    (folder / "link").symlink_to(tmp_path / "w.bin")
    path = external(folder, location)
    expected = f"tensor 'w' has its data in '{location}', expected a file in the folder of the model"
    assert message(path) == expected


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"offset": "8"}, "tensor 'w' ends at byte 136 of 'w.bin', which has 132 bytes"),
        ({"offset": "-4"}, "tensor 'w' of shape [8, 4] has 128 bytes from -4 on, expected 128 bytes"),
        ({"length": "64"}, "tensor 'w' of shape [8, 4] has 64 bytes from 0 on, expected 128 bytes"),
        ({"length": "many"}, "tensor 'w' has an offset or a length that is no number"),
    ],
)
def test_external_data_of_wrong_places(tmp_path: Path, entries: dict[str, str], text: str):
    assert message(external(tmp_path, "w.bin", **entries)) == text


def test_external_data_without_a_folder(tmp_path: Path):
    data = external(tmp_path, "w.bin").read_bytes()
    assert message(data) == "tensor 'w' has its data in 'w.bin', but the model has no folder: give its path"


def test_a_large_model_is_not_copied_when_it_is_read():
    """Weights are views of the message's bytes."""
    weight = next(iter(imported(encoder()).weights.values()))
    assert not weight.flags.owndata
    assert read_model(small()).opsets == {"": 17}
