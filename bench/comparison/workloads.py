"""The rows of the table, their inputs, their float64 references, and the work in them.

Attention is softmax(q kᵀ / √D) v over heads, q [H, M, D], k and v [H, N, D]. Where a causal row has more keys
than queries the mask is aligned to the lower right, as with a cache of earlier keys: query i sees
keys j <= i + N - M. LayerNorm and RMSNorm are Ba et al. (arXiv 1607.06450) and Zhang and Sennrich (arXiv
1910.07467), SwiGLU is Shazeer (arXiv 2002.05202), gelu is the exact one, with erf.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from bb.tools.docs.small_examples import resized, respell
from numpy.typing import NDArray

try:
    from scipy.special import erf  # ten times as fast
except ImportError:
    from bb.runtime.interpreter.scalar_semantics import erf

Array = NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16)}

BOUNDS = {"f32": 1e-5, "bf16": 2e-2}
"""Largest error of a result that counts as right, relative to the largest element of the reference."""

LAYER_NORM_EPS = 1e-5
RMS_NORM_EPS = 1e-6

WEIGHTS: dict[str, tuple[str, ...]] = {
    "attention": (),
    "layernorm_matmul": ("gamma", "beta", "w", "bias"),
    "swiglu": ("gamma", "w_gate", "w_up", "w_down"),
    "softmax": (),
    "rms_norm": ("gamma",),
    "gelu_gate": ("bias",),
}
"""The arguments that are the same in every call, by kind; the others are activations."""

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"

# Extents in the programs of bench/programs, so that they can be replaced.
_SPELT = {
    "attention_heads": {"H": 4, "M": 150, "N": 170, "D": 48},
    "attention_decode": {"H": 4, "M": 1, "N": 170, "D": 48},
    "attention_causal_cached": {"H": 7, "M": 333, "N": 517, "D": 80},
    "rms_norm": {"M": 150, "N": 96},
}
CACHED_EXTENTS = {"M": 333, "N": 517, "D": 80}
"""Extents of `attention_causal_cached`, whose mask holds N - M as a number."""


@dataclass(frozen=True)
class Workload:
    """One row: a kind of program at some extents in an element type."""

    name: str
    kind: str
    extents: Mapping[str, int]
    dtype: str = "f32"
    causal: bool = False

    @property
    def weights(self) -> tuple[str, ...]:
        """The arguments that are constant."""
        return WEIGHTS[self.kind]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arguments, in the order of the program's."""
        e = self.extents
        match self.kind:
            case "attention":
                keys = (self.heads, e["N"], e["D"])
                return {"q": self.result_shape, "k": keys, "v": keys}
            case "layernorm_matmul":
                rows, columns = (e["M"], e["K"]), (e["N"],)
                return {
                    "x": rows,
                    "gamma": rows[1:],
                    "beta": rows[1:],
                    "w": (e["K"], e["N"]),
                    "bias": columns,
                }
            case "swiglu":
                up = (e["D"], e["F"])
                return {"x": (e["M"], e["D"]), "gamma": up[:1], "w_gate": up, "w_up": up, "w_down": up[::-1]}
            case "softmax":
                return {"x": (e["M"], e["N"])}
            case "rms_norm":
                return {"x": (e["M"], e["N"]), "gamma": (e["N"],)}
            case _:
                return {"x": (e["M"], e["N"]), "bias": (e["N"],), "gate": (e["M"], e["N"])}

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the one result."""
        e = self.extents
        match self.kind:
            case "attention":
                return (self.heads, e["H"] // self.heads * e["M"], e["D"])
            case "swiglu":
                return (e["M"], e["D"])
            case _:
                return (e["M"], e["N"])

    @property
    def heads(self) -> int:
        """Heads of keys and values.

        Where they are fewer than those of queries, rivals get the queries that share one as its rows, which
        is the same without a mask; ours get heads of queries.
        """
        return self.extents.get("G", self.extents["H"])

    @property
    def program_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arguments as the program has them."""
        if "G" not in self.extents:
            return self.shapes
        return {**self.shapes, "q": tuple(self.extents[name] for name in "HMD")}

    @property
    def size(self) -> str:
        """The extents for people."""
        listed = ", ".join(f"{name} = {extent}" for name, extent in self.extents.items())
        return f"{listed}, causal" if self.causal else listed

    @property
    def flops(self) -> int:
        """Flops of contractions, a multiply-add as two; of a causal attention those of visible pairs."""
        e = self.extents
        match self.kind:
            case "attention":
                pairs = int(visible(e["M"], e["N"]).sum()) if self.causal else e["M"] * e["N"]
                return 4 * e["H"] * pairs * e["D"]
            case "layernorm_matmul":
                return 2 * e["M"] * e["K"] * e["N"]
            case "swiglu":
                return 6 * e["M"] * e["D"] * e["F"]
            case _:
                return 0

    @property
    def bytes(self) -> int:
        """Bytes of every argument once and of the result once."""
        elements = sum(math.prod(shape) for shape in (*self.shapes.values(), self.result_shape))
        return elements * DTYPES[self.dtype].itemsize

    def program(self) -> str:
        """The text of the program, an example where there is one for it."""
        e = self.extents
        match self.kind:
            case "attention" if self.causal and e["M"] == e["N"]:
                extents = {"H": e["H"], "S": e["M"], "D": e["D"]}
                return resized("attention_causal", extents, self.dtype)[0]
            case "attention" if self.causal:
                return self._own("attention_causal_cached")
            case "attention" if "G" in e:
                extents = {"G": e["G"], "M": e["M"], "N": e["N"], "D": e["D"], "L": e["D"]}
                return resized("attention_gqa", extents, self.dtype)[0]
            case "attention":
                # An extent of 1 has to be written as such: respelling finds extents by their numbers.
                return self._own("attention_decode" if e["M"] == 1 else "attention_heads")
            case "swiglu":
                return resized("rmsnorm_ffn_swiglu", e, self.dtype)[0]
            case "rms_norm":
                return self._own("rms_norm")
            case kind:
                return resized(kind, e, self.dtype)[0]

    def _own(self, name: str) -> str:
        spelt = _SPELT[name]
        new = {dim: self.extents[dim] for dim, extent in spelt.items() if extent != 1}
        return respell((PROGRAMS / f"{name}.mlir").read_text(encoding="utf-8"), spelt, new, self.dtype)

    def inputs(self) -> dict[str, Array]:
        """Random arguments, the same in every run: of scale 1, weights such that products keep it."""
        rng = np.random.default_rng(zlib.crc32(self.kind.encode()))
        found: dict[str, Array] = {}
        for name, shape in self.shapes.items():
            array = rng.standard_normal(shape, dtype=np.float32)
            if len(shape) == 2 and name in self.weights:
                array /= math.sqrt(shape[0])
            if name == "gamma":
                array *= 0.1
                array += 1
            found[name] = array.astype(DTYPES[self.dtype], copy=False)
        return found

    def reference(self, inputs: Mapping[str, Array]) -> Array:
        """The result in float64, by numpy."""
        wide = {name: array.astype(np.float64) for name, array in inputs.items()}
        return _REFERENCES[self.kind](self, wide)


