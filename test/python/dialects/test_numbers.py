"""Numbers in MLIR text: every bit pattern of every float type is read back as it was printed."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import pytest
from bb.dialects.array import ConstantOp
from bb.dialects.context import make_context
from bb.dialects.diagnostics import OpError
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp, bf16, f16, f32, f64, tf32
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

TYPES: dict[str, AnyFloat] = {"f16": f16, "bf16": bf16, "f32": f32, "f64": f64}
SPECIAL = {
    "f16": (0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE01, 0x8000, 0x0001, 0x7BFF),
    "bf16": (0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0xFFC1, 0x8000, 0x0001, 0x7F7F),
    "f32": (0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x80000000, 0x1, 0x4CEB79A3),
    "f64": (0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, (0x7FF0 << 48) + 1, (0xFFF8 << 48) + 5, 1 << 63, 1),
}
"""Infinities, NaNs with payloads, quiet and signalling, -0, the smallest and a large number."""


def bits_of(type: str) -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from(SPECIAL[type]), st.integers(0, (1 << TYPES[type].bitwidth) - 1))


@st.composite
def typed_bits(draw: st.DrawFn) -> tuple[str, list[int]]:
    type = draw(st.sampled_from(sorted(TYPES)))
    return type, draw(st.lists(bits_of(type), min_size=1, max_size=5))


def printed(module: ModuleOp, generic: bool = False) -> str:
    stream = StringIO()
    Printer(stream=stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def packed(type: str, bits: Sequence[int]) -> bytes:
    size = TYPES[type].compile_time_size
    return b"".join(each.to_bytes(size, "little") for each in bits)


def constants(module: ModuleOp) -> list[bytes]:
    return [op.value.data.data for op in module.walk() if isinstance(op, ConstantOp)]


def scalar_bytes(attribute: Attribute | None) -> bytes:
    assert isinstance(attribute, FloatAttr)
    return attribute.type.pack((attribute.value.data,))


def program(type: str, bits: Sequence[int]) -> str:
    """Numbers in every position: a list, a splat, a string of bytes, scalars, and attributes."""
    width, count = TYPES[type].bitwidth // 4, len(bits)
    words = [f"0x{each:0{width}X}" for each in bits]
    many = (packed(type, bits) * 101)[: 101 * TYPES[type].compile_time_size]
    return f"""
