// RUN: bb-opt %s -p block-mask-remainders | filecheck %s
// RUN: bb-opt %s -p block-mask-remainders,block-mask-remainders | filecheck %s
// RUN: bb-opt %s -p block-mask-remainders --verify-each -o /dev/null

// Zeros are harmless to a sum, but not to a maximum. What is masked for one serves the exponential: exp(-inf) is 0.
// CHECK-LABEL: func.func @softmax_parts
// CHECK:           %a = block.load %e
// CHECK-NEXT:      %a_1 = block.elementwise (%0 = %a)
// CHECK-NEXT:        %1 = block.index @N
// CHECK-NEXT:        %2 = block.extent @N
// CHECK-NEXT:        %3 = arith.cmpi slt, %1, %2 : index
// CHECK-NEXT:        %4 = arith.constant 0xff800000 : f32
// CHECK-NEXT:        %5 = arith.select %3, %0, %4 : f32
// CHECK-NEXT:        block.yield %5 : f32
// CHECK:           %s = block.row_sum %a acc
// CHECK-NEXT:      %m = block.row_max %a_1
// CHECK:           %p = block.elementwise (%q = %a_1)
// CHECK:           %t = block.row_sum %p acc
func.func @softmax_parts(%x: tensor<10x14xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>)
    attributes {block.dims = {M = #block.dim<10>, N = #block.dim<14>}} {
  %X = block.partition %x [M, N] : tensor<10x14xf32> -> !block.list<M, N, block<M x N x f32>>
  %S, %P, %T = block.map @M (%r = %X) -> (stack, stack, stack) : !block.list<M, N, block<M x N x f32>> {
    %sum, %max, %total = block.map @N (%e = %r) -> (sum, max, sum) : !block.list<N, block<M x N x f32>> {
      %a = block.load %e : !block.block<M x N x f32, global>
      %s = block.row_sum %a acc f32 : !block.block<M x N x f32>
      %m = block.row_max %a : !block.block<M x N x f32>
      %p = block.elementwise (%q = %a) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
        %0 = math.exp %q : f32
        block.yield %0 : f32
      }
      %t = block.row_sum %p acc f32 : !block.block<M x N x f32>
      block.yield %s, %m, %t : !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32>
    }
    %s1 = block.store %sum : !block.vector<M x f32>
    %m1 = block.store %max : !block.vector<M x f32>
    %t1 = block.store %total : !block.vector<M x f32>
    block.yield %s1, %m1, %t1 : !block.vector<M x f32, global>, !block.vector<M x f32, global>, !block.vector<M x f32, global>
  }
  %y0 = block.assemble %S [M] : !block.list<M, vector<M x f32>> -> tensor<10xf32>
  %y1 = block.assemble %P [M] : !block.list<M, vector<M x f32>> -> tensor<10xf32>
  %y2 = block.assemble %T [M] : !block.list<M, vector<M x f32>> -> tensor<10xf32>
  func.return %y0, %y1, %y2 : tensor<10xf32>, tensor<10xf32>, tensor<10xf32>
}

// No block is short, so that nothing is padded.
// CHECK-LABEL: func.func @divisible
// CHECK-NOT:   block.index
func.func @divisible(%x: tensor<16x32xf32>) -> tensor<16xf32>
    attributes {block.dims = {M = #block.dim<16, block = 8>, N = #block.dim<32, block = 16>}} {
  %X = block.partition %x [M, N] : tensor<16x32xf32> -> !block.list<M, N, block<M x N x f32>>
  %Y = block.map @M (%r = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    %t = block.map @N (%e = %r) -> (max) : !block.list<N, block<M x N x f32>> {
      %a = block.load %e : !block.block<M x N x f32, global>
      %m = block.row_max %a : !block.block<M x N x f32>
      block.yield %m : !block.vector<M x f32>
    }
    %s = block.store %t : !block.vector<M x f32>
    block.yield %s : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<16xf32>
  func.return %y : tensor<16xf32>
}
