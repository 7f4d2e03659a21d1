"""Literals of numbers that C++ and CUDA C++ have no digits for: their signs stay."""

from __future__ import annotations

from math import copysign, inf, nan

import pytest
from bb.lowering.emit.cpp.scalars import number as cpp_number
from bb.lowering.emit.cuda.scalars import number as cuda_number
from xdsl.dialects.builtin import f32, f64


@pytest.mark.parametrize("value", [inf, nan, 0.0])
@pytest.mark.parametrize("double", [False, True])
def test_the_sign_of_a_literal(value: float, double: bool):
    for write in (
        lambda each: cpp_number(each, double),
        lambda each: cuda_number(each, f64 if double else f32),
    ):
        assert write(copysign(value, -1)) == f"-{write(copysign(value, 1))}"
