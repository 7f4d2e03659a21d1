// RUN: bb-opt %s -p "block-to-kernel" | filecheck %s --check-prefixes=ALL,FITS
// RUN: bb-opt %s -p "block-to-kernel{local-memory=8192}" | filecheck %s --check-prefixes=ALL,TIGHT
// RUN: bb-opt %s -p "block-to-kernel{local-memory=0}" -t cpp | filecheck %s --check-prefix=NONE
// RUN: bb-opt %s -p "block-to-kernel{local-memory=1000000}" -t cpp | filecheck %s --check-prefix=SOURCE

#dims = {M = #block.dim<100, block = 16>, K = #block.dim<400, block = 8>, N = #block.dim<?, block = 8>}

// A list of 16 rows and 400 columns has 25600 bytes; the tiles take 1664 of the local memory before.
// ALL-LABEL: kernel.func @known_kernel1(
// FITS:        kernel.buffer [M, K] here [M] local 25600 : !kernel.array<?x?xf32>
// TIGHT:       kernel.buffer [M, K] here [M] local 0 : !kernel.array<?x?xf32>
// NONE-LABEL:  kernel known_kernel1
// NONE:        // list: [M, K], 25600 bytes, in global memory, for no bytes of local memory are left for it
// NONE:        T* const list = piece.lists + list_at;
// SOURCE-LABEL: kernel known_kernel1
// SOURCE:      // list: [M, K], 25600 bytes, in local memory
// SOURCE:      T* const list = memory + list_at;
func.func @known(%x: tensor<100x400xf32>) -> tensor<100xf32> attributes {block.dims = #dims} {
  %X = block.partition %x [M, K] : tensor<100x400xf32> -> !block.list<M, K, block<M x K x f32>>
  %Y = block.map @M (%row = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %H = block.map @K (%e = %row) -> (stack) : !block.list<K, block<M x K x f32>> {
      %a = block.load %e : !block.block<M x K x f32, global>
      %b = block.mul %a, %a : !block.block<M x K x f32>
      %c = block.store %b : !block.block<M x K x f32>
      block.yield %c : !block.block<M x K x f32, global>
    }
    %s = block.map @K (%e = %H) -> (sum) : !block.list<K, block<M x K x f32>> {
      %a = block.load %e : !block.block<M x K x f32, global>
      %r = block.row_sum %a acc f32 : !block.block<M x K x f32>
      block.yield %r : !block.vector<M x f32>
    }
    %t = block.store %s : !block.vector<M x f32>
    block.yield %t : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<100xf32>
  func.return %y : tensor<100xf32>
}

// Where the extent is not known, the size decides when the kernel is called.
// ALL-LABEL: kernel.func @unknown_kernel1(
// FITS:        kernel.buffer [M, N] here [M] local 1046912 : !kernel.array<?x?xf32>
// TIGHT:       kernel.buffer [M, N] here [M] local 6528 : !kernel.array<?x?xf32>
// SOURCE-LABEL: kernel unknown_kernel1
// SOURCE:      // list: [M, N], as long as its dims, in local memory up to 998336 bytes, else in global memory
// SOURCE:      const bool list_near = {{.*}} <= 998336 / (bb::idx)sizeof(T);
func.func @unknown(%x: tensor<100x?xf32>) -> tensor<100xf32> attributes {block.dims = #dims} {
  %X = block.partition %x [M, N] : tensor<100x?xf32> -> !block.list<M, N, block<M x N x f32>>
  %Y = block.map @M (%row = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    %H = block.map @N (%e = %row) -> (stack) : !block.list<N, block<M x N x f32>> {
      %a = block.load %e : !block.block<M x N x f32, global>
      %b = block.mul %a, %a : !block.block<M x N x f32>
      %c = block.store %b : !block.block<M x N x f32>
      block.yield %c : !block.block<M x N x f32, global>
    }
    %s = block.map @N (%e = %H) -> (sum) : !block.list<N, block<M x N x f32>> {
      %a = block.load %e : !block.block<M x N x f32, global>
      %r = block.row_sum %a acc f32 : !block.block<M x N x f32>
      block.yield %r : !block.vector<M x f32>
    }
    %t = block.store %s : !block.vector<M x f32>
    block.yield %t : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<100xf32>
  func.return %y : tensor<100xf32>
}
