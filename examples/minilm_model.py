"""Inputs of `minilm.py`: the sizes and weights of a BERT encoder, and sentences as batches of tokens."""

from __future__ import annotations

import json
import math
import struct
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Encode = Callable[[Array, Array], Array]
"""Token ids [B, S] and which of them are no padding [B, S] give embeddings [B, D] of length 1."""

LENGTH_STEP = 32
"""Sentences are padded to a multiple of this: few programs serve all lengths, 8 for up to 256 tokens."""


class ModelError(Exception):
    """The files of a model cannot be used; one sentence."""


@dataclass(frozen=True)
class Config:
    """The sizes of an encoder, named as in config.json."""

    hidden_size: int = 384
    intermediate_size: int = 1536
    num_attention_heads: int = 12
    num_hidden_layers: int = 6
    max_position_embeddings: int = 512
    vocab_size: int = 30522
    layer_norm_eps: float = 1e-12

    @classmethod
    def read(cls, path: Path) -> Config:
        """From config.json. Raises ModelError, also for what is not BERT with the exact GELU."""
        try:
            found = json.loads(path.read_bytes())
            kind = found["model_type"], found["hidden_act"], found["position_embedding_type"]
            sizes = {name: type(default)(found[name]) for name, default in vars(cls()).items()}
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} does not have the sizes of an encoder: {error!r}") from None
        if kind != ("bert", "gelu", "absolute"):
            raise ModelError(
                f"{path} describes a network of kind {', '.join(kind)}, expected bert, gelu, absolute"
            )
        return cls(**sizes)


_LAYER_NAMES = {
    "w_q": "attention.self.query.weight",
    "b_q": "attention.self.query.bias",
    "w_k": "attention.self.key.weight",
    "b_k": "attention.self.key.bias",
    "w_v": "attention.self.value.weight",
    "b_v": "attention.self.value.bias",
    "w_o": "attention.output.dense.weight",
    "b_o": "attention.output.dense.bias",
    "attention_gamma": "attention.output.LayerNorm.weight",
    "attention_beta": "attention.output.LayerNorm.bias",
    "w_up": "intermediate.dense.weight",
    "b_up": "intermediate.dense.bias",
    "w_down": "output.dense.weight",
    "b_down": "output.dense.bias",
    "ffn_gamma": "output.LayerNorm.weight",
    "ffn_beta": "output.LayerNorm.bias",
}
"""The weights of a layer by our names, and what model.safetensors calls them."""


def layer_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The shapes of a layer's weights; matrices are [outputs, inputs]."""
    d, f = config.hidden_size, config.intermediate_size
    shapes = {"w_up": (f, d), "b_up": (f,), "w_down": (d, f)}
    return {name: shapes.get(name, (d, d) if name.startswith("w_") else (d,)) for name in _LAYER_NAMES}


@dataclass(frozen=True)
class Model:
    """Weights in float32: embeddings `words` [V, D] and `places` [P, D], their LayerNorm, and the layers."""

    config: Config
    words: Array
    places: Array
    gamma: Array
    beta: Array
    layers: Sequence[Mapping[str, Array]]

    @classmethod
    def read(cls, directory: Path) -> Model:
        """From config.json and model.safetensors. Raises ModelError and OSError."""
        config = Config.read(directory / "config.json")
        tensors = read_safetensors(directory / "model.safetensors")
        d = config.hidden_size

        def take(name: str, shape: tuple[int, ...]) -> Array:
            tensor = tensors.get(name)
            if tensor is None or tensor.shape != shape or tensor.dtype != np.float32:
                found = "missing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
                raise ModelError(f"the weights '{name}' are {found}, expected float32 {list(shape)}")
            return tensor

        layers = [
            {
                name: take(f"encoder.layer.{number}.{_LAYER_NAMES[name]}", shape)
                for name, shape in layer_shapes(config).items()
            }
            for number in range(config.num_hidden_layers)
        ]
        # Every token is of type 0: its vector is added to all positions.
        types = take("embeddings.token_type_embeddings.weight", (2, d))
        places = take("embeddings.position_embeddings.weight", (config.max_position_embeddings, d))
        return cls(
            config,
            take("embeddings.word_embeddings.weight", (config.vocab_size, d)),
            places + types[0],
            take("embeddings.LayerNorm.weight", (d,)),
            take("embeddings.LayerNorm.bias", (d,)),
            layers,
        )


