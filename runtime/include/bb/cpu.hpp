// cpu.hpp: the tile library for CPUs. Each header's first comment is its reference.
//
// Flags of kernels and of runtime/cpu/native/*.cpp alike (vectors' sizes and their ABI depend on them):
//   -std=c++20 -O3 -march=native -mprefer-vector-width=512 -fopenmp -fPIC
//   -fno-math-errno -ffp-contract=fast -fno-trapping-math
// Never -ffast-math: infinities and NaN carry meaning here. At -O1 and below no multiply-adds are formed, and
// sin and cos
// lose accuracy. With gcc 12, -Wall needs -Wno-maybe-uninitialized -Wno-uninitialized (its own AVX-512
// headers).
// The objects of runtime/cpu/native/contract_*.cpp that a kernel calls are linked into its library. Their parts
// (runtime/cpu/native/parts.hpp) take 1 to 2 s of compilation each, once per machine and compiler; a kernel that includes
// this header takes about as long.
#pragma once
#include "contract.hpp"
#include "contract_bf16.hpp"
#include "convert.hpp"
#include "masked.hpp"
#include "math.hpp"
#include "parallel.hpp"
#include "plane.hpp"
#include "scratch.hpp"
#include "vec.hpp"
