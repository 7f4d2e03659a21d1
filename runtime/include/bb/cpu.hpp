// cpu.hpp: the tile library for CPUs. Each header's first comment is its reference.
//
// Compile kernels and runtime/native/*.cpp with the same flags:
//   -std=c++20 -O3 -march=native -mprefer-vector-width=512 -fopenmp -fno-math-errno -ffp-contract=fast -fno-trapping-math
// (never -ffast-math: infinities and NaN carry meaning), and link the objects of runtime/native into every kernel's library.
#pragma once
#include "contract.hpp"
#include "convert.hpp"
#include "math.hpp"
#include "parallel.hpp"
#include "plane.hpp"
#include "scratch.hpp"
#include "vec.hpp"
