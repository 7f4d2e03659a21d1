"""The Python interface: what ``bb`` exports, reading, running and building programs."""

import subprocess
import sys
from pathlib import Path

import bb
import ml_dtypes
import numpy as np
import pytest
from bb.dialects.scalar_builder import ScalarBuilder
from example_programs import EXAMPLES_DIR
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

ATTENTION = EXAMPLES_DIR / "attention.mlir"
SCALE = """func.func @scale(%x: tensor<?x4xf32>, %s: tensor<4xf32>) -> tensor<?x4xf32> {
  %y = array.elementwise (%a = %x, %b = %s) : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32> {
    %0 = arith.mulf %a, %b : f32
    array.yield %0 : f32
  }
  func.return %y : tensor<?x4xf32>
}
"""


def test_import_is_light():
    code = "import sys, bb; print(sorted({'numpy', 'xdsl', 'rich', 'ml_dtypes'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", bb.__all__)
def test_every_public_name_exists(name: str):
    assert getattr(bb, name) is not None
    assert name in dir(bb)


def test_stub_and_table_agree():
    source = Path(bb.__file__).read_text()
    stub = source[source.index("if TYPE_CHECKING") : source.index("_HOMES")]
    named = {line.rpartition(" as ")[2] for line in stub.splitlines() if " as " in line}
    assert named | {"__version__"} == set(bb.__all__)


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'bb' has no attribute 'nothing'"):
        _ = bb.nothing


# Reading


def test_parse_reads_text_and_files():
    assert str(bb.parse(ATTENTION)) == str(bb.parse(str(ATTENTION))) == str(bb.parse(ATTENTION.read_text()))


def test_parse_errors_show_the_place(tmp_path: Path):
    path = tmp_path / "broken.mlir"
    path.write_text(SCALE.replace("arith.mulf", "arith.mulff"))
    with pytest.raises(bb.ProgramError) as caught:
        bb.parse(path)
    error = caught.value
    assert error.place is not None
    assert (error.place.file, error.place.line, error.place.column) == (str(path), 3, 10)
    assert error.message == "operation 'arith.mulff' is not registered; did you mean 'arith.mulf'?"
    assert str(error).splitlines() == [
        f"{path}:3:10: error: {error.message}",
        "    %0 = arith.mulff %a, %b : f32",
        "         ^",
    ]


def test_parse_verifies():
    with pytest.raises(bb.ProgramError, match=r"<text>:1:\d+: error: .*array.softmax"):
        bb.parse(
            "func.func @f(%x: tensor<4xi32>) { %y = array.softmax %x axis 0 : tensor<4xi32>\nfunc.return }"
        )


def test_parse_of_what_is_no_text(tmp_path: Path):
    path = tmp_path / "rubbish.mlir"
    path.write_bytes(b"\n\xff\xfe")
    with pytest.raises(bb.ProgramError, match="line 2 holds bytes that are not UTF-8"):
        bb.parse(path)
    with pytest.raises(FileNotFoundError):
        bb.parse("no-such-file.mlir")


# Running


def test_run_gives_one_array_or_a_tuple():
    x, s = np.arange(12, dtype=np.float32).reshape(3, 4), np.full(4, 2, np.float32)
    found = bb.run(SCALE, [x, s])
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, 2 * x)
    np.testing.assert_array_equal(bb.run(bb.parse(SCALE), {"s": s, "x": x}), found)
    both = bb.run(
        "func.func @f(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {\n"
        "  func.return %x, %x : tensor<2xi32>, tensor<2xi32>\n}",
        [[1, 2]],
    )
    assert isinstance(both, tuple)
    assert [array.tolist() for array in both] == [[1, 2], [1, 2]]


def test_run_after_passes_counts_what_moves():
    module = bb.parse(ATTENTION)
    inputs = bb.random_inputs(module, seed=3)
    want = bb.run(module, inputs, float64=True)
    bb.PassPipeline("array-decompose,array-to-block").run(module)
    np.testing.assert_allclose(bb.run(module, inputs, float64=True, block_sizes={"M": 48}), want, atol=1e-12)
    run = bb.interpret(module, inputs, block_sizes={"M": 48})
    assert run.block_sizes["M"] == 48
    assert run.counts.loads > run.counts.stores > 0


