// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// CHECK-LABEL: func.func @views
// CHECK-SAME: block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<?>, H = #block.dim<4, batch>, E = #block.dim<16, whole>}
func.func @views(%x: tensor<200x?xf32>, %y: tensor<200x1x64xbf16>, %z: tensor<16xf32>, %s: tensor<f32>)
    attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<?>, H = #block.dim<4, batch>, E = #block.dim<16, whole>}} {
  // CHECK-NEXT: %X = block.partition %x [M, K] : tensor<200x?xf32> -> !block.list<M, K, block<M x K x f32>>
  %X = block.partition %x [M, K] : tensor<200x?xf32> -> !block.list<M, K, block<M x K x f32>>
  // A permuted list of transposed blocks is a view of the same array.
  // CHECK: %Xt = block.partition %x [M, K] {note = 1 : i64} : tensor<200x?xf32> -> !block.list<K, M, block<K x M x f32>>
  %Xt = block.partition %x [M, K] {note = 1 : i64} : tensor<200x?xf32> -> !block.list<K, M, block<K x M x f32>>
  // An axis may be a product of dims, or have no dim.
  // CHECK: %Y = block.partition %y [M, 1, (H, E)] : tensor<200x1x64xbf16> -> !block.list<H, M, block<M x E x bf16>>
  %Y = block.partition %y [M, 1, (H, E)] : tensor<200x1x64xbf16> -> !block.list<H, M, block<M x E x bf16>>
  // CHECK-NEXT: %Z = block.partition %z [E] : tensor<16xf32> -> !block.vector<E x f32, global>
  %Z = block.partition %z [E] : tensor<16xf32> -> !block.vector<E x f32, global>
  // CHECK-NEXT: %S = block.partition %s [] : tensor<f32> -> !block.scalar<f32, global>
  %S = block.partition %s [] : tensor<f32> -> !block.scalar<f32, global>
  // CHECK-NEXT: %x2 = block.assemble %Xt [M, K] : !block.list<K, M, block<K x M x f32>> -> tensor<200x?xf32>
  %x2 = block.assemble %Xt [M, K] : !block.list<K, M, block<K x M x f32>> -> tensor<200x?xf32>
  // CHECK-NEXT: %y2 = block.assemble %Y [H, M, 1, E] : !block.list<H, M, block<M x E x bf16>> -> tensor<4x200x1x16xbf16>
  %y2 = block.assemble %Y [H, M, 1, E] : !block.list<H, M, block<M x E x bf16>> -> tensor<4x200x1x16xbf16>
  // CHECK-NEXT: %s2 = block.assemble %S [] : !block.scalar<f32, global> -> tensor<f32>
  %s2 = block.assemble %S [] : !block.scalar<f32, global> -> tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<8x4xf32>, %v: tensor<4xf16>, %s: tensor<f64>)
    attributes {block.dims = {M = #block.dim<8, whole>, K = #block.dim<4, whole>}} {
  // CHECK: %b = block.load %X : !block.block<M x K x f32, global>
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.block<M x K x f32, global>
  %b = block.load %X : !block.block<M x K x f32, global>
  // CHECK: %c = block.load %V : !block.vector<K x f16, global>
  %V = block.partition %v [K] : tensor<4xf16> -> !block.vector<K x f16, global>
  %c = block.load %V : !block.vector<K x f16, global>
  // CHECK: %d = block.load %S {note = "once"} : !block.scalar<f64, global>
  %S = block.partition %s [] : tensor<f64> -> !block.scalar<f64, global>
  %d = block.load %S {note = "once"} : !block.scalar<f64, global>
  // CHECK-NEXT: %b2 = block.store %b : !block.block<M x K x f32>
  %b2 = block.store %b : !block.block<M x K x f32>
  // CHECK-NEXT: %c2 = block.store %c {note = "once"} : !block.vector<K x f16>
  %c2 = block.store %c {note = "once"} : !block.vector<K x f16>
  // CHECK-NEXT: %d2 = block.store %d : !block.scalar<f64>
  %d2 = block.store %d : !block.scalar<f64>
  func.return
}

// CHECK-LABEL: func.func @maps
func.func @maps(%x: tensor<?x?xf32>, %v: tensor<?xf32>)
    attributes {block.dims = {M = #block.dim<?>, K = #block.dim<?>}} {
  %X = block.partition %x [M, K] : tensor<?x?xf32> -> !block.list<M, K, block<M x K x f32>>
  %V = block.partition %v [M] : tensor<?xf32> -> !block.list<M, vector<M x f32>>
  // CHECK: %Y, %first = block.map @M (%Xm = %X, %Vm = %V) -> (stack, any) : !block.list<M, K, block<M x K x f32>>, !block.list<M, vector<M x f32>> attributes {note = 1 : i64} {
  %Y, %first = block.map @M (%Xm = %X, %Vm = %V) -> (stack, any) : !block.list<M, K, block<M x K x f32>>, !block.list<M, vector<M x f32>> attributes {note = 1 : i64} {
    // CHECK-NEXT: %scale = block.load %Vm : !block.vector<M x f32, global>
    %scale = block.load %Vm : !block.vector<M x f32, global>
    // CHECK-NEXT: %total, %most, %least, %Blocks = block.map @K (%Xmk = %Xm) -> (sum, max, min, stack) : !block.list<K, block<M x K x f32>> {
    %total, %most, %least, %Blocks = block.map @K (%Xmk = %Xm) -> (sum, max, min, stack) : !block.list<K, block<M x K x f32>> {
      %block = block.load %Xmk : !block.block<M x K x f32, global>
      // The vector of the map around is captured.
      // CHECK: %scaled = block.row_scale %block, %scale
      %scaled = block.row_scale %block, %scale : !block.block<M x K x f32>, !block.vector<M x f32>
      %sum = block.row_sum %scaled acc f32 : !block.block<M x K x f32>
      %max = block.row_max %scaled : !block.block<M x K x f32>
      %min = block.row_min %scaled : !block.block<M x K x f32>
      %stored = block.store %scaled : !block.block<M x K x f32>
      // CHECK: block.yield %sum, %max, %min, %stored : !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32>, !block.block<M x K x f32, global>
      block.yield %sum, %max, %min, %stored : !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32>, !block.block<M x K x f32, global>
    }
    // CHECK: %one = block.map @K () -> (any) {
    %one = block.map @K () -> (any) {
      // CHECK-NEXT: %two = block.elementwise () -> !block.scalar<f32> {
      %two = block.elementwise () -> !block.scalar<f32> {
        %c = arith.constant 1.0 : f32
        block.yield %c : f32
      }
      // CHECK: block.yield %two : !block.scalar<f32>
      block.yield %two : !block.scalar<f32>
    }
    // CHECK: block.yield %Blocks, %one : !block.list<K, block<M x K x f32>>, !block.scalar<f32>
    block.yield %Blocks, %one : !block.list<K, block<M x K x f32>>, !block.scalar<f32>
  }
  // CHECK: %y = block.assemble %Y [M, K] : !block.list<M, K, block<M x K x f32>>
  %y = block.assemble %Y [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<?x?xf32>
  func.return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<8x4xf32>, %i: tensor<4xi32>)
    attributes {block.dims = {M = #block.dim<8, whole>, K = #block.dim<4, batch>}} {
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<K, vector<M x f32>>
  %I = block.partition %i [K] : tensor<4xi32> -> !block.list<K, scalar<i32>>
  // CHECK: %a = block.reduce sum %X : !block.list<K, vector<M x f32>>
  %a = block.reduce sum %X : !block.list<K, vector<M x f32>>
  // CHECK-NEXT: %b = block.reduce max %I {note = 1 : i64} : !block.list<K, scalar<i32>>
  %b = block.reduce max %I {note = 1 : i64} : !block.list<K, scalar<i32>>
  // CHECK-NEXT: %c = block.reduce min %I : !block.list<K, scalar<i32>>
  %c = block.reduce min %I : !block.list<K, scalar<i32>>
  func.return
}

// CHECK-LABEL: func.func @operators
func.func @operators(%X: !block.block<M x K x bf16, global>, %Y: !block.block<N x K x bf16, global>, %V: !block.vector<M x f32, global>, %W: !block.vector<N x f32, global>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  %a = block.load %X : !block.block<M x K x bf16, global>
  %b = block.load %Y : !block.block<N x K x bf16, global>
  %v = block.load %V : !block.vector<M x f32, global>
  // CHECK: %w = block.load
  %w = block.load %W : !block.vector<N x f32, global>
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
  %dot = block.dot %a, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
  // CHECK-NEXT: %outer = block.outer %v, %w : !block.vector<M x f32>, !block.vector<N x f32>
  %outer = block.outer %v, %w : !block.vector<M x f32>, !block.vector<N x f32>
  // CHECK-NEXT: %add = block.add %dot, %outer : !block.block<M x N x f32>
  %add = block.add %dot, %outer : !block.block<M x N x f32>
  // CHECK-NEXT: %sub = block.sub %v, %v : !block.vector<M x f32>
  %sub = block.sub %v, %v : !block.vector<M x f32>
  // CHECK-NEXT: %mul = block.mul %a, %a {note = 1 : i64} : !block.block<M x K x bf16>
  %mul = block.mul %a, %a {note = 1 : i64} : !block.block<M x K x bf16>
  // CHECK-NEXT: %rshift = block.row_shift %add, %v : !block.block<M x N x f32>, !block.vector<M x f32>
  %rshift = block.row_shift %add, %v : !block.block<M x N x f32>, !block.vector<M x f32>
  // CHECK-NEXT: %rscale = block.row_scale %add, %v : !block.block<M x N x f32>, !block.vector<M x f32>
  %rscale = block.row_scale %add, %v : !block.block<M x N x f32>, !block.vector<M x f32>
  // CHECK-NEXT: %cshift = block.col_shift %add, %w : !block.block<M x N x f32>, !block.vector<N x f32>
  %cshift = block.col_shift %add, %w : !block.block<M x N x f32>, !block.vector<N x f32>
  // CHECK-NEXT: %cscale = block.col_scale %add, %w : !block.block<M x N x f32>, !block.vector<N x f32>
  %cscale = block.col_scale %add, %w : !block.block<M x N x f32>, !block.vector<N x f32>
  // CHECK-NEXT: %sum = block.row_sum %a acc f32 : !block.block<M x K x bf16>
  %sum = block.row_sum %a acc f32 : !block.block<M x K x bf16>
  // CHECK-NEXT: %max = block.row_max %add : !block.block<M x N x f32>
  %max = block.row_max %add : !block.block<M x N x f32>
  // CHECK-NEXT: %min = block.row_min %add {note = 1 : i64} : !block.block<M x N x f32>
  %min = block.row_min %add {note = 1 : i64} : !block.block<M x N x f32>
  // The reduction of a vector is a scalar, of which there are sums, products and so on too.
  // CHECK: %all = block.row_sum %sum acc f64 : !block.vector<M x f32>
  %all = block.row_sum %sum acc f64 : !block.vector<M x f32>
  // CHECK-NEXT: %twice = block.add %all, %all : !block.scalar<f64>
  %twice = block.add %all, %all : !block.scalar<f64>
  // CHECK-NEXT: %p, %q = block.custom @callback(%a, %v) {note = 1 : i64} : (!block.block<M x K x bf16>, !block.vector<M x f32>) -> (!block.block<M x K x f32>, !block.scalar<i64>)
  %p, %q = block.custom @callback(%a, %v) {note = 1 : i64} : (!block.block<M x K x bf16>, !block.vector<M x f32>) -> (!block.block<M x K x f32>, !block.scalar<i64>)
  // CHECK-NEXT: %r = block.custom @source() : () -> (!block.scalar<i1>)
  %r = block.custom @source() : () -> (!block.scalar<i1>)
  func.return
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<8x6xf32>, %v: tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8>, N = #block.dim<6>}} {
  %X = block.partition %x [M, N] : tensor<8x6xf32> -> !block.list<M, N, block<M x N x f32>>
  %V = block.partition %v [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  %Y = block.map @M (%Xm = %X, %Vm = %V) -> (stack) : !block.list<M, N, block<M x N x f32>>, !block.list<M, vector<M x f32>> {
    %Ym = block.map @N (%Xmn = %Xm) -> (stack) : !block.list<N, block<M x N x f32>> {
      %b = block.load %Xmn : !block.block<M x N x f32, global>
      // CHECK: %c = block.load %Vm
      %c = block.load %Vm : !block.vector<M x f32, global>
      // CHECK-NEXT: %y = block.elementwise (%p = %b, %q = %c) : !block.block<M x N x f32>, !block.vector<M x f32> -> !block.block<M x N x f32> attributes {note = 1 : i64} {
      %y = block.elementwise (%p = %b, %q = %c) : !block.block<M x N x f32>, !block.vector<M x f32> -> !block.block<M x N x f32> attributes {note = 1 : i64} {
        // CHECK-NEXT: %i = block.index @M
        %i = block.index @M
        // CHECK-NEXT: %j = block.index @N {note = 1 : i64}
        %j = block.index @N {note = 1 : i64}
        // CHECK-NEXT: %n = block.extent @N
        %n = block.extent @N
        %last = arith.cmpi eq, %j, %n : index
        %below = arith.cmpi sle, %j, %i : index
        %keep = arith.ori %last, %below : i1
        // CHECK: %z = arith.select %keep, %p, %q : f32
        %z = arith.select %keep, %p, %q : f32
        // CHECK-NEXT: block.yield %z : f32
        block.yield %z : f32
      }
      // CHECK: %mask = block.elementwise () -> !block.block<N x M x i1> {
      %mask = block.elementwise () -> !block.block<N x M x i1> {
        %i = block.index @M
        %j = block.index @N
        %keep = arith.cmpi sle, %j, %i : index
        block.yield %keep : i1
      }
      %ys = block.store %y : !block.block<M x N x f32>
      block.yield %ys : !block.block<M x N x f32, global>
    }
    block.yield %Ym : !block.list<N, block<M x N x f32>>
  }
  func.return
}
