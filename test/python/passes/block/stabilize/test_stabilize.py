"""`block-stabilize`: programs keep their values in float64, and keep them in f32 and bf16 at hard inputs.

The bounds are those of docs/concepts/numerics.md: 2e-6 in f32 and 1e-2 in bf16, relative to the largest
element of a row, where the logits are exactly representable; NaN and infinities only where float64 has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from bb.dialects import block
from bb.dialects.attributes import STABILIZED
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.traffic.block import Traffic, traffic_of_function, values_for
from bb.passes.block.stabilize.needs import has_work
from bb.runtime.arrays.dtypes import BFLOAT16, to_dtype
from bb.runtime.interpreter.functions import Run, interpret
from bb.tools.docs.hard_inputs import MASKED, error, hard_inputs, logits
from bb.tools.docs.small_examples import HEAD_WIDTH, small_dims
from block_evaluation import evaluate
from example_programs import EXAMPLES, load, resized, respell
from fusion import PROGRAMS, PROGRAMS_DIR
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException

pytestmark = pytest.mark.long

Array = NDArray[Any]

TO_BLOCKS = "array-decompose,array-to-block"
BLOCK_SIZE = 8
BITS = {"f32": 24, "bf16": 8}
DTYPES: Mapping[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "bf16": BFLOAT16}
BOUNDS = {"f32": 2e-6, "bf16": 1e-2}
IMITATED = {"softmax_spellings": "safe", "attention_spellings": "safe"}
"""Programs all of whose functions do the same, and the one that float64 can compute."""

LOGARITHMIC = ("logsumexp", "log_softmax")
"""Programs that give -inf for a row that is masked everywhere; the others give 0."""


@dataclass(frozen=True)
class Case:
    """One function of an example, at small extents, or of a program for tests."""

    name: str
    entry: str

    def __str__(self) -> str:
        return self.name if self.name == self.entry else f"{self.name}-{self.entry}"

    def text(self, element_type: str = "f32") -> str:
        if self.name in EXAMPLES:
            return resized(self.name, small_dims(self.name), element_type)[0]
        text = (PROGRAMS_DIR / f"{self.name}.mlir").read_text()
        if self.name == "attention_projection":
            return respell(text, {"D": 6}, {"D": HEAD_WIDTH}, element_type)
        return respell(text, {}, {}, element_type)

    def ordinary(self) -> list[Array]:
        rng = np.random.default_rng(0)
        if self.name in EXAMPLES:
            return load(self.name)[1].inputs(rng, resized(self.name, small_dims(self.name))[1], self.entry)
        function = function_of(arrays(self), self.entry)
        return [rng.standard_normal(type.get_shape()) for type in function.function_type.inputs]  # pyright: ignore

    def hard(self, element_type: str) -> dict[str, list[Array]]:
        """Hard inputs in the element type."""
        found = hard_inputs(self.name, self.ordinary(), BITS[element_type])
        dtype = DTYPES[element_type]
        with np.errstate(over="ignore"):
            return {kind: [to_dtype(np.asarray(x), dtype) for x in xs] for kind, xs in found.items()}

    def expected(self, inputs: Sequence[Array], masked: bool) -> list[Array]:
        """Results in float64; promised ones for rows that are masked everywhere, where float64 gives NaN."""
        entry = IMITATED.get(self.name, self.entry)
        results = interpret(
            arrays(self), [x.astype(np.float64) for x in inputs], entry=entry, float64=True
        ).results
        promised = -np.inf if self.name in LOGARITHMIC else 0.0
        return [np.where(np.isnan(result), promised, result) if masked else result for result in results]


@cache
def arrays(case: Case, element_type: str = "f32") -> ModuleOp:
    return parse_module(case.text(element_type), str(case))


@cache
def fused(case: Case, options: str, element_type: str = "f32") -> ModuleOp:
    """The snapshots of the function, fused and not stabilised."""
    module = arrays(case, element_type).clone()
    for op in list(module.ops):
        if isinstance(op, FuncOp) and op.sym_name.data != case.entry:
            op.detach()
    return PassPipeline(f"{TO_BLOCKS},block-fuse{{{options}}}").run(module)


@cache
def stabilised(case: Case, options: str, element_type: str = "f32") -> ModuleOp:
    module = PassPipeline("block-stabilize").run(fused(case, options, element_type).clone())
    verify(module)
    return module


def functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp)]


def function_of(module: ModuleOp, entry: str) -> FuncOp:
    return next(op for op in functions(module) if op.sym_name.data == entry)


def run(module: ModuleOp, function: FuncOp, inputs: Sequence[Array], float64: bool = False) -> Run:
    return interpret(
        module, inputs, entry=function.sym_name.data, float64=float64, default_block_size=BLOCK_SIZE
    )


def all_cases() -> list[Case]:
    found = [Case(name, entry) for name in EXAMPLES for entry in load(name)[1].REFERENCES]
    for name in PROGRAMS:
        module = parse_module((PROGRAMS_DIR / f"{name}.mlir").read_text(), name)
        found += [Case(name, op.sym_name.data) for op in functions(module)]
    return found


def has_exponentials(case: Case) -> bool:
    return "exp" in case.text() or any(
        word in case.text() for word in ("softmax", "attention", "silu", "sigmoid")
    )


CASES = [case for case in all_cases() if has_exponentials(case)]
SOFTMAXES = [
    case for case in CASES if any(word in case.name for word in ("softmax", "attention", "logsumexp"))
]
NORMS = [case for case in all_cases() if case.name.startswith(("rmsnorm", "decoder", "norms"))]
READ_ONCE_MORE = ("attention_qknorm", "self_attention")
"""RMSNorms of which one loop computes the squares and a product."""
EXPLORED = "snapshot=all budget=8"
CHAIN_ENDS = ("snapshot=0", "snapshot=last")


# Values


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_snapshot_keeps_its_value_in_float64(case: Case):
    inputs = case.ordinary()
    expected = case.expected(inputs, masked=False)
    module = stabilised(case, EXPLORED)
    for function in functions(module):
        result = run(module, function, inputs, float64=True)
        for got, wanted in zip(result.results, expected, strict=True):
            assert error(got, wanted) <= 1e-9, function.sym_name.data
        total = Traffic()
        for _, traffic in traffic_of_function(function):
            total += traffic
        assert total.evaluate(values_for(result.extents, result.block_sizes)) == vars(result.counts)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_stabilised_survives_printing(case: Case):
    for options in CHAIN_ENDS:
        text = str(stabilised(case, options))
        assert str(parse_module(text, str(case))) == text


@pytest.mark.parametrize("case", SOFTMAXES, ids=str)
def test_nothing_more_is_moved(case: Case):
    """Equal traffic, but for the exponents of lists that are stored (vectors beside blocks), and for rows
    that one loop both sums and multiplies: these are read once more.
    """
    inputs = case.ordinary()
    for before, after in zip(
        functions(fused(case, EXPLORED)), functions(stabilised(case, EXPLORED)), strict=True
    ):
        old = run(fused(case, EXPLORED), before, inputs).counts
        new = run(stabilised(case, EXPLORED), after, inputs).counts
        stores_pairs = any(
            op.source.name_hint and op.result.name_hint == "exponent"
            for op in after.walk()
            if isinstance(op, block.StoreOp)
        )
        if not stores_pairs and not case.name.startswith(("attention_qk_layernorm",)):
            assert old.bytes_stored == new.bytes_stored
            if case.name in READ_ONCE_MORE:
                assert old.bytes_loaded <= new.bytes_loaded <= 2 * old.bytes_loaded
            else:
                assert old.bytes_loaded == new.bytes_loaded


# Hard inputs


def worst_errors(case: Case, options: str, element_type: str) -> dict[str, float]:
    """The largest error of any snapshot, for each kind of hard inputs."""
    module = stabilised(case, options, element_type)
    found: dict[str, float] = {}
    for kind, inputs in case.hard(element_type).items():
        expected = case.expected(inputs, masked=kind == MASKED)
        for function in functions(module):
            results = run(module, function, inputs).results
            worst = max(error(got, wanted) for got, wanted in zip(results, expected, strict=True))
            found[kind] = max(found.get(kind, 0.0), worst)
    return found


@pytest.mark.parametrize("case", SOFTMAXES, ids=str)
def test_hard_inputs_in_f32(case: Case):
    errors = worst_errors(case, EXPLORED, "f32")
    assert not {kind: worst for kind, worst in errors.items() if not worst <= BOUNDS["f32"]}


@pytest.mark.parametrize("options", CHAIN_ENDS)
@pytest.mark.parametrize("case", SOFTMAXES, ids=str)
def test_hard_inputs_in_bf16(case: Case, options: str):
    errors = worst_errors(case, options, "bf16")
    assert not {kind: worst for kind, worst in errors.items() if not worst <= BOUNDS["bf16"]}


@pytest.mark.parametrize("case", [case for case in SOFTMAXES if "softmax" in case.name], ids=str)
def test_one_whole_block(case: Case):
    errors = worst_errors(case, "whole=N", "f32")
    assert not {kind: worst for kind, worst in errors.items() if not worst <= BOUNDS["f32"]}


@pytest.mark.parametrize("element_type", BITS)
@pytest.mark.parametrize("case", NORMS, ids=str)
def test_norms_take_scales_out(case: Case, element_type: str):
    """Rows of zeros and scales from 1e-20 to 1e18 cost no accuracy (at most 4 times the rounding)."""
    unfused = PassPipeline(TO_BLOCKS).run(arrays(case, element_type).clone())
    module = stabilised(case, "snapshot=last", element_type)
    for kind, inputs in case.hard(element_type).items():
        expected = case.expected(inputs, masked=False)
        before, after = (
            max(map(error, run(program, function_of(program, case.entry), inputs).results, expected))
            for program in (unfused, module)
        )
        assert after <= max(BOUNDS[element_type], 4 * before), kind


def test_it_is_needed():
    """The same programs without it overflow."""
    case = Case("attention", "attention")
    module = fused(case, "snapshot=last")
    (function,) = functions(module)
    for kind in ("logits of ±1e4", "equal logits", "one outlier"):
        inputs = case.hard("f32")[kind]
        (result,) = run(module, function, inputs).results
        assert not np.isfinite(result).all()


# Rows that are masked everywhere


MASKED_CASES = [case for case in SOFTMAXES if MASKED in case.hard("f32")]


@pytest.mark.parametrize("case", MASKED_CASES, ids=str)
def test_masked_rows_have_their_promised_value(case: Case):
    inputs = case.hard("f32")[MASKED]
    promised = case.expected(inputs, masked=True)
    module = stabilised(case, "snapshot=last")
    (function,) = functions(module)
    for got, wanted in zip(run(module, function, inputs).results, promised, strict=True):
        rows = wanted == (-np.inf if case.name in LOGARITHMIC else 0.0)
        assert rows.any()
        assert np.array_equal(got[rows], wanted[rows])


@pytest.mark.parametrize("size", [4, 8, 32])
def test_a_softmax_of_a_vector(size: int):
    """Its maximum is no row maximum of blocks, and stays."""
    text = """
    func.func @f(%x: tensor<20xf32>) -> tensor<20xf32> {
      %y = array.softmax %x axis 0 : tensor<20xf32>
      func.return %y : tensor<20xf32>
    }
    """
    module = PassPipeline(f"{TO_BLOCKS},block-fuse,block-stabilize").run(parse_module(text))
    for x in (np.full(20, -np.inf), np.linspace(-1e4, 1e4, 20), np.full(20, 3e38)):
        (got,) = interpret(module, [x], default_block_size=size).results
        assert error(got, softmax(x, 0)) <= BOUNDS["f32"]


def softmax(x: Array, axis: int) -> Array:
    """In float64; 0 where everything is -inf."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(x.astype(np.float64) - np.max(x, axis=axis, keepdims=True))
        return np.nan_to_num(weights / weights.sum(axis=axis, keepdims=True))


