// RUN: bb-opt %s --split-input-file --verify-diagnostics

// Attributes

// expected-error @+1 {{block.dim: extent must be at least 1 or `?`, got 0}}
func.func @dim_extent() attributes {block.dims = {M = #block.dim<0>}} {
  func.return
}

// -----

// expected-error @+1 {{Expected integer literal}}
func.func @dim_negative() attributes {block.dims = {M = #block.dim<-1>}} {
  func.return
}

// -----

// expected-error @+1 {{block.dim: block size must be at least 1, got 0}}
func.func @dim_size() attributes {block.dims = {M = #block.dim<8, block = 0>}} {
  func.return
}

// -----

// expected-error @+1 {{block.dim: expected `block = <size>`, `whole` or `batch`}}
func.func @dim_words() attributes {block.dims = {M = #block.dim<8, blocked>}} {
  func.return
}

// -----

// expected-error @+1 {{'>' expected}}
func.func @dim_whole_size() attributes {block.dims = {M = #block.dim<8, whole, block = 4>}} {
  func.return
}

// -----

// expected-error @+1 {{Expected `stack`, `sum`, `max`, `min`, or `any`}}
func.func @kind() attributes {kind = #block<kind product>} {
  func.return
}

// -----

// expected-error @+1 {{block.dims: expected a dictionary of #block.dim}}
func.func @dims_dictionary() attributes {block.dims = 3 : i64} {
  func.return
}

// -----

// expected-error @+1 {{block.dims: dim M must be a #block.dim, got 3 : i64}}
func.func @dims_value() attributes {block.dims = {M = 3 : i64}} {
  func.return
}

// -----

// expected-error @+1 {{block.dims: a dim is named by an identifier other than `x`, got 'x'}}
func.func @dims_name() attributes {block.dims = {x = #block.dim<8>}} {
  func.return
}

// -----

// expected-error @+1 {{block.dims: a dim is named by an identifier other than `x`, got 'two words'}}
func.func @dims_name_text() attributes {block.dims = {"two words" = #block.dim<8>}} {
  func.return
}

// -----

// Types

// expected-error @+1 {{block.vector: a dim is named by an identifier other than `x`, got 'x'}}
func.func @name_x(%x: !block.vector<x x f32>) {
  func.return
}

// -----

// expected-error @+1 {{block.list: a dim is named by an identifier other than `x`, got 'M.N'}}
func.func @name_dot(%x: !block.list<M.N, scalar<f32>>) {
  func.return
}

// -----

// expected-error @+1 {{identifier expected as the name of a dim}}
func.func @name_number(%x: !block.vector<8 x f32>) {
  func.return
}

// -----

// expected-error @+1 {{block.block: rows and columns must be two dims, got M for both}}
func.func @block_square(%x: !block.block<M x M x f32>) {
  func.return
}

// -----

// expected-error @+1 {{Expected 'x'}}
func.func @block_axes(%x: !block.block<M x f32>) {
  func.return
}

// -----

// expected-error @+1 {{block.block: element type must be f16, bf16, f32, f64, i1, i32 or i64, got i8}}
func.func @element_type(%x: !block.block<M x K x i8>) {
  func.return
}

// -----

// expected-error @+1 {{block.vector: element type must be f16, bf16, f32, f64, i1, i32 or i64, got index}}
func.func @element_type_vector(%x: !block.vector<M x index>) {
  func.return
}

// -----

// expected-error @+1 {{block.scalar: element type must be f16, bf16, f32, f64, i1, i32 or i64, got tensor<f32>}}
func.func @element_type_scalar(%x: !block.scalar<tensor<f32>>) {
  func.return
}

// -----

// expected-error @+1 {{Expected `global`, or `local`}}
func.func @tier(%x: !block.scalar<f32, shared>) {
  func.return
}

// -----

// expected-error @+1 {{block.list: the items of a list are in the global tier, got !block.vector<M x f32>}}
func.func @list_local(%x: !block.list<M, !block.vector<M x f32>>) {
  func.return
}

// -----

// expected-error @+1 {{block.list: a list holds items or lists, got () -> f32}}
func.func @list_of_functions(%x: !block.list<M, () -> f32>) {
  func.return
}

// -----

// expected-error @+1 {{block.list: expected an item or a list, or a dim and `,`}}
func.func @list_of_tensors(%x: !block.list<M, tensor<4xf32>>) {
  func.return
}

// -----

// expected-error @+1 {{block.list: expected the dim of the list before its element}}
func.func @list_without_dim(%x: !block.list<vector<M x f32>>) {
  func.return
}

// -----

// expected-error @+1 {{block.list: dim M occurs twice in the nesting of one list}}
func.func @list_twice(%x: !block.list<M, K, M, vector<M x f32>>) {
  func.return
}

// -----

// Dims

func.func @undeclared(%s: !block.vector<M x f32, global>) {
  // expected-error @+1 {{block.load: dim M is not declared, the enclosing function has no `block.dims`}}
  %a = block.load %s : !block.vector<M x f32, global>
  func.return
}

// -----

func.func @undeclared_load(%s: !block.vector<M x f32, global>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  // expected-error @+1 {{block.load: dim M is not declared in `block.dims` (N)}}
  %a = block.load %s : !block.vector<M x f32, global>
  func.return
}

// -----

func.func @undeclared_store(%s: !block.vector<M x f32>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  // expected-error @+1 {{block.store: dim M is not declared in `block.dims` (N)}}
  %a = block.store %s : !block.vector<M x f32>
  func.return
}

// -----

func.func @undeclared_partition(%x: tensor<8xf32>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  // expected-error @+1 {{block.partition: dim M is not declared in `block.dims` (N)}}
  %X = block.partition %x [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @undeclared_map()
    attributes {block.dims = {}} {
  // expected-error @+1 {{block.map: dim M is not declared in `block.dims` (empty)}}
  %y = block.map @M () -> (any) {
    %one = block.elementwise () -> !block.scalar<f32> {
      %c = arith.constant 1.0 : f32
      block.yield %c : f32
    }
    block.yield %one : !block.scalar<f32>
  }
  func.return
}

// -----

func.func @undeclared_reduce(%X: !block.list<M, scalar<f32>>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  // expected-error @+1 {{block.reduce: dim M is not declared in `block.dims` (N)}}
  %y = block.reduce sum %X : !block.list<M, scalar<f32>>
  func.return
}

// -----

func.func @undeclared_operator(%a: !block.block<N x M x f32>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  // expected-error @+1 {{block.row_max: dim M is not declared in `block.dims` (N)}}
  %y = block.row_max %a : !block.block<N x M x f32>
  func.return
}

// -----

func.func @undeclared_elementwise()
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  // expected-error @+1 {{block.elementwise: dim M is not declared in `block.dims` (N)}}
  %y = block.elementwise () -> !block.vector<M x f32> {
    %c = arith.constant 1.0 : f32
    block.yield %c : f32
  }
  func.return
}

// -----

func.func @undeclared_index(%a: !block.vector<N x f32>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  %y = block.elementwise (%p = %a) : !block.vector<N x f32> -> !block.vector<N x f32> {
    // expected-error @+1 {{block.index: dim M is not declared in `block.dims` (N)}}
    %i = block.index @M
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @undeclared_extent(%a: !block.vector<N x f32>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  %y = block.elementwise (%p = %a) : !block.vector<N x f32> -> !block.vector<N x f32> {
    // expected-error @+1 {{block.extent: dim M is not declared in `block.dims` (N)}}
    %i = block.extent @M
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @undeclared_custom(%a: !block.vector<M x f32>)
    attributes {block.dims = {N = #block.dim<6, whole>}} {
  // expected-error @+1 {{block.custom: dim M is not declared in `block.dims` (N)}}
  %y = block.custom @f(%a) : (!block.vector<M x f32>) -> (!block.scalar<f32>)
  func.return
}

// -----

func.func @batch_load(%s: !block.vector<H x f32, global>)
    attributes {block.dims = {H = #block.dim<2, batch>, M = #block.dim<8, whole>}} {
  // expected-error @+1 {{block.load: H is a batch dim, items have no axis over it, got !block.vector<H x f32, global>}}
  %a = block.load %s : !block.vector<H x f32, global>
  func.return
}

// -----

func.func @batch_operator(%a: !block.block<M x H x f32>)
    attributes {block.dims = {H = #block.dim<2, batch>, M = #block.dim<8, whole>}} {
  // expected-error @+1 {{block.row_sum: H is a batch dim, items have no axis over it, got !block.block<M x H x f32>}}
  %y = block.row_sum %a acc f32 : !block.block<M x H x f32>
  func.return
}

// -----

func.func @batch_elementwise()
    attributes {block.dims = {H = #block.dim<2, batch>, M = #block.dim<8, whole>}} {
  // expected-error @+1 {{block.elementwise: H is a batch dim, items have no axis over it, got !block.vector<H x f32>}}
  %y = block.elementwise () -> !block.vector<H x f32> {
    %c = arith.constant 1.0 : f32
    block.yield %c : f32
  }
  func.return
}

// -----

func.func @batch_reduce(%X: !block.list<M, vector<H x f32>>)
    attributes {block.dims = {H = #block.dim<2, batch>, M = #block.dim<8, whole>}} {
  // expected-error @+1 {{block.reduce: H is a batch dim, items have no axis over it, got !block.vector<H x f32, global>}}
  %y = block.reduce sum %X : !block.list<M, vector<H x f32>>
  func.return
}

// -----

func.func @not_iterated()
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.elementwise: no enclosing map iterates over M}}
  %y = block.elementwise () -> !block.vector<M x f32> {
    %c = arith.constant 1.0 : f32
    block.yield %c : f32
  }
  func.return
}

// -----

func.func @not_iterated_custom()
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.custom: no enclosing map iterates over M}}
  %y = block.custom @f() : () -> (!block.vector<M x f32>)
  func.return
}

// -----

// Views

func.func @partition_tensor(%x: !block.scalar<f32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{!block.scalar<f32> should be of base attribute tensor}}
  %X = block.partition %x [M] : !block.scalar<f32> -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @partition_result(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: expected a list or an item in the global tier, got tensor<8x4xf32>}}
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> tensor<8x4xf32>
  func.return
}

// -----

func.func @partition_local(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.partition: expected a list or an item in the global tier, got !block.block<M x K x f32>}}
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.block<M x K x f32>
  func.return
}

// -----

func.func @partition_axes(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: 1 axes are named, but tensor<8x4xf32> has 2}}
  %X = block.partition %x [M] : tensor<8x4xf32> -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @partition_twice(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: a dim names two axes, in [M, M * K]}}
  %X = block.partition %x [M, (M, K)] : tensor<8x4xf32> -> !block.list<M, K, block<M x K x f32>>
  func.return
}

// -----

func.func @partition_element_type(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: element types differ, f32 of the tensor and f16 of the items}}
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<M, K, block<M x K x f16>>
  func.return
}

// -----

func.func @partition_dims(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: the axes have the dims M, K, the list and its items M}}
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @partition_batch(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, H = #block.dim<4, batch>}} {
  // expected-error @+1 {{block.partition: H is a batch dim, its items have no axis over it}}
  %X = block.partition %x [M, H] : tensor<8x4xf32> -> !block.list<M, H, block<M x H x f32>>
  func.return
}

// -----

func.func @partition_no_list(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: no list iterates over K, so it would have to be whole}}
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<M, block<M x K x f32>>
  func.return
}

