"""Axes that have one extent in every call, for each operation on arrays."""

from __future__ import annotations

import bb
import pytest
from bb.passes.analysis.extents import equal_extents, tied_dims
from bb.runtime.program.functions import select_function

CASES = {
    "%v = array.matmul %a, %b : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>": "a0=v0 b1=v1 a1=b0",
    "%v = array.matmul %a, %b transpose_a : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>": (
        "a1=v0 b1=v1 a0=b0"
    ),
    "%v = array.matmul %a, %b transpose_b : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>": (
        "a0=v0 b0=v1 a1=b1"
    ),
    "%v = array.transpose %a perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>": "a0=v1 a1=v0",
    "%v = array.masked_matmul %a, %b keeps (%m = %a) : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32> "
    "-> tensor<?x?xf32> { %z = arith.cmpf une, %m, %m : f32 array.yield %z : i1 }": "a0=v0 b1=v1 a1=b0",
    "%v = array.softmax %a axis 1 : tensor<?x?xf32>": "a0=v0 a1=v1",
    "%v = array.reduce sum %a axes [1] keepdims : tensor<?x?xf32> -> tensor<?x1xf32>": "a0=v0",
    "%v = array.reduce sum %a axes [0] : tensor<?x?xf32> -> tensor<?xf32>": "a1=v0",
    "%v = array.reshape %a : tensor<?x?xf32> -> tensor<?x?x1xf32>": "a0=v0 a1=v1",
    "%v = array.broadcast %a : tensor<?x?xf32> -> tensor<3x?x?xf32>": "a0=v1 a1=v2",
    "%v = array.concat %a, %b axis 0 : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>": "a1=v1=b1",
    "%v = array.slice %a offsets [0, 1] sizes [-1, -1] : tensor<?x?xf32> -> tensor<?x?xf32>": "a0=v0",
    "%v = array.iota axis 0 like %a : tensor<?x?xf32> -> tensor<?x?xi32>": "a0=v0 a1=v1",
    "%v = array.attention %a, %b, %b scale 1.0 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32> "
    "-> tensor<?x?xf32>": "a0=v0 a1=b1=v1",
}


@pytest.mark.parametrize("operation", CASES)
def test_operations_tie_axes(operation: str) -> None:
    result = operation.partition(" {")[0].rpartition("-> " if "->" in operation else ": ")[2]
    function = select_function(
        bb.parse(
            f"func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> {result} {{\n"
            f"  {operation}\n  func.return %v : {result}\n}}"
        ),
        None,
    )
    a, b = function.body.block.args
    (v,) = function.body.block.first_op.results
    classes = equal_extents(function)
    values = {"a": a, "b": b, "v": v}
    groups: dict[object, set[str]] = {}
    for name, value in values.items():
        for axis in range(len(value.type.get_shape())):
            groups.setdefault(classes.find((value, axis)), set()).add(f"{name}{axis}")
    expected = [set(group.split("=")) for group in CASES[operation].split()]
    found = [group for group in groups.values() if len(group) > 1]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_an_array_cut_along_two_dims_ties_them() -> None:
    program = bb.parse("""
    func.func @f(%x: tensor<?xf32>, %y: tensor<12xf32>) -> tensor<?xf32>
        attributes {block.dims = {M = #block.dim<?>, L = #block.dim<?>, K = #block.dim<?>}} {
      %a = block.partition %x [M] : tensor<?xf32> -> !block.list<M, vector<M x f32>>
      %b = block.partition %x [L] : tensor<?xf32> -> !block.list<L, vector<L x f32>>
      %z = block.assemble %b [L] : !block.list<L, vector<L x f32>> -> tensor<?xf32>
      %c = block.partition %z [K] : tensor<?xf32> -> !block.list<K, vector<K x f32>>
      func.return %z : tensor<?xf32>
    }""")
    assert tied_dims(select_function(program, None)) == dict.fromkeys("MLK", ("M", "L", "K"))
