"""The C++ that kernels become reads like the kernels, with their names and places."""

from __future__ import annotations

import re

import pytest
from bb.dialects.diagnostics import OpError
from bb.dialects.kernel import kernels_of
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.emit.cpp import Category, dims_in_order, emit_cpp, entry_name, statements_of
from bb.lowering.pipelines import PIPELINES, PassPipeline
from example_programs import EXAMPLES_DIR

KERNEL = """
!Q = !kernel.array<200x64xf32>
!K = !kernel.array<?x64xbf16>
!O = !kernel.array<200x?xf16>
!A = !kernel.tile<M x K x f32, scratch, lanes = rows>
!B = !kernel.tile<N x K x f32, scratch, lanes = rows>
!S = !kernel.tile<M x N x f32, scratch, lanes = rows>
!T = !kernel.tile<M x f32, scratch>
#dims = {M = #block.dim<200, block = 64>, N = #block.dim<?, block = 32>, K = #block.dim<64, whole>}

kernel.func @scores(%q : !Q, %k : !K) outs(%o : !O)
    attributes {block.dims = #dims} {
  kernel.parallel @M {
    %a = kernel.tile : !A
    %b = kernel.tile : !B
    %s = kernel.tile : !S
    %top = kernel.tile : !T
    %rows = kernel.cursor %q [M, K] : !Q -> !kernel.cursor<M x K x f32>
    kernel.load %a, %rows : !A, !kernel.cursor<M x K x f32>
    kernel.fill %top, -inf : !T
    kernel.for @N {
      %keys = kernel.cursor %k [N, K] : !K -> !kernel.cursor<N x K x bf16>
      kernel.load %b, %keys : !B, !kernel.cursor<N x K x bf16>
      kernel.contract %s, %a, %b : !S, !A, !B
      kernel.sweep [M, N] (%x = %s, %t = %top) -> (each %s, max %top) : !S, !T, !S, !T {
        %i = kernel.quantity index @N
        %c = arith.constant 7 : index
        %late = arith.cmpi sgt, %i, %c : index
        %y = arith.addf %x, %t : f32
        %e = math.exp %y : f32
        %z = arith.select %late, %e, %x : f32
        kernel.yield %z, %x : f32, f32
      }
      %to = kernel.cursor %o [M, N] : !O -> !kernel.cursor<M x N x f16>
      kernel.store %to, %s : !kernel.cursor<M x N x f16>, !S
    }
  }
}
"""


def source(text: str) -> str:
    module = parse_module(text, "scores.mlir")
    verify(module)
    return emit_cpp(kernels_of(module))


def flat(text: str) -> str:
    return " ".join(text.split())


FRAGMENTS = {
    "headers": "#include <bb/cpu.hpp> #include <bb/kernel.hpp>",
    "signature": 'extern "C" BB_EXPORT int bbk_scores(const bb::Array* arrays, const bb::idx* extents, '
    "int threads) {",
    "known extent": "constexpr bb::idx M = 200, Mblock = 64, Mblocks = bb::ceil_div(M, Mblock);",
    "unknown extent": "const bb::idx N = extents[1], Nblock = 32, Nblocks = bb::ceil_div(N, Nblock);",
    "whole dim": "constexpr bb::idx K = 64, Kblock = K, Kblocks = 1, K0 = 0, Kn = K;",
    "input": "const bb::bf16* const k = (const bb::bf16*)arrays[1].data;",
    "output": "bb::f16* const o2 = (bb::f16*)arrays[2].data;",
    "parallel loop": "bb::parallel_for(Mblocks, bb::workers(work, threads), [&](bb::idx task, int) -> int {",
    "memory": "if (!memory) return bb::out_of_memory;",
    "position": "const bb::idx M0 = Mi * Mblock, Mn = std::min(Mblock, M - M0);",
    "loop": "for (bb::idx Ni = 0; Ni < Nblocks; Ni++) {",
    "cursor": "auto* const keys = k + N0 * k_s0;",
    "load": "bb::load_plane<T>(b, b_ld, Kn, Nn, keys, k_s1, k_s0, Kn, Nn);",
    "fill": "bb::fill_plane<T>(top, top_ld, 1, Mn, -std::numeric_limits<float>::infinity());",
    "index": "const I i = I{} + (Int)(N0 + o);",
    "exponential": "const V e = bb::exp(y);",
    "select": "const V z = late ? e : x;",
    "reduction": "acc[0] = bb::max_nan(x, acc[0]);",
    "store": "bb::store_plane<T>(to, o2_s1, o2_s0, s, s_ld, Nn, Mn);",
    "end": "return bb::ok;",
}