def test_run_selects_the_function():
    text = "".join(
        f"func.func @{name}() -> tensor<i32> {{\n  %c = array.constant dense<{value}> : tensor<i32>\n"
        "  func.return %c : tensor<i32>\n}\n"
        for name, value in (("one", 1), ("two", 2))
    )
    assert bb.run(text, entry="two") == 2
    with pytest.raises(bb.InputError, match="2 public functions"):
        bb.run(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": [np.ones((2, 4))]}, r"'scale' takes 2 arrays \(x, s\), got 1"),
        ({"inputs": np.ones((2, 4))}, "the inputs are one array"),
        ({"inputs": {"x": np.ones((2, 4))}}, "'scale' needs arrays for s"),
        ({"inputs": {"y": np.ones((2, 4))}}, "there is no argument 'y' of 'scale'; the arguments are x, s"),
        ({"inputs": [np.ones((2, 3)), np.ones(4)]}, r"%x of 'scale' has shape \[2, 3\], expected \[\?, 4\]"),
        ({"inputs": [np.ones((0, 4)), np.ones(4)]}, "is empty"),
        ({"inputs": [np.ones((2, 4)), ["a"] * 4]}, "%s of 'scale' has dtype <U1, expected numbers"),
        ({"inputs": [np.ones((2, 4)), np.ones(4, complex)]}, "dtype complex128, expected numbers"),
        ({"inputs": [], "target": "tpu"}, "target 'tpu' is unknown; programs run on: interpreter, cpu, cuda"),
        ({"inputs": [], "target": "tpu"}, "target 'tpu' is unknown"),
        ({"inputs": [], "entry": "g"}, "there is no function 'g'"),
        ({"inputs": [np.ones((2, 4)), np.ones(4)], "block_sizes": {"M": 2}}, "there is no dim 'M'"),
    ],
)
def test_run_refuses(arguments: dict[str, object], message: str):
    with pytest.raises(bb.InputError, match=message):
        bb.run(SCALE, **arguments)


def test_block_sizes_that_cannot_be_chosen():
    text = (
        "func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> attributes "
        "{block.dims = {M = #block.dim<8, block = 2>, K = #block.dim<4>}} {\n"
        "  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<M, K, block<M x K x f32>>\n"
        "  %y = block.assemble %X [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<8x4xf32>\n"
        "  func.return %y : tensor<8x4xf32>\n}"
    )
    assert bb.run(text, [np.ones((8, 4))], block_sizes={"K": 3}).shape == (8, 4)
    with pytest.raises(bb.InputError, match="block size of dim 'M' is fixed by the program"):
        bb.run(text, [np.ones((8, 4))], block_sizes={"M": 4})
    with pytest.raises(bb.InputError, match="block size of dim 'K' is 0, expected at least 1"):
        bb.run(text, [np.ones((8, 4))], block_sizes={"K": 0})


def test_inputs_are_rounded_unless_float64_is_asked_for():
    x = np.full((1, 4), 1 + 2.0**-30)
    assert (bb.run(SCALE, [x, np.ones(4)]) == 1).all()
    assert (bb.run(SCALE, [x, np.ones(4)], float64=True) == x).all()


def test_integers_must_fit():
    text = "func.func @f(%i: tensor<1xi32>) -> tensor<1xi32> {\n  func.return %i : tensor<1xi32>\n}"
    with pytest.raises(bb.InputError, match="has values that int32 cannot hold"):
        bb.run(text, [np.array([2**40])])
    with pytest.raises(bb.InputError, match="has dtype float64, expected int32"):
        bb.run(text, [np.array([1.0])])


def test_random_inputs():
    text = (
        'func.func @f(%x: tensor<?x4xbf16> {bb.dims = ["M", "K"]}, %y: tensor<?xi1> {bb.dims = ["M"]}, '
        '%z: tensor<?xf64> {bb.dims = ["M*K"]}) {\n  func.return\n}'
    )
    x, y, z = bb.random_inputs(text, 1, extents={"M": 6})
    assert (x.dtype, x.shape) == (ml_dtypes.bfloat16, (6, 4))
    assert (y.dtype, y.shape) == (np.bool_, (6,))
    assert z.shape == (24,)
    np.testing.assert_array_equal(z, np.random.default_rng([1, 2]).standard_normal(24))
    assert [array.shape for array in bb.random_inputs(text, extents={"x.0": 6})] == [(6, 4), (6,), (24,)]
    with pytest.raises(bb.InputError, match=r"give it as x\.0 or as M"):
        bb.random_inputs(text)


def test_arguments_that_share_a_name_go_by_position():
    # xDSL cuts the number off: both are called x.
    text = SCALE.replace("%x", "%x_1").replace("%s", "%x_2")
    x, s = np.ones((2, 4), np.float32), np.full(4, 3, np.float32)
    np.testing.assert_array_equal(bb.run(text, {"0": x, "1": s}), 3 * x)
    with pytest.raises(bb.InputError, match="there is no argument 'x_1' of 'scale'; the arguments are 0, 1"):
        bb.run(text, {"x_1": x, "x_2": s})


def test_callbacks():
    text = (
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %y = array.custom @double(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %y : tensor<2xf32>\n}"
    )
    assert bb.run(text, [[1, 2]], callbacks={"double": lambda x: 2 * x}).tolist() == [2, 4]
    with pytest.raises(bb.InterpreterError, match=r"<text>:2:8: 'array\.custom' callback 'double' is not"):
        bb.run(text, [[1, 2]])


# Building