def read_safetensors(path: Path) -> dict[str, Array]:
    """The float32 arrays of a safetensors file: a header in JSON, then the elements in little-endian order.

    They are read-only, and mapped into memory. Raises ModelError and OSError.
    """
    with path.open("rb") as file:
        start = file.read(8)
        size = struct.unpack("<Q", start)[0] if len(start) == 8 else -1
        if not 2 <= size < path.stat().st_size - 7:
            raise ModelError(f"{path} is not a safetensors file: its header does not fit into it")
        try:
            header = json.loads(file.read(size))
            places = {
                name: (*map(int, entry["data_offsets"]), [int(extent) for extent in entry["shape"]])
                for name, entry in header.items()
                if name != "__metadata__" and entry["dtype"] == "F32"
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ModelError(f"{path} is not a safetensors file: its header is not understood") from None
    content = np.memmap(path, np.uint8, "r")[8 + size :]
    found: dict[str, Array] = {}
    for name, (begin, end, shape) in places.items():
        if not 0 <= begin <= end <= len(content) or end - begin != 4 * math.prod(shape):
            raise ModelError(f"{path}: the tensor '{name}' does not lie within the file")
        # A copy where the header's length leaves elements at odd addresses.
        found[name] = np.require(content[begin:end], requirements="A").view("<f4").reshape(shape)
    return found


def read_vocabulary(path: Path) -> list[str]:
    """The pieces of a vocabulary, one a line. Raises ModelError and OSError."""
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise ModelError(f"{path} is not text in UTF-8") from None


class WordPiece:
    """BERT's tokens: lower-case words without accents, cut into the longest pieces in the vocabulary."""

    def __init__(self, vocabulary: Iterable[str]):
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        if missing := [piece for piece in special if piece not in self._ids]:
            raise ModelError(f"the vocabulary lacks {', '.join(missing)}")
        self.padding, self._unknown, self._first, self._last = (self._ids[piece] for piece in special)

    def __call__(self, text: str, longest: int = 256) -> list[int]:
        """The ids of a text's tokens between those for its beginning and its end, `longest` in all."""
        ids = [number for word in _words(text) for number in self._pieces(word)]
        return [self._first, *ids[: longest - 2], self._last]

    def _pieces(self, word: str) -> list[int]:
        if len(word) > 100:
            return [self._unknown]
        found: list[int] = []
        at = 0
        while at < len(word):
            prefix = "##" if at else ""
            ends = range(len(word), at, -1)
            end = next((end for end in ends if prefix + word[at:end] in self._ids), None)
            if end is None:
                return [self._unknown]
            found.append(self._ids[prefix + word[at:end]])
            at = end
        return found


def _words(text: str) -> list[str]:
    """Words and punctuation marks; ideographs stand alone."""
    spaced: list[str] = []
    for sign in unicodedata.normalize("NFD", text):
        category = unicodedata.category(sign)
        if category == "Mn" or sign == "\ufffd" or (category in ("Cc", "Cf", "Co") and sign not in "\t\n\r"):
            continue
        ascii_mark = sign.isascii() and sign.isprintable() and not sign.isalnum() and sign != " "
        ideograph = unicodedata.name(sign, "").startswith("CJK UNIFIED IDEOGRAPH")
        alone = ascii_mark or ideograph or category.startswith("P")
        spaced.append(f" {sign} " if alone else sign.lower())
    return "".join(spaced).split()


@dataclass(frozen=True)
class Batch:
    """Sentences padded to one length: their numbers, token ids [B, S], and which are no padding [B, S]."""

    numbers: list[int]
    ids: Array
    keep: Array


def batches(tokens: Sequence[Sequence[int]], padding: int = 0) -> list[Batch]:
    """Sentences in batches, each of those that have the same length when rounded up to LENGTH_STEP."""
    lengths: dict[int, list[int]] = {}
    for number, sentence in enumerate(tokens):
        lengths.setdefault(-(-len(sentence) // LENGTH_STEP) * LENGTH_STEP, []).append(number)
    found: list[Batch] = []
    for length, numbers in sorted(lengths.items()):
        ids = np.full((len(numbers), length), padding)
        for row, number in enumerate(numbers):
            ids[row, : len(tokens[number])] = tokens[number]
        counts = np.array([len(tokens[number]) for number in numbers])
        found.append(Batch(numbers, ids, np.arange(length) < counts[:, None]))
    return found


def embeddings(encode: Encode, parts: Sequence[Batch]) -> Array:
    """The embeddings [sentences, D] of all batches, in the order of the sentences."""
    numbers = [number for part in parts for number in part.numbers]
    return np.concatenate([encode(part.ids, part.keep) for part in parts])[np.argsort(numbers)]