def visible(queries: int, keys: int) -> NDArray[np.bool_]:
    """Return a mask of the keys that a query sees under a causal mask: bool [queries, keys]."""
    return np.arange(keys)[None, :] <= np.arange(queries)[:, None] + (keys - queries)


def _softmax(x: Array) -> Array:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _attention(workload: Workload, a: Mapping[str, Array]) -> Array:
    extents = workload.extents
    hidden = ~visible(extents["M"], extents["N"]) if workload.causal else None
    heads: list[Array] = []
    for q, k, v in zip(a["q"], a["k"], a["v"], strict=True):
        scores = q @ k.T / math.sqrt(extents["D"])
        if hidden is not None:
            scores[hidden] = -np.inf
        heads.append(_softmax(scores) @ v)
    return np.stack(heads)


def _layernorm_matmul(_: Workload, a: Mapping[str, Array]) -> Array:
    centred = a["x"] - a["x"].mean(axis=-1, keepdims=True)
    normed = centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + LAYER_NORM_EPS)
    return (normed * a["gamma"] + a["beta"]) @ a["w"] + a["bias"]


def _rms_norm(_: Workload, a: Mapping[str, Array]) -> Array:
    squares = np.mean(a["x"] * a["x"], axis=-1, keepdims=True)
    return a["x"] / np.sqrt(squares + RMS_NORM_EPS) * a["gamma"]


