"""The interpreter of array operations against plain numpy formulas."""

import math

import ml_dtypes
import numpy as np
import pytest
from array_evaluation import DTYPES
from bb.dialects.array import ElementwiseOp, YieldOp
from bb.dialects.context import make_context
from bb.dialects.parsing import parse_module
from bb.dialects.scalar import SCALAR_OPS
from bb.runtime.interpreter.arrays import InterpreterError, evaluate_array_op, numpy_dtype
from bb.runtime.interpreter.scalar_semantics import SCALAR_FUNCTIONS, erf, evaluate_scalar_region
from single_operations import normal, run, scalar
from xdsl.dialects.builtin import IndexType, IntegerType, bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Block
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def


class TestScalars:
    def test_covers_exactly_the_scalar_operations(self):
        assert set(SCALAR_FUNCTIONS) == SCALAR_OPS

    def test_erf(self):
        x = np.concatenate([np.linspace(-7, 7, 20001), [0.0, -0.0, np.inf, -np.inf, 1e-300]])
        with np.errstate(all="ignore"):
            got = erf(x)
        np.testing.assert_allclose(got, [math.erf(v) for v in x], rtol=4e-16, atol=0)
        assert np.isnan(erf(np.array([np.nan]))).all()

    @pytest.mark.parametrize("element", DTYPES)
    @pytest.mark.parametrize(
        ("name", "function"),
        [
            ("math.exp", np.exp),
            ("math.exp2", np.exp2),
            ("math.expm1", np.expm1),
            ("math.log", np.log),
            ("math.log2", np.log2),
            ("math.log1p", np.log1p),
            ("math.sqrt", np.sqrt),
            ("math.rsqrt", lambda x: x**-0.5),
            ("math.tanh", np.tanh),
            ("math.erf", np.vectorize(math.erf)),
            ("math.sin", np.sin),
            ("math.cos", np.cos),
            ("math.absf", np.abs),
            ("math.floor", np.floor),
            ("math.ceil", np.ceil),
            ("arith.negf", np.negative),
        ],
    )
    def test_unary(self, name, function, element):
        x = np.linspace(0.1, 3, 11).astype(DTYPES[element])
        got = scalar(f"%r = {name} %x0 : {element}", x, element=element)
        assert got.dtype == DTYPES[element]
        tolerance = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-6, "f64": 1e-15}[element]
        np.testing.assert_allclose(
            got.astype(float), function(x.astype(float)), rtol=tolerance, atol=tolerance / 10
        )

    @pytest.mark.parametrize("element", DTYPES)
    @pytest.mark.parametrize(
        ("name", "function"),
        [
            ("arith.addf", np.add),
            ("arith.subf", np.subtract),
            ("arith.mulf", np.multiply),
            ("arith.divf", np.divide),
            ("arith.maximumf", np.maximum),
            ("arith.minimumf", np.minimum),
            ("arith.maxnumf", np.fmax),
            ("arith.minnumf", np.fmin),
        ],
    )
    def test_binary_rounds_once(self, name, function, element):
        x, y = (normal(50, dtype=DTYPES[element], seed=seed) for seed in (1, 2))
        got = scalar(f"%r = {name} %x0, %x1 : {element}", x, y, element=element)
        exact = function(x.astype(float), y.astype(float)).astype(DTYPES[element])
        np.testing.assert_array_equal(got, exact)

    def test_maximum_and_nan(self):
        x, y = np.array([np.nan, 1], np.float32), np.array([2, np.nan], np.float32)
        assert np.isnan(scalar("%r = arith.maximumf %x0, %x1 : f32", x, y)).all()
        np.testing.assert_array_equal(scalar("%r = arith.maxnumf %x0, %x1 : f32", x, y), [2, 1])

    def test_powf_and_fma(self):
        x, y = np.array([2, 3], np.float32), np.array([0.5, -2], np.float32)
        np.testing.assert_allclose(scalar("%r = math.powf %x0, %x1 : f32", x, y), [2**0.5, 1 / 9], rtol=1e-7)
        tiny = np.array([1 + 2**-12] * 2, np.float32)
        got = scalar("%r = math.fma %x0, %x0, %x1 : f32", tiny, -np.ones(2, np.float32))
        np.testing.assert_array_equal(got, [2**-11 + 2**-24] * 2)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("addi", [9, -5, -9]),
            ("subi", [5, -9, -5]),
            ("muli", [14, -14, 14]),
            ("divsi", [3, -3, 3]),
            ("remsi", [1, -1, -1]),
            ("andi", [2, 0, -8]),
            ("ori", [7, -5, -1]),
            ("xori", [5, -5, 7]),
            ("maxsi", [7, 2, -2]),
            ("minsi", [2, -7, -7]),
        ],
    )
    def test_integers(self, name, expected):
        x, y = np.array([7, -7, -7], np.int32), np.array([2, 2, -2], np.int32)
        got = scalar(f"%r = arith.{name} %x0, %x1 : i32", x, y, element="i32")
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, expected)

    def test_integers_wrap_and_division_by_zero_is_quiet(self):
        big = np.array([2**31 - 1, 5], np.int32)
        np.testing.assert_array_equal(scalar("%r = arith.addi %x0, %x0 : i32", big, element="i32"), [-2, 10])
        scalar("%r = arith.divsi %x0, %x1 : i32", big, np.zeros(2, np.int32), element="i32")

    @pytest.mark.parametrize(
        ("predicate", "function"),
        [
            ("eq", np.equal),
            ("ne", np.not_equal),
            ("slt", np.less),
            ("sle", np.less_equal),
            ("sgt", np.greater),
            ("sge", np.greater_equal),
            ("ult", lambda a, b: a.astype(np.uint32) < b.astype(np.uint32)),
            ("ule", lambda a, b: a.astype(np.uint32) <= b.astype(np.uint32)),
            ("ugt", lambda a, b: a.astype(np.uint32) > b.astype(np.uint32)),
            ("uge", lambda a, b: a.astype(np.uint32) >= b.astype(np.uint32)),
        ],
    )
    def test_cmpi(self, predicate, function):
        x, y = np.array([1, 2, -1, 3], np.int32), np.array([1, -2, 2, 4], np.int32)
        got = scalar(f"%r = arith.cmpi {predicate}, %x0, %x1 : i32", x, y, element="i32", result="i1")
        assert got.dtype == np.bool_
        np.testing.assert_array_equal(got, function(x, y))

    @pytest.mark.parametrize(
        ("predicate", "expected"),
        [
            ("false", "0000"),
            ("oeq", "1000"),
            ("ogt", "0010"),
            ("oge", "1010"),
            ("olt", "0100"),
            ("ole", "1100"),
            ("one", "0110"),
            ("ord", "1110"),
            ("ueq", "1001"),
            ("ugt", "0011"),
            ("uge", "1011"),
            ("ult", "0101"),
            ("ule", "1101"),
            ("une", "0111"),
            ("uno", "0001"),
            ("true", "1111"),
        ],
    )
    def test_cmpf(self, predicate, expected):
        x = np.array([1, 1, 2, np.nan], np.float32)
        y = np.array([1, 2, 1, 1], np.float32)
        got = scalar(f"%r = arith.cmpf {predicate}, %x0, %x1 : f32", x, y, result="i1")
        assert "".join(str(int(v)) for v in got) == expected

    @pytest.mark.parametrize(
        ("body", "x", "element", "result", "expected"),
        [
            ("sitofp %x0 : i32 to f16", [-3, 2], "i32", "f16", [-3, 2]),
            ("uitofp %x0 : i32 to f64", [-1, 2], "i32", "f64", [2**32 - 1, 2]),
            ("sitofp %x0 : i1 to f32", [True, False], "i1", "f32", [-1, 0]),
            ("uitofp %x0 : i1 to f32", [True, False], "i1", "f32", [1, 0]),
            ("extsi %x0 : i1 to i32", [True, False], "i1", "i32", [-1, 0]),
            ("extui %x0 : i1 to i64", [True, False], "i1", "i64", [1, 0]),
            ("extui %x0 : i32 to i64", [-1, 3], "i32", "i64", [2**32 - 1, 3]),
            ("trunci %x0 : i64 to i1", [2, 3], "i64", "i1", [False, True]),
            ("trunci %x0 : i64 to i32", [2**32 + 5, -1], "i64", "i32", [5, -1]),
            ("fptosi %x0 : f32 to i32", [-2.7, 1e20], "f32", "i32", [-2, 2**31 - 1]),
            ("fptosi %x0 : f32 to i64", [np.nan, -1e30], "f32", "i64", [0, -(2**63)]),
            ("extf %x0 : bf16 to f32", [1.5, -2], "bf16", "f32", [1.5, -2]),
            ("truncf %x0 : f64 to bf16", [1 + 2**-9, 3], "f64", "bf16", [1, 3]),
        ],
    )
    def test_conversions(self, body, x, element, result, expected):
        kinds = {**DTYPES, "i1": np.bool_, "i32": np.int32, "i64": np.int64}
        got = scalar(f"%r = arith.{body}", np.array(x, kinds[element]), element=element, result=result)
        assert got.dtype == kinds[result]
        np.testing.assert_array_equal(got.astype(float), expected)

    def test_select_and_constants(self):
        x = np.array([-1, 2], np.float32)
        body = """%z = arith.constant 0.0 : f32 %c = arith.cmpf olt, %x0, %z : f32
                  %m = arith.constant 0xff800000 : f32 %r = arith.select %c, %m, %x0 : f32"""
        np.testing.assert_array_equal(scalar(body, x), [-np.inf, 2])
        np.testing.assert_array_equal(scalar("%r = arith.constant true", element="i1"), [True, True])

    def test_constant_keeps_its_exact_value_only_in_float64(self):
        body = "%r = arith.constant {bb.exact = 0.1 : f64} 0.1 : f32"
        assert scalar(body, float64=True)[0] == 0.1
        assert scalar(body)[0] == np.float32(0.1)

    def test_float64_mode(self):
        x = np.array([1 + 2**-40, 3])
        body = "%w = arith.extf %x0 : f16 to f32 %r = arith.truncf %w : f32 to f16"
        got = scalar(body, x, element="f16", float64=True)
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, x)

    def test_index_values(self):
        block = Block()
        index = BlockIndexOp.create(result_types=[IndexType()])
        block.add_ops([index, YieldOp(index.result)])
        (got,) = evaluate_scalar_region(block, [], float64=False, index_values=lambda op: np.arange(3))
        np.testing.assert_array_equal(got, [0, 1, 2])
        with pytest.raises(InterpreterError, match="no meaning outside a block program"):
            evaluate_scalar_region(block, [], float64=False)


