// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// CHECK-LABEL: func.func @items
func.func @items(
    // CHECK-SAME: %a: !block.block<M x K x f32>, %b: !block.block<M x K x f16, global>
    %a: !block.block<M x K x f32>, %b: !block.block<M x K x f16, global>,
    // CHECK-SAME: %c: !block.vector<M x bf16>, %d: !block.vector<rows_2 x f64, global>
    %c: !block.vector<M x bf16>, %d: !block.vector<rows_2 x f64, global>,
    // CHECK-SAME: %e: !block.scalar<i1>, %f: !block.scalar<i32, global>, %g: !block.scalar<i64>
    %e: !block.scalar<i1>, %f: !block.scalar<i32, global>, %g: !block.scalar<i64>) {
  func.return
}

// The local tier goes without saying, and may be said.
// CHECK-LABEL: func.func @local
// CHECK-SAME: %a: !block.block<M x K x f32>, %b: !block.vector<M x f32>, %c: !block.scalar<f32>
func.func @local(%a: !block.block<M x K x f32, local>, %b: !block.vector<M x f32, local>, %c: !block.scalar<f32, local>) {
  func.return
}

// CHECK-LABEL: func.func @lists
func.func @lists(
    // CHECK-SAME: %a: !block.list<M, K, block<M x K x f32>>, %b: !block.list<M, vector<M x f32>>
    %a: !block.list<M, K, block<M x K x f32>>, %b: !block.list<M, vector<M x f32>>,
    // CHECK-SAME: %c: !block.list<H, scalar<i32>>, %d: !block.list<K, M, block<M x K x bf16>>
    %c: !block.list<H, scalar<i32>>, %d: !block.list<K, M, block<M x K x bf16>>,
    // The long form of the same.
    // CHECK-SAME: %e: !block.list<M, K, block<M x K x f32>>, %f: !block.list<B, H, vector<M x f32>>
    %e: !block.list<M, !block.list<K, !block.block<M x K x f32, global>>>, %f: !block.list<B, H, !block.vector<M x f32, global>>) {
  func.return
}

// A dim may be named like a type or an item.
// CHECK-LABEL: func.func @names
// CHECK-SAME: %a: !block.list<vector, block, block<vector x block x f32>>, %b: !block.list<f32, index, vector<f32 x i32>>
func.func @names(%a: !block.list<vector, block, block<vector x block x f32>>, %b: !block.list<f32, index, vector<f32 x i32>>)
    // CHECK-SAME: block.dims = {vector = #block.dim<4>, block = #block.dim<4>, f32 = #block.dim<4>, index = #block.dim<2, batch>}
    attributes {block.dims = {vector = #block.dim<4>, block = #block.dim<4>, f32 = #block.dim<4>, index = #block.dim<2, batch>}} {
  func.return
}

// CHECK-LABEL: func.func @attributes
func.func @attributes() attributes {
    // CHECK-SAME: block.dims = {M = #block.dim<1024, block = 64>, N = #block.dim<?>, K = #block.dim<?, block = 32>, H = #block.dim<8, batch>, B = #block.dim<?, batch>, D = #block.dim<64, whole>, E = #block.dim<?, whole>, _ = #block.dim<1>}
    block.dims = {M = #block.dim<1024, block = 64>, N = #block.dim<?>, K = #block.dim<?, block = 32>, H = #block.dim<8, batch>, B = #block.dim<?, batch>, D = #block.dim<64, whole>, E = #block.dim<?, whole>, _ = #block.dim<1>},
    // CHECK-SAME: tiers = [#block<tier global>, #block<tier local>]
    tiers = [#block<tier global>, #block<tier local>],
    // CHECK-SAME: kinds = [#block<kind stack>, #block<kind sum>, #block<kind max>, #block<kind min>, #block<kind any>]
    kinds = [#block<kind stack>, #block<kind sum>, #block<kind max>, #block<kind min>, #block<kind any>],
    // CHECK-SAME: blockings = [#block<blocking blocked>, #block<blocking whole>, #block<blocking batch>]
    blockings = [#block<blocking blocked>, #block<blocking whole>, #block<blocking batch>]} {
  func.return
}