def _swiglu(workload: Workload, a: Mapping[str, Array]) -> Array:
    y = _rms_norm(workload, a)
    gate = y @ a["w_gate"]
    return (gate / (1 + np.exp(-gate)) * (y @ a["w_up"])) @ a["w_down"]


def _gelu_gate(_: Workload, a: Mapping[str, Array]) -> Array:
    z = a["x"] + a["bias"]
    return 0.5 * z * (1 + erf(z * math.sqrt(0.5))) * a["gate"]


_REFERENCES: dict[str, Callable[[Workload, Mapping[str, Array]], Array]] = {
    "attention": _attention,
    "layernorm_matmul": _layernorm_matmul,
    "swiglu": _swiglu,
    "softmax": lambda _, a: _softmax(a["x"]),
    "rms_norm": _rms_norm,
    "gelu_gate": _gelu_gate,
}


def _row(name: str, kind: str, dims: str, *extents: int) -> Workload:
    return Workload(name, kind, dict(zip(dims, extents, strict=True)), causal=name.endswith("c"))


F32_ROWS: Sequence[Workload] = (
    _row("A1", "attention", "HMND", 16, 1024, 1024, 64),
    _row("A1c", "attention", "HMND", 16, 1024, 1024, 64),
    _row("A2", "attention", "HMND", 8, 2048, 2048, 128),
    _row("A2c", "attention", "HMND", 8, 2048, 2048, 128),
    _row("A3", "attention", "HMND", 32, 128, 128, 64),
    _row("A3c", "attention", "HMND", 32, 128, 128, 64),
    _row("A4", "attention", "HMND", 32, 1, 4096, 128),
    _row("A5", "attention", "HMND", 7, 333, 517, 80),
    _row("A5c", "attention", "HMND", 7, 333, 517, 80),
    _row("A6", "attention", "HGMND", 32, 8, 1, 4096, 128),
    _row("B1", "layernorm_matmul", "MKN", 2048, 1024, 1024),
    _row("B2", "layernorm_matmul", "MKN", 512, 4096, 4096),
    _row("B3", "layernorm_matmul", "MKN", 8, 4096, 4096),
    _row("B4", "layernorm_matmul", "MKN", 333, 517, 1111),
    _row("C1", "swiglu", "MDF", 1024, 1024, 2816),
    _row("C2", "swiglu", "MDF", 256, 2048, 5632),
    _row("C3", "swiglu", "MDF", 4, 2048, 5632),
    _row("C4", "swiglu", "MDF", 1, 4096, 11008),
    _row("D1", "softmax", "MN", 8192, 4096),
    _row("D2", "rms_norm", "MN", 8192, 4096),
    _row("D3", "gelu_gate", "MN", 8192, 4096),
)

BF16_ROWS: Sequence[Workload] = tuple(
    replace(row, name=f"{row.name}.bf16", dtype="bf16")
    for row in F32_ROWS
    if row.name in ("A1", "A2", "A4", "B1", "B2", "B3", "C1", "C2", "C4", "D1", "D2", "D3")
)

ROWS: dict[str, Workload] = {row.name: row for row in (*F32_ROWS, *BF16_ROWS)}
"""Every row by name, in the order of the table."""

_SMALL = 24


def tiny(workload: Workload) -> Workload:
    """The same row at small extents, to try the harness; what is measured then means nothing."""
    small = {
        name: min(extent, _SMALL + index) for index, (name, extent) in enumerate(workload.extents.items())
    }
    if "G" in small:
        small["H"] = 4 * small["G"]  # what the example has
    if workload.causal:
        if workload.extents["M"] == workload.extents["N"]:
            small["N"] = small["M"]
        else:
            small |= CACHED_EXTENTS | {"H": 1}
    return replace(workload, extents=small)