// -----

func.func @partition_no_axis(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: K is no batch dim, so the items need an axis over it}}
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<M, K, vector<M x f32>>
  func.return
}

// -----

func.func @partition_extent(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<5>}} {
  // expected-error @+1 {{block.partition: an axis of extent 4 cannot be K (extent 5)}}
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<M, K, block<M x K x f32>>
  func.return
}

// -----

func.func @partition_product(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, H = #block.dim<3, batch>, K = #block.dim<?>}} {
  // expected-error @+1 {{block.partition: an axis of extent 4 cannot be H * K (extent 3)}}
  %X = block.partition %x [M, (H, K)] : tensor<8x4xf32> -> !block.list<M, H, K, block<M x K x f32>>
  func.return
}

// -----

func.func @partition_one(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: an axis of extent 4 cannot be 1 (extent 1)}}
  %X = block.partition %x [M, 1] : tensor<8x4xf32> -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @partition_unknown_one(%x: tensor<8x?xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.partition: an axis without a dim has extent 1, got `?`}}
  %X = block.partition %x [M, 1] : tensor<8x?xf32> -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @partition_two(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{expected a dim, or 1 for an axis without one}}
  %X = block.partition %x [M, 2] : tensor<8x4xf32> -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @assemble_result(%X: !block.list<M, K, block<M x K x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{!block.scalar<f32> should be of base attribute tensor}}
  %x = block.assemble %X [M, K] : !block.list<M, K, block<M x K x f32>> -> !block.scalar<f32>
  func.return
}

