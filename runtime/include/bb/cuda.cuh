// The tile library of generated CUDA kernels: what the headers of cuda/ say of each part. It needs sm_80.
//
// A block's threads work on tiles of a matrix. Copies bring tiles of operands from global into shared memory
// (reader.cuh, shared_tile.cuh), warps multiply them into sums that stay in registers (contract.cuh,
// fragments.cuh), work on those element by element and row by row (fragments.cuh, reduce.cuh, math.cuh), and
// store them (store.cuh). rows.cuh takes statistics of tiles in shared memory; row_piece.cuh is for kernels
// without products.
#pragma once
#include "cuda/contract.cuh"
#include "cuda/contract_f32.cuh"
#include "cuda/device.cuh"
#include "cuda/fragments.cuh"
#include "cuda/masked.cuh"
#include "cuda/math.cuh"
#include "cuda/reader.cuh"
#include "cuda/reduce.cuh"
#include "cuda/row_piece.cuh"
#include "cuda/rows.cuh"
#include "cuda/shared_tile.cuh"
#include "cuda/store.cuh"
#include "cuda/types.cuh"