func.func @f() attributes {{one = {words[0]} : {type}, list = array<{type}: {", ".join(words)}>}} {{
  %list = array.constant dense<[{", ".join(words)}]> : tensor<{count}x{type}>
  %splat = array.constant dense<{words[0]}> : tensor<3x{type}>
  %bytes = array.constant dense<"0x{many.hex().upper()}"> : tensor<101x{type}>
  %scalar = arith.constant {words[0]} : {type}
  func.return
}}"""


@settings(max_examples=12)
@given(typed_bits(), st.booleans())
def test_every_bit_pattern_is_read_back(given_bits: tuple[str, list[int]], generic: bool):
    type, bits = given_bits
    module = parse_module(program(type, bits))
    for _ in range(2):
        function = next(op for op in module.walk() if op.name == "func.func")
        listed, splat, many = constants(module)
        assert listed == packed(type, bits)
        assert splat == packed(type, bits[:1]) * 3
        assert many == (packed(type, bits) * 101)[: len(many)]
        scalar = next(op for op in module.walk() if op.name == "arith.constant")
        assert scalar_bytes(scalar.properties["value"]) == packed(type, bits[:1])
        assert scalar_bytes(function.attributes["one"]) == packed(type, bits[:1])
        array = function.attributes["list"]
        assert array.data.data == packed(type, bits)  # pyright: ignore[reportAttributeAccessIssue]
        module = parse_module(printed(module, generic))


@pytest.mark.parametrize("type", [f16, bf16, tf32], ids=str)
def test_types_of_few_bits_convert_exactly(type: AnyFloat):
    make_context()
    size, count = type.compile_time_size, 1 << type.bitwidth
    data = b"".join(bits.to_bytes(size, "little") for bits in range(0, count, 1 if size == 2 else 37))
    assert type.pack(type.unpack(data, len(data) // size)) == data
    assert type.pack(list(type.iter_unpack(data))) == data


@settings(max_examples=25)
@given(bits_of("f64"), st.sampled_from(["eps", "scale", "fill"]))
def test_bare_numbers_are_read_back(bits: int, place: str):
    """An epsilon, the scale of attention, and the number that fills a tile."""
    word = f"0x{bits:016X}"
    text = {
        "eps": f"""func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  %y = array.rms_norm %x eps {word} : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}}""",
        "scale": f"""func.func @f(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  %y = array.attention %q, %q, %q scale {word} : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}}""",  # noqa: E501
        "fill": f"""kernel.func @f() attributes {{block.dims = {{M = #block.dim<8, whole>}}}} {{
  %t = kernel.tile : !kernel.tile<M x f32, scratch>
  kernel.fill %t, {word} : !kernel.tile<M x f32, scratch>
}}""",
    }[place]
    module = parse_module(text)
    op = next(op for op in module.walk() if {"eps", "scale", "value"} & {*op.properties})
    value = next(value for key, value in op.properties.items() if key in ("eps", "scale", "value"))
    assert scalar_bytes(value) == bits.to_bytes(8, "little")
    again = next(each for each in parse_module(printed(module)).walk() if each.name == op.name)
    assert again.properties == op.properties


@pytest.mark.parametrize(
    ("literal", "type", "message"),
    [
        ("dense<1.0e39>", "tensor<f32>", "1.0e39 is too large for f32, whose infinity is written 0x7F800000"),
        ("dense<-65520.0>", "tensor<f16>", "-65520.0 is too large for f16, whose infinity is written 0xFC00"),
        ("dense<1.0e400>", "tensor<f64>", "1.0e400 is too large for a number of 64 bits"),
        ("dense<0x1FF800000>", "tensor<f32>", "0x1FF800000 has more than the 32 bits of f32"),
        ("dense<-0x1>", "tensor<f32>", "-0x1: hexadecimal digits are the bits of a number and take no sign"),
        ("dense<5000000000>", "tensor<i32>", "5000000000 is out of range for i32, whose numbers go from"),
        (f"dense<{'9' * 5000}>", "tensor<f32>", "a number of 5000 characters is too long"),
        (f"dense<{'9' * 299}>", "tensor<f32>", "is too large for f32"),
        ('dense<"0x0203">', "tensor<2xi1>", "a byte of an element of i1 is 00, 01 or FF"),
        ('dense<"0x00000000FF">', "tensor<f32>", "5 bytes are no whole number of elements of f32"),
        ('dense<"000080FF">', "tensor<f32>", 'a string of a dense literal is "0x…"'),
        ("dense<1>", f"tensor<{'9' * 30}xi32>", "is too large: 9223372036854775807 is the most"),
    ],
)
def test_numbers_that_no_element_can_be(literal: str, type: str, message: str):
    with pytest.raises(ParseError) as error:
        parse_module(f"func.func @f() {{\n  %c = array.constant {literal} : {type}\n  func.return\n}}")
    assert message in error.value.msg
    assert error.value.span.get_location().line == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"array.reduce sum %x axes [{10**20}] : tensor<4x8xf32> -> tensor<4xf32>", f"{10**20} is too large"),
        (f"array.iota axis {10**20} : tensor<4xi32>", f"Integer value {10**20} is out of range for type i64"),
        ("array.rms_norm %x eps 1.0e400 : tensor<4x8xf32>", "1.0e400 is too large for a number of 64 bits"),
        (f"array.constant dense<1> : tensor<4xi{10**12}>", f"an integer of {10**12} bits is too wide"),
        ("array.constant dense<1.0> : tensor<4xi32>", "Expected integer value"),
        (f"arith.constant {10**400} : f32", "a number of 401 characters is too long"),
        (f"arith.constant {10**290} : f32", "is too large for f32, whose infinity is written 0x7F800000"),
    ],
)
def test_numbers_that_no_operation_can_hold(line: str, message: str):
    with pytest.raises(ParseError) as error:
        parse_module(f"func.func @f(%x: tensor<4x8xf32>) {{\n  %y = {line}\n  func.return\n}}")
    assert message in error.value.msg
    assert error.value.span.get_location().line == 2


def test_arrays_whose_offsets_do_not_fit():
    type = f"tensor<{2**40}x{2**40}xf16>"
    text = f"func.func @f(%x: {type}) {{\n  %y = array.relu %x : {type}\n  func.return\n}}"
    message = r"2:\d+: 'array.relu' operand 0 .* whose elements take more than 2\^63 bytes"
    with pytest.raises(OpError, match=message):
        verify(parse_module(text, "f.mlir"))