// -----

func.func @assemble_list(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.assemble: expected a list or an item in the global tier, got tensor<8x4xf32>}}
  %y = block.assemble %x [M, K] : tensor<8x4xf32> -> tensor<8x4xf32>
  func.return
}

// -----

func.func @assemble_extent(%X: !block.list<M, K, block<M x K x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.assemble: an axis of extent 5 cannot be K (extent 4)}}
  %x = block.assemble %X [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<8x5xf32>
  func.return
}

// -----

// Moves

func.func @load_type(%x: tensor<8x4xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.load: expected the type of an item, got tensor<8x4xf32>}}
  %a = block.load %x : tensor<8x4xf32>
  func.return
}

// -----

func.func @load_local(%a: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.load: expected an item in the global tier, got !block.vector<M x f32>}}
  %b = block.load %a : !block.vector<M x f32>
  func.return
}

// -----

func.func @load_list(%a: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.load: expected an item in the global tier, got !block.list<M, vector<M x f32>>}}
  %b = "block.load"(%a) : (!block.list<M, vector<M x f32>>) -> !block.vector<M x f32>
  func.return
}

// -----

func.func @load_result(%a: !block.vector<M x f32, global>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.load: the result must be !block.vector<M x f32>, got !block.vector<K x f32>}}
  %b = "block.load"(%a) : (!block.vector<M x f32, global>) -> !block.vector<K x f32>
  func.return
}