COLUMNS = """
func.func @f(%x: tensor<20x12xf32>) -> tensor<20x12xf32> {
  %y = array.softmax %x axis 0 : tensor<20x12xf32>
  func.return %y : tensor<20x12xf32>
}
"""


@pytest.mark.parametrize("passes", ["block-fuse,", "block-fuse{snapshot=0},"])
@pytest.mark.parametrize("element_type", BITS)
def test_a_softmax_of_columns(element_type: str, passes: str):
    """Along the first axis, which is no row of a block; columns that are masked everywhere are 0."""
    source = parse_module(COLUMNS.replace("f32", element_type))
    module = PassPipeline(f"{TO_BLOCKS},{passes}block-stabilize").run(source)
    for kind, rows in logits(np.random.default_rng(0), 12, 20, BITS[element_type]).items():
        with np.errstate(over="ignore"):
            x = to_dtype(rows.T, DTYPES[element_type])
        (got,) = interpret(module, [x], default_block_size=BLOCK_SIZE).results
        assert error(got.T, softmax(x, 0).T) <= BOUNDS[element_type], kind
        if kind == MASKED:
            assert np.array_equal(got[:, ::3], np.zeros_like(got[:, ::3]))


# Splitting a row over workers

WORKER = """
func.func @statistics(%S: !block.list<N, block<M x K x f32>>, %V: !block.list<N, block<L x K x f32>>)
    -> (!block.vector<M x f32>, !block.block<M x L x f32>)
    attributes {block.dims = {
      M = #block.dim<6, whole>, L = #block.dim<4, whole>, K = #block.dim<5, whole>, N = #block.dim<9, batch>
    }} {
  %t, %o = block.map @N (%s = %S, %v = %V) -> (sum, sum)
      : !block.list<N, block<M x K x f32>>, !block.list<N, block<L x K x f32>> {
    %a = block.load %s : !block.block<M x K x f32, global>
    %b = block.load %v : !block.block<L x K x f32, global>
    %e = block.elementwise (%p = %a) : !block.block<M x K x f32> -> !block.block<M x K x f32> {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    %r = block.row_sum %e acc f32 : !block.block<M x K x f32>
    %d = block.dot %e, %b acc f32 : !block.block<M x K x f32>, !block.block<L x K x f32>
    block.yield %r, %d : !block.vector<M x f32>, !block.block<M x L x f32>
  }
  %q = block.monomial %t ** -1 : !block.vector<M x f32>
  %y = block.row_scale %o, %q : !block.block<M x L x f32>, !block.vector<M x f32>
  func.return %q, %y : !block.vector<M x f32>, !block.block<M x L x f32>
}
"""