def test_array_function():
    f = bb.ArrayFunction("layer", {"x": "tensor<?x8xf32>", "w": "tensor<8x6xf32>", "g": "tensor<8xf32>"})
    x, w, g = f.arguments
    h = (x.layer_norm(g) @ w).named("h")
    assert h.shape == (None, 6)
    gate = (h * h.sigmoid() + 1).named("gate")
    centred = h - h.sum(-1, keepdims=True) / 6
    weights = f.elementwise(lambda s, a: s.multiply(a, a), centred).softmax()
    f.returns(gate, weights, 1 / (2 - -h), h.max(0), h.transpose(), h.reshape(None, 2, 3))
    module = bb.build(f)
    assert str(bb.parse(str(module))) == str(module)
    assert "%gate = array.elementwise" in str(module)

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((5, 8), (8, 6), (8,))]
    found = bb.run(module, arrays, float64=True)
    x, w, g = arrays
    centred = x - x.mean(-1, keepdims=True)
    h = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g @ w
    scores = np.exp((h - h.mean(-1, keepdims=True)) ** 2)
    wanted = [
        h / (1 + np.exp(-h)) + 1,
        scores / scores.sum(-1, keepdims=True),
        1 / (2 + h),
        h.max(0),
        h.T,
        h.reshape(5, 2, 3),
    ]
    for result, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-10)


def test_array_function_takes_any_operation():
    f = bb.ArrayFunction("f", {"x": "tensor<4x6xf32>"})
    (x,) = f.arguments
    part = f.apply(bb.array.SliceOp(x.value, [0, 2], [-1, 3])).named("part")
    zero = f.constant(0, "tensor<4x3xf32>")
    f.returns(f.apply(bb.array.ConcatOp([part.value, zero.value], 1)), f.attention(x, x, x, causal=True))
    both = bb.run(bb.build(f), [np.ones((4, 6))])
    assert both[0].tolist() == [[1, 1, 1, 0, 0, 0]] * 4
    np.testing.assert_allclose(both[1], 1, rtol=1e-6)


def test_block_function_attention_row_sums():
    f = bb.BlockFunction(
        "scores", {"q": "tensor<?x8xf32>", "k": "tensor<6x8xf32>"}, {"M": "?", "N": 6, "D": "8, whole"}
    )
    q, k = f.arguments
    keys = f.partition(k, ["N", "D"], name="K")

    def row(q_m: SSAValue) -> SSAValue:
        queries = f.load(q_m)

        def column(k_n: SSAValue) -> tuple[SSAValue, SSAValue]:
            scores = f.dot(queries, f.load(k_n))
            weights = f.elementwise(lambda s, a: s.exp(a), scores)
            return f.row_sum(weights), f.row_max(scores)

        total, largest = f.map_over("N", [keys], ["sum", "max"], column, names=["total", "largest"])
        return f.store(f.insert(bb.block.SubOp(total, largest)))

    (rows,) = f.map_over("M", [f.partition(q, ["M", "D"])], ["stack"], row, names=["Rows"])
    f.returns(f.assemble(rows, ["M"]))
    module = bb.build(f)
    assert str(bb.parse(str(module))) == str(module)
    assert "%total, %largest = block.map @N (%k_n = %K) -> (sum, max)" in str(module)
    q, k = bb.random_inputs(module, extents={"M": 9})
    scores = q @ k.T
    np.testing.assert_allclose(
        bb.run(module, [q, k], block_sizes={"M": 4, "N": 4}), np.exp(scores).sum(1) - scores.max(1), rtol=1e-4
    )


def test_builders_refuse():
    f = bb.ArrayFunction("f", {"x": "tensor<4x6xf32>"})
    (x,) = f.arguments
    with pytest.raises(ValueError, match="function 'f' has no end: call its method 'returns'"):
        bb.build(f)
    with pytest.raises(VerifyException, match=r"'array\.matmul' contracts axis 1 of the left operand"):
        x.matmul(x)
    f.returns(x)
    with pytest.raises(ValueError, match="function 'f' returns already"):
        f.returns(x)
    with pytest.raises(ValueError, match="function 'f' returns already"):
        x.relu()

    g = bb.BlockFunction("g", {"x": "tensor<4x6xf32>"}, {"M": 4, "K": 6})
    (value,) = g.arguments
    with pytest.raises(ValueError, match="dim 'N' is not declared; the dims are M, K"):
        g.partition(value, ["M", "N"])
    with pytest.raises(ValueError, match=r"map over 'K': expected lists over K, got !block\.list<M"):
        g.map_over("K", [g.partition(value, ["M", "K"])], ["stack"], lambda x: x)


def test_scalar_builder_makes_constants_of_the_elements_type():
    f = bb.ArrayFunction("f", {"x": "tensor<2xbf16>"})
    (x,) = f.arguments

    def wide(s: ScalarBuilder, a: SSAValue) -> SSAValue:
        return s.convert(a, f32)

    f.returns(x + 1, f.elementwise(wide, x))
    narrow, widened = bb.run(bb.build(f), [[1, 2]])
    assert narrow.dtype == ml_dtypes.bfloat16
    assert widened.dtype == np.float32