// -----

func.func @store_global(%a: !block.vector<M x f32, global>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.store: expected an item in the local tier, got !block.vector<M x f32, global>}}
  %b = block.store %a : !block.vector<M x f32, global>
  func.return
}

// -----

func.func @store_result(%a: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.store: the result must be !block.vector<M x f32, global>, got !block.vector<M x f32>}}
  %b = "block.store"(%a) : (!block.vector<M x f32>) -> !block.vector<M x f32>
  func.return
}

// -----

// Maps

func.func @map_nested(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  %y = block.map @M (%a = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    // expected-error @+1 {{block.map: a map over M stands inside another map over M}}
    %z = block.map @M (%b = %X) -> (stack) : !block.list<M, vector<M x f32>> {
      block.yield %b : !block.vector<M x f32, global>
    }
    block.yield %a : !block.vector<M x f32, global>
  }
  func.return
}

// -----

func.func @map_list(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @K: expected a list over K, got !block.list<M, vector<M x f32>>}}
  %y = block.map @K (%a = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    block.yield %a : !block.vector<M x f32, global>
  }
  func.return
}

// -----

func.func @map_item(%a: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: expected a list over M, got !block.vector<M x f32>}}
  %y = block.map @M (%b = %a) -> (stack) : !block.vector<M x f32> {
    block.yield %b : !block.vector<M x f32>
  }
  func.return
}

// -----

func.func @map_types(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{expected a type for each of 1 operands, got 2}}
  %y = block.map @M (%a = %X) -> (stack) : !block.list<M, vector<M x f32>>, !block.list<M, vector<M x f32>> {
    block.yield %a : !block.vector<M x f32, global>
  }
  func.return
}

// -----

func.func @map_kind(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{Expected `stack`, `sum`, `max`, `min`, or `any`}}
  %y = block.map @M (%a = %X) -> (product) : !block.list<M, vector<M x f32>> {
    block.yield %a : !block.vector<M x f32, global>
  }
  func.return
}

// -----

func.func @map_yields(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: the body must end in a block.yield of 2 values}}
  %y, %z = block.map @M (%a = %X) -> (stack, stack) : !block.list<M, vector<M x f32>> {
    block.yield %a : !block.vector<M x f32, global>
  }
  func.return
}

// -----

func.func @map_terminator(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: the body must end in a block.yield of 1 values}}
  %y = block.map @M (%a = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    %b = block.load %a : !block.vector<M x f32, global>
  }
  func.return
}

// -----

func.func @map_terminator_generic(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: the body must end in block.yield}}
  %y = "block.map"(%X) <{dim = @M, kinds = [#block<kind stack>]}> ({
  ^bb0(%a: !block.vector<M x f32, global>):
    "test.termop"() : () -> ()
  }) : (!block.list<M, vector<M x f32>>) -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @map_arguments(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: 1 lists are mapped, the body has 0 arguments}}
  "block.map"(%X) <{dim = @M, kinds = []}> ({
    block.yield
  }) : (!block.list<M, vector<M x f32>>) -> ()
  func.return
}