@pytest.mark.parametrize("name", list(FRAGMENTS))
def test_fragments(name: str) -> None:
    assert flat(FRAGMENTS[name]) in flat(source(KERNEL))


def test_places_of_the_program() -> None:
    text = source(KERNEL)
    assert "// kernel scores\n" in text
    assert "// [M] in parallel\n" in text
    lines = text.splitlines()
    (load,) = (index for index, line in enumerate(lines) if "bb::load_plane<T>(b," in line)
    assert any(line.strip().startswith("// at scores.mlir:") for line in lines[:load])


def test_order_of_extents() -> None:
    (function,) = kernels_of(parse_module(KERNEL))
    assert list(dims_in_order(function)) == ["M", "N", "K"]
    assert entry_name("a b") != entry_name("a_b")


def test_doubles() -> None:
    """With f64 anywhere, or integers that a float would round, a kernel computes in double."""
    assert "using T = float;" in source(KERNEL)
    assert "using T = double;" in source(KERNEL.replace("bf16", "f64"))
    assert "using T = double;" in source(
        KERNEL.replace("N x K x bf16", "N x K x f64").replace("64xbf16", "64xf64")
    )


PROFILED = (KERNEL, *(f"{name}.mlir" for name in ("decoder_layer", "attention_gqa", "logsumexp", "lora")))


@pytest.mark.parametrize("program", PROFILED, ids=lambda text: text[:20].strip())
def test_a_profiled_kernel_is_the_same_but_for_its_probes(program: str) -> None:
    """Lines are added, none is changed, and each statement has a number of its own."""
    if program is KERNEL:
        module = parse_module(program)
    else:
        text = (EXAMPLES_DIR / program).read_text()
        module = PassPipeline(PIPELINES["cpu"]).run(parse_module(text, program))
    kernels = kernels_of(module)
    plain, profiled = (emit_cpp(kernels, profiling=flag).splitlines() for flag in (False, True))
    added = [line for line in profiled if "bb::profile::" in line or line.startswith("BB_STATEMENTS(")]
    assert [line for line in profiled if line not in added] == plain
    assert not any("profile" in line or "STATEMENTS" in line for line in plain)
    statements = statements_of(kernels)
    assert added[0] == f"BB_STATEMENTS({len(statements)})"
    assert sum("bb::profile::Launch" in line for line in added) == len(kernels)
    numbers = [int(number) for line in added for number in re.findall(r"profile::at\((\d+), ", line)]
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) <= set(range(len(statements)))
    unnumbered = [each for number, each in enumerate(statements) if number not in numbers]
    assert all(each.text.startswith("fill ") for each in unnumbered), "only a fill can be left out"
    assert {each.kernel for each in statements} == {function.sym_name.data for function in kernels}


def test_statements_of_a_profile() -> None:
    (function,) = kernels_of(parse_module(KERNEL, "scores.mlir"))
    found = statements_of([function])
    assert [(each.text, each.category) for each in found] == [
        ("load q", Category.MOVES),
        ("fill top", Category.MOVES),
        ("load k", Category.MOVES),
        ("s = a · b", Category.CONTRACTION),
        ("s, max top [M, N]: exp", Category.EXPONENTIALS),
        ("store o", Category.MOVES),
    ]
    assert {each.type for each in found} == {"f32"}
    assert found[0].place == "scores.mlir:19:5"
    text = flat(emit_cpp([function], profiling=True))
    assert "bb::profile::at(0, 0, Mn * Kn * (bb::idx)sizeof(float));" in text
    assert "bb::profile::at(3, 2 * Mn * Nn * Kn, 0);" in text
    assert "bb::profile::at(5, 0, Mn * Nn * (bb::idx)sizeof(bb::f16));" in text


