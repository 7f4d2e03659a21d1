"""`array-decompose` against the composites' own numpy formulas, through the interpreter of core ops."""

import warnings

import numpy as np
import pytest
from array_evaluation import DTYPES, evaluate
from bb.dialects.array import (
    AttentionOp,
    GeluOp,
    LayerNormOp,
    ReluOp,
    RmsNormOp,
    SigmoidOp,
    SiluOp,
    SoftmaxOp,
)
from bb.dialects.context import make_context
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.passes.array.decompose import ArrayDecomposePass
from xdsl.dialects.func import FuncOp

COMPOSITES = (SoftmaxOp, LayerNormOp, RmsNormOp, SiluOp, GeluOp, ReluOp, SigmoidOp, AttentionOp)


def program(line, operands, element, result=0, dynamic=()):
    """A function of one operation; `?` for the extents of the axes named in `dynamic` by their letters.

    `operands` are (name, [(letter, extent), …], element type or None); `result` is an operand number or axes.
    """

    def text(axes, type):
        extents = ["?" if letter in dynamic else str(extent) for letter, extent in axes]
        return f"tensor<{'x'.join([*extents, type or element])}>"

    types = {name: text(axes, type) for name, axes, type in operands}
    out = list(types.values())[result] if isinstance(result, int) else text(result, None)
    arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
    line = line.format(out=out, **types)
    source = f"func.func @f({arguments}) -> {out} {{ %r = {line} func.return %r : {out} }}"
    module = parse_module(source, "test.mlir", make_context())
    verify(module)
    return module


def inputs(operands, dtype, seed=0):
    random = np.random.default_rng(seed)
    arrays = []
    for _, axes, type in operands:
        shape = [extent for _, extent in axes]
        if type == "i1":
            mask = random.random(shape) < 0.7
            mask[..., 0] = True  # no row without any visible key: there the decomposed form gives NaN
            arrays.append(mask)
        else:
            arrays.append(random.standard_normal(shape).astype(DTYPES[type or dtype]))
    return arrays


def rows(*extents):
    return [(letter, extent) for letter, extent in zip("ABK"[-len(extents) :], extents, strict=True)]


def attention_case(q_heads=None, kv_heads=None, batch=None, m=5, n=7, d=4, length=3, extra="", others=()):
    lead = [("B", batch)] if batch else []
    q = lead + ([("H", q_heads)] if q_heads else []) + [("M", m), ("D", d)]
    kv = lead + ([("G", kv_heads)] if kv_heads else []) + [("N", n)]
    axes = {"q": q, "k": [*kv, ("D", d)], "v": [*kv, ("L", length)]}
    line = f"array.attention %q, %k, %v {extra} : {{q}}, {{k}}, {{v}} -> {{out}}"
    operands = [(name, value, None) for name, value in axes.items()]
    return line, [*operands, *others], [*q[:-1], ("L", length)]