// -----

func.func @map_argument(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: the body's argument must be !block.vector<M x f32, global>, an element of its list, got !block.vector<M x f16, global>}}
  %y = "block.map"(%X) <{dim = @M, kinds = [#block<kind stack>]}> ({
  ^bb0(%a: !block.vector<M x f16, global>):
    block.yield %a : !block.vector<M x f16, global>
  }) : (!block.list<M, vector<M x f32>>) -> !block.list<M, vector<M x f16>>
  func.return
}

// -----

func.func @map_counts(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: 1 values are yielded for 2 kinds and 1 results}}
  %y = "block.map"(%X) <{dim = @M, kinds = [#block<kind stack>, #block<kind stack>]}> ({
  ^bb0(%a: !block.vector<M x f32, global>):
    block.yield %a : !block.vector<M x f32, global>
  }) : (!block.list<M, vector<M x f32>>) -> !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @map_result(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: a result of kind stack must be !block.list<M, vector<M x f32>>, got !block.list<K, vector<M x f32>>}}
  %y = "block.map"(%X) <{dim = @M, kinds = [#block<kind stack>]}> ({
  ^bb0(%a: !block.vector<M x f32, global>):
    block.yield %a : !block.vector<M x f32, global>
  }) : (!block.list<M, vector<M x f32>>) -> !block.list<K, vector<M x f32>>
  func.return
}

// -----

func.func @stack_local(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  %y = block.map @M (%a = %X) -> (any) : !block.list<M, vector<M x f32>> {
    %b = block.load %a : !block.vector<M x f32, global>
    %c = block.row_sum %b acc f32 : !block.vector<M x f32>
    // expected-error @+1 {{block.list: the items of a list are in the global tier, got !block.scalar<f32>}}
    %z = block.map @K () -> (stack) {
      block.yield %c : !block.scalar<f32>
    }
    block.yield %c : !block.scalar<f32>
  }
  func.return
}

// -----

func.func @stack_local_generic(%X: !block.list<M, scalar<f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: a stacked result must be stored first, got the local !block.scalar<f32>}}
  %y = "block.map"(%X) <{dim = @M, kinds = [#block<kind stack>]}> ({
  ^bb0(%a: !block.scalar<f32, global>):
    %b = block.load %a : !block.scalar<f32, global>
    block.yield %b : !block.scalar<f32>
  }) : (!block.list<M, scalar<f32>>) -> !block.list<M, scalar<f32>>
  func.return
}

// -----

func.func @stack_tensor(%x: tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: a stacked result is an item in the global tier or a list, got tensor<8xf32>}}
  %y = "block.map"() <{dim = @M, kinds = [#block<kind stack>]}> ({
    block.yield %x : tensor<8xf32>
  }) : () -> !block.list<M, scalar<f32>>
  func.return
}

// -----

func.func @sum_global(%X: !block.list<M, scalar<f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: a result of kind sum is an item in the local tier, got !block.scalar<f32, global>}}
  %y = block.map @M (%a = %X) -> (sum) : !block.list<M, scalar<f32>> {
    block.yield %a : !block.scalar<f32, global>
  }
  func.return
}

// -----

func.func @max_over_dim(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: a result of kind max cannot have an axis over M, got !block.vector<M x f32>}}
  %y = block.map @M (%a = %X) -> (max) : !block.list<M, vector<M x f32>> {
    %b = block.load %a : !block.vector<M x f32, global>
    block.yield %b : !block.vector<M x f32>
  }
  func.return
}

// -----

func.func @any_tensor(%x: tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: a result of kind any is an item or a list, got tensor<8xf32>}}
  %y = block.map @M () -> (any) {
    block.yield %x : tensor<8xf32>
  }
  func.return
}

// -----

func.func @any_over_dim(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.map @M: a result of kind any is the same in every iteration and cannot be over M, got !block.vector<M x f32, global>}}
  %y = block.map @M (%a = %X) -> (any) : !block.list<M, vector<M x f32>> {
    block.yield %a : !block.vector<M x f32, global>
  }
  func.return
}

// -----

func.func @yield_parent(%x: tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{'block.yield' expects parent op to be one of 'block.map', 'block.elementwise'}}
  block.yield %x : tensor<8xf32>
}

// -----

// Reductions

