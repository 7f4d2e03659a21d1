// RUN: bb-opt %s --pipeline cpu | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes" | filecheck %s --check-prefix=SHAPES
// RUN: bb-opt %s -t cpp --pipeline cpu | filecheck %s --check-prefix=CPP

// A mask that keeps n <= m ends the loop over the keys with the block of rows, and cuts the last block of keys.
// There are fewer rows in a block, and the keys are a loop even where one block holds them all.
// SHAPES-LABEL: func.func @causal
// SHAPES-SAME:  M = #block.dim<100, block = 32>, N = #block.dim<100, block = 100>
// CHECK-LABEL: kernel.func @causal_kernel
// CHECK:         kernel.for @N until @M {
// CPP-LABEL: int bbk_causal_kernel1
// CPP:         const bb::idx Nend = std::min(N, M0 + Mn);  // the rest is masked
// CPP-NEXT:    for (bb::idx Ni = 0; Ni < bb::ceil_div(Nend, Nblock); Ni++) {
// CPP-NEXT:      const bb::idx N0 = Ni * Nblock, Nn = std::min(Nblock, Nend - N0);
func.func @causal(%q: tensor<2x100x16xf32> {bb.dims = ["H", "M", "K"]}, %k: tensor<2x100x16xf32> {bb.dims = ["H", "N", "K"]}, %v: tensor<2x100x24xf32> {bb.dims = ["H", "N", "L"]}) -> tensor<2x100x24xf32> {
  %out = array.attention %q, %k, %v causal : tensor<2x100x16xf32>, tensor<2x100x16xf32>, tensor<2x100x24xf32> -> tensor<2x100x24xf32>
  func.return %out : tensor<2x100x24xf32>
}

// The last query sees all keys: n <= m + 184, written from either side.
// CHECK-LABEL: kernel.func @aligned_at_the_end_kernel
// CHECK:         kernel.for @N until @M + 184 {
// CPP-LABEL: int bbk_aligned_at_the_end_kernel1
// CPP:         const bb::idx Nend = std::min(N, M0 + Mn + 184);  // the rest is masked
func.func @aligned_at_the_end(%q: tensor<333x16xf32> {bb.dims = ["M", "K"]}, %k: tensor<517x16xf32> {bb.dims = ["N", "K"]}, %v: tensor<517x24xf32> {bb.dims = ["N", "L"]}) -> tensor<333x24xf32> {
  %scores = array.matmul %q, %k transpose_b : tensor<333x16xf32>, tensor<517x16xf32> -> tensor<333x517xf32>
  %row = array.iota axis 0 : tensor<333x1xi32>
  %column = array.iota axis 1 : tensor<1x517xi32>
  %masked = array.elementwise (%s = %scores, %m = %row, %n = %column) : tensor<333x517xf32>, tensor<333x1xi32>, tensor<1x517xi32> -> tensor<333x517xf32> {
    %offset = arith.constant 184 : i32
    %distance = arith.subi %n, %m : i32
    %visible = arith.cmpi sge, %offset, %distance : i32
    %hidden = arith.constant 0xff800000 : f32
    %chosen = arith.select %visible, %s, %hidden : f32
    array.yield %chosen : f32
  }
  %weights = array.softmax %masked axis 1 : tensor<333x517xf32>
  %out = array.matmul %weights, %v : tensor<333x517xf32>, tensor<517x24xf32> -> tensor<333x24xf32>
  func.return %out : tensor<333x24xf32>
}

// A strict comparison, and one whose offset is below 0, hide at least what comes after the row.
// CHECK-LABEL: kernel.func @strictly_before_kernel
// CHECK:         kernel.for @N until @M {
func.func @strictly_before(%q: tensor<70x16xf32> {bb.dims = ["M", "K"]}, %k: tensor<90x16xf32> {bb.dims = ["N", "K"]}, %v: tensor<90x24xf32> {bb.dims = ["N", "L"]}) -> tensor<70x24xf32> {
  %scores = array.matmul %q, %k transpose_b : tensor<70x16xf32>, tensor<90x16xf32> -> tensor<70x90xf32>
  %row = array.iota axis 0 : tensor<70x1xi32>
  %column = array.iota axis 1 : tensor<1x90xi32>
  %masked = array.elementwise (%s = %scores, %m = %row, %n = %column) : tensor<70x90xf32>, tensor<70x1xi32>, tensor<1x90xi32> -> tensor<70x90xf32> {
    %visible = arith.cmpi sgt, %m, %n : i32
    %hidden = arith.constant 0xff800000 : f32
    %chosen = arith.select %visible, %s, %hidden : f32
    array.yield %chosen : f32
  }
  %weights = array.softmax %masked axis 1 : tensor<70x90xf32>
  %out = array.matmul %weights, %v : tensor<70x90xf32>, tensor<90x24xf32> -> tensor<70x24xf32>
  func.return %out : tensor<70x24xf32>
}

// Masks that hide something else leave the loop whole: what comes before the row.
// CHECK-LABEL: kernel.func @later_kernel
// CHECK-NOT:     until
// CHECK-LABEL: func.func @later
func.func @later(%q: tensor<700x16xf32> {bb.dims = ["M", "K"]}, %k: tensor<900x16xf32> {bb.dims = ["N", "K"]}, %v: tensor<900x24xf32> {bb.dims = ["N", "L"]}) -> tensor<700x24xf32> {
  %scores = array.matmul %q, %k transpose_b : tensor<700x16xf32>, tensor<900x16xf32> -> tensor<700x900xf32>
  %row = array.iota axis 0 : tensor<700x1xi32>
  %column = array.iota axis 1 : tensor<1x900xi32>
  %masked = array.elementwise (%s = %scores, %m = %row, %n = %column) : tensor<700x900xf32>, tensor<700x1xi32>, tensor<1x900xi32> -> tensor<700x900xf32> {
    %visible = arith.cmpi sle, %m, %n : i32
    %hidden = arith.constant 0xff800000 : f32
    %chosen = arith.select %visible, %s, %hidden : f32
    array.yield %chosen : f32
  }
  %weights = array.softmax %masked axis 1 : tensor<700x900xf32>
  %out = array.matmul %weights, %v : tensor<700x900xf32>, tensor<900x24xf32> -> tensor<700x24xf32>
  func.return %out : tensor<700x24xf32>
}
