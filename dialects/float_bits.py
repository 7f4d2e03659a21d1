"""Floating-point literals and their bits: hexadecimal literals of MLIR, and NaNs that keep their payload.

MLIR writes numbers that have no exact short decimal as their bits: `0xFF800000 : f32` is -inf. xDSL keeps
a number as a Python float, and changes the NaNs of types with fewer bits: it sets the quiet bit, and f16
loses the payload (before Python 3.14). `keep_bits` lets these types convert NaNs bit by bit. xDSL also takes
a dense attribute for a splat if its elements are equal, though 0.0 equals -0.0: with `keep_bits` their bits
must be equal.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from math import isinf
from typing import Any

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float8E3M4Type,
    Float8E4M3Type,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    FloatTF32Type,
)

_LITERAL = re.compile(r"-?\s*(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?)")
_LONGEST_SHOWN = 40
"""Characters of a number that a message shows."""

_F64_FRACTION = 52
_FRACTION_BITS: dict[type[AnyFloat], int] = {
    Float8E3M4Type: 4,
    Float8E4M3Type: 3,
    Float8E5M2Type: 2,
    Float16Type: 10,
    BFloat16Type: 7,
    FloatTF32Type: 10,
    Float32Type: 23,
}
"""Bits of the fraction, for the types whose NaNs xDSL changes."""


def literal_at(text: str, start: int) -> str:
    """The number that begins at a position of a text, its sign included; empty if none does."""
    found = _LITERAL.match(text, start)
    return "" if found is None else found[0]


def float_of_literal(literal: str, type: AnyFloat) -> float:
    """The number of type `type` that a literal of MLIR stands for, its sign included.

    Hexadecimal digits are the bits of the number. Raises ValueError, with a message for the user, where
    the bits do not fit the type, and for a decimal number beyond the largest one of the type.
    """
    text = "".join(literal.split())
    if "x" in text:
        if text.startswith("-"):
            raise ValueError(f"{text}: hexadecimal digits are the bits of a number and take no sign")
        bits = int(text, 16)
        if bits.bit_length() > type.bitwidth:
            raise ValueError(f"{text} has more than the {type.bitwidth} bits of {type}")
        return type.unpack(bits.to_bytes(type.compile_time_size, "little"), 1)[0]
    value = float(text)
    if isinf(rounded := type.round(value)):
        infinity = type.pack((rounded,))[::-1].hex().upper()
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        raise ValueError(f"{shown} is too large for {type}, whose infinity is written 0x{infinity}")
    return value


def _nan_of_bits(bits: int, width: int, fraction_bits: int) -> float:
    sign, fraction = bits >> width - 1, bits & (1 << fraction_bits) - 1
    wide = sign << 63 | 0x7FF << _F64_FRACTION | fraction << _F64_FRACTION - fraction_bits
    return struct.unpack("<d", wide.to_bytes(8, "little"))[0]


def _bits_of_nan(nan: float, width: int, fraction_bits: int) -> int:
    wide = int.from_bytes(struct.pack("<d", nan), "little")
    fraction = (wide & (1 << _F64_FRACTION) - 1) >> _F64_FRACTION - fraction_bits
    # Bits that the type lacks may have been all that made it a NaN.
    fraction = fraction or 1 << fraction_bits - 1
    exponent = (1 << width - 1) - (1 << fraction_bits)
    return wide >> 63 << width - 1 | exponent | fraction


def _keep_nans_of(type: type[Any], fraction_bits: int) -> None:
    """Replace the conversions of one of xDSL's types by ones that convert NaNs bit by bit."""
    pack, unpack, iterate = type.pack, type.unpack, type.iter_unpack
    width, size = int(type().bitwidth), int(type().compile_time_size)

    def exact_pack(self: Any, values: Sequence[float]) -> bytes:
        packed = pack(self, values)
        nans = [place for place, value in enumerate(values) if value != value]
        if not nans:
            return packed
        found = bytearray(packed)
        for place in nans:
            bits = _bits_of_nan(values[place], width, fraction_bits)
            found[place * size : (place + 1) * size] = bits.to_bytes(size, "little")
        return bytes(found)

    def exact(value: float, place: int, data: memoryview) -> float:
        if value == value:
            return value
        bits = int.from_bytes(data[place * size : (place + 1) * size], "little")
        return _nan_of_bits(bits, width, fraction_bits)

    def exact_unpack(self: Any, buffer: Any, num: int, /) -> tuple[float, ...]:
        values, data = unpack(self, buffer, num), memoryview(buffer).cast("B")
        return tuple(exact(value, place, data) for place, value in enumerate(values))

    def exact_iterate(self: Any, buffer: Any, /) -> Iterator[float]:
        data = memoryview(buffer).cast("B")
        return (exact(value, place, data) for place, value in enumerate(iterate(self, buffer)))

    type.pack, type.unpack, type.iter_unpack = exact_pack, exact_unpack, exact_iterate


def _is_splat(self: DenseIntOrFPElementsAttr) -> bool:
    data = self.data.data
    count = len(self)
    return count > 0 and data[: len(data) // count] * count == data


def keep_bits() -> None:
    """Let xDSL's attributes keep the bits of their numbers; a second call changes nothing."""
    if DenseIntOrFPElementsAttr.is_splat is _is_splat:
        return
    DenseIntOrFPElementsAttr.is_splat = _is_splat
    for type, fraction_bits in _FRACTION_BITS.items():
        _keep_nans_of(type, fraction_bits)