func.func @reduce_kind(%X: !block.list<K, scalar<f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.reduce: the kind must be sum, max or min, got any}}
  %y = block.reduce any %X : !block.list<K, scalar<f32>>
  func.return
}

// -----

func.func @reduce_lists(%X: !block.list<M, K, scalar<f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.reduce: expected a list of items, got !block.list<M, K, scalar<f32>>}}
  %y = block.reduce sum %X : !block.list<M, K, scalar<f32>>
  func.return
}

// -----

func.func @reduce_lists_generic(%X: !block.list<M, K, scalar<f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.reduce: expected a list of items, got !block.list<M, K, scalar<f32>>}}
  %y = "block.reduce"(%X) <{kind = #block<kind sum>}> : (!block.list<M, K, scalar<f32>>) -> !block.scalar<f32>
  func.return
}

// -----

func.func @reduce_axis(%X: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.reduce: the items cannot have an axis over the reduced M, got !block.vector<M x f32, global>}}
  %y = block.reduce sum %X : !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @reduce_result(%X: !block.list<K, scalar<f32>>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{block.reduce: the result must be !block.scalar<f32>, got !block.scalar<f64>}}
  %y = "block.reduce"(%X) <{kind = #block<kind sum>}> : (!block.list<K, scalar<f32>>) -> !block.scalar<f64>
  func.return
}

// -----

// Operators

func.func @operand_tier(%g: !block.vector<M x f32, global>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.add: expected an item in the local tier, got !block.vector<M x f32, global>}}
  %y = block.add %g, %g : !block.vector<M x f32, global>
  func.return
}

// -----

func.func @operand_list(%g: !block.list<M, vector<M x f32>>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_max: expected an item in the local tier, got !block.list<M, vector<M x f32>>}}
  %y = block.row_max %g : !block.list<M, vector<M x f32>>
  func.return
}

// -----

func.func @operand_count(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.outer: expected 2 operands, got 1}}
  %y = block.outer %v : !block.vector<M x f32>
  func.return
}

// -----

func.func @dot_count(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: expected 2 operands, got 1}}
  %y = block.dot %a acc f32 : !block.block<M x K x f32>
  func.return
}

// -----

func.func @dot_acc(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{Expected 'acc'}}
  %y = block.dot %a, %b : !block.block<M x K x f32>, !block.block<N x K x f32>
  func.return
}

// -----

func.func @dot_vector(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: expected a block, got !block.vector<M x f32>}}
  %y = block.dot %a, %v acc f32 : !block.block<M x K x f32>, !block.vector<M x f32>
  func.return
}

// -----

func.func @dot_columns(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>, %c: !block.block<K x N x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: both operands must have the same columns, got K and N}}
  %y = block.dot %a, %c acc f32 : !block.block<M x K x f32>, !block.block<K x N x f32>
  func.return
}

// -----

func.func @dot_rows(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: the operands' rows must be two dims, got M for both}}
  %y = block.dot %a, %a acc f32 : !block.block<M x K x f32>, !block.block<M x K x f32>
  func.return
}

// -----

func.func @dot_types(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>, %c: !block.block<N x K x bf16>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: element types differ, f32 and bf16}}
  %y = block.dot %a, %c acc f32 : !block.block<M x K x f32>, !block.block<N x K x bf16>
  func.return
}

// -----

func.func @dot_narrow(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: f32 accumulates in f32 or a wider type of its kind, got f16}}
  %y = block.dot %a, %b acc f16 : !block.block<M x K x f32>, !block.block<N x K x f32>
  func.return
}

// -----

func.func @dot_integer(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: f32 accumulates in f32 or a wider type of its kind, got i64}}
  %y = block.dot %a, %b acc i64 : !block.block<M x K x f32>, !block.block<N x K x f32>
  func.return
}

// -----

func.func @dot_result(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: the result must be !block.block<M x N x f32>, got !block.block<N x M x f32>}}
  %y = "block.dot"(%a, %b) : (!block.block<M x K x f32>, !block.block<N x K x f32>) -> !block.block<N x M x f32>
  func.return
}

// -----

func.func @dot_result_type(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: expected an item in the local tier, got tensor<8x6xf32>}}
  %y = "block.dot"(%a, %b) : (!block.block<M x K x f32>, !block.block<N x K x f32>) -> tensor<8x6xf32>
  func.return
}

// -----

func.func @outer_block(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.outer: expected a vector, got !block.block<M x K x f32>}}
  %y = block.outer %a, %v : !block.block<M x K x f32>, !block.vector<M x f32>
  func.return
}

