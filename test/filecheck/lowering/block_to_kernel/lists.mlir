// RUN: bb-opt %s -p block-to-kernel | filecheck %s
// RUN: bb-opt %s -p block-to-kernel | bb-opt | filecheck %s

#dims = {M = #block.dim<100, block = 16>, K = #block.dim<40, block = 8>, N = #block.dim<30, block = 4>}

// A list that stays inside an iteration lies in a buffer of its own, one block of rows high.
// CHECK-LABEL: kernel.func @private_kernel1(%x : !kernel.array<100x40xf32>) outs(%y : !kernel.array<100xf32>)
// CHECK-NEXT:    kernel.parallel @M {
// CHECK:           %[[LIST:.*]] = kernel.buffer [M, K] here [M] local 2560 : !kernel.array<?x?xf32>
// CHECK:           kernel.for @K {
// CHECK:             kernel.load
// CHECK:             %[[TO:.*]] = kernel.cursor %[[LIST]] [M, K] here [M] : !kernel.array<?x?xf32> -> !kernel.cursor<M x K x f32>
// CHECK-NEXT:        kernel.store %[[TO]],
// CHECK:           kernel.for @K {
// CHECK-NEXT:        %[[FROM:.*]] = kernel.cursor %[[LIST]] [M, K] here [M]
// CHECK-NEXT:        kernel.load %{{.*}}, %[[FROM]]
func.func @private(%x: tensor<100x40xf32>) -> tensor<100xf32> attributes {block.dims = #dims} {
  %X = block.partition %x [M, K] : tensor<100x40xf32> -> !block.list<M, K, block<M x K x f32>>
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

// A list from outside is read at the current block of every loop around; a separate nest is a separate kernel.
// What goes from one to the other is an array that the program's function hands on.
// CHECK-LABEL: kernel.func @captured_kernel1(%x : !kernel.array<100x40xf32>) outs(%{{.*}} : !kernel.array<100x40xf32>)
// CHECK-NEXT:    kernel.parallel @M, @K {
// CHECK-LABEL: kernel.func @captured_kernel2(
// CHECK-NEXT:    kernel.parallel @M, @K {
// CHECK-LABEL: func.func @captured
// CHECK-NEXT:    %[[H:.*]] = kernel.launch @captured_kernel1(%x) {{\[\[}}M, K]] : (tensor<100x40xf32>) -> (tensor<100x40xf32>)
// CHECK-NEXT:    %{{.*}} = kernel.launch @captured_kernel2({{.*}}%[[H]]{{.*}}) {{\[\[}}M, K]]
func.func @captured(%x: tensor<100x40xf32>) -> tensor<100x40xf32> attributes {block.dims = #dims} {
  %X = block.partition %x [M, K] : tensor<100x40xf32> -> !block.list<M, K, block<M x K x f32>>
  %H = block.map @M (%row = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %G = block.map @K (%e = %row) -> (stack) : !block.list<K, block<M x K x f32>> {
      %a = block.load %e : !block.block<M x K x f32, global>
      %c = block.store %a : !block.block<M x K x f32>
      block.yield %c : !block.block<M x K x f32, global>
    }
    block.yield %G : !block.list<K, block<M x K x f32>>
  }
  %Y = block.map @M (%row = %X, %other = %H) -> (stack) : !block.list<M, K, block<M x K x f32>>, !block.list<M, K, block<M x K x f32>> {
    %G = block.map @K (%e = %row, %f = %other) -> (stack) : !block.list<K, block<M x K x f32>>, !block.list<K, block<M x K x f32>> {
      %a = block.load %e : !block.block<M x K x f32, global>
      %b = block.load %f : !block.block<M x K x f32, global>
      %d = block.mul %a, %b : !block.block<M x K x f32>
      %c = block.store %d : !block.block<M x K x f32>
      block.yield %c : !block.block<M x K x f32, global>
    }
    block.yield %G : !block.list<K, block<M x K x f32>>
  }
  %y = block.assemble %Y [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<100x40xf32>
  func.return %y : tensor<100x40xf32>
}

// `any` hands on the tile of the last iteration.
// CHECK-LABEL: kernel.func @any_kernel1(
// CHECK:           kernel.for @K {
// CHECK-NEXT:        %[[V:.*]] = kernel.cursor %v [M]
// CHECK-NEXT:        kernel.load %[[TILE:.*]], %[[V]]
// CHECK:           kernel.store %{{.*}}, %[[TILE]]
func.func @any(%x: tensor<100x40xf32>, %v: tensor<100xf32>) -> tensor<100xf32> attributes {block.dims = #dims} {
  %X = block.partition %x [M, K] : tensor<100x40xf32> -> !block.list<M, K, block<M x K x f32>>
  %V = block.partition %v [M] : tensor<100xf32> -> !block.list<M, vector<M x f32>>
  %Y = block.map @M (%row = %X, %w = %V) -> (stack) : !block.list<M, K, block<M x K x f32>>, !block.list<M, vector<M x f32>> {
    %s = block.map @K (%e = %row) -> (any) : !block.list<K, block<M x K x f32>> {
      %a = block.load %w : !block.vector<M x f32, global>
      block.yield %a : !block.vector<M x f32>
    }
    %t = block.store %s : !block.vector<M x f32>
    block.yield %t : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<100xf32>
  func.return %y : tensor<100xf32>
}

// What a map passes on is copied; what it yields twice is stored twice; what nothing reads is not made.
// CHECK-LABEL: kernel.func @passed_kernel1(%v : !kernel.array<100xf32>) outs(%a : !kernel.array<100xf32>, %b : !kernel.array<100xf32>)
// CHECK-NEXT:    kernel.parallel @M {
// CHECK:           kernel.load %[[ITEM:.*]], %{{.*}}
// CHECK-NEXT:      %[[A:.*]] = kernel.cursor %a [M]
// CHECK-NEXT:      kernel.store %[[A]], %[[ITEM]]
// CHECK-NEXT:      %[[B:.*]] = kernel.cursor %b [M]
// CHECK-NEXT:      kernel.store %[[B]], %[[ITEM]]
// CHECK-NEXT:    }
func.func @passed(%v: tensor<100xf32>) -> (tensor<100xf32>, tensor<100xf32>) attributes {block.dims = #dims} {
  %V = block.partition %v [M] : tensor<100xf32> -> !block.list<M, vector<M x f32>>
  %A, %B, %C = block.map @M (%w = %V) -> (stack, stack, stack) : !block.list<M, vector<M x f32>> {
    %a = block.load %w : !block.vector<M x f32, global>
    %b = block.mul %a, %a : !block.vector<M x f32>
    %c = block.store %b : !block.vector<M x f32>
    block.yield %w, %w, %c : !block.vector<M x f32, global>, !block.vector<M x f32, global>, !block.vector<M x f32, global>
  }
  %a = block.assemble %A [M] : !block.list<M, vector<M x f32>> -> tensor<100xf32>
  %b = block.assemble %B [M] : !block.list<M, vector<M x f32>> -> tensor<100xf32>
  func.return %a, %b : tensor<100xf32>, tensor<100xf32>
}