def test_no_kernels() -> None:
    assert emit_cpp([]).split() == ["#include", "<bb/cpu.hpp>", "#include", "<bb/kernel.hpp>"]


REFUSED = {
    "has no form on a CPU": """
    kernel.func @f() attributes {block.dims = {M = #block.dim<8, block = 4>}} {
      kernel.parallel {
        kernel.parallel @M {
        }
      }
    }""",
}


@pytest.mark.parametrize("sentence", list(REFUSED))
def test_refused(sentence: str) -> None:
    with pytest.raises(OpError) as error:
        source(REFUSED[sentence])
    assert sentence in str(error.value)


LANES = {
    "i64 elements": ("i64", "arith.constant 0 : i32", "double"),
    "i32 elements": ("i32", "arith.constant 0 : i32", "float"),
    "a small i64": ("f32", "arith.constant 4096 : i64", "float"),
    "a large i64": ("f32", "arith.constant 4294967296 : i64", "double"),
    "an index": ("f32", "kernel.quantity index @M", "float"),
    "f64 between f32": ("f32", "arith.constant 0.5 : f64", "double"),
}


@pytest.mark.parametrize("name", list(LANES))
def test_lanes_are_as_wide_as_values_need(name: str) -> None:
    element, computed, lane = LANES[name]
    use = "%k = arith.cmpf oeq, %c, %c : f64" if "f64" in computed else ""
    use = use or f"%k = arith.cmpi eq, %c, %c : {'index' if 'index' in computed else computed[-3:]}"
    text = source(f"""
    !T = !kernel.tile<M x {element}, scratch>
    kernel.func @f() attributes {{block.dims = {{M = #block.dim<8, whole>}}}} {{
      kernel.parallel {{
        %a = kernel.tile : !T
        kernel.sweep [M] (%x = %a) -> (each %a) : !T, !T {{
          %c = {computed}
          {use}
          %f = arith.select %k, %x, %x : {element}
          kernel.yield %f : {element}
        }}
      }}
    }}""")
    assert f"using T = {lane};" in text


TWICE = """
!X = !kernel.array<200x64xf32>
!C = !kernel.cursor<M x N x f32>
!T = !kernel.tile<M x N x f32, scratch, lanes = cols>
!V = !kernel.tile<M x f32, scratch>

kernel.func @twice(%x : !X) outs(%o : !kernel.array<200xf32>)
    attributes {block.dims = {M = #block.dim<200, block = 8>, N = #block.dim<64, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !T
    %b = kernel.tile : !T
    %s = kernel.tile : !V
    %1 = kernel.cursor %x [M, N] : !X -> !C
    kernel.load %a, %1 in_place ahead : !T, !C
    kernel.sweep [M, N] (%p = %a) -> (sum %s) : !T, !V {
      kernel.yield %p : f32
    }
    kernel.sweep [M, N] (%p = %a, %q = %s) -> (sum %s) : !T, !V, !V {
      %e = math.exp %p : f32
      kernel.yield %e : f32
    }
    %2 = kernel.cursor %x [M, N] : !X -> !C
    kernel.load %b, %2 in_place ahead : !T, !C
    kernel.sweep [M, N] (%p = %b, %q = %s) -> (sum %s) : !T, !V, !V {
      %e = math.exp %p : f32
      kernel.yield %e : f32
    }
    %to = kernel.cursor %o [M] : !kernel.array<200xf32> -> !kernel.cursor<M x f32>
    kernel.store %to, %s : !kernel.cursor<M x f32>, !V
  }
}
"""


def test_rows_that_are_loaded_twice_are_fetched_ahead() -> None:
    assert source(TWICE).count("bb::prefetch<2>") >= 2