// -----

func.func @outer_dims(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.outer: the operands must be over two dims, got M for both}}
  %y = block.outer %v, %v : !block.vector<M x f32>, !block.vector<M x f32>
  func.return
}

// -----

func.func @outer_types(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>, %u: !block.vector<K x f64>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.outer: element types differ, f32 and f64}}
  %y = block.outer %v, %u : !block.vector<M x f32>, !block.vector<K x f64>
  func.return
}

// -----

func.func @outer_result(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.outer: the result must be !block.block<M x K x f32>, got !block.block<K x M x f32>}}
  %y = "block.outer"(%v, %w) : (!block.vector<M x f32>, !block.vector<K x f32>) -> !block.block<K x M x f32>
  func.return
}

// -----

func.func @add_types(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.add: both operands must have one type, got !block.vector<M x f32> and !block.vector<K x f32>}}
  %y = "block.add"(%v, %w) : (!block.vector<M x f32>, !block.vector<K x f32>) -> !block.vector<M x f32>
  func.return
}

// -----

func.func @sub_result(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.sub: the result must be !block.vector<M x f32>, got !block.vector<K x f32>}}
  %y = "block.sub"(%v, %v) : (!block.vector<M x f32>, !block.vector<M x f32>) -> !block.vector<K x f32>
  func.return
}

// -----

func.func @mul_operand(%x: tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.mul: expected an item in the local tier, got tensor<8xf32>}}
  %y = block.mul %x, %x : tensor<8xf32>
  func.return
}

// -----

func.func @row_scale_dim(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_scale: the vector must be over the block's rows M, got K}}
  %y = block.row_scale %a, %w : !block.block<M x K x f32>, !block.vector<K x f32>
  func.return
}

// -----

func.func @row_shift_dim(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_shift: the vector must be over the block's rows M, got K}}
  %y = block.row_shift %a, %w : !block.block<M x K x f32>, !block.vector<K x f32>
  func.return
}

// -----

func.func @col_scale_dim(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.col_scale: the vector must be over the block's columns K, got M}}
  %y = block.col_scale %a, %v : !block.block<M x K x f32>, !block.vector<M x f32>
  func.return
}

// -----

func.func @col_shift_dim(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.col_shift: the vector must be over the block's columns K, got M}}
  %y = block.col_shift %a, %v : !block.block<M x K x f32>, !block.vector<M x f32>
  func.return
}

// -----

func.func @row_scale_types(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>, %u: !block.vector<M x f64>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_scale: element types differ, f32 and f64}}
  %y = block.row_scale %a, %u : !block.block<M x K x f32>, !block.vector<M x f64>
  func.return
}

// -----

func.func @row_shift_block(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_shift: expected a block, got !block.vector<M x f32>}}
  %y = block.row_shift %v, %v : !block.vector<M x f32>, !block.vector<M x f32>
  func.return
}

// -----

func.func @col_scale_result(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.col_scale: the result must be !block.block<M x K x f32>, got !block.block<N x K x f32>}}
  %y = "block.col_scale"(%a, %w) : (!block.block<M x K x f32>, !block.vector<K x f32>) -> !block.block<N x K x f32>
  func.return
}

// -----

func.func @row_sum_scalar(%s: !block.scalar<f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_sum: expected a block or a vector, got !block.scalar<f32>}}
  %y = block.row_sum %s acc f32 : !block.scalar<f32>
  func.return
}

// -----

func.func @row_sum_narrow(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_sum: f32 accumulates in f32 or a wider type of its kind, got bf16}}
  %y = block.row_sum %a acc bf16 : !block.block<M x K x f32>
  func.return
}

// -----

func.func @row_sum_half(%h: !block.vector<M x f16>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_sum: f16 accumulates in f16 or a wider type of its kind, got bf16}}
  %y = block.row_sum %h acc bf16 : !block.vector<M x f16>
  func.return
}

// -----

func.func @row_sum_result(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_sum: the result must be !block.vector<M x f32>, got !block.vector<K x f32>}}
  %y = "block.row_sum"(%a) : (!block.block<M x K x f32>) -> !block.vector<K x f32>
  func.return
}

// -----

func.func @row_sum_result_type(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_sum: expected an item in the local tier, got tensor<8xf32>}}
  %y = "block.row_sum"(%a) : (!block.block<M x K x f32>) -> tensor<8xf32>
  func.return
}