@irdl_op_definition
class BlockIndexOp(IRDLOperation):
    name = "block.index"
    result = result_def(IndexType)


def test_numpy_dtype():
    types = [f16, bf16, f32, f64, i1, i32, i64, IndexType()]
    assert [numpy_dtype(type).name for type in types] == [
        *("float16", "bfloat16", "float32", "float64", "bool", "int32", "int64", "int64")
    ]
    assert {numpy_dtype(type, True).name for type in types[:4]} == {"float64"}
    with pytest.raises(TypeError, match="i8"):
        numpy_dtype(IntegerType(8))


class TestCore:
    @pytest.mark.parametrize("element", DTYPES)
    def test_matmul(self, element):
        a, b = normal(2, 1, 7, 5, dtype=DTYPES[element]), normal(3, 5, 2, dtype=DTYPES[element], seed=1)
        types = {"a": f"2x1x7x5x{element}", "b": f"3x5x2x{element}"}
        line = "array.matmul %a, %b : tensor<{a}>, tensor<{b}> -> tensor<2x3x7x2x{element}>"
        got = run(line.format(element=element, **types), a, b, **types)
        assert got.dtype == DTYPES[element]
        exact = a.astype(float) @ b.astype(float)
        tolerance = {"f16": 1e-3, "bf16": 1e-2, "f32": 1e-6, "f64": 1e-14}[element]
        np.testing.assert_allclose(got.astype(float), exact, rtol=tolerance, atol=tolerance)

    def test_matmul_transposed(self):
        a, b = normal(5, 7), normal(2, 5, seed=1)
        line = (
            "array.matmul %a, %b transpose_a transpose_b "
            ": tensor<5x7xf32>, tensor<2x5xf32> -> tensor<7x2xf32>"
        )
        np.testing.assert_allclose(run(line, a, b, a="5x7xf32", b="2x5xf32"), a.T @ b.T, rtol=1e-6)

    def test_matmul_accumulator(self):
        a, b = np.full((1, 3000), 1, np.float16), np.full((3000, 1), 1, np.float16)
        types = {"a": "1x3000xf16", "b": "3000x1xf16"}
        line = "array.matmul %a, %b {} : tensor<1x3000xf16>, tensor<3000x1xf16> -> tensor<1x1x{}>"
        assert run(line.format("", "f16"), a, b, **types) == 3000
        big = a * np.float16(100)
        assert run(line.format("", "f16"), big, b, **types) == np.inf
        assert run(line.format("", "f32"), big, b, **types) == 300000
        assert run(line.format("", "f16"), big, b, float64=True, **types) == 300000

    @pytest.mark.parametrize("element", ["i32", "i64"])
    def test_matmul_integers(self, element):
        dtype = {"i32": np.int32, "i64": np.int64}[element]
        a = np.arange(6, dtype=dtype).reshape(2, 3)
        type = f"2x3x{element}"
        line = f"array.matmul %a, %a transpose_b : tensor<{type}>, tensor<{type}> -> tensor<2x2x{element}>"
        got = run(line, a, a, a=type)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, a @ a.T)

    def test_elementwise_broadcasts(self):
        x, y = normal(3, 1, 5), normal(4, 1)
        line = """array.elementwise (%p = %x, %q = %y)
            : tensor<3x1x5xf32>, tensor<4x1xf32> -> tensor<2x3x4x5xf32> {
            %0 = arith.mulf %p, %q : f32 array.yield %0 : f32 }"""
        got = run(line, x, y, x="3x1x5xf32", y="4x1xf32")
        np.testing.assert_array_equal(got, np.broadcast_to(x * y, (2, 3, 4, 5)))

    def test_elementwise_results(self):
        line = """array.elementwise (%p = %x) : tensor<?xf32> -> tensor<?xf32>, tensor<?xi1> {
            %0 = arith.cmpf ogt, %p, %p : f32 array.yield %p, %0 : f32, i1 }"""
        op = parse_module(
            f"func.func @f(%x: tensor<?xf32>) {{ %r, %s = {line} func.return }}", "t", make_context()
        )
        (elementwise,) = (o for o in op.walk() if isinstance(o, ElementwiseOp))
        first, second = evaluate_array_op(elementwise, [np.ones(7, np.float32)])
        assert (first.shape, second.shape, second.dtype) == ((7,), (7,), np.bool_)

    @pytest.mark.parametrize("element", [*DTYPES, "i32", "i64"])
    @pytest.mark.parametrize("kind", ["sum", "max", "min"])
    def test_reduce(self, kind, element):
        dtype = {**DTYPES, "i32": np.int32, "i64": np.int64}[element]
        x = (10 * normal(2, 5, 3)).astype(dtype)
        got = run(
            f"array.reduce {kind} %x axes [0, 2] keepdims "
            f": tensor<2x5x3x{element}> -> tensor<1x5x1x{element}>",
            x,
            x=f"2x5x3x{element}",
        )
        assert got.dtype == dtype
        exact = getattr(np, kind)(x.astype(float), axis=(0, 2), keepdims=True)
        tolerance = {"f16": 1e-3, "bf16": 1e-2, "f32": 1e-6}.get(element, 1e-14)
        np.testing.assert_allclose(got.astype(float), exact, rtol=tolerance, atol=tolerance)

    def test_reduce_keeps_sums_wide_and_nan(self):
        x = np.ones((4096, 1), np.float16)
        assert run("array.reduce sum %x axes [0] : tensor<?x1xf16> -> tensor<1xf16>", x, x="?x1xf16") == 4096
        y = np.array([1, np.nan], np.float32)
        assert np.isnan(run("array.reduce max %x axes [0] : tensor<2xf32> -> tensor<f32>", y, x="2xf32"))

    def test_reduce_of_nothing(self):
        x = np.ones((0, 2), np.float32)
        got = run("array.reduce max %x axes [0] : tensor<?x2xf32> -> tensor<2xf32>", x, x="?x2xf32")
        np.testing.assert_array_equal(got, [-np.inf, -np.inf])

    def test_views(self):
        x = normal(3, 8)
        np.testing.assert_array_equal(
            run("array.transpose %x perm [1, 0] : tensor<3x8xf32> -> tensor<8x3xf32>", x, x="3x8xf32"), x.T
        )
        np.testing.assert_array_equal(
            run("array.reshape %x : tensor<?x8xf32> -> tensor<?x1x2x4xf32>", x, x="?x8xf32"),
            x.reshape(3, 1, 2, 4),
        )
        np.testing.assert_array_equal(
            run("array.reshape %x : tensor<?x8xf32> -> tensor<?xf32>", x, x="?x8xf32"), x.reshape(24)
        )
        np.testing.assert_array_equal(
            run(
                "array.slice %x offsets [1, 2] sizes [-1, 4] : tensor<?x8xf32> -> tensor<?x4xf32>",
                x,
                x="?x8xf32",
            ),
            x[1:, 2:6],
        )
        np.testing.assert_array_equal(
            run("array.broadcast %x : tensor<?x8xf32> -> tensor<2x?x8xf32>", x, x="?x8xf32"),
            np.broadcast_to(x, (2, 3, 8)),
        )
        y = normal(3, 2, seed=1)
        np.testing.assert_array_equal(
            run(
                "array.concat %x, %y axis 1 : tensor<3x8xf32>, tensor<?x?xf32> -> tensor<3x?xf32>",
                *(x, y),
                x="3x8xf32",
                y="?x?xf32",
            ),
            np.concatenate([x, y], axis=1),
        )

    def test_sources(self):
        x = normal(3, 4)
        np.testing.assert_array_equal(run("array.iota axis 1 : tensor<2x3xf32>"), [[0, 1, 2]] * 2)
        got = run("array.iota axis 0 like %x : tensor<?x4xf32> -> tensor<?x4xi64>", x, x="?x4xf32")
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, np.repeat(np.arange(3)[:, None], 4, axis=1))
        extent = run("array.extent %x axis 0 : tensor<?x4xf32> -> tensor<bf16>", x, x="?x4xf32")
        assert (extent.shape, extent.dtype, extent) == ((), ml_dtypes.bfloat16, 3)
        assert run("array.constant dense<1.5> : tensor<2xbf16>").tolist() == [1.5, 1.5]
        assert run("array.constant dense<[true, false]> : tensor<2xi1>").tolist() == [True, False]
        assert run("array.constant dense<-7> : tensor<i64>") == -7
        assert run("array.constant dense<0.5> : tensor<1x1xf16>", float64=True).dtype == np.float64

    def test_custom(self):
        def shift(x, by):
            return x + by

        line = "array.custom @shift(%x) {by = 2 : i64} : (tensor<3xf32>) -> tensor<3xf32>"
        x = normal(3)
        np.testing.assert_array_equal(run(line, x, callbacks={"shift": shift}, x="3xf32"), x + 2)
        with pytest.raises(InterpreterError, match="'shift' is not known; known callbacks: other"):
            run(line, x, callbacks={"other": shift}, x="3xf32")
        with pytest.raises(InterpreterError, match="gave 2 arrays, expected 1"):
            run(line, x, callbacks={"shift": lambda x, by: (x, x)}, x="3xf32")
        with pytest.raises(InterpreterError, match=r"result 0 has shape \[2\], expected \[3\]"):
            run(line, x, callbacks={"shift": lambda x, by: x[:2]}, x="3xf32")


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "types", "shapes", "message"),
        [
            (
                "array.relu %x : tensor<?x4xf32>",
                {"x": "?x4xf32"},
                [(3, 5)],
                r"shape \[3, 5\], expected \[\?, 4\]",
            ),
            ("array.relu %x : tensor<4xf32>", {"x": "4xf32"}, [()], r"shape \[\], expected \[4\]"),
            (
                "array.matmul %x, %y : tensor<?x?xf32>, tensor<?x2xf32> -> tensor<?x2xf32>",
                {"x": "?x?xf32", "y": "?x2xf32"},
                [(2, 3), (4, 2)],
                "contracts extent 3 of the left operand with extent 4",
            ),
            (
                "array.matmul %x, %y : tensor<?x1x1xf32>, tensor<?x1x1xf32> -> tensor<?x1x1xf32>",
                {"x": "?x1x1xf32", "y": "?x1x1xf32"},
                [(2, 1, 1), (3, 1, 1)],
                "batch extents",
            ),
            (
                "array.elementwise (%a = %x, %b = %y) : tensor<?xf32>, tensor<?xf32> -> tensor<?xf32> "
                "{ array.yield %a : f32 }",
                {"x": "?xf32", "y": "?xf32"},
                [(3,), (1,)],
                "expected equal extents because . does not broadcast",
            ),
            (
                "array.reshape %x : tensor<?xf32> -> tensor<?x4xf32>",
                {"x": "?xf32"},
                [(6,)],
                "out of 6 elements",
            ),
            (
                "array.slice %x offsets [2] sizes [4] : tensor<?xf32> -> tensor<4xf32>",
                {"x": "?xf32"},
                [(5,)],
                "reach past the extent 5",
            ),
            (
                "array.concat %x, %y axis 0 : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>",
                {"x": "?x?xf32", "y": "?x?xf32"},
                [(1, 2), (1, 3)],
                "expected equal extents off axis 0",
            ),
            (
                "array.attention %x, %y, %y scale 1.0 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32> "
                "-> tensor<?x?xf32>",
                {"x": "?x?xf32", "y": "?x?xf32"},
                [(1, 2), (1, 3), (1, 3)],
                "expected the head size of q",
            ),
        ],
    )
    def test_shapes(self, line, types, shapes, message):
        with pytest.raises(InterpreterError, match=message) as error:
            run(line, *(np.ones(shape, np.float32) for shape in shapes), **types)
        assert error.value.op.name.startswith("array.")
        assert error.value.location is not None

    def test_dtype(self):
        with pytest.raises(InterpreterError, match="operand 0 has dtype float64, expected int32"):
            run("array.transpose %x perm [0] : tensor<2xi32> -> tensor<2xi32>", np.ones(2), x="2xi32")

    def test_operand_count(self):
        with pytest.raises(InterpreterError, match="got 2 arrays, expected 1"):
            run("array.relu %x : tensor<1xf32>", np.ones(1), np.ones(1), x="1xf32")

    def test_not_an_array_operation(self):
        with pytest.raises(InterpreterError, match="no array operation that can be evaluated"):
            run("arith.constant dense<1.0> : tensor<2xf32>")
