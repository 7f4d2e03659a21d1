// out[column][row] = in[row][column], halves: tiles of 32 x 32 through shared memory, 32 x 8 threads.
#include <cuda_fp16.h>

constexpr int TILE = 32, LINES = 8;

template <class T>
__device__ void move(const T* in, T* out, int rows, int columns) {
  __shared__ T tile[TILE][TILE + 2];
  int column = blockIdx.x * TILE + threadIdx.x;
  const int row0 = blockIdx.y * TILE;
  for (int y = threadIdx.y; y < TILE; y += LINES)
    if (row0 + y < rows && column < columns) tile[y][threadIdx.x] = in[(size_t)(row0 + y) * columns + column];
  __syncthreads();  // the tile is there
  const int row = row0 + threadIdx.x;
  for (int y = threadIdx.y; y < TILE; y += LINES) {
    column = blockIdx.x * TILE + y;
    if (row < rows && column < columns) out[(size_t)column * rows + row] = tile[threadIdx.x][y];
  }
}

extern "C" __global__ void __launch_bounds__(TILE * LINES)
    transpose(const __half* in, __half* out, int rows, int columns) {
  move(in, out, rows, columns);
}