// -----

func.func @row_max_result(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_max: the result must have the operand's element type, got !block.vector<M x f64>}}
  %y = "block.row_max"(%a) : (!block.block<M x K x f32>) -> !block.vector<M x f64>
  func.return
}

// -----

func.func @row_min_scalar(%s: !block.scalar<f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.row_min: expected a block or a vector, got !block.scalar<f32>}}
  %y = block.row_min %s : !block.scalar<f32>
  func.return
}

// -----

func.func @custom_operand(%x: tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.custom: expected an item in the local tier, got tensor<8xf32>}}
  %y = block.custom @f(%x) : (tensor<8xf32>) -> (!block.scalar<f32>)
  func.return
}

// -----

func.func @custom_result(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.custom: expected an item in the local tier, got !block.vector<M x f32, global>}}
  %y = block.custom @f(%v) : (!block.vector<M x f32>) -> (!block.vector<M x f32, global>)
  func.return
}

// -----

func.func @custom_types(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{expected a type for each of 1 operands, got 2}}
  %y = block.custom @f(%v) : (!block.vector<M x f32>, !block.vector<M x f32>) -> (!block.vector<M x f32>)
  func.return
}

// -----

func.func @custom_callback(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %v: !block.vector<M x f32>, %w: !block.vector<K x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{Expected SymbolRefAttr with no nested symbols}}
  %y = "block.custom"(%v) <{callback = @f::@g}> : (!block.vector<M x f32>) -> !block.vector<M x f32>
  func.return
}

// -----

// Element-wise

func.func @elementwise_tensor(%x: tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.elementwise: expected an item, got tensor<8xf32>}}
  %y = block.elementwise (%p = %x) : tensor<8xf32> -> !block.vector<M x f32> {
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_global(%x: !block.vector<M x f32, global>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.elementwise: expected an item in the local tier, got !block.vector<M x f32, global>}}
  %y = block.elementwise (%p = %x) : !block.vector<M x f32, global> -> !block.vector<M x f32> {
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_result(%a: !block.block<M x K x f32>, %v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.elementwise: expected an item in the local tier, got !block.vector<M x f32, global>}}
  %y = block.elementwise (%p = %v) : !block.vector<M x f32> -> !block.vector<M x f32, global> {
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_broadcast(%a: !block.block<M x K x f32>, %v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.elementwise: !block.block<M x K x f32> cannot be broadcast to !block.vector<M x f32>}}
  %y = block.elementwise (%p = %a) : !block.block<M x K x f32> -> !block.vector<M x f32> {
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_order(%a: !block.block<M x K x f32>, %v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.elementwise: !block.block<M x K x f32> cannot be broadcast to !block.block<K x M x f32>}}
  %y = block.elementwise (%p = %a) : !block.block<M x K x f32> -> !block.block<K x M x f32> {
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_yield(%a: !block.block<M x K x f32>, %v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{'block.elementwise' region: 'block.yield' yields f32, expected the results' element types f16}}
  %y = block.elementwise (%p = %v) : !block.vector<M x f32> -> !block.vector<M x f16> {
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_region(%a: !block.block<M x K x f32>, %v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{'block.elementwise' region: 'block.add' is not a scalar operation allowed here}}
  %y = block.elementwise (%p = %v) : !block.vector<M x f32> -> !block.vector<M x f32> {
    %q = block.add %v, %v : !block.vector<M x f32>
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_index_rank(%a: !block.block<M x K x f32>, %v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  %y = block.elementwise (%p = %v) : !block.vector<M x f32> -> !block.vector<M x f32> {
    // expected-error @+1 {{block.index: !block.vector<M x f32> has no axis over K, so its elements have no index along it}}
    %i = block.index @K
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @elementwise_index_scope(%a: !block.block<M x K x f32>, %v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  %y = block.elementwise (%p = %v) : !block.vector<M x f32> -> !block.vector<M x f32> {
    // expected-error @+1 {{block.index: no enclosing map iterates over M}}
    %i = block.index @M
    block.yield %p : f32
  }
  func.return
}

// -----

func.func @index_parent()
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{'block.index' expects parent op 'block.elementwise'}}
  %i = block.index @M
  func.return
}

// -----

func.func @extent_parent()
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<4>}} {
  // expected-error @+1 {{'block.extent' expects parent op 'block.elementwise'}}
  %i = block.extent @M
  func.return
}