def statistics(scores: Sequence[Array], values: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Statistics of one worker after its blocks: the maximum, and two sums that are relative to it."""
    module = parse_module(WORKER.replace("#block.dim<9, batch>", f"#block.dim<{len(scores)}, batch>"))
    module = PassPipeline("block-stabilize").run(module)
    (function,) = functions(module)
    (map_,) = (op for op in function.walk() if isinstance(op, block.MapOp))
    assert map_.result_pivots == (None, 0, 0)
    last = function.body.block.last_op
    assert last is not None
    last.operands = map_.results
    results, _ = evaluate(function, [list(scores), list(values)], float64=False)
    top, total, out = (np.asarray(result) for result in results)
    return top, total, out


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_workers_may_share_a_row(seed: int, scale: float):
    """Three workers, each with some of a row's blocks, combined in any order: the softmax of one worker."""
    rng = np.random.default_rng(seed)
    scores = [(scale * rng.standard_normal((6, 5))).astype(np.float32) for _ in range(9)]
    scores[0][:] = -np.inf
    for score in scores:
        score[-1] = -np.inf
    values = [rng.standard_normal((4, 5)).astype(np.float32) for _ in range(9)]
    parts = [
        statistics([scores[index] for index in worker], [values[index] for index in worker])
        for worker in np.array_split(rng.permutation(9), 3)
    ]
    while len(parts) > 1:
        (t, s, o), (u, r, p) = (parts.pop(int(rng.integers(len(parts)))) for _ in range(2))
        top = np.maximum(t, u)
        with np.errstate(invalid="ignore"):
            f, g = (np.where(e == top, np.float32(1), np.exp(e - top)) for e in (t, u))
        parts.append((top, s * f + r * g, o * f[:, None] + p * g[:, None]))
    ((top, total, out),) = parts
    alone = statistics(scores, values)
    assert np.array_equal(top, alone[0])
    assert np.array_equal(total[-1:], [0.0])
    assert np.allclose(total, alone[1], rtol=1e-6, atol=0)
    assert np.allclose(out, alone[2], rtol=0, atol=1e-6 * np.abs(alone[2]).max())


# The pass


def test_a_stabilised_function_is_left_alone():
    module = stabilised(Case("attention", "attention"), "snapshot=last")
    assert str(PassPipeline("block-stabilize").run(module.clone())) == str(module)
    assert all(STABILIZED in function.attributes for function in functions(module))


def test_fusing_a_stabilised_function_is_refused():
    module = stabilised(Case("attention", "attention"), "snapshot=last")
    with pytest.raises(PassFailedException) as raised:
        PassPipeline("block-fuse").run(module.clone())
    assert "@attention is stabilised already; block-fuse goes before block-stabilize" in str(raised.value)


@pytest.mark.parametrize("case", [case for case in all_cases() if case not in SOFTMAXES], ids=str)
def test_nothing_else_is_carried_as_pairs(case: Case):
    """Exponentials in sigmoids, GELUs and SiLUs stay as they are."""
    if case.name == "decoder_layer":
        return
    module = stabilised(case, "snapshot=last")
    for function in functions(module):
        assert not has_work(function)
        assert all(op.pivots is None for op in function.walk() if isinstance(op, block.MapOp))