X = [("x", rows(3, 5, 7), None)]
NORM = [*X, ("g", rows(7), None), ("b", rows(7), None)]
CASES = {
    "relu": ("array.relu %x : {x}", X, 0),
    "sigmoid": ("array.sigmoid %x : {x}", X, 0),
    "silu": ("array.silu %x : {x}", X, 0),
    "gelu exact": ("array.gelu exact %x : {x}", X, 0),
    "gelu tanh": ("array.gelu tanh %x : {x}", X, 0),
    "softmax last": ("array.softmax %x axis 2 : {x}", X, 0),
    "softmax middle": ("array.softmax %x axis 1 : {x}", X, 0),
    "softmax of one": ("array.softmax %x axis 0 : {x}", [("x", rows(1), None)], 0),
    "layer_norm": ("array.layer_norm %x eps 1.0e-5 : {x}", X, 0),
    "layer_norm scale": ("array.layer_norm %x scale(%g : {g}) eps 1.0e-5 : {x}", NORM[:2], 0),
    "layer_norm both": ("array.layer_norm %x scale(%g : {g}) shift(%b : {b}) eps 1.0e-3 : {x}", NORM, 0),
    "layer_norm of one": ("array.layer_norm %x eps 1.0e-3 : {x}", [("x", rows(4, 1), None)], 0),
    "rms_norm": ("array.rms_norm %x eps 1.0e-6 : {x}", X, 0),
    "rms_norm scale": ("array.rms_norm %x scale(%g : {g}) eps 1.0e-6 : {x}", NORM[:2], 0),
    "attention": attention_case(),
    "attention heads": attention_case(2, 2, extra="scale 0.3"),
    "attention batch": attention_case(2, 2, 3, m=1, n=1, d=1, length=1),
    "attention scale 1": attention_case(2, 2, extra="scale 1.0 causal"),
    "attention causal": attention_case(2, 2, 3, extra="causal"),
    "attention grouped": attention_case(6, 2, 3, extra="causal"),
    "attention one kv head": attention_case(3, 1, extra="causal"),
    "attention bias": attention_case(
        4, 2, 3, extra="bias(%b : {b})", others=[("b", [("H", 4), ("M", 5), ("N", 7)], None)]
    ),
    "attention plain bias": attention_case(
        4, 2, 3, extra="bias(%b : {b})", others=[("b", [("M", 5), ("N", 7)], "f32")]
    ),
    "attention mask": attention_case(
        4, 2, 3, extra="mask(%m : {m})", others=[("m", [("B", 3), ("1", 1), ("1", 1), ("N", 7)], "i1")]
    ),
    "attention all": attention_case(
        *(4, 2, 3),
        extra="bias(%b : {b}) mask(%m : {m}) scale 0.5 causal",
        others=[
            ("b", [("B", 3), ("H", 4), ("M", 5), ("N", 7)], None),
            ("m", [("M", 5), ("N", 7)], "i1"),
        ],
    ),
}
DYNAMIC = {"none": "", "sequence": "AMN", "batch": "B", "all but heads": "ABMNLK", "row": "K"}


def decomposed(module):
    ArrayDecomposePass().apply(make_context(), module)
    verify(module)
    assert not any(isinstance(op, COMPOSITES) for op in module.walk())
    text = str(module)
    assert str(parse_module(text, "again.mlir", make_context())) == text
    return module


@pytest.mark.parametrize("dynamic", DYNAMIC)
@pytest.mark.parametrize("case", CASES)
def test_float64(case, dynamic):
    line, operands, result = CASES[case]
    module = program(line, operands, "f32", result, DYNAMIC[dynamic])
    arrays = inputs(operands, "f64")
    (expected,) = evaluate(module, "f", arrays, float64=True)
    (got,) = evaluate(decomposed(module), "f", arrays, float64=True)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


BOUNDS = {"f16": 4e-3, "bf16": 3e-2, "f32": 4e-6, "f64": 1e-13}


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_own_dtype(case, element):
    """Both forms, in the program's dtype, are close to the composite in float64."""
    line, operands, result = CASES[case]
    module = program(line, operands, element, result)
    arrays = inputs(operands, element)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (exact,) = evaluate(
            module, "f", [a if a.dtype == bool else a.astype(np.float64) for a in arrays], float64=True
        )
        (direct,) = evaluate(module, "f", arrays, float64=False)
        (got,) = evaluate(decomposed(module), "f", arrays, float64=False)
    for array in (direct, got):
        assert array.dtype == DTYPES[element]
        np.testing.assert_allclose(
            array.astype(np.float64), exact, rtol=BOUNDS[element], atol=BOUNDS[element]
        )


def test_names_and_locations():
    module = program("array.softmax %x axis 1 : {x}", [("x", rows(4, 8), None)], "f32")
    (softmax,) = (op for op in module.walk() if isinstance(op, SoftmaxOp))
    location = softmax.location
    softmax.results[0].name_hint = "weights"
    decomposed(module)
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    *core, _ = function.body.block.ops
    assert [op.results[0].name_hint for op in core] == ["max", "shifted", "exp", "sum", "weights"]
    assert all(inner.location == location for op in core for inner in op.walk())


def test_extreme_logits_stay_finite():
    module = program("array.softmax %x axis 1 : {x}", [("x", rows(2, 3), None)], "f16")
    x = np.array([[6e4, -6e4, 0], [-6e4, -6e4, -6e4]], np.float16)
    (got,) = evaluate(decomposed(module), "f", [x], float64=False)
    np.testing.assert_allclose(got.astype(float), [[1, 0, 0], [1 / 3] * 3], atol=1e-3)
